// SPDX-License-Identifier: GPL-2.0
#include <array>

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/socket/socket.h"
#include "net/rds/transports.h"

namespace
{

using host::endpoint;
using host::Socket;

class Transports : public CoreTest
{
};

struct rds_addr parse(std::initializer_list<unsigned char> bytes)
{
	struct rds_addr a = {};

	memcpy(&a, std::data(bytes), std::min(bytes.size(), sizeof(a)));
	return a;
}

TEST_F(Transports, KnowsLoopbackAddresses)
{
	EXPECT_TRUE(
		rds::is_loopback(parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1})));
	EXPECT_TRUE(
		rds::is_loopback(parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 9, 9, 9})));
	EXPECT_TRUE(rds::is_loopback(parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})));
	EXPECT_FALSE(rds::is_loopback(parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2})));
	EXPECT_FALSE(rds::is_loopback(parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127, 0, 0, 1})));
	EXPECT_FALSE(rds::is_loopback(a1));
}

TEST_F(Transports, OneOfEachType)
{
	struct rds_transport copy = *fake::ops();

	EXPECT_EQ(rds_transport_register(&copy), -17);
	copy.type = 4; /* there are so many */
	EXPECT_EQ(rds_transport_register(&copy), -17);
	copy.type = 77;
	EXPECT_EQ(rds_transport_register(&copy), -17);
}

/* It is another one after each change, and never 0, which is "never looked". */
TEST_F(Transports, TheStampIsOddAndNew)
{
	const unsigned int before = rds_transports_stamp();

	EXPECT_TRUE(before & 1);
	rds_transport_unregister(fake::ops());

	const unsigned int gone = rds_transports_stamp();

	EXPECT_TRUE(gone & 1 && gone != before);
	ASSERT_EQ(rds_transport_register(fake::ops()), 0);
	EXPECT_TRUE(rds_transports_stamp() & 1 && rds_transports_stamp() != gone);
}

TEST_F(Transports, OneThatIsBeingUnloadedIsNotFound)
{
	Socket s(*net);

	fake::module().dying = true;
	EXPECT_EQ(s.bind(endpoint(a1, 4000)), -99);
	EXPECT_EQ(rds_socket_set_transport(s.core(), 2), -92);
	fake::module().dying = false;
	EXPECT_EQ(s.bind(endpoint(a1, 4000)), 0);
}

TEST_F(Transports, WithoutLoopbackLocalDestinationsAreUnreachable)
{
	Socket s(*net), t(*net);
	struct rds_addr own = parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1});

	rds_transport_unregister(loop);
	EXPECT_EQ(s.bind(endpoint(own, 4000)), -99);
	ASSERT_EQ(t.bind(endpoint(a1, 4000)), 0);
	EXPECT_EQ(t.send(endpoint(a2, 4000), pattern(1)), -101);
	ASSERT_EQ(rds_transport_register(loop), 0);
	EXPECT_EQ(t.send(endpoint(a2, 4000), pattern(1)), 0);
	sim::run_ready();
}

TEST_F(Transports, NoConnectionOverOneThatIsBeingUnloaded)
{
	Socket s(*net);

	ASSERT_EQ(s.bind(endpoint(a1, 4000)), 0);
	fake::module().dying = true;
	EXPECT_EQ(s.send(endpoint(remote, 1), pattern(1)), -100);
	fake::module().dying = false;
	EXPECT_EQ(s.send(endpoint(remote, 1), pattern(1)), 0);
}

TEST_F(Transports, NoConnectionInANamespaceThatGoes)
{
	Socket s(*net);

	ASSERT_EQ(s.bind(endpoint(a1, 4000)), 0);
	net->core()->dying.store(true);
	EXPECT_EQ(s.send(endpoint(remote, 1), pattern(1)), -100);
	net->core()->dying.store(false);
}

/* A transport that accepts while a namespace ends gets nothing: each that it got would be waited
 * for. */
