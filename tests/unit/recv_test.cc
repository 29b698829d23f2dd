// SPDX-License-Identifier: GPL-2.0
#include <random>

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::arrive;
using fake::wire;
using host::endpoint;
using host::Socket;
using rds::wire::Header;

/* A path that is up, and a socket behind it. */
class Recv : public SocketTest<0>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(1)), 0);
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
		rds_path_acked(wire().path, wire().sent.size());
		wire().sent.clear();
	}
	rds_path *path()
	{
		return wire().path;
	}
	/* rds_recv_begin() of a header as it is. */
	int begin(const Header &h)
	{
		struct rds_msg *m = nullptr;
		int ret = rds_recv_begin(path(), h.sequence, nullptr, 0, RDS_ATOMIC, &m);

		if (!ret)
			rds_msg_put(m);
		return ret;
	}
	Header header(uint32_t len, uint16_t sport, uint16_t dport, uint8_t flags)
	{
		Header h;

		rds::wire::encode(h, len, sport, dport, flags);
		rds::wire::put64(h.sequence, 1);
		return h;
	}
	std::vector<fake::Frame> sent()
	{
		sim::run_ready();
		return fake::frames(wire().sent);
	}
};

TEST_F(Recv, TakesAMessageToItsSocket)
{
	EXPECT_EQ(arrive(path(), 1, 5000, 4000, pattern(300)), 0);

	auto m = s->recv();

	ASSERT_TRUE(m);
	EXPECT_EQ(m->data, pattern(300));
	EXPECT_EQ(m->info.from.port, 5000);
	EXPECT_EQ(m->info.from.addr.w[1], remote.w[1]);
}

/* The log of the host hears of it once a minute, from each namespace; the counter has them all. */
TEST_F(Recv, NobodyFillsTheLog)
{
	constexpr unsigned int kMany = 100;
	constexpr uint64_t kSecond = 1000ull * 1000 * 1000;
	const unsigned int before = host::logged.load();
	host::Net other({a1});
	auto bad_headers = [](rds_path *p) {
		Header h;

		if (p->state() != rds::PathState::kUp) {
			ASSERT_TRUE(sim::run_until(
				[&] { return p->state() == rds::PathState::kConnecting; },
				3 * kSecond));
			rds_path_connected(p);
			sim::run_ready();
		}
		rds::wire::encode(h, UINT32_MAX, 5000, 4000, 0);
		for (unsigned int i = 0; i < kMany; i++) {
			struct rds_msg *m = nullptr;

			ASSERT_EQ(rds_recv_begin(p, h.sequence, nullptr, 0, RDS_ATOMIC, &m), -71);
		}
	};

	bad_headers(path());
	EXPECT_EQ(host::logged.load(), before + 1);
	sim::run_for(50 * kSecond);
	bad_headers(path());
	EXPECT_EQ(host::logged.load(), before + 1);
	sim::run_for(15 * kSecond);
	bad_headers(path());
	EXPECT_EQ(host::logged.load(), before + 2);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_bad_length), 3 * kMany);
	{
		host::Socket o(other);

		ASSERT_EQ(o.bind(host::endpoint(a1, 4000)), 0);
		ASSERT_EQ(o.send(host::endpoint(remote, 5000), pattern(1)), 0);
		sim::run_ready();
		bad_headers(fake::wires().back()->path);
		EXPECT_EQ(host::logged.load(), before + 3) << "the other's does not speak for it";
	}
}

TEST_F(Recv, RefusesALengthBeyondTheLimitBeforeItAllocates)
{
	size_t before = host::usage().bytes;

	EXPECT_EQ(begin(header(rds::kMaxMessageBytes + 1, 5000, 4000, 0)), -71);
	EXPECT_EQ(begin(header(UINT32_MAX, 5000, 4000, 0)), -71);
	EXPECT_EQ(host::usage().bytes, before);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_bad_length), 2u);
	EXPECT_EQ(begin(header(rds::kMaxMessageBytes, 5000, 4000, 0)), 0);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect close");
	sim::run_for(rds::kFaultPauseNs + 1000 * 1000);
	EXPECT_EQ(wire().history(), "connect close connect");
}

