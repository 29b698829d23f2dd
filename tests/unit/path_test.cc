// SPDX-License-Identifier: GPL-2.0
#include <algorithm>

#include "check_states.h"
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::wire;
using host::endpoint;
using host::Socket;
using rds::PathState;

constexpr uint64_t kMs = 1000 * 1000;

/* One path from 10.0.0.1 to a remote host. */
class PathStates : public SocketTest<0>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		check::watch_states();
	}
	void TearDown() override
	{
		SocketTest::TearDown();
		EXPECT_EQ(check::states_complaint(), "");
	}
	rds_path &path()
	{
		return *wire().path;
	}
	void send(size_t n = 10)
	{
		ASSERT_EQ(s->send(to, pattern(n)), 0);
	}
	void bring_up()
	{
		send();
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
		ASSERT_EQ(path().state(), PathState::kUp);
		rds_path_acked(wire().path, wire().sent.size());
	}
	void drop(enum rds_drop_reason why)
	{
		rds_path_drop(wire().path, why);
		sim::run_ready();
	}
	/* Probes that left. */
	unsigned int probes()
	{
		unsigned int n = 0;

		for (const fake::Frame &f : fake::frames(wire().sent))
			n += f.sport == rds::kProbePort && f.dport == rds::kPingPort && !f.flags;
		return n;
	}
	/* Something comes from the peer. */
	void answer()
	{
		EXPECT_EQ(fake::arrive(wire().path, 1, 0, rds::kProbePort, {}), RDS_RECV_SKIP);
		sim::run_ready();
	}
	const struct rds_endpoint to = endpoint(host::addr4(99), 5000);
};

TEST_F(PathStates, StaysDownUntilSomebodySends)
{
	int err;
	struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &a1, &remote, 0, 0, &err);

	ASSERT_NE(c, nullptr);
	sim::run_for(1000 * kMs);
	EXPECT_EQ(wire().history(), "");
	EXPECT_EQ(path().state(), PathState::kDown);
	send();
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect");
	rds_conn_put(c);
}

TEST_F(PathStates, ConnectsAtOnceThenBacksOff)
{
	send();
	fake::wires()[0]->connect_result = -111;
	sim::run_for(10 * 1000 * kMs);

	size_t tries = wire().calls.size() / 2; /* each is followed by close */

	/* At most one pause of a second after the first doublings, at least half of it on average.
	 */
	EXPECT_GE(tries, 12u);
	EXPECT_LE(tries, 80u);
}

/* seed 511 of 1000 steps: the shortest pause was none, and the worker did nothing else any more. */
TEST_F(PathStates, TheShortestBackOffIsStillAPause)
{
	rds_net_tunables(net->core())->reconnect_max_ms = 1;
	send();
	fake::wires()[0]->connect_result = -111;
	sim::run_for(100 * kMs);
	EXPECT_GE(wire().calls.size() / 2, 100u);
	EXPECT_LE(wire().calls.size() / 2, 400u);
}

TEST_F(PathStates, GivesUpAConnectWithoutAnswer)
{
	send();
	sim::run_for(4900 * kMs);
	EXPECT_EQ(wire().history(), "connect");
	sim::run_for(200 * kMs);
	EXPECT_EQ(wire().history(), "connect close connect");
}

TEST_F(PathStates, WaitsAfterAKnock)
{
	fake::defaults().initiates = false;
	send();
	sim::run_ready();
	drop(RDS_DROP_KNOCKED);
	EXPECT_EQ(wire().history(), "connect close");
	sim::run_for(rds::kKnockPauseNs / 2);
	EXPECT_EQ(wire().history(), "connect close");
	sim::run_for(rds::kKnockPauseNs);
	EXPECT_EQ(wire().history(), "connect close connect");
}

TEST_F(PathStates, ReconnectsByItselfOnlyWhenItInitiates)
{
	bring_up();
	drop(RDS_DROP_ERROR);
	EXPECT_EQ(wire().history(), "connect close connect");
	rds_path_connected(wire().path);
	sim::run_ready();
	wire().initiates = false;
	drop(RDS_DROP_ERROR);
	sim::run_for(5000 * kMs);
	EXPECT_EQ(wire().history(), "connect close connect close");
	send();
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect close connect close connect");
}

