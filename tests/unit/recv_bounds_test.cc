// SPDX-License-Identifier: GPL-2.0
/*
 * The bounds of a receive queue, each against a model of one line: when it is congested, when it is
 * clear again, when it takes no more at all; by bytes and by memory, at the very limits.
 */
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::wire;
using host::endpoint;
using host::Socket;

/* A path that is up, and a socket behind it that only receives. */
class RecvBounds : public SocketTest<0>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(1)), 0);
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
		rds_path_acked(wire().path, wire().sent.size());
	}
	int arrive(size_t bytes)
	{
		int ret = fake::arrive(wire().path, seq_, 5000, 4000, pattern(bytes));

		seq_ += !ret;
		sim::run_ready();
		return ret;
	}
	uint64_t mem()
	{
		return s->core()->rcv_mem.used();
	}
	bool congested()
	{
		bool says = s->core()->congested.load();

		EXPECT_EQ(map_at(a1).test(4000), says);
		return says;
	}
	/* Fills it with messages of @bytes and reads it empty; as the model has it? */
	void fill_and_empty(uint32_t limit, size_t bytes, unsigned int n)
	{
		bool expected = false;
		uint64_t held = 0;

		s->sock().rcvbuf = limit;
		for (unsigned int i = 0; i < n; i++) {
			ASSERT_EQ(arrive(bytes), 0);
			held += bytes;
			if (held > limit || mem() / rds::kMemFactor > limit)
				expected = true;
			ASSERT_EQ(congested(), expected) << "limit " << limit << ", message " << i;
		}
		ASSERT_TRUE(expected) << "not filled";
		while (s->recv()) {
			held -= bytes;
			sim::run_ready();
			if (held < limit / 2 && mem() / rds::kMemFactor < limit / 2)
				expected = false;
			ASSERT_EQ(congested(), expected) << "limit " << limit << ", held " << held;
		}
		EXPECT_EQ(held, 0u);
		EXPECT_FALSE(congested());
		EXPECT_EQ(mem(), 0u);
		EXPECT_EQ(s->core()->rcv_bytes.load(), 0u);
	}

private:
	uint64_t seq_ = 1;
};

TEST_F(RecvBounds, ByBytes)
{
	/* 10 and 5 messages of 200 are limit and half of it to the byte. */
	for (uint32_t limit : {2000u, 1999u, 2001u, 2002u})
		fill_and_empty(limit, 200, 13);
}

TEST_F(RecvBounds, ByMemory)
{
	ASSERT_EQ(arrive(0), 0);

	/* One message's: what 10, and 5, of them are in the limit's measure. */
	uint32_t ten = static_cast<uint32_t>(mem() * 10 / rds::kMemFactor);
	uint32_t five = static_cast<uint32_t>(mem() * 5 / rds::kMemFactor);

	ASSERT_TRUE(s->recv());
	for (uint32_t limit : {ten, ten - 1, ten + 1, 2 * five, 2 * five + 1, 2 * five + 2})
		fill_and_empty(limit, 0, 14);
}

/* kHardMemFactor times the limit in memory is the end: the message stays with the transport. */
TEST_F(RecvBounds, TheHardLimit)
{
	ASSERT_EQ(arrive(0), 0);

	uint64_t one = mem();

	ASSERT_TRUE(s->recv());
	rds_net_tunables(net->core())->recv_spill_bytes = 0;
	for (int more = -1; more < 2; more++) {
		uint32_t limit = static_cast<uint32_t>(one * 12 / rds::kHardMemFactor) +
				 static_cast<uint32_t>(more);
		unsigned int n = 0;
		uint64_t full = net->stat(RDS_S_recv_sock_full);

		s->sock().rcvbuf = limit;
		for (; mem() / rds::kHardMemFactor <= limit; n++)
			ASSERT_EQ(arrive(0), 0) << n;
		EXPECT_EQ(arrive(0), -11);
		EXPECT_EQ(arrive(0), -11);
		EXPECT_EQ(net->stat(RDS_S_recv_sock_full), full + 2);
		ASSERT_TRUE(s->recv());
		EXPECT_EQ(arrive(0), mem() / rds::kHardMemFactor > limit ? -11 : 0);
		while (s->recv())
			;
		EXPECT_GE(n, 12u);
	}
}

