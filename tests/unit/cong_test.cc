// SPDX-License-Identifier: GPL-2.0
#include <unordered_map>

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using host::endpoint;
using host::Socket;
using rds::CongMap;
using rds::CongTable;
using rds::Whose;

class Cong : public CoreTest
{
protected:
	void TearDown() override
	{
		let_go();
		CoreTest::TearDown();
	}
	/* All addresses are link-local from now on: fe80::1, fe80::2 and fe80::9 as they lie in
	 * memory. */
	void live_on_links()
	{
		a1 = {{0x80fe, 1ull << 56}};
		a2 = {{0x80fe, 2ull << 56}};
		remote = {{0x80fe, 9ull << 56}};
		net = std::make_unique<host::Net>(std::vector<struct rds_addr>{a1, a2});
	}
	/* Until the end of the test, or let_go(). */
	CongMap &hold(const struct rds_addr &a, uint32_t scope = 0, Whose whose = Whose::kPeers)
	{
		CongMap *m = table().get(a, scope, whose, net->core()->key);

		EXPECT_NE(m, nullptr);
		held_.push_back(m);
		return *m;
	}
	/* That of sockets here. */
	CongMap &ours(const struct rds_addr &a, uint32_t scope = 0)
	{
		return hold(a, scope, Whose::kOurs);
	}
	/* A peer's with room for bits. */
	CongMap &map(const struct rds_addr &a, uint32_t scope = 0)
	{
		CongMap &m = hold(a, scope);

		EXPECT_TRUE(m.ensure_bits(RDS_MAY_SLEEP).ok());
		return m;
	}
	void let_go()
	{
		for (CongMap *m : held_)
			table().put(*m);
		held_.clear();
	}
	CongTable &table()
	{
		return net->core()->cong;
	}

private:
	std::vector<CongMap *> held_;
};

/* Also of a version that it had before it kept an account of them. */
TEST_F(Cong, ANewMapKnowsOfNoChange)
{
	CongMap &m = ours(a1);

	ASSERT_TRUE(m.ensure_bits(RDS_MAY_SLEEP).ok());
	for (uint32_t version = 0; version < 2 * rds::kMapLog; version++) {
		rds::wire::MapChanges none;

		EXPECT_FALSE(m.changes(version - 1, version, none)) << version;
		EXPECT_EQ(none.n, 0);
	}
}

TEST_F(Cong, BitsAreOneAPort)
{
	CongMap &m = map(remote);
	uint32_t v = m.version();

	EXPECT_FALSE(m.test(0));
	for (uint32_t port : {0u, 1u, 63u, 64u, 4000u, 65535u}) {
		auto p = static_cast<uint16_t>(port);

		EXPECT_TRUE(m.set(p));
		EXPECT_FALSE(m.set(p));
		EXPECT_TRUE(m.test(p));
		EXPECT_FALSE(m.test(static_cast<uint16_t>(p ^ 2)));
		EXPECT_TRUE(m.clear(p));
		EXPECT_FALSE(m.clear(p));
	}
	EXPECT_EQ(m.version(), v + 12);
}

TEST_F(Cong, AMapWithoutBitsIsAllClear)
{
	CongMap *m = &hold(remote);
	host::Bytes words(8192, 0xff);

	EXPECT_FALSE(m->test(5));
	EXPECT_FALSE(m->set(5));
	EXPECT_FALSE(m->clear(0));
	EXPECT_FALSE(m->clear(5));
	m->snapshot(reinterpret_cast<uint64_t *>(words.data()));
	EXPECT_EQ(words, host::Bytes(8192));
	sim::fail_nth(1);
	EXPECT_TRUE(m->ensure_bits(RDS_MAY_SLEEP).is(rds::err::kEnomem));
}

/* On the wire port p is bit p % 8 of byte p / 8. */
TEST_F(Cong, SnapshotIsTheWiresOrder)
{
	CongMap &m = map(remote);
	host::Bytes words(8192);

	m.set(4001);
	m.snapshot(reinterpret_cast<uint64_t *>(words.data()));
	for (size_t i = 0; i < words.size(); i++)
		ASSERT_EQ(words[i], i == 4001 / 8 ? 1 << (4001 % 8) : 0) << i;
}

TEST_F(Cong, ReplaceTellsWhatCleared)
{
	CongMap &m = map(remote);
	host::Bytes words(8192);

	m.set(10);
	m.set(20);
	words[20 / 8] = 1 << (20 % 8);
	words[30 / 8] = 1 << (30 % 8);

	uint32_t v = m.version();

	ASSERT_TRUE(m.replace(reinterpret_cast<uint64_t *>(words.data())).ok());
	EXPECT_EQ(m.version(), v + 1);
	EXPECT_FALSE(m.test(10));
	EXPECT_TRUE(m.test(20));
	EXPECT_TRUE(m.test(30));
	EXPECT_EQ(words[10 / 8], 1 << (10 % 8));
	EXPECT_EQ(words[20 / 8], 0);
	EXPECT_EQ(words[30 / 8], 0);
}

