// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::wire;
using host::endpoint;
using host::Socket;

class SocketSend : public CoreTest
{
protected:
	void SetUp() override
	{
		CoreTest::SetUp();
		s = std::make_unique<Socket>(*net);
		ASSERT_EQ(s->bind(endpoint(a1, 4000)), 0);
	}
	void TearDown() override
	{
		s.reset();
		CoreTest::TearDown();
	}
	/* Has the path to @remote up, everything queued sent. */
	void bring_up()
	{
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
	}
	std::unique_ptr<Socket> s;
	const struct rds_endpoint to = endpoint(host::addr4(99), 5000);
};

/* fe80::1 and fe80::2 as they lie in memory. */
constexpr struct rds_addr kHere = {{0x80fe, 1ull << 56}}, kThere = {{0x80fe, 2ull << 56}};

/* One end has an interface in its name, the other has not: what comes is for whom the name is. */
TEST_F(SocketSend, FromAGlobalAddressToALinkLocalOne)
{
	const struct rds_endpoint there = {.addr = kThere, .scope = 3, .port = 5000},
				  other = {.addr = kThere, .scope = 4, .port = 5000};

	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(s->send(there, pattern(10)), 0);
		ASSERT_EQ(s->send(other, pattern(10)), 0);
	}
	sim::run_ready();
	ASSERT_EQ(fake::wires().size(), 2u) << "one for each interface";

	struct rds_path *p = fake::wires()[0]->path;

	EXPECT_EQ(rds_path_scope(p), 3u);
	rds_path_connected(p);
	sim::run_ready();
	ASSERT_EQ(fake::arrive(p, 1, 5000, 4000, pattern(7)), 0);

	auto m = s->recv();

	ASSERT_TRUE(m);
	EXPECT_EQ(m->info.from.scope, 3u);
	EXPECT_EQ(s->connect(there), 0);
	EXPECT_EQ(s->send(m->info.from, pattern(10)), 0);
	EXPECT_EQ(fake::wires().size(), 2u);
	rds_socket_cancel(s->core(), nullptr);
}

TEST_F(SocketSend, FromALinkLocalAddressToAGlobalOne)
{
	host::Net other(std::vector<struct rds_addr>{kHere});
	Socket from(other);

	ASSERT_EQ(from.bind({.addr = kHere, .scope = 3, .port = 4000}), 0);
	ASSERT_EQ(from.send(to, pattern(10)), 0);
	sim::run_ready();
	EXPECT_EQ(rds_path_scope(wire().path), 3u);
	rds_path_connected(wire().path);
	sim::run_ready();
	ASSERT_EQ(fake::arrive(wire().path, 1, 5000, 4000, pattern(7)), 0);

	auto m = from.recv();

	ASSERT_TRUE(m);
	EXPECT_EQ(m->info.from.scope, 0u) << "it is a name without";
	EXPECT_EQ(from.send(m->info.from, pattern(10)), 0);
	EXPECT_EQ(fake::wires().size(), 1u);
	rds_socket_cancel(from.core(), nullptr);
}

TEST_F(SocketSend, NeedsABoundSocket)
{
	Socket t(*net);

	EXPECT_EQ(t.send(to, pattern(10)), -107);
}

/* Pages that were lent count nothing; a copy of them does. */
TEST_F(SocketSend, ACopyInsteadOfThePagesIsCharged)
{
	ASSERT_EQ(s->send(to, pattern(5000)), 0);

	uint64_t copied = s->core()->snd_space.mem().used();

	rds_socket_cancel(s->core(), nullptr);
	ASSERT_EQ(s->core()->snd_space.mem().used(), 0u);
	ASSERT_EQ(s->send_zcopy(to, pattern(5000), 7), 0);
	EXPECT_GE(s->core()->snd_space.mem().used() + 256, copied);
	EXPECT_GE(s->sock().charged, s->core()->snd_space.mem().used());
	rds_socket_cancel(s->core(), nullptr);
	EXPECT_EQ(s->core()->snd_space.mem().used(), rds::kZcopyNoteBytes);
}

