// SPDX-License-Identifier: GPL-2.0
/*
 * Failures that have a name.  Two hosts (0 is the smaller address, the one that calls) with two
 * sockets each, messages both ways, one thing that goes wrong; then the verdict of every story:
 * everything comes to rest, arrived once and in order, and nothing is missing without an excuse.
 */
#include <gtest/gtest.h>

#include "stage.h"
#include "story.h"

namespace story
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
constexpr unsigned int kHosts = 2, kSlots = 2;

class Scenario : public ::testing::TestWithParam<uint64_t>
{
protected:
	void SetUp() override
	{
		story::Setup &s = plan_.setup;

		s.seed = GetParam();
		s.hosts = kHosts;
		s.slots = kSlots;
		s.preempt_per_1000 = s.seed % 2 ? 30 : 0;
		s.addrs = {host::addr4(1), host::addr4(2)};
		s.net.send_window = s.net.recv_window = 2000;
		plan_.there.assign(kHosts, true);
	}
	/* The hosts boot and open their sockets. */
	void start()
	{
		begin(plan_.setup);
		stage_ = std::make_unique<Stage>(plan_);
		for (unsigned int h = 0; h < kHosts; h++)
			open(h);
	}
	void open(unsigned int h)
	{
		Habits habits;

		habits.sndbuf = habits.rcvbuf = 20 * 1000;
		for (unsigned int i = 0; i < kSlots; i++) {
			habits.event_loop = i % 2;
			node(h).open(i, habits);
		}
	}
	CoreNode &node(unsigned int h)
	{
		return *stage_->nodes[h]->core();
	}
	/* @count messages from every socket of @from to every one of @to. */
	void send(unsigned int from, unsigned int to, uint32_t count)
	{
		for (unsigned int i = 0; i < kSlots; i++)
			for (unsigned int j = 0; j < kSlots; j++)
				stage_->flow(from * kSlots + i, to * kSlots + j, count, rng_);
	}
	void talk(uint32_t count)
	{
		send(0, 1, count);
		send(1, 0, count);
	}
	void stuck(unsigned int h, bool on)
	{
		for (unsigned int i = 0; i < kSlots; i++)
			if (App *a = node(h).app(i))
				a->set_stuck(on);
	}
	void reboot(unsigned int h)
	{
		node(h).boot();
		open(h);
	}
	void both_links(bool cut)
	{
		network::cut(0, 1, cut);
		network::cut(1, 0, cut);
	}
	/* Peace, and the verdict; what was received at least. */
	Result end(uint64_t at_least = 0)
	{
		Result r = finish(std::move(stage_));

		EXPECT_EQ(r.complaint, "");
		EXPECT_GE(r.received, at_least);
		return r;
	}

	Plan plan_;
	std::unique_ptr<Stage> stage_;
	sim::Rng rng_{7};
};

INSTANTIATE_TEST_SUITE_P(Seeds, Scenario, ::testing::Range<uint64_t>(1, 9));

TEST_P(Scenario, NothingGoesWrong)
{
	start();
	talk(200);
	EXPECT_EQ(end(1600).lost, 0u);
}

TEST_P(Scenario, BothCallAtOnce)
{
	start();
	for (int i = 0; i < 5; i++) {
		talk(5);
		sim::run_for(20 * kMs);
	}
	EXPECT_EQ(end(5 * 40).lost, 0u);
}

TEST_P(Scenario, TheKnockIsLost)
{
	start();
	network::cut(1, 0, true);
	send(1, 0, 20);
	sim::run_for(700 * kMs);
	network::heal();
	EXPECT_EQ(end(80).lost, 0u);
}

TEST_P(Scenario, TheAnswerToTheKnockIsLost)
{
	start();
	send(1, 0, 20);
	network::cut(0, 1, true);
	sim::run_for(8000 * kMs);
	network::heal();
	EXPECT_EQ(end(80).lost, 0u);
}

TEST_P(Scenario, TheCallerRestartsUnderLoad)
{
	start();
	talk(500);
	sim::run_for(2 * kMs);
	node(0).crash();
	sim::run_for(300 * kMs);
	reboot(0);
	talk(50);
	end(100);
}

TEST_P(Scenario, TheCalledRestartsUnderLoad)
{
	start();
	talk(500);
	sim::run_for(2 * kMs);
	node(1).crash();
	sim::run_for(300 * kMs);
	reboot(1);
	talk(50);
	end(100);
}

TEST_P(Scenario, AHostIsAwayForAMinute)
{
	start();
	talk(300);
	sim::run_for(kMs);
	node(1).crash();
	sim::run_for(60 * 1000 * kMs);
	reboot(1);
	end();
}