/* any() is asked for every batch, test() only where it says yes: whatever changes a bit changes
 * both. */
TEST_F(Cong, AnyIsWhetherABitIsSet)
{
	CongMap &m = map(remote);
	host::Bytes words(8192);
	auto agrees = [&] {
		bool some = false;

		for (uint32_t port = 0; port < 65536; port++)
			some |= m.test(port);
		return some == m.any();
	};

	EXPECT_FALSE(m.any());
	m.set(7);
	m.set(7);
	m.set(8);
	m.set(4001);
	EXPECT_TRUE(m.any());
	m.clear(7);
	m.clear(7);
	m.clear(4001);
	EXPECT_TRUE(m.any());
	m.clear(8);
	EXPECT_FALSE(m.any());
	for (uint32_t round = 0; round < 20; round++) {
		words[round % 3 * 8] = round % 4 ? round : 0;

		host::Bytes sent = words; /* replace() leaves in it what cleared */

		ASSERT_TRUE(m.replace(reinterpret_cast<uint64_t *>(sent.data())).ok());
		ASSERT_TRUE(agrees()) << round;
	}
	m.clear_all();
	EXPECT_FALSE(m.any());
	EXPECT_TRUE(agrees());
}

TEST_F(Cong, OneMapAnAddress)
{
	EXPECT_EQ(&map(remote), &map(remote));
	EXPECT_NE(&map(remote), &map(a1));

	host::Net other({a1});

	CongMap *theirs = other.core()->cong.get(remote, 0, Whose::kPeers, other.core()->key);

	EXPECT_NE(theirs, &map(remote));
	other.core()->cong.put(*theirs);
}

/* Addresses that have one hash are still two. */
TEST_F(Cong, OneMapAnAddressOfOneHash)
{
	std::unordered_map<uint32_t, struct rds_addr> seen;
	struct rds_addr a = remote, twin = remote;

	for (uint64_t n = 1; n < 1000000 && rds::same_addr(a, twin); n++) {
		a.w[0] = n;

		const uint64_t words[] = {a.w[0], a.w[1],
					  static_cast<uint64_t>(Whose::kPeers) << 32};

		twin = seen.try_emplace(rds::hash_words(words, 3, net->core()->key), a)
			       .first->second;
	}
	ASSERT_FALSE(rds::same_addr(a, twin));

	CongMap &one = hold(a), &other = hold(twin);

	EXPECT_EQ(one.node.hash, other.node.hash) << "no test of this";
	EXPECT_NE(&one, &other);
	EXPECT_TRUE(rds::same_addr(one.addr, a) && rds::same_addr(other.addr, twin));
}

/* A neighbour on one interface has the link-local address that is ours on another. */
TEST_F(Cong, OneMapAScope)
{
	constexpr uint32_t kOurs = 2, kTheirs = 3;
	host::Bytes full(rds::kCongMapBytes, 0xff);
	int err;

	live_on_links();

	Socket s(*net);

	EXPECT_EQ(&ours(a1, kOurs), &ours(a1, kOurs));
	EXPECT_NE(&ours(a1, kOurs), &ours(a1, kTheirs));
	EXPECT_NE(&ours(a1, kOurs), &ours(a1));
	ASSERT_EQ(s.bind(endpoint(a1, 4000, kOurs)), 0);
	EXPECT_EQ(s.core()->lcong, &ours(a1, kOurs));
	fake::set_caps(0); /* loopback does not stand in */

	struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &a2, &a1, kTheirs, 0, &err);

	ASSERT_NE(c, nullptr);
	EXPECT_EQ(c->fcong, &hold(a1, kTheirs));
	EXPECT_EQ(c->lcong, &ours(a2, kTheirs));
	ASSERT_TRUE(c->fcong->replace(reinterpret_cast<uint64_t *>(full.data())).ok());
	EXPECT_FALSE(s.core()->lcong->any()) << "all our ports are full";
	rds_conn_put(c);
}

/* A sender waits for the port of the connection that it has. */
TEST_F(Cong, AScopesWaiterIsWokenByItsMap)
{
	constexpr uint32_t kScope = 2;

	live_on_links();

	Socket s(*net);

	ASSERT_EQ(s.bind(endpoint(a1, 4000, kScope)), 0);
	ASSERT_EQ(s.send(endpoint(remote, 5000, kScope), pattern(10)), 0);

	CongMap &m = map(remote, kScope);

	m.set(5000);
	EXPECT_EQ(s.send(endpoint(remote, 5000, kScope), pattern(10)), -105);
	CongTable::lost_peer(*net->core(), m);
	EXPECT_EQ(s.sock().woken_cong.load(), 1u);
	EXPECT_EQ(s.send(endpoint(remote, 5000, kScope), pattern(10)), 0);
}

