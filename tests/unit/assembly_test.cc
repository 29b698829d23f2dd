// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of messages that are not whole (net/rds/assembly.h), as transports fill them:
 * strangers have a share of it, all others wait for each other, and all that is given up comes
 * back.
 */
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::Wire;
using fake::wires;
using host::endpoint;
using rds::wire::Header;

constexpr uint32_t kLong = rds::kMaxMessageBytes;
/* The most that one append may add beyond a limit: a payload that grows doubles its room, and a
 * part of that is counted ahead. */
constexpr uint64_t kAtOnce = 2 * kLong;

class RecvAssembly : public SocketTest<0>
{
protected:
	/* A message of @len bytes on the way to @port. */
	struct Half {
		Wire *wire;
		struct rds_msg *m = nullptr;
		uint32_t have = 0;
	};
	/* Host @host is called, because our socket has something to say to it. */
	Wire &known(unsigned int host)
	{
		EXPECT_EQ(s->send(endpoint(host::addr4(host), 5000), pattern(1)), 0);
		sim::run_ready();
		rds_path_connected(wires().back()->path);
		sim::run_ready();
		return *wires().back();
	}
	/* Host @host calls. */
	Wire &stranger(unsigned int host, uint8_t tos = 0)
	{
		struct rds_addr faddr = host::addr4(host);
		int err;

		fake::defaults().initiates = false;

		struct rds_conn *c =
			rds_conn_get(net->core(), fake::ops(), &a1, &faddr, 0, tos, &err);

		rds_path_accepted(rds_conn_path(c, 0), &handle_);
		sim::run_ready();
		rds_conn_put(c);
		return *wires().back();
	}
	/* It calls, and has brought a message for a socket: its next is number 2. */
	Half caller(unsigned int host, uint8_t tos)
	{
		Half h = {&stranger(host, tos)};

		EXPECT_EQ(begin(h, 1), 0);
		EXPECT_EQ(more(h, 1), 0);
		EXPECT_EQ(deliver(h), 0);
		EXPECT_TRUE(s->recv());
		return h;
	}
	static Header header(uint32_t len, uint64_t seq, uint8_t flags = 0)
	{
		Header h;

		rds::wire::encode(h, len, flags ? 0 : 5000, flags ? 0 : 4000, flags);
		rds::wire::put64(h.sequence, seq);
		return h;
	}
	static int begin(Half &half, uint32_t len = kLong, uint64_t seq = 1, uint8_t flags = 0)
	{
		return rds_recv_begin(half.wire->path, header(len, seq, flags).sequence, nullptr, 0,
				      RDS_ATOMIC, &half.m);
	}
	/* @n bytes more; a transport lets go what it is told to stop with. */
	int more(Half &half, uint32_t n)
	{
		struct rds_src src = {zeros_.data(), zeros_.size()};
		int r = rds_recv_more(half.wire->path, half.m, &src, 0, n, RDS_ATOMIC);

		if (r == -71)
			drop(half);
		half.have += r ? 0 : n;
		return r;
	}
	static void drop(Half &half)
	{
		if (half.m)
			rds_msg_put(half.m);
		half.m = nullptr;
	}
	int deliver(Half &half)
	{
		int r = rds_recv_incoming(half.wire->path, half.m);

		if (!r)
			half.m = nullptr;
		return r;
	}
	uint64_t strangers()
	{
		return net->core()->assembly.of_strangers();
	}
	uint64_t others()
	{
		return net->core()->assembly.of_others();
	}

	host::Bytes zeros_ = host::Bytes(kLong);
	int handle_ = 0;
};

/* Each of them sends nearly all of its message.  Without the budget that would be 40 MiB, and with
 * thousands of strangers gigabytes. */
TEST_F(RecvAssembly, StrangersShareABudget)
{
	Half ours = {&known(99)};
	std::vector<Half> halves;
	unsigned int gone = 0;

	for (unsigned int i = 0; i < 32; i++) {
		halves.push_back({&stranger(100 + i)});
		ASSERT_EQ(begin(halves.back()), 0);
	}
	const uint64_t before = host::usage().bytes, most = rds::kAssemblyStrangers + kAtOnce;

	for (uint32_t have = 0; have < kLong - kLong / 16; have += kLong / 16) {
		for (Half &h : halves) {
			if (!h.m)
				continue;
			int r = more(h, kLong / 16);

			ASSERT_TRUE(r == 0 || r == -71) << r;
			gone += r != 0;
			EXPECT_LE(strangers(), most);
			EXPECT_LE(host::usage().bytes, before + most);
		}
	}
	EXPECT_GT(gone, 0u);
	EXPECT_LT(gone, 32u) << "those that are left have room";
	EXPECT_EQ(net->stat(RDS_S_recv_assembly_full), gone);
	sim::run_ready();
	for (Half &h : halves)
		EXPECT_EQ(h.wire->path->last_reason.load(),
			  static_cast<uint32_t>(h.m ? RDS_DROP_NONE : RDS_DROP_EVICTED));
	/* It is no matter of those whom somebody here talks to. */
	ASSERT_EQ(begin(ours), 0);
	ASSERT_EQ(more(ours, kLong / 2), 0);
	EXPECT_GT(others(), kLong / 2);
	ASSERT_EQ(more(ours, kLong / 2), 0);
	ASSERT_EQ(deliver(ours), 0);
	EXPECT_TRUE(s->recv());
	for (Half &h : halves)
		drop(h);
	EXPECT_EQ(strangers(), 0u);
	EXPECT_EQ(others(), 0u);
}

