// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/socket/socket.h"

namespace
{

using host::endpoint;
using host::Socket;

/* Two sockets of one host: messages go over loopback. */
class SocketRecv : public CoreTest
{
protected:
	void SetUp() override
	{
		CoreTest::SetUp();
		s = std::make_unique<Socket>(*net);
		r = std::make_unique<Socket>(*net);
		ASSERT_EQ(s->bind(from), 0);
		ASSERT_EQ(r->bind(to), 0);
	}
	void TearDown() override
	{
		s.reset();
		r.reset();
		CoreTest::TearDown();
	}
	void send(const host::Bytes &data)
	{
		ASSERT_EQ(s->send(to, data), 0);
		sim::run_ready();
	}
	std::unique_ptr<Socket> s, r;
	const struct rds_endpoint from = endpoint(host::addr4(1), 4000);
	const struct rds_endpoint to = endpoint(host::addr4(2), 5000);
};

TEST_F(SocketRecv, DeliversInOrderWithTheSendersName)
{
	for (unsigned int i = 0; i < 10; i++)
		send(pattern(i * 50, i));
	for (unsigned int i = 0; i < 10; i++) {
		auto m = r->recv();

		ASSERT_TRUE(m);
		EXPECT_EQ(m->data, pattern(i * 50, i));
		EXPECT_EQ(m->info.from.port, 4000);
		EXPECT_EQ(m->info.from.addr.w[1], a1.w[1]);
	}
	EXPECT_FALSE(r->recv());
	EXPECT_EQ(net->stat(RDS_S_recv_delivered), 10u);
}

/* Received messages are paid for in whole steps, and no step too many. */
TEST_F(SocketRecv, AStepThatIsFullIsPaidOnce)
{
	Socket other(*net);

	ASSERT_EQ(other.bind(endpoint(a2, 5001)), 0);
	send(pattern(1000));

	auto beside = static_cast<uint32_t>(r->core()->rcv_mem.used()) - 1000;

	ASSERT_EQ(s->send(endpoint(a2, 5001), pattern(rds::kPayStep - beside)), 0);
	sim::run_ready();
	ASSERT_EQ(other.core()->rcv_mem.used(), rds::kPayStep);
	EXPECT_EQ(other.sock().charged.load(), rds::kPayStep);
}

TEST_F(SocketRecv, WakesOnceFromEmptyToNonEmpty)
{
	send(pattern(1));
	send(pattern(1));
	EXPECT_EQ(r->sock().woken_read.load(), 1u);
	while (r->recv())
		;
	send(pattern(1));
	EXPECT_EQ(r->sock().woken_read.load(), 2u);
}

TEST_F(SocketRecv, IsReadableUntilAllIsRead)
{
	EXPECT_FALSE(r->readable());
	send(pattern(1));
	send(pattern(2));
	EXPECT_TRUE(r->readable());
	EXPECT_TRUE(rds_socket_poll(r->core()) & RDS_POLL_IN);
	EXPECT_TRUE(r->recv());
	EXPECT_TRUE(r->readable());
	EXPECT_TRUE(r->recv());
	EXPECT_FALSE(r->readable());
}

TEST_F(SocketRecv, LosesNothingWhenTheCopyFaults)
{
	struct rds_recv_info info;
	host::Bytes buf(100);
	struct rds_uio bad = {buf.data(), buf.size(), 0, 50};

	send(pattern(100, 3));
	ASSERT_EQ(rds_recv_lock(r->core()), 0);

	struct rds_msg *m = rds_recv_head(r->core(), &info);

	ASSERT_NE(m, nullptr);
	EXPECT_EQ(rds_recv_copy(r->core(), m, 100, &bad), -14);
	rds_recv_unlock(r->core());

	auto got = r->recv();

	ASSERT_TRUE(got);
	EXPECT_EQ(got->data, pattern(100, 3));
}

/* One recvmsg may return many: the oldest message, and those behind it of the same sender. */
class RecvNext : public SocketRecv
{
protected:
	/* The lengths; they are taken when all have been looked at. */
	std::vector<uint32_t> together()
	{
		std::vector<uint32_t> lengths;
		struct rds_recv_info info;

		EXPECT_EQ(rds_recv_lock(r->core()), 0);
		for (struct rds_msg *m = rds_recv_head(r->core(), &info); m;
		     m = rds_recv_next(r->core(), m, &info)) {
			lengths.push_back(info.len);
			between();
		}
		rds_recv_pop(r->core(), static_cast<unsigned int>(lengths.size()));
		rds_recv_unlock(r->core());
		return lengths;
	}
	void send_from(Socket &sock, size_t length)
	{
		ASSERT_EQ(sock.send(to, pattern(length)), 0);
		sim::run_ready();
	}
	using Lengths = std::vector<uint32_t>;

