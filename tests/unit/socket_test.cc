// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/socket/socket.h"

namespace
{

using host::endpoint;
using host::Socket;

class SocketNames : public CoreTest
{
};

TEST_F(SocketNames, BindsOnceToALocalAddress)
{
	Socket s(*net);
	struct rds_endpoint ep = {};

	EXPECT_EQ(rds_socket_bound(s.core(), &ep), 0);
	EXPECT_EQ(s.bind(endpoint(a1, 4000)), 0);
	EXPECT_EQ(rds_socket_bound(s.core(), &ep), 1);
	EXPECT_EQ(ep.port, 4000);
	EXPECT_EQ(s.bind(endpoint(a1, 4001)), -22);
	EXPECT_EQ(rds_socket_transport(s.core()), 2);
}

TEST_F(SocketNames, BindRefusesForeignAddressesTakenPortsAndTheProbePort)
{
	Socket s(*net), t(*net), u(*net);

	EXPECT_EQ(s.bind(endpoint(remote, 4000)), -99);
	EXPECT_EQ(s.bind(endpoint(a1, 1)), -22);
	EXPECT_EQ(s.bind(endpoint(a1, 4000)), 0);
	EXPECT_EQ(t.bind(endpoint(a1, 4000)), -98);
	/* A failed bind leaves nothing behind: the same socket binds elsewhere. */
	EXPECT_EQ(t.bind(endpoint(a2, 4000)), 0);
	EXPECT_EQ(u.bind(endpoint(a1, 4000)), -98);
	EXPECT_EQ(fake::module().refs.load(), 2);
}

TEST_F(SocketNames, BindPicksAFreePort)
{
	Socket s(*net), t(*net);
	struct rds_endpoint e1, e2;

	EXPECT_EQ(s.bind(endpoint(a1, 0)), 0);
	EXPECT_EQ(t.bind(endpoint(a1, 0)), 0);
	ASSERT_EQ(rds_socket_bound(s.core(), &e1), 1);
	ASSERT_EQ(rds_socket_bound(t.core(), &e2), 1);
	EXPECT_GE(e1.port, 2);
	EXPECT_NE(e1.port, e2.port);
}

TEST_F(SocketNames, ScopesAreNamespacesOfTheirOwn)
{
	Socket s(*net), t(*net);

	EXPECT_EQ(s.bind(endpoint(a1, 4000, 3)), 0);
	EXPECT_EQ(t.bind(endpoint(a1, 4000, 4)), 0);
}

TEST_F(SocketNames, TwoNamespacesBindTheSame)
{
	host::Net other({a1});
	Socket s(*net), t(other);

	EXPECT_EQ(s.bind(endpoint(a1, 4000)), 0);
	EXPECT_EQ(t.bind(endpoint(a1, 4000)), 0);
}

TEST_F(SocketNames, LoopbackAddressesBelongToLoop)
{
	unsigned char b[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
	struct rds_addr lo;
	Socket s(*net);

	memcpy(&lo, b, sizeof(lo));
	EXPECT_EQ(s.bind(endpoint(lo, 4000)), 0);
	EXPECT_EQ(rds_socket_transport(s.core()), 3);
	EXPECT_EQ(loop_module.refs.load(), 1);
}

TEST_F(SocketNames, ConnectSetsAndReplacesThePeer)
{
	Socket s(*net);
	struct rds_endpoint ep = {};

	EXPECT_EQ(rds_socket_peer(s.core(), &ep), 0);
	EXPECT_EQ(s.connect(endpoint(remote, 5)), 0);
	EXPECT_EQ(s.connect(endpoint(a2, 6)), 0);
	EXPECT_EQ(rds_socket_peer(s.core(), &ep), 1);
	EXPECT_EQ(ep.port, 6);
}

TEST_F(SocketNames, LinkLocalPeersFixTheInterface)
{
	Socket s(*net), t(*net);

	EXPECT_EQ(s.connect(endpoint(remote, 5, 3)), 0);
	EXPECT_EQ(s.bind(endpoint(a1, 4000, 4)), -22);
	EXPECT_EQ(s.bind(endpoint(a1, 4000, 3)), 0);
	EXPECT_EQ(t.bind(endpoint(a1, 4001, 3)), 0);
	EXPECT_EQ(t.connect(endpoint(remote, 5, 4)), -22);
}

TEST_F(SocketNames, TransportIsSetOnceAndMustServeTheAddress)
{
	Socket s(*net), t(*net);

	EXPECT_EQ(rds_socket_set_transport(s.core(), 0), -92);
	EXPECT_EQ(rds_socket_set_transport(s.core(), 77), -92);
	EXPECT_EQ(rds_socket_set_transport(s.core(), 2), 0);
	EXPECT_EQ(rds_socket_set_transport(s.core(), 2), -95);
	EXPECT_EQ(s.bind(endpoint(remote, 9)), -92);
	EXPECT_EQ(rds_socket_transport(s.core()), 2);
	EXPECT_EQ(s.bind(endpoint(a1, 9)), 0);
	EXPECT_EQ(t.bind(endpoint(a1, 10)), 0);
	EXPECT_EQ(rds_socket_set_transport(t.core(), 2), -95);
}

TEST_F(SocketNames, ATransportHearsOfSocketsThatHaveChosenItInEachNamespace)
{
	host::Net other({a1});
	auto bound = std::make_unique<Socket>(*net), chosen = std::make_unique<Socket>(*net);
	Socket loop(*net), elsewhere(other), failed(*net);
	unsigned char b[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
	struct rds_addr lo;

	memcpy(&lo, b, sizeof(lo));
	EXPECT_EQ(loop.bind(endpoint(lo, 9)), 0);
	EXPECT_EQ(elsewhere.bind(endpoint(a1, 9)), 0);
	EXPECT_EQ(fake::users(*net), 0);
	EXPECT_EQ(fake::users(other), 1);
	EXPECT_EQ(bound->bind(endpoint(a1, 9)), 0);
	EXPECT_EQ(failed.bind(endpoint(a1, 9)), -98);
	EXPECT_EQ(fake::users(*net), 1);
	EXPECT_EQ(rds_socket_set_transport(chosen->core(), 2), 0);
	EXPECT_EQ(fake::users(*net), 2);
	EXPECT_EQ(chosen->bind(endpoint(a2, 9)), 0);
	EXPECT_EQ(fake::users(*net), 2);
	bound.reset();
	EXPECT_EQ(fake::users(*net), 1);
	chosen.reset();
	EXPECT_EQ(fake::users(*net), 0);
}

TEST_F(SocketNames, TransportsThatAreMissingAreAskedFor)
{
	static std::string asked;
	Socket s(*net);

	asked.clear();
	host::on_module_request = [](const char *name, int) { asked += name; };
	EXPECT_EQ(rds_socket_set_transport(s.core(), 0), -92);
	EXPECT_EQ(asked, "rds_rdma");
}

TEST_F(SocketNames, TosNeedsATransportAndComesOnce)
{
	Socket s(*net);

	EXPECT_EQ(rds_socket_set_tos(s.core(), 4), -515);
	EXPECT_EQ(s.bind(endpoint(a1, 9)), 0);
	EXPECT_EQ(rds_socket_set_tos(s.core(), 4), 0);
	EXPECT_EQ(rds_socket_tos(s.core()), 0); /* this transport maps all to 0 */
}

TEST_F(SocketNames, BindSurvivesEveryAllocationFailure)
{
	for (unsigned int nth = 1; nth < 20; nth++) {
		Socket s(*net);
		uint64_t before = sim::failed_allocs();

		sim::fail_nth(nth);

		int ret = s.bind(endpoint(host::addr4(1), 4000));

		sim::fail_nth(0);
		if (sim::failed_allocs() == before) {
			EXPECT_EQ(ret, 0);
			EXPECT_GT(nth, 1u);
			return;
		}
		EXPECT_TRUE(ret == -12 || ret == 0) << ret;
		if (ret) {
			EXPECT_EQ(s.bind(endpoint(a1, 4000)), 0);
		}
	}
	FAIL() << "bind never ran out of allocations";
}

TEST_F(SocketNames, ReleaseGivesThePortBack)
{
	{
		Socket s(*net);

		EXPECT_EQ(s.bind(endpoint(a1, 4000)), 0);
	}
	Socket t(*net);

	EXPECT_EQ(t.bind(endpoint(a1, 4000)), 0);
}

/* A message may come as soon as it is found, and its reader asks the transport. */
TEST_F(SocketNames, WhoIsFoundHasATransport)
{
	for (unsigned int round = 0; round < 50; round++) {
		Socket s(*net), other(*net);
		bool done = false;

		sim::options().preempt_per_1000 = 500;
		sim::spawn("bind", [&] {
			EXPECT_EQ(s.bind(endpoint(a1, 4000)), 0);
			EXPECT_EQ(other.bind(endpoint(a1, 4000)), -98);
			done = true;
		});
		while (!done && sim::step()) {
			rds::RcuReader rcu;
			rds::Socket *found = net->core()->bind.find(a1, 0, 4000, net->core()->key);

			ASSERT_TRUE(!found || found->trans) << "round " << round;
		}
		sim::options().preempt_per_1000 = 0;
		EXPECT_EQ(fake::users(*net), 1);
		EXPECT_EQ(rds_socket_transport(other.core()), -1);
	}
}

TEST_F(SocketNames, OptionsReadBack)
{
	Socket s(*net);
	int on = 7;
	uint64_t mask = 7;

	rds_socket_cong_monitor(s.core(), &on, &mask);
	EXPECT_EQ(on, 0);
	rds_socket_set_cong_monitor(s.core(), 1, 0xf0);
	rds_socket_cong_monitor(s.core(), &on, &mask);
	EXPECT_EQ(on, 1);
	EXPECT_EQ(mask, 0xf0u);
	rds_socket_set_recverr(s.core(), 5);
	EXPECT_EQ(rds_socket_recverr(s.core()), 1);
	rds_socket_set_trace(s.core(), 1);
	rds_socket_set_trace(s.core(), 1);
}

/* Of the transport that it is bound to, and of none before. */
TEST_F(SocketNames, CanWhatItsTransportCan)
{
	Socket s(*net);

	fake::set_caps(RDS_CAP_ZEROCOPY | RDS_CAP_RDMA);
	EXPECT_EQ(rds_socket_caps(s.core()), 0u);
	ASSERT_EQ(rds_socket_set_transport(s.core(), fake::ops()->type), 0);
	EXPECT_EQ(rds_socket_caps(s.core()), unsigned{RDS_CAP_ZEROCOPY | RDS_CAP_RDMA});
}

} // namespace