TEST_F(PathStates, CallsWhenKnockedUpon)
{
	int err;
	struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &a1, &remote, 0, 0, &err);

	ASSERT_NE(c, nullptr);
	rds_path_knocked(wire().path);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect");
	EXPECT_EQ(net->stat(RDS_S_conn_knock), 1u);
	rds_conn_put(c);
}

TEST_F(PathStates, AdoptsWhatWasAccepted)
{
	int err, handle;
	struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &a1, &remote, 0, 0, &err);

	ASSERT_NE(c, nullptr);
	rds_path_accepted(wire().path, &handle);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "adopt");
	EXPECT_EQ(path().state(), PathState::kUp);
	EXPECT_TRUE(fake::discarded().empty());
	rds_conn_put(c);
}

TEST_F(PathStates, AnAcceptedOneWinsOverItsOwnConnect)
{
	int handle;

	send();
	sim::run_ready();
	rds_path_accepted(wire().path, &handle);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect close adopt");
	EXPECT_EQ(path().state(), PathState::kUp);
}

TEST_F(PathStates, TakesTheNewestOfSeveralAccepted)
{
	int err, older, newer;
	struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &a1, &remote, 0, 0, &err);

	ASSERT_NE(c, nullptr);
	rds_path_accepted(wire().path, &older);
	rds_path_accepted(wire().path, &newer);
	sim::run_ready();
	ASSERT_EQ(fake::discarded().size(), 1u);
	EXPECT_EQ(fake::discarded()[0], &older);
	rds_conn_put(c);
}

TEST_F(PathStates, ReplacesAConnectionThatDoesNotAnswer)
{
	int handle;

	bring_up();
	rds_path_accepted(wire().path, &handle);
	sim::run_for(rds::kAskNs - kMs);
	EXPECT_EQ(wire().history(), "connect");
	EXPECT_EQ(probes(), 1u);
	sim::run_for(2 * kMs);
	/* Messages that the old one brought are read before it is closed. */
	EXPECT_EQ(wire().history(), "connect recv_retry close adopt");
	EXPECT_EQ(net->stat(RDS_S_conn_replaced), 1u);
	EXPECT_EQ(path().state(), PathState::kUp);
}

/* Without memory for the question it gets no answer either. */
TEST_F(PathStates, ReplacesAConnectionThatCannotBeAsked)
{
	int handle;

	bring_up();
	rds_path_accepted(wire().path, &handle);
	sim::options().fail_per_1000 = 1000;
	sim::run_ready();
	sim::options().fail_per_1000 = 0;
	EXPECT_EQ(probes(), 0u);
	sim::run_for(rds::kAskNs + kMs);
	EXPECT_EQ(wire().history(), "connect recv_retry close adopt");
}

TEST_F(PathStates, ReplacesAConnectionThatThePeerHasLeft)
{
	int handle;

	bring_up();
	wire().ended = true;
	rds_path_accepted(wire().path, &handle);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect recv_retry close adopt");
	EXPECT_EQ(probes(), 0u);
}

TEST_F(PathStates, ReplacesAConnectionThatBreaksWhenItIsAsked)
{
	int handle;

	bring_up();
	rds_path_accepted(wire().path, &handle);
	sim::run_ready();
	drop(RDS_DROP_ERROR);
	EXPECT_EQ(wire().history(), "connect close adopt");
	EXPECT_EQ(path().state(), PathState::kUp);
	EXPECT_EQ(net->stat(RDS_S_conn_takeover_refused), 0u);
}

/* Somebody else on the peer's host, say. */
TEST_F(PathStates, KeepsAConnectionThatAnswers)
{
	int handle, another, later;

	bring_up();
	rds_path_accepted(wire().path, &handle);
	sim::run_ready();
	ASSERT_EQ(probes(), 1u);
	answer();
	EXPECT_EQ(fake::discarded(), std::vector<void *>{&handle});
	EXPECT_EQ(net->stat(RDS_S_conn_takeover_refused), 1u);
	/* The next one is refused at once, ... */
	rds_path_accepted(wire().path, &another);
	sim::run_ready();
	EXPECT_EQ(net->stat(RDS_S_conn_takeover_refused), 2u);
	EXPECT_EQ(probes(), 1u);
	/* ... and some time later it is asked again. */
	sim::run_for(rds::kAnswerGoodNs);
	rds_path_accepted(wire().path, &later);
	sim::run_ready();
	EXPECT_EQ(probes(), 2u);
	answer();
	sim::run_for(2 * rds::kAskNs);
	EXPECT_EQ(wire().history(), "connect");
	EXPECT_EQ(path().state(), PathState::kUp);
	EXPECT_EQ(net->stat(RDS_S_conn_replaced), 0u);
}

