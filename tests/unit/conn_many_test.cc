// SPDX-License-Identifier: GPL-2.0
/* More connections than are looked at in one step: by the sweep, when a map changes, by a socket
 * that closes, for a snapshot. */
#include <algorithm>
#include <map>
#include <numeric>

#include "fan_fixture.h"

namespace
{

using fake::Wire;
using fake::wires;
using host::endpoint;
using host::Socket;
using rds::PathState;

constexpr uint64_t kMs = 1000 * 1000;
/* Their table has 512 buckets. */
constexpr unsigned int kMany = 300;
static_assert(kMany > 4 * rds::kMapStep && kMany > rds::kSweepStep && kMany < rds::kSweepBatch);

class ConnMany : public FanTest
{
protected:
	void SetUp() override
	{
		FanTest::SetUp();
		s->sock().sndbuf = 1 << 30;
		asked_ = 0;
		host::on_event = [](const struct rds_path *, unsigned int e, unsigned int) {
			asked_ += e == RDS_EV_idle;
		};
	}
	void TearDown() override
	{
		host::on_event = nullptr;
		FanTest::TearDown();
	}
	static struct rds_endpoint there(unsigned int i, uint16_t port = 5000)
	{
		return endpoint(host::addr4(100 + i), port);
	}
	/* Connections to so many hosts of ours, up, with nothing to say. */
	void meet(unsigned int many)
	{
		for (unsigned int i = 0; i < many; i++) {
			ASSERT_EQ(s->send(there(i), pattern(10)), 0);
			sim::run_ready();
			ASSERT_EQ(wires().size(), i + 1);
			up(*wires()[i]);
			ASSERT_EQ(hello(*wires()[i], 1, 0), RDS_RECV_SKIP);
			peer_has(*wires()[i], 1);
		}
	}
	/* A port of ours fills. */
	void fill(uint16_t port)
	{
		rds::CongMap &m = map_at(a1);

		ASSERT_TRUE(m.ensure_bits(RDS_MAY_SLEEP).ok());
		ASSERT_TRUE(m.set(port));
		rds::CongTable::local_changed(*net->core(), m, port, true);
	}
	/* Of the peer's ports @port is full, or none (0). */
	static void peer_map(Wire &w, uint16_t port)
	{
		host::Bytes bits(rds::kCongMapBytes);

		if (port)
			bits[port / 8] |= static_cast<unsigned char>(1 << port % 8);
		EXPECT_EQ(fake::arrive(w.path, 0, 0, 0, bits, rds::wire::kCongBitmap), 0);
	}
	/* A message waits for port @port of the @i-th host, and the path goes on. */
	void wait_for(unsigned int i, uint16_t port)
	{
		Wire &w = *wires()[i];

		w.room = 0;
		ASSERT_EQ(s->send(there(i, port), pattern(10)), 0);
		peer_map(w, port);
		sim::run_ready();
		w.room = SIZE_MAX;
		rds_path_writable(w.path);
		sim::run_ready();
		ASSERT_TRUE(w.path->holds(port)) << i;
	}
	/* The last map that went over @w: is @port full? */
	static bool was_told(const Wire &w, uint16_t port)
	{
		bool full = false;

		for (const auto &f : fake::frames(w.sent))
			if (f.data.size() == rds::kCongMapBytes)
				full = f.data[port / 8] >> port % 8 & 1;
		return full;
	}
	/* Destination ports of all that is queued from port @from, sent or not. */
	std::vector<uint16_t> queued(uint16_t from)
	{
		struct Found {
			uint16_t from;
			std::vector<uint16_t> ports;
		} found = {from, {}};

		for (auto q : {RDS_QUEUE_SEND, RDS_QUEUE_RETRANS})
			host::info_messages(
				net->core(), q,
				[](void *arg, const struct rds_msg_info *i) {
					auto *f = static_cast<Found *>(arg);

					if (i->lport == f->from)
						f->ports.push_back(i->fport);
				},
				&found);
		return found.ports;
	}

