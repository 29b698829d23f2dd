// SPDX-License-Identifier: GPL-2.0
#include <set>

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::Wire;
using fake::wires;
using host::endpoint;
using host::Socket;

constexpr uint64_t kMs = 1000 * 1000;
constexpr uint32_t kGen = 77;

/* Hosts that call us, of ours and of mainline's. */
class ConnStrangers : public SocketTest<RDS_CAP_DELIVERY_ACK>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		fake::defaults().initiates = false;
	}
	struct rds_conn *get(unsigned int host)
	{
		struct rds_addr faddr = host::addr4(host);
		int err;

		return rds_conn_get(net->core(), fake::ops(), &a1, &faddr, 0, 0, &err);
	}
	/* Host @host has connected. */
	Wire &calls(unsigned int host)
	{
		struct rds_conn *c = get(host);

		rds_path_accepted(rds_conn_path(c, 0), &handle_);
		sim::run_ready();
		rds_conn_put(c);
		return wire_of(host);
	}
	/* Host @host wants to be called. */
	Wire &knocks(unsigned int host)
	{
		struct rds_conn *c = get(host);

		rds_path_knocked(rds_conn_path(c, 0));
		sim::run_ready();
		rds_conn_put(c);
		return wire_of(host);
	}
	Wire *find(unsigned int host)
	{
		for (Wire *w : wires())
			if (rds_path_faddr(w->path)->w[1] == host::addr4(host).w[1])
				return w;
		return nullptr;
	}
	Wire &wire_of(unsigned int host)
	{
		Wire *w = find(host);

		EXPECT_NE(w, nullptr);
		return *w;
	}
	static int hello(Wire &w, uint32_t gen = kGen)
	{
		rds::wire::Header h;

		rds::wire::encode_hello(h, {gen, rds::wire::kCapDeliveryAck});
		return fake::arrive(w.path, h);
	}
	static int ping(Wire &w, uint64_t seq = 1)
	{
		return fake::arrive(w.path, seq, 5000, 0, {});
	}
	static int message(Wire &w, uint64_t seq, uint8_t flags = 0, uint16_t port = 4000)
	{
		return fake::arrive(w.path, seq, 5000, port, pattern(10), flags);
	}
	static void breaks(Wire &w)
	{
		rds_path_drop(w.path, RDS_DROP_ERROR);
		sim::run_ready();
	}
	/* It is not used, and both ends end in order. */
	static void ends(Wire &w)
	{
		EXPECT_TRUE(sim::run_until(
			[&w] { return w.path->state() == rds::PathState::kDisconnecting; },
			600 * 1000 * kMs));
		rds_path_drained(w.path);
		sim::run_ready();
	}
	unsigned int received()
	{
		unsigned int n = 0;

		while (s->recv())
			n++;
		return n;
	}
	struct rds_tunables &tun()
	{
		return *rds_net_tunables(net->core());
	}
	uint64_t stat(enum rds_stat id)
	{
		return net->stat(id);
	}

	int handle_ = 0;
};

constexpr uint8_t kAgain = rds::wire::kRetransmitted;

/* Connect and close, a ping, a map, a message for nobody: all the same. */
TEST_F(ConnStrangers, WhoBroughtNothingIsForgottenAtOnce)
{
	tun().idle_timeout_ms = 0;
	(void)calls(50);
	ASSERT_EQ(ping(calls(51)), RDS_RECV_SKIP);
	ASSERT_EQ(message(calls(52), 1, 0, 999), 0);
	ASSERT_EQ(hello(calls(53)), RDS_RECV_SKIP);
	sim::run_for(8 * 1000 * kMs);
	ASSERT_EQ(wires().size(), 4u) << "they are there";
	for (unsigned int host = 50; host < 54; host++)
		breaks(wire_of(host));
	sim::run_for(1000 * kMs);
	/* One of ours is called once more: it may not have heard of the end. */
	EXPECT_EQ(wires().size(), 1u);
	sim::run_for(5000 * kMs);
	EXPECT_EQ(wires().size(), 0u);
	EXPECT_EQ(stat(RDS_S_conn_stranger_gone), 4u);
	EXPECT_EQ(stat(RDS_S_conn_tombstone), 0u);
	EXPECT_EQ(net->core()->passive.load(), 0u);
}

/* 8 KiB for each that came and went. */
TEST_F(ConnStrangers, AStrangersMapGoesWithTheStranger)
{
	const rds::CongTable &maps = net->core()->cong;
	host::Bytes full(rds::kCongMapBytes, 0xff);
	uint32_t before = maps.count();

	for (unsigned int host = 50; host < 60; host++) {
		Wire &w = calls(host);

		EXPECT_EQ(fake::arrive(w.path, 0, 0, 0, full, rds::wire::kCongBitmap), 0);
		EXPECT_EQ(maps.count(), before + 1);
		breaks(w);
		sim::run_for(8 * 1000 * kMs);
		ASSERT_EQ(find(host), nullptr);
		EXPECT_EQ(maps.count(), before);
	}
}

/* A pong that waits calls nobody, and does not keep the connection. */
TEST_F(ConnStrangers, NoStrangerIsCalledForAPong)
{
	Wire &w = calls(51);

	w.room = 0;
	ASSERT_EQ(ping(w), RDS_RECV_SKIP);
	sim::run_ready();
	breaks(w);
	EXPECT_EQ(w.history(), "adopt close");
	sim::run_for(1000 * kMs);
	EXPECT_EQ(wires().size(), 0u);
}

TEST_F(ConnStrangers, WhoComesBackInTimeStays)
{
	for (int i = 0; i < 20; i++) {
		Wire &w = calls(51);

		ASSERT_EQ(ping(w, 1), RDS_RECV_SKIP);
		breaks(w);
		(void)calls(51);
		sim::run_for(300 * kMs);
		ASSERT_EQ(wire_of(51).path->state(), rds::PathState::kUp) << i;
		breaks(wire_of(51));
		sim::run_for(i * 20 * kMs);
	}
}

/* A socket that sends over it has the last word. */
TEST_F(ConnStrangers, WhomASocketSendsToStays)
{
	Wire &w = calls(51);

	ASSERT_EQ(s->send(endpoint(host::addr4(51), 5000), pattern(10)), 0);
	sim::run_ready();
	breaks(w);
	sim::run_for(60 * 1000 * kMs);
	EXPECT_NE(find(51), nullptr);
	EXPECT_EQ(net->core()->passive.load(), 0u);
}

