// SPDX-License-Identifier: GPL-2.0
/* Operations on a peer's memory, over the transports that have them: with their message, and in
 * spite of everything. */
#include <cstring>
#include <numeric>

#include "check_rdma.h"
#include "include/uapi/linux/rds.h"
#include "pages.h"
#include "world.h"

namespace contract
{
namespace
{

using host::Region;

constexpr uint32_t kAll = 160 * 1024, kMost = 1 << 20;
constexpr uint64_t kNotify = RDS_RDMA_NOTIFY_ME;

verbs::Params rings(unsigned int send, unsigned int sges, bool credits)
{
	verbs::Params p;

	p.send_ring = send;
	p.recv_ring = 8;
	p.sges = sges;
	p.credits = credits;
	return p;
}

const Over kVerbs[] = {
	{"plain", Kind::kVerbs, 1, 2, {}, 0, rings(512, 1, false)},
	{"preempted", Kind::kVerbs, 2, 1, {}, 100, rings(128, 4, false)},
	{"tight", Kind::kVerbs, 1, 2, {}, 50, rings(16, 2, false)},
	{"credits", Kind::kVerbs, 2, 1, {}, 50, rings(64, 6, true)},
};

void fill(Region &r, unsigned char seed)
{
	for (size_t i = 0; i < r.size(); i++)
		r.data()[i] = static_cast<unsigned char>(seed + i * 5 + (i >> 8));
}

/* A program on host a that does things to the memory of one on host b, and both look on. */
class Rdma : public Contract
{
protected:
	void SetUp() override
	{
		Contract::SetUp();
		from.reset();
		to.reset();
		from = socket_a(100);
		to = socket_b(200);
		from->sock().sndbuf = to->sock().rcvbuf = 2u << 20;
		fill(theirs, 1);
		fill(ours, 2);
	}
	void TearDown() override
	{
		EXPECT_TRUE(come_to_rest());
		seen.rest();
		EXPECT_EQ(seen.complaint(), "");
		from.reset();
		to.reset();
		Contract::TearDown();
	}
	uint64_t expose(const struct rds_iov &what, uint64_t flags = RDS_RDMA_READWRITE)
	{
		uint64_t cookie = 0;

		EXPECT_EQ(rds_mr_get(to->core(), &what, flags, &cookie), 0);
		EXPECT_NE(cookie, 0u);
		return cookie;
	}
	uint64_t expose()
	{
		return expose(theirs.iov());
	}
	/* Between @n bytes of ours at @at and theirs, at @at of what @cookie names. */
	struct rds_op_args args(unsigned char kind, uint64_t cookie, uint32_t at, uint32_t n,
				uint64_t flags = kNotify)
	{
		struct rds_op_args a = {};

		pieces = {ours.iov(at, n)};
		a.kind = kind;
		a.cookie = cookie;
		a.remote_addr = at;
		a.remote_bytes = n;
		a.flags = flags;
		return a;
	}
	/* Are the two the same? */
	std::function<bool()> same(uint32_t at, uint32_t n)
	{
		return [this, at, n] { return !memcmp(ours.data() + at, theirs.data() + at, n); };
	}
	/* Sends it with a message, unless that has no bytes: its token, or 0: it was refused. */
	uint64_t send(struct rds_op_args a, std::function<bool()> there, uint32_t len = 20)
	{
		const bool alone = !len && a.flags & RDS_RDMA_SILENT;
		const bool first = a.kind == RDS_OP_WRITE ||
				   (a.kind == RDS_OP_READ && a.flags & RDS_RDMA_FENCE);

		a.local = pieces.data();
		a.n_local = static_cast<unsigned int>(pieces.size());
		a.token = seen.sends({.owner = 1,
				      .always = (a.flags & kNotify) != 0,
				      .alone = alone,
				      .first = first,
				      .there = std::move(there)});
		err = from->send_rdma(at_b(200), len ? message(len) : host::Bytes(), &a);
		if (err)
			seen.refused(a.token);
		else if (!alone)
			by_number.push_back(a.token);
		return err ? 0 : a.token;
	}
	host::Bytes message(uint32_t len)
	{
		return traffic::make(1, static_cast<uint32_t>(by_number.size()), len);
	}
	/* Reads all there is. */
	void look()
	{
		for (const auto &n : from->notices()) {
			status[n.token] = n.status;
			seen.told(1, n.token, n.status);
		}
		while (auto m = to->recv()) {
			auto name = traffic::read(m->data);

			ASSERT_TRUE(name);
			got.push_back(name->number);
			seen.delivered(by_number[name->number]);
			if (on_message)
				on_message(*m);
		}
	}
	bool come_to_rest()
	{
		bool done = sim::run_until(
			[this] {
				look();
				return seen.complete() && !traffic::unacked(net_a());
			},
			600 * kSecond);

		/* The message of one that was dropped may have arrived. */
		sim::run_for(kSecond / 100);
		look();
		return done;
	}
	bool wait(uint64_t token)
	{
		return sim::run_until(
			[this, token] {
				look();
				return status.count(token) != 0;
			},
			60 * kSecond);
	}
	int told(uint64_t token)
	{
		EXPECT_TRUE(wait(token));
		return status.count(token) ? status[token] : -1;
	}
	int mr_free(uint64_t cookie, uint64_t flags = 0)
	{
		return rds_mr_free(to->core(), cookie, flags);
	}