/* Beyond it there is room for what was under way, as far as that goes and is paid for. */
TEST_F(RecvBounds, TheSpill)
{
	ASSERT_EQ(arrive(100), 0);

	uint64_t one = mem();

	const uint64_t hard = 100 * rds::kHardMemFactor;

	ASSERT_TRUE(s->recv());
	s->sock().rcvbuf = 100;
	for (uint64_t room : {0, 3000, 50 * 1000, 50 * 1001, 200 * 1000}) {
		rds_net_tunables(net->core())->recv_spill_bytes = static_cast<uint32_t>(room);

		const uint64_t least = hard + room / rds::kLeastSpillPart;
		const uint64_t end = room > least ? room : least;
		uint64_t spilled = 0;
		unsigned int n = 0;

		/* One charge of some is refused: then it is tried again. */
		for (; n < 1000 && (!arrive(100) || !arrive(100)); n++)
			if (n * one / rds::kHardMemFactor > 100)
				spilled += one;
		EXPECT_EQ(mem(), n * one);
		EXPECT_GT(n * one / rds::kHardMemFactor, 100u) << "room " << room;
		EXPECT_TRUE(!spilled ||
			    rds::PeerShares::allows({end - mem() + one, end - hard}, spilled - one,
						    static_cast<uint32_t>(one)));
		EXPECT_FALSE(end > mem() &&
			     rds::PeerShares::allows({end - mem(), end - hard}, spilled,
						     static_cast<uint32_t>(one)))
			<< "room " << room << ", held " << mem();
		while (s->recv())
			;
	}
	/* And as far as it is paid for. */
	rds_net_tunables(net->core())->recv_spill_bytes = 1u << 20;
	while (mem() / rds::kHardMemFactor <= 100 || s->core()->rcv_mem.covers(one))
		ASSERT_EQ(arrive(100), 0);
	s->sock().charges = 7; /* the next charge is refused, as in mem_account_test.cc */
	EXPECT_EQ(arrive(100), -11);
	EXPECT_EQ(arrive(100), 0);
}

/* SO_RCVBUF may say 2^30 - 1, SO_RCVBUFFORCE too; 32 times that would be no bound. */
TEST_F(RecvBounds, AHugeBufferHasABound)
{
	constexpr uint64_t kBound = uint64_t{rds::kMostRcvbuf} * rds::kHardMemFactor;
	rds::MemAccount &account = s->core()->rcv_mem;

	s->sock().rcvbuf = (1u << 30) - 1;
	account.add(1u << 30);
	account.add((1u << 30) - 1);
	while (!account.covers(4096))
		ASSERT_TRUE(account.pay(s->core(), 4096, RDS_MAY_SLEEP).ok());
	ASSERT_LT(mem(), kBound);
	EXPECT_EQ(arrive(100), 0);
	EXPECT_TRUE(congested()) << "at an eighth of that";
	/* And a spill beyond that, if there is to be one. */
	account.add(rds::kHardMemFactor);
	EXPECT_EQ(arrive(100), 0);
	rds_net_tunables(net->core())->recv_spill_bytes = 0;
	EXPECT_EQ(arrive(100), -11);
	account.sub(rds::kHardMemFactor);
	account.sub(1u << 30);
	EXPECT_EQ(arrive(100), 0);
	account.sub((1u << 30) - 1);
	while (s->recv())
		;
	EXPECT_FALSE(congested());
}

/* The socket's cgroup has no more: a little is taken on credit, the rest not before there is, or
 * before the debt was read away.  Any other would go on to 32 times the limit, unpaid. */
