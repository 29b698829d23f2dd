// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using host::endpoint;
using host::Socket;

/* Stands before loopback's xmit(), which the messages go through that are queued. */
struct Wiretap {
	long (*real)(void *tp, const struct rds_xmit *x) = nullptr;
	unsigned int messages = 0;
	bool no_room = false;
	std::function<void()> meanwhile; /* once, while a batch is with the transport */
} tap;

long tapped(void *tp, const struct rds_xmit *x)
{
	if (tap.no_room)
		return -rds::err::kEagain;
	if (auto fn = std::exchange(tap.meanwhile, nullptr))
		fn();
	tap.messages += x->n;
	return tap.real(tp, x);
}

/* From @s to @r of the same host, over a path that is up. */
class AtOnce : public CoreTest
{
protected:
	void SetUp() override
	{
		CoreTest::SetUp();
		tap = Wiretap();
		tap.real = loop->xmit;
		table().xmit = tapped;
		s = std::make_unique<Socket>(*net);
		r = std::make_unique<Socket>(*net);
		ASSERT_EQ(s->bind(endpoint(a1, 4000)), 0);
		ASSERT_EQ(r->bind(at_r), 0);
		ASSERT_EQ(s->send(at_r, pattern(10, 100)), 0);
		sim::run_ready();
		ASSERT_EQ(next(), pattern(10, 100));
		tap.messages = 0;
	}
	void TearDown() override
	{
		table().xmit = tap.real;
		s.reset();
		r.reset();
		CoreTest::TearDown();
	}
	struct rds_transport &table()
	{
		return const_cast<struct rds_transport &>(*loop);
	}
	/* The end whose address is @laddr. */
	rds::Path &end_at(const struct rds_addr &laddr)
	{
		rds::Conn *found = nullptr;

		net->core()->conns.for_each([&](rds::Conn &c) {
			if (rds::same_addr(c.laddr, laddr))
				found = &c;
		});
		return found->first();
	}
	/* The message that @r has; nothing runs before that. */
	std::vector<unsigned char> next()
	{
		auto m = r->recv();

		return m ? m->data : std::vector<unsigned char>();
	}
	bool all_given_back()
	{
		return s->core()->snd_space.empty();
	}

	const struct rds_endpoint at_r = endpoint(a2, 5000);
	std::unique_ptr<Socket> s, r;
};

TEST_F(AtOnce, AMessageGetsThereInItsSendersCall)
{
	const uint64_t number = end_at(a1).next_tx_seq();
	const uint64_t queued = net->stat(RDS_S_send_queued), came = net->stat(RDS_S_recv_queued);
	const uint64_t bytes = net->stat(RDS_S_recv_bytes_added_to_sock);

	ASSERT_EQ(s->send(at_r, pattern(20)), 0);
	EXPECT_EQ(tap.messages, 0u);
	EXPECT_TRUE(all_given_back());
	EXPECT_EQ(end_at(a1).next_tx_seq(), number + 1);
	EXPECT_EQ(end_at(a2).next_rx_seq(), number + 1);
	EXPECT_EQ(net->stat(RDS_S_send_queued), queued + 1);
	EXPECT_EQ(net->stat(RDS_S_recv_queued), came + 1);
	EXPECT_EQ(net->stat(RDS_S_recv_bytes_added_to_sock), bytes + 20);

	auto m = r->recv();

	ASSERT_TRUE(m);
	EXPECT_EQ(m->data, pattern(20));
	EXPECT_TRUE(rds::same_addr(m->info.from.addr, a1));
	EXPECT_EQ(m->info.from.port, 4000);
	EXPECT_EQ(m->info.from.scope, 0u);
}

/* The header says what it said on the queue: RDS_INFO_RECV_MESSAGES shows it. */
TEST_F(AtOnce, ItHasTheNextNumber)
{
	std::vector<uint64_t> numbers;
	const uint64_t number = end_at(a1).next_tx_seq();

	ASSERT_EQ(s->send(at_r, pattern(1)), 0);
	ASSERT_EQ(s->send(at_r, pattern(2)), 0);
	host::info_messages(
		net->core(), RDS_QUEUE_RECV,
		[](void *arg, const struct rds_msg_info *i) {
			static_cast<std::vector<uint64_t> *>(arg)->push_back(i->seq);
		},
		&numbers);
	EXPECT_EQ(numbers, (std::vector<uint64_t>{number, number + 1}));
	while (r->recv())
		;
}