TEST_F(Cong, WakesWhoWaitsForThePortAndNobodyElse)
{
	Socket w(*net), x(*net);
	CongMap &m = map(remote);

	m.set(10);
	m.set(11);
	EXPECT_TRUE(table().wait(w.core()->watch, m, 10).is(rds::err::kEnobufs));
	EXPECT_TRUE(table().wait(w.core()->watch, m, 10).is(rds::err::kEnobufs));
	EXPECT_TRUE(table().wait(x.core()->watch, m, 11).is(rds::err::kEnobufs));
	m.clear(10);
	CongTable::local_changed(*net->core(), m, 10, false);
	EXPECT_EQ(w.sock().woken_cong.load(), 1u);
	EXPECT_EQ(w.sock().woken_read.load(), 1u) << "whoever polls, for whatever";
	EXPECT_EQ(w.sock().woken_write.load(), 1u);
	EXPECT_EQ(x.sock().woken.load(), 0u);
	/* Woken once: it has to ask again. */
	CongTable::local_changed(*net->core(), m, 10, false);
	EXPECT_EQ(w.sock().woken_cong.load(), 1u);
}

TEST_F(Cong, DoesNotWaitForAPortThatIsClear)
{
	Socket w(*net);

	EXPECT_TRUE(table().wait(w.core()->watch, map(remote), 10).ok());
	sim::fail_nth(1);
	EXPECT_TRUE(table().wait(w.core()->watch, map(remote), 11).is(rds::err::kEnomem));
}

TEST_F(Cong, WaitsForAnyPortBeyondItsLimit)
{
	Socket w(*net);
	CongMap &m = map(remote);

	for (uint16_t p = 0; p < rds::kMaxCongWaits + 5; p++) {
		m.set(p);
		EXPECT_TRUE(table().wait(w.core()->watch, m, p).is(rds::err::kEnobufs));
	}
	EXPECT_EQ(w.core()->watch.n_waits, rds::kMaxCongWaits);
	m.clear(rds::kMaxCongWaits + 3);
	CongTable::local_changed(*net->core(), m, rds::kMaxCongWaits + 3, false);
	EXPECT_EQ(w.sock().woken_cong.load(), 1u);
	/* Once, until it asks again. */
	CongTable::local_changed(*net->core(), m, rds::kMaxCongWaits + 3, false);
	EXPECT_EQ(w.sock().woken_cong.load(), 1u);
	/* And of any host. */
	EXPECT_TRUE(
		table().wait(w.core()->watch, m, rds::kMaxCongWaits + 4).is(rds::err::kEnobufs));
	CongTable::local_changed(*net->core(), map(a2), 10, false);
	EXPECT_EQ(w.sock().woken_cong.load(), 2u);
	EXPECT_EQ(w.core()->watch.n_waits, rds::kMaxCongWaits);
}

/* Several that wait for too many: one is closed, the others are woken by all that clears a port. */
TEST_F(Cong, SeveralWaitForAnyPort)
{
	CongMap &m = map(remote), &other = map(a2);
	rds::Message *clear = CongTable::make_update(map(host::addr4(77)));

	rds::wire::MapChanges change;

	ASSERT_NE(clear, nullptr);
	ASSERT_TRUE(change.add(10, false));
	for (int how = 0; how < 5; how++) {
		std::vector<std::unique_ptr<Socket>> all;

		other.set(10);
		for (int i = 0; i < 3; i++)
			all.push_back(std::make_unique<Socket>(*net));
		for (uint16_t p = 0; p < rds::kMaxCongWaits + 5; p++) {
			m.set(p);
			for (auto &w : all)
				EXPECT_TRUE(table().wait(w->core()->watch, m, p)
						    .is(rds::err::kEnobufs));
		}
		/* A socket that waits for any has met them all. */
		for (auto &w : all)
			EXPECT_TRUE(
				table().wait(w->core()->watch, other, 10).is(rds::err::kEnobufs));
		all.erase(all.begin() + 1);
		if (how == 0) {
			CongTable::lost_peer(*net->core(), other);
		} else if (how == 1) {
			EXPECT_TRUE(CongTable::received(*net->core(), other, *clear).ok());
		} else if (how == 2) {
			CongTable::local_changed(*net->core(), other, 10, false);
		} else if (how == 3) {
			EXPECT_TRUE(CongTable::heard(*net->core(), other, change).ok());
		}
		for (auto &w : all)
			EXPECT_EQ(w->sock().woken_cong.load(), how < 4) << how;
		all.clear();
		CongTable::lost_peer(*net->core(), m);
	}
	rds::message_put(clear);
}