TEST_F(RecvBounds, ADebtIsBounded)
{
	unsigned int n = 0;

	s->sock().rcvbuf = 1u << 20;
	s->sock().poor = true;
	while (n < 1000 && !arrive(1000))
		n++;
	EXPECT_LT(n, 1000u);
	EXPECT_GT(mem(), rds::kMostDebt / 2);
	EXPECT_LE(mem(), rds::kMostDebt);
	EXPECT_TRUE(congested()) << "far below its limit, but its port is full";
	/* It has something again: what waits is taken. */
	s->sock().poor = false;
	s->sock().charges = 0;
	EXPECT_EQ(arrive(1000), 0);
	EXPECT_TRUE(s->core()->rcv_mem.covers(0));
	ASSERT_TRUE(s->recv());
	EXPECT_FALSE(congested());
	s->sock().poor = true;
	while (!arrive(1000))
		;
	ASSERT_TRUE(congested());
	while (s->recv())
		;
	EXPECT_FALSE(congested());
	EXPECT_EQ(arrive(1000), 0);
	s->sock().poor = false;
	ASSERT_TRUE(s->recv());
}

/* On credit a message counts as a whole: one that is larger waits until the cgroup has something,
 * though nothing is owed, and is paid for then, before it is there. */
TEST_F(RecvBounds, ALargeMessageIsNoSmallDebt)
{
	const size_t large = 1u << 20;

	s->sock().rcvbuf = 1u << 22;
	s->sock().poor = true;
	EXPECT_EQ(arrive(large), -11);
	EXPECT_EQ(arrive(1000), 0) << "on credit";
	EXPECT_EQ(arrive(large), -11);
	EXPECT_LE(s->core()->rcv_mem.unpaid(), rds::kMostDebt);
	EXPECT_FALSE(congested()) << "with nothing to read nobody would say that it is over";
	s->sock().poor = false;
	s->sock().charges = 0;
	EXPECT_EQ(arrive(large), 0);
	EXPECT_TRUE(s->core()->rcv_mem.covers(0));
	/* As much as fits, and no byte that is paid for counts. */
	s->sock().poor = true;
	ASSERT_TRUE(s->recv());
	ASSERT_EQ(s->recv()->data.size(), large);
	EXPECT_EQ(arrive(rds::kMostDebt - 8192), 0);
	EXPECT_EQ(arrive(1), -11);
	EXPECT_TRUE(congested()) << "there is something to read";
	EXPECT_LE(s->core()->rcv_mem.unpaid(), rds::kMostDebt);
	s->sock().poor = false;
	while (s->recv())
		;
}

/* Somebody has the socket locked as a large message comes: it is taken, and paid for by the next,
 * for a pause would cost more. */
TEST_F(RecvBounds, ALockedSocketTakesALargeMessage)
{
	s->sock().rcvbuf = 1u << 22;
	s->sock().charges = 7;
	EXPECT_EQ(arrive(1u << 20), 0);
	EXPECT_TRUE(s->core()->rcv_mem.covers(0)) << "as it had come";
	s->sock().charges = 0;
	while (s->recv())
		;
}

/* It was congested and its limit is raised: the next that is read finds it far from full. */
TEST_F(RecvBounds, ALimitThatIsRaised)
{
	s->sock().rcvbuf = 1000;
	for (int i = 0; i < 11; i++)
		ASSERT_EQ(arrive(100), 0);
	ASSERT_TRUE(congested());
	s->sock().rcvbuf = 10000;
	ASSERT_TRUE(s->recv());
	EXPECT_FALSE(congested());
}

/* Lowered so far that nothing more is taken, it has to be said that it is full. */
TEST_F(RecvBounds, ALimitThatIsLowered)
{
	Socket monitor(*net);

	rds_net_tunables(net->core())->recv_spill_bytes = 0;
	rds_socket_set_cong_monitor(monitor.core(), 1, ~0ull);
	for (int i = 0; i < 40; i++)
		ASSERT_EQ(arrive(100), 0);
	EXPECT_FALSE(congested());
	s->sock().rcvbuf = 10;
	EXPECT_EQ(arrive(100), -11);
	EXPECT_TRUE(congested());
	EXPECT_EQ(rds_socket_cong_notice(monitor.core()), 0u) << "only what clears is news";
	while (s->recv())
		;
	EXPECT_FALSE(congested());
	EXPECT_EQ(rds_socket_cong_notice(monitor.core()), 1ull << 4000 % 64);
	/* A socket that is a monitor no more is told of nothing. */
	EXPECT_TRUE(monitor.readable());
	rds_socket_set_cong_monitor(monitor.core(), 0, 0);
	EXPECT_FALSE(monitor.readable());
	EXPECT_EQ(arrive(100), 0);
}