/* As the reader that sleeps on an empty queue is woken, and no other. */
TEST_F(AtOnce, TheReaderIsWokenOnce)
{
	const uint32_t woken = r->sock().woken_read.load();

	ASSERT_EQ(s->send(at_r, pattern(1)), 0);
	EXPECT_EQ(r->sock().woken_read.load(), woken + 1);
	ASSERT_EQ(s->send(at_r, pattern(2)), 0);
	EXPECT_EQ(r->sock().woken_read.load(), woken + 1);
	while (r->recv())
		;
}

/* Its message is made, and another sender finds no room before it is sent. */
TEST_F(AtOnce, ASenderThatWaitsForRoomIsWoken)
{
	auto data = pattern(20);
	struct rds_uio from = {.base = data.data(), .len = data.size()};
	struct rds_msg *m = nullptr;
	const uint32_t woken = s->sock().woken_write.load();

	s->sock().sndbuf = 10;
	ASSERT_EQ(rds_msg_create(s->core(), &at_r, 20, &from, 0, 0, &m), 0);
	EXPECT_FALSE(rds_socket_writable(s->core()));
	ASSERT_EQ(rds_socket_send(s->core(), &at_r, m, 0), 0);
	EXPECT_EQ(tap.messages, 0u);
	EXPECT_EQ(s->sock().woken_write.load(), woken + 1);
	EXPECT_TRUE(rds_socket_writable(s->core()));
	EXPECT_EQ(next(), pattern(20));
}

/* Loopback to oneself: one path is both ends. */
TEST_F(AtOnce, ToItself)
{
	const struct rds_endpoint self = endpoint(a1, 4000);

	ASSERT_EQ(s->send(self, pattern(1)), 0);
	sim::run_ready();
	ASSERT_TRUE(s->recv());
	tap.messages = 0;
	ASSERT_EQ(s->send(self, pattern(2)), 0);
	EXPECT_EQ(tap.messages, 0u);
	EXPECT_EQ(s->recv()->data, pattern(2));
}

/* ---- what is queued ---- */

/* A path that is down has no other end, and what it had may be gone. */
TEST_F(AtOnce, NotOverAPathThatIsDown)
{
	rds_transport_net_reset(net->core(), loop);
	sim::run_ready();
	ASSERT_EQ(end_at(a1).state(), rds::PathState::kDown);
	ASSERT_EQ(s->send(at_r, pattern(1)), 0);
	EXPECT_FALSE(r->readable());
	sim::run_ready();
	EXPECT_EQ(tap.messages, 1u);
	EXPECT_EQ(next(), pattern(1));
	ASSERT_EQ(s->send(at_r, pattern(2)), 0);
	EXPECT_EQ(tap.messages, 1u);
	EXPECT_EQ(next(), pattern(2));
}

/* The transport has a batch, and no lock is held meanwhile. */
TEST_F(AtOnce, NotPastABatchThatIsUnderWay)
{
	tap.meanwhile = [&] {
		ASSERT_EQ(s->send(at_r, pattern(1)), 0);
		EXPECT_FALSE(r->readable());
	};
	ASSERT_EQ(s->send(endpoint(a2, rds::kPingPort), {}), 0);
	EXPECT_EQ(next(), pattern(1));
	sim::run_ready();
	EXPECT_TRUE(s->recv()) << "the answer to the ping";
}

TEST_F(AtOnce, NotPastWhatIsQueued)
{
	tap.no_room = true;
	ASSERT_EQ(s->send(endpoint(a2, rds::kPingPort), {}), 0);
	ASSERT_EQ(s->send(at_r, pattern(1)), 0);
	sim::run_ready();
	EXPECT_FALSE(r->readable());
	tap.no_room = false;
	ASSERT_EQ(s->send(at_r, pattern(2)), 0);
	EXPECT_FALSE(r->readable());
	rds_path_writable(&end_at(a1));
	sim::run_ready();
	EXPECT_EQ(next(), pattern(1));
	EXPECT_EQ(next(), pattern(2));
	EXPECT_TRUE(s->recv()) << "the answer to the ping";
}