TEST_F(SocketSend, ConnectsAndSendsInOrder)
{
	for (unsigned int i = 0; i < 5; i++)
		EXPECT_EQ(s->send(to, pattern(i * 100, i)), 0);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect");
	EXPECT_TRUE(wire().sent.empty());
	bring_up();

	auto f = fake::frames(wire().sent);

	ASSERT_EQ(f.size(), 6u); /* the congestion map comes first */
	EXPECT_EQ(f[0].flags, 1);
	EXPECT_EQ(f[0].data.size(), 8192u);
	for (unsigned int i = 0; i < 5; i++) {
		EXPECT_EQ(f[i + 1].seq, i + 1);
		EXPECT_EQ(f[i + 1].sport, 4000);
		EXPECT_EQ(f[i + 1].dport, 5000);
		EXPECT_EQ(f[i + 1].data, pattern(i * 100, i));
	}
	rds_path_acked(wire().path, wire().sent.size());
}

TEST_F(SocketSend, CopiesAtOnceWhenUp)
{
	EXPECT_EQ(s->send(to, pattern(10)), 0);
	bring_up();

	size_t before = wire().sent.size();

	EXPECT_EQ(s->send(to, pattern(20)), 0);
	EXPECT_EQ(wire().sent.size(), before + 48 + 20);
}

TEST_F(SocketSend, KeepsTheLimitOfItsBufferUntilAcked)
{
	s->sock().sndbuf = 1000;
	EXPECT_TRUE(rds_socket_writable(s->core()));
	EXPECT_EQ(s->send(to, pattern(900)), 0);
	EXPECT_EQ(s->send(to, pattern(900)), 0); /* the last one may overshoot */
	EXPECT_EQ(s->send(to, pattern(1)), -11);
	EXPECT_FALSE(rds_socket_writable(s->core()));
	bring_up();
	EXPECT_EQ(s->send(to, pattern(1)), -11);
	EXPECT_EQ(s->sock().woken_write.load(), 0u);
	rds_path_acked(wire().path, 48 + 8192 + 948);
	EXPECT_EQ(s->sock().woken_write.load(), 1u);
	EXPECT_TRUE(rds_socket_writable(s->core()));
	EXPECT_EQ(s->send(to, pattern(1)), 0);
}

/* EPOLLOUT | EPOLLET: between the refusal and the acknowledgement nobody asks for anything. */
TEST_F(SocketSend, ARefusedSenderIsWokenWithoutPolling)
{
	s->sock().sndbuf = 1000;
	EXPECT_EQ(s->send(to, pattern(900)), 0);
	bring_up();
	EXPECT_EQ(s->send(to, pattern(900)), 0);
	EXPECT_EQ(s->send(to, pattern(1)), -11);
	EXPECT_EQ(s->send(to, pattern(1)), -11);
	EXPECT_EQ(s->sock().woken_write.load(), 0u);
	rds_path_acked(wire().path, 48 + 8192 + 948);
	EXPECT_EQ(s->sock().woken_write.load(), 1u);
	rds_path_acked(wire().path, wire().sent.size());
	EXPECT_EQ(s->sock().woken_write.load(), 1u); /* nobody was refused since */
	EXPECT_EQ(s->send(to, pattern(1)), 0);
}

/* The only acknowledgement comes while the send that it makes room for is being refused, at each of
 * its looks: it sees the room, or it is woken. */
TEST_F(SocketSend, RoomThatComesDuringTheRefusalIsSeen)
{
	static struct rds_path *path;
	static uint64_t sent;
	static int look;

	s->sock().sndbuf = 1000;
	EXPECT_EQ(s->send(to, pattern(1)), 0);
	bring_up();
	path = wire().path;
	for (int nth = 1; nth <= 3; nth++) {
		rds_path_acked(path, wire().sent.size());
		ASSERT_EQ(s->send(to, pattern(1000)), 0);
		sent = wire().sent.size();
		look = nth;
		host::on_limit = [] {
			if (!--look)
				rds_path_acked(path, sent);
		};

		const uint32_t woken = s->sock().woken_write.load();
		int ret = s->send(to, pattern(10));

		host::on_limit = nullptr;
		EXPECT_LE(look, 0) << nth << " looks";
		EXPECT_TRUE(!ret || s->sock().woken_write.load() == woken + 1) << nth;
	}
	rds_path_acked(path, wire().sent.size());
}