TEST_F(Transports, NoConnectionIsAcceptedInANamespaceThatGoes)
{
	struct rds_addr another = host::addr4(98);
	int err = 0;
	struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &a1, &remote, 0, 0, &err);
	struct rds_net *core = net->core();
	bool gone = false;

	ASSERT_NE(c, nullptr);
	sim::spawn("exit", [&] {
		net.reset();
		gone = true;
	});
	for (int i = 0; i < 300; i++)
		sim::step();
	ASSERT_FALSE(gone) << "somebody has a connection of it";
	EXPECT_EQ(rds_conn_get(core, fake::ops(), &a1, &another, 0, 0, &err), nullptr);
	EXPECT_EQ(err, -100);
	rds_conn_put(c);
	sim::run_ready();
	EXPECT_TRUE(gone);
}

/* Each bit of an address that is none of loopback's. */
TEST_F(Transports, NearlyLoopbackIsNot)
{
	for (auto own : {parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 1, 2, 3}),
			 parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})}) {
		bool v4 = own.w[1] != parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}).w[1];

		EXPECT_TRUE(rds::is_loopback(own));
		for (unsigned int bit = 0; bit < 128; bit++) {
			struct rds_addr a = own;

			reinterpret_cast<unsigned char *>(&a)[bit / 8] ^=
				static_cast<unsigned char>(0x80 >> bit % 8);
			EXPECT_EQ(rds::is_loopback(a), v4 && bit >= 104) << v4 << ' ' << bit;
		}
	}
}

/* Its module is pinned while a socket has chosen it, and by nothing that was only asked. */
TEST_F(Transports, PinsAreGivenBack)
{
	struct rds_addr own = parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1});
	int before = fake::module().refs.load();

	{
		Socket s(*net), t(*net);

		EXPECT_EQ(s.bind(endpoint(remote, 4000)), -99);
		EXPECT_EQ(fake::module().refs.load(), before);
		EXPECT_EQ(loop_module.refs.load(), 0);
		EXPECT_EQ(s.bind(endpoint(a1, 4000)), 0);
		EXPECT_EQ(fake::module().refs.load(), before + 1);
		EXPECT_EQ(t.bind(endpoint(own, 4000)), 0);
		EXPECT_EQ(loop_module.refs.load(), 1);
		EXPECT_EQ(s.send(endpoint(a2, 1), pattern(1)), 0);
		EXPECT_EQ(s.send(endpoint(remote, 1), pattern(1)), 0);
		sim::run_ready();
		EXPECT_EQ(fake::module().refs.load(), before + 1);
		EXPECT_EQ(loop_module.refs.load(), 1);
		rds_transport_stats(
			net->os(), [](void *, const char *, uint64_t) {}, nullptr);
		EXPECT_EQ(fake::module().refs.load(), before + 1);
	}
	EXPECT_EQ(fake::module().refs.load(), before);
	EXPECT_EQ(loop_module.refs.load(), 0);
}

/* Which types there are, and which module brings each. */
TEST_F(Transports, AskedForByType)
{
	static std::string asked;
	Socket s(*net);

	host::on_module_request = [](const char *name, int for_all) {
		asked += std::string(name) + (for_all ? ", for all " : " ");
	};
	EXPECT_EQ(rds_socket_set_transport(s.core(), 0), -92);
	EXPECT_EQ(rds_socket_set_transport(s.core(), 1), -92);
	EXPECT_EQ(rds_socket_set_transport(s.core(), 3), -92)
		<< "loopback is chosen by the address";
	EXPECT_EQ(rds_socket_set_transport(s.core(), 4), -92);
	EXPECT_EQ(asked, "rds_rdma ");
	asked.clear();
	rds_transport_unregister(fake::ops());
	EXPECT_EQ(rds_socket_set_transport(s.core(), 2), -92);
	EXPECT_EQ(asked, "rds_tcp ");
	asked.clear();
	rds_transport_unregister(loop);
	EXPECT_EQ(s.bind(endpoint(parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}),
				  4000)),
		  -99);
	EXPECT_EQ(asked, "rds_loop, for all ");
	host::on_module_request = nullptr;
	ASSERT_EQ(rds_transport_register(loop), 0);
	ASSERT_EQ(rds_transport_register(fake::ops()), 0);
	EXPECT_EQ(rds_socket_set_transport(s.core(), 2), 0);
}

