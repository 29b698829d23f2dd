// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::wire;
using host::endpoint;
using host::Socket;

class PathQueue : public SocketTest<0>
{
protected:
	void send(unsigned int i)
	{
		ASSERT_EQ(s->send(to, pattern(100, i)), 0);
	}
	void bring_up()
	{
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
	}
	void reconnect()
	{
		rds_path_drop(wire().path, RDS_DROP_ERROR);
		sim::run_ready();
		sim::run_for(1000 * 1000 * 1000ull);
		rds_path_connected(wire().path);
		sim::run_ready();
	}
	static constexpr uint64_t kMap = 48 + 8192;
	static constexpr uint64_t kMsg = 48 + 100;
	const struct rds_endpoint to = endpoint(host::addr4(99), 5000);
};

unsigned int count(host::Net &net, enum rds_info_queue q)
{
	return host::count_messages(net.core(), q);
}

TEST_F(PathQueue, NumbersFromOne)
{
	send(1);
	send(2);
	bring_up();

	auto f = fake::frames(wire().sent);

	ASSERT_EQ(f.size(), 3u);
	EXPECT_EQ(f[1].seq, 1u);
	EXPECT_EQ(f[2].seq, 2u);
}

TEST_F(PathQueue, AckFreesWholeMessagesOnly)
{
	send(1);
	send(2);
	send(3);
	EXPECT_EQ(count(*net, RDS_QUEUE_SEND), 3u);
	bring_up();
	EXPECT_EQ(count(*net, RDS_QUEUE_SEND), 0u);
	/* The map before them has left: nobody would send it again. */
	EXPECT_EQ(count(*net, RDS_QUEUE_RETRANS), 3u);
	rds_path_acked(wire().path, kMap + kMsg - 1);
	EXPECT_EQ(count(*net, RDS_QUEUE_RETRANS), 3u);
	rds_path_acked(wire().path, kMap + kMsg);
	EXPECT_EQ(count(*net, RDS_QUEUE_RETRANS), 2u);
	rds_path_acked(wire().path, 1); /* older news */
	EXPECT_EQ(count(*net, RDS_QUEUE_RETRANS), 2u);
	rds_path_acked(wire().path, kMap + 3 * kMsg);
	EXPECT_EQ(count(*net, RDS_QUEUE_RETRANS), 0u);
}

TEST_F(PathQueue, ResetSendsAgainWhatWasNotAcknowledged)
{
	send(1);
	send(2);
	send(3);
	bring_up();
	rds_path_acked(wire().path, kMap + kMsg);
	reconnect();

	auto f = fake::frames(wire().sent);

	ASSERT_EQ(f.size(), 3u);
	EXPECT_EQ(f[0].flags, rds::wire::kCongBitmap);
	EXPECT_EQ(f[1].data, pattern(100, 2));
	EXPECT_EQ(f[1].seq, 2u);
	EXPECT_EQ(f[1].flags, rds::wire::kRetransmitted);
	EXPECT_EQ(f[2].data, pattern(100, 3));
	EXPECT_EQ(net->stat(RDS_S_send_retransmitted), 2u);
}

TEST_F(PathQueue, ResetMarksTheHalfSentOne)
{
	send(1);
	send(2);
	fake::wires()[0]->room = kMap + kMsg / 2;
	bring_up();
	wire().room = SIZE_MAX;
	reconnect();

	auto f = fake::frames(wire().sent);

	ASSERT_EQ(f.size(), 3u);
	EXPECT_EQ(f[1].flags, rds::wire::kRetransmitted);
	EXPECT_EQ(f[2].flags, 0);
}

TEST_F(PathQueue, ResetForgetsACancelledHalf)
{
	send(1);
	send(2);
	fake::wires()[0]->room = kMap + kMsg / 2;
	bring_up();
	rds_socket_cancel(s->core(), &to);
	wire().room = SIZE_MAX;
	reconnect();
	EXPECT_EQ(fake::frames(wire().sent).size(), 1u);
	EXPECT_TRUE(rds_socket_writable(s->core()));
}

