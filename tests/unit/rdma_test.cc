// SPDX-License-Identifier: GPL-2.0
/* Regions of memory: registered, named by cookies, used by peers, freed. */
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/rdma.h"
#include "net/rds/socket/socket.h"
#include "pages.h"

namespace
{

using fake::regions;
using fake::wire;
using host::endpoint;
using host::Socket;

constexpr int kEinval = -22, kEnotconn = -107, kEopnotsupp = -95, kEmsgsize = -90, kEnomem = -12,
	      kEfault = -14;
constexpr uint64_t kUseOnce = rds::kRdmaUseOnce, kReadWrite = rds::kRdmaReadWrite,
		   kInvalidate = rds::kRdmaInvalidate;

class Rdma : public CoreTest
{
protected:
	void SetUp() override
	{
		CoreTest::SetUp();
		fake::set_caps(RDS_CAP_PREFER_LOOP | RDS_CAP_RDMA);
		fake::set_rdma(true);
		s = std::make_unique<Socket>(*net);
		ASSERT_EQ(s->bind(endpoint(a1, 4000)), 0);
	}
	void TearDown() override
	{
		s.reset();
		EXPECT_TRUE(regions().live.empty());
		CoreTest::TearDown();
	}
	struct rds_iov piece(size_t off = 0, size_t n = 64)
	{
		return {memory.addr() + off, n};
	}
	int get(uint64_t flags, uint64_t &cookie, size_t n = 64)
	{
		struct rds_iov v = piece(0, n);

		return rds_mr_get(s->core(), &v, flags, &cookie);
	}
	uint64_t region(uint64_t flags = kReadWrite)
	{
		uint64_t cookie = 0;

		EXPECT_EQ(get(flags, cookie), 0);
		return cookie;
	}
	/* A path to the remote host. */
	struct rds_path *path()
	{
		if (fake::wires().empty()) {
			EXPECT_EQ(s->send(endpoint(remote, 4001), pattern(4)), 0);
			bring_up();
		}
		return wire().path;
	}
	void bring_up()
	{
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
	}
	/* A peer's message, after it used @key. */
	void arrive_using(uint32_t key, uint16_t port = 4000)
	{
		rds::wire::Header h;

		rds::wire::encode(h, 10, 5000, port, 0);
		rds::wire::put64(h.sequence, ++seq);
		ASSERT_TRUE(rds::wire::ExtWriter(h).rdma(key));
		ASSERT_EQ(fake::arrive(path(), h, pattern(10)), 0);
	}

