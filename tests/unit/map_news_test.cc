// SPDX-License-Identifier: GPL-2.0
/* News of congestion maps: ours to a peer, and a peer's to us (net/rds/path/map_news.h). */
#include <bitset>

#include "ack_fixture.h"

namespace
{

using fake::wire;
using rds::wire::MapChanges;
using Bits = std::bitset<65536>;

constexpr uint32_t kCaps = rds::wire::kCapDeliveryAck | rds::wire::kCapChanges;

MapChanges one(uint16_t port, bool full)
{
	MapChanges c;

	EXPECT_TRUE(c.add(port, full));
	return c;
}

/* Our ports as a peer knows them by all that was sent to it, and how it was told. */
struct Knowledge {
	Bits full;
	unsigned int maps = 0, changes = 0, ports = 0;
};

Knowledge known(const fake::Wire &w = *fake::wires().front())
{
	Knowledge k;

	for (const auto &f : fake::frames(w.sent)) {
		if (f.flags == rds::wire::kCongBitmap) {
			k.maps++;
			for (size_t p = 0; p < k.full.size(); p++)
				k.full[p] = f.data[p / 8] >> p % 8 & 1;
		} else if (rds::wire::is_changes(f.header)) {
			const MapChanges c = rds::wire::decode_changes(f.header);

			EXPECT_TRUE(rds::wire::is_control(rds::wire::decode(f.header)));
			EXPECT_TRUE(c.n);
			k.changes++;
			k.ports += c.n;
			for (uint8_t i = 0; i < c.n; i++)
				k.full[c.port[i]] = c.is_full(i);
		}
	}
	return k;
}

class MapNews : public AckTest
{
protected:
	void up(uint32_t caps = kCaps)
	{
		send();
		bring_up();
		greet(caps);
		ASSERT_TRUE(ours().ensure_bits(RDS_MAY_SLEEP).ok());
	}
	void greet(uint32_t caps = kCaps)
	{
		rds::wire::Header h;

		rds::wire::encode_hello(h, {77, caps});
		ASSERT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
		peer_has(path().next_tx_seq() - 1);
		sim::run_ready();
	}
	rds::CongMap &ours()
	{
		return *fake::wires().front()->path->conn.lcong;
	}
	rds::CongMap &theirs()
	{
		return *path().conn.fcong;
	}
	void flip(uint16_t port)
	{
		const bool full = !ours().test(port);

		ASSERT_TRUE(full ? ours().set(port) : ours().clear(port));
		rds::CongTable::local_changed(*net->core(), ours(), port, full);
	}
	/* Nothing waits for a pause any more. */
	static void settle()
	{
		sim::run_for(3 * rds::kMapPauseNs);
	}
	bool knows_all(const Knowledge &k)
	{
		for (uint32_t p = 0; p < 65536; p++)
			if (k.full[p] != ours().test(static_cast<uint16_t>(p)))
				return false;
		return true;
	}
	int hear(const MapChanges &c)
	{
		rds::wire::Header h;

		rds::wire::encode_changes(h, c);

		const int ret = fake::arrive(wire().path, h);

		sim::run_ready();
		return ret;
	}
};

/* Others wait for a pause; but what it sends to a full port is lost time. */
TEST_F(MapNews, WhoSendsToAFullPortIsToldAtOnce)
{
	up();
	settle();
	flip(77);
	sim::run_ready();
	ASSERT_EQ(known().changes, 1u);
	flip(78);
	sim::run_ready();
	ASSERT_EQ(known().changes, 1u) << "it may wait";
	path().port_is_full();
	sim::run_ready();
	EXPECT_EQ(known().changes, 2u);
	EXPECT_TRUE(knows_all(known()));
}

TEST_F(MapNews, AChangeIsToldByItself)
{
	up();
	EXPECT_EQ(known().maps, 1u) << "a connection begins with the whole map";
	for (unsigned int i = 1; i <= 5; i++) {
		flip(77);
		settle();
		EXPECT_EQ(known().changes, i);
		EXPECT_EQ(known().ports, i);
		EXPECT_TRUE(knows_all(known()));
	}
	EXPECT_EQ(known().maps, 1u);
}

TEST_F(MapNews, APeerThatDoesNotSaySoGetsMaps)
{
	up(rds::wire::kCapDeliveryAck);
	for (unsigned int i = 2; i <= 5; i++) {
		flip(77);
		settle();
		EXPECT_EQ(known().maps, i);
		EXPECT_TRUE(knows_all(known()));
	}
	EXPECT_EQ(known().changes, 0u);
}

/* As many as go into a frame, and as many as the map remembers. */
TEST_F(MapNews, ManyChangesAreAWholeMap)
{
	for (unsigned int ports = 1; ports <= 9; ports++) {
		for (unsigned int changes = ports; changes <= 10; changes++) {
			up();
			for (unsigned int i = 0; i < changes; i++) {
				const auto port = static_cast<uint16_t>(100 + i % ports);

				ASSERT_TRUE(ours().test(port) ? ours().clear(port)
							      : ours().set(port));
			}
			rds::CongTable::local_changed(*net->core(), ours(), 100, true);
			settle();

			const bool few = ports <= MapChanges::kMost && changes <= rds::kMapLog;

			EXPECT_EQ(known().changes, few) << ports << " ports " << changes;
			EXPECT_EQ(known().maps, few ? 1u : 2u) << ports << " ports " << changes;
			EXPECT_EQ(known().ports, few ? ports : 0);
			EXPECT_TRUE(knows_all(known()));
			TearDown();
			SetUp();
		}
	}
}

/* Only the last news is queued, and it is of everything since what has left. */
TEST_F(MapNews, NewsThatCannotLeaveIsReplaced)
{
	up();
	wire().room = 0;
	for (uint16_t port : {5, 6, 7, 8}) {
		flip(port);
		settle();
		rds_path_writable(wire().path);
		sim::run_ready();
	}
	EXPECT_EQ(known().changes, 0u);
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	settle();
	EXPECT_EQ(known().maps + known().changes, 2u);
	EXPECT_TRUE(knows_all(known()));
}

TEST_F(MapNews, ANewConnectionBeginsWithTheWholeMap)
{
	up();
	flip(5);
	settle();
	ASSERT_EQ(known().changes, 1u);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	wire().sent.clear();
	flip(6);
	sim::run_for(1000 * kMs);
	bring_up();
	/* It has not said yet whether it is still the one that it was. */
	flip(7);
	settle();
	EXPECT_EQ(known().changes, 0u);
	EXPECT_TRUE(knows_all(known()));
	greet(rds::wire::kCapDeliveryAck);
	flip(8);
	settle();
	EXPECT_EQ(known().changes, 0u) << "it is another one now";
	EXPECT_TRUE(knows_all(known()));
}

/* Also where it has said that it takes changes before it was told anything. */
TEST_F(MapNews, TheFirstNewsIsTheWholeMap)
{
	rds::MapNews news;

	up();
	flip(5);

	rds::Guard sleeps(rds::kMaySleep);
	rds::Guard sender(rds::kSender);

	news.fresh();
	news.meet(kCaps);
	for (bool first : {true, false, true}) {
		rds::Message *m = news.make(ours(), false, 1, 0);

		ASSERT_NE(m, nullptr);
		EXPECT_EQ(m->hdr.flags == rds::wire::kCongBitmap, first);
		rds::message_put(m);
		flip(6);
		if (!first)
			news.begin();
	}
}

/* Another host has a connection to our address, which is cut, or ends in order: what went over it
 * may have come after what goes over this one. */
TEST_F(MapNews, AfterACutTheNextNewsIsWhole)
{
	up();
	flip(5);
	settle();
	ASSERT_EQ(known().changes, 1u);
	ASSERT_EQ(s->send(host::endpoint(host::addr4(98), 5000), pattern(10)), 0);
	sim::run_ready();

	fake::Wire &other = *fake::wires().back();

	rds_path_connected(other.path);
	sim::run_ready();
	ASSERT_EQ(known(other).maps, 1u);
	flip(6);
	settle();
	EXPECT_EQ(known().changes, 2u);
	rds_path_drop(other.path, RDS_DROP_ERROR);
	sim::run_ready();
	settle();
	EXPECT_EQ(known().maps, 1u) << "that alone is no news";
	flip(7);
	settle();
	EXPECT_EQ(known().maps, 2u);
	EXPECT_EQ(known().changes, 2u);
	flip(8);
	settle();
	EXPECT_EQ(known().changes, 3u);
}

/* Without memory for the log of changes, none of them is known. */
TEST_F(MapNews, WithoutALogNoChangeIsKnown)
{
	for (unsigned int nth = 0; nth <= 2; nth++) {
		rds::CongMap m(a1, 0, rds::Whose::kOurs);
		MapChanges c;

		sim::fail_nth(nth);
		EXPECT_EQ(m.ensure_bits(RDS_MAY_SLEEP).ok(), nth != 1);
		sim::fail_nth(0);
		EXPECT_EQ(m.set(5), nth != 1);
		EXPECT_EQ(m.test(5), nth != 1);
		EXPECT_EQ(m.changes(0, m.version(), c), nth == 0);
		EXPECT_EQ(c.has(5), nth == 0);
	}
}

TEST_F(MapNews, WithoutMemoryItIsToldLater)
{
	up();
	for (unsigned int nth = 1; nth <= 2; nth++) {
		const unsigned int before = known().maps + known().changes;

		sim::fail_nth(nth);
		flip(5);
		sim::run_ready();
		sim::fail_nth(0);
		settle();
		EXPECT_GT(known().maps + known().changes, before);
		EXPECT_TRUE(knows_all(known()));
	}
}

/* At random times, and with room for a part of it: the peer knows the last of it. */
TEST_F(MapNews, WhatIsKnownIsWhatIs)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		sim::reseed(seed);
		up();
		for (unsigned int i = 0; i < 100; i++) {
			for (uint64_t n = sim::random_below(4); n; n--)
				flip(static_cast<uint16_t>(sim::random_below(12) * 5000));
			wire().room = sim::random_below(4) ? SIZE_MAX : sim::random_below(9000);
			rds_path_writable(wire().path);
			sim::run_for(sim::random_below(20 * kMs));
		}
		wire().room = SIZE_MAX;
		rds_path_writable(wire().path);
		settle();
		EXPECT_TRUE(knows_all(known())) << "seed " << seed;
		EXPECT_GT(known().changes, 10u);
		TearDown();
		SetUp();
	}
}

