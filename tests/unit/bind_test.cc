// SPDX-License-Identifier: GPL-2.0
#include <unordered_map>

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/socket/socket.h"

namespace
{

using host::endpoint;
using host::Socket;

class Bind : public CoreTest
{
protected:
	rds::Socket *find(const struct rds_addr &a, uint16_t port, uint32_t scope = 0)
	{
		rds::RcuReader rcu;

		return net->core()->bind.find(a, scope, port, net->core()->key);
	}
	/* Of @all that have every port of a1 the one goes that is @nth in turn to be looked at, and
	 * comes back: it gets the same port. */
	void finds_the_only_one(uint32_t nth, const std::vector<std::unique_ptr<rds::Socket>> &all)
	{
		rds_net &n = *net->core();
		struct rds_endpoint ep = endpoint(a1, 0);
		uint16_t free;

		sim::reseed(nth + 1);
		free = static_cast<uint16_t>(rds::kFirstPort +
					     (rds_random() % kPorts + nth) % kPorts);
		sim::reseed(nth + 1);
		for (auto &s : all) {
			if (s->bound.port != free)
				continue;
			n.bind.remove(*s);
			EXPECT_TRUE(n.bind.add(*s, ep, n.key, 0).ok()) << nth;
			EXPECT_EQ(ep.port, free);
			break;
		}
	}

