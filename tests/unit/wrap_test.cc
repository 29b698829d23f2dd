// SPDX-License-Identifier: GPL-2.0
/*
 * wrap_test.cc: counters of the core that pass the end of 31, 32 or 63 bits, set as they are after
 * very long use (built with -fno-access-control).  Numbers of flows: recv_query_test.cc and below;
 * ring positions: ib_link_test.cc.
 */
#include <algorithm>

#include "fan_fixture.h"
#include "net/rds/net.h"
#include "net/rds/order.h"
#include "net/rds/path/path_walk.h"
#include "net/rds/socket/recv_query.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::wire;
using fake::wires;
using host::endpoint;
using host::Socket;

constexpr uint64_t kMs = 1000 * 1000;
constexpr uint64_t kEnds[] = {1ull << 31, 1ull << 32, 1ull << 33, 1ull << 63};

/* A path that is up, has a peer and nothing queued; its numbers and bytes pass GetParam() soon. */
class Wraps : public SocketTest<RDS_CAP_DELIVERY_ACK>, public testing::WithParamInterface<uint64_t>
{
protected:
	rds_path &path()
	{
		return *wire().path;
	}
	void send(unsigned int n)
	{
		for (unsigned int i = 0; i < n; i++)
			ASSERT_EQ(s->send(to, pattern(100, i)), 0);
		sim::run_ready();
	}
	void come_up()
	{
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
		ASSERT_EQ(path().state(), rds::PathState::kUp);
	}
	void hello()
	{
		rds::wire::Header h;

		rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
		ASSERT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
		sim::run_ready();
	}
	void peer_has(uint64_t seq)
	{
		rds::wire::Header h;

		rds::wire::encode_control(h);
		rds::wire::put64(h.ack, seq);
		ASSERT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
	}
	/* One of ours, that has had all numbers below @next. */
	void meet_and_age(uint64_t next)
	{
		send(1);
		come_up();
		hello();
		peer_has(1);
		path().queue_.next_number_.store(next);
		path().delivered_.up_to_.store(next - 1);
		path().queue_.begun_ = path().delivered_.asked_ = next - 1;
		wire().sent.clear();
	}
	unsigned int queued()
	{
		unsigned int n = 0;

		for (bool sent : {false, true})
			path().for_each_queued(sent, [&](const rds::Message &) { n++; });
		return n;
	}
	int arrive(uint64_t seq, uint8_t flags = 0)
	{
		int ret = fake::arrive(wire().path, seq, 5000, 4000, pattern(10), flags);

		sim::run_ready();
		return ret;
	}
	std::vector<uint64_t> numbers()
	{
		std::vector<uint64_t> out;

		for (const auto &f : fake::frames(wire().sent))
			if (f.seq)
				out.push_back(f.seq);
		return out;
	}
	const struct rds_endpoint to = endpoint(host::addr4(99), 5000);
};

INSTANTIATE_TEST_SUITE_P(Ends, Wraps, testing::ValuesIn(kEnds));

/* Whichever of them the peer has, those are let go and no others; the rest goes out again. */
TEST_P(Wraps, NumbersThatAreSentAndAcknowledged)
{
	const uint64_t first = GetParam() - 5;

	meet_and_age(first);
	send(10);
	for (uint64_t i = 0; i < 10; i++)
		EXPECT_EQ(numbers()[i], first + i);
	peer_has(first - 1);
	EXPECT_EQ(queued(), 10u);
	for (unsigned int i = 0; i < 8; i++) {
		peer_has(first + i);
		EXPECT_EQ(queued(), 9u - i);
	}
	peer_has(first + 10);
	EXPECT_EQ(net->stat(RDS_S_recv_bad_ack), 1u);
	peer_has(first); /* late */
	EXPECT_EQ(queued(), 2u);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	come_up();
	hello();
	EXPECT_EQ(numbers(), (std::vector<uint64_t>{first + 8, first + 9}));
	peer_has(first + 9);
	EXPECT_EQ(queued(), 0u);
}

TEST_P(Wraps, NumbersThatAreReceived)
{
	const uint64_t first = GetParam() - 3;

	send(1);
	come_up();
	hello();
	for (uint64_t i = 0; i < 6; i++)
		EXPECT_EQ(arrive(first + i), 0);
	for (uint64_t i = 0; i < 6; i++)
		EXPECT_EQ(arrive(first + i, rds::wire::kRetransmitted), RDS_RECV_SKIP) << i;
	EXPECT_EQ(net->stat(RDS_S_recv_drop_old_seq), 6u);
	EXPECT_EQ(net->stat(RDS_S_recv_queued), 6u);
	sim::run_for(100 * kMs);

	uint64_t told = 0;

	for (const auto &f : fake::frames(wire().sent))
		told = std::max(told, f.ack);
	EXPECT_EQ(told, first + 5);
}

