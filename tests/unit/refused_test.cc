// SPDX-License-Identifier: GPL-2.0
#include <map>

#include "fixture.h"
#include "net/rds/path/refused.h"
#include "reach.h"

RDS_REACH(refused_epoch, &rds::Refused::epoch_)

namespace
{

using rds::wire::Refusal;

constexpr uint64_t kNone = ~0ull;

/* Ports that are refused to a peer whose generation is 7. */
class Refused : public SimTest
{
protected:
	void SetUp() override
	{
		SimTest::SetUp();
		r = std::make_unique<rds::Refused>();
		r->begin();
		r->meet(7);
	}
	void TearDown() override
	{
		r.reset();
		SimTest::TearDown();
	}
	/* The next port that the peer is told of, or one that says nothing. */
	Refusal tell()
	{
		Refusal told;

		return r->has_to_tell() && r->tell(told) ? told : Refusal{};
	}

	std::unique_ptr<rds::Refused> r;
};

TEST_F(Refused, OpensAndCloses)
{
	EXPECT_FALSE(r->any());
	EXPECT_FALSE(r->refuses(5));
	EXPECT_EQ(r->ack_limit(), kNone);
	ASSERT_TRUE(r->refuse(5, 10));
	EXPECT_TRUE(r->any());
	EXPECT_TRUE(r->refuses(5));
	EXPECT_FALSE(r->refuses(6));
	EXPECT_EQ(r->ack_limit(), 10u);

	Refusal told = tell();

	EXPECT_EQ(told.what, rds::wire::Ext::kRefused);
	EXPECT_EQ(told.port, 5);
	EXPECT_EQ(told.number, 10u);
	EXPECT_FALSE(r->has_to_tell());
	EXPECT_EQ(r->ack_limit(), 10u) << "its frame is not under way";
	r->frame_left(told.epoch + 1);
	EXPECT_EQ(r->ack_limit(), 10u);
	r->frame_left(told.epoch);
	EXPECT_EQ(r->ack_limit(), kNone);
	EXPECT_FALSE(r->resume(5, told.epoch + 1));
	EXPECT_FALSE(r->resume(6, told.epoch));
	EXPECT_TRUE(r->refuses(5));
	EXPECT_TRUE(r->resume(5, told.epoch));
	EXPECT_FALSE(r->any());
	EXPECT_FALSE(r->refuses(5));
	EXPECT_FALSE(r->resume(5, told.epoch));

	/* Another time, another epoch. */
	ASSERT_TRUE(r->refuse(5, 20));
	EXPECT_NE(tell().epoch, told.epoch);
}

/* To a peer epoch 0 means that there is none. */
TEST_F(Refused, NoEpochIsZero)
{
	(*r).*reach(refused_epoch()) = ~0u;
	ASSERT_TRUE(r->refuse(5, 10));
	EXPECT_EQ(tell().epoch, 1u);
}

TEST_F(Refused, AMessageMoreChangesNothing)
{
	ASSERT_TRUE(r->refuse(5, 10));
	ASSERT_TRUE(r->refuse(5, 11));
	EXPECT_EQ(tell().number, 10u);
	EXPECT_EQ(tell().what, rds::wire::Ext::kNone);
}

TEST_F(Refused, TheFirstThatIsNotToldLimitsAcks)
{
	for (uint16_t port : {5, 6, 7})
		ASSERT_TRUE(r->refuse(port, 10u * port));

	Refusal a = tell(), b = tell();

	r->frame_left(b.epoch);
	EXPECT_EQ(r->ack_limit(), 50u);
	r->frame_left(a.epoch);
	EXPECT_EQ(r->ack_limit(), 70u);
	EXPECT_TRUE(r->resume(6, b.epoch));
	EXPECT_TRUE(r->refuses(5));
	EXPECT_TRUE(r->refuses(7));
	EXPECT_EQ(r->ack_limit(), 70u);
	r->frame_left(tell().epoch);
	EXPECT_EQ(r->ack_limit(), kNone);
}

TEST_F(Refused, OutlivesTheConnectionAndIsToldAgain)
{
	ASSERT_TRUE(r->refuse(5, 10));

	Refusal told = tell();

	r->frame_left(told.epoch);
	r->begin();
	EXPECT_FALSE(r->any()) << "nobody knows who it is";
	EXPECT_FALSE(r->none_kept());
	EXPECT_FALSE(r->has_to_tell());
	r->frame_left(told.epoch); /* the last connection's frame */
	r->meet(7);
	EXPECT_TRUE(r->refuses(5));
	EXPECT_EQ(r->ack_limit(), 10u);

	Refusal again = tell();

	EXPECT_EQ(again.epoch, told.epoch);
	EXPECT_EQ(again.number, 10u);
	EXPECT_EQ(r->ack_limit(), 10u);
	r->frame_left(told.epoch);
	EXPECT_EQ(r->ack_limit(), kNone);
}

TEST_F(Refused, IsOneGenerations)
{
	ASSERT_TRUE(r->refuse(5, 10));

	const Refusal told = tell();

	for (uint32_t other : {0u, 8u}) {
		r->begin();
		r->meet(other);
		EXPECT_EQ(r->is_agreed(), other != 0);
		EXPECT_FALSE(r->any());
		EXPECT_FALSE(r->refuses(5));
		EXPECT_EQ(r->ack_limit(), kNone);
		EXPECT_FALSE(r->has_to_tell());
		EXPECT_FALSE(r->resume(5, told.epoch));
	}
	/* The same port of the other one's messages. */
	EXPECT_TRUE(r->refuse(5, 3));
	EXPECT_EQ(r->ack_limit(), 3u);
	EXPECT_NE(tell().epoch, told.epoch);
	r->meet(7);
	EXPECT_EQ(r->ack_limit(), 10u);
	EXPECT_EQ(tell().epoch, told.epoch);
	/* Nobody remembers the other one's numbers. */
	r->forget([](uint32_t gen) { return gen == 7; });
	EXPECT_TRUE(r->refuses(5));
	r->meet(8);
	EXPECT_FALSE(r->refuses(5));
	r->forget([](uint32_t) { return false; });
	EXPECT_TRUE(r->none_kept());
}

TEST_F(Refused, HasItsBounds)
{
	EXPECT_FALSE(r->refuse(5, 0)) << "a message without number";
	sim::fail_nth(1);
	EXPECT_FALSE(r->refuse(5, 1));
	sim::fail_nth(0);
	for (uint16_t i = 0; i < rds::kMaxRefusedPorts; i++)
		EXPECT_TRUE(r->refuse(static_cast<uint16_t>(5 + i), 1u + i));
	EXPECT_FALSE(r->refuse(1000, 1000));
	EXPECT_TRUE(r->refuse(5, 1000)) << "it is refused";
	EXPECT_TRUE(r->resume(7, 3));
	EXPECT_TRUE(r->refuse(1000, 1000));
	r->meet(0);
	EXPECT_FALSE(r->refuse(2000, 2000)) << "the peer would not understand";
}

/* A host that is gone takes no room from the one that has its address now. */
TEST_F(Refused, EachGenerationHasItsOwnRoom)
{
	for (uint32_t gen = 7; gen < 7 + rds::kGenerations; gen++) {
		r->meet(gen);
		if (gen > 7) {
			sim::fail_nth(1);
			EXPECT_FALSE(r->refuse(5, 1)) << "no memory";
			sim::fail_nth(0);
		}
		for (uint16_t i = 0; i < rds::kMaxRefusedPorts; i++)
			ASSERT_TRUE(r->refuse(static_cast<uint16_t>(5 + i), gen + i)) << gen;
		EXPECT_FALSE(r->refuse(1000, 1000));
	}
	for (uint32_t gen = 7; gen < 7 + rds::kGenerations; gen++) {
		unsigned int n = 0;

		r->each_of(gen, [&](uint16_t port, uint64_t first) {
			n++;
			EXPECT_EQ(first, gen + port - 5);
		});
		EXPECT_EQ(n, rds::kMaxRefusedPorts) << gen;
	}
}

/* A tombstone takes over what was refused to one generation, and its successor goes on with it. */
TEST_F(Refused, GoesOnElsewhere)
{
	std::map<uint16_t, uint64_t> kept;
	auto next = std::make_unique<rds::Refused>();

	ASSERT_TRUE(r->refuse(5, 10));
	r->meet(8);
	ASSERT_TRUE(r->refuse(6, 3));
	r->begin();
	r->each_of(7, [&](uint16_t port, uint64_t first) { kept[port] = first; });
	EXPECT_EQ(kept, (std::map<uint16_t, uint64_t>{{5, 10}}));
	ASSERT_TRUE(next->go_on(5, 10, 7));
	EXPECT_FALSE(next->any()) << "nobody was met";
	EXPECT_EQ(next->ack_limit(), kNone);
	next->meet(8);
	EXPECT_FALSE(next->refuses(5)) << "it is another's";
	next->meet(7);
	EXPECT_TRUE(next->refuses(5));
	EXPECT_EQ(next->ack_limit(), 10u);

	Refusal told;

	ASSERT_TRUE(next->has_to_tell());
	ASSERT_TRUE(next->tell(told));
	EXPECT_EQ(told.number, 10u);
	EXPECT_TRUE(next->resume(5, told.epoch));
	EXPECT_TRUE(next->none_kept());
	sim::options().fail_per_1000 = 1000;
	next = std::make_unique<rds::Refused>();
	EXPECT_FALSE(next->go_on(5, 10, 7)) << "there is no memory";
	sim::options().fail_per_1000 = 0;
}

} // namespace