TEST_P(Scenario, OneEndDoesNotKnow)
{
	start();
	for (int i = 0; i < 6; i++) {
		talk(30);
		sim::run_for(kMs);
		EXPECT_TRUE(stream::cut_one(true));
		sim::run_for(20 * kMs);
	}
	end(200);
}

TEST_P(Scenario, CutAgainAndAgain)
{
	start();
	talk(400);
	for (int i = 0; i < 20; i++) {
		sim::run_for(kMs);
		stream::cut_one();
	}
	end(1000);
}

TEST_P(Scenario, PartitionsHeal)
{
	start();
	talk(300);
	for (uint64_t ms : {1, 300, 4000, 30000, 120000}) {
		sim::run_for(kMs);
		both_links(true);
		sim::run_for(ms * kMs);
		both_links(false);
	}
	end(1000);
}

TEST_P(Scenario, OneDirectionOnly)
{
	start();
	for (unsigned int from : {0u, 1u}) {
		talk(200);
		sim::run_for(kMs);
		network::cut(from, !from, true);
		sim::run_for(3000 * kMs);
		network::heal();
		sim::run_for(1000 * kMs);
	}
	end(1000);
}

/* A sender that waits for a port queues nothing; somebody has to find out that the port's host is
 * another now.  The called host does not call by itself, and the new caller knows nobody. */
TEST_P(Scenario, TheCongestedPeerVanishes)
{
	for (unsigned int dies : {0u, 1u}) {
		start();
		stuck(dies, true);
		send(!dies, dies, 500);
		sim::run_for(200 * kMs);
		EXPECT_FALSE(node(!dies).idle());
		node(dies).crash();
		sim::run_for(100 * kMs);
		reboot(dies);
		end(500);
	}
}

TEST_P(Scenario, AReaderIsStuckForAWhile)
{
	start();
	stuck(1, true);
	send(0, 1, 300);
	sim::run_for(5000 * kMs);
	EXPECT_FALSE(node(0).idle());
	stuck(1, false);
	EXPECT_EQ(end(1200).lost, 0u);
}

TEST_P(Scenario, ANamespaceEndsUnderLoad)
{
	start();
	talk(300);
	sim::run_for(2 * kMs);
	node(GetParam() % 2).leave();
	sim::run_for(10 * kMs);
	reboot(GetParam() % 2);
	talk(50);
	end(200);
}

TEST_P(Scenario, TheTransportIsReloaded)
{
	start();
	talk(100);
	sim::run_for(kMs);
	stage_->reload();
	open(0);
	open(1);
	talk(50);
	end(400);
}

/* An orderly end loses nothing, however often. */
TEST_P(Scenario, ASysctlResetsUnderLoad)
{
	start();
	talk(300);
	for (unsigned int i = 0; i < 10; i++) {
		sim::run_for(3 * kMs);
		rds_transport_net_reset(node(i % 2).net().core(), stream::ops());
	}
	EXPECT_EQ(end(2400).lost, 0u);
}

TEST_P(Scenario, EveryTenthAllocationFails)
{
	start();
	sim::options().fail_per_1000 = 100;
	talk(100);
	sim::run_for(2000 * kMs);
	EXPECT_EQ(end(800).lost, 0u);
}

/* The first allocation fails, in the next story the second, until there are no more. */
TEST_P(Scenario, EachAllocationFailsOnce)
{
	unsigned int n = 0;

	for (bool failed = true; failed && !HasFailure();) {
		start();
		sim::fail_nth(++n);
		talk(2);
		sim::run_for(100 * kMs);
		failed = sim::failed_allocs();
		EXPECT_EQ(end(16).lost, 0u) << "allocation " << n;
	}
	EXPECT_GT(n, 30u);
}

/* Nothing at all for so long that every time limit has passed. */
TEST_P(Scenario, AFamine)
{
	start();
	talk(50);
	sim::run_for(kMs);
	sim::options().fail_per_1000 = 1000;
	sim::run_for(60 * 1000 * kMs);
	EXPECT_EQ(end(400).lost, 0u);
}

TEST_P(Scenario, TheClockJumps)
{
	start();
	talk(200);
	for (int i = 0; i < 5; i++) {
		sim::run_for(kMs);
		sim::jump(20 * 1000 * kMs);
	}
	EXPECT_EQ(end(1600).lost, 0u);
}

TEST_P(Scenario, ASlowLink)
{
	start();
	network::slow(0, 1, 1000);
	talk(50);
	sim::run_for(1000 * kMs);
	EXPECT_EQ(end(400).lost, 0u);
}

TEST_P(Scenario, SendsAreTakenBack)
{
	start();
	for (int i = 0; i < 10; i++) {
		talk(20);
		sim::run_for(kMs / 4);
		node(0).app(0)->cancel(nullptr, 0);
	}
	end(300);
}

} // namespace
} // namespace story
