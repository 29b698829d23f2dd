// SPDX-License-Identifier: GPL-2.0
/* Addresses come to this host and leave it: messages go where the address is. */
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using host::endpoint;

class Addrs : public SocketTest<RDS_CAP_PREFER_LOOP>
{
protected:
	/* One message to port 5000 of @to. */
	int send(const struct rds_addr &to)
	{
		int err = s->send(endpoint(to, 5000), pattern(10));

		sim::run_ready();
		return err;
	}
	/* It goes to another host: over how many connections of the fake transport all went. */
	size_t sent_away(const struct rds_addr &to)
	{
		EXPECT_EQ(send(to), 0);
		return fake::wires().size();
	}
	/* A reader at port 5000 of @a, an address of this host, which has got a message. */
	std::unique_ptr<host::Socket> reached_here(const struct rds_addr &a)
	{
		auto r = std::make_unique<host::Socket>(*net);

		EXPECT_EQ(r->bind(endpoint(a, 5000)), 0);
		EXPECT_EQ(sent_away(a), 0u);
		EXPECT_TRUE(r->recv());
		return r;
	}
	/* The connections between a1 and @to, as long as they are there. */
	std::vector<const rds::Conn *> conns_to(const struct rds_addr &to)
	{
		std::vector<const rds::Conn *> found;

		net->core()->conns.for_each_of(a1, to, net->core()->key,
					       [&](rds::Conn &c) { found.push_back(&c); });
		return found;
	}
	void remove(const struct rds_addr &a)
	{
		net->remove(a);
		sim::run_ready();
	}
	void add(const struct rds_addr &a)
	{
		net->add(a);
		sim::run_ready();
	}
};

TEST_F(Addrs, ItLeavesAndComesBack)
{
	const auto r = reached_here(a2);

	remove(a2);
	EXPECT_EQ(sent_away(a2), 1u);
	EXPECT_EQ(sent_away(a2), 1u) << "the second time as well";
	EXPECT_FALSE(r->recv()) << "it is bound to what is another host's";
	EXPECT_EQ(conns_to(a2).size(), 2u);
	add(a2);
	EXPECT_EQ(sent_away(a2), 1u);
	EXPECT_TRUE(r->recv());
	remove(a2);
	EXPECT_EQ(sent_away(a2), 1u) << "over the one that was there";
	EXPECT_EQ(conns_to(a2).size(), 2u) << "one of a kind";
}

/* The one that was there is taken again, not another one made. */
TEST_F(Addrs, ItIsBackBeforeAnybodyLooks)
{
	const auto r = reached_here(a2);

	remove(a2);
	net->add_quietly(a2);
	EXPECT_EQ(sent_away(a2), 0u);
	EXPECT_TRUE(r->recv());
	ASSERT_EQ(conns_to(a2).size(), 1u);
	EXPECT_FALSE(conns_to(a2)[0]->astray.load());
}

TEST_F(Addrs, ItComes)
{
	EXPECT_EQ(sent_away(remote), 1u);
	add(remote);

	/* A peer that calls from there still is that peer. */
	int err;
	struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &a1, &remote, 0, 0, &err);

	ASSERT_NE(c, nullptr);
	EXPECT_EQ(c, &fake::wire().path->conn);
	rds_conn_put(c);

	host::Socket r(*net);

	ASSERT_EQ(r.bind(endpoint(remote, 5000)), 0);
	EXPECT_EQ(sent_away(remote), 1u);
	EXPECT_TRUE(r.recv());
	EXPECT_TRUE(fake::wire().path->conn.astray.load());
}

/* The host that has it now calls: loopback stands in no longer. */
TEST_F(Addrs, ThePeerThatHasItNowMayCall)
{
	int err;

	EXPECT_EQ(sent_away(a2), 0u);
	remove(a2);

	struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &a1, &a2, 0, 0, &err);

	ASSERT_NE(c, nullptr);
	EXPECT_EQ(&c->trans, fake::ops());
	rds_conn_put(c);
}

/* A socket that is bound to what has left sends on, as far as it reaches: its own other end is
 * nobody else's way. */
TEST_F(Addrs, AReplyOfALostAddress)
{
	const auto r = reached_here(a2);

	remove(a2);
	EXPECT_EQ(r->send(endpoint(a1, 4000), pattern(10)), 0);
	sim::run_ready();
	EXPECT_TRUE(s->recv());
	EXPECT_EQ(sent_away(a2), 1u);
}