	static constexpr uint32_t kPorts = 65536 - rds::kFirstPort;
	rds::User nobody{0}; /* whose the sockets are that are in no namespace */
};

TEST_F(Bind, FindsByAddressScopeAndPort)
{
	Socket s(*net), t(*net);

	ASSERT_EQ(s.bind(endpoint(a1, 7)), 0);
	ASSERT_EQ(t.bind(endpoint(a1, 7, 3)), 0);
	EXPECT_EQ(find(a1, 7), s.core());
	EXPECT_EQ(find(a1, 7, 3), t.core());
	EXPECT_EQ(find(a1, 8), nullptr);
	EXPECT_EQ(find(a2, 7), nullptr);
	EXPECT_EQ(find(a1, 7, 4), nullptr);
	s.close();
	EXPECT_EQ(find(a1, 7), nullptr);
	EXPECT_EQ(find(a1, 7, 3), t.core());
}

/* Two of one hash: who is meant is looked at in full. */
TEST_F(Bind, EndpointsOfOneHashAreTwo)
{
	const rds::HashKey &key = net->core()->key;
	std::unordered_map<uint32_t, struct rds_addr> known;
	struct rds_addr a = a1;
	struct rds_endpoint one, other;
	rds::Socket s(net->core(), nobody), t(net->core(), nobody);

	for (uint32_t i = 0; i < 1000000; i++) {
		a.w[1] = i * 0x9e3779b97f4a7c15ull;

		auto met = known.emplace(rds::hash_addr(a, 7, key), a);

		if (!met.second)
			break;
	}
	one = endpoint(known.at(rds::hash_addr(a, 7, key)), 7);
	other = endpoint(a, 7);
	ASSERT_FALSE(rds::same_addr(one.addr, other.addr));
	ASSERT_TRUE(net->core()->bind.add(s, one, net->core()->key, 0).ok());
	ASSERT_TRUE(net->core()->bind.add(t, other, net->core()->key, 0).ok());
	EXPECT_EQ(find(one.addr, 7), &s);
	EXPECT_EQ(find(other.addr, 7), &t);
	net->core()->bind.remove(s);
	net->core()->bind.remove(t);
}

/* Nobody on another host can tell which port the next socket has. */
TEST_F(Bind, PicksFromARandomPlaceOn)
{
	rds_net &n = *net->core();
	std::vector<std::unique_ptr<rds::Socket>> all;
	unsigned int low = 0, neighbours = 0;
	uint16_t last = 0;

	for (uint32_t i = 0; i < 200; i++) {
		struct rds_endpoint ep = endpoint(a1, 0);

		all.push_back(std::make_unique<rds::Socket>(&n, nobody));
		ASSERT_TRUE(n.bind.add(*all.back(), ep, n.key, 0).ok());
		EXPECT_EQ(find(a1, ep.port), all.back().get()) << "it is told of its port";
		low += ep.port < 32768;
		neighbours += ep.port == last + 1;
		last = ep.port;
	}
	EXPECT_GT(low, 50u);
	EXPECT_LT(low, 150u);
	EXPECT_LT(neighbours, 5u);
	for (auto &s : all)
		n.bind.remove(*s);
}

/* A port that is taken is left to whom it is, with all that the other was bound to. */
TEST_F(Bind, WhoComesSecondGetsNothing)
{
	rds_net &n = *net->core();
	rds::Socket first(&n, nobody), second(&n, nobody);
	struct rds_endpoint ep = endpoint(a1, 7);

	ASSERT_TRUE(n.bind.add(first, ep, n.key, 0).ok());
	EXPECT_TRUE(n.bind.add(second, ep, n.key, 0).is(rds::err::kEaddrinuse));
	EXPECT_EQ(find(a1, 7), &first);
	EXPECT_EQ(n.bind.count(), 1u);
	n.bind.remove(first);
	EXPECT_EQ(find(a1, 7), nullptr);
}

/* Every port of an address, so that picking one has to look at all; then there is none. */
TEST_F(Bind, PicksEveryFreePortAndThenSaysSo)
{
	rds_net &n = *net->core();
	std::vector<std::unique_ptr<rds::Socket>> all;
	std::vector<bool> seen(65536);
	struct rds_endpoint ep;

	/* Those named first leave it few to pick from: it would take seconds to pick all. */
	for (bool named : {true, false}) {
		for (uint32_t i = rds::kFirstPort; i < 65536; i++) {
			if (named == (i % 128 == 5))
				continue;
			all.push_back(std::make_unique<rds::Socket>(&n, nobody));
			ep = endpoint(a1, named ? static_cast<uint16_t>(i) : 0);
			ASSERT_TRUE(n.bind.add(*all.back(), ep, n.key, 0).ok());
			ASSERT_GE(ep.port, rds::kFirstPort);
			ASSERT_FALSE(seen[ep.port]);
			seen[ep.port] = true;
		}
	}
	finds_the_only_one(0, all);
	finds_the_only_one(1, all);
	finds_the_only_one(kPorts - 1, all);

	rds::Socket extra(&n, nobody);

	ep = endpoint(a1, 0);
	EXPECT_TRUE(n.bind.add(extra, ep, n.key, 0).is(rds::err::kEaddrinuse));
	ep = endpoint(a2, 0);
	EXPECT_TRUE(n.bind.add(extra, ep, n.key, 0).ok());
	n.bind.remove(extra);
	for (auto &s : all)
		n.bind.remove(*s);
	EXPECT_EQ(n.bind.count(), 0u);
}

/* Ports that not everybody may have are never picked, though they are free; who names one gets it,
 * for the core does not know who may. */
TEST_F(Bind, PicksNoneThatAPrivilegedSocketMayWant)
{
	constexpr unsigned int kLeast = 65500;
	std::vector<std::unique_ptr<Socket>> all;

	rds_net_tunables(net->core())->unprivileged_port_start = kLeast;
	for (unsigned int i = kLeast; i < 65536; i++) {
		struct rds_endpoint ep;

		all.push_back(std::make_unique<Socket>(*net));
		ASSERT_EQ(all.back()->bind(endpoint(a1, 0)), 0) << i;
		ASSERT_EQ(rds_socket_bound(all.back()->core(), &ep), 1);
		ASSERT_GE(ep.port, kLeast);
	}
	all.push_back(std::make_unique<Socket>(*net));
	EXPECT_EQ(all.back()->bind(endpoint(a1, 0)), -98);
	EXPECT_EQ(all.back()->bind(endpoint(a1, kLeast - 1)), 0);
}

} // namespace