/* However close to its end it is. */
TEST_F(ConnStrangers, ASenderInTheLastMoment)
{
	for (unsigned int ms = 0; ms < 400; ms += 7) {
		sim::run_for(500 * kMs);
		breaks(calls(51));
		sim::run_for(ms * kMs);

		int ret = -1;

		sim::spawn("send",
			   [&] { ret = s->send(endpoint(host::addr4(51), 5000), pattern(10)); });
		sim::run_for(2000 * kMs);
		ASSERT_EQ(ret, 0);

		Wire *w = find(51);

		ASSERT_NE(w, nullptr) << ms;
		EXPECT_EQ(w->path->state(), rds::PathState::kConnecting) << "the message waits";
		rds_transport_net_exit(net->core(), fake::ops());
	}
}

/* Three times for each knock, be it refused or taken and hung up. */
TEST_F(ConnStrangers, AKnockIsAnsweredAndNoMore)
{
	fake::defaults().initiates = true;
	for (bool taken : {false, true}) {
		Wire &w = knocks(51);

		for (uint32_t n = 1; n <= rds::kStrangerCalls; n++) {
			ASSERT_TRUE(sim::run_until(
				[&] { return w.path->state() == rds::PathState::kConnecting; },
				3000 * kMs));
			ASSERT_EQ(w.path->dial().attempts(), n);
			if (taken) {
				rds_path_connected(w.path);
				sim::run_ready();
				ASSERT_EQ(ping(w, n), RDS_RECV_SKIP);
			}
			breaks(w);
		}
		sim::run_for(50 * kMs);
		EXPECT_EQ(w.path->state(), rds::PathState::kDown);
		sim::run_for(1000 * kMs);
		EXPECT_EQ(wires().size(), 0u);
	}
}

/* The answer to a knock takes its time. */
TEST_F(ConnStrangers, ACallUnderWayIsNotEnded)
{
	fake::defaults().initiates = true;

	Wire &w = knocks(51);

	(void)knocks(52);
	breaks(wire_of(52));
	sim::run_for(4000 * kMs);
	EXPECT_EQ(w.path->state(), rds::PathState::kConnecting);
	EXPECT_EQ(w.path->dial().attempts(), 1u);
}

TEST_F(ConnStrangers, TheMuteAreHungUpOn)
{
	(void)calls(51);
	ASSERT_EQ(ping(calls(52)), RDS_RECV_SKIP);
	sim::run_for(9 * 1000 * kMs);
	ASSERT_EQ(wire_of(51).path->state(), rds::PathState::kUp);
	sim::run_for(20 * 1000 * kMs);
	EXPECT_EQ(find(51), nullptr);
	EXPECT_EQ(wire_of(52).path->state(), rds::PathState::kUp);
	EXPECT_EQ(stat(RDS_S_conn_evicted), 1u);
}

/* The peer's own RDS is called then, past whoever holds the connection. */
TEST_F(ConnStrangers, TheMuteDoNotKeepMessagesWaiting)
{
	Wire &w = calls(53);

	ASSERT_EQ(s->send(endpoint(host::addr4(53), 5000), pattern(10)), 0);
	sim::run_for(9 * 1000 * kMs);
	ASSERT_EQ(w.path->state(), rds::PathState::kUp);
	sim::run_for(20 * 1000 * kMs);
	EXPECT_NE(w.path->state(), rds::PathState::kUp);
	EXPECT_GE(w.path->dial().attempts(), 1u);
	EXPECT_EQ(stat(RDS_S_conn_evicted), 1u);
	/* It is heard, or it has nothing to wait for, or we called it: it stays. */
	ASSERT_EQ(ping(calls(54)), RDS_RECV_SKIP);
	ASSERT_EQ(s->send(endpoint(host::addr4(54), 5000), pattern(10)), 0);
	sim::run_for(30 * 1000 * kMs);
	EXPECT_EQ(wire_of(54).path->state(), rds::PathState::kUp);
	EXPECT_EQ(stat(RDS_S_conn_evicted), 1u);
}

/* ---- tombstones ---- */

TEST_F(ConnStrangers, AOneWaySenderIsRemembered)
{
	for (uint32_t gen : {0u, kGen}) {
		unsigned int host = 60 + (gen != 0);
		Wire &w = calls(host);

		tun().idle_timeout_ms = 2000;
		if (gen)
			(void)hello(w, gen);
		for (uint64_t seq = 1; seq <= 5; seq++)
			ASSERT_EQ(message(w, seq), 0);
		EXPECT_EQ(received(), 5u);
		breaks(w);
		sim::run_for(1500 * kMs);
		EXPECT_NE(find(host), nullptr) << "for a while";
		sim::run_for(8000 * kMs); /* one of ours is called once more, in vain */
		EXPECT_EQ(find(host), nullptr);
		EXPECT_EQ(stat(RDS_S_conn_tombstone), gen ? 2u : 1u);
		EXPECT_EQ(stat(RDS_S_conn_stranger_gone), 0u);

		Wire &again = calls(host);

		if (gen)
			(void)hello(again, gen);
		/* Messages delivered and not acknowledged come again, and then new ones. */
		EXPECT_EQ(message(again, 4, kAgain), RDS_RECV_SKIP);
		EXPECT_EQ(message(again, 5, kAgain), RDS_RECV_SKIP);
		EXPECT_EQ(message(again, 6, kAgain), 0);
		EXPECT_EQ(received(), 1u);
	}
}

/* One that cannot tell whose numbers it keeps, and waits to be called, is not given up; one of ours
 * is, for it can. */
TEST_F(ConnStrangers, WhoHasToBeCalledIsNotGivenUp)
{
	tun().idle_timeout_ms = 2000;
	fake::defaults().initiates = true;
	fake::defaults().connect_result = -111;
	ASSERT_EQ(message(calls(60), 9), 0);
	(void)hello(calls(61));
	ASSERT_EQ(message(wire_of(61), 9), 0);
	breaks(wire_of(60));
	breaks(wire_of(61));
	sim::run_for(20 * 1000 * kMs);
	EXPECT_NE(find(60), nullptr);
	EXPECT_EQ(find(61), nullptr);
	EXPECT_EQ(stat(RDS_S_conn_tombstone), 1u);
}