TEST_F(PathStates, AsksOneThatThePeerOpened)
{
	int first, second;

	fake::defaults().initiates = false;
	send();
	rds_path_accepted(wire().path, &first);
	sim::run_ready();
	answer();
	rds_path_accepted(wire().path, &second);
	sim::run_ready();
	EXPECT_EQ(probes(), 1u);
	send(); /* goes on meanwhile */
	EXPECT_EQ(fake::frames(wire().sent).size(), 4u);
	answer();
	EXPECT_EQ(fake::discarded(), std::vector<void *>{&second});
}

/* A peer that we called and that said something was there: it is called at once when it goes. */
TEST_F(PathStates, APeerThatAnsweredIsCalledAtOnce)
{
	bring_up();
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(fake::arrive(wire().path, rds::wire::Header{}), RDS_RECV_SKIP);
		send();
		drop(RDS_DROP_ERROR);
		ASSERT_EQ(path().state(), PathState::kConnecting) << i;
		rds_path_connected(wire().path);
		sim::run_ready();
	}
}

/* The sender has the token when nobody has answered: it ends all the same, though an answer comes
 * meanwhile. */
TEST_F(PathStates, DoesNotChangeItsMind)
{
	int handle;

	bring_up();
	rds_path_accepted(wire().path, &handle);
	sim::run_for(rds::kAskNs - kMs);
	wire().on_xmit = [&] {
		sim::run_for(2 * kMs);
		answer();
	};
	send();
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect recv_retry close adopt");
	EXPECT_EQ(path().state(), PathState::kUp);
}

TEST_F(PathStates, SaysNothingBeforeItsPeerHasSpoken)
{
	int handle;

	fake::set_caps(RDS_CAP_DELIVERY_ACK | RDS_CAP_PROBE);
	fake::defaults().initiates = false;
	send();
	rds_path_accepted(wire().path, &handle);
	sim::run_for(5000 * kMs);

	/* Hello, and neither map, probe nor message. */
	auto said = fake::frames(wire().sent);

	ASSERT_EQ(said.size(), 1u);
	EXPECT_EQ(said[0].flags, rds::wire::kRetransmitted);
	send();
	sim::run_ready();
	EXPECT_EQ(fake::frames(wire().sent).size(), 1u);
	answer();
	said = fake::frames(wire().sent);
	ASSERT_EQ(said.size(), 5u); /* map, probe, two messages */
	EXPECT_EQ(said[1].flags, rds::wire::kCongBitmap);
}

/* A frame that comes before adopt() has returned counts, too. */
TEST_F(PathStates, HearsWhatCameWhileItAdopted)
{
	int handle;

	fake::defaults().initiates = false;
	send();
	wire().on_adopt = [&] { fake::arrive(wire().path, 1, 0, rds::kProbePort, {}); };
	rds_path_accepted(wire().path, &handle);
	sim::run_ready();
	EXPECT_EQ(fake::frames(wire().sent).size(), 2u); /* map, message */
}

/* accepted() hands over, then posts; the worker may have adopted in between. */
TEST_F(PathStates, ALateEventOfAnAdoptedOneDropsNothing)
{
	bring_up();
	path().post(rds::kEvAccepted);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect");
	EXPECT_EQ(path().state(), PathState::kUp);
	EXPECT_EQ(net->stat(RDS_S_conn_replaced), 0u);
}

TEST_F(PathStates, GoesOnWhenTheAcceptedOneIsDead)
{
	int handle;

	bring_up();
	wire().adopt_result = -104;
	rds_path_accepted(wire().path, &handle);
	sim::run_for(3000 * kMs);
	EXPECT_EQ(wire().history(), "connect recv_retry close adopt connect");
}

