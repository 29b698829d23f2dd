// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets that do not read, between two of ours over byte streams: their messages are refused, come
 * once and in order when they read, and nobody else's wait (net/rds/path/path_refuse.cc).
 */
#include "refuse_fixture.h"

namespace contract
{
namespace
{

using traffic::Sender;

constexpr unsigned int kSeeds = 6;
constexpr uint64_t kMs = 1000 * 1000;

stream::Params narrow(unsigned int paths)
{
	stream::Params p;

	p.send_window = 2000;
	p.recv_window = 1500;
	p.partial_per_1000 = 300;
	p.paths = paths;
	return p;
}

const Over kStreams[] = {
	{"calling", Kind::kStream, 1, 2, {}, 0},
	{"called", Kind::kStream, 2, 1, {}, 100},
	{"narrow", Kind::kStream, 1, 2, narrow(1), 100},
	{"narrow_paths", Kind::kStream, 2, 1, narrow(4), 100},
};

INSTANTIATE_TEST_SUITE_P(Over, Refusal, ::testing::ValuesIn(kStreams),
			 [](const auto &info) { return std::string(info.param.name); });

/* Over one path: a fan-out's gate may wait for the reader (docs/decisions/030-refused-ports.md). */
TEST_P(Refusal, AStoppedReaderKeepsNobodyBack)
{
	Finish finish(*this);

	stream::set_paths(1);
	make_reader(socket_b(200));
	for (uint16_t i = 0; i < 10; i++)
		flow(socket_a(static_cast<uint16_t>(100 + i)), at_b(200), 30);
	EXPECT_TRUE(sim::run_until([&] { return stat(RDS_S_send_refused) > 0; }, 60 * kSecond));

	const uint64_t before = order.received_count();

	make_reader(socket_b(201));
	make_reader(socket_a(300));
	readers[1]->reads = readers[2]->reads = true;
	flow(socket_a(150), at_b(201), 50);
	flow(socket_b(350), at_a(300), 50);
	EXPECT_TRUE(sim::run_until([&] { return order.received_count() == before + 100; },
				   60 * kSecond));
	EXPECT_EQ(net_b().stat(RDS_S_recv_delayed_retry), 0u) << "a path pauses";
	all_read();
	EXPECT_TRUE(all_arrives());
	EXPECT_EQ(order.complaint(), "");
	EXPECT_EQ(order.lost(), 0u);
	EXPECT_TRUE(sim::run_until(
		[&] { return !traffic::unacked(net_a()) && !traffic::unacked(net_b()); },
		60 * kSecond));
	EXPECT_EQ(stat(RDS_S_recv_bad_refusal), 0u);
	EXPECT_EQ(stat(RDS_S_recv_bad_ack), 0u);
}

/* Connections are cut at any byte, readers stop and go on, allocations fail. */
TEST_P(Refusal, OnceAndInOrderWhateverHappens)
{
	for (unsigned int seed = 0; seed < kSeeds; seed++) {
		SCOPED_TRACE(seed);
		Finish finish(*this);

		stir(seed);
		stop = false;
		for (uint16_t i = 0; i < 2; i++) {
			make_reader(socket_b(static_cast<uint16_t>(200 + i)));
			make_reader(socket_a(static_cast<uint16_t>(300 + i)));
		}
		for (uint16_t i = 0; i < 6; i++) {
			const auto own = static_cast<uint16_t>(100 + i);

			flow(socket_a(own), at_b(static_cast<uint16_t>(200 + i % 2)), 60);
			flow(socket_b(own), at_a(static_cast<uint16_t>(300 + i % 2)), 60);
		}
		for (int i = 0; i < 60; i++) {
			sim::run_for(sim::random_below(2 * kMs));
			for (auto &r : readers)
				r->reads = sim::chance(300);
			sim::options().fail_per_1000 = sim::chance(200) ? 200u : 0u;
			if (sim::chance(400))
				stream::cut_one(sim::chance(300));
			if (sim::chance(100))
				reset_connections();
		}
		sim::options().fail_per_1000 = 0;
		all_read();
		EXPECT_TRUE(all_arrives());
		EXPECT_EQ(order.complaint(), "");
		EXPECT_EQ(order.lost(), 0u);
		EXPECT_GT(stat(RDS_S_send_refused), 0u);
		EXPECT_EQ(stat(RDS_S_recv_bad_refusal), 0u);
		stop = true;
		sim::run_ready();
		senders.clear();
		froms.clear();
		readers.clear();
	}
}

/* The receiver has refused, the connection dies before its sender hears of that, and neither hears
 * of the other for longer than a connection is kept that is idle: a tombstone has it. */
TEST_P(Refusal, ALongSilenceLosesNothing)
{
	const auto a = network::host_of(addr_a), b = network::host_of(addr_b);

	stream::set_paths(1);
	for (auto &n : nets)
		rds_net_tunables(n->core())->idle_timeout_ms = 1000;
	for (unsigned int seed = 0; seed < kSeeds; seed++) {
		SCOPED_TRACE(seed);
		Finish finish(*this);
		const uint64_t before = net_b().stat(RDS_S_recv_refused);
		const uint64_t tombs = net_b().stat(RDS_S_conn_tombstone);

		stir(seed);
		stop = false;
		make_reader(socket_b(200));
		for (uint16_t i = 0; i < 10; i++)
			flow(socket_a(static_cast<uint16_t>(100 + i)), at_b(200), 30);
		EXPECT_TRUE(sim::run_until(
			[&] { return net_b().stat(RDS_S_recv_refused) > before; }, 60 * kSecond));
		network::cut(a, b, true);
		stream::cut_all();
		EXPECT_TRUE(sim::run_until(
			[&] { return net_b().stat(RDS_S_conn_tombstone) > tombs; }, 600 * kSecond));
		all_read();
		network::cut(a, b, false);
		EXPECT_TRUE(all_arrives());
		EXPECT_EQ(order.complaint(), "");
		EXPECT_EQ(order.lost(), 0u);
		stop = true;
		sim::run_ready();
		senders.clear();
		froms.clear();
		readers.clear();
	}
}

/* Messages are taken back, and sockets close, at either end: what arrives is in order, all is given
 * back, and the ports are good again. */
TEST_P(Refusal, TakenBackAndClosed)
{
	Finish finish(*this);

	for (int round = 0; round < 8; round++) {
		SCOPED_TRACE(round);
		stop = false;
		make_reader(socket_b(200));
		for (uint16_t i = 0; i < 5; i++)
			flow(socket_a(static_cast<uint16_t>(100 + i)), at_b(200), 30);
		sim::run_for(5 * kMs + sim::random_below(20 * kMs));
		if (round & 1)
			rds_socket_cancel(froms[0]->core(), nullptr);
		if (round & 2)
			stream::cut_one();
		if (round & 4)
			sim::run_for(sim::random_below(20 * kMs));
		stop = true;
		sim::run_ready();
		senders.clear();
		if (round & 4)
			readers.clear();
		froms.clear();
		readers.clear();
		EXPECT_EQ(order.complaint(), "");
		EXPECT_TRUE(
			sim::run_until([&] { return !traffic::unacked(net_a()); }, 60 * kSecond));
	}
	EXPECT_GT(stat(RDS_S_send_refused), 0u);

	/* The same ports. */
	check::Order fresh;
	auto from = socket_a(100), to = socket_b(200);
	Sender s{from.get(), at_b(200), 1, &fresh, &stop};

	stop = false;
	sim::spawn("send", [&] { s.send(20, 16, 100); });
	sim::spawn("receive", [&] { traffic::receive(*to, fresh, stop); });
	EXPECT_TRUE(run_until_received(fresh, 20));
	EXPECT_EQ(fresh.complaint(), "");
	stop = true;
	sim::run_ready();
}

} // namespace
} // namespace contract
