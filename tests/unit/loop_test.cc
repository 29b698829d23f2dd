// SPDX-License-Identifier: GPL-2.0
/* Loopback's answers to calls that nobody makes of it; all else of it is in tests/contract. */
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

class Loop : public CoreTest
{
};

TEST_F(Loop, ServesNoAddressByItself)
{
	EXPECT_EQ(loop->laddr_check(net->os(), &a1, 0), -99);
}

TEST_F(Loop, AcceptsNothing)
{
	int handle;

	EXPECT_EQ(loop->adopt(nullptr, &handle), -95);
	loop->discard(&handle);
}

TEST_F(Loop, EndsAtOnceWhenAskedTo)
{
	host::Socket s(*net);

	ASSERT_EQ(s.bind(host::endpoint(a1, 4000)), 0);
	ASSERT_EQ(s.send(host::endpoint(a2, 1), pattern(1)), 0);
	sim::run_ready();
	rds_transport_net_reset(net->core(), loop);
	sim::run_ready();
	EXPECT_EQ(net->stat(RDS_S_conn_drain_timeout), 0u);
	EXPECT_EQ(s.send(host::endpoint(a1, 4000), pattern(5)), 0);
	sim::run_ready();
	EXPECT_TRUE(s.recv());
}

/* Nothing is to be sent, so nothing connects. */
TEST_F(Loop, StaysDownWhenItHasEnded)
{
	host::Socket s(*net);
	std::vector<unsigned int> flags;

	ASSERT_EQ(s.bind(host::endpoint(a1, 4000)), 0);
	ASSERT_EQ(s.send(host::endpoint(a2, 1), pattern(1)), 0);
	sim::run_ready();
	rds_transport_net_reset(net->core(), loop);
	sim::run_ready();
	host::info_conns(
		net->core(),
		[](void *all, const struct rds_conn_info *i) {
			static_cast<std::vector<unsigned int> *>(all)->push_back(i->flags);
		},
		&flags);
	EXPECT_FALSE(flags.empty());
	for (unsigned int f : flags)
		EXPECT_EQ(f, 0u);
}

/* A receiver whose limit was lowered refuses what is on its way, and is in nobody else's. */
TEST_F(Loop, WhoIsRefusedStepsAside)
{
	host::Socket s(*net), full(*net), other(*net);

	ASSERT_EQ(s.bind(host::endpoint(a1, 4000)), 0);
	ASSERT_EQ(full.bind(host::endpoint(a2, 5000)), 0);
	ASSERT_EQ(other.bind(host::endpoint(a2, 5001)), 0);
	ASSERT_EQ(s.send(host::endpoint(a2, 5000), pattern(1000, 1)), 0);
	sim::run_ready();
	full.sock().rcvbuf = 30;
	ASSERT_EQ(s.send(host::endpoint(a2, 5000), pattern(10, 2)), 0);
	ASSERT_EQ(s.send(host::endpoint(a2, 5001), pattern(10, 3)), 0);
	sim::run_ready();
	EXPECT_GT(net->stat(RDS_S_recv_sock_full), 0u);
	EXPECT_TRUE(other.recv()) << "without any pause";
	EXPECT_TRUE(full.recv());
	sim::run_for(100ull * 1000 * 1000);
	EXPECT_TRUE(full.recv());
}

/* A full receiver: its sender goes on after a pause.  The messages of a socket with ordering hints
 * do not step aside, so nothing but that pause brings them. */
TEST_F(Loop, TriesAFullReceiverAgain)
{
	host::Socket s(*net), r(*net);
	unsigned int got = 0;

	ASSERT_EQ(s.bind(host::endpoint(a1, 4000)), 0);
	ASSERT_EQ(r.bind(host::endpoint(a2, 5000)), 0);
	ASSERT_EQ(rds_socket_set_order(s.core(), 2), 0);
	s.sock().sndbuf = 1u << 20;
	r.sock().rcvbuf = 1000;
	/* Before the path is up, so that nobody knows that it will be full. */
	for (unsigned int i = 0; i < 100; i++)
		ASSERT_EQ(s.send(host::endpoint(a2, 5000), pattern(4000, i)), 0);
	sim::run_ready();
	EXPECT_GT(net->stat(RDS_S_recv_sock_full), 0u);
	EXPECT_GT(net->stat(RDS_S_recv_delayed_retry), 0u);
	for (int round = 0; round < 200 && got < 100; round++) {
		while (auto m = r.recv())
			EXPECT_EQ(m->data, pattern(4000, got++));
		sim::run_for(10 * 1000 * 1000);
	}
	EXPECT_EQ(got, 100u);
	EXPECT_TRUE(s.core()->snd_space.empty());
}

