// SPDX-License-Identifier: GPL-2.0
/* The remains of a connection: numbers, of each path on its own; and how it is killed. */
#include <set>

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"
#include "reach.h"

RDS_REACH(fan_n_paths, &rds::Fan::n_paths_)

namespace
{

using fake::Wire;
using fake::wires;

constexpr uint64_t kMs = 1000 * 1000;
constexpr uint32_t kGen = 77;

/* Hosts that call us, over as many paths as they like. */
class ConnNumbers : public SocketTest<RDS_CAP_DELIVERY_ACK>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		fake::set_max_paths(8);
		fake::defaults().initiates = false;
		rds_net_tunables(net->core())->idle_timeout_ms = 1000;
	}
	struct rds_conn *get(const struct rds_addr &laddr, const struct rds_addr &faddr)
	{
		int err;

		return rds_conn_get(net->core(), fake::ops(), &laddr, &faddr, 0, 0, &err);
	}
	/* The wire of path @index, on which @host has called. */
	Wire &calls(unsigned int host, unsigned int index, bool ours = true)
	{
		struct rds_conn *c = get(a1, host::addr4(host));
		struct rds_path *p = rds_conn_path(c, index);
		rds::wire::Header h;

		rds_path_accepted(p, &handle_);
		sim::run_ready();
		rds_conn_put(c);
		rds::wire::encode_hello(
			h, {kGen, rds::wire::kCapDeliveryAck, 8, static_cast<uint8_t>(index)});
		if (ours) {
			EXPECT_EQ(fake::arrive(p, h), RDS_RECV_SKIP);
		}
		sim::run_ready();
		return *static_cast<Wire *>(p->priv);
	}
	static void message(Wire &w, uint64_t seq)
	{
		ASSERT_EQ(fake::arrive(w.path, seq, 5000, 4000, {}), 0);
		sim::run_for(100 * kMs); /* it is acknowledged */
	}
	static void ends(Wire &w, enum rds_drop_reason why)
	{
		rds_path_drop(w.path, why);
		sim::run_ready();
	}
	static bool forgotten()
	{
		return sim::run_until([] { return wires().empty(); }, 60 * 1000 * kMs);
	}
	uint64_t first_seq()
	{
		return net->core()->conns.first_seq();
	}
	int handle_ = 0;
};

/* One path drained, and is owed nothing; the other broke, and may send again what came on it. */
TEST_F(ConnNumbers, OfEachPathWhatItOwes)
{
	for (unsigned int drains : {0u, 3u}) {
		const unsigned int breaks = 3 - drains, host = 60 + drains;

		(void)calls(host, 0);
		(void)calls(host, 3);
		message(calls(host, 0), 5);
		message(calls(host, 3), 8);
		for (Wire *w : wires())
			ends(*w, w->path->index == drains ? RDS_DROP_PEER_CLOSED : RDS_DROP_ERROR);
		ASSERT_TRUE(forgotten()) << drains;
		EXPECT_EQ(net->core()->conns.tombs.count(), 1u + drains / 3);

		rds_path &first = *calls(host, 0).path, &third = *calls(host, 3).path;
		const uint64_t first_had = breaks == 0 ? 6 : 0, third_had = breaks == 3 ? 9 : 0;

		EXPECT_EQ(first.next_rx_seq(), first_had);
		EXPECT_EQ(third.next_rx_seq(), third_had);
		for (Wire *w : wires())
			ends(*w, RDS_DROP_ERROR);
		ASSERT_TRUE(forgotten());
	}
	EXPECT_EQ(net->stat(RDS_S_conn_tombstone), 4u);
}

/* A path that brought nothing makes none of one that drained. */
TEST_F(ConnNumbers, NothingIsOwedForWhatBroughtNothing)
{
	(void)calls(60, 0);
	(void)calls(60, 3);
	message(calls(60, 0), 5);
	for (Wire *w : wires())
		ends(*w, w->path->index ? RDS_DROP_ERROR : RDS_DROP_PEER_CLOSED);
	ASSERT_TRUE(forgotten());
	EXPECT_EQ(net->core()->conns.tombs.count(), 0u);
	EXPECT_EQ(net->stat(RDS_S_conn_tombstone), 0u);
}

/* Peers that cannot tell one connection's numbers from another's have seen those of path 0 up to
 * the highest; who drained has none. */