TEST_F(Recv, DropsWhatIsForNobodyOrForAClosedSocket)
{
	EXPECT_EQ(arrive(path(), 1, 5000, 4001, pattern(10)), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_no_sock), 1u);
	s->close();
	EXPECT_EQ(arrive(path(), 2, 5000, 4000, pattern(10)), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_no_sock), 2u);
}

TEST_F(Recv, DropsWhatIsForASocketThatIsJustBeingClosed)
{
	/* Between the two steps of release(): it says that it is dead, then it leaves the table. */
	s->core()->dead.store(true);
	EXPECT_EQ(arrive(path(), 1, 5000, 4000, pattern(10)), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_dead_sock), 1u);
	s->core()->rcv_mem.add(UINT32_MAX); /* full as well: still no reason to wait */
	EXPECT_EQ(arrive(path(), 2, 5000, 4000, pattern(10)), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_dead_sock), 2u);
	s->core()->rcv_mem.sub(UINT32_MAX);
	s->core()->dead.store(false);
}

TEST_F(Recv, SkipsRetransmittedOnesThatDidArrive)
{
	constexpr uint8_t kAgain = rds::wire::kRetransmitted;

	EXPECT_EQ(arrive(path(), 1, 5000, 4000, pattern(1)), 0);
	EXPECT_EQ(arrive(path(), 2, 5000, 4000, pattern(2)), 0);
	EXPECT_EQ(arrive(path(), 1, 5000, 4000, pattern(1), kAgain), RDS_RECV_SKIP);
	EXPECT_EQ(arrive(path(), 2, 5000, 4000, pattern(2), kAgain), RDS_RECV_SKIP);
	EXPECT_EQ(arrive(path(), 3, 5000, 4000, pattern(3), kAgain), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_old_seq), 2u);
	/* A peer that started anew counts from 1 again, without the flag. */
	EXPECT_EQ(arrive(path(), 1, 5000, 4000, pattern(4)), 0);
	for (unsigned int want = 1; want <= 4; want++) {
		auto m = s->recv();

		ASSERT_TRUE(m);
		EXPECT_EQ(m->data, pattern(want));
	}
}

TEST_F(Recv, AnswersPingsButNotWhenTheyAreOff)
{
	EXPECT_EQ(arrive(path(), 1, 5000, 0, {}), RDS_RECV_SKIP);

	auto f = sent();

	ASSERT_EQ(f.size(), 1u);
	EXPECT_EQ(f[0].sport, 0);
	EXPECT_EQ(f[0].dport, 5000);
	EXPECT_EQ(f[0].data.size(), 0u);
	rds_net_tunables(net->core())->ping_enable = 0;
	EXPECT_EQ(arrive(path(), 2, 5000, 0, {}), RDS_RECV_SKIP);
	EXPECT_EQ(sent().size(), 1u);
}

/* Mainline's number theirs, others do not: what is not numbered does not count. */
TEST_F(Recv, WhatHasNoNumberLeavesTheCountAlone)
{
	EXPECT_EQ(arrive(path(), 5, 5000, 4000, pattern(1)), 0);
	ASSERT_EQ(path()->next_rx_seq(), 6u);
	EXPECT_EQ(arrive(path(), 0, 5000, 0, {}), RDS_RECV_SKIP);
	EXPECT_EQ(path()->next_rx_seq(), 6u);
	EXPECT_EQ(arrive(path(), 6, 5000, 0, {}), RDS_RECV_SKIP);
	EXPECT_EQ(path()->next_rx_seq(), 7u);
	EXPECT_EQ(arrive(path(), 5, 5000, 4000, pattern(1), rds::wire::kRetransmitted),
		  RDS_RECV_SKIP);
	EXPECT_TRUE(s->recv());
	EXPECT_FALSE(s->recv());
}

