// SPDX-License-Identifier: GPL-2.0
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "fan_fixture.h"

namespace
{

/* A path to a remote host whose ports fill and clear. */
class PathHold : public CoreTest
{
protected:
	void SetUp() override
	{
		CoreTest::SetUp();
		fake::set_caps(RDS_CAP_DELIVERY_ACK);
		s = std::make_unique<Socket>(*net);
		other = std::make_unique<Socket>(*net);
		ASSERT_EQ(s->bind(host::endpoint(a1, 4000)), 0);
		ASSERT_EQ(other->bind(host::endpoint(a1, 4001)), 0);
		s->sock().sndbuf = other->sock().sndbuf = 1 << 20;
	}
	void TearDown() override
	{
		other.reset();
		s.reset();
		CoreTest::TearDown();
	}
	using Socket = host::Socket;

	/* Up, with a peer of mainline's, and no room for more. */
	void fill_up()
	{
		ASSERT_EQ(send(*other, 9), 0);
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
		peer_map({});
		wire().room = 0;
	}
	static fake::Wire &wire()
	{
		return fake::wire();
	}
	int send(Socket &from, uint16_t port)
	{
		return from.send(host::endpoint(remote, port), pattern(10, ++n));
	}
	/* The peer says which of its ports are full. */
	void peer_map(const std::vector<uint16_t> &full)
	{
		peer_says(full);
		sim::run_ready();
	}
	void peer_says(const std::vector<uint16_t> &full)
	{
		host::Bytes bits(rds::kCongMapBytes);

		for (uint16_t port : full)
			bits[port / 8] |= static_cast<unsigned char>(1 << port % 8);
		EXPECT_EQ(fake::arrive(wire().path, 0, 0, 0, bits, rds::wire::kCongBitmap), 0);
	}
	void open_up()
	{
		wire().room = SIZE_MAX;
		rds_path_writable(wire().path);
		sim::run_ready();
	}
	/* A message has stepped aside for port 5, and another is queued for it, behind many: the
	 * port is clear again, and the first waits for the other to go. */
	void one_waits_for_another()
	{
		fill_up();
		ASSERT_EQ(send(*s, 5), 0);
		/* One that finds room now, and a batch that ends before the last. */
		for (unsigned int i = 0; i <= rds::kXmitBatch; i++)
			ASSERT_EQ(send(*other, 6), 0);
		ASSERT_EQ(send(*s, 5), 0);
		peer_map({5});
		wire().room = RDS_HEADER_BYTES + 10;
		rds_path_writable(wire().path);
		sim::run_ready();
		ASSERT_EQ(said(), "9:1 6:3 ");
		peer_map({});
	}
	/* Port 5 is full, and there is room: how often a sender leaves the rest to the worker. */
	uint64_t turns()
	{
		const uint64_t before = net->stat(RDS_S_send_delayed_retry);

		peer_map({5});
		open_up();
		return net->stat(RDS_S_send_delayed_retry) - before;
	}
	/* "port:first byte" of the messages on the wire, in order; their numbers only rise. */
	std::string said()
	{
		std::string text;
		uint64_t last = 0;

		for (const auto &f : fake::frames(wire().sent)) {
			if (!f.sport || !f.dport)
				continue;
			EXPECT_GT(f.seq, last);
			last = f.seq;
			text += std::to_string(f.dport) + ":" + std::to_string(index_of(f.data)) +
				" ";
		}
		return text;
	}
	unsigned int index_of(const host::Bytes &data)
	{
		for (unsigned int i = 1; i <= n; i++)
			if (data == pattern(10, i))
				return i;
		return 0;
	}
	unsigned int queued(enum rds_info_queue q)
	{
		return host::count_messages(net->core(), q);
	}