/* And once more, though its second life brought nothing new. */
TEST_F(ConnStrangers, TheTombstoneOutlivesAVisit)
{
	tun().idle_timeout_ms = 2000;
	for (int i = 0; i < 3; i++) {
		Wire &w = calls(60);

		(void)hello(w);
		EXPECT_EQ(message(w, 9, kAgain), i ? RDS_RECV_SKIP : 0) << i;
		breaks(w);
		sim::run_for(10 * 1000 * kMs);
		ASSERT_EQ(find(60), nullptr);
	}
	EXPECT_EQ(received(), 1u);
	/* A socket finds the same numbers, and its connection goes when nobody answers. */
	{
		Socket other(*net);

		ASSERT_EQ(other.bind(endpoint(a1, 4001)), 0);
		ASSERT_EQ(other.send(endpoint(host::addr4(60), 5000), pattern(10)), 0);
		sim::run_for(100 * kMs);
		EXPECT_EQ(wire_of(60).path->next_rx_seq(), 10u);
	}
	sim::run_for(20 * 1000 * kMs);
	EXPECT_EQ(find(60), nullptr);
	EXPECT_EQ(calls(60).path->next_rx_seq(), 10u);
}

/* Another generation is another host: nothing of it was here before. */
TEST_F(ConnStrangers, WhoWasRestartedIsNew)
{
	tun().idle_timeout_ms = 2000;
	(void)hello(calls(60));
	ASSERT_EQ(message(wire_of(60), 9), 0);
	breaks(wire_of(60));
	sim::run_for(5000 * kMs);
	(void)hello(calls(60), kGen + 1);
	EXPECT_EQ(message(wire_of(60), 1, kAgain), 0);
	EXPECT_EQ(received(), 2u);
}

TEST_F(ConnStrangers, WhoPartedLeavesNone)
{
	tun().idle_timeout_ms = 2000;
	for (bool again : {false, true}) {
		Wire &w = calls(60);

		(void)hello(w);
		ASSERT_EQ(message(w, again ? 2 : 1), 0);
		sim::run_for(100 * kMs); /* it is acknowledged */
		rds_path_drop(w.path, again ? RDS_DROP_PEER_CLOSED : RDS_DROP_ERROR);
		sim::run_for(10 * 1000 * kMs);
		ASSERT_EQ(find(60), nullptr);
		EXPECT_EQ(net->core()->conns.tombs.count(), again ? 0u : 1u);
	}
}

TEST_F(ConnStrangers, WithoutMemoryForATombstoneItStays)
{
	tun().idle_timeout_ms = 2000;
	ASSERT_EQ(message(calls(60), 9), 0);
	breaks(wire_of(60));
	sim::options().fail_per_1000 = 1000;
	sim::run_for(6000 * kMs);
	sim::options().fail_per_1000 = 0;
	EXPECT_NE(find(60), nullptr);
	sim::run_for(6000 * kMs);
	EXPECT_EQ(find(60), nullptr);
	EXPECT_EQ(stat(RDS_S_conn_tombstone), 1u);
}

/* Without idle_timeout_ms they stay, until there are too many. */
TEST_F(ConnStrangers, ZeroIsNever)
{
	tun().idle_timeout_ms = 0;
	ASSERT_EQ(message(calls(60), 9), 0);
	breaks(wire_of(60));
	sim::run_for(1000 * 1000 * kMs);
	EXPECT_NE(find(60), nullptr);
	tun().max_passive = 0;
	sim::run_for(20 * 1000 * kMs);
	EXPECT_EQ(find(60), nullptr);
	EXPECT_EQ(stat(RDS_S_conn_tombstone), 1u);
	EXPECT_EQ(stat(RDS_S_conn_evicted), 1u);
}

/* A peer of mainline's drops what is sent again with a number below the last that it saw. */
TEST_F(ConnStrangers, NumbersDoNotBeginAnewForWhoCannotTell)
{
	Wire &w = calls(51);

	for (uint64_t seq = 1; seq < 10; seq++)
		ASSERT_EQ(ping(w, seq), RDS_RECV_SKIP);
	sim::run_ready();

	uint64_t seen = fake::frames(w.sent).back().seq;

	EXPECT_GE(seen, 9u);
	breaks(w);
	sim::run_for(1000 * kMs);
	ASSERT_EQ(find(51), nullptr);
	ASSERT_EQ(s->send(endpoint(host::addr4(51), 5000), pattern(10)), 0);
	sim::run_ready();
	rds_path_connected(wire_of(51).path);
	sim::run_ready();
	for (const auto &f : fake::frames(wire_of(51).sent)) {
		if (f.seq) {
			EXPECT_GT(f.seq, seen);
		}
	}
	EXPECT_EQ(wire_of(51).path->in_flight(), 1u + 1u);
}

/* ---- too many ---- */

/* 300 that are there, and then a host that nobody knows: it is served, and the silent go. */
TEST_F(ConnStrangers, TooManyMakeRoom)
{
	constexpr unsigned int kMany = 300;

	tun().max_passive = 200;
	/* One that is used, and one that says something. */
	ASSERT_EQ(ping(calls(400)), RDS_RECV_SKIP);
	ASSERT_EQ(s->send(endpoint(host::addr4(400), 5000), pattern(10)), 0);
	ASSERT_EQ(message(calls(401), 1), 0);
	for (unsigned int n = 0; n < kMany; n++)
		ASSERT_EQ(ping(calls(n + 500)), RDS_RECV_SKIP) << n;
	for (uint64_t seq = 2; seq < 7; seq++) {
		sim::run_for(500 * kMs);
		ASSERT_EQ(message(wire_of(401), seq), 0);
	}
	EXPECT_EQ(wire_of(400).path->state(), rds::PathState::kUp) << "a socket has used it";
	EXPECT_EQ(wire_of(401).path->state(), rds::PathState::kUp) << "it has delivered something";
	EXPECT_LE(net->core()->passive.load(), 200u);
	EXPECT_GE(net->core()->passive.load(), 150u) << "no more than need be";
	EXPECT_EQ(stat(RDS_S_conn_passive_refused), 0u);
	EXPECT_EQ(stat(RDS_S_conn_tombstone), 0u);
	EXPECT_GE(stat(RDS_S_conn_evicted), 101u);
}

