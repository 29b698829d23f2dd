// SPDX-License-Identifier: GPL-2.0
/*
 * ib_ring_test.cc: a link begins with few receive buffers, and has more as more come at once.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "ib_fixture.h"

namespace
{

class IbRing : public fake_ib::LinkTest
{
protected:
	static constexpr uint32_t kFirst = 4, kAll = 64;

	void up(uint32_t peer_credits = 0)
	{
		end.first_buffers = kFirst;
		end.up(8, kAll, peer_credits);
	}
	/* @n frames come before anybody looks; then the adapter has no more to tell of. */
	void burst(unsigned int n)
	{
		while (n--)
			end.fill(fake_header(0, 3));
		rds_ib_link_settle(&end.link, RDS_ATOMIC);
		rds_ib_link_heard_all(&end.link);
	}
};

TEST_F(IbRing, BeginsWithFew)
{
	up();
	EXPECT_EQ(end.buffers.size(), kFirst);
	EXPECT_EQ(end.miscounted(), "");
}

TEST_F(IbRing, HasTwiceAsManyAsHaveComeAtOnce)
{
	up();
	burst(3);
	EXPECT_EQ(end.buffers.size(), 6u);
	burst(6);
	EXPECT_EQ(end.buffers.size(), 12u);
	burst(2);
	EXPECT_EQ(end.buffers.size(), 12u) << "it never has fewer";
	EXPECT_EQ(end.miscounted(), "");
}

TEST_F(IbRing, StaysSmallWhileLittleComesAtATime)
{
	up();
	for (int i = 0; i < 1000; i++)
		burst(1 + i % 2);
	EXPECT_EQ(end.buffers.size(), kFirst);
}

/* The adapter has more to tell of each time. */
TEST_F(IbRing, AStreamHasAllOfThem)
{
	up();
	for (uint32_t come = 1; come <= kAll / 2; come++) {
		EXPECT_LE(end.buffers.size(), std::max(kFirst, 2 * come));
		end.arrive(fake_header(0, 3));
	}
	EXPECT_EQ(end.buffers.size(), kAll);
	for (uint32_t i = 0; i < 3 * kAll; i++)
		end.arrive(fake_header(0, 3));
	EXPECT_EQ(end.buffers.size(), kAll);
	EXPECT_EQ(end.miscounted(), "");
}

/* One that is full has come at once altogether: four bursts, and all buffers are there. */
TEST_F(IbRing, OneThatIsEmptiedDoubles)
{
	up();
	for (uint32_t n = kFirst; n <= kAll; n *= 2) {
		ASSERT_EQ(end.buffers.size(), n);
		burst(n);
	}
	EXPECT_EQ(end.buffers.size(), kAll);
}

TEST_F(IbRing, WhereBuffersAreFewItStaysAsItIs)
{
	up();
	end.may_grow = kFirst - 1;
	burst(kFirst);
	EXPECT_EQ(end.buffers.size(), kFirst);
	end.may_grow = kFirst;
	burst(kFirst);
	EXPECT_EQ(end.buffers.size(), 2 * kFirst);
}

/* One way, a frame at a time: each few frames take one that gives credits back. */
TEST_F(IbRing, OneThatGivesBackAfterFewFramesGrows)
{
	up(100);
	ASSERT_GT(end.xmit({msg(0)}), 0);
	end.complete();

	std::vector<uint32_t> sizes = {end.link.depth};
	auto look = [&] {
		if (end.link.depth != sizes.back())
			sizes.push_back(end.link.depth);
	};

	for (int i = 0; i < 300; i++) {
		burst(1);
		look();
		end.complete();
		look();
		end.link.credits = 100;
	}
	EXPECT_EQ(sizes, (std::vector<uint32_t>{kFirst, 2 * kFirst, 4 * kFirst, 8 * kFirst}));
	EXPECT_EQ(end.miscounted(), "");
}

struct Update {
	uint32_t posted, at;
};

class IbRingUpdate : public IbRing, public testing::WithParamInterface<Update>
{
};

/* Of few buffers half, of many a quarter. */
TEST_P(IbRingUpdate, GivesBackAPartOfThem)
{
	end.up(8, GetParam().posted, 100);
	ASSERT_GT(end.xmit({msg(0)}), 0);
	end.complete();
	for (uint32_t n = 1; n < GetParam().at; n++)
		burst(1);
	EXPECT_EQ(end.sent.size(), 1u);
	burst(1);
	ASSERT_EQ(end.sent.size(), 2u);
	EXPECT_EQ(end.sent.back().credit(), GetParam().at);
}

INSTANTIATE_TEST_SUITE_P(Rings, IbRingUpdate,
			 testing::Values(Update{4, 2}, Update{8, 4}, Update{16, 8}, Update{32, 16},
					 Update{64, 16}, Update{128, 32}, Update{256, 64},
					 Update{512, 128}, Update{1024, 128}),
			 [](const auto &info) { return std::to_string(info.param.posted); });

/* Two hosts whose readers have stopped have frames for each other behind which even a keepalive
 * waits: all buffers are for them. */
TEST_F(IbRing, FramesThatWaitForTheCoreCount)
{
	up();
	path.begin_nomem = 1;
	burst(1);
	ASSERT_EQ(end.link.paused, 1);
	for (int i = 0; i < 3; i++)
		burst(1);
	EXPECT_EQ(end.buffers.size(), 4u);
	while (!end.buffers.empty())
		burst(1);
	EXPECT_EQ(end.link.offered - end.link.taken, kAll);
	rds_ib_link_retry(&end.link);
	EXPECT_EQ(end.buffers.size(), kAll);
}

/* However much has come while it might not grow. */
TEST_F(IbRing, GetsFewMoreAtATime)
{
	end.first_buffers = kFirst;
	end.up(8, 1024);
	end.may_grow = 0;
	for (int i = 0; i < 600; i++)
		end.arrive(fake_header(0, 3));
	ASSERT_EQ(end.buffers.size(), kFirst);
	end.may_grow = UINT32_MAX;
	end.arrive(fake_header(0, 3));
	EXPECT_EQ(end.buffers.size(), kFirst + 64);
	end.arrive(fake_header(0, 3));
	EXPECT_EQ(end.buffers.size(), kFirst + 128);
}

/* The peer knows of each: those of the offer, and those that it was told of since. */
TEST_F(IbRing, APeerThatCountsIsToldOfNewOnes)
{
	up(50);
	ASSERT_GT(end.xmit({msg(0)}), 0);
	end.complete();
	for (uint32_t i = 0; i < kAll / 2; i++) {
		end.arrive(fake_header(0, 3));
		end.complete();
	}

	uint32_t told = kFirst + end.link.to_return;

	for (const fake_ib::Sent &s : end.sent)
		told += s.credit();
	EXPECT_EQ(told, end.link.offered);
	EXPECT_EQ(end.link.offered, kAll / 2 + kAll);
}

} // namespace