/* Sockets that wait again as soon as they are woken are not woken again by the same change. */
TEST_F(Cong, AChangeWakesOnce)
{
	constexpr unsigned int kSockets = 64;
	constexpr uint16_t kPorts = rds::kMaxCongWaits + 1;
	CongMap &m = map(remote);
	auto wait_for = [&](Socket &s, uint16_t port) {
		EXPECT_TRUE(table().wait(s.core()->watch, m, port).is(rds::err::kEnobufs));
	};

	for (uint64_t seed = 0; seed < 20; seed++) {
		std::vector<std::unique_ptr<Socket>> all;

		for (uint16_t p = 0; p < kPorts; p++)
			m.set(p);
		for (unsigned int i = 0; i < kSockets; i++) {
			all.push_back(std::make_unique<Socket>(*net));
			for (uint16_t p = 0; p < kPorts; p++)
				wait_for(*all[i], p);
		}
		sim::options().preempt_per_1000 = 500;
		for (auto &s : all)
			sim::spawn("waiter", [&] {
				sim::wait_until([&] { return s->sock().woken_cong.load(); });
				wait_for(*s, kPorts - 1); /* it is one too many again */
			});
		sim::spawn("clearer",
			   [&] { CongTable::local_changed(*net->core(), map(a2), 10, false); });
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		for (auto &s : all)
			EXPECT_EQ(s->sock().woken_cong.load(), 1u) << "seed " << seed;
	}
}

/* The same port of many hosts. */
TEST_F(Cong, WakesNoOtherHostsWaiters)
{
	constexpr unsigned int kHosts = 400;
	std::vector<std::unique_ptr<Socket>> all;

	for (unsigned int i = 0; i < kHosts; i++) {
		CongMap &m = map(host::addr4(100 + i));

		m.set(10);
		all.push_back(std::make_unique<Socket>(*net));
		ASSERT_TRUE(table().wait(all[i]->core()->watch, m, 10).is(rds::err::kEnobufs));
	}
	for (unsigned int i = 0; i < kHosts; i++) {
		CongMap &m = map(host::addr4(100 + i));

		EXPECT_EQ(all[i]->sock().woken_cong.load(), 0u) << i;
		m.clear(10);
		CongTable::local_changed(*net->core(), m, 10, false);
		EXPECT_EQ(all[i]->sock().woken_cong.load(), 1u) << i;
	}
}

/* Two ports clear at once, and sockets that watch both are closed meanwhile. */
TEST_F(Cong, TwoWakeMonitorsAtOnce)
{
	constexpr unsigned int kMonitors = 40;
	CongMap &m = map(remote);

	for (uint64_t seed = 0; seed < 60; seed++) {
		std::vector<std::unique_ptr<Socket>> all;

		for (unsigned int i = 0; i < kMonitors; i++) {
			all.push_back(std::make_unique<Socket>(*net));
			rds_socket_set_cong_monitor(all[i]->core(), 1, ~0ull);
		}
		sim::options().preempt_per_1000 = 300;
		for (uint16_t port : {10, 11}) {
			m.set(port);
			sim::spawn("clearer", [&, port] {
				m.clear(port);
				CongTable::local_changed(*net->core(), m, port, false);
			});
		}
		sim::spawn("closer", [&] {
			for (unsigned int i = 0; i < kMonitors; i += 2)
				all[i].reset();
		});
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		for (unsigned int i = 1; i < kMonitors; i += 2) {
			EXPECT_EQ(rds_socket_cong_notice(all[i]->core()), 3ull << 10);
			EXPECT_GE(all[i]->sock().woken_read.load(), 1u);
		}
	}
}

/* Sockets that wait for one port are closed: the others are still found. */
TEST_F(Cong, AnyOfThoseThatWaitMayLeave)
{
	constexpr unsigned int kSockets = 6;
	CongMap &m = map(remote);

	for (unsigned int gone = 0; gone < 1u << kSockets; gone++) {
		std::vector<std::unique_ptr<Socket>> all;

		m.set(10);
		for (unsigned int i = 0; i < kSockets; i++) {
			all.push_back(std::make_unique<Socket>(*net));
			ASSERT_TRUE(
				table().wait(all[i]->core()->watch, m, 10).is(rds::err::kEnobufs));
		}
		for (unsigned int i = 0; i < kSockets; i++)
			if (gone >> i & 1)
				all[i].reset();
		m.clear(10);
		CongTable::local_changed(*net->core(), m, 10, false);
		for (unsigned int i = 0; i < kSockets; i++)
			EXPECT_TRUE(!all[i] || all[i]->sock().woken_cong.load() == 1)
				<< "the " << i << "th, without " << gone;
	}
}

/* Many ports of two hosts share the lists in which waiters are found. */
TEST_F(Cong, WakesNobodyElse)
{
	constexpr uint16_t kPorts = 3 * rds::kCongIndexLists;
	CongMap *maps[] = {&map(remote), &map(a2)};
	std::vector<std::unique_ptr<Socket>> all;

	for (CongMap *m : maps)
		for (uint16_t p = 0; p < kPorts; p++) {
			m->set(p);
			all.push_back(std::make_unique<Socket>(*net));
			ASSERT_TRUE(table().wait(all.back()->core()->watch, *m, p)
					    .is(rds::err::kEnobufs));
		}
	for (unsigned int i = 0; i < all.size(); i += 5) {
		CongMap &m = *maps[i / kPorts];
		auto port = static_cast<uint16_t>(i % kPorts);

		m.clear(port);
		CongTable::local_changed(*net->core(), m, port, false);
	}
	for (unsigned int i = 0; i < all.size(); i++)
		EXPECT_EQ(all[i]->sock().woken_cong.load(), i % 5 == 0) << i;
	CongTable::lost_peer(*net->core(), *maps[1]);
	for (unsigned int i = 0; i < all.size(); i++)
		EXPECT_EQ(all[i]->sock().woken_cong.load(), i % 5 == 0 || i >= kPorts) << i;
}