/* A socket is told of the first message, and of each if it asks for that. */
TEST_F(RecvBounds, Wakeups)
{
	uint32_t before = s->sock().woken_read.load();

	ASSERT_EQ(arrive(10), 0);
	EXPECT_EQ(s->sock().woken_read.load(), before + 1);
	EXPECT_EQ(s->sock().woken_write.load(), 0u);
	ASSERT_EQ(arrive(10), 0);
	EXPECT_EQ(s->sock().woken_read.load(), before + 1);
	rds_socket_wake_each(s->core());
	ASSERT_EQ(arrive(10), 0);
	EXPECT_EQ(s->sock().woken_read.load(), before + 2);
	EXPECT_EQ(s->core()->wake_each.load(), 1u);
	EXPECT_EQ(wire().path->reached.load(), 1u);
}

/* Every reason for which poll(2) says that there is something, alone. */
TEST_F(RecvBounds, ReasonsToPoll)
{
	rds::Socket &c = *s->core();

	EXPECT_EQ(rds_socket_poll(s->core()), static_cast<unsigned int>(RDS_POLL_OUT));
	c.watch.cong_notice.store(1);
	EXPECT_EQ(rds_socket_poll(s->core()),
		  static_cast<unsigned int>(RDS_POLL_OUT | RDS_POLL_IN));
	c.watch.cong_notice.store(0);
	c.rdma.notices.store(1);
	EXPECT_EQ(rds_socket_poll(s->core()),
		  static_cast<unsigned int>(RDS_POLL_OUT | RDS_POLL_IN));
	c.rdma.notices.store(0);
	c.zcopy_count.store(1);
	EXPECT_FALSE(s->readable());
	EXPECT_EQ(rds_socket_poll(s->core()),
		  static_cast<unsigned int>(RDS_POLL_OUT | RDS_POLL_IN));
	c.zcopy_count.store(0);
	c.watch.cong_event.store(true);
	EXPECT_EQ(rds_socket_poll(s->core()),
		  static_cast<unsigned int>(RDS_POLL_OUT | RDS_POLL_CONG));
	EXPECT_EQ(rds_socket_poll(s->core()), static_cast<unsigned int>(RDS_POLL_OUT)) << "once";
	/* A monitor hears of it by its notice. */
	rds_socket_set_cong_monitor(s->core(), 1, ~0ull);
	c.watch.cong_event.store(true);
	EXPECT_EQ(rds_socket_poll(s->core()), static_cast<unsigned int>(RDS_POLL_OUT));
	EXPECT_EQ(c.watch.cong_event.load(), 0u);
	rds_socket_set_cong_monitor(s->core(), 0, 0);
	s->sock().sndbuf = 0;
	EXPECT_EQ(rds_socket_poll(s->core()), 0u);
	ASSERT_EQ(arrive(1), 0);
	EXPECT_EQ(rds_socket_poll(s->core()), static_cast<unsigned int>(RDS_POLL_IN));
	/* Taken over by a reader who has not read it, it is there all the same. */
	struct rds_recv_info info;

	ASSERT_EQ(rds_recv_lock(s->core()), 0);
	ASSERT_NE(rds_recv_head(s->core(), &info), nullptr);
	rds_recv_unlock(s->core());
	EXPECT_TRUE(s->readable());
	EXPECT_EQ(rds_socket_poll(s->core()), static_cast<unsigned int>(RDS_POLL_IN));
}

} // namespace
