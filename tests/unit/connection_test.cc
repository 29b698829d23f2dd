// SPDX-License-Identifier: GPL-2.0
#include <unordered_map>

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/socket/socket.h"

namespace
{

using host::endpoint;
using host::Socket;

class Connections : public CoreTest
{
protected:
	struct rds_conn *get(const struct rds_addr &faddr, int *err, uint32_t scope = 0)
	{
		return rds_conn_get(net->core(), fake::ops(), &a1, &faddr, scope, 0, err);
	}
};

TEST_F(Connections, OneForEachPair)
{
	int err;
	struct rds_conn *a = get(remote, &err), *b = get(remote, &err);
	struct rds_conn *c = get(host::addr4(98), &err), *d = get(remote, &err, 3);

	EXPECT_EQ(a, b);
	EXPECT_NE(a, c);
	EXPECT_NE(a, d);
	EXPECT_EQ(rds_conn_path(a, 0), rds_conn_path(b, 0));
	EXPECT_EQ(rds_conn_path(a, 1), rds_conn_path(a, 0));
	EXPECT_EQ(rds_conn_path(a, 99), rds_conn_path(a, 0));
	EXPECT_EQ(*rds_path_faddr(rds_conn_path(a, 0))->w, *remote.w);
	for (struct rds_conn *x : {a, b, c, d})
		rds_conn_put(x);
	EXPECT_EQ(fake::wires().size(), 3u);
}

TEST_F(Connections, LocalDestinationsGoOverLoopback)
{
	int err;
	struct rds_conn *c = get(a2, &err);

	ASSERT_NE(c, nullptr);
	EXPECT_EQ(rds_path_transport(rds_conn_path(c, 0)), loop);
	rds_conn_put(c);
}

/* A message of a socket to its own address, taken off the host meanwhile, stayed for ever on a
 * connection that nobody answers. */
TEST_F(Connections, OneselfIsLocalWithoutTheAddress)
{
	const struct rds_addr away = host::addr4(77);
	int err;
	struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &away, &away, 0, 0, &err);

	ASSERT_NE(c, nullptr);
	EXPECT_EQ(rds_path_transport(rds_conn_path(c, 0)), loop);
	rds_conn_put(c);
}

/* A host that reaches us can make connections from as many addresses as it has: twice as many as
 * there may be, while the sweep makes room. */
TEST_F(Connections, StrangersAreBounded)
{
	rds_net_tunables(net->core())->max_passive = 1;

	Socket s(*net);
	int err;

	for (unsigned int n : {90, 91}) {
		struct rds_conn *c = get(host::addr4(n), &err);

		ASSERT_NE(c, nullptr);
		rds_conn_put(c);
	}
	EXPECT_EQ(get(host::addr4(92), &err), nullptr);
	EXPECT_EQ(err, -105);
	EXPECT_EQ(net->stat(RDS_S_conn_passive_refused), 1u);
	/* Those that are known still get theirs, and a socket whatever it asks for. */
	rds_conn_put(get(host::addr4(90), &err));
	ASSERT_EQ(s.bind(endpoint(a1, 4000)), 0);
	EXPECT_EQ(s.send(endpoint(host::addr4(93), 5000), pattern(10)), 0);
	EXPECT_EQ(get(host::addr4(92), &err), nullptr);
	/* A connection that a socket uses too does not count. */
	EXPECT_EQ(s.send(endpoint(host::addr4(90), 5000), pattern(10)), 0);
	EXPECT_EQ(s.send(endpoint(host::addr4(90), 5000), pattern(10)), 0);
	rds_conn_put(get(host::addr4(92), &err));
	EXPECT_EQ(get(host::addr4(94), &err), nullptr);
	EXPECT_EQ(net->core()->passive.load(), 2u);
	/* Those that go make room. */
	rds_transport_net_exit(net->core(), fake::ops());
	EXPECT_EQ(net->core()->passive.load(), 0u);
	/* No room is none at all. */
	rds_net_tunables(net->core())->max_passive = 0;
	EXPECT_EQ(get(host::addr4(95), &err), nullptr);
}

TEST_F(Connections, EveryAllocationMayFail)
{
	for (unsigned int nth = 1; nth < 20; nth++) {
		uint64_t before = sim::failed_allocs();
		int err = 0;

		sim::fail_nth(nth);

		struct rds_conn *c = get(remote, &err);

		sim::fail_nth(0);
		if (c) {
			rds_conn_put(c);
			EXPECT_EQ(sim::failed_allocs(), before);
			EXPECT_GT(nth, 3u);
			return;
		}
		EXPECT_EQ(err, -12);
	}
	FAIL() << "never ran out of allocations";
}

TEST_F(Connections, ManyWhoMakeItAtOnceGetTheSame)
{
	for (unsigned int round = 0; round < 50; round++) {
		std::vector<struct rds_conn *> got;
		struct rds_addr faddr = host::addr4(100 + round);

		sim::options().preempt_per_1000 = 300;
		for (int i = 0; i < 4; i++) {
			sim::spawn("get", [&] {
				int err;

				got.push_back(get(faddr, &err));
			});
		}
		sim::run_ready();
		ASSERT_EQ(got.size(), 4u);
		for (struct rds_conn *c : got) {
			ASSERT_EQ(c, got[0]);
			rds_conn_put(c);
		}
	}
	EXPECT_EQ(fake::wires().size(), 50u);
}