TEST_F(Cong, WakesMoreWaitersThanOneBatch)
{
	std::vector<std::unique_ptr<Socket>> all;
	CongMap &m = map(remote);

	m.set(10);
	for (int i = 0; i < 100; i++) {
		all.push_back(std::make_unique<Socket>(*net));
		rds_socket_set_cong_monitor(all.back()->core(), 1, 1ull << 10);
		EXPECT_TRUE(table().wait(all.back()->core()->watch, m, 10).is(rds::err::kEnobufs));
	}
	m.clear(10);
	CongTable::local_changed(*net->core(), m, 10, false);
	for (auto &s : all) {
		EXPECT_EQ(s->sock().woken_cong.load(), 1u);
		EXPECT_EQ(rds_socket_cong_notice(s->core()), 1ull << 10);
	}
}

/* On twice is on, off twice is off. */
TEST_F(Cong, AMonitorIsOneOrNot)
{
	Socket a(*net), b(*net), never(*net);
	CongMap &m = map(remote);
	auto clear = [&] {
		m.set(10);
		m.clear(10);
		CongTable::local_changed(*net->core(), m, 10, false);
	};

	rds_socket_set_cong_monitor(never.core(), 0, ~0ull);
	for (int i = 0; i < 2; i++) {
		rds_socket_set_cong_monitor(a.core(), 1, ~0ull);
		rds_socket_set_cong_monitor(b.core(), 1, ~0ull);
	}
	clear();
	EXPECT_EQ(a.sock().woken_read.load(), 1u);
	EXPECT_EQ(b.sock().woken_read.load(), 1u);
	EXPECT_EQ(never.sock().woken.load(), 0u);
	for (int i = 0; i < 2; i++)
		rds_socket_set_cong_monitor(a.core(), 0, ~0ull);
	rds_socket_cong_notice_done(b.core(), ~0ull);
	clear();
	EXPECT_EQ(a.sock().woken_read.load(), 1u);
	EXPECT_EQ(b.sock().woken_read.load(), 2u);
}

/* A wait and a clear at the same time: woken, or told at once. */
TEST_F(Cong, NeverMissesAClear)
{
	CongMap &m = map(remote);

	for (uint64_t seed = 0; seed < 300; seed++) {
		auto w = std::make_unique<Socket>(*net);
		bool told = false;

		m.set(10);
		sim::options().preempt_per_1000 = 300;
		sim::spawn("waiter", [&] {
			told = !table().wait(w->core()->watch, m, 10).is(rds::err::kEnobufs);
		});
		sim::spawn("clearer", [&] {
			m.clear(10);
			CongTable::local_changed(*net->core(), m, 10, false);
		});
		sim::run_ready();
		ASSERT_TRUE(told || w->sock().woken_cong.load()) << "seed " << seed;
	}
}

/* A peer's map goes with the connection: a socket that waits for any of its ports may try again. */
TEST_F(Cong, ALostPeerHasNoFullPorts)
{
	CongMap &m = map(remote), &other = map(a2);
	Socket s(*net), monitor(*net);

	m.set(300);
	m.set(301);
	other.set(300);
	ASSERT_EQ(s.bind(endpoint(a1, 1000)), 0);
	rds_socket_set_cong_monitor(monitor.core(), 1, 1ull << (301 % 64));
	EXPECT_TRUE(table().wait(s.core()->watch, m, 300).is(rds::err::kEnobufs));
	CongTable::lost_peer(*net->core(), m);
	EXPECT_FALSE(m.test(300));
	EXPECT_FALSE(m.test(301));
	EXPECT_TRUE(other.test(300));
	EXPECT_EQ(s.sock().woken_cong, 1u);
	EXPECT_EQ(rds_socket_cong_notice(monitor.core()), 1ull << (301 % 64));
	CongTable::lost_peer(*net->core(), m);
	EXPECT_EQ(s.sock().woken_cong, 1u);
}

