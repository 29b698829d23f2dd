// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"
#include "reach.h"

RDS_REACH(life_idle_since, &rds::Lifecycle::idle_since_ns_)
RDS_REACH(fan_folding, &rds::Fan::folding_)

namespace
{

using fake::Wire;
using fake::wires;
using host::endpoint;
using host::Socket;

constexpr uint64_t kMs = 1000 * 1000;

/* Called once, when a path has taken event @event. */
unsigned int event;
std::function<void()> on_event;

/* A connection to a host of ours that falls silent. */
class ConnIdle : public SocketTest<RDS_CAP_DELIVERY_ACK>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		rds_net_tunables(net->core())->idle_timeout_ms = 1000;
		on_event = nullptr;
		host::on_event = [](const struct rds_path *, unsigned int e, unsigned int) {
			if (e == event && on_event)
				std::exchange(on_event, nullptr)();
		};
	}
	int send()
	{
		int ret = s->send(to, pattern(50));

		sim::run_ready();
		return ret;
	}
	Wire &w()
	{
		return *wires()[0];
	}
	rds::PathState state()
	{
		return w().path->state();
	}
	void up()
	{
		rds::wire::Header h;

		sim::run_ready();
		rds_path_connected(w().path);
		sim::run_ready();
		rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
		ASSERT_EQ(fake::arrive(w().path, h), RDS_RECV_SKIP);
	}
	void peer_has(uint64_t seq)
	{
		rds::wire::Header h;

		rds::wire::encode_control(h);
		rds::wire::put64(h.ack, seq);
		ASSERT_EQ(fake::arrive(w().path, h), RDS_RECV_SKIP);
		sim::run_ready();
	}
	/* Up, one message sent and acknowledged. */
	void used()
	{
		ASSERT_EQ(send(), 0);
		up();
		peer_has(1);
	}
	/* The same; then it has drained, and the test is the sweep. */
	void drained()
	{
		used();
		rds_net_tunables(net->core())->idle_timeout_ms = 0;
		rds_path_drop(w().path, RDS_DROP_PEER_CLOSED);
		sim::run_ready();
		ASSERT_EQ(state(), rds::PathState::kDown);
	}
	rds_conn &conn()
	{
		return w().path->conn;
	}
	/* The sweep has found that it may have to go; the worker decides. */
	void looked_after()
	{
		conn().life.hand_over(rds::Care::kIdle);
		conn().wake_worker();
		sim::run_ready();
	}
	/* The same.  @fn comes when the worker has seen that all paths have drained. */
	template <typename F>
	void before_it_retires(F fn)
	{
		bool go = false;

		sim::spawn("path maker", [&] {
			rds::Guard g(net->core()->conns.paths_lock);

			sim::wait_until([&] { return go; });
		});
		sim::run_ready();
		looked_after();
		EXPECT_TRUE(conn().life.is_looked_after()) << "the worker waits";
		fn();
		go = true;
		sim::run_ready();
	}
	/* The same.  @fn comes when it retires, and before its path is looked at. */
	template <typename F>
	void when_it_retires(F fn)
	{
		event = RDS_EV_retire;
		on_event = [&] {
			EXPECT_TRUE(conn().life.is_ending() && !conn().life.is_dying());
			fn();
		};
		looked_after();
		EXPECT_FALSE(on_event) << "it did not retire";
	}
	bool is_kept()
	{
		return wires().size() == 1 && conn().life.is_in_use() &&
		       !net->stat(RDS_S_conn_collected);
	}
	void expect_collected()
	{
		sim::run_for(100 * kMs);
		EXPECT_EQ(wires().size(), 0u);
		EXPECT_EQ(net->stat(RDS_S_conn_collected), 1u);
	}
	const struct rds_endpoint to = endpoint(host::addr4(99), 5000);
};

TEST_F(ConnIdle, EndsInOrderAndIsCollected)
{
	used();
	sim::run_for(900 * kMs);
	EXPECT_EQ(state(), rds::PathState::kUp);
	sim::run_for(1000 * kMs);
	ASSERT_EQ(state(), rds::PathState::kDisconnecting);
	EXPECT_EQ(w().history(), "connect shutdown");
	rds_path_drained(w().path);
	sim::run_for(1000 * kMs);
	EXPECT_EQ(wires().size(), 0u) << "its memory is given back";
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 1u);
	EXPECT_EQ(net->stat(RDS_S_conn_reset), 0u) << "nothing went wrong";
	ASSERT_EQ(send(), 0);
	EXPECT_EQ(wires().size(), 1u) << "and there is a new one when it is needed";
}