/* A message that was refused has stepped aside: its queue is empty, but its port is not clear. */
TEST_F(AtOnce, NotPastWhatWaitsForItsPort)
{
	ASSERT_EQ(s->send(at_r, pattern(1000, 1)), 0);
	r->sock().rcvbuf = 30;
	ASSERT_EQ(s->send(at_r, pattern(10, 2)), 0);
	sim::run_ready();
	EXPECT_EQ(net->stat(RDS_S_recv_sock_full), 1u);
	EXPECT_FALSE(all_given_back());
	EXPECT_EQ(next(), pattern(1000, 1));
	/* The port is clear, and what waits for it does not know yet. */
	ASSERT_EQ(s->send(at_r, pattern(10, 3)), 0);
	sim::run_ready();
	EXPECT_EQ(next(), pattern(10, 2));
	sim::run_ready();
	EXPECT_EQ(next(), pattern(10, 3));
	EXPECT_TRUE(all_given_back());
}

/* A full receiver refuses as ever, and says that it is full. */
TEST_F(AtOnce, NotToAFullReceiver)
{
	ASSERT_EQ(s->send(at_r, pattern(1000, 1)), 0);
	r->sock().rcvbuf = 30;
	ASSERT_EQ(s->send(at_r, pattern(10, 2)), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_sock_full), 1u);
	EXPECT_TRUE(rds_socket_congested(s->core(), &at_r));
	EXPECT_EQ(next(), pattern(1000, 1));
	EXPECT_FALSE(r->readable());
	sim::run_ready();
	EXPECT_EQ(next(), pattern(10, 2));
}

TEST_F(AtOnce, APortThatFillsIsCongestedAtOnce)
{
	r->sock().rcvbuf = 1000;
	ASSERT_EQ(s->send(at_r, pattern(600, 1)), 0);
	EXPECT_FALSE(rds_socket_congested(s->core(), &at_r));
	ASSERT_EQ(s->send(at_r, pattern(600, 2)), 0);
	EXPECT_TRUE(rds_socket_congested(s->core(), &at_r));
	EXPECT_EQ(s->send(at_r, pattern(1)), -105);
	EXPECT_EQ(tap.messages, 0u);
	EXPECT_EQ(next(), pattern(600, 1));
	EXPECT_EQ(next(), pattern(600, 2));
}

/* Other hosts hear of it, too. */
TEST_F(AtOnce, APortThatFillsIsToldToPeers)
{
	bool told = false;

	ASSERT_EQ(r->send(endpoint(remote, 1), pattern(1)), 0);
	sim::run_ready();
	rds_path_connected(fake::wire().path);
	sim::run_ready();
	r->sock().rcvbuf = 1000;
	ASSERT_EQ(s->send(at_r, pattern(600, 1)), 0);
	ASSERT_EQ(s->send(at_r, pattern(600, 2)), 0);
	sim::run_for(2 * rds::kMapPauseNs + 1000 * 1000);
	for (const auto &f : fake::frames(fake::wire().sent))
		if (f.flags == rds::wire::kCongBitmap)
			told = f.data[5000 / 8] >> (5000 % 8) & 1;
	EXPECT_TRUE(told);
	while (r->recv())
		;
}

/* The connection takes no message that has not called its end off. */
TEST_F(AtOnce, NotOverAConnectionThatEnds)
{
	rds::Conn &c = end_at(a1).conn;

	c.life.hand_over(rds::Care::kIdle);
	ASSERT_TRUE(c.life.take());
	c.life.retire();
	ASSERT_EQ(s->send(at_r, pattern(1)), 0);
	EXPECT_TRUE(c.life.is_looked_after());
	EXPECT_EQ(tap.messages, 1u);
	c.life.give_back();
	EXPECT_EQ(next(), pattern(1));
}

TEST_F(AtOnce, NotToASocketThatWasReleased)
{
	const uint64_t number = end_at(a1).next_tx_seq();

	/* It is on its way out of the table. */
	r->core()->dead.store(true);
	ASSERT_EQ(s->send(at_r, pattern(1)), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_dead_sock), 1u);
	EXPECT_TRUE(all_given_back());
	EXPECT_EQ(end_at(a1).next_tx_seq(), number + 1);
	r->core()->dead.store(false);
	EXPECT_FALSE(r->readable());
}