/* At the limit a stranger's message is not even begun. */
TEST_F(RecvAssembly, AStrangerTooManyBeginsNothing)
{
	std::vector<Half> halves;
	Half late = {&stranger(99)};

	for (unsigned int i = 0; strangers() < rds::kAssemblyStrangers; i++) {
		ASSERT_LT(i, 20u);
		halves.push_back({&stranger(100 + i)});
		ASSERT_EQ(begin(halves.back()), 0);
		ASSERT_EQ(more(halves.back(), kLong - 1), 0);
	}
	EXPECT_EQ(begin(late), -71);
	EXPECT_EQ(net->stat(RDS_S_recv_assembly_full), 1u);
	sim::run_ready();
	EXPECT_EQ(late.wire->path->last_reason.load(), static_cast<uint32_t>(RDS_DROP_EVICTED));
	for (Half &h : halves)
		drop(h);
}

/* A host that has brought something for a socket is none. */
TEST_F(RecvAssembly, WhoHasBroughtSomethingIsNoStranger)
{
	Half h = {&stranger(100)};

	ASSERT_EQ(begin(h, 1000), 0);
	EXPECT_GT(strangers(), 0u);
	EXPECT_EQ(others(), 0u);
	ASSERT_EQ(more(h, 1000), 0);
	ASSERT_EQ(deliver(h), 0);
	EXPECT_EQ(strangers(), 0u);
	ASSERT_EQ(begin(h, 1000, 2), 0);
	EXPECT_EQ(strangers(), 0u);
	EXPECT_GT(others(), 0u);
	drop(h);
	EXPECT_EQ(others(), 0u);
	EXPECT_TRUE(s->recv());
}

/* Thrown away, delivered, for a full socket, a map, without memory. */
TEST_F(RecvAssembly, WhatIsGivenUpComesBack)
{
	Half h = {&stranger(100)};

	ASSERT_EQ(begin(h), 0);
	EXPECT_GT(strangers(), 0u) << "the message itself is memory";
	ASSERT_EQ(more(h, 10000), 0);
	EXPECT_GT(strangers(), 10000u);
	drop(h);
	EXPECT_EQ(strangers(), 0u);

	sim::fail_nth(1);
	EXPECT_EQ(begin(h), -12);
	EXPECT_EQ(strangers(), 0u);
	sim::fail_nth(0);

	ASSERT_EQ(begin(h, rds::kCongMapBytes, 0, rds::wire::kCongBitmap), 0);
	ASSERT_EQ(more(h, rds::kCongMapBytes), 0);
	EXPECT_GT(strangers(), rds::kCongMapBytes);
	ASSERT_EQ(deliver(h), 0);
	EXPECT_EQ(strangers(), 0u);

	/* Whole, it is what its path waits with, and no more in anybody's way. */
	rds_net_tunables(net->core())->recv_spill_bytes = 0;
	s->sock().rcvbuf = 1000;
	for (uint64_t seq = 1;; seq++) {
		ASSERT_LT(seq, 1000u);
		ASSERT_EQ(begin(h, 2000, seq), 0);
		ASSERT_EQ(more(h, 2000), 0);

		int r = deliver(h);

		EXPECT_EQ(strangers() + others(), 0u);
		if (r)
			break;
	}
	while (s->recv())
		;
	EXPECT_EQ(deliver(h), 0);
	EXPECT_EQ(strangers() + others(), 0u);
	EXPECT_TRUE(s->recv());
}

/* A byte that was counted is not counted again with those that come next. */
TEST_F(RecvAssembly, WhatGrowsIsCountedOnce)
{
	Half half = {&stranger(2)};

	ASSERT_EQ(begin(half), 0);
	for (unsigned int i = 0; i < 5; i++) {
		ASSERT_EQ(more(half, kLong / 8), 0);
		EXPECT_LE(strangers(), kAtOnce) << i;
	}
	drop(half);
	EXPECT_EQ(strangers(), 0u);
}