/* To a peer of mainline's: what the transport has, it says in bytes. */
TEST_P(Wraps, BytesThatTheTransportAcknowledges)
{
	const uint64_t before = GetParam() - 2 * (RDS_HEADER_BYTES + 100) - 7;

	send(1);
	come_up();
	EXPECT_EQ(arrive(1), 0);
	ASSERT_EQ(path().peer(), rds::Peer::kPlain);
	rds_path_acked(wire().path, wire().sent.size());
	ASSERT_EQ(queued(), 0u);
	path().queue_.tx_off_ = path().queue_.acked_off_ = before;
	send(5);
	for (uint64_t i = 1; i <= 5; i++) {
		const uint64_t end = before + i * (RDS_HEADER_BYTES + 100);

		rds_path_acked(wire().path, end - 1);
		EXPECT_EQ(queued(), 6u - i);
		rds_path_acked(wire().path, end);
		EXPECT_EQ(queued(), 5u - i);
	}
}

/* Every change is told, and nothing that did not change. */
TEST_F(Wraps, VersionsOfAMap)
{
	unsigned int told = 0, bits = 0;
	auto maps = [&] {
		unsigned int n = 0;

		sim::run_ready();
		for (const auto &f : fake::frames(wire().sent))
			n += f.flags == rds::wire::kCongBitmap;
		return n;
	};
	send(1);
	come_up();
	hello();

	rds::CongMap &map = *path().conn.lcong;

	ASSERT_TRUE(map.ensure_bits(RDS_MAY_SLEEP).ok());
	map.version_.store(~0u - 3);
	path().map_news_.sent_.store(~0u - 3);
	told = maps();
	for (uint16_t port : {1, 2, 3, 4, 5, 6, 7, 8}) {
		ASSERT_TRUE(map.set(port));
		bits++;
		rds::CongTable::local_changed(*net->core(), map, port, true);
		EXPECT_EQ(maps(), told + bits);
		rds_path_writable(wire().path);
		path().kick();
		EXPECT_EQ(maps(), told + bits) << "and not once more";
		sim::run_for(3 * rds::kMapPauseNs); /* nor does a map wait for another */
	}
	EXPECT_LT(map.version(), 10u) << "the version has not wrapped";
}

/* A peer that ignores our congestion may bring more than 4 GiB in a life of the socket; so much is
 * never unread, but the count could bear it. */
TEST_F(Wraps, BytesThatAreNotRead)
{
	const uint64_t before = ~0u - 14;

	send(1);
	come_up();
	hello();
	s->sock().rcvbuf = (1u << 30) - 1;
	s->core()->rcv_bytes.store(before);
	EXPECT_EQ(arrive(1), 0);
	EXPECT_TRUE(s->core()->congested.load());
	for (uint64_t seq = 2; seq <= 4; seq++)
		EXPECT_EQ(arrive(seq), 0);
	EXPECT_GT(s->core()->rcv_bytes.load(), uint64_t{~0u});
	ASSERT_TRUE(s->recv());
	EXPECT_TRUE(s->core()->congested.load()) << "4 GiB are no empty queue";
	while (s->recv())
		;
	EXPECT_EQ(s->core()->rcv_bytes.load(), before);
	EXPECT_TRUE(s->core()->congested.load());
	s->core()->rcv_bytes.fetch_sub(before);
}

/* The send queue's limit is 2^30 - 1 at most, too; here it is all that 32 bits have. */
TEST_F(Wraps, BytesThatAreQueued)
{
	rds::SendSpace space;
	rds::RcuReader rcu;
	constexpr uint32_t kMessage = 1u << 20;

	s->sock().sndbuf = ~0u - kMessage;
	space.bytes_.store(~0u - kMessage - 1);
	EXPECT_TRUE(space.take(s->core(), kMessage, kMessage)) << "the last may overshoot";
	EXPECT_EQ(space.bytes(), ~0u - 1);
	EXPECT_FALSE(space.take(s->core(), 1, 1));
	EXPECT_TRUE(space.short_of_room(s->core()));
	space.give(s->core(), kMessage, kMessage);
	EXPECT_EQ(s->sock().woken_write.load(), 1u);
	EXPECT_TRUE(space.take(s->core(), 1, 1));
	space.give(s->core(), 1, 1);
}