TEST_F(SocketSend, BoundsMessagesWithoutBytes)
{
	unsigned int n = 0;

	s->sock().sndbuf = 1000;
	while (n < 100000 && s->send(to, {}) == 0)
		n++;
	EXPECT_LT(n, 1000u);
	EXPECT_EQ(s->send(to, {}), -11);
}

TEST_F(SocketSend, PartialWritesGoOnWhereTheyStopped)
{
	EXPECT_EQ(s->send(to, pattern(3000)), 0);
	fake::wires()[0]->room = 0;
	bring_up();
	for (int i = 0; i < 400; i++) {
		wire().room = static_cast<size_t>(i % 60 + 1);
		rds_path_writable(wire().path);
		sim::run_ready();
	}

	auto f = fake::frames(wire().sent);

	ASSERT_EQ(f.size(), 2u);
	EXPECT_EQ(f[1].data, pattern(3000));
}

/* It does without one of them, once: the list of whom it has sent to is not complete then. */
TEST_F(SocketSend, CountsEveryFailureToAllocate)
{
	unsigned int done_without = 0;

	for (unsigned int nth = 1; nth < 30; nth++) {
		uint64_t before = sim::failed_allocs();

		sim::fail_nth(nth);

		int ret = s->send(to, pattern(1000));

		sim::fail_nth(0);
		if (sim::failed_allocs() == before) {
			EXPECT_EQ(ret, 0);
			EXPECT_GT(nth, 4u);
			EXPECT_EQ(done_without, 1u);
			return;
		}
		if (ret) {
			EXPECT_EQ(ret, -12);
			EXPECT_TRUE(s->core()->snd_space.empty()) << "allocation " << nth;
			continue;
		}
		done_without++;
		EXPECT_FALSE(s->core()->sent_to.is_complete());
	}
	FAIL() << "send never ran out of allocations";
}

TEST_F(SocketSend, SaysSoWhenUserMemoryFaults)
{
	auto data = pattern(1000);
	struct rds_uio from = {data.data(), data.size(), 0, 999};
	struct rds_msg *m;

	EXPECT_EQ(rds_msg_create(s->core(), &to, 1000, &from, 0, 0, &m), -14);
	EXPECT_EQ(rds_msg_create(s->core(), &to, 1000, &from, 1, 0, &m), -14);
	EXPECT_TRUE(s->core()->snd_space.empty());
	EXPECT_EQ(s->core()->snd_space.bytes(), 0u);
}

/* However many wait for room, they wait without a message. */
TEST_F(SocketSend, WithoutRoomThereIsNoMessage)
{
	constexpr uint32_t kLength = 100 * 1000;

	s->sock().sndbuf = kLength;
	ASSERT_EQ(s->send(to, pattern(kLength)), 0);
	sim::run_ready();

	auto data = pattern(kLength);
	const size_t blocks = host::usage().blocks;
	const uint64_t charged = s->sock().charged;

	for (int zcopy : {0, 1}) {
		struct rds_uio from = {data.data(), data.size(), 0, SIZE_MAX};
		struct rds_msg *m;

		EXPECT_EQ(rds_msg_create(s->core(), &to, kLength, &from, zcopy, 0, &m), -11);
		EXPECT_EQ(from.off, 0u) << "nothing was read";
	}
	EXPECT_EQ(host::usage().blocks, blocks);
	EXPECT_EQ(s->sock().charged, charged) << "nor did anybody pay for it";
	EXPECT_EQ(s->core()->snd_space.bytes(), kLength);
	EXPECT_EQ(net->stat(RDS_S_send_queue_full), 2u);
}