/* Its bytes were at hand when it began: not looked at. */
TEST_F(RecvAssembly, AWholeMessageIsNotCounted)
{
	Half h = {&stranger(100)};
	struct rds_src src = {zeros_.data(), zeros_.size()};

	ASSERT_EQ(rds_recv_begin(h.wire->path, header(5000, 1).sequence, &src, 5000, RDS_ATOMIC,
				 &h.m),
		  0);
	EXPECT_EQ(strangers(), 0u);
	ASSERT_EQ(more(h, 5000), 0);
	EXPECT_EQ(strangers(), 0u);
	ASSERT_EQ(deliver(h), 0);
	EXPECT_TRUE(s->recv());
}

/* Peers that are known pause at their limit, and all have their messages in the end: if each waited
 * for what the others hold, none would. */
TEST_F(RecvAssembly, TooMuchInAllPauses)
{
	constexpr unsigned int kPeers = 90;
	std::vector<Half> halves;
	Half late = {&known(99)};
	unsigned int whole = 0, paused = 0;

	for (unsigned int i = 0; i < kPeers; i++) {
		halves.push_back({&known(100 + i)});
		ASSERT_EQ(begin(halves.back()), 0);
	}
	for (Half &h : halves) {
		int r = more(h, kLong / 4 * 3);

		ASSERT_TRUE(r == 0 || r == -12) << r;
		paused += r != 0;
		EXPECT_LE(others(), rds::kAssembly + 2 * kAtOnce);
	}
	EXPECT_GT(paused, kPeers / 8);
	EXPECT_EQ(net->stat(RDS_S_recv_assembly_full), paused);
	EXPECT_EQ(begin(late), -12) << "it can wait with nothing";
	/* In this order those come first that hold little; and all need memory for the rest. */
	for (unsigned int round = 0; round < kPeers && whole < kPeers; round++) {
		unsigned int before = whole;

		for (size_t i = halves.size(); i-- > 0;) {
			Half &h = halves[i];

			if (!h.m || more(h, kLong - h.have))
				continue;
			ASSERT_EQ(deliver(h), 0);
			ASSERT_TRUE(s->recv());
			whole++;
		}
		EXPECT_GT(whole, before) << "all wait for each other";
		EXPECT_LE(others(), rds::kAssembly + 2 * kAtOnce);
	}
	EXPECT_EQ(whole, kPeers);
	EXPECT_EQ(others(), 0u);
	EXPECT_EQ(begin(late), 0);
	drop(late);
	for (Half &h : halves)
		EXPECT_EQ(h.wire->path->state(), rds::PathState::kUp);
}

/* Hosts that bring half a message each and no more of it, until a peer with nothing has hardly a
 * share. */
class RecvAssemblyFull : public RecvAssembly
{
protected:
	void SetUp() override
	{
		RecvAssembly::SetUp();
		a_ = {&known(98)};
		b_ = {&known(99)};
		ASSERT_EQ(begin(a_), 0);
		ASSERT_EQ(begin(b_), 0);
		/* More than a share of what will be left. */
		ASSERT_EQ(more(a_, kLong / 2), 0);
		ASSERT_EQ(more(b_, kLong / 2), 0);
		for (unsigned int i = 0; others() < rds::kAssembly * 9 / 10; i++) {
			ASSERT_LT(i, 80u);
			halves_.push_back({&known(100 + i)});
			ASSERT_EQ(begin(halves_.back()), 0);
			ASSERT_EQ(more(halves_.back(), kLong - 1), 0);
		}
		ASSERT_EQ(net->stat(RDS_S_recv_assembly_full), 0u);
	}
	void TearDown() override
	{
		drop(a_);
		drop(b_);
		for (Half &h : halves_)
			drop(h);
		EXPECT_EQ(others(), 0u);
		RecvAssembly::TearDown();
	}
	std::vector<Half> halves_;
	Half a_, b_;
};

/* One is let through, and the next when that has gone, whole or not. */
TEST_F(RecvAssemblyFull, OneGoesOn)
{
	EXPECT_EQ(more(a_, 10000), 0);
	EXPECT_EQ(more(b_, 10000), -12);
	EXPECT_EQ(more(a_, 10000), 0);
	EXPECT_EQ(more(b_, 10000), -12);
	drop(a_);
	EXPECT_EQ(more(b_, 10000), 0);
}