/* The end of a namespace waits for the last reference, for ever if need be; but not in silence. */
TEST_F(Connections, WhoWaitsLongForOneSaysSo)
{
	int err;
	struct rds_conn *c = get(remote, &err);
	bool gone = false;
	unsigned int before = host::logged.load();

	/* However long it was there before. */
	sim::jump(20ull * 1000 * 1000 * 1000);

	ASSERT_NE(c, nullptr);
	sim::spawn("exit", [&] {
		rds_transport_net_exit(net->core(), fake::ops());
		gone = true;
	});
	for (unsigned int k = 0; k < 200; k++)
		sim::step();
	EXPECT_EQ(host::logged.load(), before) << "it has not waited long";
	for (unsigned int i = 0; i < 60 && !gone; i++) {
		for (unsigned int k = 0; k < 200; k++)
			sim::step();
		sim::jump(1000ull * 1000 * 1000);
	}
	EXPECT_FALSE(gone);
	EXPECT_EQ(host::logged.load(), before + 1);
	rds_conn_put(c);
	sim::run_ready();
	EXPECT_TRUE(gone);
}

TEST_F(Connections, GenerationVoidsWhatSocketsRemember)
{
	Socket s(*net);
	const auto to = endpoint(remote, 5000);

	ASSERT_EQ(s.bind(endpoint(a1, 4000)), 0);
	ASSERT_EQ(s.send(to, pattern(10)), 0);

	uint64_t before = net->core()->conns.generation();

	rds_transport_net_exit(net->core(), fake::ops());
	EXPECT_GT(net->core()->conns.generation(), before);
	EXPECT_TRUE(fake::wires().empty());
	ASSERT_EQ(s.send(to, pattern(10)), 0);
	EXPECT_EQ(fake::wires().size(), 1u);
}

/* Senders in the middle of everything while their connection is killed, again and again. */
TEST_F(Connections, AreKilledUnderSenders)
{
	for (unsigned int round = 0; round < 100; round++) {
		Socket s(*net), local(*net);
		const auto to = endpoint(remote, 5000), to_local = endpoint(a2, 5000);
		auto port = static_cast<uint16_t>(1000 + round);

		ASSERT_EQ(s.bind(endpoint(a1, port)), 0);
		sim::options().preempt_per_1000 = 200;
		for (int i = 0; i < 2; i++) {
			sim::spawn("send", [&] {
				for (int k = 0; k < 6; k++) {
					int ret = s.send(k % 2 ? to : to_local, pattern(10));

					EXPECT_TRUE(ret == 0 || ret == -101) << ret;
				}
			});
		}
		sim::spawn("connect", [&] {
			for (auto *w : std::vector<fake::Wire *>(fake::wires()))
				rds_path_connected(w->path);
		});
		sim::spawn("kill", [&] {
			rds_transport_net_exit(net->core(), fake::ops());
			rds_transport_net_exit(net->core(), loop);
		});
		sim::run_ready();
	}
}

/* Loopback stands in for a transport that prefers it; no other does, for no other. */
TEST_F(Connections, OnlyLoopbackStandsIn)
{
	const rds::HashKey &key = net->core()->key;
	struct rds_transport other = *fake::ops();
	rds::ConnTable &conns = net->core()->conns;
	int err;
	struct rds_conn *far = get(remote, &err), *near = get(a2, &err);

	rds::RcuReader rcu;

	other.caps = RDS_CAP_PREFER_LOOP;
	EXPECT_EQ(conns.find(other, a1, a2, 0, 7, key), near);
	EXPECT_EQ(conns.find(other, a1, remote, 0, 0, key), nullptr);
	other.caps = 0;
	EXPECT_EQ(conns.find(other, a1, a2, 0, 0, key), nullptr);
	EXPECT_EQ(conns.find(*fake::ops(), a1, remote, 0, 0, key), far);
	rds_conn_put(far);
	rds_conn_put(near);
}

/* Between addresses that differ at one end, and have the same hash. */
TEST_F(Connections, PairsOfOneHashAreTwo)
{
	const rds::HashKey &key = net->core()->key;
	const uint32_t near = rds::hash_addr(a1, 0, key);
	std::unordered_map<uint32_t, struct rds_addr> known;
	struct rds_addr one, other = remote;
	int err;

	for (uint32_t i = 0; i < 1000000; i++) {
		other.w[1] = i * 0x9e3779b97f4a7c15ull;
		if (!known.emplace(rds::hash_addr(other, near, key), other).second)
			break;
	}
	one = known.at(rds::hash_addr(other, near, key));
	ASSERT_FALSE(rds::same_addr(one, other));

	struct rds_conn *c = get(one, &err), *d = get(other, &err);

	EXPECT_NE(c, d);
	EXPECT_EQ(get(one, &err), c);
	EXPECT_EQ(get(other, &err), d);
	for (struct rds_conn *x : {c, c, d, d})
		rds_conn_put(x);
}

} // namespace
