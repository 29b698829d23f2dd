// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/socket/socket.h"

namespace
{

using host::endpoint;
using host::Socket;
using rds::kPayStep;

/* One account of a socket that does nothing else. */
class MemAccount : public CoreTest
{
protected:
	void SetUp() override
	{
		CoreTest::SetUp();
		s = std::make_unique<Socket>(*net);
	}
	void TearDown() override
	{
		s.reset();
		CoreTest::TearDown();
	}
	rds::MemAccount &account()
	{
		return s->core()->snd_space.mem();
	}
	uint64_t charged()
	{
		return s->sock().charged;
	}
	std::unique_ptr<Socket> s;
};

TEST_F(MemAccount, PaysInSteps)
{
	EXPECT_TRUE(account().covers(0));
	EXPECT_FALSE(account().covers(1));
	ASSERT_TRUE(account().pay(s->core(), 1, RDS_MAY_SLEEP).ok());
	EXPECT_EQ(charged(), kPayStep);
	EXPECT_TRUE(account().covers(kPayStep));
	account().add(kPayStep);
	EXPECT_FALSE(account().covers(1));
	ASSERT_TRUE(account().pay(s->core(), kPayStep + 1, RDS_MAY_SLEEP).ok());
	EXPECT_EQ(charged(), 3 * kPayStep);
	account().sub(kPayStep);
}

TEST_F(MemAccount, KeepsAStepAndTakesTheRestBack)
{
	ASSERT_TRUE(account().pay(s->core(), 4 * kPayStep, RDS_MAY_SLEEP).ok());
	account().add(4 * kPayStep);
	EXPECT_FALSE(account().overpaid());
	account().sub(kPayStep);
	EXPECT_FALSE(account().overpaid()) << "the next message is near";
	account().sub(kPayStep);
	EXPECT_TRUE(account().overpaid()) << "two steps are one too many";
	account().sub(kPayStep);
	ASSERT_TRUE(account().overpaid());
	account().take_back(s->core());
	EXPECT_EQ(charged(), kPayStep);
	account().sub(kPayStep);
}

TEST_F(MemAccount, WhoMayNotWaitMakesADebt)
{
	s->sock().charges = 7;
	account().add(100);
	EXPECT_TRUE(account().pay(s->core(), 0, RDS_ATOMIC).ok());
	EXPECT_EQ(charged(), 0u);
	EXPECT_FALSE(account().covers(0)) << "nor anything else before it is paid";
	EXPECT_FALSE(account().covers(1000));
	EXPECT_FALSE(account().overpaid());
	EXPECT_TRUE(account().pay(s->core(), 0, RDS_ATOMIC).ok());
	EXPECT_EQ(charged(), kPayStep) << "the next pays it";
	account().sub(100);
}

TEST_F(MemAccount, NoMemoryIsTold)
{
	sim::fail_nth(1);
	EXPECT_TRUE(account().pay(s->core(), 1, RDS_MAY_SLEEP).is(rds::err::kEnomem));
	sim::fail_nth(0);
	EXPECT_EQ(charged(), 0u);
}

TEST_F(MemAccount, PaysOnlyWhatIsMissing)
{
	account().add(kPayStep);
	ASSERT_TRUE(account().pay(s->core(), 0, RDS_MAY_SLEEP).ok());
	EXPECT_EQ(charged(), kPayStep);
	for (uint32_t more : {0u, 1u, kPayStep, 1u}) {
		uint64_t before = charged();
		bool covered = account().covers(more);

		ASSERT_TRUE(account().pay(s->core(), more, RDS_MAY_SLEEP).ok());
		EXPECT_EQ(charged(), before + (covered ? 0 : kPayStep)) << more;
		EXPECT_TRUE(account().covers(more));
	}
	EXPECT_EQ(charged(), 2 * kPayStep);
	account().sub(kPayStep);
}

/* The platform takes no more than a gigabyte at once, and there may be many. */
TEST_F(MemAccount, GigabytesGoInPieces)
{
	constexpr uint32_t kGiB = 1u << 30;

	for (uint64_t n = 1; n <= 5; n++) {
		EXPECT_EQ(account().add(kGiB), (n - 1) * kGiB);
		EXPECT_EQ(account().used(), n * kGiB);
	}
	for (uint64_t n = 1; n <= 6; n++) {
		ASSERT_TRUE(account().pay(s->core(), 0, RDS_MAY_SLEEP).ok());
		EXPECT_EQ(charged(), std::min<uint64_t>(n, 5) * kGiB);
	}
	EXPECT_TRUE(account().covers(0));
	EXPECT_FALSE(account().covers(1));
	for (uint64_t n = 5; n--;)
		account().sub(kGiB);
	account().take_back(s->core());
	EXPECT_EQ(charged(), 4ull * kGiB);
	account().close(s->core());
	EXPECT_EQ(charged(), 0u);
	EXPECT_FALSE(account().overpaid());
}

TEST_F(MemAccount, WhatIsNotTakenBackIsTriedAgain)
{
	ASSERT_TRUE(account().pay(s->core(), 3 * kPayStep, RDS_MAY_SLEEP).ok());
	account().add(1);
	s->sock().charges = 7;
	account().take_back(s->core());
	EXPECT_EQ(charged(), 3 * kPayStep);
	EXPECT_TRUE(account().overpaid());
	account().take_back(s->core());
	EXPECT_EQ(charged(), kPayStep) << "all but what is used";
	EXPECT_TRUE(account().covers(kPayStep - 1));
	EXPECT_FALSE(account().covers(kPayStep));
	account().take_back(s->core());
	EXPECT_EQ(charged(), kPayStep);
	account().sub(1);
}

TEST_F(MemAccount, OfADebtNothingIsTakenBack)
{
	account().add(3 * kPayStep);
	ASSERT_TRUE(account().pay(s->core(), 0, RDS_MAY_SLEEP).ok());
	account().add(kPayStep);
	account().take_back(s->core());
	EXPECT_EQ(charged(), 3 * kPayStep);
	account().sub(4 * kPayStep);
}

/* At the end of any traffic nothing is paid for (Sock's end looks). */
TEST_F(MemAccount, MessagesArePaidForAndGivenBack)
{
	Socket to(*net);

	ASSERT_EQ(s->bind(endpoint(a1, 4000)), 0);
	ASSERT_EQ(to.bind(endpoint(a1, 5000)), 0);
	for (unsigned int i = 0; i < 20; i++)
		ASSERT_EQ(s->send(endpoint(a1, 5000), pattern(3000)), 0);
	sim::run_ready();
	EXPECT_GE(charged() + to.sock().charged, 20 * 3000u);
	while (to.recv())
		;
	sim::run_ready();
	EXPECT_LE(charged(), 2 * kPayStep);
	EXPECT_LE(to.sock().charged, 2 * kPayStep);
}

} // namespace