TEST_F(Recv, AnswersAProbeWithItsOwnNumberOfPaths)
{
	Header h = header(0, 1, 0, 0);

	ASSERT_TRUE(rds::wire::ExtWriter(h).npaths(8));
	EXPECT_EQ(begin(h), RDS_RECV_SKIP);
	sim::run_ready();

	Header answer;
	rds::wire::ExtView e;

	ASSERT_EQ(wire().sent.size(), sizeof(answer));
	memcpy(static_cast<void *>(&answer), wire().sent.data(), sizeof(answer));
	EXPECT_EQ(rds::wire::decode(answer).dport, 1);

	rds::wire::ExtReader r(answer);

	ASSERT_TRUE(r.next(e));
	EXPECT_EQ(e.type, rds::wire::Ext::kNpaths);
	EXPECT_EQ(rds::wire::get16(e.data), 1);
}

TEST_F(Recv, BoundsTheAnswersThatWait)
{
	wire().room = 0;
	for (unsigned int i = 0; i < 10 * rds::kMaxPongs; i++)
		arrive(path(), i + 1, 5000, 0, {});
	EXPECT_EQ(net->stat(RDS_S_recv_pong_dropped), 9u * rds::kMaxPongs);
	sim::run_ready();
	wire().room = SIZE_MAX;
	rds_path_writable(path());
	EXPECT_EQ(sent().size(), rds::kMaxPongs);
	/* They went: the next is answered again. */
	rds_path_acked(path(), UINT64_MAX);
	arrive(path(), 7000, 5000, 0, {});
	EXPECT_EQ(sent().size(), rds::kMaxPongs + 1);
}

TEST_F(Recv, GivesPongsToTheSocketThatPinged)
{
	ASSERT_EQ(s->send(endpoint(remote, 0), {}), 0);
	(void)sent();
	wire().sent.clear();
	EXPECT_EQ(arrive(path(), 1, 0, 4000, {}), 0);

	auto m = s->recv();

	ASSERT_TRUE(m);
	EXPECT_EQ(m->info.from.port, 0);
	/* A pong to the probe port is for us. */
	EXPECT_EQ(arrive(path(), 2, 0, 1, {}), RDS_RECV_SKIP);
	EXPECT_EQ(arrive(path(), 3, 0, 0, {}), RDS_RECV_SKIP);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_bad_port), 1u);
	EXPECT_TRUE(sent().empty());
}

/* A program that answers its senders would answer to port 0, which is a ping, and so for ever. */
TEST_F(Recv, APongForNobodyIsDropped)
{
	struct rds_msg *m = nullptr;

	EXPECT_EQ(arrive(path(), 1, 0, 4000, pattern(10)), 0);
	EXPECT_FALSE(s->recv());
	EXPECT_EQ(net->stat(RDS_S_recv_drop_bad_port), 1u);
	/* Nor is one collected of which only the header has come. */
	EXPECT_EQ(rds_recv_begin(path(), header(1000, 0, 4000, 0).sequence, nullptr, 0, RDS_ATOMIC,
				 &m),
		  RDS_RECV_SKIP);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_bad_port), 2u);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_no_sock), 0u);
	EXPECT_EQ(net->stat(RDS_S_recv_ping), 0u);
	EXPECT_EQ(path()->next_rx_seq(), 2u) << "its number was taken";
}

TEST_F(Recv, SkipsCongestionUpdatesOfAWrongLength)
{
	EXPECT_EQ(begin(header(8191, 0, 0, 1)), RDS_RECV_SKIP);
	EXPECT_EQ(begin(header(0, 0, 0, 1)), RDS_RECV_SKIP);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_bad_cong), 2u);
}

/* Its words would be whatever lay in our memory: ports that are not full. */
TEST_F(Recv, AMapThatCannotBeReadEndsTheConnection)
{
	host::Bytes all(rds::kCongMapBytes, 0xff);
	Header h = header(rds::kCongMapBytes, 0, 0, rds::wire::kCongBitmap);
	struct rds_src src = {.data = all.data(), .len = all.size(), .unreadable = true};
	struct rds_msg *m = nullptr;

	ASSERT_EQ(rds_recv_begin(path(), h.sequence, &src, rds::kCongMapBytes, RDS_ATOMIC, &m), 0);
	ASSERT_EQ(rds_payload_append(rds_msg_payload(m), &src, 0, rds::kCongMapBytes, RDS_ATOMIC),
		  0);
	EXPECT_EQ(rds_recv_incoming(path(), m), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_bad_cong), 1u);
	EXPECT_EQ(net->stat(RDS_S_cong_update_received), 0u);
	EXPECT_FALSE(path()->conn.fcong->test(5000));
	sim::run_ready();
	EXPECT_EQ(path()->last_reason.load(), static_cast<uint32_t>(RDS_DROP_PROTOCOL));
}