	std::unique_ptr<host::Socket> from, to;
	Region ours{kAll, true, 24}, theirs{kAll, true, 3000};
	std::vector<struct rds_iov> pieces;
	check::Rdma seen;
	std::vector<uint64_t> by_number; /* tokens of messages, in order */
	std::map<uint64_t, int> status;	 /* by token */
	std::vector<uint32_t> got;	 /* numbers of messages */
	std::function<void(const host::Received &)> on_message;
	int err = 0;
};

INSTANTIATE_TEST_SUITE_P(Over, Rdma, ::testing::ValuesIn(kVerbs),
			 [](const auto &info) { return std::string(info.param.name); });

TEST_P(Rdma, WritesAndReadsAnySize)
{
	const uint64_t cookie = expose();

	for (uint32_t n : {1u, 7u, 4095u, 4096u, 4097u, 40000u, 64 * 1024u}) {
		for (unsigned char kind : {RDS_OP_WRITE, RDS_OP_READ}) {
			fill(ours, static_cast<unsigned char>(n));
			fill(theirs, static_cast<unsigned char>(n + kind + 1));

			const host::Bytes before(theirs.data(), theirs.data() + theirs.size());
			uint64_t t = send(args(kind, cookie, 5000, n), same(5000, n));

			ASSERT_EQ(err, 0);
			ASSERT_EQ(told(t), RDS_RDMA_SUCCESS) << n;
			EXPECT_TRUE(come_to_rest());
			/* And nothing around it. */
			EXPECT_FALSE(memcmp(theirs.data(), before.data(), 5000));
			EXPECT_FALSE(memcmp(theirs.data() + 5000 + n, before.data() + 5000 + n,
					    theirs.size() - 5000 - n));
		}
	}
	EXPECT_EQ(got.size(), by_number.size());
	EXPECT_EQ(net_a().stat(RDS_S_conn_reset), 0u);
	EXPECT_EQ(mr_free(cookie), 0);
}

TEST_P(Rdma, WritesAMebibyte)
{
	Region source(kMost, true, 24), target(kMost, true, 3000);
	struct rds_op_args a = args(RDS_OP_WRITE, expose(target.iov()), 0, kMost);

	fill(source, 3);
	pieces = {source.iov()};
	ASSERT_EQ(told(send(a, [&] { return !memcmp(source.data(), target.data(), kMost); })),
		  GetParam().verbs.send_ring * GetParam().verbs.sges < kMost / host::kPageBytes
			  ? RDS_RDMA_OTHER_ERROR
			  : RDS_RDMA_SUCCESS);
	EXPECT_TRUE(come_to_rest());
	EXPECT_EQ(net_a().stat(RDS_S_conn_reset), 0u) << "nobody else has to do with it";
}

TEST_P(Rdma, GathersAndScattersPieces)
{
	const uint64_t cookie = expose();
	Region source(100000, true, 77);

	fill(source, 9);
	for (unsigned char kind : {RDS_OP_WRITE, RDS_OP_READ}) {
		struct rds_op_args a = args(kind, cookie, 100, 10106);

		pieces = {source.iov(5, 1), source.iov(9000, 5000), source.iov(20000, 5),
			  source.iov(4096, 4100), source.iov(50000, 1000)};
		uint64_t t = send(a, [&] {
			const unsigned char *at = theirs.data() + 100;

			return std::all_of(pieces.begin(), pieces.end(), [&](const auto &v) {
				const auto *here = source.data() + (v.addr - source.addr());
				const auto *there = at;

				at += v.bytes;
				return !memcmp(here, there, v.bytes);
			});
		});

		ASSERT_EQ(told(t), RDS_RDMA_SUCCESS);
		fill(source, 10);
	}
}

TEST_P(Rdma, AddsAndSwaps)
{
	const uint64_t cookie = expose();
	const uint32_t at = 800;
	auto value = [at](Region &r) {
		uint64_t v;

		memcpy(&v, r.data() + at, sizeof(v));
		return v;
	};
	uint64_t v = value(theirs);
	struct rds_op_args a = args(RDS_OP_FADD, cookie, at, 8);

	a.compare_add = 1000;
	EXPECT_EQ(told(send(a, [&] { return value(ours) == v; })), RDS_RDMA_SUCCESS);
	EXPECT_EQ(value(theirs), v + 1000);
	for (uint64_t with : {v, v + 1000}) {
		a = args(RDS_OP_CSWP, cookie, at, 8);
		a.compare_add = with;
		a.swap = 42;
		EXPECT_EQ(told(send(a, [&] { return value(ours) == v + 1000; })), RDS_RDMA_SUCCESS);
	}
	EXPECT_EQ(value(theirs), 42u);

	/* Masks that mean something: this adapter has none. */
	a = args(RDS_OP_FADD, cookie, at, 8);
	a.masked = 1;
	a.compare_add_mask = 0x80;
	send(a, nullptr);
	EXPECT_EQ(err, -95);
	verbs::params().atomics = RDS_ATOMICS_MASKED;
	a.compare_add = 0x80 + 42;
	EXPECT_EQ(told(send(a, [&] { return value(ours) == 42; })), RDS_RDMA_SUCCESS);
	EXPECT_EQ(value(theirs), 42u + 42 + 0x80);
	verbs::params().atomics = 0;
	send(args(RDS_OP_CSWP, cookie, at, 8), nullptr);
	EXPECT_EQ(err, -95);
	EXPECT_EQ(mr_free(cookie, RDS_RDMA_INVALIDATE), 0);
}

/* A piece of ours that lies over a border of pages is one work request all the same. */
TEST_P(Rdma, AddsWhereverTheOldValueGoes)
{
	const uint64_t cookie = expose();
	struct rds_op_args a = args(RDS_OP_FADD, cookie, 800, 8);

	pieces = {ours.iov(4096 - 24 - 4, 8)};
	EXPECT_EQ(told(send(a,
			    [&] {
				    return !memcmp(ours.data() + 4096 - 24 - 4, theirs.data() + 800,
						   8);
			    })),
		  RDS_RDMA_SUCCESS);
}

TEST_P(Rdma, AloneNobodyIsToldOverThere)
{
	const uint64_t cookie = expose();
	std::vector<uint64_t> all;

	for (uint32_t i = 0; i < 30; i++)
		all.push_back(
			send(args(RDS_OP_WRITE, cookie, i * 1000, 1000, kNotify | RDS_RDMA_SILENT),
			     same(i * 1000, 1000), 0));
	for (uint64_t t : all)
		EXPECT_EQ(told(t), RDS_RDMA_SUCCESS);
	EXPECT_TRUE(come_to_rest());
	EXPECT_TRUE(got.empty());
	EXPECT_FALSE(to->readable());
	/* Messages go on behind it. */
	EXPECT_EQ(told(send(args(RDS_OP_READ, cookie, 7, 7), same(7, 7))), RDS_RDMA_SUCCESS);
	EXPECT_TRUE(come_to_rest());
	EXPECT_EQ(got.size(), 1u);
}

/* The program that hears that memory was read may write to it. */
TEST_P(Rdma, AFencedMessageComesAfterTheRead)
{
	const uint64_t cookie = expose();

	on_message = [this](const host::Received &) { fill(theirs, 77); };
	for (int i = 0; i < 40; i++) {
		fill(theirs, static_cast<unsigned char>(i));

		const host::Bytes now(theirs.data(), theirs.data() + 9000);

		send(args(RDS_OP_READ, cookie, 0, 9000, kNotify | RDS_RDMA_FENCE),
		     [&] { return !memcmp(ours.data(), now.data(), now.size()); });
		ASSERT_TRUE(come_to_rest());
	}
	EXPECT_EQ(seen.count(RDS_RDMA_SUCCESS), 40u);
}

TEST_P(Rdma, MemoryIsUsedOnce)
{
	const uint64_t once = expose(theirs.iov(), RDS_RDMA_READWRITE | RDS_RDMA_USE_ONCE);
	const uint64_t looked_at = verbs::region_counts().looked_at;

	EXPECT_EQ(told(send(args(RDS_OP_WRITE, once, 0, 100), same(0, 100))), RDS_RDMA_SUCCESS);
	EXPECT_TRUE(come_to_rest());
	EXPECT_EQ(got.size(), 1u);
	EXPECT_EQ(verbs::region_counts().looked_at, looked_at + 1);
	EXPECT_EQ(verbs::region_counts().freed, 1u);
	EXPECT_EQ(mr_free(once), -22) << "it is gone";
	EXPECT_EQ(mr_free(0), 0) << "out of peers' reach, too";
	EXPECT_EQ(told(send(args(RDS_OP_WRITE, once, 0, 100), nullptr)), RDS_RDMA_REMOTE_ERROR);
	EXPECT_TRUE(come_to_rest());
	EXPECT_EQ(got.size(), 1u);
}

TEST_P(Rdma, ACookieComesWithAMessage)
{
	const uint64_t cookie = expose();
	const auto dst = at_a(100);

	EXPECT_EQ(to->send_rdma(dst, message(20), nullptr, cookie + 1), -22);
	EXPECT_EQ(to->send_rdma(dst, message(20), nullptr, cookie), 0);
	EXPECT_EQ(to->send_rdma(dst, message(20), nullptr, 0), 0);
	EXPECT_EQ(verbs::region_counts().shown, 1u);
	for (uint64_t want : {cookie, uint64_t{0}}) {
		ASSERT_TRUE(sim::run_until([&] { return from->readable(); }, 60 * kSecond));

		auto m = from->recv();

		ASSERT_TRUE(m);
		EXPECT_EQ(m->info.cookie, want);
	}
	/* And is good for something. */
	EXPECT_EQ(told(send(args(RDS_OP_WRITE, cookie, 9, 9), same(9, 9))), RDS_RDMA_SUCCESS);
	/* With an operation in the same message: its extension headers hold both. */
	struct rds_op_args a = args(RDS_OP_READ, cookie, 0, 50);
	uint64_t mine = 0, heard = 0;
	const struct rds_iov all = ours.iov();

	ASSERT_EQ(rds_mr_get(from->core(), &all, 0, &mine), 0);
	on_message = [&heard](const host::Received &m) { heard = m.info.cookie; };
	a.local = pieces.data();
	a.n_local = 1;
	a.token = seen.sends({.owner = 1, .always = true, .there = same(0, 50)});
	by_number.push_back(a.token);
	EXPECT_EQ(from->send_rdma(at_b(200), traffic::make(1, 1, 20), &a, mine), 0);
	EXPECT_EQ(told(a.token), RDS_RDMA_SUCCESS);
	EXPECT_TRUE(come_to_rest());
	EXPECT_EQ(heard, mine);
}

/* ---- what goes wrong ---- */

TEST_P(Rdma, WhatTheMemoryDoesNotAllowIsRefused)
{
	const uint64_t cookie = expose(theirs.iov(100, 5000));
	const uint64_t readable = expose(theirs.iov(100, 5000), 0);
	struct rds_op_args bad[] = {
		args(RDS_OP_WRITE, cookie ^ 0x100, 0, 10),
		args(RDS_OP_READ, cookie ^ 0x4000, 0, 10),
		args(RDS_OP_WRITE, cookie, 4991, 10),
		args(RDS_OP_READ, cookie, 5000, 1),
		args(RDS_OP_READ, cookie, 0, 5001),
		args(RDS_OP_WRITE, cookie, 0, 50000),
		args(RDS_OP_WRITE, readable, 0, 10),
		args(RDS_OP_FADD, readable, 0, 8),
		args(RDS_OP_CSWP, cookie, 4, 8),
		args(RDS_OP_READ, cookie - (8ull << 32), 0, 16),
	};
	const struct rds_iov locals[] = {ours.iov(0, 10), ours.iov(0, 10),   ours.iov(0, 10),
					 ours.iov(0, 1),  ours.iov(0, 5001), ours.iov(0, 50000),
					 ours.iov(0, 10), ours.iov(0, 8),    ours.iov(0, 8),
					 ours.iov(0, 16)};
	const host::Bytes before(theirs.data(), theirs.data() + theirs.size());
	uint32_t good = 0;

	for (size_t i = 0; i < std::size(bad); i++) {
		pieces = {locals[i]};

		uint64_t t = send(bad[i], nullptr);

		EXPECT_EQ(told(t), RDS_RDMA_REMOTE_ERROR) << i;
		/* The connection comes back, and others' messages are all there. */
		for (int k = 0; k < 3; k++, good++) {
			by_number.push_back(seen.sends({.owner = 1, .there = nullptr}));
			EXPECT_EQ(from->send(at_b(200),
					     traffic::make(
						     1, static_cast<uint32_t>(by_number.size() - 1),
						     20)),
				  0);
		}
		ASSERT_TRUE(come_to_rest());
		EXPECT_EQ(got.size(), good);
	}
	EXPECT_FALSE(memcmp(theirs.data(), before.data(), before.size()));
	EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
}

TEST_P(Rdma, FreedMemoryIsOutOfReachAtOnceOrLater)
{
	const uint64_t now = expose(), later = expose();

	EXPECT_EQ(mr_free(now, RDS_RDMA_INVALIDATE), 0);
	EXPECT_EQ(mr_free(now, RDS_RDMA_INVALIDATE), -22);
	EXPECT_EQ(told(send(args(RDS_OP_WRITE, now, 0, 10), nullptr)), RDS_RDMA_REMOTE_ERROR);
	EXPECT_EQ(mr_free(later), 0);
	EXPECT_GE(host::pinned_bytes(), theirs.size()) << "it may take a while";
	EXPECT_EQ(mr_free(0), 0);
	EXPECT_TRUE(come_to_rest());
	EXPECT_EQ(host::pinned_bytes(), 0u);
	EXPECT_EQ(told(send(args(RDS_OP_READ, later, 0, 10), nullptr)), RDS_RDMA_REMOTE_ERROR);
}

TEST_P(Rdma, FreedInFlight)
{
	/* A matter of luck: until each has been seen. */
	for (uint32_t i = 0; i < 40 || (!seen.count(RDS_RDMA_REMOTE_ERROR) && i < 400); i++) {
		const uint64_t cookie = expose();

		for (uint32_t k = 0; k < 16; k++)
			send(args(k % 3 ? RDS_OP_WRITE : RDS_OP_READ, cookie, k * 9000, 9000),
			     nullptr);
		sim::run_for(sim::random_below(200 * 1000));
		EXPECT_EQ(mr_free(cookie, i % 2 ? RDS_RDMA_INVALIDATE : 0), 0);

		const host::Bytes now(theirs.data(), theirs.data() + theirs.size());

		ASSERT_TRUE(come_to_rest());
		if (i % 2) {
			EXPECT_FALSE(memcmp(now.data(), theirs.data(), now.size()))
				<< "written after it was out of reach";
		}
		fill(theirs, static_cast<unsigned char>(i));
	}
	EXPECT_GT(seen.count(RDS_RDMA_SUCCESS), 0u);
	EXPECT_GT(seen.count(RDS_RDMA_REMOTE_ERROR), 0u);
}

TEST_P(Rdma, AsManyRegionsAsThereMayBe)
{
	std::vector<uint64_t> all;
	uint64_t cookie;
	const struct rds_iov one = theirs.iov(0, 100);

	verbs::params().max_regions = 5;
	for (int i = 0; i < 5; i++)
		all.push_back(expose(one));
	EXPECT_EQ(rds_mr_get(to->core(), &one, 0, &cookie), -11);
	EXPECT_EQ(host::pinned_bytes(), 500u);
	EXPECT_EQ(mr_free(all[0]), 0);
	EXPECT_EQ(rds_mr_get(to->core(), &one, 0, &cookie), 0) << "what waits makes room";
}

/* To an address of this host messages go over loopback, which has no memory to reach. */
TEST_P(Rdma, NotToOurselves)
{
	struct rds_op_args a = args(RDS_OP_WRITE, expose(), 0, 10);

	a.local = pieces.data();
	a.n_local = 1;
	EXPECT_EQ(from->send_rdma(at_a(101), traffic::make(1, 0, 20), &a), -95);
}

TEST_P(Rdma, PinningFails)
{
	const struct rds_iov gone = {theirs.addr() + theirs.size() - 1, 2};
	struct rds_op_args a = args(RDS_OP_WRITE, 0x123, 0, 2);
	Region constant(100, false);
	uint64_t cookie;
	struct rds_iov v = constant.iov();

	EXPECT_EQ(rds_mr_get(to->core(), &gone, 0, &cookie), -14);
	EXPECT_EQ(rds_mr_get(to->core(), &v, 0, &cookie), -14);
	host::set_lock_limit(5000);
	v = theirs.iov(0, 5001);
	EXPECT_EQ(rds_mr_get(to->core(), &v, 0, &cookie), -12);
	host::set_lock_limit(0);
	EXPECT_EQ(rds_mr_get(to->core(), &v, 0, &cookie), -1);
	send(a, nullptr);
	EXPECT_EQ(err, -1);
	host::set_lock_limit(~0ull);
	pieces = {gone};
	send(a, nullptr);
	EXPECT_EQ(err, -14);
	pieces = {constant.iov(0, 2)};
	a.kind = RDS_OP_READ;
	send(a, nullptr);
	EXPECT_EQ(err, -14);
	EXPECT_EQ(host::pinned_bytes(), 0u);
}

/* An operation that the adapter does not take fails alone: its message does not come, all others
 * do, over the same connection.  Mappings that fail are waited for. */
TEST_P(Rdma, TheAdapterTakesOnlySome)
{
	const uint64_t cookie = expose();
	const unsigned char kinds[] = {RDS_OP_WRITE, RDS_OP_READ, RDS_OP_FADD};
	const uint64_t flags[] = {0, RDS_RDMA_FENCE, RDS_RDMA_SILENT};
	uint64_t came = 0;

	verbs::params().refused_per_1000 = 150;
	verbs::params().unmapped_per_1000 = 250;
	for (uint32_t i = 0; i < 200; i++) {
		const unsigned char kind = kinds[i % 3];
		const uint64_t f = kNotify | flags[i / 3 % 3];
		const uint32_t at = i % 16 * 10000, n = kind == RDS_OP_FADD ? 8 : 100 + i * 40;
		const uint32_t len = f & RDS_RDMA_SILENT && i % 2 ? 0 : 20 + i * 50;

		send(args(kind, cookie, at & ~7u, n, f), nullptr, len);
		ASSERT_EQ(err, 0);
		if (i % 4 == 0)
			sim::run_for(sim::random_below(200 * 1000));
		look();
	}
	ASSERT_TRUE(come_to_rest());
	EXPECT_GT(seen.count(RDS_RDMA_OTHER_ERROR), 10u);
	EXPECT_EQ(seen.count(RDS_RDMA_OTHER_ERROR) + seen.count(RDS_RDMA_SUCCESS), 200u);
	for (uint64_t token : by_number)
		came += status[token] == RDS_RDMA_SUCCESS;
	EXPECT_EQ(got.size(), came);
	EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
	EXPECT_EQ(net_a().stat(RDS_S_conn_reset), 0u);
}

/* ---- a connection that dies ---- */

class RdmaDeath : public Rdma
{
protected:
	/* Some of each kind, with others' messages in between. */
	void send_some()
	{
		const unsigned char kinds[] = {RDS_OP_WRITE, RDS_OP_READ, RDS_OP_FADD};
		const uint64_t flags[] = {0, RDS_RDMA_FENCE, RDS_RDMA_SILENT};

		for (uint32_t i = 0; i < 6; i++) {
			uint32_t at = round * 70000 + i * 10000;
			unsigned char kind = kinds[i % 3];
			uint64_t f = kNotify | flags[(i + round) % 3];
			uint32_t n = kind == RDS_OP_FADD ? 8 : 100 + i * 1500;

			send(args(kind, cookie, at & ~7u, n, f),
			     kind == RDS_OP_FADD ? nullptr : same(at & ~7u, n),
			     f & RDS_RDMA_SILENT ? 0 : 20 + i * 1000);
			ASSERT_EQ(err, 0);
		}
		round = !round;
	}
	void begin()
	{
		cookie = expose();
		fill(ours, static_cast<unsigned char>(seed * 3));
		fill(theirs, static_cast<unsigned char>(seed * 3 + 1));
		round = 0;
	}