TEST_F(ConnNumbers, NextConnectionsBeginBehindTheHighest)
{
	uint64_t highest = 1;

	EXPECT_EQ(first_seq(), highest);
	for (unsigned int pongs : {3u, 1u, 6u}) {
		Wire &w = calls(50, 0, false);

		ASSERT_EQ(w.path->next_tx_seq(), highest);
		for (unsigned int i = 1; i <= pongs; i++)
			ASSERT_EQ(fake::arrive(w.path, i, 5000, 0, {}), RDS_RECV_SKIP);
		sim::run_ready();
		highest += pongs;
		ASSERT_EQ(w.path->next_tx_seq(), highest);
		ends(w, RDS_DROP_ERROR);
		ASSERT_TRUE(forgotten());
		EXPECT_EQ(first_seq(), highest);
	}
	/* Older ones that end later, with fewer, take nothing back. */
	Wire *two[] = {&calls(51, 0, false), &calls(52, 0, false)};

	for (uint64_t i = 1; i <= 9; i++)
		ASSERT_EQ(fake::arrive(two[1]->path, i, 5000, 0, {}), RDS_RECV_SKIP);
	sim::run_ready();
	ends(*two[1], RDS_DROP_ERROR);
	ASSERT_TRUE(sim::run_until([] { return wires().size() == 1; }, 5000 * kMs));
	EXPECT_EQ(first_seq(), highest + 9);
	ends(*wires()[0], RDS_DROP_ERROR);
	ASSERT_TRUE(forgotten());
	EXPECT_EQ(first_seq(), highest + 9);
	/* It counts in a generation, and has drained. */
	highest += 9;

	Wire &w = calls(53, 0);

	for (uint64_t i = 1; i <= 4; i++)
		ASSERT_EQ(fake::arrive(w.path, i, 5000, 0, {}), RDS_RECV_SKIP);
	sim::run_for(100 * kMs);
	EXPECT_EQ(w.path->next_tx_seq(), highest + 4);
	ends(w, RDS_DROP_PEER_CLOSED);
	ASSERT_TRUE(forgotten());
	EXPECT_EQ(first_seq(), highest);
}

/* ---- pairs of addresses ---- */

/* Both hosts agree whose ports choose the path: those of the lesser address, as a whole. */
TEST_F(ConnNumbers, TheLesserAddressChooses)
{
	const struct rds_addr in_order[] = {host::addr4(3),
					    host::addr4(4),
					    {{~0ull - 9, 7}},
					    {{~0ull - 9, 8}},
					    {{~0ull - 8, 1}}};

	for (const auto &a : in_order) {
		for (const auto &b : in_order) {
			if (&a == &b)
				continue;

			struct rds_conn *c = get(a, b);

			ASSERT_NE(c, nullptr);

			auto &n_paths = c->fan.*reach(fan_n_paths());

			n_paths.store(8);
			/* The other end's port does not matter, and our own does. */
			std::set<unsigned int> sport, dport;

			for (uint16_t port = 1; port < 100; port++) {
				sport.insert(c->fan.index_for(port, 5000));
				dport.insert(c->fan.index_for(5000, port));
			}
			EXPECT_EQ(sport.size(), &a < &b ? 8u : 1u)
				<< &a - in_order << " " << &b - in_order;
			EXPECT_EQ(dport.size(), &a < &b ? 1u : 8u)
				<< &a - in_order << " " << &b - in_order;
			n_paths.store(1);
			rds_conn_put(c);
		}
	}
}

/* ---- being killed ---- */

/* A caller that still holds it gets no path that nobody would end; of each the pointers that
 * sockets remember are void. */
TEST_F(ConnNumbers, OneThatIsKilledGetsNoMorePaths)
{
	struct rds_conn *some[] = {get(a1, host::addr4(50)), get(a1, host::addr4(51))};
	uint64_t before = net->core()->conns.generation();
	bool gone = false;

	sim::spawn("exit", [&] {
		rds_transport_net_exit(net->core(), fake::ops());
		gone = true;
	});
	ASSERT_TRUE(some[0]->provide(1).ok());
	for (unsigned int k = 0; k < 300; k++)
		sim::step();
	ASSERT_FALSE(gone);
	EXPECT_EQ(net->core()->conns.generation(), before + 2);
	for (struct rds_conn *c : some) {
		ASSERT_EQ(c->first().state(), rds::PathState::kDead);

		auto more = c->provide(2);

		EXPECT_EQ(more.status().code(), -101);
		EXPECT_TRUE(c->provide(0).ok()) << "those that there are end with it";
		rds_conn_put(c);
	}
	EXPECT_EQ(wires().size(), 3u);
	sim::run_ready();
	EXPECT_TRUE(gone);
	EXPECT_TRUE(wires().empty());
}

} // namespace