TEST_F(ConnIdle, WhatComesMeanwhileKeepsIt)
{
	used();
	sim::run_for(1900 * kMs);
	ASSERT_EQ(state(), rds::PathState::kDisconnecting);
	/* We cannot acknowledge it any more, so it may come again. */
	EXPECT_EQ(fake::arrive(w().path, 1, 5000, 4000, pattern(10)), 0);
	rds_path_drained(w().path);
	sim::run_for(500 * kMs);
	EXPECT_EQ(wires().size(), 1u);
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 0u);
}

TEST_F(ConnIdle, SoDoesWhatIsSent)
{
	used();
	sim::run_for(1900 * kMs);
	ASSERT_EQ(state(), rds::PathState::kDisconnecting);
	ASSERT_EQ(send(), 0);
	rds_path_drained(w().path);
	sim::run_for(500 * kMs);
	ASSERT_EQ(wires().size(), 1u);
	EXPECT_EQ(w().history(), "connect shutdown close connect");
}

/* The peer's end comes when our worker has begun with its own, and is an answer all the same. */
TEST_F(ConnIdle, BothEndAtTheSameMoment)
{
	used();
	w().on_shutdown = [this] {
		rds_path_drop(w().path, RDS_DROP_PEER_CLOSED);
		rds_path_drained(w().path);
	};
	sim::run_for(5000 * kMs);
	EXPECT_EQ(wires().size(), 0u);
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 1u);
}

/* The end that others call asks once by itself: the peer's end may have been lost. */
TEST_F(ConnIdle, AnEndThatIsNotAnsweredIsAskedFor)
{
	used();
	w().initiates = false;
	sim::run_for(1900 * kMs);
	ASSERT_EQ(state(), rds::PathState::kDisconnecting);
	sim::run_for(5000 * kMs);
	EXPECT_EQ(w().history(), "connect shutdown close connect");
	sim::run_for(60 * 1000 * kMs);
	EXPECT_EQ(w().history(), "connect shutdown close connect close") << "nobody is there";
}

TEST_F(ConnIdle, AnEndWithoutOrderKeepsIt)
{
	used();
	sim::run_for(1900 * kMs);
	ASSERT_EQ(state(), rds::PathState::kDisconnecting);
	rds_path_drop(w().path, RDS_DROP_ERROR);
	/* Long enough for attempts to connect to be given up. */
	sim::run_for(60 * 1000 * kMs);
	EXPECT_EQ(wires().size(), 1u) << "the peer may not know what we have";
}

/* It was in order before that; what came since undoes it. */
TEST_F(ConnIdle, AnEndInOrderIsOneConnectionsOwn)
{
	used();
	sim::run_for(1900 * kMs);
	ASSERT_EQ(send(), 0);
	rds_path_drained(w().path);
	sim::run_ready();
	ASSERT_EQ(w().path->drained.load(), 1u);
	up();
	peer_has(2);
	rds_path_drop(w().path, RDS_DROP_ERROR);
	sim::run_for(60 * 1000 * kMs);
	EXPECT_EQ(wires().size(), 1u);
}

