// SPDX-License-Identifier: GPL-2.0
/* Facts of paths, as an administrator is told them (net/rds/path/path_facts.cc, net/rds/info.cc).
 */
#include <algorithm>
#include <map>

#include "ack_fixture.h"

namespace
{

using fake::wire;
using host::endpoint;

class PathFacts : public AckTest
{
protected:
	using All = std::vector<struct rds_path_facts>;

	/* A message of a dump, with room for so many. */
	struct Sheet {
		All *all;
		unsigned int room;
	};
	static int put(void *arg, const struct rds_path_facts *f)
	{
		auto *sheet = static_cast<Sheet *>(arg);

		if (!sheet->room)
			return 0;
		sheet->room--;
		sheet->all->push_back(*f);
		return 1;
	}
	All all()
	{
		All found;
		Sheet sheet = {&found, ~0u};
		struct rds_path_place at = {};

		while (rds_info_path_facts(net->core(), &at, put, &sheet))
			;
		EXPECT_EQ(at.pos, RDS_INFO_END);
		return found;
	}
	struct rds_path_facts only()
	{
		All found = all();

		EXPECT_EQ(found.size(), 1u);
		return found.at(0);
	}
	void map(const std::vector<uint16_t> &full)
	{
		host::Bytes bits(rds::kCongMapBytes);

		for (uint16_t port : full)
			bits[port / 8] |= static_cast<unsigned char>(1 << port % 8);
		EXPECT_EQ(fake::arrive(wire().path, 0, 0, 0, bits, rds::wire::kCongBitmap), 0);
		sim::run_ready();
	}
	struct rds_socket_fill fill()
	{
		struct rds_socket_fill f;