TEST_F(Recv, CountsUnknownFlagsAndTakesTheMessage)
{
	EXPECT_EQ(arrive(path(), 1, 5000, 4000, pattern(5), 0xc0), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_bad_flags), 1u);
	EXPECT_TRUE(s->recv());
}

TEST_F(Recv, IgnoresExtensionHeadersOfAnotherTransport)
{
	Header h = header(0, 5000, 4000, 0);
	struct rds_msg *m;

	h.ext[0] = static_cast<uint8_t>(rds::wire::Ext::kRdmaDest);
	ASSERT_EQ(rds_recv_begin(path(), h.sequence, nullptr, 0, RDS_ATOMIC, &m), 0);
	EXPECT_EQ(rds_recv_incoming(path(), m), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_foreign_exthdr), 1u);
	EXPECT_TRUE(s->recv());
	h.ext[0] = 200;
	ASSERT_EQ(rds_recv_begin(path(), h.sequence, nullptr, 0, RDS_ATOMIC, &m), 0);
	EXPECT_EQ(rds_recv_incoming(path(), m), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_bad_exthdr), 1u);
	EXPECT_TRUE(s->recv());
}

TEST_F(Recv, SaysSoWithoutMemoryAndTakesTheSameHeaderAgain)
{
	sim::fail_nth(1);
	EXPECT_EQ(arrive(path(), 1, 5000, 4000, pattern(300)), -12);
	EXPECT_EQ(net->stat(RDS_S_recv_no_memory), 1u);
	sim::fail_nth(2);
	EXPECT_EQ(arrive(path(), 1, 5000, 4000, pattern(300)), -12);
	EXPECT_EQ(arrive(path(), 1, 5000, 4000, pattern(300)), 0);
	EXPECT_TRUE(s->recv());
}

TEST_F(Recv, KeepsAMapItHasNoMemoryFor)
{
	host::Bytes map(8192);
	Header h = header(8192, 0, 0, 1);
	struct rds_src src = {map.data(), map.size()};
	struct rds_msg *m;
	const auto to = endpoint(remote, 5000);

	map[5000 / 8] = 1 << (5000 % 8);
	ASSERT_EQ(rds_recv_begin(path(), h.sequence, &src, static_cast<uint32_t>(src.len),
				 RDS_ATOMIC, &m),
		  0);
	ASSERT_EQ(rds_payload_append(rds_msg_payload(m), &src, 0, 8192, RDS_ATOMIC), 0);
	sim::fail_nth(1);
	EXPECT_EQ(rds_recv_incoming(path(), m), -11);
	EXPECT_FALSE(rds_socket_congested(s->core(), &to));
	EXPECT_EQ(rds_recv_incoming(path(), m), 0);
	EXPECT_TRUE(rds_socket_congested(s->core(), &to));
}

TEST_F(Recv, StopsBeyondTheHardLimitAndTakesTheSameMessageLater)
{
	uint64_t seq = 1;
	int ret;

	s->sock().rcvbuf = 1000;
	while (!(ret = arrive(path(), seq, 5000, 4000, pattern(500)))) {
		seq++;
		ASSERT_LT(seq, 1000u) << "nothing bounds the receive queue";
	}
	EXPECT_EQ(ret, -11);
	EXPECT_EQ(net->stat(RDS_S_recv_sock_full), 1u);
	EXPECT_EQ(path()->next_rx_seq(), seq) << "it may come again, with this number";
	while (s->recv())
		;
	EXPECT_EQ(arrive(path(), seq, 5000, 4000, pattern(500)), 0);
}