/* Another transport's connections are not its own. */
TEST_F(Transports, UnregisterAndResetLeaveTheOthers)
{
	Socket s(*net);
	auto conns = [this] {
		unsigned int n = 0;

		net->core()->conns.for_each([&](rds::Conn &) { n++; });
		return n;
	};

	ASSERT_EQ(s.bind(endpoint(a1, 10)), 0);
	ASSERT_EQ(s.send(endpoint(a2, 1), pattern(1)), 0);
	ASSERT_EQ(s.send(endpoint(remote, 1), pattern(1)), 0);
	sim::run_ready();
	rds_path_connected(fake::wire().path);
	sim::run_ready();
	ASSERT_EQ(conns(), 3u);
	rds_transport_net_reset(net->core(), loop);
	sim::run_ready();
	EXPECT_EQ(fake::wire().history(), "connect");
	rds_transport_net_exit(net->core(), fake::ops());
	EXPECT_EQ(conns(), 2u);
	rds_transport_unregister(loop);
	EXPECT_EQ(conns(), 0u);
	ASSERT_EQ(rds_transport_register(loop), 0);
}

TEST_F(Transports, CountersOfAllAreTold)
{
	static const char *const names[] = {"fish", "fowl"};
	static std::array<const char *, 64> kMany;
	struct rds_transport counting = *fake::ops(), boasting = *fake::ops(), many = *loop;
	std::string seen;

	counting.type = 0;
	counting.owner = nullptr;
	counting.n_stats = 2;
	counting.stat_names = names;
	counting.stats = [](struct rds_os_net *, uint64_t *v) {
		v[0] = 7;
		v[1] = 8;
	};
	boasting = counting;
	boasting.type = 1;
	boasting.n_stats = 65; /* more than there is room for: left out */
	many.type = 3;
	many.n_stats = 64;
	many.stat_names = kMany.data();
	many.stats = [](struct rds_os_net *, uint64_t *v) { v[63] = 9; };
	kMany.fill("x");
	kMany[63] = "last";
	ASSERT_EQ(rds_transport_register(&counting), 0);
	ASSERT_EQ(rds_transport_register(&boasting), 0);
	rds_transport_unregister(loop);
	ASSERT_EQ(rds_transport_register(&many), 0);
	rds_transport_stats(
		net->os(),
		[](void *arg, const char *name, uint64_t v) {
			if (v)
				*static_cast<std::string *>(arg) += name + std::to_string(v) + " ";
		},
		&seen);
	EXPECT_EQ(seen, "fish7 fowl8 last9 ");
	rds_transport_unregister(&many);
	ASSERT_EQ(rds_transport_register(loop), 0);
	rds_transport_unregister(&boasting);
	rds_transport_unregister(&counting);
}

TEST_F(Transports, UnregisterTakesTheConnectionsWithIt)
{
	int err;
	struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &a1, &remote, 0, 0, &err);

	ASSERT_NE(c, nullptr);
	rds_conn_put(c);
	EXPECT_EQ(fake::wires().size(), 1u);
	rds_transport_unregister(fake::ops());
	EXPECT_TRUE(fake::wires().empty());
	ASSERT_EQ(rds_transport_register(fake::ops()), 0);
}

TEST_F(Transports, ResetDropsEveryPathOfOneNamespace)
{
	host::Net other({a1});
	Socket s(*net), t(other);

	ASSERT_EQ(s.bind(endpoint(a1, 1)), -22);
	ASSERT_EQ(s.bind(endpoint(a1, 10)), 0);
	ASSERT_EQ(t.bind(endpoint(a1, 10)), 0);
	ASSERT_EQ(s.send(endpoint(remote, 1), pattern(1)), 0);
	ASSERT_EQ(t.send(endpoint(remote, 1), pattern(1)), 0);
	sim::run_ready();
	for (auto *w : fake::wires())
		rds_path_connected(w->path);
	sim::run_ready();
	rds_transport_net_reset(other.core(), fake::ops());
	sim::run_ready();
	EXPECT_EQ(fake::wires()[0]->history(), "connect");
	EXPECT_EQ(fake::wires()[1]->history(), "connect shutdown");

	/* One namespace's, of one transport: here loopback has a path, too. */
	std::vector<struct rds_path *> met;
	auto meet = [](void *arg, struct rds_path *path) {
		static_cast<std::vector<struct rds_path *> *>(arg)->push_back(path);
	};

	ASSERT_EQ(s.send(endpoint(a2, 1), pattern(1)), 0);
	rds_transport_net_paths(net->core(), fake::ops(), meet, &met);
	ASSERT_EQ(met.size(), 1u);
	EXPECT_EQ(met[0], fake::wires()[0]->path);
}