/* A message that is made has its room, and gives it back when it is not sent. */
TEST_F(SocketSend, AMessageIsMadeWithRoom)
{
	auto data = pattern(1000);
	struct rds_uio from = {data.data(), data.size(), 0, SIZE_MAX};
	struct rds_msg *m;

	s->sock().sndbuf = 1000;
	ASSERT_EQ(rds_msg_create(s->core(), &to, 1000, &from, 0, 0, &m), 0);
	EXPECT_EQ(s->core()->snd_space.bytes(), 1000u);
	EXPECT_EQ(s->core()->snd_space.mem().used(), rds::message_cost(1000, false));
	EXPECT_GE(s->sock().charged, s->core()->snd_space.mem().used());
	EXPECT_EQ(s->send(to, pattern(1)), -11);
	rds_msg_drop(s->core(), m);
	EXPECT_EQ(s->core()->snd_space.bytes(), 0u);
	EXPECT_TRUE(s->core()->snd_space.empty());
	EXPECT_EQ(s->sock().woken_write.load(), 1u) << "somebody was refused";
	EXPECT_EQ(s->send(to, pattern(1)), 0);
}

/* Without room a message that could not be sent anyway is told the reason for that. */
TEST_F(SocketSend, AFullQueueIsTheLastThingThatIsTold)
{
	host::Bytes map(8192);

	s->sock().sndbuf = 100;
	ASSERT_EQ(s->send(to, pattern(100)), 0);
	bring_up();
	EXPECT_EQ(s->send(to, pattern(10)), -11);
	map[5000 / 8] = 1 << (5000 % 8);
	ASSERT_EQ(fake::arrive(wire().path, 0, 0, 0, map, 1), 0);
	EXPECT_EQ(s->send(to, pattern(10)), -105);
	EXPECT_EQ(s->core()->watch.n_waits, 1u) << "so it is woken when the port clears";
	EXPECT_EQ(s->send(endpoint(host::addr4(98), 5000), pattern(10)), -11);
	sim::fail_nth(1);
	EXPECT_EQ(s->send(endpoint(host::addr4(97), 5000), pattern(10)), -12) << "no connection";
	sim::fail_nth(0);
}

/* To a port that is known to be full no message is made, once its socket waits for it. */
TEST_F(SocketSend, NoMessageIsMadeForAFullPort)
{
	host::Bytes map(8192);

	ASSERT_EQ(s->send(to, pattern(100)), 0);
	bring_up();
	map[5000 / 8] = 1 << (5000 % 8);
	ASSERT_EQ(fake::arrive(wire().path, 0, 0, 0, map, 1), 0);
	ASSERT_EQ(s->send(to, pattern(10)), -105);

	const uint64_t copied = net->stat(RDS_S_copy_from_user);
	const uint32_t bytes = s->core()->snd_space.bytes();

	for (int i = 0; i < 3; i++)
		EXPECT_EQ(s->send(to, pattern(10)), -105);
	EXPECT_EQ(net->stat(RDS_S_copy_from_user), copied);
	EXPECT_EQ(s->core()->snd_space.bytes(), bytes);
	EXPECT_EQ(s->send(endpoint(host::addr4(98), 5000), pattern(10)), 0) << "others are not";
}

TEST_F(SocketSend, ReportsZerocopyCookiesInOrder)
{
	auto data = pattern(1000);
	uint32_t cookies[8];

	for (uint32_t i = 0; i < 3; i++) {
		struct rds_uio from = {data.data(), data.size(), 0, SIZE_MAX};
		struct rds_msg *m;

		ASSERT_EQ(rds_msg_create(s->core(), &to, 1000, &from, 1, 70 + i, &m), 0);
		ASSERT_EQ(rds_socket_send(s->core(), &to, m, 0), 0);
	}
	bring_up();
	EXPECT_EQ(rds_socket_zcopy(s->core(), cookies, 8), 0u);
	EXPECT_EQ(s->sock().woken_read.load(), 0u);
	rds_path_acked(wire().path, wire().sent.size());
	EXPECT_EQ(s->sock().woken_read.load(), 3u) << "one each";
	EXPECT_EQ(s->sock().woken_write.load(), 0u) << "nobody was refused";
	ASSERT_EQ(rds_socket_zcopy(s->core(), cookies, 2), 2u);
	EXPECT_EQ(cookies[0], 70u);
	EXPECT_EQ(cookies[1], 71u);
	EXPECT_TRUE(rds_socket_poll(s->core()) & RDS_POLL_IN);
	rds_socket_zcopy_done(s->core(), 2);
	ASSERT_EQ(rds_socket_zcopy(s->core(), cookies, 8), 1u);
	EXPECT_EQ(cookies[0], 72u);
}