	std::unique_ptr<Socket> s, other;
	unsigned int n = 0;
};

TEST_F(PathHold, OthersPassAFullPort)
{
	fill_up();
	for (uint16_t port : {5, 6, 5, 6})
		ASSERT_EQ(send(*s, port), 0);
	peer_map({5});
	open_up();
	EXPECT_EQ(said(), "9:1 6:3 6:5 ");
	EXPECT_EQ(queued(RDS_QUEUE_SEND), 2u);
	/* New ones are refused as ever. */
	EXPECT_EQ(send(*s, 5), -105);
	peer_map({});
	EXPECT_EQ(said(), "9:1 6:3 6:5 5:2 5:4 ");
	EXPECT_EQ(queued(RDS_QUEUE_SEND), 0u);
}

/* One that is queued when its port begins to be held, and has no turn to step aside: those that
 * wait do not return before it has gone. */
TEST_F(PathHold, TheLastThatWasQueuedBeforeIsWaitedFor)
{
	one_waits_for_another();
	open_up();

	const std::string all = said(), last = " 5:" + std::to_string(n) + " ";

	EXPECT_NE(all.find(" 5:2 "), std::string::npos);
	EXPECT_NE(all.find(last), std::string::npos);
	EXPECT_LT(all.find(" 5:2 "), all.find(last));
}

/* The sender has a next batch each time, so it is not because nothing is left that it looks. */
TEST_F(PathHold, ReturnsThoughTheQueueIsNeverEmpty)
{
	const unsigned int many = 200;

	one_waits_for_another();
	std::function<void()> another = [&] {
		if (n == many)
			return;
		ASSERT_EQ(send(*other, 6), 0);
		wire().on_xmit = another;
	};

	wire().on_xmit = another;
	open_up();

	const std::string all = said();

	ASSERT_NE(all.find(" 6:" + std::to_string(many) + " "), std::string::npos);
	EXPECT_LT(all.find(" 5:2 "), all.find(" 6:" + std::to_string(many) + " "));
}

/* A message accepted between the clearing and the return stays behind those that waited. */
TEST_F(PathHold, TheOrderOfAPortIsKept)
{
	fill_up();
	ASSERT_EQ(send(*s, 5), 0);
	ASSERT_EQ(send(*other, 5), 0);
	peer_map({5});
	open_up();
	wire().on_xmit = [&] {
		peer_map({});
		ASSERT_EQ(send(*s, 5), 0);
	};
	ASSERT_EQ(send(*s, 6), 0);
	sim::run_ready();
	EXPECT_EQ(said(), "9:1 6:4 5:2 5:3 5:5 ");
}

/* seed 407 of 1000 steps: the port filled while the first was with the transport, which took
 * nothing. */
TEST_F(PathHold, WhatTheTransportDidNotTakeIsStillTheFirst)
{
	fill_up();
	ASSERT_EQ(send(*s, 6), 0);
	ASSERT_EQ(send(*s, 5), 0);
	ASSERT_EQ(send(*s, 5), 0);
	wire().room = 58; /* the first */
	wire().on_xmit = [&] { peer_says({5}); };
	rds_path_writable(wire().path);
	sim::run_ready();
	ASSERT_EQ(send(*s, 6), 0);
	open_up();
	EXPECT_EQ(said(), "9:1 6:2 6:5 ");
	peer_map({});
	EXPECT_EQ(said(), "9:1 6:2 6:5 5:3 5:4 ");
}

TEST_F(PathHold, AResetBringsThemBack)
{
	fill_up();
	for (uint16_t port : {5, 6, 5})
		ASSERT_EQ(send(*s, port), 0);
	peer_map({5});
	open_up();
	ASSERT_EQ(said(), "9:1 6:3 ");
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	rds_path_connected(wire().path);
	sim::run_ready();
	EXPECT_EQ(said(), "9:1 6:3 5:2 5:4 ");
}

/* The transport goes: what waits for a port is finished with the rest. */
TEST_F(PathHold, TheEndOfThePathTakesThem)
{
	fill_up();
	for (uint16_t port : {5, 6, 5})
		ASSERT_EQ(send(*s, port), 0);
	peer_map({5});
	open_up();
	ASSERT_EQ(queued(RDS_QUEUE_SEND), 2u);
	net->core()->conns.kill_all(nullptr);
	EXPECT_TRUE(s->core()->snd_space.empty());
}

/* They are queued again some at a time, and what is sent meanwhile stays behind them. */
TEST_F(PathHold, WhatIsSentWhileManyReturnStaysBehindThem)
{
	auto send_number = [this] {
		const uint32_t number = ++n;
		host::Bytes data(sizeof(number));

		memcpy(data.data(), &number, sizeof(number));
		return s->send(host::endpoint(remote, 5), data);
	};

	s->sock().sndbuf = 1 << 30;
	fill_up();
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	for (unsigned int seed = 0; seed < 20; seed++) {
		uint32_t last = 0;

		/* One has been sent, and will be again. */
		ASSERT_EQ(send_number(), 0);
		sim::run_ready();
		wire().sent.clear();
		wire().room = 0;
		for (unsigned int i = 0; i < 3 * rds::kQueueStep; i++)
			ASSERT_EQ(send_number(), 0);
		peer_map({5});
		open_up();
		/* The port clears while nothing can go. */
		wire().room = 0;
		ASSERT_EQ(send(*other, 6), 0);
		sim::run_ready();
		peer_map({});
		sim::options().preempt_per_1000 = 100;
		rds_path_drop(wire().path, RDS_DROP_ERROR);
		sim::spawn("send", [&] {
			for (unsigned int i = 0; i < 50; i++)
				(void)send_number();
		});
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		wire().room = SIZE_MAX;
		rds_path_connected(wire().path);
		sim::run_ready();
		for (const auto &f : fake::frames(wire().sent)) {
			uint32_t number;

			if (f.dport != 5)
				continue;
			memcpy(&number, f.data.data(), sizeof(number));
			ASSERT_GT(number, last) << "seed " << seed;
			last = number;
		}
		ASSERT_EQ(queued(RDS_QUEUE_SEND), 0u);
	}
}

/* The peer may have it: its number must not change. */
TEST_F(PathHold, WhatWasSentBeforeIsSentAgain)
{
	fill_up();
	wire().room = SIZE_MAX;
	ASSERT_EQ(send(*s, 5), 0);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	wire().room = 0;
	rds_path_connected(wire().path);
	sim::run_ready();
	peer_map({5});
	open_up();
	EXPECT_EQ(said(), "9:1 5:2 ");
}

TEST_F(PathHold, CancelAndCloseFindThem)
{
	fill_up();
	for (uint16_t port : {5, 6})
		ASSERT_EQ(send(*s, port), 0);
	ASSERT_EQ(send(*other, 5), 0);
	peer_map({5, 6});
	open_up();
	EXPECT_EQ(queued(RDS_QUEUE_SEND), 3u);

	const auto five = host::endpoint(remote, 5);

	rds_socket_cancel(s->core(), &five);
	EXPECT_EQ(queued(RDS_QUEUE_SEND), 2u);
	s.reset();
	EXPECT_EQ(queued(RDS_QUEUE_SEND), 1u);
	EXPECT_EQ(net->stat(RDS_S_send_cancelled), 2u);
	peer_map({});
	EXPECT_EQ(said(), "9:1 5:4 ");
}

/* Nothing goes after the batch, so its end is not to wait for more. */
TEST_F(PathHold, ABatchHasNoMoreBehindItWhereTheNextStepsAside)
{
	fill_up();
	for (unsigned int i = 0; i < 2 * rds::kXmitBatch; i++)
		ASSERT_EQ(send(*s, 6), 0);
	ASSERT_EQ(send(*s, 5), 0);
	peer_map({5});

	const unsigned int xmits = wire().xmits, ends = wire().ends;

	open_up();
	EXPECT_EQ(wire().xmits - xmits, 2u);
	EXPECT_EQ(wire().ends - ends, 1u) << "the first is followed, whatever else is full";
	EXPECT_FALSE(wire().last_more);
	peer_map({});
}

/* A connection that ends between two batches brings back what was to begin the next. */
TEST_F(PathHold, WhatABatchWaitsForIsSentOnTheNextConnection)
{
	fill_up();
	for (unsigned int i = 0; i < rds::kXmitBatch + 1; i++)
		ASSERT_EQ(send(*s, 6), 0);
	wire().on_xmit = [] {
		rds_path_drop(wire().path, RDS_DROP_ERROR);
		for (unsigned int i = 0; i < 100; i++)
			sim::yield(); /* the worker waits for the token */
	};
	open_up();
	EXPECT_TRUE(wire().last_more) << "the path closes before the next batch";
	rds_path_connected(wire().path);
	sim::run_ready();

	const auto frames = fake::frames(wire().sent);

	EXPECT_EQ(std::count_if(frames.begin(), frames.end(),
				[](const fake::Frame &f) { return f.dport == 6; }),
		  static_cast<long>(rds::kXmitBatch) + 1);
}

/* The transport was told of it: so it goes, as those that the transport has. */
TEST_F(PathHold, WhatABatchWaitsForIsNotTakenBackMeanwhile)
{
	fill_up();
	for (unsigned int i = 0; i < rds::kXmitBatch; i++)
		ASSERT_EQ(send(*other, 6), 0);
	for (unsigned int i = 0; i < 2; i++)
		ASSERT_EQ(send(*s, 7), 0);
	wire().on_xmit = [this] {
		EXPECT_TRUE(wire().last_more);
		peer_says({7});
		s.reset();
	};
	open_up();
	EXPECT_FALSE(wire().last_more);

	const auto frames = fake::frames(wire().sent);

	EXPECT_EQ(std::count_if(frames.begin(), frames.end(),
				[](const fake::Frame &f) { return f.dport == 7; }),
		  1);
	peer_map({});
}

/* Two half-sent pieces of one message never have another between them. */
TEST_F(PathHold, AHalfSentOneGoesOn)
{
	fill_up();
	ASSERT_EQ(send(*s, 5), 0);
	ASSERT_EQ(send(*s, 5), 0);
	ASSERT_EQ(send(*s, 6), 0);
	wire().room = 20;
	rds_path_writable(wire().path);
	sim::run_ready();
	peer_map({5});
	open_up();
	EXPECT_EQ(said(), "9:1 5:2 6:4 ");
}

TEST_F(PathHold, WithoutMemoryNothingStepsAside)
{
	fill_up();
	ASSERT_EQ(send(*s, 5), 0);
	ASSERT_EQ(send(*s, 6), 0);
	peer_map({5});
	wire().room = SIZE_MAX;
	sim::options().fail_per_1000 = 1000;
	rds_path_writable(wire().path);
	sim::run_ready();
	sim::options().fail_per_1000 = 0;
	EXPECT_EQ(said(), "9:1 5:2 6:3 ");
}

/* The port that clears gives its messages back; the other waits on. */
/* A port stays held when its messages were taken back, and its memory is nobody's. */
TEST_F(PathHold, NoMorePortsThanThereMayBe)
{
	constexpr uint16_t kPorts = rds::kMaxHeldPorts + 40;
	std::vector<uint16_t> full;

	fill_up();
	for (uint16_t port = 5000; port < 5000 + kPorts; port++) {
		ASSERT_EQ(send(*s, port), 0);
		full.push_back(port);
	}
	peer_map(full);
	open_up();
	EXPECT_EQ(wire().path->conn.fcong->held.load(), rds::kMaxHeldPorts);
	EXPECT_EQ(queued(RDS_QUEUE_SEND), rds::kMaxHeldPorts);
	peer_map({});
	EXPECT_EQ(queued(RDS_QUEUE_SEND), 0u);
	EXPECT_EQ(wire().path->conn.fcong->held.load(), 0u);
}

TEST_F(PathHold, EachPortForItself)
{
	fill_up();
	for (uint16_t port : {5, 6, 7, 5})
		ASSERT_EQ(send(*s, port), 0);
	peer_map({5, 6});
	open_up();
	EXPECT_EQ(said(), "9:1 7:4 ");
	EXPECT_TRUE(wire().path->holds(5));
	EXPECT_TRUE(wire().path->holds(6));
	EXPECT_FALSE(wire().path->holds(7));
	peer_map({6});
	EXPECT_EQ(said(), "9:1 7:4 5:2 5:5 ");
	EXPECT_FALSE(wire().path->holds(5));
	EXPECT_TRUE(wire().path->holds(6));
	peer_map({5});
	EXPECT_EQ(said(), "9:1 7:4 5:2 5:5 6:3 ");
	EXPECT_FALSE(wire().path->holds(6));
}

/* The task that clears a port looks at the paths only if somebody waits for one. */
TEST_F(PathHold, TheMapKnowsHowManyPortsAreWaitedFor)
{
	fill_up();

	auto &held = wire().path->conn.fcong->held;

	EXPECT_EQ(held.load(), 0u);
	for (uint16_t port : {5, 6, 5})
		ASSERT_EQ(send(*s, port), 0);
	ASSERT_EQ(send(*other, 5), 0);
	peer_map({5, 6});
	open_up();
	EXPECT_EQ(held.load(), 2u);
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(held.load(), 2u);
	peer_map({6});
	EXPECT_EQ(held.load(), 1u);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	EXPECT_EQ(held.load(), 0u);
}

/* A frame that no socket has sent waits for nobody, whoever else does. */
TEST_F(PathHold, APongGoes)
{
	auto pongs = [] {
		unsigned int count = 0;

		for (const auto &f : fake::frames(wire().sent))
			count += !f.sport && f.dport == 5;
		return count;
	};

	fill_up();
	ASSERT_EQ(fake::arrive(wire().path, 1, 5, 0, {}), RDS_RECV_SKIP);
	ASSERT_EQ(send(*s, 5), 0);
	peer_map({5});
	open_up();
	EXPECT_EQ(pongs(), 1u);
	ASSERT_TRUE(wire().path->holds(5));
	ASSERT_EQ(fake::arrive(wire().path, 2, 5, 0, {}), RDS_RECV_SKIP);
	sim::run_ready();
	EXPECT_EQ(pongs(), 2u);
	EXPECT_EQ(said(), "9:1 ");
}

/* Ordering hints go by numbers: a message of theirs makes no port be held, but waits behind
 * others'.
 */
TEST_F(PathHold, WhoseSocketHasOrderingHintsIsNotTheFirst)
{
	fill_up();
	ASSERT_EQ(rds_socket_set_order(s->core(), 2), 0);
	ASSERT_EQ(send(*s, 5), 0);
	ASSERT_EQ(send(*other, 6), 0);
	ASSERT_EQ(send(*s, 6), 0);
	peer_map({5, 6});
	open_up();
	EXPECT_EQ(said(), "9:1 5:2 ");
	peer_map({});
	EXPECT_EQ(said(), "9:1 5:2 6:3 6:4 ");
}

/* The numbers of path 0 say when it is empty, on the way to more paths. */
TEST_F(PathHold, NothingStepsAsideWhileTheFirstIsEmptied)
{
	fill_up();
	ASSERT_EQ(send(*s, 5), 0);
	(wire().path->conn.fan.*reach(fan_gated())).store(true);
	peer_map({5});
	open_up();
	EXPECT_EQ(said(), "9:1 5:2 ");
	(wire().path->conn.fan.*reach(fan_gated())).store(false);
}

/* So do thousands, but not in one turn: a softirq may be the one that makes them. */
TEST_F(PathHold, ManyStepAsideInSeveralTurns)
{
	constexpr uint64_t kMany = 3 * rds::kSendBatchDefault;

	s->sock().sndbuf = 1 << 30;
	fill_up();
	for (uint64_t i = 0; i < kMany; i++)
		ASSERT_EQ(send(*s, 5), 0);
	ASSERT_EQ(send(*other, 6), 0);
	EXPECT_GE(turns(), kMany / rds::kSendBatchDefault);
	peer_map({});

	const auto frames = fake::frames(wire().sent);

	EXPECT_EQ(std::count_if(frames.begin(), frames.end(),
				[](const fake::Frame &f) { return f.dport == 5; }),
		  static_cast<long>(kMany));
}

/* Those that go and those that step aside are counted together. */
TEST_F(PathHold, EveryOtherOneStepsAside)
{
	constexpr uint64_t kMany = 3 * rds::kSendBatchDefault;

	s->sock().sndbuf = 1 << 30;
	fill_up();
	for (uint64_t i = 0; i < kMany / 2; i++) {
		ASSERT_EQ(send(*s, 5), 0);
		ASSERT_EQ(send(*s, 6), 0);
	}
	EXPECT_EQ(turns(), kMany / rds::kSendBatchDefault);
	peer_map({});
}

/* A path that waits for somebody is not idle. */
TEST_F(PathHold, KeepsThePathBusy)
{
	fill_up();
	ASSERT_EQ(send(*s, 5), 0);
	peer_map({5});
	open_up();
	rds_path_acked(wire().path, wire().sent.size());
	EXPECT_TRUE(wire().path->has_queued());
	EXPECT_TRUE(wire().path->has_messages());
}

/* One receiver on this host is at its hard limit; another one goes on reading. */
TEST_F(PathHold, OnLoopbackAFullSocketStopsItself)
{
	fake::set_caps(RDS_CAP_PREFER_LOOP);

	Socket full(*net), reads(*net);
	std::vector<std::unique_ptr<Socket>> senders;
	const auto five = host::endpoint(a2, 5), six = host::endpoint(a2, 6);
	int got = 0;

	ASSERT_EQ(full.bind(five), 0);
	ASSERT_EQ(reads.bind(six), 0);
	full.sock().rcvbuf = 1000;
	/* Everybody is let in before anybody knows: queued while the path is still down. */
	for (int i = 0; i < 100; i++) {
		senders.push_back(std::make_unique<Socket>(*net));
		ASSERT_EQ(senders.back()->bind(host::endpoint(a1, static_cast<uint16_t>(100 + i))),
			  0);
		ASSERT_EQ(senders.back()->send(five, pattern(4000, i)), 0);
	}
	sim::run_ready();
	EXPECT_GT(net->stat(RDS_S_recv_sock_full), 0u);
	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(other->send(six, pattern(10)), 0);
		sim::run_ready();
		ASSERT_TRUE(reads.recv().has_value());
	}
	while (auto m = full.recv()) {
		EXPECT_EQ(m->data, pattern(4000, got++));
		sim::run_ready();
	}
	EXPECT_EQ(got, 100);
}