/* The transport may read a program's pages again until the message was acknowledged. */
TEST_F(PathQueue, CancelLeavesThePagesThatAreOut)
{
	uint32_t cookies[4];

	fake::set_caps(RDS_CAP_ZEROCOPY);
	for (uint32_t cookie = 7; cookie < 10; cookie++)
		ASSERT_EQ(s->send_zcopy(to, pattern(100, cookie), cookie), 0);
	fake::wires()[0]->room = kMap + kMsg + kMsg / 2;
	bring_up();
	rds_socket_cancel(s->core(), &to);
	ASSERT_EQ(rds_socket_zcopy(s->core(), cookies, 4), 1u);
	EXPECT_EQ(cookies[0], 9u) << "the only one that has not begun to leave";
	EXPECT_TRUE(rds_socket_poll(s->core()) & RDS_POLL_IN);
	rds_socket_zcopy_done(s->core(), 1);
	EXPECT_FALSE(rds_socket_poll(s->core()) & RDS_POLL_IN) << "it was told";
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(rds_socket_zcopy(s->core(), cookies, 4), 0u);
	rds_path_acked(wire().path, kMap + kMsg);
	ASSERT_EQ(rds_socket_zcopy(s->core(), cookies, 4), 1u);
	EXPECT_EQ(cookies[0], 7u);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	rds_socket_cancel(s->core(), &to);
	EXPECT_EQ(rds_socket_zcopy(s->core(), cookies, 4), 2u) << "nothing is out any more";
	EXPECT_EQ(s->core()->snd_space.mem().used(), 2 * rds::kZcopyNoteBytes);
	rds_socket_zcopy_done(s->core(), 2);
	EXPECT_TRUE(s->core()->snd_space.empty());
}

TEST_F(PathQueue, CancelDuringXmitLosesOnlyTheSocket)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		sim::options().preempt_per_1000 = 100;
		if (!seed) {
			send(1);
			bring_up();
		}
		sim::spawn("send", [&] {
			for (unsigned int i = 0; i < 4; i++)
				(void)s->send(to, pattern(100, i));
		});
		sim::spawn("cancel", [&] { rds_socket_cancel(s->core(), nullptr); });
		sim::run_ready();
		rds_socket_cancel(s->core(), nullptr);
		rds_path_acked(wire().path, wire().sent.size());
		ASSERT_EQ(count(*net, RDS_QUEUE_RETRANS), 0u);
		ASSERT_EQ(count(*net, RDS_QUEUE_SEND), 0u);
		ASSERT_EQ(s->core()->snd_space.bytes(), 0u);
		ASSERT_EQ(s->core()->snd_space.mem().used(), 0u);
	}
}

/* Two sockets' messages in one queue, more than one hold of its lock looks at: each that is taken
 * back is the right one, and an info sees all, while acks come and the transport goes on. */
TEST_F(PathQueue, CancelsBesideAnotherInAQueueThatIsLong)
{
	constexpr unsigned int kMany = 3 * rds::kQueueStep + 1;
	auto other = std::make_unique<host::Socket>(*net);

	ASSERT_EQ(other->bind(endpoint(host::addr4(1), 7)), 0);
	for (unsigned int i = 0; i < kMany; i++) {
		send(i);
		ASSERT_EQ(other->send(to, pattern(100, i)), 0);
	}
	EXPECT_EQ(count(*net, RDS_QUEUE_SEND), 2 * kMany);
	rds_socket_cancel(s->core(), &to);
	EXPECT_EQ(count(*net, RDS_QUEUE_SEND), kMany);
	EXPECT_EQ(net->stat(RDS_S_send_cancelled), kMany);
	EXPECT_TRUE(s->core()->snd_space.empty());
	bring_up();
	EXPECT_EQ(count(*net, RDS_QUEUE_RETRANS), kMany);
	for (unsigned int seed = 0; seed < 50; seed++) {
		sim::options().preempt_per_1000 = 100;
		sim::spawn("send", [&] {
			for (unsigned int i = 0; i < kMany; i++)
				(void)s->send(to, pattern(100, i));
		});
		sim::spawn("acks", [&] {
			for (unsigned int i = 0; i < 20; i++)
				rds_path_acked(wire().path, wire().sent.size());
		});
		sim::spawn("info", [&] { (void)count(*net, RDS_QUEUE_RETRANS); });
		sim::spawn("cancel", [&] { rds_socket_cancel(s->core(), nullptr); });
		sim::run_ready();
		rds_socket_cancel(s->core(), nullptr);
		ASSERT_TRUE(s->core()->snd_space.empty());
	}
	other.reset();
	EXPECT_EQ(count(*net, RDS_QUEUE_RETRANS), 0u);
}