TEST_F(Transports, NamespacesNeedMemory)
{
	for (unsigned int nth = 1; nth <= 4; nth++) {
		struct rds_stats st;

		sim::fail_nth(nth);
		EXPECT_EQ(rds_net_create(net->os(), &st), nullptr);
	}
}

TEST_F(Transports, DefaultsOfTheTunables)
{
	const struct rds_tunables &t = *rds_net_tunables(net->core());

	EXPECT_EQ(t.reconnect_min_ms, 1u);
	EXPECT_EQ(t.reconnect_max_ms, 1000u);
	EXPECT_EQ(t.max_unacked_packets, 8u);
	EXPECT_EQ(t.max_unacked_bytes, 16u << 20);
	EXPECT_EQ(t.ping_enable, 1u);
	EXPECT_EQ(t.max_passive, 4096u);
	EXPECT_EQ(t.idle_timeout_ms, 300000u);
}

/* A transport that is like the fake one, of another type, and serves what @check says. */
struct rds_transport like_fake(unsigned int type,
			       int (*check)(struct rds_os_net *, const struct rds_addr *, uint32_t))
{
	struct rds_transport t = *fake::ops();

	t.type = static_cast<decltype(t.type)>(type);
	t.laddr_check = check;
	return t;
}

int serves_none(struct rds_os_net *, const struct rds_addr *, uint32_t)
{
	return -99;
}

/* In the order of their types, if they serve the address. */
TEST_F(Transports, TheFirstThatServesTheAddressIsTaken)
{
	struct rds_transport none = like_fake(0, serves_none),
			     all = like_fake(1, host::laddr_is_local);
	int before = fake::module().refs.load();

	ASSERT_EQ(rds_transport_register(&none), 0);
	ASSERT_EQ(rds_transport_register(&all), 0);
	{
		Socket s(*net);

		EXPECT_EQ(s.bind(endpoint(remote, 4000)), -99);
		ASSERT_EQ(s.bind(endpoint(a1, 4000)), 0);
		EXPECT_EQ(s.core()->trans, &all);
		EXPECT_EQ(fake::module().refs.load(), before + 1);
	}
	rds_transport_unregister(&none);
	none.laddr_check = host::laddr_is_local;
	ASSERT_EQ(rds_transport_register(&none), 0);
	{
		Socket s(*net);

		ASSERT_EQ(s.bind(endpoint(a1, 4000)), 0);
		EXPECT_EQ(s.core()->trans, &none) << "not any more";
	}
	rds_transport_unregister(&all);
	rds_transport_unregister(&none);
	EXPECT_EQ(fake::module().refs.load(), before);
}

int serves_if_asked(struct rds_os_net *, const struct rds_addr *, uint32_t)
{
	return RDS_LADDR_IF_ASKED;
}

int cannot_tell(struct rds_os_net *, const struct rds_addr *, uint32_t)
{
	return -12;
}