/* A monitor without a mask is told of a port that it was refused, once. */
TEST_F(Cong, AnArmedMonitorIsToldOnce)
{
	CongMap &m = map(remote);
	Socket s(*net);
	rds::CongWatch &w = s.core()->watch;
	uint64_t mask;
	int on;

	m.set(300);
	EXPECT_TRUE(CongTable::arm_monitor(w, m, 300)) << "it is none yet";
	rds_socket_set_cong_monitor(s.core(), 1, 0);
	CongTable::lost_peer(*net->core(), m);
	EXPECT_EQ(rds_socket_cong_notice(s.core()), 0u);
	EXPECT_FALSE(CongTable::arm_monitor(w, m, 300)) << "the port is clear";
	rds_socket_set_cong_monitor(s.core(), 0, 0);
	rds_socket_set_cong_monitor(s.core(), 1, 0);
	m.set(300);
	EXPECT_TRUE(CongTable::arm_monitor(w, m, 300));
	/* Switched on once more it knows what it knew. */
	rds_socket_set_cong_monitor(s.core(), 1, 0);
	rds_socket_cong_monitor(s.core(), &on, &mask);
	EXPECT_EQ(mask, 1ull << 300 % 64);
	CongTable::lost_peer(*net->core(), m);
	EXPECT_EQ(rds_socket_cong_notice(s.core()), 1ull << 300 % 64);
	rds_socket_cong_notice_done(s.core(), ~0ull);
	rds_socket_cong_monitor(s.core(), &on, &mask);
	EXPECT_EQ(mask, 0u);
	m.set(300);
	CongTable::lost_peer(*net->core(), m);
	EXPECT_EQ(rds_socket_cong_notice(s.core()), 0u) << "it has not asked again";
	/* A mask of its own stays. */
	rds_socket_set_cong_monitor(s.core(), 1, 1ull << 300 % 64);
	for (int i = 0; i < 2; i++) {
		m.set(300);
		CongTable::lost_peer(*net->core(), m);
		EXPECT_EQ(rds_socket_cong_notice(s.core()), 1ull << 300 % 64);
		rds_socket_cong_notice_done(s.core(), ~0ull);
	}
}

/* Whom nobody here has sent to may fill and clear his ports as he likes, and come and go. */
TEST_F(Cong, AStrangersMapWakesNobody)
{
	host::Bytes full(rds::kCongMapBytes, 0xff), clear(rds::kCongMapBytes);
	Socket monitor(*net), s(*net);
	int err, handle = 0;
	auto says = [&](const host::Bytes &bits) {
		EXPECT_EQ(fake::arrive(fake::wire().path, 0, 0, 0, bits, rds::wire::kCongBitmap),
			  0);
	};

	fake::defaults().initiates = false;
	ASSERT_EQ(s.bind(endpoint(a1, 4000)), 0);
	rds_socket_set_cong_monitor(monitor.core(), 1, ~0ull);

	struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &a1, &remote, 0, 0, &err);

	ASSERT_NE(c, nullptr);
	rds_path_accepted(rds_conn_path(c, 0), &handle);
	sim::run_ready();
	says(full);
	EXPECT_TRUE(c->fcong->test(5000));
	says(clear);
	says(full);
	CongTable::lost_peer(*net->core(), *c->fcong);
	EXPECT_FALSE(c->fcong->test(5000));
	EXPECT_EQ(rds_socket_cong_notice(monitor.core()), 0u);
	EXPECT_EQ(monitor.sock().woken.load(), 0u);
	/* No stranger any more. */
	EXPECT_EQ(s.send(endpoint(remote, 5000), pattern(10)), 0);
	sim::run_ready();
	says(full);
	says(clear);
	EXPECT_EQ(rds_socket_cong_notice(monitor.core()), ~0ull);
	EXPECT_EQ(monitor.sock().woken_read.load(), 1u);
	rds_conn_put(c);
}

/* 65536 ports clear at once, again and again, as fast as the peer sends. */
TEST_F(Cong, AMapWithoutWaitersIsCheap)
{
	CongMap &m = map(remote), &one = map(host::addr4(78));
	Socket w(*net);
	rds::Message *clear = CongTable::make_update(map(host::addr4(77)));
	uint64_t rounds = 0;
	auto brings = [&](rds::Message *bits) {
		host::Bytes full(rds::kCongMapBytes, 0xff);

		ASSERT_TRUE(m.replace(reinterpret_cast<uint64_t *>(full.data())).ok());
		rounds = sim::spin_locks();
		EXPECT_TRUE(CongTable::received(*net->core(), m, *bits).ok());
		rounds = sim::spin_locks() - rounds;
	};

	m.wanted.store(true);
	one.set(7);

	rds::Message *still = CongTable::make_update(one);

	ASSERT_TRUE(clear && still);
	brings(clear);
	EXPECT_LE(rounds, 16u) << "nobody waits";
	m.set(7);
	EXPECT_TRUE(table().wait(w.core()->watch, m, 7).is(rds::err::kEnobufs));
	brings(still);
	EXPECT_LE(rounds, 16u) << "of the ports that clear none is waited for";
	EXPECT_EQ(w.sock().woken_cong.load(), 0u);
	brings(clear);
	EXPECT_LE(rounds, 16u);
	EXPECT_EQ(w.sock().woken_cong.load(), 1u);
	rds::message_put(clear);
	rds::message_put(still);
}