/* Full because its limit was lowered, and nobody was told yet. */
TEST_F(PathHold, OnLoopbackALoweredLimitStopsOnlyItsSocket)
{
	fake::set_caps(RDS_CAP_PREFER_LOOP);

	Socket full(*net), reads(*net);
	const auto five = host::endpoint(a2, 5), six = host::endpoint(a2, 6);

	ASSERT_EQ(full.bind(five), 0);
	ASSERT_EQ(reads.bind(six), 0);
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(s->send(five, pattern(4000, i)), 0);
	sim::run_ready();
	full.sock().rcvbuf = 1000;
	ASSERT_EQ(s->send(five, pattern(4000, 10)), 0);
	ASSERT_EQ(other->send(six, pattern(10)), 0);
	sim::run_ready();
	EXPECT_TRUE(reads.recv().has_value());
	EXPECT_EQ(s->send(five, pattern(4000, 11)), -105);
	for (int i = 0; i <= 10; i++) {
		auto m = full.recv();

		ASSERT_TRUE(m.has_value());
		EXPECT_EQ(m->data, pattern(4000, i));
		sim::run_ready();
	}
}

/* Port 0 is a port, and not all of them. */
TEST_F(PathHold, CancelOfPortZeroIsOfThatPort)
{
	const auto zero = host::endpoint(remote, 0);

	fill_up();
	for (uint16_t port : {5, 6})
		ASSERT_EQ(send(*s, port), 0);
	rds_socket_cancel(s->core(), &zero);
	EXPECT_EQ(queued(RDS_QUEUE_SEND), 2u) << "on the queue";
	peer_map({5});
	open_up();
	rds_socket_cancel(s->core(), &zero);
	EXPECT_EQ(queued(RDS_QUEUE_SEND), 1u) << "aside";
	EXPECT_EQ(net->stat(RDS_S_send_cancelled), 0u);
}

/* Those for ports that are still full are left where they are, and get no numbers. */
TEST_F(PathHold, OnlyAClearPortsReturn)
{
	fill_up();
	for (uint16_t port : {5, 6, 5, 6, 6})
		ASSERT_EQ(send(*s, port), 0);
	peer_map({5, 6});
	open_up();
	ASSERT_EQ(said(), "9:1 ");

	uint64_t next = wire().path->next_tx_seq();

	peer_map({6});
	EXPECT_EQ(said(), "9:1 5:2 5:4 ");
	EXPECT_EQ(wire().path->next_tx_seq(), next + 2);
	peer_map({});
	EXPECT_EQ(wire().path->next_tx_seq(), next + 5);
}

} // namespace