	static unsigned int asked_;
};
unsigned int ConnMany::asked_;

/* The task that changes it tells some, a work item the others. */
TEST_F(ConnMany, AllGetOurMap)
{
	meet(kMany);
	fill(7);
	sim::run_ready();
	for (Wire *w : wires())
		EXPECT_TRUE(was_told(*w, 7));
}

/* A bucket becomes two while the walk is in its midst, and has met some of its second half, which
 * is more than those. */
TEST_F(ConnMany, AVisitMeetsEachOnceWhileTheTableGrows)
{
	constexpr uint32_t kFew = rds::kHashMinBuckets, kHalf = kFew, kHash = 2 * kFew - 1;
	rds::ConnTable &conns = net->core()->conns;
	std::map<const rds::Conn *, unsigned int> met;
	bool grown = false;

	meet(kFew);
	for (const Wire *w : wires())
		met[&w->path->conn] = 0;

	const auto all = met;
	auto splits = [&](const rds::Conn &c) {
		return c.node.hash & kHalf && std::ranges::any_of(all, [&](const auto &o) {
			       return !met[o.first] &&
				      !((o.first->node.hash ^ c.node.hash) & kHash);
		       });
	};

	for (uint64_t pos = 0; pos < rds::kWalkEnd;)
		pos = conns.visit(pos, [&](const rds::Conn &c) {
			met[&c]++;
			EXPECT_FALSE(c.refs.only_one()) << "nothing keeps it";
			if (!grown && splits(c)) {
				grown = true;
				EXPECT_EQ(s->send(there(kFew), pattern(10)), 0);
			}
		});
	EXPECT_TRUE(grown);
	for (const auto &[c, none] : all)
		EXPECT_EQ(met[c], 1u);
}

/* A change while the one before it is told. */
TEST_F(ConnMany, AllGetTheLatestMap)
{
	meet(kMany);
	for (unsigned int i = 0; i < kMany; i += 7)
		wires()[i]->on_xmit = [this, i] { fill(static_cast<uint16_t>(100 + i)); };
	fill(7);
	sim::run_for(3 * rds::kMapPauseNs); /* who has got the first may wait for others */
	for (Wire *w : wires()) {
		EXPECT_TRUE(was_told(*w, 7));
		for (unsigned int i = 0; i < kMany; i += 7)
			EXPECT_TRUE(was_told(*w, static_cast<uint16_t>(100 + i)));
	}
}

/* A change when some of those are told that the work item tells: they are told of it, too. */
TEST_F(ConnMany, AChangeInTheMidstOfARound)
{
	long n = 0;

	meet(kMany);
	fill(7);
	ASSERT_TRUE(sim::run_until(
		[&] {
			n = std::count_if(wires().begin(), wires().end(),
					  [](const Wire *w) { return was_told(*w, 7); });
			return n >= kMany / 2;
		},
		kMs));
	ASSERT_LT(n, static_cast<long>(kMany)) << "the round is not over";
	fill(8);
	sim::run_for(3 * rds::kMapPauseNs);
	for (const Wire *w : wires())
		EXPECT_TRUE(was_told(*w, 8));
}

/* Messages wait for a port of each of many hosts, and each says in its turn that it is clear. */
TEST_F(ConnMany, EachPeersPortIsNoticed)
{
	constexpr unsigned int kStep = 10;

	meet(kMany);
	for (unsigned int i = 0; i < kMany; i += kStep)
		wait_for(i, 5001);
	for (unsigned int i = 0; i < kMany; i += kStep) {
		Wire &w = *wires()[i];

		peer_map(w, 0);
		sim::run_ready();
		EXPECT_FALSE(w.path->holds(5001)) << i;
		EXPECT_EQ(numbers(w).size(), 2u) << i;
	}
}

/* Our map changes, and while that is told some peers': all are told, and all goes on. */
TEST_F(ConnMany, BothKindsOfMapsChange)
{
	meet(kMany);
	for (unsigned int i = 0; i < kMany; i += 30) {
		Wire &w = *wires()[i];

		wait_for(i, 5001);
		w.on_xmit = [&w] { peer_map(w, 0); };
	}
	fill(7);
	sim::run_ready();
	for (unsigned int i = 0; i < kMany; i++) {
		EXPECT_TRUE(was_told(*wires()[i], 7)) << i;
		EXPECT_FALSE(wires()[i]->path->holds(5001)) << i;
	}
}

/* One look finds all that are idle, however large their table is. */
TEST_F(ConnMany, AllThatAreIdleEnd)
{
	rds_net_tunables(net->core())->idle_timeout_ms = 60000;
	meet(kMany);
	ASSERT_TRUE(sim::run_until([] { return asked_; }, 100 * 1000 * kMs));
	sim::run_ready();
	EXPECT_EQ(asked_, kMany);
}

/* ... and makes as much room as there has to be, and no more. */
TEST_F(ConnMany, SoManyMakeRoomAsHaveTo)
{
	constexpr uint32_t kMost = 200;
	int handle;

	rds_net_tunables(net->core())->idle_timeout_ms = 0;
	rds_net_tunables(net->core())->max_passive = kMost;
	fake::defaults().initiates = false;
	for (unsigned int i = 0; i < kMany; i++) {
		struct rds_addr faddr = there(i).addr;
		int err;
		struct rds_conn *c =
			rds_conn_get(net->core(), fake::ops(), &a1, &faddr, 0, 0, &err);

		ASSERT_NE(c, nullptr);
		rds_path_accepted(rds_conn_path(c, 0), &handle);
		sim::run_ready();
		rds_conn_put(c);
		ASSERT_EQ(fake::arrive(wires()[i]->path, 1, 5000, 4000, pattern(10)), 0);
	}
	for (unsigned int i = 0; i < 100; i++) {
		sim::run_for(1000 * kMs);
		ASSERT_GE(net->core()->passive.load(), kMost);
	}
	EXPECT_EQ(net->core()->passive.load(), kMost);
	EXPECT_EQ(net->stat(RDS_S_conn_evicted), kMany - kMost);
}

/* Its messages go with a socket, and nobody else's do, be there few hosts that it has sent to or
 * more than it keeps a list of. */
TEST_F(ConnMany, ACloseTakesWhatIsItsOwn)
{
	constexpr unsigned int kMore = rds::kMaxSentTo + 3;

	for (unsigned int hosts : {1u, 3u, rds::kMaxSentTo, kMore}) {
		auto other = std::make_unique<Socket>(*net);

		ASSERT_EQ(other->bind(endpoint(a1, 4001)), 0);
		for (unsigned int i = 0; i < hosts; i++) {
			ASSERT_EQ(other->send(there(i), pattern(10)), 0);
			ASSERT_EQ(s->send(there(i), pattern(10)), 0);
		}
		sim::run_ready();
		ASSERT_EQ(queued(4001).size(), hosts);
		ASSERT_EQ(queued(4000).size(), hosts);
		other.reset();
		EXPECT_TRUE(queued(4001).empty()) << hosts;
		EXPECT_EQ(queued(4000).size(), hosts);
		rds_socket_cancel(s->core(), nullptr);
		EXPECT_TRUE(queued(4000).empty()) << hosts;
	}
}

/* The queue behind its last message is others', however long it is. */
TEST_F(ConnMany, ACloseLooksNoFurtherThanItsLastMessage)
{
	constexpr unsigned int kSteps = 20;
	auto first = std::make_unique<Socket>(*net);

	ASSERT_EQ(first->bind(endpoint(a1, 4001)), 0);
	ASSERT_EQ(first->send(there(0), pattern(10)), 0);
	for (unsigned int i = 0; i < kSteps * rds::kQueueStep; i++)
		ASSERT_EQ(s->send(there(0), pattern(1)), 0);
	sim::run_ready();

	const uint64_t locks = sim::spin_locks();

	first.reset();
	EXPECT_LT(sim::spin_locks() - locks, kSteps);
	EXPECT_TRUE(queued(4001).empty());
	EXPECT_EQ(queued(4000).size(), kSteps * rds::kQueueStep);
}

/* One message stays, which a transport has, and the room of notes that nobody reads: the search for
 * more ends all the same. */
TEST_F(ConnMany, ACancelEndsThoughSomethingStays)
{
	constexpr uint32_t kNote = 64;

	for (unsigned int i = 0; i < rds::kMaxSentTo + 3; i++)
		ASSERT_EQ(s->send(there(i), pattern(10)), 0);
	sim::run_ready();
	s->core()->snd_space.grow(kNote);

	rds_path *first = wires()[0]->path;

	wires()[0]->on_xmit = [this] { rds_socket_cancel(s->core(), nullptr); };
	rds_path_connected(first);
	sim::run_ready();
	EXPECT_EQ(fake::frames(wires()[0]->sent).back().data, pattern(10));
	EXPECT_TRUE(queued(4000).empty());
	s->core()->snd_space.give(s->core(), 0, kNote);
}

/* Messages for one host and port, for which no list is needed. */
TEST_F(ConnMany, OneDestinationIsCancelled)
{
	constexpr unsigned int kMore = rds::kMaxSentTo + 3;

	for (unsigned int i = 0; i < kMore; i++)
		for (uint16_t port : {6001, 6002})
			ASSERT_EQ(s->send(there(i, port), pattern(10)), 0);
	for (unsigned int i = 0; i < kMore; i++) {
		struct rds_endpoint to = there(i, 6002);

		rds_socket_cancel(s->core(), &to);
		EXPECT_EQ(queued(4000).size(), 2 * kMore - 1 - i);
	}
	EXPECT_EQ(queued(4000), std::vector<uint16_t>(kMore, 6001));
}

template <typename T>
void note_peer(void *all, const T *i)
{
	static_cast<std::vector<struct rds_addr> *>(all)->push_back(i->faddr);
}

/* Connections may come between two steps of a snapshot. */
TEST_F(ConnMany, ASnapshotIsTakenInSteps)
{
	constexpr unsigned int kThere = 40;
	std::vector<struct rds_addr> conns, paths;
	uint64_t conn = 0, path = 0;
	unsigned int met = kThere;

	meet(kThere);
	while (conn != RDS_INFO_END || path != RDS_INFO_END) {
		if (conn != RDS_INFO_END)
			conn = rds_info_conns(net->core(), conn, note_peer, &conns);
		if (path != RDS_INFO_END)
			path = rds_info_paths(net->core(), path, note_peer, &paths);
		for (int n = 0; n < 2 && met < kMany; n++)
			ASSERT_EQ(s->send(there(met++), pattern(10)), 0);
	}
	EXPECT_GT(met, 2 * rds::kHashMinBuckets) << "the table has grown";
	for (const auto *all : {&conns, &paths})
		for (unsigned int i = 0; i < kMany; i++) {
			auto times = std::count_if(all->begin(), all->end(), [i](const auto &a) {
				return rds::same_addr(a, there(i).addr);
			});

			EXPECT_LE(times, 1) << i;
			EXPECT_TRUE(times || i >= kThere) << i;
		}
}

/* However many and however short their pauses: the kernel's threads are not one namespace's. */
TEST_F(ConnMany, HostsThatAreNotThereAreCalledByTurns)
{
	std::vector<size_t> calls;
	const uint64_t begin = rds_now_ns();

	fake::defaults().connect_result = -113;
	rds_net_tunables(net->core())->reconnect_max_ms = 1;
	for (unsigned int i = 0; i < kMany; i++)
		ASSERT_EQ(s->send(there(i), pattern(10)), 0);
	sim::run_for(2000 * kMs);

	const uint64_t most = (rds_now_ns() - begin) / rds::kTurnNs + 1;

	for (Wire *w : wires())
		calls.push_back(static_cast<size_t>(
			std::count(w->calls.begin(), w->calls.end(), "connect")));
	ASSERT_EQ(calls.size(), kMany);

	const size_t all = std::accumulate(calls.begin(), calls.end(), size_t{0});

	/* Each was called twice before it had to wait for a turn, and one of a thousand random
	 * parts of a millisecond is none. */
	EXPECT_LE(all, most + 2 * kMany + most / 250);
	EXPECT_GE(all, most - kMany);
	/* Nobody is forgotten. */
	EXPECT_GE(*std::min_element(calls.begin(), calls.end()), most / kMany / 2);
}

/* A few wait no longer than their pauses. */
TEST_F(ConnMany, AFewWaitForNoTurn)
{
	fake::defaults().connect_result = -113;
	rds_net_tunables(net->core())->reconnect_max_ms = 10;
	for (unsigned int i = 0; i < 5; i++)
		ASSERT_EQ(s->send(there(i), pattern(10)), 0);
	sim::run_for(2000 * kMs);
	for (Wire *w : wires())
		EXPECT_GE(w->calls.size() / 2, 2000u / 10);
}

/* A peer that knocks, is called, and ends, again and again, is called as often as it knocks; its
 * calls that fail take no turns of others. */
TEST_F(ConnMany, APeerThatKnocksAllTheTimeTakesOneTurn)
{
	constexpr unsigned int kKnocks = 2000;
	unsigned int calls = 0;

	fake::defaults().initiates = true;
	ASSERT_EQ(s->send(there(0), pattern(10)), 0);
	sim::run_ready();

	Wire &w = *wires()[0];

	for (unsigned int i = 0; i < kKnocks; i++) {
		rds_path_knocked(w.path);
		sim::run_ready();
		if (w.path->state() != PathState::kConnecting)
			continue;
		calls++;
		up(w);
		ASSERT_EQ(hello(w, 1, 0), RDS_RECV_SKIP);
		rds_path_drop(w.path, RDS_DROP_ERROR);
		sim::run_ready();
		/* It is called at once, for it was of use, and is not there. */
		if (w.path->state() == PathState::kConnecting)
			rds_path_drop(w.path, RDS_DROP_CONNECT);
		sim::run_ready();
	}
	EXPECT_GT(calls, kKnocks / 2);

	const uint64_t turn = net->core()->next_turn_ns.load(), now = rds_now_ns();

	EXPECT_LE(turn, now + 2 * rds::kTurnNs);
	rds_socket_cancel(s->core(), nullptr);
}

} // namespace