	std::function<void()> between = [] {};
};

TEST_F(RecvNext, AllThatThereIs)
{
	EXPECT_EQ(together(), Lengths());
	for (size_t length : {3, 0, 7})
		send_from(*s, length);
	EXPECT_EQ(together(), Lengths({3, 0, 7}));
	EXPECT_EQ(together(), Lengths());
	EXPECT_FALSE(r->readable());
	EXPECT_EQ(r->core()->rcv_bytes.load(), 0u);
}

TEST_F(RecvNext, WhatComesMeanwhile)
{
	unsigned int more = 2;

	between = [&] {
		if (more && more--)
			send_from(*s, 10 + more);
	};
	send_from(*s, 1);
	EXPECT_EQ(together(), Lengths({1, 11, 10}));
}

TEST_F(RecvNext, NotOfAnotherPort)
{
	Socket other(*net);

	ASSERT_EQ(other.bind(endpoint(host::addr4(1), 4001)), 0);
	send_from(*s, 1);
	send_from(other, 2);
	send_from(*s, 3);
	EXPECT_EQ(together(), Lengths({1}));
	EXPECT_EQ(together(), Lengths({2}));
	EXPECT_EQ(together(), Lengths({3}));
}

TEST_F(RecvNext, NotOfAnotherAddress)
{
	Socket other(*net);

	ASSERT_EQ(other.bind(endpoint(host::addr4(2), 4000)), 0);
	send_from(*s, 1);
	send_from(other, 2);
	EXPECT_EQ(together(), Lengths({1}));
	EXPECT_EQ(together(), Lengths({2}));
}

TEST_F(RecvNext, NotOfAnotherTypeOfServiceOrInterface)
{
	struct rds_recv_info info;

	for (size_t length : {1, 2, 3})
		send_from(*s, length);
	ASSERT_EQ(rds_recv_lock(r->core()), 0);

	struct rds_msg *first = rds_recv_head(r->core(), &info);
	struct rds_msg *second = rds_recv_next(r->core(), first, &info);

	ASSERT_NE(second, nullptr);
	second->tos = 1;
	EXPECT_EQ(rds_recv_next(r->core(), first, &info), nullptr);
	EXPECT_EQ(rds_recv_next(r->core(), second, &info), nullptr);
	second->tos = 0;
	second->scope = 1;
	EXPECT_EQ(rds_recv_next(r->core(), first, &info), nullptr);
	second->scope = 0;
	EXPECT_EQ(rds_recv_next(r->core(), first, &info), second);
	rds_recv_unlock(r->core());
	while (r->recv())
		;
}

TEST_F(SocketRecv, CongestsAboveTheLimitAndClearsBelowHalf)
{
	r->sock().rcvbuf = 1000;
	for (int i = 0; i < 10; i++)
		send(pattern(100));
	EXPECT_FALSE(rds_socket_congested(s->core(), &to));
	send(pattern(1));
	EXPECT_TRUE(rds_socket_congested(s->core(), &to));
	EXPECT_EQ(s->send(to, pattern(1)), -105);
	for (int i = 0; i < 5; i++)
		EXPECT_TRUE(r->recv());
	EXPECT_TRUE(rds_socket_congested(s->core(), &to));
	EXPECT_EQ(s->sock().woken_cong.load(), 0u);
	EXPECT_TRUE(r->recv());
	EXPECT_FALSE(rds_socket_congested(s->core(), &to));
	EXPECT_EQ(s->sock().woken_cong.load(), 1u);
	EXPECT_EQ(s->send(to, pattern(1)), 0);
}

TEST_F(SocketRecv, BoundsMessagesWithoutBytes)
{
	unsigned int n = 0;

	r->sock().rcvbuf = 1000;
	while (n < 100000 && s->send(to, {}) == 0) {
		sim::run_ready();
		n++;
	}
	EXPECT_LT(n, 1000u);
	EXPECT_EQ(s->send(to, {}), -105);
}

/* Ports of one namespace that share a map word, and the monitor's mask of ports modulo 64. */
TEST_F(SocketRecv, MonitorsHearOfTheirPortsOnly)
{
	Socket mon(*net), deaf(*net);

	rds_socket_set_cong_monitor(mon.core(), 1, 1ull << (5000 % 64));
	rds_socket_set_cong_monitor(deaf.core(), 1, 1ull << (5001 % 64));
	r->sock().rcvbuf = 100;
	send(pattern(200));
	EXPECT_EQ(s->send(to, pattern(1)), -105);
	EXPECT_TRUE(r->recv());
	EXPECT_EQ(rds_socket_cong_notice(mon.core()), 1ull << (5000 % 64));
	EXPECT_EQ(rds_socket_cong_notice(deaf.core()), 0u);
	EXPECT_TRUE(mon.readable());
	EXPECT_EQ(mon.sock().woken_read.load(), 1u);
	rds_socket_cong_notice_done(mon.core(), ~0ull);
	EXPECT_FALSE(mon.readable());
}

TEST_F(SocketRecv, CloseDropsWhatWasNotReadAndClearsThePort)
{
	r->sock().rcvbuf = 100;
	send(pattern(200));
	EXPECT_EQ(s->send(to, pattern(1)), -105);
	r.reset();
	EXPECT_EQ(s->sock().woken_cong.load(), 1u);
	EXPECT_FALSE(rds_socket_congested(s->core(), &to));
	EXPECT_EQ(s->send(to, pattern(1)), 0);
	sim::run_ready();
	EXPECT_EQ(net->stat(RDS_S_recv_drop_no_sock), 1u);
}

TEST_F(SocketRecv, StampsWhenAsked)
{
	send(pattern(1));
	r->sock().stamps = true;
	rds_socket_set_trace(r->core(), 1);
	send(pattern(1));

	auto plain = r->recv(), stamped = r->recv();

	ASSERT_TRUE(plain && stamped);
	EXPECT_EQ(plain->info.stamp_ns, 0u);
	EXPECT_NE(stamped->info.stamp_ns, 0u);
	EXPECT_EQ(plain->info.trace_ns[2], 0u);
	EXPECT_NE(stamped->info.trace_ns[2], 0u);
}

/* Link-local addresses mean something on one interface: an answer has to go out where it came in.
 */
TEST_F(SocketRecv, FromIsWhoSentIt)
{
	const struct rds_addr there = {{0x80fe, 9ull << 56}}; /* fe80::9, as it lies in memory */
	Socket here(*net);

	ASSERT_EQ(here.bind(endpoint(a1, 4001)), 0);
	ASSERT_EQ(here.send(endpoint(there, 6000, 3), {}), 0);
	sim::run_ready();
	ASSERT_EQ(rds_path_scope(fake::wire().path), 3u);
	rds_path_connected(fake::wire().path);
	sim::run_ready();
	ASSERT_EQ(fake::arrive(fake::wire().path, 1, 6000, 4001, pattern(7)), 0);

	auto r = here.recv();

	ASSERT_TRUE(r);
	EXPECT_EQ(r->info.from.scope, 3u);
	EXPECT_EQ(r->info.from.port, 6000);
	EXPECT_EQ(r->info.len, 7u);
	EXPECT_EQ(r->info.from.addr.w[0], there.w[0]);
	EXPECT_EQ(r->info.from.addr.w[1], there.w[1]);
}

/* A sender that ignores congestion: the path waits, nothing is lost, memory stays bounded. */
TEST_F(SocketRecv, HoldsThePathBeyondTheHardLimit)
{
	std::vector<std::unique_ptr<Socket>> senders;
	unsigned int sent = 0, got = 0;

	r->sock().rcvbuf = 1000;
	/* Everybody is let in before anybody knows: queued while the path is still down. */
	for (unsigned int i = 0; i < 100; i++) {
		senders.push_back(std::make_unique<Socket>(*net));
		ASSERT_EQ(senders.back()->bind(endpoint(a1, static_cast<uint16_t>(100 + i))), 0);
		ASSERT_EQ(senders.back()->send(to, pattern(4000, i)), 0);
		sent++;
	}
	sim::run_ready();
	EXPECT_GT(net->stat(RDS_S_recv_sock_full), 0u);
	EXPECT_LT(net->stat(RDS_S_recv_bytes_added_to_sock), 40000u);
	for (int round = 0; round < 200 && got < sent; round++) {
		while (auto m = r->recv())
			EXPECT_EQ(m->data, pattern(4000, got++));
		sim::run_for(10 * 1000 * 1000);
	}
	EXPECT_EQ(got, sent);
}

/* Reader and deliverer against each other: the bit never stays set over an empty queue. */
TEST_F(SocketRecv, CongestionNeverSticks)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		unsigned int got = 0, sent = 0;

		sim::options().preempt_per_1000 = 200;
		r->sock().rcvbuf = 300;
		sim::spawn("writer", [&] {
			while (sent < 60) {
				int ret = s->send(to, pattern(100, sent));

				if (ret == -105) {
					sim::wait_until([&] {
						return !rds_socket_congested(s->core(), &to);
					});
					continue;
				}
				ASSERT_TRUE(ret == 0) << ret;
				sent++;
			}
		});
		sim::spawn("reader", [&] {
			while (got < 60) {
				sim::wait_until([&] { return r->readable(); });

				auto m = r->recv();

				if (m) {
					EXPECT_EQ(m->data, pattern(100, got++));
				}
			}
		});
		sim::run_ready();
		ASSERT_EQ(sent, 60u) << "seed " << seed << ": the writer hangs";
		ASSERT_EQ(got, 60u);
		ASSERT_FALSE(rds_socket_congested(s->core(), &to));
	}
}

} // namespace