TEST_F(MapNews, TheVersionsOfTheLogWrap)
{
	up();
	for (uint32_t version : {0xfffdu, 0x1fffcu, ~0u - 2}) {
		ours().version_.store(version);
		path().map_news_.sent_.store(version);
		for (unsigned int i = 0; i < 8; i++) {
			const unsigned int before = known().changes;

			flip(static_cast<uint16_t>(i % 2));
			settle();
			EXPECT_EQ(known().changes, before + 1);
			EXPECT_TRUE(knows_all(known()));
		}
	}
}

/* ---- what the peer tells ---- */

TEST_F(MapNews, APeersPortFillsAndClears)
{
	host::Socket waits(*net), other(*net);

	up();
	EXPECT_EQ(hear(one(5, true)), RDS_RECV_SKIP);
	EXPECT_EQ(hear(one(6, true)), RDS_RECV_SKIP);
	EXPECT_TRUE(theirs().test(5) && theirs().test(6));
	ASSERT_TRUE(
		net->core()->cong.wait(waits.core()->watch, theirs(), 5).is(rds::err::kEnobufs));
	ASSERT_TRUE(
		net->core()->cong.wait(other.core()->watch, theirs(), 6).is(rds::err::kEnobufs));
	theirs().wanted.store(true);
	EXPECT_EQ(hear(one(5, false)), RDS_RECV_SKIP);
	EXPECT_FALSE(theirs().test(5));
	EXPECT_TRUE(theirs().test(6));
	EXPECT_EQ(waits.sock().woken_cong.load(), 1u);
	EXPECT_EQ(other.sock().woken_cong.load(), 0u);
	EXPECT_EQ(hear(one(5, false)), RDS_RECV_SKIP) << "no news";
	EXPECT_EQ(net->stat(RDS_S_cong_update_received), 4u);
	EXPECT_EQ(hear(one(6, false)), RDS_RECV_SKIP);
	EXPECT_EQ(other.sock().woken_cong.load(), 1u);
}

