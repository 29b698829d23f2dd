// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path.h"
#include "net/rds/socket.h"

namespace
{

using fake::Wire;
using fake::wires;
using host::endpoint;
using host::Socket;

constexpr uint64_t kMs = 1000 * 1000;

/* A connection to a host of ours that falls silent. */
class ConnIdle : public SocketTest<RDS_CAP_DELIVERY_ACK>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		rds_net_tunables(net->core())->idle_timeout_ms = 1000;
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
	/* The same; then it has parted, and takes nothing more. */
	void retired()
	{
		used();
		rds_net_tunables(net->core())->idle_timeout_ms = 0; /* we do it ourselves */
		rds_path_drop(w().path, RDS_DROP_PEER_CLOSED);
		sim::run_ready();
		w().path->retire();
		sim::run_ready();
		ASSERT_EQ(w().path->retirement.load(), rds::Retirement::kGranted);
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
	ASSERT_EQ(w().path->parted.load(), 1u);
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
	EXPECT_EQ(w().path->parted.load(), 0u);
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
	EXPECT_EQ(w().path->parted.load(), 0u);
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
	rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
	ASSERT_EQ(fake::arrive(w().path, h), RDS_RECV_SKIP);
	EXPECT_EQ(fake::arrive(w().path, 1, 5000, 4000, pattern(10)), 0);
	w().path->retire();
	sim::run_ready();
	EXPECT_EQ(w().path->retirement.load(), rds::Retirement::kRefused);
}

/* A call that comes in the last moment is taken, or refused; it is not forgotten. */
TEST_F(ConnIdle, ACallInTheLastMoment)
{
	used();
	sim::run_for(1900 * kMs);
	rds_path_drained(w().path);
	sim::run_ready();
	ASSERT_EQ(state(), rds::PathState::kDown);

	int handle;

	w().path->retire();
	rds_path_accepted(w().path, &handle);
	sim::run_for(100 * kMs);
	if (wires().empty())
		EXPECT_EQ(fake::discarded().size(), 1u);
	else
		EXPECT_EQ(state(), rds::PathState::kUp);
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

/* A message that comes in the last moment is not left on a path that has retired. */
TEST_F(ConnIdle, AMessageInTheLastMoment)
{
	used();
	sim::run_for(1900 * kMs);
	rds_path_drained(w().path);
	sim::run_ready();
	ASSERT_EQ(state(), rds::PathState::kDown);
	w().path->retire();
	ASSERT_EQ(s->send(to, pattern(50)), 0);
	EXPECT_EQ(w().path->retirement.load(), rds::Retirement::kAsked) << "the worker has not run";
	sim::run_for(100 * kMs);
	ASSERT_EQ(wires().size(), 1u);
	EXPECT_EQ(state(), rds::PathState::kConnecting);
}

/* A caller that still holds it when it dies is sent away. */
TEST_F(ConnIdle, ItCannotBeCalledOffTooLate)
{
	used();

	rds::Conn &c = w().path->conn;

	c.refs.get();
	sim::run_for(1900 * kMs);
	rds_path_drained(w().path);
	ASSERT_TRUE(sim::run_until([&] { return c.fate.load() == rds::Fate::kDying; }, 2000 * kMs));
	EXPECT_FALSE(c.call_off());
	EXPECT_EQ(c.fate.load(), rds::Fate::kDying);
	c.put();
	sim::run_for(1000 * kMs);
	EXPECT_EQ(wires().size(), 0u);
}

/* Its namespace may end while it retires. */
TEST_F(ConnIdle, ADeadPathIsNotTakenBack)
{
	used();
	rds_net_tunables(net->core())->idle_timeout_ms = 0; /* we do it ourselves */
	rds_path_drop(w().path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();

	rds::Conn &c = w().path->conn;

	c.fate.store(rds::Fate::kRetiring);
	w().path->retire();
	sim::run_ready();
	ASSERT_EQ(w().path->retirement.load(), rds::Retirement::kGranted);
	w().path->post(rds::kEvDie);
	sim::run_ready();
	ASSERT_EQ(state(), rds::PathState::kDead);
	EXPECT_EQ(send(), -101);
	EXPECT_TRUE(s->core()->snd_space.empty());
	c.fate.store(rds::Fate::kWatched);
	w().path->reinstate();
	EXPECT_EQ(send(), -101);
	EXPECT_FALSE(w().path->has_queued());
}

/* Messages that other paths have queued are about to come to path 0: it must not be gone by
 * then. */
TEST_F(ConnIdle, APathDoesNotRetireWhileAnotherFolds)
{
	used();
	rds_net_tunables(net->core())->idle_timeout_ms = 0; /* we do it ourselves */
	rds_path_drop(w().path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();

	rds::Conn &c = w().path->conn;

	for (bool wanted : {true, false}) {
		wanted ? c.fold_wanted.store(true) : c.folding.store(1);
		w().path->retire();
		sim::run_ready();
		EXPECT_EQ(w().path->retirement.load(), rds::Retirement::kRefused);
		wanted ? c.fold_wanted.store(false) : c.folding.store(0);
	}
	w().path->retire();
	sim::run_ready();
	EXPECT_EQ(w().path->retirement.load(), rds::Retirement::kGranted);
	w().path->reinstate();
}

/* Nor on one that was about to try again, and was kept from it. */
TEST_F(ConnIdle, ARetryThatWasArmedIsNotWaitedFor)
{
	Socket other(*net);

	rds_net_tunables(net->core())->idle_timeout_ms = 0; /* we do it ourselves */
	ASSERT_EQ(other.bind(endpoint(a1, 4001)), 0);
	ASSERT_EQ(send(), 0);
	while (state() != rds::PathState::kDown) {
		rds_path_drop(w().path, RDS_DROP_CONNECT);
		sim::run_ready();
	}
	s.reset(); /* and its message with it */
	w().path->retire();
	sim::run_for(2000 * kMs);
	ASSERT_EQ(w().path->retirement.load(), rds::Retirement::kGranted);
	ASSERT_EQ(other.send(to, pattern(50)), 0);
	sim::run_ready();
	EXPECT_EQ(state(), rds::PathState::kConnecting);
}

/* Retired, a path hears of nothing that is not a call. */
TEST_F(ConnIdle, ARetiredPathStaysSo)
{
	used();
	rds_net_tunables(net->core())->idle_timeout_ms = 0; /* we do it ourselves */
	rds_path_drop(w().path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();

	rds::Conn &c = w().path->conn;

	c.fate.store(rds::Fate::kRetiring);
	w().path->retire();
	sim::run_ready();
	ASSERT_EQ(w().path->retirement.load(), rds::Retirement::kGranted);
	w().path->post(rds::kEvWant | rds::kEvTimer | rds::kEvSend | rds::kEvDrop);
	sim::run_ready();
	EXPECT_EQ(w().history(), "connect close");
	EXPECT_EQ(w().path->retirement.load(), rds::Retirement::kGranted);
	w().path->post(rds::kEvKnocked);
	sim::run_ready();
	EXPECT_EQ(w().history(), "connect close connect");
	EXPECT_EQ(w().path->retirement.load(), rds::Retirement::kNone);
	EXPECT_EQ(c.fate.load(), rds::Fate::kWatched);
}

/* Each of what must not be there when an idle one ends, alone. */
TEST_F(ConnIdle, ItEndsOnlyWithNothingToSay)
{
	auto asked = [this] {
		w().path->post(rds::kEvIdle);
		sim::run_ready();
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

/* sim_fast --seed 3451856157: a wish that came while the path had retired was forgotten, and stood
 * in the way of all that came later.  It has nothing to send: that would take the path back. */
TEST_F(ConnIdle, AWishOfARetiredPathIsNotInTheWay)
{
	retired();
	w().path->call();
	sim::run_ready();
	EXPECT_EQ(w().path->retirement.load(), rds::Retirement::kGranted);
	w().path->reinstate();
	sim::run_ready();
	EXPECT_EQ(state(), rds::PathState::kDown);
	ASSERT_EQ(send(), 0);
	EXPECT_EQ(state(), rds::PathState::kConnecting);
}

/* A sender takes the path back before the worker has come to the wish that it found there. */
TEST_F(ConnIdle, AWishOfATakenBackPathCounts)
{
	retired();
	w().path->call();
	ASSERT_EQ(s->send(to, pattern(50)), 0);
	sim::run_ready();
	EXPECT_EQ(state(), rds::PathState::kConnecting);
}

/* One that was not let go is as it was: down, for it has nothing to say. */
TEST_F(ConnIdle, ARefusalCallsNobody)
{
	retired();
	w().path->reinstate();
	sim::run_for(1000 * kMs);
	EXPECT_EQ(w().history(), "connect close");
	EXPECT_EQ(w().path->retirement.load(), rds::Retirement::kNone);
	ASSERT_EQ(send(), 0);
	EXPECT_EQ(state(), rds::PathState::kConnecting);
}

/* Connections that may not go, of which there may be many, are not in the others' way. */
TEST_F(ConnIdle, OthersAreLookedAtToo)
{
	constexpr unsigned int kMany = 100, kOurs = 10;

	for (unsigned int i = 0; i < kMany + kOurs; i++) {
		ASSERT_EQ(s->send(endpoint(host::addr4(100 + i), 5000), pattern(10)), 0);
		sim::run_ready();
		ASSERT_EQ(wires().size(), i + 1);
		rds_path_connected(wires()[i]->path);
		sim::run_ready();

		rds::wire::Header h;

		/* The first are mainline's. */
		rds::wire::encode(h, 0, 5000, 4000, 0);
		if (i >= kMany)
			rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
		(void)fake::arrive(wires()[i]->path, h);
		rds_path_acked(wires()[i]->path, wires()[i]->sent.size());
		if (i >= kMany) {
			rds::wire::encode_control(h);
			rds::wire::put64(h.ack, 1);
			(void)fake::arrive(wires()[i]->path, h);
		}
		sim::run_ready();
	}
	for (unsigned int i = kMany; i < kMany + kOurs; i++)
		EXPECT_TRUE(sim::run_until(
			[i] { return wires()[i]->path->state() == rds::PathState::kDisconnecting; },
			3 * 1000 * kMs))
			<< i;
}

/* Nor are those whose peers stopped in the midst of a message. */
TEST_F(ConnIdle, OthersAreLookedAtBesideThoseThatStopped)
{
	constexpr unsigned int kMany = 2 * rds::kSweepBatch, kOurs = 10;

	for (unsigned int i = 0; i < kMany + kOurs; i++) {
		rds::wire::Header h;

		ASSERT_EQ(s->send(endpoint(host::addr4(100 + i), 5000), pattern(10)), 0);
		sim::run_ready();
		ASSERT_EQ(wires().size(), i + 1);
		rds_path_connected(wires()[i]->path);
		sim::run_ready();
		rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
		(void)fake::arrive(wires()[i]->path, h);
		rds::wire::encode_control(h);
		rds::wire::put64(h.ack, 1);
		(void)fake::arrive(wires()[i]->path, h);
		wires()[i]->midway = i < kMany;
		sim::run_ready();
	}
	for (unsigned int i = kMany; i < kMany + kOurs; i++)
		EXPECT_TRUE(sim::run_until(
			[i] { return wires()[i]->path->state() == rds::PathState::kDisconnecting; },
			3 * 1000 * kMs))
			<< i;
}

/* A sender that met a retired path finds the connection that takes its place. */
TEST_F(ConnIdle, SendersNeverNotice)
{
	used();
	for (unsigned int i = 0; i < 40; i++) {
		sim::run_for(1000 * kMs + i * 5 * kMs);
		if (wires().empty() || state() == rds::PathState::kDisconnecting) {
			if (!wires().empty())
				rds_path_drained(w().path);
			sim::run_for(i * 2 * kMs);
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

/* How often it is looked: four times in what is allowed, but at least every fifteen seconds and not
 * more often than every twenty milliseconds. */
TEST_F(ConnIdle, TheSweepComesFourTimes)
{
	constexpr uint64_t kExact = 20 * 1000; /* steps of the simulator take some time */

	used();

	rds_conn &c = w().path->conn;
	/* A look that finds a number changed notes when that was. */
	auto next_look = [&] {
		uint64_t last = c.silent_since_ns;

		EXPECT_EQ(send(), 0);
		peer_has(w().path->next_tx_seq() - 1);
		EXPECT_TRUE(
			sim::run_until([&] { return c.silent_since_ns != last; }, 60 * 1000 * kMs));
		return c.silent_since_ns;
	};

	for (auto [idle_ms, pause] : {std::pair<uint32_t, uint64_t>{4000, 1000 * kMs},
				      {59000, 14750 * kMs},
				      {61000, rds::kSweepNs},
				      {0, rds::kSweepNs},
				      {84, 21 * kMs},
				      {40, rds::kSweepSoonNs}}) {
		rds_net_tunables(net->core())->idle_timeout_ms = idle_ms;
		(void)next_look();

		uint64_t then = next_look();

		EXPECT_NEAR(static_cast<double>(next_look() - then), static_cast<double>(pause),
			    static_cast<double>(kExact))
			<< idle_ms;
	}
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

/* A look just before the time is over ends nothing. */
TEST_F(ConnIdle, NotBeforeItsTime)
{
	rds_net_tunables(net->core())->idle_timeout_ms = 2000;
	used();

	rds_conn &c = w().path->conn;
	uint64_t begun = c.idle_since_ns;

	ASSERT_TRUE(sim::run_until([&] { return c.idle_since_ns != begun; }, 5000 * kMs));
	begun = c.idle_since_ns;
	sim::run_for(1980 * kMs - rds::kStrangerSweepNs);
	ASSERT_EQ(c.idle_since_ns, begun);
	/* It looks when it is called for. */
	sim::run_for(19 * kMs + kMs / 2);
	net->core()->conns.hurry();
	sim::run_for(rds::kStrangerSweepNs);
	sim::run_ready();
	EXPECT_EQ(state(), rds::PathState::kUp);
	sim::run_for(500 * kMs);
	EXPECT_EQ(state(), rds::PathState::kDisconnecting);
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
	w().path->retire();
	sim::run_ready();
	EXPECT_EQ(w().path->retirement.load(), rds::Retirement::kRefused);
}

} // namespace
