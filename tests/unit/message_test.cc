// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/message.h"

namespace
{

using namespace rds;

class Messages : public SimTest
{
};

TEST_F(Messages, SmallOnesAreOneAllocation)
{
	size_t before = host::usage().blocks;
	Message *m = message_create(64, RDS_MAY_SLEEP);

	ASSERT_NE(m, nullptr);
	EXPECT_EQ(host::usage().blocks, before + 1);
	EXPECT_EQ(m->len, 64u);
	EXPECT_NE(m->payload(), nullptr);
	message_put(m);
	EXPECT_EQ(host::usage().blocks, before);
}

TEST_F(Messages, WithoutBytesThereIsNoPayload)
{
	Message *m = message_create(0, RDS_MAY_SLEEP);

	ASSERT_NE(m, nullptr);
	EXPECT_EQ(m->payload(), nullptr);
	EXPECT_GT(m->charge, 0u);
	message_put(m);
}

TEST_F(Messages, ChargeIsTheMemoryThatTheyHold)
{
	Message *m = message_create(5000, RDS_MAY_SLEEP);

	ASSERT_NE(m, nullptr);
	message_charge_payload(*m);
	EXPECT_EQ(m->charge, host::usage().bytes);
	message_put(m);
}

/* Its sender has to know before there is one. */
TEST_F(Messages, TheirCostIsKnownBefore)
{
	for (uint32_t len : {0u, 1u, 7u, 64u, 255u, 256u, 257u, 1000u, 5000u, 1u << 20}) {
		Message *m = message_create(len, RDS_MAY_SLEEP);

		ASSERT_NE(m, nullptr);
		message_charge_payload(*m);
		EXPECT_EQ(message_cost(len, false), m->charge) << len;
		message_put(m);
		m = message_alloc(len, RDS_MAY_SLEEP);
		ASSERT_NE(m, nullptr);
		EXPECT_EQ(message_cost(len, true), m->charge) << len;
		message_free_raw(m);
	}
}

TEST_F(Messages, WhatIsToComeHoldsNoMemory)
{
	Message *m = message_collect(5000, nullptr, 0, RDS_ATOMIC);

	ASSERT_NE(m, nullptr);
	message_charge_payload(*m);
	EXPECT_EQ(m->charge, host::usage().bytes);
	EXPECT_LT(m->charge, 500u);
	message_put(m);
}

TEST_F(Messages, LastReferenceFreesEverything)
{
	Message *m = message_create(5000, RDS_MAY_SLEEP);

	ASSERT_TRUE(message_lend(*m, 7).ok());
	rds_msg_get(m);
	rds_msg_put(m);
	EXPECT_GT(host::usage().blocks, 0u);
	rds_msg_put(m);
	EXPECT_EQ(host::usage().blocks, 0u);
}

TEST_F(Messages, EveryAllocationMayFail)
{
	for (unsigned int nth = 1; nth <= 2; nth++) {
		sim::fail_nth(nth);
		EXPECT_EQ(message_create(5000, RDS_MAY_SLEEP), nullptr);
	}
	sim::fail_nth(1);
	EXPECT_EQ(message_alloc(0, RDS_ATOMIC), nullptr);
}

TEST_F(Messages, AccessorsShowTheWire)
{
	Message *m = message_create(10, RDS_MAY_SLEEP);

	wire::encode(m->hdr, 10, 1, 2, 0);
	EXPECT_EQ(rds_msg_header(m), m->hdr.sequence);
	EXPECT_EQ(rds_msg_len(m), 10u);
	EXPECT_EQ(rds_msg_payload(m), m->payload());
	message_put(m);
}

/* One byte after the other: what is allocated is charged, and no more. */
TEST_F(Messages, AnEmptyOneIsChargedItself)
{
	rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);

	ASSERT_NE(m, nullptr);
	EXPECT_EQ(m->charge, sizeof(rds::Message));
	rds::message_put(m);
}

} // namespace