/* A message that waits for the port goes out when the peer says that it is clear. */
TEST_F(MapNews, WhatWaitsForAPortGoes)
{
	up();
	wire().room = 0;
	send(2);
	EXPECT_EQ(hear(one(5000, true)), RDS_RECV_SKIP);
	ASSERT_EQ(s->send(host::endpoint(host::addr4(99), 6000), pattern(10)), 0);
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	ASSERT_TRUE(path().holds(5000));
	EXPECT_EQ(hear(one(5000, false)), RDS_RECV_SKIP);
	EXPECT_FALSE(path().holds(5000));
	EXPECT_EQ(sent().back().dport, 5000);
}

TEST_F(MapNews, AFrameThatCannotBeMeantIsDropped)
{
	rds::wire::Header h;

	up(rds::wire::kCapDeliveryAck);
	EXPECT_EQ(hear(one(5, true)), RDS_RECV_SKIP);
	EXPECT_FALSE(theirs().test(5)) << "it has not said that it would";
	EXPECT_EQ(net->stat(RDS_S_recv_drop_bad_cong), 1u);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	bring_up();
	greet();
	for (uint8_t n : {0, 7, 255}) {
		rds::wire::encode_changes(h, one(5, true));
		h.ext[1] = n;
		EXPECT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
	}
	EXPECT_FALSE(theirs().test(5));
	EXPECT_EQ(net->stat(RDS_S_recv_drop_bad_cong), 4u);
	EXPECT_EQ(net->stat(RDS_S_cong_update_received), 0u);
}