/* Those that sockets use do not go, though they are as silent as those that do. */
TEST_F(ConnStrangers, TheUsedMakeNoRoom)
{
	constexpr unsigned int kUsed = 40, kMany = 60, kMost = 40;

	s->sock().sndbuf = 1 << 20;
	for (unsigned int n = 0; n < kUsed + kMany; n++)
		ASSERT_EQ(ping(calls(n + 500)), RDS_RECV_SKIP) << n;
	for (unsigned int n = 0; n < kUsed; n++)
		ASSERT_EQ(s->send(endpoint(host::addr4(n + 500), 5000), pattern(10)), 0);
	sim::run_for(rds::kStrangerSilentNs);
	tun().max_passive = kMost;
	(void)calls(499); /* one more, and the sweep comes soon */
	sim::run_for(1000 * kMs);
	EXPECT_LE(net->core()->passive.load(), kMost);
	EXPECT_GE(stat(RDS_S_conn_evicted), kMany - kMost);
	for (unsigned int n = 0; n < kUsed; n++) {
		EXPECT_EQ(wire_of(n + 500).path->state(), rds::PathState::kUp) << n;
		EXPECT_EQ(wire_of(n + 500).path->resets.load(), 0u) << n;
	}
}

/* A socket that gets a connection has not sent over it, and sleeps perhaps before it does: already
 * then nobody takes it for a stranger's, also if a peer has made it meanwhile. */
TEST_F(ConnStrangers, WhatASocketGetsIsUsed)
{
	rds::Net &n = *net->core();
	const struct rds_addr faddr = host::addr4(51);

	rds_conn_put(get(51));
	ASSERT_EQ(n.passive.load(), 1u);

	auto c = n.conns.get(n, *fake::ops(), a1, faddr, 0, 0, &s->core()->user);

	ASSERT_TRUE(c.ok());
	EXPECT_FALSE(c.value()->passive.load());
	EXPECT_TRUE(c.value()->fcong->wanted.load());
	EXPECT_EQ(n.passive.load(), 0u);
	c.value()->put();
}

/* Of those that are alike the silent go, not those that have something to say. */
TEST_F(ConnStrangers, TheSilentGoFirst)
{
	uint64_t seq = 1;

	ASSERT_EQ(ping(calls(51)), RDS_RECV_SKIP);
	ASSERT_EQ(ping(calls(52)), RDS_RECV_SKIP);
	for (int i = 0; i < 100 && wires().size() == 2; i++) {
		ASSERT_EQ(ping(wire_of(51), ++seq), RDS_RECV_SKIP);
		sim::run_for(200 * kMs);
		if (i == 10) /* one has been silent for long enough */
			tun().max_passive = 1;
	}
	EXPECT_NE(find(51), nullptr);
	EXPECT_EQ(find(52), nullptr);
	tun().max_passive = 0;
	sim::run_for(20 * 1000 * kMs);
	EXPECT_EQ(find(51), nullptr);
	EXPECT_EQ(stat(RDS_S_conn_evicted), 2u);
}

/* A stranger that pings all the time goes behind a host that has brought something and has fallen
 * silent, but it goes; a host that goes on bringing something does not. */
TEST_F(ConnStrangers, TheBusyGoLast)
{
	constexpr unsigned int kPinger = 51, kSilent = 60, kBusy = 61;
	uint64_t seq = 1;
	auto up = [&](unsigned int host) {
		return find(host) && find(host)->path->state() == rds::PathState::kUp;
	};
	/* Until @gone, or for @secs. */
	auto talk = [&](unsigned int secs, auto gone) {
		for (unsigned int n = 0; n < 2 * secs && !gone(); n++) {
			seq++;
			if (up(kPinger)) {
				ASSERT_EQ(ping(wire_of(kPinger), seq), RDS_RECV_SKIP);
			}
			ASSERT_EQ(message(wire_of(kBusy), seq), 0);
			(void)received();
			sim::run_for(500 * kMs);
		}
	};

	ASSERT_EQ(message(calls(kSilent), 1), 0);
	ASSERT_EQ(message(calls(kBusy), 1), 0);
	ASSERT_EQ(ping(calls(kPinger)), RDS_RECV_SKIP);
	talk(80, [] { return false; });
	tun().max_passive = 2;
	talk(20, [&] { return !find(kSilent); });
	EXPECT_EQ(find(kSilent), nullptr);
	ASSERT_TRUE(up(kPinger)) << "another could go";
	tun().max_passive = 1;
	talk(20, [&] { return !find(kPinger); });
	EXPECT_EQ(find(kPinger), nullptr) << "its pings keep it";
	tun().max_passive = 0;
	talk(20, [] { return false; });
	EXPECT_TRUE(up(kBusy));
	EXPECT_EQ(stat(RDS_S_conn_evicted), 2u);
}

/* Nor is a new host refused because those that are there all ping. */
TEST_F(ConnStrangers, WhoPingsKeepsNobodyOut)
{
	constexpr unsigned int kMost = 20, kAll = rds::kPassiveRoom * kMost;
	uint64_t seq = 1;

	tun().max_passive = kMost;
	for (unsigned int n = 0; n < kAll; n++)
		(void)calls(100 + n);
	for (unsigned int i = 0; i < 20; i++, seq++) {
		for (Wire *w : wires()) {
			if (w->path->state() == rds::PathState::kUp) {
				ASSERT_EQ(ping(*w, seq), RDS_RECV_SKIP);
			}
		}
		sim::run_for(100 * kMs);
	}
	ASSERT_EQ(net->core()->passive.load(), kMost);
	ASSERT_EQ(ping(calls(99)), RDS_RECV_SKIP);
	EXPECT_EQ(stat(RDS_S_conn_passive_refused), 0u);
}

/* ---- by prefix ---- */

constexpr unsigned int kOther = 7 << 8; /* hosts of 10.0.7.0/24; the others are of 10.0.0.0/24 */