		rds_socket_fill(s->core(), &f);
		return f;
	}
	/* The peer is one of ours, which may refuse ports. */
	void hello_and_refuses()
	{
		constexpr uint32_t kCaps = rds::wire::kCapDeliveryAck | rds::wire::kCapRefuse;
		rds::wire::Header h;

		rds::wire::encode_hello(h, {77, kCaps});
		ASSERT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
		sim::run_ready();
	}
	/* From its first message on. */
	void refuse(uint16_t port)
	{
		rds::wire::Header h;

		rds::wire::encode_refusal(
			h,
			{.what = rds::wire::Ext::kRefused, .port = port, .epoch = 9, .number = 1});
		ASSERT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
	}
	void grows(unsigned int hosts);
	static bool is_state(const struct rds_path_facts &f, rds::PathState state)
	{
		return f.state == static_cast<unsigned int>(state);
	}
};

TEST_F(PathFacts, TheStateAndSinceWhen)
{
	send();
	sim::run_ready();
	sim::run_for(7 * kMs);
	EXPECT_TRUE(is_state(only(), rds::PathState::kConnecting));
	EXPECT_EQ(only().state_ns, 7 * kMs);
	bring_up();
	EXPECT_TRUE(is_state(only(), rds::PathState::kUp));

	const uint64_t up_for = only().state_ns;

	EXPECT_LT(up_for, kMs) << "it begins anew with each state";
	sim::run_for(3 * kMs);
	EXPECT_EQ(only().state_ns, up_for + 3 * kMs);
	EXPECT_STREQ(only().i.last_reason, "-");
	wire().initiates = false;
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	EXPECT_FALSE(is_state(only(), rds::PathState::kUp));
	EXPECT_LT(only().state_ns, kMs);
	EXPECT_STREQ(only().i.last_reason, "error");
}

TEST_F(PathFacts, MessagesThatThePeerHasNot)
{
	send(3);
	EXPECT_EQ(only().unacked, 3u);
	EXPECT_EQ(only().unsent_bytes, 3 * (100 + rds::wire::kHeaderBytes));
	sim::run_ready();
	wire().room = 0;
	bring_up();
	EXPECT_EQ(only().unacked, 3u) << "hello, which comes first, has no number";
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	hello();
	EXPECT_EQ(only().unacked, 3u);
	EXPECT_EQ(only().unsent_bytes, 0u) << "the transport has them, the peer may not";
	peer_has(2);
	EXPECT_EQ(only().unacked, 1u);
	peer_has(3);
	EXPECT_EQ(only().unacked, 0u);
}

/* Told by the first frame of a connection, and known until the first one of the next. */
TEST_F(PathFacts, TheRdsAtTheOtherEnd)
{
	send();
	EXPECT_EQ(only().peer, RDS_FACT_PEER_UNKNOWN);
	bring_up();
	EXPECT_EQ(only().peer, RDS_FACT_PEER_UNKNOWN);
	hello();
	EXPECT_EQ(only().peer, RDS_FACT_PEER_OURS);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	EXPECT_EQ(only().peer, RDS_FACT_PEER_OURS) << "there is no other yet";
	sim::run_for(1000 * kMs);
	bring_up();
	EXPECT_EQ(only().peer, RDS_FACT_PEER_UNKNOWN);
	ASSERT_GE(arrive(1), 0);
	EXPECT_EQ(only().peer, RDS_FACT_PEER_OTHER) << "it has said no hello";
}

/* Over queue pairs it acknowledges by number, and is none of ours for all that. */
TEST_F(PathFacts, AnotherRdsThatAcknowledgesByNumber)
{
	numbered();
	send();
	bring_up();
	ASSERT_GE(arrive(1), 0);
	EXPECT_EQ(only().peer, RDS_FACT_PEER_OTHER);
	reconnect();
	hello();
	EXPECT_EQ(only().peer, RDS_FACT_PEER_OURS);
}

/* Until it is delivered, whatever the transport has of it. */
TEST_F(PathFacts, TheAgeOfTheOldestMessage)
{
	send();
	EXPECT_TRUE(only().waits);
	sim::run_for(70 * kMs);
	EXPECT_EQ(only().waits_ms, 70u);
	send();
	sim::run_for(5 * kMs);
	EXPECT_EQ(only().waits_ms, 75u);
	bring_up();
	hello();
	sim::run_for(5 * kMs);

	const uint32_t both = only().waits_ms;

	EXPECT_GE(both, 80u);
	peer_has(1);
	EXPECT_EQ(only().waits_ms, both - 70);
	peer_has(2);
	EXPECT_FALSE(only().waits);
	send();
	EXPECT_TRUE(only().waits);
	EXPECT_EQ(only().waits_ms, 0u);
}

/* Of those that ask, as the first does after hello. */
TEST_F(PathFacts, HowLongAnAckTakes)
{
	send();
	bring_up();
	hello();
	EXPECT_EQ(only().ack_us, 0u);
	send();
	sim::run_for(3 * kMs);
	peer_has(2);
	EXPECT_EQ(only().ack_us, 3000u);
	reconnect();
	hello();
	EXPECT_EQ(only().ack_us, 0u) << "another connection, another way perhaps";
	send();
	sim::run_for(1 * kMs);
	peer_has(3);
	EXPECT_EQ(only().ack_us, 1000u);
}

/* Where each answer brings an ack none would be asked for. */
TEST_F(PathFacts, OneASecondIsTimed)
{
	send();
	bring_up();
	hello();
	for (uint64_t seq = 1, us = 1000; seq < 40; seq++, us += 100) {
		if (seq > 1)
			send();
		sim::run_for(us * 1000);
		peer_has(seq);
		sim::run_for(1000 * kMs);
	}
	EXPECT_GT(only().ack_us, 4000u);
	EXPECT_EQ(net->stat(RDS_S_send_ack_required), 38u);
}

/* A message that was handed over and did not go says nothing, however late the next one goes. */
class AckTime : public PathFacts
{
protected:
	/* A connection that is not its peer's first, so its first message asks; without room. */
	void full()
	{
		send();
		bring_up();
		hello();
		peer_has(1);
		reconnect();
		hello();
		wire().room = 0;
	}
	void room_comes()
	{
		wire().room = SIZE_MAX;
		rds_path_writable(wire().path);
		sim::run_ready();
	}
	/* A second later there is room, and the next message is acknowledged after 2 ms. */
	void next_is_acked()
	{
		sim::run_for(1000 * kMs);
		room_comes();
		send();
		sim::run_for(2 * kMs);
		peer_has(path().next_tx_seq() - 1);
		EXPECT_EQ(only().ack_us, 2000u);
	}
};

TEST_F(AckTime, IsNotThatOfOneThatWasTakenBack)
{
	full();
	send();
	sim::run_ready();
	rds_socket_cancel(s->core(), nullptr);
	next_is_acked();
}

/* The transport has it just now, and takes none of it. */
TEST_F(AckTime, IsNotThatOfOneThatWasTakenBackOutOfABatch)
{
	full();
	wire().on_xmit = [this] { rds_socket_cancel(s->core(), nullptr); };
	send();
	sim::run_ready();
	wire().on_xmit = nullptr;
	next_is_acked();
}

TEST_F(AckTime, IsNotThatOfOneThatSteppedAside)
{
	full();
	send();
	map({to.port});
	room_comes();
	ASSERT_TRUE(only().holds);
	sim::run_for(1000 * kMs);
	map({});
	ASSERT_FALSE(only().holds);
	sim::run_for(1 * kMs);
	peer_has(path().next_tx_seq() - 1);
	EXPECT_EQ(only().ack_us, 1000u);
}

/* It is sent again, though the peer has it and has said so. */
TEST_F(AckTime, IsNotThatOfOneThatThePeerHad)
{
	send(3);
	bring_up();
	wire().room = 0;
	reconnect();
	hello();
	peer_has(3);
	room_comes();
	next_is_acked();
}

/* Beside the queue, for a port that is full. */
TEST_F(PathFacts, TheAgeOfOneThatIsHeld)
{
	send();
	bring_up();
	hello();
	peer_has(1);
	EXPECT_FALSE(only().waits);
	wire().room = 0;
	send();
	map({to.port});
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	ASSERT_TRUE(only().holds);
	EXPECT_EQ(only().unacked, 0u);
	sim::run_for(30 * kMs);
	EXPECT_TRUE(only().waits);
	EXPECT_EQ(only().waits_ms, 30u);
}

TEST_F(PathFacts, WhatTheTransportKnowsOfAConnectionThatIsUp)
{
	send();
	sim::run_ready();
	wire().facts = {.tx_bytes = 10,
			.rx_bytes = 20,
			.rtt_us = 30,
			.heard_ms = 40,
			.known = 1,
			.signed_by = 2};
	EXPECT_EQ(only().link.known, 0) << "there is none";
	bring_up();
	EXPECT_EQ(only().link.known, 1);
	EXPECT_EQ(only().link.rx_bytes, 20u);
	EXPECT_EQ(only().link.signed_by, 2);
}

TEST_F(PathFacts, PortsOfThePeerThatAreFull)
{
	send();
	bring_up();
	EXPECT_EQ(only().congested, 0u);
	map({0, 63, 64, 65535});
	EXPECT_EQ(only().congested, 4u);
	EXPECT_EQ(only().ports[0], 0);
	EXPECT_EQ(only().ports[1], 63);
	EXPECT_EQ(only().ports[2], 64);
	EXPECT_EQ(only().ports[3], 65535);

	std::vector<uint16_t> many;

	for (unsigned int port = 1; port <= RDS_FACT_PORTS + 5; port++)
		many.push_back(static_cast<uint16_t>(3 * port));
	map(many);
	EXPECT_EQ(only().congested, RDS_FACT_PORTS + 5u);
	EXPECT_EQ(only().ports[RDS_FACT_PORTS - 1], 3 * RDS_FACT_PORTS);
	map({});
	EXPECT_EQ(only().congested, 0u);
}

/* From the first port that fills to the last that clears. */
TEST_F(PathFacts, SinceWhenPortsOfThePeerAreFull)
{
	send();
	bring_up();
	sim::run_for(70 * kMs);
	EXPECT_EQ(only().congested_ms, 0u) << "none is";
	map({63});
	sim::run_for(30 * kMs);
	map({63, 64});
	sim::run_for(5 * kMs);
	EXPECT_EQ(only().congested_ms, 35u) << "the first still is";
	map({64});
	EXPECT_EQ(only().congested_ms, 35u) << "another is";
	map({});
	EXPECT_EQ(only().congested_ms, 0u);
	sim::run_for(20 * kMs);
	map({7});
	sim::run_for(3 * kMs);
	EXPECT_EQ(only().congested_ms, 3u);
}

/* A message that steps aside is told, and a port that is refused counts. */
TEST_F(PathFacts, WhoRefused)
{
	send();
	bring_up();
	hello_and_refuses();
	EXPECT_EQ(only().refused, 0u);
	EXPECT_FALSE(only().holds);
	refuse(to.port);
	peer_has(1);
	sim::run_ready();
	EXPECT_EQ(only().refused, 1u);
	EXPECT_EQ(only().refused_ports[0].port, to.port);
	EXPECT_TRUE(only().holds);
	EXPECT_FALSE(only().refuses);
}

/* Those that are only full are none of them. */
TEST_F(PathFacts, PortsThatThePeerRefusesAndSinceWhen)
{
	send();
	bring_up();
	hello_and_refuses();
	map({100, 4000, 5000});
	refuse(5000);
	sim::run_for(30 * kMs);
	refuse(4000);
	sim::run_for(5 * kMs);

	struct rds_path_facts f = only();

	ASSERT_EQ(f.refused, 2u);
	EXPECT_EQ(f.refused_ports[0].port, 4000);
	EXPECT_EQ(f.refused_ports[0].ms, 5u);
	EXPECT_EQ(f.refused_ports[1].port, 5000);
	EXPECT_EQ(f.refused_ports[1].ms, 35u);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	EXPECT_EQ(only().refused, 0u) << "a connection that ends ends them";
}

/* The lowest are listed, in order, however they came. */
TEST_F(PathFacts, ManyPortsThatThePeerRefuses)
{
	std::vector<uint16_t> many;

	send();
	bring_up();
	hello_and_refuses();
	for (unsigned int n = 0; n < rds::kMaxRefusedPorts; n++)
		many.push_back(static_cast<uint16_t>(1000 + n * 37 % rds::kMaxRefusedPorts * 7));
	map(many);
	for (unsigned int n = 0; n < many.size(); n++) {
		refuse(many[n]);

		const unsigned int listed = std::min<unsigned int>(n + 1, RDS_FACT_PORTS);
		struct rds_path_facts f = only();
		std::vector<uint16_t> wanted(many.begin(), many.begin() + n + 1);

		std::sort(wanted.begin(), wanted.end());
		ASSERT_EQ(f.refused, n + 1);
		for (unsigned int at = 0; at < listed; at++)
			ASSERT_EQ(f.refused_ports[at].port, wanted[at]) << n;
	}
}

TEST_F(PathFacts, ASocketAndWhatFillsIt)
{
	send(2);
	EXPECT_EQ(fill().unacked, 200u);
	EXPECT_EQ(fill().unread, 0u);
	EXPECT_FALSE(fill().waits);
	EXPECT_FALSE(fill().congested);
	bring_up();
	hello();
	peer_has(2);
	sim::run_for(50 * kMs);
	s->sock().rcvbuf = 20;
	ASSERT_EQ(fake::arrive(wire().path, 1, 5000, 4000, pattern(30)), 0);
	EXPECT_EQ(fill().unacked, 0u);
	EXPECT_EQ(fill().unread, 30u);
	EXPECT_TRUE(fill().congested);
	sim::run_for(30 * kMs);
	EXPECT_EQ(fill().congested_ms, 30u);
	EXPECT_TRUE(s->recv());
	EXPECT_FALSE(fill().congested);
	EXPECT_EQ(fill().congested_ms, 0u);
}

/* Of the oldest, until the last is read; of those that a reader has taken, since the first came. */
TEST_F(PathFacts, TheAgeOfTheOldestThatNobodyHasRead)
{
	send();
	bring_up();
	hello();
	sim::run_for(90 * kMs);
	ASSERT_EQ(fake::arrive(wire().path, 1, 5000, 4000, {}), 0);
	EXPECT_TRUE(fill().waits) << "it has no byte";
	EXPECT_EQ(fill().unread_ms, 0u);
	sim::run_for(20 * kMs);
	ASSERT_EQ(fake::arrive(wire().path, 2, 5000, 4000, pattern(10)), 0);
	EXPECT_EQ(fill().unread_ms, 20u);
	EXPECT_TRUE(s->recv()); /* takes both, and leaves one */
	sim::run_for(5 * kMs);
	ASSERT_EQ(fake::arrive(wire().path, 3, 5000, 4000, pattern(10)), 0);
	EXPECT_EQ(fill().unread_ms, 25u);
	EXPECT_TRUE(s->recv());
	sim::run_for(2 * kMs);
	EXPECT_EQ(fill().unread_ms, 2u) << "the third";
	EXPECT_TRUE(s->recv());
	EXPECT_FALSE(fill().waits);
	EXPECT_EQ(fill().unread_ms, 0u);
}

/* A reader that looks for the next one of a sender takes it to those that it has, and is done with
 * them one by one: times of two bursts are known, and a third one has the second's. */
TEST_F(PathFacts, TheAgeOfThoseThatAreTakenToOthers)
{
	struct rds_recv_info info;

	send();
	bring_up();
	hello();
	sim::run_for(90 * kMs);
	ASSERT_EQ(fake::arrive(wire().path, 1, 5000, 4000, pattern(10)), 0);
	ASSERT_EQ(rds_recv_lock(s->core()), 0);

	struct rds_msg *m = rds_recv_head(s->core(), &info);

	for (uint64_t seq = 2; seq <= 3; seq++) {
		sim::run_for(20 * kMs);
		ASSERT_EQ(fake::arrive(wire().path, seq, 5000, 4000, pattern(10)), 0);
		m = rds_recv_next(s->core(), m, &info);
		ASSERT_TRUE(m);
	}
	EXPECT_EQ(fill().unread_ms, 40u);
	rds_recv_pop(s->core(), 1);
	EXPECT_EQ(fill().unread_ms, 20u);
	rds_recv_pop(s->core(), 1);
	EXPECT_EQ(fill().unread_ms, 20u) << "the second's";
	rds_recv_unlock(s->core());
	EXPECT_TRUE(s->recv());
	EXPECT_FALSE(fill().waits);
}

/* One that always finds another one before it has read the last is no slow one. */
TEST_F(PathFacts, TheAgeWhereAReaderNeverEmptiesItsQueue)
{
	struct rds_recv_info info;

	send();
	bring_up();
	hello();
	ASSERT_EQ(fake::arrive(wire().path, 1, 5000, 4000, pattern(10)), 0);
	ASSERT_EQ(rds_recv_lock(s->core()), 0);
	for (uint64_t seq = 2; seq <= 50; seq++) {
		struct rds_msg *m = rds_recv_head(s->core(), &info);

		sim::run_for(10 * kMs);
		ASSERT_EQ(fake::arrive(wire().path, seq, 5000, 4000, pattern(10)), 0);
		ASSERT_TRUE(rds_recv_next(s->core(), m, &info));
		EXPECT_EQ(fill().unread_ms, 10u);
		rds_recv_pop(s->core(), 1);
		EXPECT_EQ(fill().unread_ms, 0u);
	}
	rds_recv_unlock(s->core());
	EXPECT_TRUE(s->recv());
}

/* Messages of a dump with little room, and a table that grows between any two of them. */
void PathFacts::grows(unsigned int hosts)
{
	constexpr unsigned int kThere = 150, kMany = 600;
	std::map<std::pair<uint64_t, uint64_t>, unsigned int> times;
	struct rds_path_place at = {};
	unsigned int met = 0, steps = 0;
	auto there = [hosts](unsigned int i) { return host::addr4(100 + 1000 * hosts + i); };
	auto meet = [&] { ASSERT_EQ(s->send(endpoint(there(met++), 5000), pattern(1)), 0); };

	s->sock().sndbuf = 1 << 30;
	while (met < kThere)
		meet();
	while (at.pos != RDS_INFO_END) {
		All found;
		Sheet sheet = {&found, 1 + steps++ % 3};
		const unsigned int more = at.index ? 40 : 3;

		ASSERT_LT(steps, 10 * kMany) << "it does not get on";
		while (rds_info_path_facts(net->core(), &at, put, &sheet))
			;
		for (const auto &f : found)
			times[{f.i.faddr.w[0], f.i.faddr.w[1]}]++;
		for (unsigned int n = 0; n < more && met < kMany; n++)
			meet();
	}
	EXPECT_EQ(met, kMany);
	for (unsigned int i = 0; i < kMany; i++) {
		const struct rds_addr a = there(i);
		const auto found = times.find({a.w[0], a.w[1]});
		const unsigned int n = found == times.end() ? 0 : found->second;

		EXPECT_LE(n, 1u) << i;
		EXPECT_TRUE(n || i >= kThere) << i;
	}
}

TEST_F(PathFacts, EachIsToldOnceThoughTheTableGrows)
{
	grows(0);
}

/* Hosts of other addresses are in other buckets, in another order. */
class PathFactsOf : public PathFacts, public testing::WithParamInterface<unsigned int>
{
};
INSTANTIATE_TEST_SUITE_P(Hosts, PathFactsOf, testing::Range(1u, 40u));

TEST_P(PathFactsOf, EachIsToldOnceToo)
{
	grows(GetParam());
}

} // namespace