/* The flow not heard for longest makes room, also when the clock has begun anew. */
TEST_F(Wraps, TheClockOfFlows)
{
	constexpr uint32_t kFlows = rds::kFlowRows * rds::kFlowWays;
	rds::RecvFlows flows(rds::HashKey{{1, 1}});
	auto peer = [](uint32_t n) { return endpoint(host::addr4(9), static_cast<uint16_t>(n)); };
	auto known = [&](uint32_t n) {
		rds::RecvFlow *f = nullptr;

		flows.freeze();
		f = flows.frozen(peer(n));
		return f && f->then.known;
	};

	flows.clock_ = ~0u - 3 * kFlows;
	for (uint32_t i = 0; i < 16 * kFlows; i++) {
		flows.note(peer(1), {i + 1, i + 1}, true);
		flows.note(peer(1000 + i), {1, 1}, true);
		ASSERT_TRUE(known(1)) << "of those that go on one was forgotten at " << i;
		ASSERT_TRUE(known(1000 + i));
	}
	EXPECT_LT(flows.clock_, 40 * kFlows);
}

/* A flow over several paths whose numbers pass the end: nobody waits for what is not away, nobody
 * passes what is, and what the header says is lowest never is beyond what is under way. */
class WrapOrder : public FanTest, public testing::WithParamInterface<uint32_t>
{
protected:
	void say(char letter, rds::Order order)
	{
		host::Bytes data(20, static_cast<unsigned char>(letter));

		ASSERT_EQ(s->send(endpoint(peer, port), data, false, static_cast<uint32_t>(order)),
			  0);
		sim::run_ready();
	}
	fake::Wire *open(unsigned int index)
	{
		send(port_for(index));
		for (fake::Wire *w : wires()) {
			if (w->path->index != index)
				continue;
			up(*w);
			hello(*w, 8, index);
			catch_up(*w);
			return w;
		}
		return nullptr;
	}
	void catch_up(fake::Wire &w)
	{
		peer_has(w, w.path->next_tx_seq() - 1);
	}
	rds::Flow *flow()
	{
		rds::Flows *all = s->core()->send_flows.load();

		for (auto &b : all->buckets_)
			if (rds::Flow *f = b.front())
				return f;
		return nullptr;
	}
	/* Letters that have left, in the order of paths. */
	std::string gone()
	{
		std::string out;

		for (fake::Wire *w : wires())
			for (const auto &f : fake::frames(w->sent))
				if (!f.data.empty())
					out += static_cast<char>(f.data[0]);
		std::sort(out.begin(), out.end());
		return out;
	}
	uint16_t port = 0;
};

INSTANTIATE_TEST_SUITE_P(Ends, WrapOrder, testing::Values(1u << 31, 0u, 1u));

TEST_P(WrapOrder, NumbersOfAFlow)
{
	fan_out();
	port = port_for(5);

	fake::Wire *home = open(5), *other = open(2);

	ASSERT_TRUE(home && other);
	ASSERT_EQ(rds_socket_set_order(s->core(), 2), 0);
	sim::run_ready();
	ASSERT_EQ(rds_socket_set_order(s->core(), 0), 0);
	say('a', rds::Order::kUnordered);
	/* Others are not up. */
	fake::Wire *const up[] = {wires()[0], home, other};

	for (fake::Wire *w : up) {
		catch_up(*w);
		w->sent.clear();
	}
	ASSERT_NE(flow(), nullptr);

	rds::Flow &f = *flow();

	ASSERT_EQ(f.low.load(), f.next);
	f.next = GetParam() - 3;
	f.low.store(f.next);
	for (char c : {'b', 'c', 'd', 'e', 'f'})
		say(c, rds::Order::kUnordered);
	EXPECT_EQ(gone(), "bcdef");
	EXPECT_EQ(f.low.load(), GetParam() - 3);
	EXPECT_EQ(f.next, GetParam() + 2);
	say('g', rds::Order::kHalf);
	say('h', rds::Order::kOrdered);
	EXPECT_EQ(gone(), "bcdef") << "neither may pass what is away";
	for (fake::Wire *w : up)
		if (w != home)
			catch_up(*w);
	EXPECT_EQ(gone(), "bcdefgh");
	catch_up(*home);
	EXPECT_EQ(f.low.load(), f.next);
	EXPECT_EQ(f.next, GetParam() + 4);
}

} // namespace
