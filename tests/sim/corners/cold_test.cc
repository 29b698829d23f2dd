// SPDX-License-Identifier: GPL-2.0
/*
 * cold_test.cc: first contact is boring: two hosts that have never spoken, a thousand times.
 *
 * Programs begin, from either side of the duel, one or both at once, asleep or by poll, while the
 * peer's module is not loaded or its host is off: nothing is lost, nothing comes late, and it
 * comes soon after it can.
 */
#include "corners.h"
#include "net/rds/limits.h"

using namespace corners;

namespace
{

enum class Before { kNothing, kNoModule, kNoHost };

struct Start {
	bool both;
	Way way;
	Before before;
};

void away(World &w, Before what, bool on)
{
	if (!w.stream || what == Before::kNothing)
		return;
	if (what == Before::kNoHost)
		network::power(network::host_of(w.addr_b), !on);
	else if (on)
		stream::stop_listening(w.net_b());
	else
		stream::listen(w.net_b(), {w.addr_b});
}

void cold(World &w, const Start &start)
{
	constexpr uint32_t kCount = 12;
	auto a = w.socket_a(100), b = w.socket_b(200);
	check::Order order;

	away(w, start.before, true);
	w.run("a", [&] { send(w, *a, w.at_b(200), 1, order, kCount, 16, 500, start.way); });
	if (start.both)
		w.run("b", [&] { send(w, *b, w.at_a(100), 2, order, kCount, 16, 500, start.way); });
	if (start.before != Before::kNothing) {
		sim::run_for(sim::random_below(3 * kSecond));
		away(w, start.before, false);
	}
	w.run("b reads", [&] { receive(w, *b, order, kCount); });
	if (start.both)
		w.run("a reads", [&] { receive(w, *a, order, kCount); });
	/* A pause of back-off at most, and a connect that nobody heard. */
	EXPECT_TRUE(w.finish(7 * kSecond));
	EXPECT_EQ(order.complaint(), "");
	EXPECT_TRUE(order.complete());
}

void thousand(const Start &start)
{
	everywhere(85, [&](World &w) { cold(w, start); });
}

} // namespace

/* 12 kinds, each 85 times on either side. */
TEST(ColdStart, OneSideAsleep)
{
	thousand({false, Way::kBlocking, Before::kNothing});
}

TEST(ColdStart, OneSideByPoll)
{
	thousand({false, Way::kPolling, Before::kNothing});
}

TEST(ColdStart, BothAtOnce)
{
	thousand({true, Way::kBlocking, Before::kNothing});
	thousand({true, Way::kPolling, Before::kNothing});
}

TEST(ColdStart, BeforeThePeersModule)
{
	for (bool both : {false, true})
		for (Way way : {Way::kBlocking, Way::kPolling})
			thousand({both, way, Before::kNoModule});
}

TEST(ColdStart, BeforeThePeersHost)
{
	for (bool both : {false, true})
		for (Way way : {Way::kBlocking, Way::kPolling})
			thousand({both, way, Before::kNoHost});
}