TEST_F(AtOnce, NotToAPortThatIsNobodys)
{
	ASSERT_EQ(s->send(endpoint(a2, 1), pattern(1)), 0);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_no_sock), 1u);
	EXPECT_EQ(tap.messages, 1u);
	EXPECT_TRUE(all_given_back());
}

/* The owner of lent pages is told when they come back. */
TEST_F(AtOnce, NotWithLentPages)
{
	uint32_t cookie = 0;

	ASSERT_EQ(s->send_zcopy(at_r, pattern(5000), 7), 0);
	EXPECT_EQ(tap.messages, 1u);
	ASSERT_EQ(rds_socket_zcopy(s->core(), &cookie, 1), 1u);
	EXPECT_EQ(cookie, 7u);
	rds_socket_zcopy_done(s->core(), 1);
	EXPECT_EQ(next(), pattern(5000));
}

/* A socket with hints counts its messages by their order, which its flows know. */
TEST_F(AtOnce, NotOfASocketWithOrderingHints)
{
	ASSERT_EQ(rds_socket_set_order(s->core(), 2), 0);
	ASSERT_EQ(s->send(at_r, pattern(1)), 0);
	EXPECT_EQ(tap.messages, 1u);
	EXPECT_EQ(next(), pattern(1));
}

/* The other end keeps the numbers that came, and that they came for a socket. */
TEST_F(AtOnce, TheOtherEndIsNoStranger)
{
	EXPECT_TRUE(end_at(a2).reached.load());
	end_at(a2).reached.store(false);
	ASSERT_EQ(s->send(at_r, pattern(1)), 0);
	EXPECT_TRUE(end_at(a2).reached.load());
	EXPECT_EQ(next(), pattern(1));
}

/* Arrival is stamped, and traced, as over the queue. */
TEST_F(AtOnce, ItSaysWhenItCame)
{
	r->sock().stamps = true;
	ASSERT_EQ(s->send(at_r, pattern(1)), 0);

	auto m = r->recv();

	ASSERT_TRUE(m);
	EXPECT_NE(m->info.stamp_ns, 0u);
	EXPECT_EQ(m->info.trace_ns[2], 0u);
	net->core()->trace_users.fetch_add(1);
	ASSERT_EQ(s->send(at_r, pattern(1)), 0);
	net->core()->trace_users.fetch_sub(1);
	EXPECT_NE(r->recv()->info.trace_ns[2], 0u);
}

class AtOnceByName : public AtOnce
{
protected:
	/* From @own to a link-local address of the same host, twice: the first makes the
	 * connection, the second is delivered at once.  The sender's interface is @told. */
	void comes_from(const struct rds_addr &own, uint32_t scope, uint32_t told)
	{
		const struct rds_addr local = {.w = {0x80fe, 1}};
		host::Net net6(std::vector<struct rds_addr>{local, own});
		Socket from(net6), to(net6);

		ASSERT_EQ(from.bind({.addr = own, .scope = scope, .port = 4006}), 0);
		ASSERT_EQ(to.bind({.addr = local, .scope = 3, .port = 5006}), 0);
		for (unsigned int i = 0; i < 2; i++) {
			tap.messages = 0;
			ASSERT_EQ(from.send({.addr = local, .scope = 3, .port = 5006}, pattern(9)),
				  0);
			sim::run_ready();
			EXPECT_EQ(tap.messages, i ? 0u : 1u);

			auto m = to.recv();

			ASSERT_TRUE(m);
			EXPECT_EQ(m->info.from.scope, told) << i;
		}
	}
};

/* The sender's name has its interface, where its address is good on one only ... */
TEST_F(AtOnceByName, ALinkLocalSenderHasItsInterface)
{
	comes_from({.w = {0x80fe, 1}}, 3, 3);
}

/* ... and else none, as where its messages are queued. */
TEST_F(AtOnceByName, AGlobalSenderHasNone)
{
	comes_from({.w = {0x00fd, 1}}, 0, 0);
}

} // namespace