/* A program that lends pages and never reads that they are its own again is stopped; what it reads
 * makes room. */
TEST_F(SocketSend, NotesThatNobodyReadsHoldTheirRoom)
{
	constexpr uint32_t kSends = 1000 * rds::kMemFactor / rds::kZcopyNoteBytes + 1;
	uint32_t sent = 0;

	s->sock().sndbuf = 1000;
	while (sent < kSends && !s->send_zcopy(to, pattern(100), sent)) {
		if (!sent++)
			bring_up();
		rds_path_acked(wire().path, wire().sent.size());
	}
	EXPECT_LT(sent, kSends);
	EXPECT_EQ(s->core()->snd_space.bytes(), 0u) << "all of it is delivered";
	EXPECT_EQ(s->send(to, pattern(100)), -11);

	const uint32_t woken = s->sock().woken_write.load();

	rds_socket_zcopy_done(s->core(), 1);
	EXPECT_EQ(s->sock().woken_write.load(), woken + 1) << "it was refused";
	EXPECT_EQ(s->send(to, pattern(100)), 0);
	rds_socket_zcopy_done(s->core(), sent);
	rds_path_acked(wire().path, wire().sent.size());
	EXPECT_TRUE(s->core()->snd_space.empty());
}

TEST_F(SocketSend, CancelTakesBackWhatIsNotHalfSent)
{
	const auto other = endpoint(host::addr4(99), 5001);

	EXPECT_EQ(s->send(to, pattern(100, 1)), 0);
	EXPECT_EQ(s->send(other, pattern(100, 2)), 0);
	EXPECT_EQ(s->send(to, pattern(100, 3)), 0);
	rds_socket_cancel(s->core(), &to);
	bring_up();

	auto f = fake::frames(wire().sent);

	ASSERT_EQ(f.size(), 2u);
	EXPECT_EQ(f[1].data, pattern(100, 2));
	EXPECT_EQ(net->stat(RDS_S_send_cancelled), 2u);
	rds_socket_cancel(s->core(), nullptr);
	EXPECT_EQ(net->stat(RDS_S_send_cancelled), 3u);
}

/* The same port of another host is another destination, and another socket's nobody's. */
TEST_F(SocketSend, CancelTakesBackOneDestination)
{
	const auto other = endpoint(host::addr4(98), 5000);
	Socket t(*net);

	ASSERT_EQ(t.bind(endpoint(a2, 4000)), 0);
	ASSERT_EQ(s->send(to, pattern(100, 1)), 0);
	ASSERT_EQ(s->send(other, pattern(100, 2)), 0);
	ASSERT_EQ(t.send(to, pattern(100, 3)), 0);
	rds_socket_cancel(s->core(), &to);
	EXPECT_EQ(net->stat(RDS_S_send_cancelled), 1u);
	EXPECT_EQ(s->core()->snd_space.bytes(), 100u);
	EXPECT_EQ(t.core()->snd_space.bytes(), 100u);
}

/* Pages that were lent and are half out when their program closes: nobody is told, nothing stays.
 */
TEST_F(SocketSend, HalfALentMessageOutlivesItsSocket)
{
	fake::set_caps(RDS_CAP_ZEROCOPY);

	auto t = std::make_unique<Socket>(*net);

	ASSERT_EQ(t->bind(endpoint(a1, 4001)), 0);
	ASSERT_EQ(t->send_zcopy(to, pattern(1000), 7), 0);
	fake::wires()[0]->room = 48 + 8192 + 48 + 500;
	bring_up();
	EXPECT_EQ(t->core()->snd_space.bytes(), 1000u);

	rds::Socket *core = t->core();

	t->close(); /* its memory stays for a grace period */
	EXPECT_EQ(core->snd_space.bytes(), 0u);
	EXPECT_TRUE(core->snd_space.empty());
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(fake::frames(wire().sent).back().data, pattern(1000));
}