	uint64_t cookie = 0;
	uint32_t round = 0, seed = 0;
};

INSTANTIATE_TEST_SUITE_P(Over, RdmaDeath, ::testing::ValuesIn(kVerbs),
			 [](const auto &info) { return std::string(info.param.name); });

/* At every work request there is. */
TEST_P(RdmaDeath, AtAnyWorkRequest)
{
	uint64_t works;

	cookie = expose();
	send_some();
	ASSERT_TRUE(come_to_rest());
	works = fabric::works() + 10;
	for (unsigned int nth = 1; nth <= works; nth++) {
		for (seed = 0; seed < 4; seed++) {
			begin();
			fabric::fail_nth(nth);
			send_some();
			ASSERT_TRUE(come_to_rest()) << nth;
			EXPECT_EQ(mr_free(cookie), 0);
			ASSERT_EQ(seen.complaint(), "") << nth;
		}
	}
	EXPECT_GT(seen.count(RDS_RDMA_SUCCESS), seen.sent() / 4);
	EXPECT_GT(seen.count(RDS_RDMA_DROPPED), 0u);
	EXPECT_GT(seen.count(RDS_RDMA_OTHER_ERROR), 0u);
	EXPECT_EQ(seen.count(RDS_RDMA_REMOTE_ERROR), 0u);
	EXPECT_EQ(seen.count(RDS_RDMA_CANCELED), 0u);
	EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
}

/* At any time, and in order, too. */
TEST_P(RdmaDeath, AtAnyTime)
{
	for (seed = 0; seed < 60; seed++) {
		begin();
		for (int i = 0; i < 4; i++) {
			send_some();
			sim::run_for(sim::random_below(200 * 1000));
			verbs::params().broken_per_1000 = seed % 3 ? 0 : 50;
			if (seed % 2)
				verbs::cut_one(seed % 4 == 1);
			else
				reset_connections();
			look();
		}
		ASSERT_TRUE(come_to_rest());
		EXPECT_EQ(mr_free(cookie), 0);
		ASSERT_EQ(seen.complaint(), "") << seed;
	}
	EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
}

/* Of an operation on a counter there is at most one. */
TEST_P(RdmaDeath, ACounterCountsEveryOneOnce)
{
	std::vector<uint64_t> all;
	uint64_t counter = 0;

	cookie = expose();
	memset(theirs.data(), 0, 8);
	memset(ours.data(), 0xff, ours.size());
	fabric::params().error_per_1000 = 30;
	verbs::params().broken_per_1000 = 30;
	for (uint32_t i = 0; i < 300; i++) {
		struct rds_op_args a = args(RDS_OP_FADD, cookie, 0, 8);

		pieces = {ours.iov(i * 8, 8)};
		a.compare_add = 1;
		all.push_back(send(a, nullptr));
		sim::run_for(sim::random_below(100 * 1000));
		look();
	}
	ASSERT_TRUE(come_to_rest());

	std::vector<uint64_t> old;
	uint64_t done = seen.count(RDS_RDMA_SUCCESS);

	for (size_t i = 0; i < all.size(); i++)
		if (status[all[i]] == RDS_RDMA_SUCCESS) {
			old.push_back(0);
			memcpy(&old.back(), ours.data() + i * 8, 8);
		}
	memcpy(&counter, theirs.data(), 8);
	EXPECT_GE(counter, done);
	EXPECT_LE(counter, 300u);
	EXPECT_GT(done, 100u);
	std::sort(old.begin(), old.end());
	EXPECT_TRUE(std::adjacent_find(old.begin(), old.end()) == old.end());
}

/* The device goes, with regions on it and operations under way; handles stay good. */
TEST_P(RdmaDeath, WithItsDevice)
{
	for (seed = 0; seed < 12; seed++) {
		network::HostId h = network::host_of(seed % 2 ? addr_a : addr_b);
		uint64_t late;
		const struct rds_iov all = theirs.iov();

		begin();
		for (int i = 0; i < 4; i++)
			send_some();
		sim::run_for(sim::random_below(400 * 1000));
		verbs::unplug(h);
		if (!(seed % 2)) {
			EXPECT_EQ(rds_mr_get(to->core(), &all, 0, &late), -19);
		}
		if (seed % 3 == 0) {
			EXPECT_EQ(mr_free(cookie, RDS_RDMA_INVALIDATE), 0);
		}
		verbs::plug(h);
		ASSERT_TRUE(come_to_rest());
		if (seed % 3) {
			EXPECT_EQ(mr_free(cookie), 0);
		}
		/* The next one has a key of its own. */
		begin();
		uint64_t t = send(args(RDS_OP_WRITE, cookie, 0, 100), same(0, 100));
		EXPECT_EQ(told(t), RDS_RDMA_SUCCESS);
		EXPECT_EQ(mr_free(cookie), 0);
	}
	EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
}

/* The programs are killed; what is under way needs none of what was theirs. */
TEST_P(RdmaDeath, OfThePrograms)
{
	for (int who = 0; who < 3; who++) {
		begin();
		for (int i = 0; i < 4; i++)
			send_some();
		sim::run_for(sim::random_below(400 * 1000));
		seen.excuse_from(0);
		seen.closed(1);
		if (who != 1)
			from.reset();
		if (who != 0)
			to.reset();
		EXPECT_TRUE(
			sim::run_until([&] { return !traffic::unacked(net_a()); }, 60 * kSecond));
		from.reset();
		to.reset();
		from = socket_a(100);
		to = socket_b(200);
		from->sock().sndbuf = to->sock().rcvbuf = 2u << 20;
	}
}

/* Operations cancelled before they were begun, and those begun, which cannot be. */
TEST_P(RdmaDeath, ByCancel)
{
	const auto dst = at_b(200);

	for (seed = 0; seed < 30; seed++) {
		begin();
		/* Not begun, there is no connection; or anything. */
		if (seed % 3 == 0) {
			fabric::params().refuse_per_1000 = 1000;
			verbs::cut_all();
			sim::run_for(kSecond / 1000);
		}
		for (int i = 0; i < 4; i++)
			send_some();
		sim::run_for(sim::random_below(200 * 1000));
		seen.excuse_from(0);
		rds_socket_cancel(from->core(), seed % 2 ? &dst : nullptr);
		fabric::params().refuse_per_1000 = 0;
		ASSERT_TRUE(come_to_rest());
		EXPECT_EQ(mr_free(cookie), 0);
		ASSERT_EQ(seen.complaint(), "") << seed;
	}
	EXPECT_GT(seen.count(RDS_RDMA_CANCELED), 0u);
	EXPECT_GT(seen.count(RDS_RDMA_SUCCESS), 0u);
}

TEST_P(RdmaDeath, WithoutMemory)
{
	uint64_t sent = 0;

	begin();
	sim::options().fail_per_1000 = 50;
	for (int i = 0; i < 200; i++) {
		uint32_t at = static_cast<uint32_t>(i % 50) * 1000;
		uint64_t other = 0;
		const struct rds_iov all = theirs.iov();

		sent += send(args(RDS_OP_WRITE, cookie, at, 1000), same(at, 1000)) != 0;
		if (!rds_mr_get(to->core(), &all, 0, &other)) {
			EXPECT_EQ(mr_free(other, i % 2 ? RDS_RDMA_INVALIDATE : 0), 0);
		}
		sim::run_for(sim::random_below(100 * 1000));
		look();
	}
	sim::options().fail_per_1000 = 0;
	ASSERT_TRUE(come_to_rest());
	EXPECT_GT(sent, 50u);
	EXPECT_GT(sim::failed_allocs(), 10u);
	EXPECT_EQ(seen.count(RDS_RDMA_SUCCESS), sent);
}

} // namespace
} // namespace contract