/* As an iWARP adapter, which mainline leaves to TCP. */
TEST_F(Transports, OneThatWantsToBeAskedForIsNotTakenUnasked)
{
	struct rds_transport shy = like_fake(0, serves_if_asked);

	ASSERT_EQ(rds_transport_register(&shy), 0);
	{
		Socket unasked(*net), asks(*net);

		ASSERT_EQ(unasked.bind(endpoint(a1, 4000)), 0);
		EXPECT_EQ(unasked.core()->trans, fake::ops());
		ASSERT_EQ(rds_socket_set_transport(asks.core(), 0), 0);
		ASSERT_EQ(asks.bind(endpoint(a1, 4001)), 0);
		EXPECT_EQ(asks.core()->trans, &shy);
	}
	auto found = rds::transport_for(net->os(), shy, a2, a1, 0);

	ASSERT_TRUE(found.ok());
	EXPECT_EQ(found.value(), loop) << "the address is this host's";
	rds_module_put(found.value()->owner);
	rds_transport_unregister(&shy);
}

/* A socket would stay with the next one for its life, and a host of its own be taken for another.
 */
TEST_F(Transports, NoOtherIsTakenForOneThatCannotTell)
{
	struct rds_transport ill = like_fake(0, cannot_tell);
	int before = fake::module().refs.load();

	ASSERT_EQ(rds_transport_register(&ill), 0);
	{
		Socket unasked(*net), asks(*net);

		EXPECT_EQ(unasked.bind(endpoint(a1, 4000)), -12);
		ASSERT_EQ(rds_socket_set_transport(asks.core(), 0), 0);
		EXPECT_EQ(asks.bind(endpoint(a1, 4001)), -12);
	}
	EXPECT_TRUE(rds::transport_for(net->os(), ill, a1, a2, 0).status().is(12));
	auto own = rds::transport_for(net->os(), ill, a1, a1, 0);

	ASSERT_TRUE(own.ok()) << "nobody is asked";
	rds_module_put(own.value()->owner);
	rds_transport_unregister(&ill);
	EXPECT_EQ(fake::module().refs.load(), before);
}

/* Loopback is for its own addresses: nothing else is bound over it, whatever it says. */
TEST_F(Transports, LoopbackIsNotAskedForOtherAddresses)
{
	struct rds_transport every = like_fake(3, host::laddr_is_local);
	Socket s(*net);

	rds_transport_unregister(loop);
	rds_transport_unregister(fake::ops());
	ASSERT_EQ(rds_transport_register(&every), 0);
	EXPECT_EQ(s.bind(endpoint(a1, 4000)), -99);
	rds_transport_unregister(&every);
	ASSERT_EQ(rds_transport_register(loop), 0);
	ASSERT_EQ(rds_transport_register(fake::ops()), 0);
}

/* To ourselves by any of three signs, if the transport wants it so. */
TEST_F(Transports, LocalDestinationsGoOverLoopback)
{
	struct rds_addr own = parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1});
	struct rds_transport away = like_fake(2, serves_none);
	auto over = [&](const struct rds_transport &t, const struct rds_addr &to) {
		auto found = rds::transport_for(net->os(), t, a1, to, 0);

		EXPECT_TRUE(found.ok());
		rds_module_put(found.value()->owner);
		return found.value();
	};

	EXPECT_EQ(over(*fake::ops(), a2), loop);
	EXPECT_EQ(over(*fake::ops(), remote), fake::ops());
	EXPECT_EQ(over(away, a1), loop) << "its own, while the device is away";
	EXPECT_EQ(over(away, own), loop);
	EXPECT_EQ(over(away, a2), &away);
	away.caps = 0;
	EXPECT_EQ(over(away, a1), &away);
	EXPECT_EQ(over(away, own), &away);
	EXPECT_EQ(loop_module.refs.load(), 0);
}

unsigned int conns_of(host::Net &net)
{
	unsigned int n = 0;

	net.core()->conns.for_each([&](rds::Conn &) { n++; });
	return n;
}

/* From a loopback address one reaches this host, and no connection is made to any other. */
TEST_F(Transports, LoopbackReachesNobodyElse)
{
	const struct rds_addr own = parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1});
	const struct rds_addr another =
		parse({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 9, 9, 9});
	const int before = fake::module().refs.load();
	Socket s(*net);

	ASSERT_EQ(s.bind(endpoint(own, 4000)), 0);
	for (unsigned int n = 50; n < 60; n++)
		EXPECT_EQ(s.send(endpoint(host::addr4(n), 4000), pattern(1)), -99);
	EXPECT_EQ(conns_of(*net), 0u);
	for (const struct rds_addr &to : {own, another, a1})
		EXPECT_EQ(s.send(endpoint(to, 4000), pattern(1)), 0);
	sim::run_ready();
	EXPECT_TRUE(s.recv());
	EXPECT_EQ(fake::module().refs.load(), before);
	EXPECT_EQ(loop_module.refs.load(), 1);
}