TEST_F(SocketSend, CancelFinishesAMessageThatIsHalfOut)
{
	EXPECT_EQ(s->send(to, pattern(1000, 1)), 0);
	EXPECT_EQ(s->send(to, pattern(1000, 2)), 0);
	fake::wires()[0]->room = 48 + 8192 + 48 + 500;
	bring_up();
	rds_socket_cancel(s->core(), &to);
	EXPECT_EQ(s->send(to, pattern(10, 3)), 0);
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();

	auto f = fake::frames(wire().sent);

	ASSERT_EQ(f.size(), 3u);
	EXPECT_EQ(f[1].data, pattern(1000, 1));
	EXPECT_EQ(f[2].data, pattern(10, 3));
}

TEST_F(SocketSend, ReleaseCancelsWhatWasSent)
{
	EXPECT_EQ(s->send(to, pattern(1000, 1)), 0);
	s.reset();
	bring_up();
	EXPECT_EQ(fake::frames(wire().sent).size(), 1u);
}

TEST_F(SocketSend, ReportsCongestionAndWakesWhenItClears)
{
	host::Bytes map(8192);

	EXPECT_EQ(s->send(to, pattern(10)), 0);
	bring_up();
	map[5000 / 8] = 1 << (5000 % 8);
	EXPECT_EQ(fake::arrive(wire().path, 0, 0, 0, map, 1), 0);
	EXPECT_TRUE(rds_socket_congested(s->core(), &to));
	EXPECT_EQ(s->send(to, pattern(10)), -105);
	EXPECT_EQ(s->send(endpoint(remote, 5001), pattern(10)), 0);
	EXPECT_EQ(s->sock().woken_cong.load(), 0u);
	map[5000 / 8] = 0;
	EXPECT_EQ(fake::arrive(wire().path, 0, 0, 0, map, 1), 0);
	EXPECT_EQ(s->sock().woken_cong.load(), 1u);
	EXPECT_TRUE(rds_socket_poll(s->core()) & RDS_POLL_CONG);
	EXPECT_FALSE(rds_socket_poll(s->core()) & RDS_POLL_CONG); /* told once */
	EXPECT_EQ(s->send(to, pattern(10)), 0);
}

TEST_F(SocketSend, RemembersTheConnectionOfEachPeer)
{
	const auto other = endpoint(host::addr4(98), 5000);

	EXPECT_EQ(s->send(to, pattern(10)), 0);
	EXPECT_EQ(s->send(other, pattern(10)), 0);
	EXPECT_EQ(s->send(to, pattern(10)), 0);
	EXPECT_EQ(fake::wires().size(), 2u);
}

/* Ports that cleared are waited for no longer, so that there is always room to wait for one more
 * and for no other. */
TEST_F(SocketSend, WaitsEndWithTheirPorts)
{
	host::Bytes map(8192);

	EXPECT_EQ(s->send(to, pattern(10)), 0);
	bring_up();
	for (unsigned int round = 1; round <= 2 * rds::kMaxCongWaits; round++) {
		map[5000 / 8] = 1 << (5000 % 8);
		ASSERT_EQ(fake::arrive(wire().path, 0, 0, 0, map, 1), 0);
		ASSERT_EQ(s->send(to, pattern(10)), -105);
		EXPECT_EQ(s->core()->watch.n_waits, 1u);
		map[5000 / 8] = 0;
		ASSERT_EQ(fake::arrive(wire().path, 0, 0, 0, map, 1), 0);
		EXPECT_EQ(s->sock().woken_cong.load(), round);
		EXPECT_EQ(s->core()->watch.n_waits, 0u);
	}
}

} // namespace