/* All of one prefix ping without end, the other's one host has fallen silent: it stays. */
TEST_F(ConnStrangers, APrefixMakesRoomForItsOwn)
{
	constexpr unsigned int kMost = 20;
	uint64_t seq = 1;

	tun().max_passive = kMost;
	ASSERT_EQ(ping(calls(kOther + 1)), RDS_RECV_SKIP);
	sim::run_for(2000 * kMs);
	for (unsigned int round = 0; round < 10; round++) {
		for (unsigned int n = 0; n < kMost; n++)
			if (!find(100 + n))
				(void)calls(100 + n);
		for (unsigned int i = 0; i < 10; i++, seq++) {
			for (Wire *w : wires()) {
				if (w != find(kOther + 1) &&
				    w->path->state() == rds::PathState::kUp) {
					ASSERT_EQ(ping(*w, seq), RDS_RECV_SKIP);
				}
			}
			sim::run_for(100 * kMs);
		}
		ASSERT_NE(find(kOther + 1), nullptr);
		ASSERT_EQ(wire_of(kOther + 1).path->state(), rds::PathState::kUp) << round;
	}
	EXPECT_GE(stat(RDS_S_conn_evicted), 10u);
}

/* However many come in the moment in which newcomers are left alone. */
TEST_F(ConnStrangers, NewcomersGoForAnotherPrefix)
{
	tun().max_passive = 20;
	ASSERT_EQ(ping(calls(kOther + 1)), RDS_RECV_SKIP);
	sim::run_for(1990 * kMs);
	for (unsigned int n = 0; n < 39; n++)
		ASSERT_EQ(ping(calls(100 + n)), RDS_RECV_SKIP);
	/* All of them are called new from the first sweep's view. */
	for (Wire *w : wires())
		if (w != find(kOther + 1))
			w->path->conn.life.rest_until(rds_now_ns() + 10 * 1000 * kMs);
	sim::run_for(1000 * kMs);
	EXPECT_NE(find(kOther + 1), nullptr);
	EXPECT_LE(net->core()->passive.load(), 20u);
}

/* Without memory for the counts the ranks alone hold. */
TEST_F(ConnStrangers, WithoutMemoryPrefixesDoNotCount)
{
	tun().max_passive = 10;
	for (unsigned int n = 0; n < 15; n++)
		ASSERT_EQ(ping(calls(100 + n)), RDS_RECV_SKIP);
	sim::options().fail_per_1000 = 1000;
	sim::run_for(3000 * kMs);
	sim::options().fail_per_1000 = 0;
	EXPECT_LE(net->core()->passive.load(), 10u);
}

/* ---- calls ---- */

/* Strangers use their tokens up; whoever is known does not ask for one. */
TEST_F(ConnStrangers, OnlyStrangersCallTooOften)
{
	auto may_call = [&](unsigned int host, bool known = false) {
		const struct rds_addr faddr = host::addr4(host);

		return rds_conn_may_call(net->core(), fake::ops(), &a1, &faddr, 0, known);
	};
	constexpr unsigned int kTalkedTo = 51, kBrought = 52, kBuried = 53, kPinged = 54;

	tun().idle_timeout_ms = 2000;
	ASSERT_EQ(message(calls(kBuried), 1), 0);
	breaks(wire_of(kBuried));
	sim::run_for(8000 * kMs);
	ASSERT_EQ(find(kBuried), nullptr);
	ASSERT_EQ(stat(RDS_S_conn_tombstone), 1u);
	tun().idle_timeout_ms = 0;
	ASSERT_EQ(s->send(endpoint(host::addr4(kTalkedTo), 5000), pattern(10)), 0);
	ASSERT_EQ(message(calls(kBrought), 1), 0);
	ASSERT_EQ(ping(calls(kPinged)), RDS_RECV_SKIP);

	for (unsigned int n = 0; n < rds::kPrefixCalls; n++)
		ASSERT_TRUE(may_call(100)) << n;
	EXPECT_FALSE(may_call(100));
	EXPECT_FALSE(may_call(101)) << "of the same prefix";
	EXPECT_FALSE(may_call(kPinged)) << "no more than a stranger";
	EXPECT_EQ(stat(RDS_S_conn_call_refused), 3u);
	EXPECT_TRUE(may_call(101, true)) << "an administrator has named it";
	EXPECT_TRUE(may_call(kTalkedTo));
	EXPECT_TRUE(may_call(kBrought));
	EXPECT_TRUE(may_call(kBuried));
	EXPECT_TRUE(may_call(kOther + 1)) << "of another prefix";
	EXPECT_EQ(stat(RDS_S_conn_call_refused), 3u);
	sim::run_for(1000 * kMs);
	EXPECT_TRUE(may_call(101)) << "a while later";
}

/* Mainline's is hung up on when it is its turn, without being asked. */
TEST_F(ConnStrangers, APlainOneIsResetAtOnce)
{
	ASSERT_EQ(ping(calls(51)), RDS_RECV_SKIP);
	tun().max_passive = 0;
	ASSERT_TRUE(sim::run_until([&] { return stat(RDS_S_conn_evicted) == 1; }, 60 * 1000 * kMs));
	sim::run_ready();
	ASSERT_NE(find(51), nullptr);
	EXPECT_EQ(wire_of(51).history(), "adopt close");
	EXPECT_EQ(wire_of(51).path->last_reason.load(), RDS_DROP_EVICTED);
}

/* One of ours that does not end when it is asked is, too. */
TEST_F(ConnStrangers, WhoDoesNotEndInOrderIsReset)
{
	(void)hello(calls(51));
	wire_of(51).midway = true;
	tun().max_passive = 0;
	ASSERT_TRUE(sim::run_until([&] { return stat(RDS_S_conn_evicted) == 1; }, 60 * 1000 * kMs));
	sim::run_ready();
	EXPECT_EQ(wire_of(51).history(), "adopt");
	sim::run_for(2 * rds::kStrangerSweepNs);
	EXPECT_TRUE(!find(51) || wire_of(51).path->state() != rds::PathState::kUp);
}