TEST_F(PathStates, EndsInOrderWhenAskedTo)
{
	bring_up();
	rds_transport_net_reset(net->core(), fake::ops());
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect shutdown");
	EXPECT_EQ(path().state(), PathState::kDisconnecting);
	rds_path_drained(wire().path);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect shutdown close connect");
	EXPECT_EQ(net->stat(RDS_S_conn_drain_timeout), 0u);
}

TEST_F(PathStates, DoesNotWaitForEverForThePeersEnd)
{
	bring_up();
	rds_transport_net_reset(net->core(), fake::ops());
	sim::run_for(rds::kDrainTimeoutNs + 10 * kMs);
	EXPECT_EQ(wire().history(), "connect shutdown close connect");
	EXPECT_EQ(net->stat(RDS_S_conn_drain_timeout), 1u);
}

/* Each of these cut the draining short, and what had arrived and was not read yet was lost. */
TEST_F(PathStates, DrainsToTheEndWhenAskedTwice)
{
	bring_up();
	rds_transport_net_reset(net->core(), fake::ops());
	sim::run_ready();
	rds_transport_net_reset(net->core(), fake::ops());
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect shutdown");
	rds_path_drained(wire().path);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect shutdown close connect");
}

TEST_F(PathStates, DrainsToTheEndBeforeItAdoptsTheNext)
{
	int handle;

	bring_up();
	rds_transport_net_reset(net->core(), fake::ops());
	sim::run_ready();
	rds_path_accepted(wire().path, &handle);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect shutdown");
	rds_path_drained(wire().path);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect shutdown close adopt");
	EXPECT_EQ(path().state(), PathState::kUp);
}

/* Its worker sees both at once. */
TEST_F(PathStates, AWishToEndDoesNotHideThatItBroke)
{
	bring_up();
	rds_transport_net_reset(net->core(), fake::ops());
	sim::run_ready();
	ASSERT_EQ(path().state(), PathState::kDisconnecting);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	rds_transport_net_reset(net->core(), fake::ops());
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect shutdown close connect");
	EXPECT_EQ(net->stat(RDS_S_conn_drain_timeout), 0u);
}

/* The peer's ports are the same over all connections to it. */
TEST_F(PathStates, WhatThePeerSaysOfItsPortsIsForgottenWithTheLastConnection)
{
	Socket other(*net);
	host::Bytes map(rds::kCongMapBytes);

	map[to.port / 8] = 1 << to.port % 8;
	bring_up();
	ASSERT_EQ(other.bind(endpoint(a2, 4000)), 0);
	ASSERT_EQ(other.send(to, pattern(10)), 0);
	sim::run_ready();

	fake::Wire &one = *fake::wires()[0], &two = *fake::wires()[1];

	rds_path_connected(two.path);
	sim::run_ready();
	ASSERT_EQ(fake::arrive(one.path, 0, 0, 0, map, rds::wire::kCongBitmap), 0);
	ASSERT_TRUE(rds_socket_congested(s->core(), &to));
	one.connect_result = two.connect_result = -111; /* one that begins would count */
	rds_path_drop(two.path, RDS_DROP_ERROR);
	sim::run_ready();
	ASSERT_NE(two.path->state(), PathState::kUp);
	EXPECT_TRUE(rds_socket_congested(s->core(), &to));
	rds_path_drop(one.path, RDS_DROP_ERROR);
	sim::run_ready();
	EXPECT_FALSE(rds_socket_congested(s->core(), &to));
}

TEST_F(PathStates, ForgetsTheBackoffOnceThePeerWasHeard)
{
	bring_up();
	for (int i = 0; i < 12; i++) {
		drop(RDS_DROP_ERROR);
		sim::run_for(1100 * kMs);
		rds_path_connected(wire().path);
		sim::run_ready();
		ASSERT_EQ(path().state(), PathState::kUp);
	}
	/* The pause is long by now, unless something comes. */
	EXPECT_EQ(fake::arrive(wire().path, 1, 5000, 4000, {}), 0);
	size_t before = wire().calls.size();

	drop(RDS_DROP_ERROR);
	EXPECT_EQ(wire().calls.size(), before + 2); /* close connect, at once */
	EXPECT_TRUE(s->recv());
}

/* Frames heard over the last connection once excused every attempt that came after it: a peer
 * that was gone was called again without any pause. */
