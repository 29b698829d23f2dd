// SPDX-License-Identifier: GPL-2.0
/* Small messages that wait for company (path_company.cc): exactly how long, and for how much. */
#include "fan_fixture.h"
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/order.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::wire;

constexpr uint64_t kUs = 1000;

/* A path that is up and keeps messages back when more are announced. */
class PathWindow : public SocketTest<RDS_CAP_COALESCE>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		s->sock().sndbuf = 1 << 20;
		send(10, false);
		bring_up();
	}
	void bring_up()
	{
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_for(10 * rds::kHoldPauseNs);
	}
	void send(uint32_t len, bool more = true)
	{
		ASSERT_EQ(s->send(host::endpoint(remote, 5000), pattern(len), more), 0);
		sim::run_ready();
	}
};

/* From the first that waits on, however many come to it; and every time anew. */
TEST_F(PathWindow, EndsWhenTheFirstHasWaitedLongEnough)
{
	for (int round = 0; round < 3; round++) {
		size_t had = wire().sent.size();

		for (int i = 0; i < 5; i++) {
			send(10);
			sim::run_for(rds::kHoldWindowNs / 5 - (i == 4));
		}
		EXPECT_EQ(wire().sent.size(), had) << round;
		sim::run_for(1);
		EXPECT_EQ(wire().sent.size(), had + 5 * (RDS_HEADER_BYTES + 10)) << round;
		EXPECT_EQ(net->stat(RDS_S_send_held), 5u * (static_cast<unsigned>(round) + 1));
	}
}

/* One that needs no company ends it, and the next begins its own. */
TEST_F(PathWindow, EndsWithOneThatHasNothingBehindIt)
{
	size_t had = wire().sent.size();

	sim::run_for(10 * rds::kHoldPauseNs);
	send(10);
	sim::run_for(20 * kUs);
	send(10, false);
	EXPECT_GE(wire().sent.size(), had + 2 * (RDS_HEADER_BYTES + 10));
	EXPECT_EQ(wire().last_batch, 2u);
	send(10);
	sim::run_for(rds::kHoldWindowNs - 1);
	EXPECT_GE(wire().sent.size(), had + 2 * (RDS_HEADER_BYTES + 10));
	sim::run_for(1);
	EXPECT_EQ(wire().sent.size(), had + 3 * (RDS_HEADER_BYTES + 10));
}

/* With headers, to the byte; what is out, or was taken back, does not count. */
TEST_F(PathWindow, EndsWhenEnoughAreTogether)
{
	constexpr uint32_t kHeader = RDS_HEADER_BYTES;
	const struct rds_endpoint to = host::endpoint(remote, 5000);

	for (uint32_t missing : {0u, 1u, 1u}) {
		size_t had = wire().sent.size();
		unsigned int xmits = wire().xmits;

		send(100);
		rds_socket_cancel(s->core(), &to);
		send(100);
		send(rds::kHoldBytes - 2 * kHeader - 100 - missing);
		if (missing) {
			EXPECT_EQ(wire().sent.size(), had);
			sim::run_for(rds::kHoldWindowNs);
		}
		EXPECT_EQ(wire().sent.size(), had + rds::kHoldBytes - missing);
		EXPECT_EQ(wire().xmits, xmits + 1);
		rds_path_acked(wire().path, wire().sent.size());
		sim::run_for(10 * rds::kHoldPauseNs);
		if (!missing)
			continue;
		/* And on a connection that begins with what the last one had no room for. */
		wire().room = 0;
		send(1000, false);
		rds_path_drop(wire().path, RDS_DROP_ERROR);
		sim::run_ready();
		wire().room = SIZE_MAX;
		bring_up();
		rds_path_acked(wire().path, wire().sent.size());
	}
}

/* Without the capability nothing waits, whatever is announced. */
TEST_F(PathWindow, IsTheTransportsWish)
{
	size_t had = wire().sent.size();

	fake::set_caps(0);
	send(10);
	EXPECT_EQ(wire().sent.size(), had + RDS_HEADER_BYTES + 10);
	EXPECT_EQ(net->stat(RDS_S_send_held), 0u);
}