/* The frame stays where it is, and is heard once there is memory. */
TEST_F(MapNews, WithoutMemoryAFrameComesAgain)
{
	MapChanges c = one(5, true);

	up();
	EXPECT_TRUE(c.add(6, false));
	sim::fail_nth(1);
	EXPECT_EQ(hear(c), -rds::err::kEnomem);
	sim::fail_nth(0);
	EXPECT_EQ(net->stat(RDS_S_cong_update_received), 0u);
	EXPECT_EQ(hear(c), RDS_RECV_SKIP);
	EXPECT_TRUE(theirs().test(5));
}

TEST_F(MapNews, MonitorsHearOfIt)
{
	host::Socket monitor(*net);

	up();
	theirs().wanted.store(true);
	net->core()->cong.set_monitor(monitor.core()->watch, true, 1ull << 5);
	EXPECT_EQ(hear(one(64 + 5, true)), RDS_RECV_SKIP);
	EXPECT_EQ(hear(one(64 + 6, true)), RDS_RECV_SKIP);
	EXPECT_EQ(hear(one(64 + 6, false)), RDS_RECV_SKIP);
	EXPECT_EQ(rds_socket_cong_notice(monitor.core()), 0u);
	EXPECT_EQ(hear(one(64 + 5, false)), RDS_RECV_SKIP);
	EXPECT_EQ(rds_socket_cong_notice(monitor.core()), 1ull << 5);
	rds_socket_cong_notice_done(monitor.core(), ~0ull);
	/* A stranger's is no news. */
	theirs().wanted.store(false);
	EXPECT_EQ(hear(one(64 + 5, true)), RDS_RECV_SKIP);
	EXPECT_EQ(hear(one(64 + 5, false)), RDS_RECV_SKIP);
	EXPECT_EQ(rds_socket_cong_notice(monitor.core()), 0u);
}

} // namespace