/* A socket whose device is away still reaches this host's other addresses: loopback's other end,
 * which has that address for its peer's, is made all the same. */
TEST_F(Transports, LoopbackBringsWhatASocketWithoutDeviceSends)
{
	static struct rds_addr away;
	struct rds_transport t = like_fake(0, [](struct rds_os_net *os, const struct rds_addr *addr,
						 uint32_t scope) {
		return rds::same_addr(*addr, away) ? -99 : host::laddr_is_local(os, addr, scope);
	});
	away = {};
	rds_transport_unregister(fake::ops());
	ASSERT_EQ(rds_transport_register(&t), 0);
	{
		Socket s(*net), r(*net);

		ASSERT_EQ(s.bind(endpoint(a1, 4000)), 0);
		ASSERT_EQ(r.bind(endpoint(a2, 4000)), 0);
		away = a1;
		EXPECT_EQ(s.send(endpoint(a2, 4000), pattern(7)), 0);
		sim::run_ready();
		EXPECT_TRUE(r.recv());
	}
	rds_transport_unregister(&t);
	ASSERT_EQ(rds_transport_register(fake::ops()), 0);
}

/* Wherever they are. */
TEST_F(Transports, UnregisterLooksIntoEveryNamespace)
{
	auto more = std::make_unique<host::Net>(std::vector<struct rds_addr>{a1});
	host::Net third({a1});
	int err;

	for (auto *n : {net.get(), more.get(), &third})
		rds_conn_put(rds_conn_get(n->core(), fake::ops(), &a1, &remote, 0, 0, &err));
	EXPECT_EQ(fake::wires().size(), 3u);
	more.reset();
	EXPECT_EQ(fake::wires().size(), 2u);
	rds_transport_unregister(fake::ops());
	EXPECT_TRUE(fake::wires().empty());
	ASSERT_EQ(rds_transport_register(fake::ops()), 0);
}

class TransportsNone : public SimTest
{
};

/* A namespace that ends meanwhile is one of them until it has no connection. */
TEST_F(Transports, UnregisterWaitsForANamespaceThatEnds)
{
	auto other = std::make_unique<host::Net>(std::vector<struct rds_addr>{a1, a2});
	rds_net *core = other->core();
	bool ended = false, unregistered = false;
	int err = 0;
	/* A sender or a worker that is late has it. */
	struct rds_conn *c = rds_conn_get(core, loop, &a1, &a2, 0, 0, &err);

	ASSERT_NE(c, nullptr);
	sim::spawn("namespace", [&] {
		other.reset();
		ended = true;
	});
	for (int i = 0; i < 50; i++)
		sim::step();
	ASSERT_FALSE(ended);
	sim::spawn("rmmod", [&] {
		rds_transport_unregister(loop);
		unregistered = true;
	});
	/* Both look again and again: no time passes. */
	for (int i = 0; i < 500; i++)
		sim::step();
	EXPECT_FALSE(unregistered);
	rds_conn_put(c);
	for (int i = 0; i < 100000 && !(ended && unregistered); i++)
		sim::step();
	EXPECT_TRUE(ended && unregistered);
	ASSERT_EQ(rds_transport_register(loop), 0);
}

TEST_F(TransportsNone, TheRegistryNeedsMemory)
{
	for (unsigned int nth = 1; nth <= 2; nth++) {
		sim::fail_nth(nth);
		EXPECT_EQ(rds_core_init(), -12);
		sim::fail_nth(0);
		rds_core_exit();
		EXPECT_EQ(sim::leftovers(), "") << nth;
	}
	EXPECT_EQ(rds_core_init(), 0);
	rds_core_exit();
	rds_core_exit(); /* nothing is left of it */
}

} // namespace