/* It may not keep all others waiting: it had its time, and another wants it. */
TEST_F(RecvAssemblyFull, ATurnEnds)
{
	EXPECT_EQ(more(a_, 1), 0);
	sim::run_for(rds::kAssemblyTurnNs - 1);
	EXPECT_EQ(more(b_, 1), -12);
	EXPECT_EQ(more(a_, 1), 0);
	sim::run_for(1);
	EXPECT_EQ(more(a_, 1), 0) << "nobody else has asked";
	EXPECT_EQ(more(b_, 1), 0);
	EXPECT_EQ(a_.wire->path->state(), rds::PathState::kUp);
	EXPECT_EQ(more(a_, 1), -71);
	EXPECT_EQ(net->stat(RDS_S_conn_stalled), 1u);
	sim::run_ready();
	EXPECT_EQ(a_.wire->path->last_reason.load(), static_cast<uint32_t>(RDS_DROP_STALLED));
	EXPECT_EQ(more(b_, kLong - b_.have), 0);
	EXPECT_EQ(deliver(b_), 0);
	EXPECT_TRUE(s->recv());
}

/* One that lost the turn may go on all the same once there is room. */
TEST_F(RecvAssemblyFull, RoomIsBetterThanATurn)
{
	EXPECT_EQ(more(a_, 1), 0);
	sim::run_for(rds::kAssemblyTurnNs);
	EXPECT_EQ(more(b_, 1), 0);
	for (Half &h : halves_)
		drop(h);
	EXPECT_EQ(more(a_, kLong - a_.have), 0);
	EXPECT_EQ(deliver(a_), 0);
	EXPECT_TRUE(s->recv());
}

/* A message whose peer's share finds no memory is counted there when it grows next. */
TEST_F(RecvAssemblyFull, WithoutMemoryForAShare)
{
	Half c = {&known(97)};

	ASSERT_EQ(begin(c), 0);
	sim::fail_nth(1);
	EXPECT_EQ(more(c, 1000), 0);
	EXPECT_FALSE(c.m->shared);
	sim::fail_nth(0);
	EXPECT_EQ(more(c, 1000), 0);
	EXPECT_TRUE(c.m->shared);
	drop(c);
}

/* One host has half of what is not open to all, over however many connections: each type of service
 * is one, and each has a path and its half message.  Others do not notice. */
TEST_F(RecvAssembly, AHostHasAShare)
{
	std::vector<Half> halves;
	Half other = {&known(99)}; /* the fake calls no longer after the next */
	unsigned int later = 0;

	for (unsigned int tos = 0; tos < 128; tos++) {
		halves.push_back(caller(100, static_cast<uint8_t>(tos)));
		if (begin(halves.back(), kLong, 2)) {
			later++;
			continue;
		}
		later += more(halves.back(), kLong - 1) != 0;
		ASSERT_LE(others(), rds::kAssembly / 2 + rds::kAssemblyOpen + kAtOnce) << tos;
	}
	EXPECT_GT(later, 50u);
	EXPECT_EQ(net->stat(RDS_S_recv_assembly_full), later);
	for (uint64_t seq = 1; seq <= 5; seq++) {
		ASSERT_EQ(begin(other, kLong, seq), 0);
		for (int part = 0; part < 4; part++)
			ASSERT_EQ(more(other, kLong / 4), 0);
		ASSERT_EQ(deliver(other), 0);
		ASSERT_TRUE(s->recv());
	}
	EXPECT_EQ(net->stat(RDS_S_recv_assembly_full), later);
	for (Half &h : halves)
		drop(h);
	EXPECT_EQ(others(), 0u);
}

/* A host that brings the begin of many, and no more of any, has no more. */
TEST_F(RecvAssembly, BeginsAreShared)
{
	constexpr uint32_t kBegun = 64 * 1024;
	std::vector<Half> halves;
	unsigned int later = 0;

	for (unsigned int i = 0; i < 1024; i++) {
		struct rds_src src = {zeros_.data(), zeros_.size()};
		Half h = caller(100 + i / 256, static_cast<uint8_t>(i));

		later += rds_recv_begin(h.wire->path, header(kLong, 2).sequence, &src, kBegun,
					RDS_ATOMIC, &h.m) != 0;
		if (h.m)
			later += more(h, kBegun) != 0;
		halves.push_back(h);
	}
	EXPECT_GT(later, 0u);
	EXPECT_LT(others(), rds::kAssembly * 9 / 10);
	for (Half &h : halves)
		drop(h);
	EXPECT_EQ(others(), 0u);
}

TEST_F(RecvAssembly, TellsOfWhatDoesNotComeBack)
{
	rds::Message *m = rds::message_create(100, RDS_ATOMIC);

	ASSERT_NE(m, nullptr);
	{
		rds::Assembly a{rds::HashKey{}};

		a.begin(*m, host::addr4(1), 0, true);
		EXPECT_GT(a.of_strangers(), 0u);
	}
	EXPECT_EQ(told(), "a namespace ends and a message still arrives");
	{
		rds::Assembly a{rds::HashKey{}};

		m->assembly = &a; /* where it was not counted */
		rds::message_put(m);
		EXPECT_EQ(told(), "more of arriving messages comes back than was counted");
	}
	EXPECT_EQ(told(), "a namespace ends and a message still arrives");
}

} // namespace