TEST_F(PathStates, BacksOffAgainAfterItHasForgotten)
{
	bring_up();
	fake::arrive(wire().path, 1, 5000, 4000, pattern(10));
	ASSERT_EQ(s->send(to, pattern(10)), 0);
	wire().connect_result = -111;
	wire().calls.clear();
	rds_path_drop(wire().path, RDS_DROP_ERROR);

	/* Steps, for without pauses time would stand still. */
	uint64_t start = sim::now_ns();

	for (int i = 0; i < 500; i++)
		sim::step();
	EXPECT_GE(std::count(wire().calls.begin(), wire().calls.end(), "connect"), 5);
	EXPECT_GT(sim::now_ns() - start, 100 * kMs);
}

TEST_F(PathStates, RetriesReceivingAfterAPause)
{
	bring_up();
	rds_recv_later(wire().path);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect");
	sim::run_for(rds::kRetryNs + kMs);
	EXPECT_EQ(wire().history(), "connect recv_retry");
}

/* An adapter asks for the route first, and asks a peer that does not answer again and again. */
TEST_F(PathStates, ATransportSaysHowLongACallMayTake)
{
	fake::set_call_ms(25'000);
	send();
	sim::run_for(25'000'000'000 - 1);
	EXPECT_EQ(wire().history(), "connect");
	sim::run_for(1000 * 1000);
	EXPECT_EQ(wire().history(), "connect close connect");
}

/* The transport reads as soon as it is connected: it may have paused before our worker knows. */
TEST_F(PathStates, RetriesReceivingThatPausedWhileItConnected)
{
	send();
	sim::run_ready();
	path().post(rds::kEvRecvRetry);
	rds_path_connected(wire().path);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect recv_retry");
}

TEST_F(PathStates, EventsOfAnEarlierConnectionAreVoid)
{
	bring_up();
	drop(RDS_DROP_ERROR);
	EXPECT_EQ(path().state(), PathState::kConnecting);
	rds_path_drained(wire().path);
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(path().state(), PathState::kConnecting);
}

TEST_F(PathStates, ProbesWhenTheTransportWantsIt)
{
	fake::set_caps(RDS_CAP_PROBE);
	send();
	sim::run_ready();
	rds_path_connected(wire().path);
	sim::run_ready();

	auto f = fake::frames(wire().sent);

	ASSERT_EQ(f.size(), 3u); /* map, message, probe */
	EXPECT_EQ(f[2].sport, 1);
	EXPECT_EQ(f[2].dport, 0);
}

/* Dies in every state, with whatever is queued. */
TEST_F(PathStates, DiesInEveryState)
{
	for (int state = 0; state < 4; state++) {
		host::Net other({a1});
		Socket t(other);

		ASSERT_EQ(t.bind(endpoint(a1, 4000)), 0);
		ASSERT_EQ(t.send(to, pattern(100)), 0);
		if (state > 0)
			sim::run_ready();
		if (state > 1) {
			rds_path_connected(wire().path);
			sim::run_ready();
		}
		if (state > 2)
			rds_transport_net_reset(other.core(), fake::ops());
		t.close();
	}
	EXPECT_TRUE(fake::wires().empty());
}

TEST_F(PathStates, DiscardsWhatWasAcceptedLast)
{
	int handle;

	bring_up();
	rds_path_accepted(wire().path, &handle);
	rds_transport_net_exit(net->core(), fake::ops());
	EXPECT_EQ(fake::discarded(), std::vector<void *>{&handle});
}

TEST_F(PathStates, TellsTheTransportWhatItIs)
{
	send();
	EXPECT_EQ(rds_path_priv(&path()), &wire());
	EXPECT_EQ(rds_path_index(&path()), 0u);
	EXPECT_EQ(rds_path_net(&path()), net->core());
	EXPECT_EQ(rds_path_os_net(&path()), net->os());
	EXPECT_EQ(rds_path_transport(&path()), fake::ops());
	EXPECT_EQ(rds_path_scope(&path()), 0u);
	EXPECT_EQ(rds_path_tos(&path()), 0u);
	EXPECT_EQ(host::show(*rds_path_laddr(&path())), host::show(a1));
	EXPECT_EQ(host::show(*rds_path_faddr(&path())), host::show(to.addr));
}

} // namespace