TEST_F(ConnIdle, ThePeersEndIsEnough)
{
	used();
	rds_path_drop(w().path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();
	EXPECT_EQ(w().history(), "connect close") << "nobody calls without a reason";
	EXPECT_EQ(net->stat(RDS_S_conn_reset), 0u);
	sim::run_for(2000 * kMs);
	EXPECT_EQ(wires().size(), 0u);
}

/* sim_fast --verbs --crowd --seed 7265: it ended before it had heard that we acknowledge, with
 * messages in its queue that we had, and sent them again to one that had forgotten them. */
TEST_F(ConnIdle, ButNotWhileItIsOwedAnAck)
{
	used();
	EXPECT_EQ(fake::arrive(w().path, 1, 5000, 4000, pattern(10)), 0);
	rds_path_drop(w().path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();
	EXPECT_EQ(w().path->drained.load(), 0u);
	EXPECT_EQ(net->stat(RDS_S_conn_reset), 1u);
	sim::run_for(2000 * kMs);
	EXPECT_EQ(wires().size(), 1u);
}

/* Every peer acknowledges by number, so there is nothing to be read before the end. */
TEST_F(ConnIdle, AnAdministratorsEndIsOneAtOnceWherePeersCount)
{
	fake::set_caps(RDS_CAP_DELIVERY_ACK | RDS_CAP_NUMBERED);
	ASSERT_EQ(send(), 0);
	rds_path_connected(w().path);
	sim::run_ready();
	rds_path_drop(w().path, RDS_DROP_ADMIN);
	sim::run_ready();
	EXPECT_EQ(w().history(), "connect close connect")
		<< "with a message left, and no end in order";
}

TEST_F(ConnIdle, WhatIsNotAcknowledgedKeepsIt)
{
	ASSERT_EQ(send(), 0);
	up();
	sim::run_for(5000 * kMs);
	EXPECT_EQ(state(), rds::PathState::kUp);
}

TEST_F(ConnIdle, SoDoesWhatHasArrivedInPart)
{
	used();
	w().midway = true;
	sim::run_for(5000 * kMs);
	EXPECT_EQ(state(), rds::PathState::kUp);
	w().midway = false;
	sim::run_for(1000 * kMs);
	EXPECT_EQ(state(), rds::PathState::kDisconnecting);
}

TEST_F(ConnIdle, SoDoesOneWhoseEndMeansNothing)
{
	fake::set_midway(false);
	used();
	sim::run_for(5000 * kMs);
	EXPECT_EQ(state(), rds::PathState::kUp);
	/* Its peer's end is no proof that nothing is owed: called again, and kept. */
	rds_path_drop(w().path, RDS_DROP_PEER_CLOSED);
	sim::run_for(100 * kMs);
	EXPECT_EQ(w().path->drained.load(), 0u);
	EXPECT_EQ(state(), rds::PathState::kConnecting);
}

/* They acknowledge by number, and yet nobody knows whose numbers they keep. */
TEST_F(ConnIdle, SoDoMainlinesThatAcknowledge)
{
	rds::wire::Header h;

	fake::set_caps(RDS_CAP_DELIVERY_ACK | RDS_CAP_NUMBERED);
	ASSERT_EQ(send(), 0);
	rds_path_connected(w().path);
	sim::run_ready();
	rds::wire::encode(h, 0, 0, 0, 0);
	rds::wire::put64(h.ack, 1);
	EXPECT_EQ(fake::arrive(w().path, h), RDS_RECV_SKIP);
	sim::run_for(5000 * kMs);
	EXPECT_EQ(state(), rds::PathState::kUp);
	rds_path_drop(w().path, RDS_DROP_PEER_CLOSED);
	sim::run_for(100 * kMs);
	EXPECT_EQ(w().path->drained.load(), 0u);
}

TEST_F(ConnIdle, MainlinesStay)
{
	ASSERT_EQ(send(), 0);
	sim::run_ready();
	rds_path_connected(w().path);
	sim::run_ready();
	EXPECT_EQ(fake::arrive(w().path, 1, 5000, 4000, pattern(10)), 0);
	rds_path_acked(w().path, w().sent.size());
	sim::run_for(5000 * kMs);
	EXPECT_EQ(state(), rds::PathState::kUp);
}

TEST_F(ConnIdle, ZeroIsNever)
{
	rds_net_tunables(net->core())->idle_timeout_ms = 0;
	used();
	sim::run_for(1000 * 1000 * kMs);
	EXPECT_EQ(state(), rds::PathState::kUp);
}

/* Nothing was ever said: whoever lives at that address, if anybody, is owed nothing. */
TEST_F(ConnIdle, OneThatNeverCameUpIsCollected)
{
	ASSERT_EQ(send(), 0);
	rds_path_drop(w().path, RDS_DROP_CONNECT);
	sim::run_for(5000 * kMs);
	EXPECT_EQ(wires().size(), 1u) << "a message waits";
	s.reset();
	sim::run_for(30 * 1000 * kMs);
	EXPECT_EQ(wires().size(), 0u);
}

/* The transport reads as soon as it is connected, and our worker may be late. */
TEST_F(ConnIdle, WhatCameBeforeItWasUpKeepsIt)
{
	rds::wire::Header h;

	ASSERT_EQ(send(), 0);
	s.reset(); /* its message with it */
	while (state() != rds::PathState::kConnecting)
		sim::run_for(kMs);
	before_it_retires([&] {
		rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
		ASSERT_EQ(fake::arrive(w().path, h), RDS_RECV_SKIP);
		EXPECT_EQ(fake::arrive(w().path, 1, 5000, 4000, pattern(10)), 0);
	});
	ASSERT_TRUE(is_kept());
	EXPECT_EQ(state(), rds::PathState::kConnecting) << "it is not even hung up on";
	looked_after();
	ASSERT_TRUE(is_kept());
	EXPECT_EQ(state(), rds::PathState::kConnecting);
}

/* A call that comes in the last moment is taken. */
TEST_F(ConnIdle, ACallInTheLastMoment)
{
	int handle;
	auto call = [&] { EXPECT_TRUE(w().path->accepted(&handle)); };

	drained();
	before_it_retires(call);
	ASSERT_TRUE(is_kept());
	EXPECT_EQ(state(), rds::PathState::kUp);
	rds_path_drop(w().path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();
	w().path->drained.store(true);
	when_it_retires(call);
	ASSERT_TRUE(is_kept());
	EXPECT_EQ(state(), rds::PathState::kUp);
	EXPECT_TRUE(fake::discarded().empty());
}

/* Or refused, when it is too late: it is not forgotten. */
TEST_F(ConnIdle, ACallThatIsTooLate)
{
	static int handle, taken;

	taken = 0;
	drained();
	host::on_state = [](const rds_path *p, unsigned int, unsigned int to, unsigned int) {
		if (static_cast<rds::PathState>(to) == rds::PathState::kDead)
			taken += const_cast<rds_path *>(p)->accepted(&handle);
	};
	looked_after();
	EXPECT_EQ(fake::discarded(), std::vector<void *>{&handle});
	EXPECT_EQ(taken, 0);
	expect_collected();
}

/* An acceptor may have found the connection before it ended, and hold it until after its burial. */
TEST_F(ConnIdle, ACallAfterTheEnd)
{
	int handle;

	used();

	rds::Conn &c = w().path->conn;

	c.refs.get();
	sim::run_for(1900 * kMs);
	rds_path_drained(w().path);
	sim::run_for(2000 * kMs);
	ASSERT_EQ(net->stat(RDS_S_conn_collected), 1u);
	rds_path_accepted(rds_conn_path(&c, 0), &handle);
	EXPECT_EQ(fake::discarded(), std::vector<void *>{&handle});
	c.put();
	sim::run_ready();
	EXPECT_EQ(wires().size(), 0u);
}

/* A message that comes in the last moment is not left on a connection that ends. */
TEST_F(ConnIdle, AMessageInTheLastMoment)
{
	auto message = [this] { ASSERT_EQ(s->send(to, pattern(50)), 0); };

	drained();
	before_it_retires(message);
	ASSERT_TRUE(is_kept());
	EXPECT_EQ(state(), rds::PathState::kConnecting);
	up();
	peer_has(2);
	rds_path_drop(w().path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();
	ASSERT_EQ(state(), rds::PathState::kDown);
	when_it_retires(message);
	ASSERT_TRUE(is_kept());
	EXPECT_EQ(state(), rds::PathState::kConnecting);
	EXPECT_TRUE(w().path->has_messages());
}

/* Too late, it is on the next one. */
TEST_F(ConnIdle, AMessageThatIsTooLate)
{
	drained();

	const uint32_t old = conn().gen;

	event = RDS_EV_die;
	on_event = [this] {
		EXPECT_TRUE(conn().life.is_dying());
		EXPECT_EQ(s->send(to, pattern(50)), 0);
		EXPECT_FALSE(w().path->has_queued());
	};
	looked_after();
	EXPECT_FALSE(on_event);
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 1u);
	ASSERT_EQ(wires().size(), 1u);
	EXPECT_NE(conn().gen, old);
	EXPECT_EQ(state(), rds::PathState::kConnecting);
	EXPECT_TRUE(w().path->has_messages());
}

/* A caller that still holds it when it dies is sent away. */
TEST_F(ConnIdle, ItCannotBeCalledOffTooLate)
{
	used();

	rds::Conn &c = conn();

	c.refs.get();
	sim::run_for(1900 * kMs);
	rds_path_drained(w().path);
	ASSERT_TRUE(sim::run_until([&] { return c.life.is_dying(); }, 2000 * kMs));
	EXPECT_FALSE(c.life.call_off());
	EXPECT_TRUE(c.life.is_dying());
	EXPECT_EQ(c.provide(1).status().code(), -101);
	c.put();
	sim::run_for(1000 * kMs);
	EXPECT_EQ(wires().size(), 0u);
}

/* Its namespace may end when the sweep has just found it. */
TEST_F(ConnIdle, ADeadPathIsNotTakenBack)
{
	drained();

	rds_conn &c = conn();
	rds_path &p = c.first();

	c.refs.get();
	c.kill();
	looked_after();
	EXPECT_FALSE(c.life.is_dying()) << "it ends with its namespace";
	ASSERT_EQ(p.state(), rds::PathState::kDead);

	rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);

	m->sock = s->core();
	EXPECT_EQ(p.enqueue(m, false, nullptr).status().code(), -101);
	EXPECT_TRUE(c.life.call_off());
	EXPECT_EQ(p.enqueue(m, false, nullptr).status().code(), -101);
	EXPECT_FALSE(p.has_queued());
	m->sock = nullptr;
	rds::message_put(m);
	c.put();
}

/* Or while it retires. */
TEST_F(ConnIdle, ItDiesOnce)
{
	drained();

	rds_conn &c = conn();

	c.refs.get(); /* who kills it has it */
	when_it_retires([&c] { c.kill(); });
	EXPECT_NE(c.next_dead, &c) << "it waits twice for its burial";
	c.put();
	expect_collected();
}

/* Messages that other paths have queued are about to come to path 0: it must not be gone by
 * then. */
TEST_F(ConnIdle, ItDoesNotRetireWhileItFolds)
{
	drained();
	when_it_retires([this] { (conn().fan.*reach(fan_folding())).store(true); });
	EXPECT_TRUE(is_kept());
	EXPECT_TRUE(conn().fan.is_folding());
	/* Then path 0 has them: there are none. */
	looked_after();
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 1u);
	expect_collected();
}

/* A message that is about to be queued on one of its paths. */
TEST_F(ConnIdle, ItDoesNotRetireWhileAFlowWaits)
{
	drained();
	when_it_retires([this] { EXPECT_TRUE(w().path->count_waiting()); });
	EXPECT_TRUE(is_kept()) << "called off";
	when_it_retires([this] { /* counted before */ });
	EXPECT_TRUE(is_kept());
	conn().waiting.store(0);
	looked_after();
	expect_collected();
}

/* Nor is a message left on one that was about to try again, and was kept from it. */
TEST_F(ConnIdle, ARetryThatWasArmedIsNotWaitedFor)
{
	Socket other(*net);

	rds_net_tunables(net->core())->idle_timeout_ms = 0; /* we do it ourselves */
	rds_net_tunables(net->core())->reconnect_min_ms = 60000;
	rds_net_tunables(net->core())->reconnect_max_ms = 60000;
	ASSERT_EQ(other.bind(endpoint(a1, 4001)), 0);
	ASSERT_EQ(send(), 0);
	while (state() != rds::PathState::kDown) {
		rds_path_drop(w().path, RDS_DROP_CONNECT);
		sim::run_ready();
	}
	ASSERT_TRUE(w().path->dial().is_waiting());
	s.reset(); /* and its message with it */
	looked_after();
	expect_collected();
	ASSERT_EQ(other.send(to, pattern(50)), 0);
	sim::run_ready();
	EXPECT_EQ(state(), rds::PathState::kConnecting);
}

/* One that never was up is hung up on, and the one who needs it then calls anew. */
TEST_F(ConnIdle, ACallThatIsHungUpOnIsMadeAgain)
{
	rds_net_tunables(net->core())->idle_timeout_ms = 0; /* we do it ourselves */

	Socket other(*net);

	ASSERT_EQ(other.bind(endpoint(a1, 4001)), 0);
	ASSERT_EQ(send(), 0);
	s.reset(); /* its message with it */
	ASSERT_EQ(state(), rds::PathState::kConnecting);
	when_it_retires([&] {
		EXPECT_EQ(state(), rds::PathState::kDown);
		EXPECT_EQ(w().path->last_reason.load(), RDS_DROP_IDLE);
		EXPECT_EQ(other.send(to, pattern(50)), 0);
	});
	ASSERT_TRUE(is_kept());
	sim::run_for(2 * 1000 * kMs);
	EXPECT_EQ(state(), rds::PathState::kConnecting);
	EXPECT_EQ(w().history(), "connect close connect");
}

/* Each of what must not be there when an idle one ends, alone. */
TEST_F(ConnIdle, ItEndsOnlyWithNothingToSay)
{
	auto asked = [this] {
		w().path->step_own(RDS_EV_idle);
		return state() != rds::PathState::kUp;
	};
	host::Bytes map(rds::kCongMapBytes), clear(rds::kCongMapBytes);

	rds_net_tunables(net->core())->idle_timeout_ms = 0; /* we do it ourselves */
	used();
	ASSERT_EQ(send(), 0);
	EXPECT_FALSE(asked()) << "not acknowledged";
	peer_has(2);
	ASSERT_EQ(fake::arrive(w().path, 1, 5000, 4000, pattern(10)), 0);
	EXPECT_FALSE(asked()) << "not told";
	sim::run_for(2 * rds::kAckDelayNs);
	/* Full while there is no room: what is queued steps aside, and waits. */
	w().room = 0;
	ASSERT_EQ(send(), 0);
	map[to.port / 8] = static_cast<unsigned char>(1 << to.port % 8);
	ASSERT_EQ(fake::arrive(w().path, 0, 0, 0, map, rds::wire::kCongBitmap), 0);
	w().room = SIZE_MAX;
	rds_path_writable(w().path);
	sim::run_ready();
	ASSERT_TRUE(w().path->holds(to.port));
	EXPECT_FALSE(asked()) << "something waits for a port";
	ASSERT_EQ(fake::arrive(w().path, 0, 0, 0, clear, rds::wire::kCongBitmap), 0);
	sim::run_ready();
	peer_has(w().path->next_tx_seq() - 1);
	w().midway = true;
	EXPECT_FALSE(asked()) << "half a message came";
	w().midway = false;
	EXPECT_TRUE(asked());
	EXPECT_EQ(net->stat(RDS_S_conn_idle), 1u);
	EXPECT_EQ(w().path->last_reason.load(), RDS_DROP_IDLE);
}

/* One that was not let go is as it was: down, for it has nothing to say. */
TEST_F(ConnIdle, ARefusalCallsNobody)
{
	drained();
	when_it_retires([this] { EXPECT_TRUE(conn().life.call_off()); });
	sim::run_for(1000 * kMs);
	ASSERT_TRUE(is_kept());
	EXPECT_EQ(w().history(), "connect close");
	ASSERT_EQ(send(), 0);
	EXPECT_EQ(state(), rds::PathState::kConnecting);
}

/* A sender that met a connection that ends finds the one that takes its place. */
TEST_F(ConnIdle, SendersNeverNotice)
{
	used();
	for (unsigned int i = 0; i < 40; i++) {
		sim::run_for(1000 * kMs + i * 5 * kMs);
		if (wires().empty() || state() == rds::PathState::kDisconnecting) {
			if (!wires().empty())
				rds_path_drained(w().path);
			sim::run_for(i * 7 * kMs);
		}

		int ret = -1;

		sim::spawn("send", [&] { ret = s->send(to, pattern(50)); });
		sim::run_for(100 * kMs);
		ASSERT_EQ(ret, 0) << i;
		ASSERT_EQ(wires().size(), 1u);
		if (state() == rds::PathState::kConnecting)
			up();
		peer_has(w().path->next_tx_seq() - 1);
	}
	EXPECT_GE(net->stat(RDS_S_conn_collected), 5u);
}

/* Whose end means nothing may have said something, though nobody here has heard it. */
TEST_F(ConnIdle, OneThatNeverCameUpAndCannotPartStays)
{
	fake::set_midway(false);
	ASSERT_EQ(send(), 0);
	rds_path_drop(w().path, RDS_DROP_CONNECT);
	s.reset();
	sim::run_for(60 * 1000 * kMs);
	EXPECT_EQ(wires().size(), 1u);
}

/* One message each way is as little idle as two one way. */
TEST_F(ConnIdle, AnswersKeepItToo)
{
	used();
	for (uint64_t i = 0; i < 20; i++) {
		ASSERT_EQ(send(), 0);
		peer_has(i + 2);
		ASSERT_EQ(fake::arrive(w().path, i + 1, 5000, 4000, pattern(10)), 0);
		sim::run_for(200 * kMs);
		while (s->recv())
			;
		ASSERT_EQ(state(), rds::PathState::kUp) << i;
	}
}

/* Down is not enough: the peer may be owed something. */
TEST_F(ConnIdle, OneThatBrokeDoesNotRetire)
{
	rds_net_tunables(net->core())->idle_timeout_ms = 0;
	used();
	w().initiates = false;
	rds_path_drop(w().path, RDS_DROP_ERROR);
	sim::run_ready();
	ASSERT_EQ(state(), rds::PathState::kDown);
	looked_after();
	EXPECT_TRUE(is_kept());
	EXPECT_EQ(conn().life.*reach(life_idle_since()), sim::now_ns()) << "as if it was used";
}

} // namespace