/* A stream: messages that follow each other so fast that they are kept back by themselves. */
class PathStream : public PathWindow
{
protected:
	void send_one()
	{
		send(10, false);
	}
	/* True: the one that is sent now waits for company. */
	bool waits()
	{
		uint64_t before = net->stat(RDS_S_send_held);

		send_one();
		return net->stat(RDS_S_send_held) != before;
	}
	/* Until one is kept back: @apart after each. */
	void become_one(uint64_t apart = 2 * kUs)
	{
		for (int i = 0; i < 1000 && !waits(); i++)
			sim::run_for(apart);
	}
	/* The peer has sent up to number @seq. */
	void heard(uint64_t seq)
	{
		ASSERT_EQ(fake::arrive(wire().path, seq, 5000, 4000, pattern(1)), 0);
		sim::run_ready();
		while (s->recv())
			;
	}
};

/* Not every window has to be full within its time: the pause is five times as long. */
TEST_F(PathStream, GoesOnWithItsMessagesInFiveWindows)
{
	for (uint64_t apart : {rds::kHoldPauseNs / 3 - 1, rds::kHoldPauseNs / 3 + kUs}) {
		become_one();

		bool all = true;

		for (int i = 0; i < 12; i++) {
			sim::run_for(apart);
			all = waits() && all;
		}
		EXPECT_EQ(all, apart < rds::kHoldPauseNs / 3) << apart;
		sim::run_for(10 * rds::kHoldPauseNs);
		send_one();
		sim::run_for(10 * rds::kHoldPauseNs);
	}
}

/* However much the peer has sent before: what counts is what comes in the same window. */
TEST_F(PathStream, IsOneWayNow)
{
	heard(1);
	heard(100000);
	become_one();
	EXPECT_TRUE(waits());
}

/* An answer to each is none, however fast. */
TEST_F(PathStream, QuestionsAndAnswersAreNone)
{
	for (uint64_t seq = 1; seq < 300; seq++) {
		EXPECT_FALSE(waits()) << seq;
		heard(seq);
		sim::run_for(2 * kUs);
	}
}

/* Once it is answered it is none any more. */
TEST_F(PathStream, EndsWithTheFirstWindowThatIsAnswered)
{
	become_one();
	EXPECT_TRUE(waits());
	for (uint64_t seq = 1; seq < 4; seq++) {
		heard(seq);
		sim::run_for(rds::kHoldWindowNs);
		(void)waits();
	}
	heard(4);
	sim::run_for(2 * kUs);
	EXPECT_FALSE(waits());
}

/* A socket that has read asks or answers: that waits behind nobody's stream, and takes along what
 * it has said itself.  What it says more waits as any. */
TEST_F(PathStream, AnAnswerWaitsForNobodysStream)
{
	const struct rds_endpoint to = host::endpoint(remote, 5000);
	host::Socket other(*net);
	auto says = [&](bool more) {
		const uint64_t before = net->stat(RDS_S_send_held);

		EXPECT_EQ(other.send(to, pattern(10), more), 0);
		sim::run_ready();
		return net->stat(RDS_S_send_held) == before;
	};

	ASSERT_EQ(other.bind(host::endpoint(a1, 4001)), 0);
	for (uint64_t seq = 1; seq < 6; seq++) {
		become_one();
		EXPECT_TRUE(waits());
		EXPECT_FALSE(says(false)) << "it has read nothing";
		ASSERT_EQ(fake::arrive(wire().path, seq, 5000, 4001, pattern(1)), 0);
		EXPECT_FALSE(says(false)) << "it has read nothing yet";
		EXPECT_TRUE(other.recv());

		const size_t had = wire().sent.size();

		EXPECT_FALSE(says(true)) << "more is to follow";
		EXPECT_TRUE(says(false));
		EXPECT_GE(wire().sent.size(), had + 2 * (RDS_HEADER_BYTES + 10));
		EXPECT_FALSE(says(false)) << "a second one";
		sim::run_for(10 * rds::kHoldPauseNs);
	}
}