/* Few are looked up by their port, of many it is asked who waits. */
TEST_F(Cong, AMapWakesWhosePortsItClears)
{
	constexpr unsigned int kSockets = 100;
	CongMap &m = map(remote), &next = map(host::addr4(77));

	for (unsigned int stride : {1u, 2u, 20u, 60u, 200u}) {
		std::vector<std::unique_ptr<Socket>> all;

		next.clear_all();
		for (unsigned int i = 0; i < kSockets; i++) {
			auto port = static_cast<uint16_t>(1000 + i);

			m.set(port);
			if (i % stride)
				next.set(port);
			all.push_back(std::make_unique<Socket>(*net));
			ASSERT_TRUE(table().wait(all[i]->core()->watch, m, port)
					    .is(rds::err::kEnobufs));
		}

		rds::Message *news = CongTable::make_update(next);

		ASSERT_NE(news, nullptr);
		EXPECT_TRUE(CongTable::received(*net->core(), m, *news).ok());
		rds::message_put(news);
		for (unsigned int i = 0; i < kSockets; i++)
			EXPECT_EQ(all[i]->sock().woken_cong.load(), i % stride == 0)
				<< "port " << i << " of every " << stride;
	}
}

/* Once for each connection from another address of ours: the second changes nothing. */
TEST_F(Cong, TheSameMapTwiceIsNoNews)
{
	CongMap &m = map(remote), &full = map(host::addr4(77));

	full.set(10);

	rds::Message *news = CongTable::make_update(full);
	uint32_t v = m.version();

	ASSERT_NE(news, nullptr);
	EXPECT_TRUE(CongTable::received(*net->core(), m, *news).ok());
	EXPECT_TRUE(m.test(10));
	EXPECT_EQ(m.version(), v + 1);
	EXPECT_TRUE(CongTable::received(*net->core(), m, *news).ok());
	EXPECT_TRUE(m.test(10));
	EXPECT_EQ(m.version(), v + 1);
	rds::message_put(news);
}

TEST_F(Cong, UpdatesAreWholeMaps)
{
	CongMap &m = map(a1);

	m.set(9);

	rds::Message *u = CongTable::make_update(m);

	ASSERT_NE(u, nullptr);
	EXPECT_EQ(u->len, 8192u);
	EXPECT_EQ(u->hdr.flags, rds::wire::kCongBitmap);
	EXPECT_EQ(rds::wire::get64(u->hdr.sequence), 0u);
	rds::message_put(u);
	for (unsigned int nth = 1; nth <= 3; nth++) {
		sim::fail_nth(nth);
		EXPECT_EQ(CongTable::make_update(m), nullptr);
	}
}

/* Beyond so many ports a socket waits for any: no more memory is taken for it. */
TEST_F(Cong, SoManyPortsOfOneSocketAreWaitedFor)
{
	CongMap &m = map(remote);
	Socket s(*net);

	ASSERT_EQ(s.bind(endpoint(a1, 4000)), 0);

	size_t before = host::usage().blocks;

	for (uint32_t n = 1; n <= 2 * rds::kMaxCongWaits; n++) {
		auto port = static_cast<uint16_t>(100 + n);

		m.set(port);
		EXPECT_TRUE(table().wait(s.core()->watch, m, port).is(rds::err::kEnobufs));
		EXPECT_EQ(host::usage().blocks - before,
			  1 + std::min<size_t>(n, rds::kMaxCongWaits))
			<< "the index, and one for each";
	}
}

/* The first news of two at once. */
TEST_F(Cong, TwoMakeRoomForBitsAtOnce)
{
	for (unsigned int host = 60; host < 80; host++) {
		CongMap *m = &hold(host::addr4(host));

		sim::options().preempt_per_1000 = 400;
		for (int i = 0; i < 4; i++)
			sim::spawn("bits", [m] {
				EXPECT_TRUE(m->ensure_bits(RDS_MAY_SLEEP).ok());
				m->set(7);
			});
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		EXPECT_TRUE(m->test(7));
	}
}

/* Somebody who has it, a waiter too, keeps it with its bits; nobody, and it is gone. */
TEST_F(Cong, AMapGoesWithItsLast)
{
	Socket s(*net);

	map(a2).set(1);
	EXPECT_TRUE(table().wait(s.core()->watch, map(a2), 1).is(rds::err::kEnobufs));
	table().forget(s.core()->watch); /* the index of waiters is there from now on */
	let_go();
	sim::run_ready();

	size_t blocks = host::usage().blocks;

	EXPECT_EQ(table().count(), 0u);
	map(remote).set(10);
	EXPECT_EQ(&hold(remote), &hold(remote));
	EXPECT_TRUE(table().wait(s.core()->watch, hold(remote), 10).is(rds::err::kEnobufs));
	let_go();
	sim::run_ready();
	EXPECT_EQ(table().count(), 1u);
	EXPECT_TRUE(hold(remote).test(10)) << "it is the waiter's";
	let_go();
	table().forget(s.core()->watch);
	/* Nobody's, and not yet reaped. */
	EXPECT_FALSE(hold(remote).test(10));
	sim::run_ready();
	EXPECT_EQ(table().count(), 1u) << "the new one stays";
	EXPECT_EQ(&hold(remote), &hold(remote));
	let_go();
	sim::run_ready();
	EXPECT_EQ(table().count(), 0u);
	EXPECT_EQ(host::usage().blocks, blocks);
}

