// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/conn/calls.h"

namespace
{

using rds::Calls;
using rds::kCalls;
using rds::kCallTicks;
using rds::kPrefixCalls;
using rds::kPrefixCallTicks;

constexpr rds::HashKey kKey = {{5, 6}};
constexpr uint64_t kTick = rds::kCallTickNs, kSecond = 1000 * 1000 * 1000;

class CallsTest : public ::testing::Test
{
protected:
	/* How many of @n calls from 10.0.@prefix.x are let in. */
	unsigned int let_in(unsigned int n, unsigned int prefix = 0, uint32_t scope = 0)
	{
		unsigned int in = 0;

		for (unsigned int i = 0; i < n; i++)
			in += calls->admit(host::addr4(prefix << 8 | i % 256), scope, now, kKey);
		return in;
	}

	std::unique_ptr<Calls> calls = std::make_unique<Calls>();
	uint64_t now = 1000 * kSecond;
};

/* A cluster that boots: all of it, at once. */
TEST_F(CallsTest, AThousandOfOnePrefixComeAtOnce)
{
	EXPECT_EQ(let_in(1000), 1000u);
	EXPECT_EQ(let_in(2000), kPrefixCalls - 1000);
	EXPECT_EQ(let_in(100), 0u);
	EXPECT_EQ(let_in(100, 1), 100u) << "another prefix has its own";
	EXPECT_EQ(let_in(100, 0, 3), 100u) << "the same of another interface, too";
}

/* Of IPv6 it is a network of 64 bits: what its hosts are called does not matter. */
TEST_F(CallsTest, PrefixesOfIpv6AreApart)
{
	const auto call = [this](uint64_t network, uint64_t host) {
		return calls->admit({{network, host}}, 0, now, kKey);
	};
	unsigned int in = 0;

	for (uint64_t host = 1; host <= 3000; host++)
		in += call(0xfd, host);
	EXPECT_EQ(in, kPrefixCalls);
	EXPECT_FALSE(call(0xfd, 3001));
	EXPECT_TRUE(call(0xfe, 1));
}

TEST_F(CallsTest, TokensComeBack)
{
	ASSERT_EQ(let_in(3000), kPrefixCalls);
	now += kPrefixCallTicks * kTick - kTick;
	EXPECT_EQ(let_in(1), 0u);
	now += kTick;
	EXPECT_EQ(let_in(2), 1u);
	now += 10 * kPrefixCallTicks * kTick;
	EXPECT_EQ(let_in(20), 10u);
	/* All of them, and no more. */
	now += 3600 * kSecond;
	EXPECT_EQ(let_in(3000), kPrefixCalls);
}

/* Of very many prefixes. */
TEST_F(CallsTest, ThereIsABoundForAll)
{
	unsigned int in = 0;

	for (unsigned int prefix = 0; prefix < 250; prefix++)
		in += let_in(100, prefix);
	EXPECT_EQ(in, kCalls);
	now += 100 * kCallTicks * kTick;
	EXPECT_EQ(let_in(200, 251), 100u);
	now += kSecond;
	EXPECT_EQ(let_in(1, 252), 1u);
}

/* The time in a bucket wraps around; an idle one is full, whatever it was left at. */
TEST_F(CallsTest, TimeWrapsAround)
{
	const uint64_t lap = (uint64_t{1} << 32) * kTick;

	now = lap / 2;
	ASSERT_EQ(let_in(1), 1u);
	now = lap - 5 * kPrefixCallTicks * kTick;
	ASSERT_EQ(let_in(3000), kPrefixCalls);
	now += 10 * kPrefixCallTicks * kTick; /* beyond it */
	EXPECT_EQ(let_in(20), 10u);
	for (uint64_t ago = lap / 8; ago < lap; ago += lap / 8) {
		now += ago;
		EXPECT_EQ(let_in(3000), kPrefixCalls) << ago / kSecond;
	}
}

/* So many may come in a time as sweeps take away in it. */
TEST_F(CallsTest, TheRoomForNewcomersHoldsThem)
{
	constexpr uint64_t kSweeps = rds::kSweepBatch * rds::kStrangerSweepNs / rds::kSweepSoonNs;
	constexpr uint64_t kCome = rds::kStrangerSweepNs / (kCallTicks * kTick);

	EXPECT_GE(kSweeps, kCome);
	EXPECT_LE(kCalls, (rds::kPassiveRoom - 1) * 4096u) << "max_passive_connections' default";
}

} // namespace
