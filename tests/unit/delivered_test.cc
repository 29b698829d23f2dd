// SPDX-License-Identifier: GPL-2.0
/*
 * delivered_test.cc: how far the peer has what was sent, and when it is asked, without a path.
 */
#include "fixture.h"
#include "net/rds/path/delivered.h"

namespace
{

using rds::Batch;
using rds::Delivered;
using rds::Message;

constexpr uint64_t kFirst = 10;
constexpr Delivered::Limits kLimits = {3, 10000};

class DeliveredTest : public SimTest
{
protected:
	void TearDown() override
	{
		for (Message *m : messages)
			rds::message_put(m);
		SimTest::TearDown();
	}
	Message *make(uint64_t seq)
	{
		Message *m = rds::message_create(0, RDS_MAY_SLEEP);

		rds::wire::encode(m->hdr, 0, 0, 0, 0);
		rds::wire::put64(m->hdr.sequence, seq);
		messages.push_back(m);
		return m;
	}
	void has(uint64_t seq)
	{
		d.has(seq);
		d.allow(kLimits);
	}
	/* A batch of one; was the peer asked? */
	bool send(uint64_t seq, uint64_t bytes = 0, bool always = false)
	{
		b.n = 1;
		b.off = 0;
		b.bytes = bytes;
		b.msgs[0] = make(seq);

		const bool asked = d.ask(b, 0, always);

		if (asked)
			d.allow(kLimits);

		EXPECT_EQ(asked, asks(*b.msgs[0]));
		return asked;
	}
	static bool asks(const Message &m)
	{
		return m.hdr.flags & rds::wire::kAckRequired;
	}

	Delivered d{kFirst};
	Batch b;
	std::vector<Message *> messages;
};

TEST_F(DeliveredTest, BeginsBeforeItsFirstNumber)
{
	EXPECT_EQ(d.up_to(), kFirst - 1);
	EXPECT_FALSE(d.any());
	has(kFirst);
	EXPECT_TRUE(d.any());
	EXPECT_EQ(d.up_to(), kFirst);
}

TEST_F(DeliveredTest, EarlierConnectionsTakeNothingBack)
{
	d.had(kFirst + 5);
	EXPECT_EQ(d.up_to(), kFirst + 5);
	d.had(kFirst + 4);
	EXPECT_EQ(d.up_to(), kFirst + 5);
}

TEST_F(DeliveredTest, TheFirstMessageAsks)
{
	EXPECT_TRUE(send(1));
	EXPECT_FALSE(send(2));
	d.restart();
	EXPECT_TRUE(send(3));
}

TEST_F(DeliveredTest, SoManyGoWithoutAnAck)
{
	EXPECT_TRUE(send(kFirst)) << "the first is timed";
	has(kFirst);
	EXPECT_FALSE(send(11));
	EXPECT_FALSE(send(12));
	EXPECT_TRUE(send(13));
	EXPECT_FALSE(send(14)) << "it has been asked";
	EXPECT_FALSE(send(15));
	has(15);
	EXPECT_FALSE(send(16));
	EXPECT_FALSE(send(17));
	EXPECT_TRUE(send(18));
}

TEST_F(DeliveredTest, SoManyBytesGoWithoutAnAck)
{
	EXPECT_TRUE(send(kFirst)) << "the first is timed";
	has(kFirst);
	EXPECT_FALSE(send(11, 9999));
	EXPECT_TRUE(send(12, 1));
	EXPECT_TRUE(send(13, 10000));
	EXPECT_FALSE(send(14, 9999));
}

TEST_F(DeliveredTest, SomePeersAreAskedAlways)
{
	has(kFirst);
	EXPECT_TRUE(send(11, 0, true));
	EXPECT_TRUE(send(12, 0, true));
}

TEST_F(DeliveredTest, AFrameWithoutNumberDoesNotAsk)
{
	EXPECT_FALSE(send(0, 0, true));
	EXPECT_TRUE(send(1)) << "the next one does";
}

TEST_F(DeliveredTest, TheLastOfABatchAsks)
{
	b.n = 3;
	b.off = 0;
	b.bytes = 0;
	for (unsigned int i = 0; i < 3; i++)
		b.msgs[i] = make(11 + i);
	EXPECT_TRUE(d.ask(b, 0, false));
	EXPECT_FALSE(asks(*b.msgs[0]));
	EXPECT_FALSE(asks(*b.msgs[1]));
	EXPECT_TRUE(asks(*b.msgs[2]));
}

/* Those behind it may be taken back before they go, or step aside for ever. */
TEST_F(DeliveredTest, WhereItIsAskedAlwaysEachMessageAsks)
{
	b.n = 4;
	b.off = 0;
	b.bytes = 0;
	for (unsigned int i = 0; i < 4; i++)
		b.msgs[i] = make(i == 1 ? 0 : 11 + i);
	EXPECT_TRUE(d.ask(b, 0, true));
	EXPECT_TRUE(asks(*b.msgs[0]));
	EXPECT_FALSE(asks(*b.msgs[1])) << "a map has no number";
	EXPECT_TRUE(asks(*b.msgs[2]));
	EXPECT_TRUE(asks(*b.msgs[3]));
}

TEST_F(DeliveredTest, AnAnswerIsTimedOnItsConnection)
{
	send(kFirst);
	sim::run_for(3000000);
	has(kFirst);
	EXPECT_EQ(d.answer_us(), 3000u);
	d.restart();
	EXPECT_EQ(d.answer_us(), 0u);
}

/* Its header has begun to leave as it was. */
TEST_F(DeliveredTest, AMessageHalfSentDoesNotAsk)
{
	b.n = 1;
	b.off = 20;
	b.bytes = 0;
	b.msgs[0] = make(11);
	EXPECT_FALSE(d.ask(b, 1, true));
	EXPECT_FALSE(asks(*b.msgs[0]));
	EXPECT_TRUE(send(12)) << "the next batch does";
}

} // namespace