/* A message that nobody waits for is not collected: its bytes are read over, and that is all. */
TEST_F(Recv, BeginsNothingForAPortThatNobodyHas)
{
	Header h = header(rds::kMaxMessageBytes, 5000, 4001, 0);
	struct rds_src src = {h.sequence, 1};
	struct rds_msg *m = nullptr;

	ASSERT_EQ(rds_recv_begin(path(), h.sequence, nullptr, 0, RDS_ATOMIC, &m), RDS_RECV_SKIP);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_no_sock), 1u);
	EXPECT_EQ(path()->next_rx_seq(), 2u);
	rds::wire::put64(h.sequence, 2);
	ASSERT_EQ(rds_recv_begin(path(), h.sequence, &src, 1, RDS_ATOMIC, &m), RDS_RECV_SKIP);
	EXPECT_EQ(path()->next_rx_seq(), 3u);
	/* All of it is here already: found out when it is delivered. */
	rds::wire::put64(h.sequence, 3);
	ASSERT_EQ(rds_recv_begin(path(), h.sequence, &src, rds::kMaxMessageBytes, RDS_ATOMIC, &m),
		  0);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_no_sock), 2u);
	rds_msg_put(m);
}

TEST_F(Recv, AMapIsNobodysPort)
{
	EXPECT_EQ(begin(header(8192, 0, 0, 1)), 0);
}

TEST_F(Recv, MemoryFollowsWhatCame)
{
	Header h = header(rds::kMaxMessageBytes, 5000, 4000, 0);
	host::Bytes some(100);
	struct rds_src src = {some.data(), some.size()};
	struct rds_msg *m = nullptr;
	const uint64_t before = host::usage().bytes;

	ASSERT_EQ(rds_recv_begin(path(), h.sequence, nullptr, 0, RDS_ATOMIC, &m), 0);
	EXPECT_LT(host::usage().bytes - before, 1000u);
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(rds_payload_append(rds_msg_payload(m), &src, 0, 100, RDS_ATOMIC), 0);
	EXPECT_LT(host::usage().bytes - before, 2 * 10000u + 1000);
	rds_msg_put(m);
}

/* Any 48 bytes: no crash, no leak, nothing allocated beyond the limit. */
TEST_F(Recv, SurvivesAnyHeader)
{
	std::mt19937 rng(5);
	const host::Bytes zeros(rds::kMaxMessageBytes);
	struct rds_src src = {zeros.data(), zeros.size()};

	for (int i = 0; i < 30000; i++) {
		Header h;
		auto *b = reinterpret_cast<unsigned char *>(&h);
		struct rds_msg *m = nullptr;

		for (size_t k = 0; k < sizeof(h); k++)
			b[k] = static_cast<unsigned char>(rng() % 3 ? rng() : 0);
		if (rng() % 4)
			rds::wire::put32(h.len, rng() % 64);
		if (rds_recv_begin(path(), b, &src, rng() % 5000, RDS_ATOMIC, &m))
			continue;
		if (rds_msg_len(m)) {
			ASSERT_EQ(rds_payload_append(rds_msg_payload(m), &src, 0, rds_msg_len(m),
						     RDS_ATOMIC),
				  0);
		}
		if (rds_recv_incoming(path(), m))
			rds_msg_put(m);
		while (s->recv())
			;
	}
	sim::run_ready();
}

/* A map is a map by its flag; by its length alone nothing is. */
TEST_F(Recv, AMessageMayBeAsLongAsAMap)
{
	EXPECT_EQ(arrive(path(), 1, 5000, 4000, pattern(rds::kCongMapBytes)), 0);

	auto m = s->recv();

	ASSERT_TRUE(m);
	EXPECT_EQ(m->data, pattern(rds::kCongMapBytes));
}

/* One that has not said that it acknowledges says nothing with a frame of no port. */
TEST_F(Recv, ControlOfAPlainPeerIsThrownAway)
{
	Header h;

	rds::wire::encode_control(h);
	EXPECT_EQ(arrive(path(), 1, 5000, 4000, pattern(1)), 0);
	EXPECT_EQ(arrive(path(), h), RDS_RECV_SKIP);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_bad_port), 1u);
	EXPECT_EQ(net->stat(RDS_S_recv_ack_only), 0u);
}

} // namespace