/* It would have leaked as long as the namespace was there. */
TEST_F(Cong, AMapThatIsNotGivenBackIsABug)
{
	for (bool kept : {false, true}) {
		auto other = std::make_unique<host::Net>(std::vector<struct rds_addr>{a1});
		CongTable &maps = other->core()->cong;
		CongMap *m = maps.get(remote, 0, Whose::kPeers, other->core()->key);

		ASSERT_NE(m, nullptr);
		if (!kept)
			maps.put(*m);
		other.reset();
		EXPECT_EQ(told(), kept ? "a map is left that somebody has" : "");
	}
}

/* The table's mutex is not for softirqs. */
TEST_F(Cong, TheLastIsAWaiterWokenInASoftirq)
{
	Socket s(*net);

	for (uint16_t many : {1, 40}) {
		CongMap *m = &map(remote);

		for (uint16_t p = 0; p < many; p++) {
			m->set(p);
			EXPECT_TRUE(table().wait(s.core()->watch, *m, p).is(rds::err::kEnobufs));
		}
		let_go();
		sim::spawn(
			"lost",
			[&] {
				rds::RcuReader rcu;

				CongTable::lost_peer(*net->core(), *m);
			},
			sim::Context::kSoftirq);
		sim::run_ready();
		EXPECT_EQ(s.core()->watch.n_waits, 0u);
		EXPECT_EQ(table().count(), 0u);
	}
	EXPECT_EQ(s.sock().woken_cong.load(), 41u);
}

/* One is given back, as the others get it. */
TEST_F(Cong, AMapComesAndGoesAtOnce)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		sim::options().preempt_per_1000 = 400;
		for (int i = 0; i < 4; i++)
			sim::spawn("user", [&] {
				for (int n = 0; n < 3; n++) {
					CongMap *m = table().get(remote, 0, Whose::kPeers,
								 net->core()->key);

					ASSERT_NE(m, nullptr);
					EXPECT_TRUE(m->ensure_bits(RDS_MAY_SLEEP).ok());
					table().put(*m);
				}
			});
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		ASSERT_EQ(table().count(), 0u) << "seed " << seed;
	}
}

/* All of 127/8 is ours: an unprivileged user may try every address of it. */
TEST_F(Cong, AFailedBindLeavesNoMap)
{
	Socket taken(*net), s(*net);

	ASSERT_EQ(taken.bind(endpoint(a2, 4000)), 0);
	EXPECT_EQ(s.bind(endpoint(a2, 4000)), -98);
	taken.close();
	sim::run_ready();
	EXPECT_EQ(table().count(), 0u);
	/* The map, its bits. */
	for (unsigned int nth = 1; nth <= 2; nth++) {
		sim::fail_nth(nth);
		EXPECT_EQ(s.bind(endpoint(a2, 4000)), -12);
		sim::run_ready();
		EXPECT_EQ(table().count(), 0u) << nth;
	}
	EXPECT_EQ(s.bind(endpoint(a2, 4000)), 0);
	EXPECT_EQ(table().count(), 1u);
	s.close();
	sim::run_ready();
	EXPECT_EQ(table().count(), 0u);
}

/* A port of an address is full as long as its socket does not read, whoever else comes and goes. */
TEST_F(Cong, AnothersCloseLeavesAFullPort)
{
	auto full = std::make_unique<Socket>(*net), other = std::make_unique<Socket>(*net);

	ASSERT_EQ(full->bind(endpoint(a1, 4000)), 0);
	ASSERT_EQ(other->bind(endpoint(a1, 4001)), 0);
	ours(a1).set(4000);
	let_go();
	other.reset();
	sim::run_ready();
	EXPECT_TRUE(ours(a1).test(4000));
	ours(a1).clear(4000);
	let_go();
	full.reset();
	sim::run_ready();
	EXPECT_EQ(table().count(), 0u);
}

/* That nothing is full takes no memory. */
TEST_F(Cong, AnEmptyMapNeedsNoRoom)
{
	CongMap *m = &hold(remote);
	size_t blocks = host::usage().blocks;
	uint64_t words[rds::kCongMapWords] = {};

	EXPECT_TRUE(m->replace(words).ok());
	EXPECT_EQ(host::usage().blocks, blocks);
	words[3] = 1;
	EXPECT_TRUE(m->replace(words).ok());
	EXPECT_EQ(host::usage().blocks, blocks + 2) << "bits, and the log of changes";
}

} // namespace