/* Both ends of it: made with the first message, given back with the connection. */
TEST_F(Loop, HasAnEndForEachDirection)
{
	auto conns = [this] {
		unsigned int n = 0;

		net->core()->conns.for_each([&](rds::Conn &) { n++; });
		return n;
	};
	host::Socket s(*net), r(*net);

	ASSERT_EQ(s.bind(host::endpoint(a1, 4000)), 0);
	ASSERT_EQ(r.bind(host::endpoint(a2, 5000)), 0);
	ASSERT_EQ(s.send(host::endpoint(a2, 5000), pattern(10)), 0);
	sim::run_ready();
	EXPECT_EQ(conns(), 2u);
	ASSERT_EQ(r.send(host::endpoint(a1, 4000), pattern(11)), 0);
	sim::run_ready();
	EXPECT_EQ(conns(), 2u);
	EXPECT_EQ(r.recv()->data, pattern(10));
	EXPECT_EQ(s.recv()->data, pattern(11));
	/* A message acknowledged before a reset is not acknowledged by what comes after it. */
	rds_transport_net_reset(net->core(), loop);
	sim::run_ready();
	ASSERT_EQ(s.send(host::endpoint(a2, 5000), pattern(12)), 0);
	sim::run_ready();
	EXPECT_EQ(r.recv()->data, pattern(12));
	EXPECT_TRUE(s.core()->snd_space.empty());
	EXPECT_EQ(net->stat(RDS_S_send_retransmitted), 0u);
}

TEST_F(Loop, AnswersPings)
{
	host::Socket s(*net);

	ASSERT_EQ(s.bind(host::endpoint(a1, 4000)), 0);
	ASSERT_EQ(s.send(host::endpoint(a2, rds::kPingPort), {}), 0);
	sim::run_ready();

	auto m = s.recv();

	ASSERT_TRUE(m);
	EXPECT_EQ(m->info.from.port, rds::kPingPort);
	EXPECT_TRUE(rds::same_addr(m->info.from.addr, a2));
	EXPECT_EQ(net->stat(RDS_S_recv_ping), 1u);
	EXPECT_EQ(net->stat(RDS_S_send_pong), 1u);
	/* One of each came. */
	net->core()->conns.for_each([](rds::Conn &c) { EXPECT_EQ(c.first().next_rx_seq(), 2u); });
}

/* Nobody calls without a reason: the other end is on this host. */
TEST_F(Loop, CallsOnlyToSend)
{
	host::Socket s(*net);
	auto attempts = [this] {
		uint32_t n = 0;

		net->core()->conns.for_each(
			[&](rds::Conn &c) { n += c.first().dial().attempts(); });
		return n;
	};

	ASSERT_EQ(s.bind(host::endpoint(a1, 4000)), 0);
	ASSERT_EQ(s.send(host::endpoint(a2, 1), pattern(1)), 0);
	sim::run_ready();
	EXPECT_EQ(attempts(), 1u);
	rds_transport_net_reset(net->core(), loop);
	sim::run_for(2000ull * 1000 * 1000);
	EXPECT_EQ(attempts(), 1u);
}

TEST_F(Loop, SaysWhyItCannotConnect)
{
	host::Socket s(*net);

	ASSERT_EQ(s.bind(host::endpoint(a1, 4000)), 0);
	ASSERT_EQ(s.send(host::endpoint(a2, 5000), pattern(10)), 0);
	sim::options().fail_per_1000 = 1000;
	sim::run_ready();
	sim::options().fail_per_1000 = 0;
	sim::run_for(100 * 1000 * 1000);
	EXPECT_TRUE(s.core()->snd_space.empty()) << "it has connected since, and nobody was there";
	EXPECT_EQ(net->stat(RDS_S_recv_drop_no_sock), 1u);
}

/* Both ends are on this host: who looks for one's own finds the same. */
TEST_F(Loop, OneselfIsBothEnds)
{
	auto conns = [this] {
		unsigned int n = 0;

		net->core()->conns.for_each([&](rds::Conn &c) { n += 1 + 100 * c.tos; });
		return n;
	};

	fake::set_caps(RDS_CAP_PREFER_LOOP | RDS_CAP_RDMA);

	host::Socket s(*net);

	ASSERT_EQ(s.bind(host::endpoint(a1, 4000)), 0);
	ASSERT_EQ(rds_socket_set_tos(s.core(), 3), 0);
	ASSERT_EQ(s.send(host::endpoint(a1, 4000), pattern(10)), 0);
	sim::run_ready();
	EXPECT_TRUE(s.recv());
	EXPECT_EQ(conns(), 1u) << "of no priority";
}

/* A full port stays full, for no peer has to tell. */
TEST_F(Loop, AFullPortStaysFullOverAReset)
{
	host::Socket s(*net), r(*net);
	const auto to = host::endpoint(a2, 5000);

	ASSERT_EQ(s.bind(host::endpoint(a1, 4000)), 0);
	ASSERT_EQ(r.bind(to), 0);
	r.sock().rcvbuf = 1000;
	for (int i = 0; i < 4 && !rds_socket_congested(s.core(), &to); i++) {
		ASSERT_EQ(s.send(to, pattern(600)), 0);
		sim::run_ready();
	}
	ASSERT_TRUE(rds_socket_congested(s.core(), &to));
	rds_transport_net_reset(net->core(), loop);
	sim::run_ready();
	EXPECT_TRUE(rds_socket_congested(s.core(), &to));
	while (r.recv())
		;
	EXPECT_FALSE(rds_socket_congested(s.core(), &to));
}

} // namespace