	host::Region memory{8192};
	std::unique_ptr<Socket> s;
	uint64_t seq = 0;
};

TEST_F(Rdma, ACookieNamesKeyAndOffset)
{
	uint64_t cookie = region();

	EXPECT_EQ(static_cast<uint32_t>(cookie), regions().live[0]->key);
	EXPECT_EQ(cookie >> 32, regions().at);
	EXPECT_TRUE(regions().live[0]->write);
	EXPECT_EQ(rds_mr_free(s->core(), cookie, 0), 0);
	EXPECT_TRUE(regions().live.empty());
	EXPECT_EQ(rds_mr_free(s->core(), cookie, 0), kEinval);
}

TEST_F(Rdma, WithoutTheFlagPeersMayOnlyRead)
{
	region(0);
	EXPECT_FALSE(regions().live[0]->write);
}

TEST_F(Rdma, WhatCannotBeARegion)
{
	Socket unbound(*net);
	struct rds_iov v = piece();
	uint64_t cookie;

	EXPECT_EQ(rds_mr_get(unbound.core(), &v, 0, &cookie), kEnotconn);
	v.bytes = 0;
	EXPECT_EQ(rds_mr_get(s->core(), &v, 0, &cookie), kEinval);
	v = {~0ull - 10, 100};
	EXPECT_EQ(rds_mr_get(s->core(), &v, 0, &cookie), kEinval);
	v = {~0ull - 99, 100};
	EXPECT_EQ(rds_mr_get(s->core(), &v, 0, &cookie), kEfault) << "up to the last address";
	v = {~0ull, 1};
	EXPECT_EQ(rds_mr_get(s->core(), &v, 0, &cookie), kEfault) << "the last address itself";
	/* 1 MiB anywhere is 257 pieces of 4 KiB at most. */
	v = {0x10000, (1 << 20) + 4097};
	EXPECT_EQ(rds_mr_get(s->core(), &v, 0, &cookie), kEmsgsize);
	v = {0x10001, (1 << 20) + 4096};
	EXPECT_EQ(rds_mr_get(s->core(), &v, 0, &cookie), kEmsgsize);
	/* As many as there may be: it is its memory that nobody has. */
	sim::fail_nth(1);
	v = {0x10001, (1 << 20) + 4095};
	EXPECT_EQ(rds_mr_get(s->core(), &v, 0, &cookie), kEnomem);
	fake::set_rdma(false);
	EXPECT_EQ(get(0, cookie), kEopnotsupp);
	EXPECT_EQ(rds_mr_free(s->core(), 0, 0), kEinval);
}

TEST_F(Rdma, ARegionMayHaveManyPages)
{
	uint64_t cookie = 0;

	EXPECT_EQ(get(0, cookie, 8192), 0);
	EXPECT_EQ(rds_mr_free(s->core(), cookie, 0), 0);
}

TEST_F(Rdma, WhatTheTransportRefusesIsPinnedNoMore)
{
	uint64_t cookie;

	regions().mr_get_result = -11;
	EXPECT_EQ(get(0, cookie), -11);
	EXPECT_TRUE(regions().live.empty());
}

TEST_F(Rdma, EveryAllocationMayFail)
{
	uint64_t cookie = 0;
	int got = kEnomem;
	unsigned int nth = 0;

	while (got == kEnomem) {
		sim::fail_nth(++nth);
		got = get(0, cookie);
		sim::fail_nth(0);
		ASSERT_EQ(regions().live.size(), got ? 0 : 1);
	}
	EXPECT_EQ(got, 0);
	EXPECT_GT(nth, 2);
}

/* Regions freed and not cleared away yet may be in the way. */
TEST_F(Rdma, WithoutMemoryWhatWasFreedIsClearedAwayFirst)
{
	uint64_t cookie;

	host::set_lock_limit(1);
	EXPECT_EQ(get(0, cookie), kEnomem);
	EXPECT_EQ(regions().flushed, 1);
	host::set_lock_limit(~0ull);
	EXPECT_EQ(get(0, cookie), 0);
	EXPECT_EQ(regions().flushed, 1);
}

/* There is memory once it was cleared away; then the region is as any other. */
TEST_F(Rdma, ClearingAwayMayBeEnough)
{
	unsigned char byte = 7;
	uint64_t cookie;

	sim::fail_nth(3); /* the region's own, its side's, its pages' */
	ASSERT_EQ(get(0, cookie), 0);
	ASSERT_EQ(regions().flushed, 1);
	ASSERT_EQ(regions().live.size(), 1u);
	EXPECT_EQ(host::pages_bytes(regions().live[0]->pages), 64u);
	host::write_pages(regions().live[0]->pages, 63, 1, &byte);
	EXPECT_EQ(memory.data()[63], 7);
}

TEST_F(Rdma, CookieZeroFlushes)
{
	EXPECT_EQ(rds_mr_free(s->core(), 0, 0), 0);
	EXPECT_EQ(regions().flushed, 1);
}

TEST_F(Rdma, AFreedRegionIsUnreachableAtOnceIfThatWasAsked)
{
	uint64_t lazy = region(), at_birth = region(kReadWrite | kInvalidate), at_end = region();

	EXPECT_EQ(rds_mr_free(s->core(), lazy, 0), 0);
	EXPECT_EQ(regions().freed_now, 0);
	EXPECT_EQ(rds_mr_free(s->core(), at_birth, 0), 0);
	EXPECT_EQ(regions().freed_now, 1);
	EXPECT_EQ(rds_mr_free(s->core(), at_end, kInvalidate), 0);
	EXPECT_EQ(regions().freed_now, 2);
	EXPECT_EQ(regions().freed, 3);
}

/* Peers may have written there without a message. */
TEST_F(Rdma, AProgramGetsBackWhatPeersWrote)
{
	EXPECT_EQ(rds_mr_free(s->core(), region(), 0), 0);
	EXPECT_EQ(regions().calls, std::vector<std::string>{"sync"});
}

/* After the message its program may write there: it is told of, and not looked at any more. */
TEST_F(Rdma, WhatIsUsedOnceIsLookedAtBeforeItsMessage)
{
	arrive_using(static_cast<uint32_t>(region(kReadWrite | kUseOnce)));
	EXPECT_EQ(regions().calls, std::vector<std::string>{"sync"});
}

TEST_F(Rdma, ManyRegionsAreFoundByKey)
{
	std::vector<uint64_t> cookies;

	for (int i = 0; i < 5000; i++)
		cookies.push_back(region());
	for (size_t i = 1; i < cookies.size(); i += 2)
		ASSERT_EQ(rds_mr_free(s->core(), cookies[i], 0), 0);
	for (size_t i = 0; i < cookies.size(); i++)
		ASSERT_EQ(rds_mr_free(s->core(), cookies[i], 0), i % 2 ? kEinval : 0);
}

/* Four times the buckets as soon as there are two regions for each, up to so many. */
TEST_F(Rdma, ItsTableGrowsWithItsRegions)
{
	std::vector<unsigned int> grew;
	size_t one = 0;

	region();
	for (unsigned int n = 2; n <= 8300; n++) {
		size_t before = host::usage().bytes;

		region();

		size_t more = host::usage().bytes - before;

		one = one ? one : more;
		if (more != one)
			grew.push_back(n);
	}
	EXPECT_EQ(grew, (std::vector<unsigned int>{33, 129, 513, 2049}));
}

TEST_F(Rdma, ItsTableDoesNotGrowWithThoseThatWent)
{
	(void)rds_mr_free(s->core(), region(), 0);

	size_t before = host::usage().bytes;

	for (unsigned int n = 0; n < 200; n++)
		ASSERT_EQ(rds_mr_free(s->core(), region(), 0), 0);
	EXPECT_EQ(host::usage().bytes, before);
	for (unsigned int n = 0; n < 200; n++)
		arrive_using(static_cast<uint32_t>(region(kReadWrite | kUseOnce)));
	EXPECT_TRUE(regions().live.empty());
	while (s->recv())
		;
}

/* Without memory for more buckets all are found all the same. */
TEST_F(Rdma, ItsTableNeedNotGrow)
{
	std::vector<uint64_t> cookies;

	for (unsigned int n = 0; n < 32; n++)
		cookies.push_back(region());
	sim::fail_nth(2); /* the region's own, and then the buckets */
	cookies.push_back(region());
	sim::fail_nth(0);
	for (uint64_t cookie : cookies)
		EXPECT_EQ(rds_mr_free(s->core(), cookie, 0), 0);
}

/* When the call is back no peer reaches it, and nobody here is at it, whoever was. */
TEST_F(Rdma, UnreachableMeansThatNobodyIsAtIt)
{
	for (unsigned int round = 0; round < 300; round++) {
		uint64_t cookie = region();
		size_t left = ~0u;

		(void)path();
		sim::options().preempt_per_1000 = 400;
		sim::spawn("arrive", [&] { arrive_using(static_cast<uint32_t>(cookie)); });
		sim::spawn("free", [&] {
			EXPECT_EQ(rds_mr_free(s->core(), cookie, kInvalidate), 0);
			left = regions().live.size();
		});
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		ASSERT_EQ(left, 0u) << "round " << round;
		while (s->recv())
			;
	}
}

TEST_F(Rdma, CloseFreesWhatIsLeft)
{
	region();
	region();
	s->close();
	EXPECT_EQ(regions().freed, 2);
}

TEST_F(Rdma, UsedOnceItGoesWithThePeersMessage)
{
	uint64_t once = region(kReadWrite | kUseOnce), often = region();

	arrive_using(static_cast<uint32_t>(often));
	EXPECT_EQ(regions().live.size(), 2);
	EXPECT_EQ(regions().live[1]->calls, std::vector<std::string>{"sync"});
	arrive_using(static_cast<uint32_t>(once));
	ASSERT_EQ(regions().live.size(), 1);
	EXPECT_EQ(regions().live[0]->key, static_cast<uint32_t>(often));
	EXPECT_EQ(regions().freed, 1u);
	EXPECT_EQ(regions().freed_now, 0u) << "nobody has asked for that";
	EXPECT_EQ(rds_mr_free(s->core(), once, 0), kEinval);
	/* Nor does it matter that a peer says so again, or of what there never was. */
	arrive_using(static_cast<uint32_t>(once));
	arrive_using(0xdead);
	EXPECT_EQ(regions().live.size(), 1);
}

/* It comes again until there is room: only then the program is told, and only once. */
TEST_F(Rdma, WhatIsRefusedHasUsedNothing)
{
	uint64_t once = region(kReadWrite | kUseOnce);
	rds::wire::Header h;

	rds::wire::encode(h, 10, 5000, 4000, 0);
	rds::wire::put64(h.sequence, 1);
	ASSERT_TRUE(rds::wire::ExtWriter(h).rdma(static_cast<uint32_t>(once)));
	rds_net_tunables(net->core())->recv_spill_bytes = 0;
	s->sock().rcvbuf = 0;
	s->core()->rcv_mem.add(rds::kHardMemFactor);
	EXPECT_EQ(fake::arrive(path(), h, pattern(10)), -11);
	EXPECT_EQ(regions().live.size(), 1);
	s->core()->rcv_mem.sub(rds::kHardMemFactor);
	EXPECT_EQ(fake::arrive(path(), h, pattern(10)), 0);
	EXPECT_TRUE(regions().live.empty());
}

TEST_F(Rdma, BeyondTheLimitThereIsRoomToTheLastByte)
{
	rds::Socket &core = *s->core();

	ASSERT_EQ(fake::arrive(path(), 1, 5000, 4000, pattern(10)), 0);

	uint64_t charge = core.rcv_mem.used();
	uint32_t &spill = rds_net_tunables(net->core())->recv_spill_bytes;

	s->sock().rcvbuf = 0;
	core.rcv_mem.add(rds::kHardMemFactor);

	const uint64_t used = core.rcv_mem.used();
	uint64_t room = used + charge;

	while (!rds::PeerShares::allows({room - used, room}, 0, static_cast<uint32_t>(charge)))
		room++;
	spill = static_cast<uint32_t>(room - 1);
	EXPECT_EQ(fake::arrive(path(), 2, 5000, 4000, pattern(10)), -11);
	spill++;
	EXPECT_EQ(fake::arrive(path(), 2, 5000, 4000, pattern(10)), 0);
	core.rcv_mem.sub(rds::kHardMemFactor);
}

TEST_F(Rdma, OnlyTheOwnersSocketSaysWhatIsUsed)
{
	Socket other(*net);
	uint64_t once = region(kReadWrite | kUseOnce);

	ASSERT_EQ(other.bind(endpoint(a1, 4007)), 0);
	arrive_using(static_cast<uint32_t>(once), 4007);
	EXPECT_EQ(regions().live.size(), 1);
}

/* An adapter gives a key out again as soon as it may: the new region is not taken for the old. */
TEST_F(Rdma, AKeyThatIsGivenOutAgain)
{
	for (unsigned int round = 0; round < 200; round++) {
		uint64_t cookie = region(kReadWrite | kUseOnce);
		auto key = static_cast<uint32_t>(cookie);

		(void)path();
		sim::options().preempt_per_1000 = 300;
		sim::spawn("arrive", [&] { arrive_using(key); });
		sim::spawn("again", [&] {
			(void)rds_mr_free(s->core(), cookie, 0);
			regions().next_key = key;
			cookie = region();
		});
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		ASSERT_EQ(rds_mr_free(s->core(), cookie, 0), 0) << "round " << round;
		while (s->recv())
			;
	}
}

TEST_F(Rdma, AMessageTellsOfARegion)
{
	uint64_t cookie = region();
	struct rds_endpoint to = endpoint(remote, 4001);
	struct rds_msg *m;

	ASSERT_EQ(rds_msg_create(s->core(), &to, 0, nullptr, 0, 0, &m), 0);
	EXPECT_EQ(rds_msg_set_cookie(s->core(), m, cookie + 1), kEinval);
	ASSERT_EQ(rds_msg_set_cookie(s->core(), m, cookie), 0);
	EXPECT_EQ(rds_msg_set_cookie(s->core(), m, cookie), kEinval);
	EXPECT_EQ(regions().live[0]->calls.front(), "device");
	ASSERT_EQ(rds_socket_send(s->core(), &to, m, 0), 0);
	bring_up();

	auto sent = fake::frames(wire().sent);

	ASSERT_FALSE(sent.empty());
	EXPECT_EQ(net->stat(RDS_S_send_rdma), 0u) << "it does nothing there by itself";
	EXPECT_EQ(rds::rdma_cookie(sent.back().header), cookie);
	EXPECT_EQ(rds::rdma_cookie(sent.front().header), 0u) << "a hello has none";

	rds::wire::ExtReader r(sent.back().header);
	rds::wire::ExtView e;

	ASSERT_TRUE(r.next(e));
	EXPECT_EQ(e.type, rds::wire::Ext::kRdmaDest) << "and of no operation";
	EXPECT_FALSE(r.next(e));
}

TEST_F(Rdma, TheReaderIsToldOfTheSendersRegion)
{
	rds::wire::Header h;

	rds::wire::encode(h, 10, 5000, 4000, 0);
	rds::wire::put64(h.sequence, 1);
	ASSERT_TRUE(rds::wire::ExtWriter(h).rdma_dest(0x12345678, 0x9a));
	ASSERT_EQ(fake::arrive(path(), h, pattern(10)), 0);

	auto got = s->recv();

	ASSERT_TRUE(got);
	EXPECT_EQ(got->info.cookie, 0x9a12345678u);
}

/* The crash of mainline's readers: a key over a transport that has none. */
TEST_F(Rdma, AKeyOverAnotherTransportIsNobodysBusiness)
{
	Socket other(*net);
	rds::wire::Header h;

	fake::set_caps(RDS_CAP_PREFER_LOOP);
	ASSERT_EQ(other.bind(endpoint(a2, 4000)), 0);
	rds::wire::encode(h, 10, 5000, 4000, 0);
	rds::wire::put64(h.sequence, 1);
	ASSERT_TRUE(rds::wire::ExtWriter(h).rdma_dest(0x12345678, 0x9a));
	ASSERT_EQ(fake::arrive(path(), h, pattern(10)), 0);

	auto got = s->recv();

	ASSERT_TRUE(got);
	EXPECT_EQ(got->info.cookie, 0);
}

} // namespace