/* Its own address stays reachable whatever becomes of it. */
TEST_F(Addrs, OnesOwnIsNeverAstray)
{
	host::Socket r(*net);

	ASSERT_EQ(r.bind(endpoint(a1, 5000)), 0);
	EXPECT_EQ(sent_away(a1), 0u);
	remove(a1);
	EXPECT_FALSE(conns_to(a1)[0]->astray.load());
	EXPECT_EQ(sent_away(a1), 0u);
	EXPECT_TRUE(r.recv());
	EXPECT_TRUE(r.recv());
}

/* No transport has one of 127/8. */
TEST_F(Addrs, LoopbacksOwnAreNeverAstray)
{
	host::Socket l(*net);
	unsigned char b[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
	struct rds_addr one, two;

	memcpy(&one, b, sizeof(one));
	b[15] = 2;
	memcpy(&two, b, sizeof(two));
	ASSERT_EQ(l.bind(endpoint(one, 4000)), 0);
	ASSERT_EQ(l.send(endpoint(two, 5000), pattern(10)), 0);
	sim::run_ready();
	add(host::addr4(3));
	net->core()->conns.for_each([](const rds::Conn &c) { EXPECT_FALSE(c.astray.load()); });
}

/* Sockets look up again only after a move. */
TEST_F(Addrs, OthersKeepTheirConnections)
{
	EXPECT_EQ(sent_away(a2), 0u);
	EXPECT_EQ(sent_away(remote), 1u);

	const uint64_t before = net->core()->conns.generation();

	add(host::addr4(3));
	EXPECT_EQ(net->core()->conns.generation(), before);
	remove(a2);
	EXPECT_GT(net->core()->conns.generation(), before);
}

/* No transport can tell at the moment: nothing changes. */
TEST_F(Addrs, NobodyKnows)
{
	static int answer;
	struct rds_transport asked = *fake::ops();

	asked.type = 0; /* as well as any */
	EXPECT_EQ(sent_away(a2), 0u);
	rds_transport_unregister(fake::ops());
	asked.laddr_check = [](struct rds_os_net *, const struct rds_addr *, uint32_t) {
		return answer;
	};
	ASSERT_EQ(rds_transport_register(&asked), 0);
	answer = -12;
	add(host::addr4(3));
	EXPECT_FALSE(conns_to(a2)[0]->astray.load());
	answer = -99;
	add(host::addr4(3));
	EXPECT_TRUE(conns_to(a2)[0]->astray.load());
	answer = -12;
	add(host::addr4(3));
	EXPECT_TRUE(conns_to(a2)[0]->astray.load());
	answer = 1; /* for who asks for it */
	add(host::addr4(3));
	EXPECT_FALSE(conns_to(a2)[0]->astray.load());
	rds_transport_unregister(&asked);
	ASSERT_EQ(rds_transport_register(fake::ops()), 0);
}

/* A new address of IPv6 is ours some time after the host was told of it: there are many looks, and
 * there is a last one. */
TEST_F(Addrs, TheyAreLookedAtForSomeTime)
{
	EXPECT_EQ(sent_away(remote), 1u);
	rds_net_addrs_changed(net->core());
	sim::run_for(rds::kAddrsSettleNs - rds::kAddrsAgainNs);
	EXPECT_FALSE(conns_to(remote)[0]->astray.load());
	net->add_quietly(remote);
	sim::run_for(2 * rds::kAddrsAgainNs);
	EXPECT_TRUE(conns_to(remote)[0]->astray.load());
	net->remove_quietly(remote);
	sim::run_for(rds::kAddrsSettleNs);
	EXPECT_TRUE(conns_to(remote)[0]->astray.load()) << "nobody has told of it";
}

/* A namespace without connections looks at nothing, until there is the first. */
TEST_F(Addrs, TheFirstConnectionIsLookedAt)
{
	rds_net_addrs_changed(net->core());
	sim::run_for(rds::kAddrsSettleNs / 2);
	EXPECT_EQ(sent_away(remote), 1u);
	net->add_quietly(remote);
	sim::run_for(rds::kAddrsSettleNs / 4);
	EXPECT_TRUE(conns_to(remote)[0]->astray.load());
	net->remove_quietly(remote);
	sim::run_for(rds::kAddrsSettleNs);
	EXPECT_FALSE(conns_to(remote)[0]->astray.load());
	net->add_quietly(remote);
	sim::run_for(rds::kAddrsSettleNs);
	EXPECT_FALSE(conns_to(remote)[0]->astray.load()) << "nobody has told of it";
}

} // namespace