/* One of ours is asked to end in order first. */
TEST_F(ConnStrangers, OneOfOursIsNotResetAtOnce)
{
	tun().max_passive = 1;
	for (unsigned int host : {51, 52, 53}) {
		struct rds_conn *c = get(host);

		if (c)
			rds_conn_put(c);
		ASSERT_EQ(c == nullptr, host == 53);
		if (c)
			(void)hello(calls(host));
	}
	ASSERT_TRUE(sim::run_until([&] { return stat(RDS_S_conn_evicted) == 1; }, 5000 * kMs));
	sim::run_ready();

	Wire &w = wire_of(51).path->state() == rds::PathState::kUp ? wire_of(52) : wire_of(51);

	EXPECT_EQ(w.history(), "adopt shutdown");
	rds_path_drained(w.path);
	sim::run_for(3000 * kMs);
	EXPECT_EQ(wires().size(), 1u);
	EXPECT_EQ(stat(RDS_S_conn_reset), 0u);
}

/* Known hosts go last, and leave their numbers. */
TEST_F(ConnStrangers, KnownHostsGoLast)
{
	for (unsigned int host = 60; host < 64; host++)
		ASSERT_EQ(message(calls(host), 9), 0);
	ASSERT_EQ(ping(calls(50)), RDS_RECV_SKIP);
	breaks(wire_of(60));
	tun().max_passive = 4;
	sim::run_for(30 * 1000 * kMs);
	EXPECT_EQ(find(50), nullptr);
	ASSERT_EQ(wires().size(), 4u);
	tun().max_passive = 3;
	sim::run_for(30 * 1000 * kMs);
	EXPECT_EQ(find(60), nullptr) << "it was down";
	ASSERT_EQ(wires().size(), 3u);
	ASSERT_EQ(message(wire_of(61), 10), 0);
	tun().max_passive = 1;
	sim::run_for(50 * 1000 * kMs);
	EXPECT_EQ(wire_of(61).path->state(), rds::PathState::kUp);
	EXPECT_EQ(wires().size(), 1u) << "those that were silent for a minute";
	EXPECT_EQ(stat(RDS_S_conn_tombstone), 3u);
	/* They are remembered, and let in where strangers are not. */
	struct rds_conn *c[] = {get(70), get(71), get(60), get(62), get(63)};

	for (unsigned int i = 0; i < 5; i++)
		EXPECT_EQ(c[i] != nullptr, i != 1 && i != 4) << i;
	for (struct rds_conn *x : c)
		if (x)
			rds_conn_put(x);
	EXPECT_EQ(message(calls(60), 9, kAgain), RDS_RECV_SKIP);
}

/* A host that is down takes its refused ports into the tombstone.  When it is back it is told of
 * them, whether it had heard of it or not, and before that no ack passes the first number: what
 * was thrown away would count as delivered. */
class ARefusal : public ConnStrangers
{
protected:
	/* Another host that had the address in between. */
	enum class Another { kNone, kDies, kEnds };

	/* @nth: this allocation fails after the connection has broken; 0: none. */
	void outlives_the_connection(Another between, unsigned int nth = 0);
};

void ARefusal::outlives_the_connection(Another between, unsigned int nth)
{
	const uint32_t caps = rds::wire::kCapDeliveryAck | rds::wire::kCapRefuse;
	rds::wire::Header h;
	Wire &w = calls(60);
	uint64_t seq = 1;

	rds::wire::encode_hello(h, {kGen, caps, 1, 0});
	ASSERT_EQ(fake::arrive(w.path, h), RDS_RECV_SKIP);
	ASSERT_EQ(message(w, seq), 0);
	tun().recv_spill_bytes = 0;
	s->sock().rcvbuf = 1;
	while (!stat(RDS_S_recv_refused) && seq < 1000)
		ASSERT_EQ(message(w, ++seq), 0);
	ASSERT_EQ(stat(RDS_S_recv_refused), 1u);
	breaks(w);
	sim::fail_nth(nth);
	sim::run_for(uint64_t{tun().idle_timeout_ms} * kMs * 3);
	sim::fail_nth(0);
	EXPECT_EQ(find(60), nullptr) << "nothing is kept but numbers";
	EXPECT_EQ(stat(RDS_S_conn_tombstone), 1u);
	if (between != Another::kNone) {
		Wire &other = calls(60);

		(void)hello(other, kGen + 1);
		if (between == Another::kDies)
			breaks(other);
		else
			ends(other);
		sim::run_for(uint64_t{tun().idle_timeout_ms} * kMs * 3);
		ASSERT_EQ(find(60), nullptr);
	}

	Wire &again = calls(60);

	rds::wire::encode_hello(h, {kGen, caps, 1, 0});
	ASSERT_EQ(fake::arrive(again.path, h), RDS_RECV_SKIP);
	EXPECT_EQ(message(again, seq, kAgain), RDS_RECV_SKIP) << "it waits for its port";
	again.path->writable();
	sim::run_ready();

	bool told = false;

	for (const auto &f : fake::frames(again.sent)) {
		const rds::wire::Refusal r = rds::wire::decode_refusal(f.header);

		EXPECT_TRUE(told || f.ack < seq) << "before it is told";
		if (r.what != rds::wire::Ext::kRefused)
			continue;
		told = true;
		EXPECT_EQ(r.port, 4000);
		EXPECT_EQ(r.number, seq);
		s->sock().rcvbuf = 64 * 1024;
		rds::wire::encode_refusal(
			h, {.what = rds::wire::Ext::kResume, .port = 4000, .epoch = r.epoch});
		EXPECT_EQ(fake::arrive(again.path, h), RDS_RECV_SKIP);
	}
	EXPECT_TRUE(told);
	EXPECT_EQ(message(again, seq + 1), 0) << "the same under a new number";
	EXPECT_EQ(received(), seq);
	EXPECT_EQ(stat(RDS_S_recv_bad_refusal), 0u);
}

TEST_F(ARefusal, OutlivesTheConnection)
{
	outlives_the_connection(Another::kNone);
}

/* The next try keeps its ports. */
class ARefusalWithoutMemory : public ARefusal, public ::testing::WithParamInterface<unsigned int>
{
};

