// SPDX-License-Identifier: GPL-2.0
/*
 * The pairs of the congestion maps, ours and the peers': who waits for a port looks at its bit
 * again, who clears a bit looks who waits.
 */
#include "pairs.h"

namespace
{

using fake::wire;

constexpr uint64_t kSchedules = 300;
/* In the last word of a map: after it no further one is written, which would push it out. */
constexpr uint16_t kLast = 65535;

class CongPairs : public Pairs
{
protected:
	/* Messages to these ports are queued, then the ports are full, and then there is room. */
	void step_aside(const std::vector<uint16_t> &ports)
	{
		bring_up();
		wire().sent.clear();
		wire().room = 0;
		/* This one is with the transport, and blocks it. */
		ASSERT_EQ(s->send(host::endpoint(remote, 9), pattern(10)), 0);
		sim::run_ready();
		for (uint16_t port : ports)
			ASSERT_EQ(s->send(host::endpoint(remote, port), pattern(10)), 0);
		peer_says(ports);
		sim::run_ready();
		wire().room = SIZE_MAX;
	}
};

/* The sender says for which port it wants news, and looks whether the port is still full; the
 * peer's map clears the port and looks for whom that is news. */
TEST_F(CongPairs, AMonitorHearsOfAPortThatClearsAsItIsRefused)
{
	int err = 0;

	every({.prepare =
		       [&] {
			       bring_up();
			       peer_says({5000});
			       rds_socket_set_cong_monitor(s->core(), 1, 0);
			       sim::run_ready();
		       },
	       .one =
		       [&] {
			       err = s->send(to, pattern(10));
			       if (err && !rds_socket_refused(s->core(), &to))
				       err = s->send(to, pattern(10));
		       },
	       .other = [] { peer_says({}); },
	       .promise =
		       [&] {
			       sim::run_ready();
			       if (!err)
				       return sent_to(5000) == 2;
			       return err == -105 && rds_socket_cong_notice(s->core()) != 0;
		       },
	       .schedules = kSchedules});
}

/* The transmitter says that something waits for a port, and looks at the port again; the peer's map
 * clears the port and looks whether something waits. */
TEST_F(CongPairs, WhatStepsAsideIsSentWhenThePortClears)
{
	every({.prepare = [this] { step_aside({kLast}); },
	       .one = [] { rds_path_writable(wire().path); },
	       .other = [] { peer_says({}); },
	       .promise =
		       [] {
			       sim::run_ready();
			       return sent_to(kLast) == 1;
		       },
	       .schedules = kSchedules});
}

/* The transmitter takes the news that a port has cleared, and looks which; the peer's map clears
 * another and gives the news. */
TEST_F(CongPairs, WhatWaitsIsSentWhenAnotherPortHasJustCleared)
{
	every({.prepare =
		       [this] {
			       step_aside({5000, 5001});
			       rds_path_writable(wire().path);
			       sim::run_ready();
			       ASSERT_EQ(sent_to(5000) + sent_to(5001), 0u);
			       peer_says({5000});
		       },
	       .one = [] {},
	       .other = [] { peer_says({}); },
	       .promise =
		       [] {
			       sim::run_ready();
			       return sent_to(5000) == 1 && sent_to(5001) == 1;
		       },
	       .schedules = kSchedules});
}

/* The worker says that the connection is up, and looks at our map; the reader clears a port of ours
 * and looks which connections are up. */
TEST_F(CongPairs, APeerIsToldByTheWorkerThatConnectsOrByTheReader)
{
	every({.prepare = [this] { fill_and_cut(); },
	       .one = [] { rds_path_connected(wire().path); },
	       .other =
		       [this] {
			       sim::spawn("other's reader", [this] {
				       linger(60);
				       read_all();
			       });
		       },
	       .promise =
		       [this] {
			       sim::run_ready();
			       EXPECT_FALSE(congested());
			       /* No hello yet: its answer would look at the map once more. */
			       EXPECT_FALSE(told_congested());
			       return path().state() == rds::PathState::kUp;
		       },
	       .schedules = kSchedules});
}

} // namespace