/* A stream of three messages waits, and another socket has something to answer. */
class PathAnswer : public PathStream
{
protected:
	static constexpr size_t kOne = RDS_HEADER_BYTES + 10;

	void SetUp() override
	{
		PathStream::SetUp();
		other = std::make_unique<host::Socket>(*net);
		ASSERT_EQ(other->bind(host::endpoint(a1, 4001)), 0);
		ASSERT_EQ(fake::arrive(wire().path, 1, 5000, 4001, pattern(1)), 0);
		EXPECT_TRUE(other->recv());
		sim::run_for(10 * rds::kHoldPauseNs);
		become_one();
		EXPECT_TRUE(waits());
		EXPECT_TRUE(waits());
		had = wire().sent.size();
	}
	void TearDown() override
	{
		other.reset();
		PathStream::TearDown();
	}
	/* How many messages go with the answer, itself included. */
	size_t answer()
	{
		EXPECT_EQ(other->send(host::endpoint(remote, 5000), pattern(10), false), 0);
		sim::run_ready();
		return (wire().sent.size() - had) / kOne;
	}
	/* The source port of the @nth that was sent since. */
	uint16_t port(size_t nth)
	{
		return rds::wire::get16(
			reinterpret_cast<const rds::wire::Header *>(&wire().sent[had + nth * kOne])
				->sport);
	}

	std::unique_ptr<host::Socket> other;
	size_t had = 0;
};

/* It passes what waits, which goes on waiting, and goes when its time has come. */
TEST_F(PathAnswer, PassesAStream)
{
	EXPECT_EQ(answer(), 1u);
	EXPECT_EQ(port(0), 4001);
	EXPECT_TRUE(waits());
	sim::run_for(rds::kHoldWindowNs);
	ASSERT_EQ(wire().sent.size(), had + 5 * kOne);
	for (size_t nth = 1; nth < 5; nth++)
		EXPECT_EQ(port(nth), 4000);
}

/* The gate of further paths opens when all up to a certain number are delivered. */
TEST_F(PathAnswer, PassesNoneWhileAGateIsShut)
{
	rds::Atomic<bool> &gated = wire().path->conn.fan.*reach(fan_gated());

	gated.store(true);
	EXPECT_EQ(answer(), 4u);
	EXPECT_EQ(port(3), 4001);
	gated.store(false);
}

/* Flows may have begun when messages waited already, and count by what their numbers were. */
TEST_F(PathAnswer, PassesNoneWhoseSenderHasFlows)
{
	ASSERT_EQ(rds_socket_set_order(s->core(), static_cast<uint32_t>(rds::Order::kUnordered)),
		  0);
	EXPECT_EQ(answer(), 4u);
	EXPECT_EQ(port(3), 4001);
}

/* One that is too long to wait takes along what does. */
TEST_F(PathAnswer, ALongOneTakesThemAlong)
{
	EXPECT_EQ(other->send(host::endpoint(remote, 5000), pattern(rds::kHoldBytes), false), 0);
	sim::run_ready();
	EXPECT_EQ(wire().sent.size(), had + 3 * kOne + RDS_HEADER_BYTES + rds::kHoldBytes);
}

/* A pong is before them, and they go with it. */
TEST_F(PathStream, APongIsBeforeAStream)
{
	become_one();
	EXPECT_TRUE(waits());

	const size_t had = wire().sent.size();

	ASSERT_EQ(fake::arrive(wire().path, 1, 5000, 0, {}), RDS_RECV_SKIP);
	sim::run_ready();
	ASSERT_GT(wire().sent.size(), had + RDS_HEADER_BYTES);

	const auto *h = reinterpret_cast<const rds::wire::Header *>(&wire().sent[had]);

	EXPECT_EQ(rds::wire::get16(h->sport), 0);
	EXPECT_EQ(rds::wire::get16(h->dport), 5000);
}

} // namespace