/* Under COALESCE a stream of small messages goes out in few calls, and never late. */
TEST_F(PathQueue, HoldsAStreamBackForAMoment)
{
	fake::set_caps(RDS_CAP_COALESCE);
	send(0);
	bring_up();

	unsigned int before = wire().xmits;

	for (unsigned int i = 0; i < 200; i++) {
		send(i);
		sim::run_for(2000);
	}
	EXPECT_LT(wire().xmits - before, 60u);
	EXPECT_GT(net->stat(RDS_S_send_held), 100u);
	sim::run_for(2 * rds::kHoldWindowNs);
	EXPECT_EQ(fake::frames(wire().sent).size(), 202u);
}

TEST_F(PathQueue, HoldsAStreamBackAfterAReset)
{
	fake::set_caps(RDS_CAP_COALESCE);
	send(0);
	bring_up();
	reconnect();
	for (unsigned int i = 0; i < 200; i++) {
		send(i);
		sim::run_for(2000);
	}
	EXPECT_GT(net->stat(RDS_S_send_held), 100u);
}

/* More than would fill a window wait to be sent again when the connection ends. */
TEST_F(PathQueue, HoldsAStreamBackAfterALargeReset)
{
	fake::set_caps(RDS_CAP_COALESCE);
	s->sock().sndbuf = 1u << 20;
	for (unsigned int i = 0; i < 40; i++)
		ASSERT_EQ(s->send(to, pattern(1000, i)), 0);
	bring_up();
	reconnect();
	for (unsigned int i = 0; i < 200; i++) {
		send(i);
		sim::run_for(2000);
	}
	EXPECT_GT(net->stat(RDS_S_send_held), 100u);
}

/* One in a window is no stream, however many windows there are. */
TEST_F(PathQueue, SlowMessagesAreNoStream)
{
	fake::set_caps(RDS_CAP_COALESCE);
	send(0);
	bring_up();
	sim::run_for(10 * rds::kHoldPauseNs);
	for (unsigned int i = 0; i < 50; i++) {
		send(i);
		sim::run_for(2 * rds::kHoldWindowNs);
	}
	EXPECT_EQ(net->stat(RDS_S_send_held), 0u);
}

TEST_F(PathQueue, AReceiversPauseHoldsNothingBack)
{
	unsigned int n = 0;

	fake::set_caps(RDS_CAP_COALESCE);
	send(0);
	bring_up();
	while (fake::frames(wire().sent).size() == n + 2 && n < 400) {
		send(++n);
		sim::run_for(2000);
	}
	ASSERT_EQ(fake::frames(wire().sent).size(), n + 1) << "one waits for company";
	rds_recv_later(wire().path);
	sim::run_for(2 * rds::kHoldWindowNs);
	EXPECT_EQ(fake::frames(wire().sent).size(), n + 2);
}

/* A full receiver or missing memory is not looked after with every flush. */
TEST_F(PathQueue, NorDoesAStreamEndAReceiversPause)
{
	fake::set_caps(RDS_CAP_COALESCE);
	send(0);
	bring_up();
	rds_recv_later(wire().path);

	uint64_t end = sim::now_ns() + rds::kRetryNs;

	while (sim::now_ns() < end - 100 * 1000) {
		send(1);
		sim::run_for(2000);
		rds_path_acked(wire().path, wire().sent.size());
	}
	EXPECT_GT(net->stat(RDS_S_send_held), 100u);
	EXPECT_EQ(wire().history(), "connect");
	sim::run_for(200 * 1000);
	EXPECT_EQ(wire().history(), "connect recv_retry");
}

TEST_F(PathQueue, SendsALoneMessageAtOnce)
{
	fake::set_caps(RDS_CAP_COALESCE);
	send(0);
	bring_up();
	for (unsigned int i = 0; i < 20; i++) {
		size_t had = wire().sent.size();

		send(i);
		EXPECT_EQ(wire().sent.size(), had + kMsg);
		sim::run_for(1000 * 1000);
	}
	EXPECT_EQ(net->stat(RDS_S_send_held), 0u);
}

TEST_F(PathQueue, TellsTheCallerWhenThePathIsDead)
{
	struct rds_endpoint dst = to;

	send(1);
	bring_up();
	rds_transport_net_exit(net->core(), fake::ops());
	EXPECT_TRUE(fake::wires().empty());
	/* The next send makes a new connection. */
	EXPECT_EQ(s->send(dst, pattern(10)), 0);
	EXPECT_EQ(fake::wires().size(), 1u);
}

} // namespace