TEST_P(ARefusalWithoutMemory, OutlivesTheConnection)
{
	outlives_the_connection(Another::kNone, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Nth, ARefusalWithoutMemory, ::testing::Range(1u, 5u));

TEST_F(ARefusal, OutlivesAnotherThatDies)
{
	outlives_the_connection(Another::kDies);
}

TEST_F(ARefusal, OutlivesAnotherThatEnds)
{
	outlives_the_connection(Another::kEnds);
}

/* A host's address goes to another one, which ends in order or leaves a tombstone, and comes back:
 * what it sends again came once. */
TEST_F(ConnStrangers, TheNextHostOfAnAddressLeavesTheLastOnesNumbers)
{
	unsigned int got = 0;

	for (const bool in_order : {false, true}) {
		const unsigned int host = in_order ? 61 : 60;
		Wire &first = calls(host);

		(void)hello(first);
		for (uint64_t seq = 1; seq <= 5; seq++)
			ASSERT_EQ(message(first, seq), 0);
		breaks(first);
		for (uint32_t other = 1; other < rds::kGenerations; other++) {
			Wire &w = calls(host);

			(void)hello(w, kGen + other);
			ASSERT_EQ(message(w, other), 0) << "another's numbers";
			if (in_order)
				ends(w);
			else
				breaks(w);
			sim::run_for(uint64_t{tun().idle_timeout_ms} * kMs * 3);
			ASSERT_EQ(find(host), nullptr) << other;
		}

		Wire &again = calls(host);

		(void)hello(again);
		for (uint64_t seq = 1; seq <= 5; seq++)
			EXPECT_EQ(message(again, seq, kAgain), RDS_RECV_SKIP) << seq;
		EXPECT_EQ(message(again, 6), 0);
		got += 5 + rds::kGenerations - 1 + 1;
	}
	EXPECT_EQ(received(), got);
}

/* Those that may not go are not in the others' way: more than are looked after at a time. */
TEST_F(ConnStrangers, TheStuckDoNotStarveTheOthers)
{
	constexpr unsigned int kStuck = rds::kSweepBatch + 20;

	tun().idle_timeout_ms = 1000;
	for (unsigned int n = 0; n < kStuck + 10; n++) {
		Wire &w = calls(300 + n);

		(void)hello(w);
		ASSERT_EQ(message(w, 1), 0);
		w.midway = n < kStuck; /* half a header is there */
	}
	EXPECT_TRUE(sim::run_until(
		[&] {
			for (unsigned int n = kStuck; n < kStuck + 10; n++)
				if (wire_of(300 + n).path->state() !=
				    rds::PathState::kDisconnecting)
					return false;
			return true;
		},
		4000 * kMs));
}

/* Each knock is worth so many calls, also while the calls of the one before are not all made. */
TEST_F(ConnStrangers, AnotherKnockBeginsToCountAnew)
{
	fake::defaults().initiates = true;
	/* So long that none of them ends. */
	tun().reconnect_min_ms = tun().reconnect_max_ms = 4000 * 1000;

	Wire &w = knocks(51);
	auto call_in_vain = [&](uint32_t times) {
		for (uint32_t n = 0; n < times; n++) {
			ASSERT_TRUE(sim::run_until(
				[&] { return w.path->state() == rds::PathState::kConnecting; },
				3000 * kMs));
			rds_path_drop(w.path, RDS_DROP_CONNECT);
			sim::run_ready();
		}
	};

	call_in_vain(rds::kStrangerCalls - 1);
	sim::run_for(rds::kKnockAgainNs);
	ASSERT_EQ(w.path->state(), rds::PathState::kDown);
	tun().reconnect_min_ms = tun().reconnect_max_ms = 1;
	knocks(51);
	call_in_vain(rds::kStrangerCalls);
	EXPECT_EQ(w.path->dial().attempts(), 2 * rds::kStrangerCalls - 1);
}

/* Those that are down go before all others, also between two calls that they have asked for. */
TEST_F(ConnStrangers, WhoIsCalledInVainGoesFirst)
{
	fake::defaults().initiates = true;
	fake::defaults().connect_result = -111;
	tun().reconnect_min_ms = tun().reconnect_max_ms = 60000;
	(void)knocks(51);
	ASSERT_EQ(ping(calls(52)), RDS_RECV_SKIP);
	sim::run_for(300 * kMs);

	Wire &w = wire_of(51);

	ASSERT_EQ(w.path->state(), rds::PathState::kDown);
	ASSERT_LT(w.path->dial().calls(), rds::kStrangerCalls) << "it will be called again";
	tun().max_passive = 1;
	net->core()->conns.hurry();
	sim::run_for(2 * rds::kStrangerSweepNs);
	EXPECT_EQ(find(51), nullptr);
	EXPECT_EQ(wire_of(52).path->state(), rds::PathState::kUp);
	EXPECT_EQ(stat(RDS_S_conn_evicted), 1u);
}

/* When the last is gone nobody looks any more, until there is another. */
TEST_F(ConnStrangers, WithoutAnyNothingIsScheduled)
{
	for (int round = 0; round < 2; round++) {
		breaks(calls(51));
		sim::run_for(1000 * kMs);
		ASSERT_TRUE(wires().empty());
		sim::run_for(rds::kSweepNs); /* the look that finds nobody */
		EXPECT_FALSE(sim::step()) << "nothing will happen by itself";
	}
}

/* Nor after the end of the namespace, whoever is gone meanwhile. */
TEST_F(ConnStrangers, NobodyHurriesAnySweepThatHasEnded)
{
	Wire &w = calls(51);

	net->core()->conns.stop_sweep();
	breaks(w);
	net->core()->conns.hurry();
	sim::run_for(2 * rds::kStrangerSweepNs);
	EXPECT_NE(find(51), nullptr);
	EXPECT_FALSE(sim::step());
}

/* A caller that hurries the sweep does not put it off, however often. */
TEST_F(ConnStrangers, TheSweepIsNotPutOff)
{
	Wire &w = calls(51);

	sim::run_for(1000 * kMs);
	breaks(w);
	for (int i = 0; i < 20; i++) {
		sim::run_for(rds::kStrangerSweepNs / 4);
		net->core()->conns.hurry();
	}
	EXPECT_EQ(find(51), nullptr);
}

/* A path asked to end has some time for it, also when the sweep comes for others meanwhile. */
TEST_F(ConnStrangers, WhoWasAskedToGoIsGivenTime)
{
	(void)hello(calls(51));
	wire_of(51).midway = true;
	(void)calls(52);
	sim::run_for(2000 * kMs);
	tun().max_passive = 0;
	breaks(wire_of(52)); /* hurries the sweep, which comes more often then */
	ASSERT_TRUE(sim::run_until([&] { return wire_of(51).path->conn.life.is_evicted(); },
				   5000 * kMs));
	sim::run_for(rds::kStrangerSweepNs - 10 * kMs);
	EXPECT_EQ(find(52), nullptr);
	EXPECT_EQ(wire_of(51).history(), "adopt");
	sim::run_for(2 * rds::kStrangerSweepNs);
	EXPECT_TRUE(!find(51) || wire_of(51).path->state() != rds::PathState::kUp);
}

/* Nor does a peer that comes. */
TEST_F(ConnStrangers, NewOnesDoNotPutItOff)
{
	breaks(calls(51));
	for (unsigned int n = 0; n < 100; n++) {
		(void)calls(100 + n);
		sim::run_for(10 * kMs);
	}
	EXPECT_EQ(find(51), nullptr);
}

/* A sender with a message for it does not end a pause between two calls. */
TEST_F(ConnStrangers, AWishIsNoRest)
{
	fake::defaults().initiates = true;
	fake::defaults().connect_result = -111;
	tun().reconnect_min_ms = tun().reconnect_max_ms = 60000;

	rds_path &p = *knocks(51).path;

	sim::run_for(100 * kMs);
	ASSERT_EQ(p.state(), rds::PathState::kDown);
	EXPECT_FALSE(p.is_resting());
	EXPECT_TRUE(p.is_calling());
	p.want();
	EXPECT_FALSE(p.is_resting());
	EXPECT_TRUE(p.is_calling());
	tun().reconnect_min_ms = tun().reconnect_max_ms = 100;
	rds_transport_net_exit(net->core(), fake::ops());
}

/* Of those that are looked after together some are needed: the dead go, the others stay. */
TEST_F(ConnStrangers, TheDeadAmongOthers)
{
	constexpr unsigned int kMany = 12;
	static std::set<const rds_path *> needed;

	for (unsigned int n = 0; n < kMany; n++)
		(void)calls(100 + n);
	sim::run_for(1000 * kMs);
	host::on_event = [](const rds_path *p, unsigned int e, unsigned int) {
		EXPECT_TRUE(e != RDS_EV_retire || !needed.count(p) || p->conn.life.call_off());
	};
	for (unsigned int n = 0; n < kMany; n++) {
		if (n % 2 == 0)
			needed.insert(wire_of(100 + n).path);
		breaks(wire_of(100 + n));
	}
	sim::run_for(rds::kStrangerSweepNs + rds::kSweepSoonNs);
	for (unsigned int n = 0; n < kMany; n++)
		EXPECT_EQ(find(100 + n) == nullptr, n % 2 == 1) << n;
	EXPECT_EQ(stat(RDS_S_conn_stranger_gone), kMany / 2);
	needed.clear();
	sim::run_for(rds::kSweepAgainNs + rds::kSweepNs);
	EXPECT_TRUE(wires().empty());
	EXPECT_EQ(stat(RDS_S_conn_stranger_gone), kMany);
}

/* A peer called because it has knocked, which cannot tell whose numbers it keeps, waits for it. */
TEST_F(ConnStrangers, ACallIsUnderWay)
{
	fake::defaults().initiates = true;

	rds_path &p = *knocks(51).path;

	ASSERT_EQ(p.state(), rds::PathState::kConnecting);
	EXPECT_TRUE(p.is_calling());
	EXPECT_FALSE(p.is_resting());
}

/* It knocks all the time, and answers each call with the header of a message that is too long. */
TEST_F(ConnStrangers, ABadAnswerIsNotAskedForAtOnce)
{
	fake::defaults().initiates = true;
	for (unsigned int host : {51u, 52u}) {
		unsigned int called = 0;
		rds::wire::Header h;

		rds::wire::encode(h, rds::kMaxMessageBytes + 1, 5000, 4000, 0);
		if (host == 52) {
			Wire &known = calls(host);

			ASSERT_EQ(message(known, 1), 0);
			breaks(known);
		}
		for (unsigned int ms = 0; ms < 60 * 1000; ms += 10) {
			Wire &w = knocks(host);

			if (w.path->state() == rds::PathState::kConnecting) {
				called++;
				rds_path_connected(w.path);
				sim::run_ready();
				EXPECT_EQ(fake::arrive(w.path, h), -71);
				/* It hangs up before we do. */
				rds_path_drop(w.path, RDS_DROP_PEER_CLOSED);
				sim::run_ready();
			}
			sim::run_for(10 * kMs);
		}
		EXPECT_GE(called, 20u) << host;
		EXPECT_LT(called, 40u) << host;
	}
}

/* A header that is right is no proof, either, of a host that nobody here has sent to. */
TEST_F(ConnStrangers, OnlyWhoIsOfUseIsCalledAtOnce)
{
	fake::defaults().initiates = true;
	tun().reconnect_min_ms = tun().reconnect_max_ms = 4000 * 1000;

	Wire &w = knocks(51);
	rds::wire::Header h;

	rds::wire::encode_control(h);
	for (uint32_t n = 1; n < rds::kStrangerCalls; n++) {
		sim::run_for(kMs);
		ASSERT_EQ(w.path->state(), rds::PathState::kConnecting);
		rds_path_connected(w.path);
		sim::run_ready();
		EXPECT_EQ(fake::arrive(w.path, h), RDS_RECV_SKIP);
		breaks(w);
	}
	sim::run_for(1000 * kMs);
	EXPECT_EQ(w.path->state(), rds::PathState::kDown) << "it pauses";
	tun().reconnect_min_ms = tun().reconnect_max_ms = 1;
}

/* Nor does it wait for what is left of the pauses that the one before had come to. */
TEST_F(ConnStrangers, AnotherKnockBeginsWithoutAPause)
{
	fake::defaults().initiates = true;
	fake::defaults().connect_result = -111;
	tun().reconnect_min_ms = tun().reconnect_max_ms = 4000 * 1000;

	Wire &w = knocks(51);
	uint32_t calls;

	sim::run_for(rds::kKnockAgainNs);
	calls = w.path->dial().attempts();
	ASSERT_GE(calls, 2u);
	(void)knocks(51);
	sim::run_for(100 * kMs);
	EXPECT_EQ(w.path->dial().attempts(), 2 * calls);
}

} // namespace
