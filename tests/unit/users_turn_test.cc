// SPDX-License-Identifier: GPL-2.0
#include <algorithm>
#include <memory>
#include <vector>

#include "fan_fixture.h"

namespace
{

/* Many threads walk through one path's queue at the same time. */
class UserTurn : public CoreTest
{
protected:
	/* More than a step of a walk has. */
	static constexpr unsigned int kEach = 2 * rds::kQueueStep;

	void SetUp() override
	{
		options.preempt_per_1000 = 100;
		CoreTest::SetUp();
	}
	/* One of @user's, with messages that wait for a host that does not answer. */
	void add(uint32_t user)
	{
		auto s = std::make_unique<host::Socket>(*net, user);

		s->sock().sndbuf = 1 << 30;
		ASSERT_EQ(s->bind(host::endpoint(a1, 4000 + static_cast<uint16_t>(all.size()))), 0);
		all.push_back(std::move(s));
	}
	/* They take turns, so that each walk meets all of them. */
	void fill()
	{
		for (unsigned int i = 0; i < kEach; i++)
			for (auto &s : all)
				ASSERT_EQ(s->send(host::endpoint(remote, 5), pattern(1)), 0);
		sim::run_ready();
	}
	/* Its walk has met some of its messages and not all. */
	static bool is_midway(const host::Socket &s)
	{
		const uint32_t left = s.core()->snd_space.bytes();

		return left && left < kEach;
	}
	/* Each takes its messages back in a thread of its own: so many were midway at once. */
	long most_at_once()
	{
		size_t done = 0;
		long most = 0;

		for (auto &s : all)
			sim::spawn("cancel", [this, &s, &done] {
				const auto to = host::endpoint(remote, 5);

				rds_socket_cancel(s->core(), &to);
				done++;
			});
		sim::wait_until([&] {
			most = std::max(most, std::count_if(all.begin(), all.end(),
							    [](auto &s) { return is_midway(*s); }));
			return done == all.size();
		});
		return most;
	}
	void TearDown() override
	{
		all.clear();
		CoreTest::TearDown();
	}

	std::vector<std::unique_ptr<host::Socket>> all;
};

TEST_F(UserTurn, AUserWaitsForItself)
{
	for (unsigned int i = 0; i < 8; i++)
		add(1000);
	fill();
	EXPECT_EQ(most_at_once(), 1);
	EXPECT_EQ(host::count_messages(net->core(), RDS_QUEUE_SEND), 0u);
}

TEST_F(UserTurn, AndForNobodyElse)
{
	for (uint32_t user : {1000, 1001, 1002})
		add(user);
	fill();
	EXPECT_GT(most_at_once(), 1);
}

/* A program that is killed where it waits for its turn does not look; what it has is taken back
 * when its socket is closed, which waits on. */
TEST_F(UserTurn, WhoIsKilledDoesNotWait)
{
	const auto to = host::endpoint(remote, 5);
	unsigned int met = 0;

	add(1000);
	fill();
	sim::options().kills_per_1000 = 1000;
	rds_socket_cancel(all[0]->core(), &to);
	EXPECT_EQ(all[0]->core()->snd_space.bytes(), kEach);
	host::info_messages(
		net->core(), RDS_QUEUE_SEND,
		[](void *arg, const struct rds_msg_info *) { ++*static_cast<unsigned int *>(arg); },
		&met, all[0]->core());
	EXPECT_EQ(met, 0u);
	all[0]->close();
	sim::options().kills_per_1000 = 0;
	EXPECT_EQ(host::count_messages(net->core(), RDS_QUEUE_SEND), 0u);
}

TEST_F(UserTurn, SoDoWhoeverAsksForTables)
{
	unsigned int inside = 0, most = 0, done = 0;
	struct Count {
		unsigned int met = 0, *inside, *most;
	};

	add(1000);
	fill();
	for (unsigned int i = 0; i < 4; i++)
		sim::spawn("info", [&] {
			Count c{.inside = &inside, .most = &most};

			host::info_messages(
				net->core(), RDS_QUEUE_SEND,
				[](void *arg, const struct rds_msg_info *) {
					auto *of = static_cast<Count *>(arg);

					if (!of->met++)
						*of->most = std::max(*of->most, ++*of->inside);
					if (of->met == kEach)
						--*of->inside;
				},
				&c, all[0]->core());
			EXPECT_EQ(c.met, kEach);
			done++;
		});
	sim::wait_until([&] { return done == 4; });
	EXPECT_EQ(most, 1u);
	EXPECT_EQ(inside, 0u);
}

} // namespace
