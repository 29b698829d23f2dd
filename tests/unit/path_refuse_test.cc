// SPDX-License-Identifier: GPL-2.0
/* One path, between a full socket and a peer that refuses (net/rds/path/path_refuse.cc). */
#include <map>

#include "ack_fixture.h"

namespace
{

using fake::wire;
using rds::wire::Ext;
using rds::wire::Refusal;

constexpr uint32_t kCaps = rds::wire::kCapDeliveryAck | rds::wire::kCapRefuse;

class PathRefuse : public AckTest
{
protected:
	void SetUp() override
	{
		AckTest::SetUp();
		other = std::make_unique<host::Socket>(*net);
		ASSERT_EQ(other->bind(host::endpoint(a1, 4001)), 0);
		s->sock().sndbuf = other->sock().sndbuf = 1 << 20;
		rds_net_tunables(net->core())->recv_spill_bytes = 0;
	}
	void TearDown() override
	{
		other.reset();
		AckTest::TearDown();
	}
	void greet(uint32_t gen = 77, uint32_t caps = kCaps)
	{
		rds::wire::Header h;

		rds::wire::encode_hello(h, {gen, caps});
		ASSERT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
		sim::run_ready();
	}
	/* Up with a peer that understands; the first message, to port 9, is delivered. */
	void up(uint32_t caps = kCaps)
	{
		ASSERT_EQ(put(*other, 9), 0);
		bring_up();
		greet(77, caps);
		peer_has(path().next_tx_seq() - 1);
		sim::run_ready();
	}
	int put(host::Socket &from, uint16_t port)
	{
		return from.send(host::endpoint(host::addr4(99), port), pattern(10, ++n));
	}
	/* Port 5 is refused while some for it are under way, and some wait behind others' for room:
	 * the number that is refused. */
	uint64_t refused_in_the_midst()
	{
		up();

		const uint64_t first = next();

		for (uint16_t port : {5, 6, 5})
			EXPECT_EQ(put(*s, port), 0);
		wire().room = 0;
		for (uint16_t port : {6, 5, 6, 5})
			EXPECT_EQ(put(*s, port), 0);
		EXPECT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
		return first;
	}
	int come(uint64_t seq, uint16_t port, uint8_t flags = 0)
	{
		int ret = fake::arrive(wire().path, seq, 5000, port, pattern(10), flags);

		sim::run_ready();
		return ret;
	}
	int say(const Refusal &r)
	{
		rds::wire::Header h;

		rds::wire::encode_refusal(h, r);

		int ret = fake::arrive(wire().path, h);

		sim::run_ready();
		return ret;
	}
	/* The same, in the midst of a transmission. */
	static void say_now(const Refusal &r)
	{
		rds::wire::Header h;

		rds::wire::encode_refusal(h, r);
		ASSERT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
	}
	int peer_refuses(uint16_t port, uint64_t number, uint32_t epoch = 9)
	{
		return say({.what = Ext::kRefused, .port = port, .epoch = epoch, .number = number});
	}
	int peer_resumes(uint16_t port, uint32_t epoch)
	{
		return say({.what = Ext::kResume, .port = port, .epoch = epoch});
	}
	void map(const std::vector<uint16_t> &full)
	{
		map_now(full);
		sim::run_ready();
	}
	static void map_now(const std::vector<uint16_t> &full)
	{
		host::Bytes bits(rds::kCongMapBytes);

		for (uint16_t port : full)
			bits[port / 8] |= static_cast<unsigned char>(1 << port % 8);
		EXPECT_EQ(fake::arrive(wire().path, 0, 0, 0, bits, rds::wire::kCongBitmap), 0);
	}
	/* Its hard limit is passed with the first message. */
	void fill_up()
	{
		s->sock().rcvbuf = 0;
		ASSERT_EQ(come(1, 4000), 0);
	}
	/* The last REFUSED on this connection. */
	Refusal said()
	{
		Refusal last;

		for (const auto &f : sent()) {
			const Refusal r = rds::wire::decode_refusal(f.header);

			if (r.what == Ext::kRefused)
				last = r;
		}
		return last;
	}
	/* No ack passes a number before the frame that says that it is refused. */
	void acks_follow(uint64_t number)
	{
		bool told = false;

		for (const auto &f : sent()) {
			EXPECT_TRUE(told || f.ack < number) << f.ack;
			told = told || rds::wire::decode_refusal(f.header).number == number;
		}
		EXPECT_TRUE(told);
	}
	uint64_t last_ack()
	{
		return sent().back().ack;
	}
	/* "port:message" of those on the wire from @from on, "R:port" of RESUME. */
	std::string talk(size_t from = 0)
	{
		std::string text;
		uint64_t last = 0;
		size_t i = 0;

		for (const auto &f : sent()) {
			const Refusal r = rds::wire::decode_refusal(f.header);

			if (r.what == Ext::kResume && i >= from)
				text += "R:" + std::to_string(r.port) + " ";
			if (f.sport && f.dport && f.sport != rds::kProbePort) {
				EXPECT_GT(f.seq, last);
				last = f.seq;
				if (i >= from)
					text += std::to_string(f.dport) + ":" +
						std::to_string(index_of(f.data)) + " ";
			}
			i++;
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
	unsigned int queued()
	{
		return host::count_messages(net->core(), RDS_QUEUE_SEND);
	}
	uint64_t stat(enum rds_stat which)
	{
		return net->stat(which);
	}
	uint64_t next()
	{
		return path().next_tx_seq();
	}

	std::unique_ptr<host::Socket> other;
	unsigned int n = 0;
};

/* ---- the receiver ---- */

TEST_F(PathRefuse, SaysThatItUnderstands)
{
	up();

	const auto hello = rds::wire::decode_hello(sent().front().header);

	EXPECT_TRUE(hello.caps & rds::wire::kCapRefuse);
}

TEST_F(PathRefuse, AFullSocketStopsNobodyElse)
{
	up();
	fill_up();
	ASSERT_EQ(come(2, 4000), 0);
	EXPECT_EQ(come(3, 4001), 0);
	EXPECT_EQ(come(4, 4000), RDS_RECV_SKIP);
	EXPECT_EQ(come(5, 4001), 0);
	EXPECT_TRUE(other->recv());
	EXPECT_TRUE(other->recv());
	EXPECT_EQ(said().number, 2u);
	EXPECT_EQ(said().port, 4000);
	EXPECT_EQ(stat(RDS_S_recv_refused), 2u);
	acks_follow(2);
	sim::run_for(100 * kMs);
	EXPECT_EQ(last_ack(), 5u);
}

/* The map and an ack wait for room already when the port is refused. */
TEST_F(PathRefuse, NoAckPassesBeforeItIsTold)
{
	up();
	fill_up();
	wire().room = 0;
	ASSERT_EQ(come(2, 4001, rds::wire::kAckRequired), 0);
	ASSERT_EQ(come(3, 4000), 0);
	ASSERT_EQ(come(4, 4001, rds::wire::kAckRequired), 0);
	EXPECT_EQ(put(*other, 9), 0);
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_for(100 * kMs);
	acks_follow(3);
	EXPECT_EQ(last_ack(), 4u);
}

TEST_F(PathRefuse, NothingOvertakesUntilItIsSentAgain)
{
	up();
	fill_up();
	ASSERT_EQ(come(2, 4000), 0);
	EXPECT_TRUE(s->recv());
	s->sock().rcvbuf = 100000;
	EXPECT_EQ(come(3, 4000), RDS_RECV_SKIP);
	EXPECT_FALSE(s->recv());
	EXPECT_EQ(peer_resumes(4000, said().epoch + 1), RDS_RECV_SKIP);
	EXPECT_EQ(peer_resumes(4002, said().epoch), RDS_RECV_SKIP);
	EXPECT_EQ(stat(RDS_S_recv_bad_refusal), 2u);
	EXPECT_EQ(come(4, 4000), RDS_RECV_SKIP);
	EXPECT_EQ(peer_resumes(4000, said().epoch), RDS_RECV_SKIP);
	EXPECT_EQ(come(5, 4000), 0);
	EXPECT_EQ(come(6, 4000), 0);
	EXPECT_TRUE(s->recv());
	EXPECT_TRUE(s->recv());
	EXPECT_EQ(stat(RDS_S_recv_bad_refusal), 2u);
}

TEST_F(PathRefuse, IsToldAgainOnTheNextConnection)
{
	up();
	fill_up();
	wire().room = 0; /* it is not told on this one */
	ASSERT_EQ(come(2, 4000), 0);
	ASSERT_EQ(come(3, 4001), 0);
	wire().room = SIZE_MAX;
	for (int i = 0; i < 2; i++) {
		reconnect();
		EXPECT_TRUE(s->recv() || i);
		s->sock().rcvbuf = 100000;
		EXPECT_EQ(said().number, 0u) << "nobody has said who it is";
		greet();
		EXPECT_EQ(said().number, 2u);
		EXPECT_EQ(come(2, 4000, rds::wire::kRetransmitted), RDS_RECV_SKIP);
		EXPECT_EQ(come(4u + static_cast<unsigned int>(i), 4000), RDS_RECV_SKIP);
		acks_follow(2);
		EXPECT_FALSE(s->recv());
		sim::run_for(100 * kMs);
		EXPECT_GE(last_ack(), 3u);
	}
	EXPECT_EQ(peer_resumes(4000, said().epoch), RDS_RECV_SKIP);
	EXPECT_EQ(come(6, 4000), 0);
	EXPECT_TRUE(s->recv());
	/* It is over. */
	reconnect();
	greet();
	EXPECT_EQ(said().number, 0u);
}

TEST_F(PathRefuse, AnotherPeerInBetweenChangesNothing)
{
	up();
	fill_up();
	ASSERT_EQ(come(2, 4000), 0);
	EXPECT_TRUE(s->recv());
	s->sock().rcvbuf = 100000;
	reconnect();
	greet(78);
	EXPECT_EQ(said().number, 0u);
	EXPECT_EQ(come(1, 4000), 0);
	EXPECT_TRUE(s->recv());
	reconnect();
	greet();
	EXPECT_EQ(said().number, 2u);
	EXPECT_EQ(come(2, 4000, rds::wire::kRetransmitted), RDS_RECV_SKIP);
	EXPECT_FALSE(s->recv());
	acks_follow(2);
}

TEST_F(PathRefuse, OfAnyOtherPeerThePathPauses)
{
	up(rds::wire::kCapDeliveryAck);
	fill_up();
	EXPECT_EQ(come(2, 4000), -11);
	EXPECT_EQ(come(2, 4000), -11);
	EXPECT_EQ(stat(RDS_S_recv_refused), 0u);
	EXPECT_TRUE(s->recv());
	EXPECT_EQ(come(2, 4000), 0);
}

TEST_F(PathRefuse, WithoutMemoryItIsToldLater)
{
	up();
	fill_up();
	sim::options().fail_per_1000 = 1000;
	EXPECT_EQ(come(2, 4000), -12);
	sim::options().fail_per_1000 = 0;
	ASSERT_EQ(fake::arrive(wire().path, 2, 5000, 4000, pattern(10)), 0);
	sim::options().fail_per_1000 = 1000;
	sim::run_ready();
	sim::options().fail_per_1000 = 0;
	EXPECT_EQ(said().number, 0u);
	sim::run_for(100 * kMs);
	EXPECT_EQ(said().number, 2u);
	acks_follow(2);
}

/* ---- the sender ---- */

TEST_F(PathRefuse, WhatIsRefusedGoesAgainInOrder)
{
	up();

	const uint64_t first = next();

	for (uint16_t port : {5, 6, 5})
		ASSERT_EQ(put(*s, port), 0);
	map({5});
	ASSERT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
	peer_has(first + 2);
	EXPECT_EQ(waiting(), 0u);
	EXPECT_EQ(queued(), 2u);
	EXPECT_EQ(stat(RDS_S_send_refused), 1u);
	map({});
	EXPECT_EQ(talk(), "9:1 5:2 6:3 5:4 R:5 5:2 5:4 ");
	peer_has(first + 4);
	EXPECT_EQ(queued() + waiting(), 0u);
	EXPECT_EQ(path().conn.fcong->held.load(), 0u) << "nobody waits for a port to clear";
	EXPECT_EQ(put(*s, 5), 0);
	EXPECT_EQ(talk(), "9:1 5:2 6:3 5:4 R:5 5:2 5:4 5:5 ");
}

/* The peer took those before the one that it refused. */
TEST_F(PathRefuse, WhatCameBeforeTheRefusalWasTaken)
{
	up();

	const uint64_t first = next();

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(put(*s, 5), 0);
	map({5});
	ASSERT_EQ(peer_refuses(5, first + 1), RDS_RECV_SKIP);
	peer_has(first + 1);
	map({});
	EXPECT_EQ(talk(), "9:1 5:2 5:3 R:5 5:3 ");
}

/* RESUME is about what was thrown away on its connection. */
TEST_F(PathRefuse, AResumeDoesNotOutliveItsConnection)
{
	up();

	const uint64_t first = next();

	ASSERT_EQ(put(*s, 5), 0);
	map({5});
	ASSERT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
	peer_has(first);
	wire().room = 0;
	map({});
	EXPECT_EQ(waiting(), 0u) << "it has gone back";
	wire().room = SIZE_MAX;
	reconnect();
	EXPECT_EQ(talk(), "5:2 ");
}

/* Some are under way, some wait behind others' messages for room, some come later: whatever of that
 * is over when the port clears, none overtakes another, and RESUME comes when the first are known
 * to be thrown away. */
TEST_F(PathRefuse, WaitsUntilAllOfThemAreThere)
{
	const uint64_t first = refused_in_the_midst();

	ASSERT_EQ(put(*s, 5), 0);
	map({5});
	map({});
	EXPECT_EQ(talk(), "9:1 5:2 6:3 5:4 ");
	peer_has(first + 1);
	wire().room = 48 + 10;
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(talk(), "9:1 5:2 6:3 5:4 6:5 ");
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(talk(), "9:1 5:2 6:3 5:4 6:5 6:7 ") << "5:4 is not acknowledged";
	ASSERT_EQ(put(*s, 5), 0);
	peer_has(first + 2);
	sim::run_ready();
	EXPECT_EQ(talk(), "9:1 5:2 6:3 5:4 6:5 6:7 R:5 5:2 5:4 5:6 5:8 5:9 5:10 ");
	peer_has(next() - 1);
	EXPECT_EQ(queued() + waiting(), 0u);
}

/* The same when the connection ends at that moment: each once, in order. */
TEST_F(PathRefuse, AResetInTheMidstOfIt)
{
	const uint64_t first = refused_in_the_midst();

	peer_has(first);
	ASSERT_EQ(put(*s, 5), 0);
	map({5});
	wire().room = 48 + 10;
	rds_path_writable(wire().path);
	sim::run_ready();
	wire().room = SIZE_MAX;
	reconnect();
	EXPECT_EQ(talk(), "6:3 6:5 6:7 5:2 5:4 5:6 5:8 5:9 ");
	greet();
	peer_has(next() - 1);
	EXPECT_EQ(queued() + waiting(), 0u);
}

/* The number by which somebody waits for it says nothing while it waits for a port. */
TEST_F(PathRefuse, WhatAFlowWaitsForIsOwed)
{
	up();
	wire().room = 0;
	ASSERT_EQ(put(*other, 5), 0);
	ASSERT_EQ(rds_socket_set_order(s->core(), 2), 0);
	for (uint16_t port : {5, 6})
		ASSERT_EQ(put(*s, port), 0);
	map({5});
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(talk(), "9:1 6:4 ");

	const uint64_t last = next() - 1;

	peer_has(last);
	EXPECT_FALSE(path().has_all(last));
	map({});
	EXPECT_EQ(talk(), "9:1 6:4 5:2 5:3 ");
	EXPECT_FALSE(path().has_all(last));
	peer_has(next() - 1);
	EXPECT_TRUE(path().has_all(last));
}

/* One under way, and one that joined those that wait and has no number yet. */
TEST_F(PathRefuse, AResetSendsTheOlderFirst)
{
	up();

	const uint64_t first = next();

	ASSERT_EQ(put(*s, 5), 0);
	ASSERT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
	ASSERT_EQ(put(*s, 5), 0);
	EXPECT_EQ(talk(), "9:1 5:2 ");
	reconnect();
	EXPECT_EQ(talk(), "5:2 5:3 ");
	greet();
	peer_has(next() - 1);
	EXPECT_EQ(queued() + waiting(), 0u);
}

/* The map may come behind it, or be unknown: no more than one try in a while. */
TEST_F(PathRefuse, APortThatIsNotFullResumesSoon)
{
	up();

	const uint64_t first = next();

	ASSERT_EQ(put(*s, 5), 0);
	ASSERT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
	peer_has(first);
	EXPECT_EQ(talk(), "9:1 5:2 ");
	sim::run_for(rds::kRetryNs);
	EXPECT_EQ(talk(), "9:1 5:2 R:5 5:2 ");
	ASSERT_EQ(peer_refuses(5, first + 1, 10), RDS_RECV_SKIP);
	peer_has(first + 1);
	EXPECT_EQ(talk(), "9:1 5:2 R:5 5:2 ");
	sim::run_for(rds::kRetryNs);
	EXPECT_EQ(talk(), "9:1 5:2 R:5 5:2 R:5 5:2 ");
}

/* ... however often the map of our own ports is due meanwhile, and may wait. */
TEST_F(PathRefuse, PortsOfOursThatFlipPutNothingOff)
{
	uint64_t waited = 0;

	up();

	rds::CongMap &ours = *path().conn.lcong;
	const uint64_t first = next();

	ASSERT_EQ(put(*s, 5), 0);
	ASSERT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
	peer_has(first);
	ASSERT_TRUE(ours.ensure_bits(RDS_ATOMIC).ok());
	for (; waited < 20 * rds::kRetryNs && talk() == "9:1 5:2 "; waited += rds::kRetryNs / 5) {
		const bool full = !ours.test(4500);

		ASSERT_TRUE(full ? ours.set(4500) : ours.clear(4500));
		rds::CongTable::local_changed(*net->core(), ours, 4500, full);
		sim::run_ready();
		sim::run_for(rds::kRetryNs / 5);
	}
	EXPECT_LE(waited, 2 * rds::kRetryNs);
	EXPECT_EQ(talk(), "9:1 5:2 R:5 5:2 ");
}

/* It waits for its port once the peer has acknowledged it, and the transport has let it go. */
TEST_F(PathRefuse, LentPagesThatWereRefusedStayLent)
{
	uint32_t cookie;

	fake::set_caps(RDS_CAP_DELIVERY_ACK | RDS_CAP_ZEROCOPY);
	up();

	const uint64_t first = next();

	ASSERT_EQ(s->send_zcopy(host::endpoint(host::addr4(99), 5), pattern(10, ++n), 7), 0);
	map({5});
	ASSERT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
	peer_has(first);
	map({});
	EXPECT_EQ(talk(), "9:1 5:2 ");
	rds_socket_cancel(s->core(), nullptr);
	EXPECT_EQ(rds_socket_zcopy(s->core(), &cookie, 1), 0u);
	rds_path_acked(wire().path, wire().sent.size());
	sim::run_ready();
	EXPECT_EQ(talk(), "9:1 5:2 R:5 5:2 ");
	rds_socket_cancel(s->core(), nullptr);
	EXPECT_EQ(rds_socket_zcopy(s->core(), &cookie, 1), 0u) << "it was sent again";
	rds_path_acked(wire().path, wire().sent.size());
	peer_has(next() - 1);
	EXPECT_EQ(rds_socket_zcopy(s->core(), &cookie, 1), 1u);
}

/* Its answer comes before the transport's. */
TEST_F(PathRefuse, WhatIsWithTheTransportIsLate)
{
	up();

	const uint64_t first = next();

	wire().room = 0;
	for (uint16_t port : {5, 6, 5})
		ASSERT_EQ(put(*s, port), 0);
	wire().room = SIZE_MAX;
	wire().on_xmit = [&] {
		ASSERT_EQ(put(*s, 5), 0);
		map_now({5});
		say_now({.what = Ext::kRefused, .port = 5, .epoch = 9, .number = first});
		peer_has(first + 2);
		EXPECT_EQ(put(*s, 6), 0);
	};
	rds_path_writable(wire().path);
	sim::run_ready();
	EXPECT_EQ(talk(), "9:1 5:2 6:3 5:4 6:6 ");
	EXPECT_EQ(queued(), 3u);
	map({});
	EXPECT_EQ(talk(), "9:1 5:2 6:3 5:4 6:6 R:5 5:2 5:4 5:5 ");
}

/* Sent again on the next connection, in the midst of which the word comes. */
TEST_F(PathRefuse, HalfAMessageIsFinishedFirst)
{
	for (bool dies : {false, true}) {
		SCOPED_TRACE(dies);
		n = 0;
		up();

		const uint64_t first = next();

		for (uint16_t port : {5, 5})
			ASSERT_EQ(put(*s, port), 0);
		reconnect();
		greet();
		EXPECT_EQ(talk(), "5:2 5:3 ");
		rds_path_drop(wire().path, RDS_DROP_ERROR);
		sim::run_ready();
		wire().room = 48 + 48 + rds::kCongMapBytes + 20; /* hello, map, and a bit */
		sim::run_for(1000 * kMs);
		bring_up();
		greet();
		ASSERT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
		peer_has(first + 1);
		wire().room = SIZE_MAX;
		if (dies) {
			reconnect();
			greet();
		}
		rds_path_writable(wire().path);
		sim::run_for(rds::kRetryNs);

		const std::string words = talk();

		ASSERT_GE(words.size(), 8u) << words;
		EXPECT_EQ(words.substr(words.size() - 8), "5:2 5:3 ");
		peer_has(next() - 1);
		EXPECT_EQ(queued() + waiting(), 0u);
		TearDown();
		SetUp();
	}
}

TEST_F(PathRefuse, AResetForgetsTheEpoch)
{
	up();

	const uint64_t first = next();

	for (uint16_t port : {5, 6, 5})
		ASSERT_EQ(put(*s, port), 0);
	map({5});
	ASSERT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
	reconnect();
	EXPECT_EQ(talk(), "6:3 5:2 5:4 ");
	greet();
	map({5});
	ASSERT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
	peer_has(next() - 1);
	EXPECT_EQ(queued(), 2u);
	map({});
	EXPECT_EQ(talk(), "6:3 5:2 5:4 R:5 5:2 5:4 ");
}

TEST_F(PathRefuse, IgnoresWhatCannotBe)
{
	up();

	const uint64_t first = next();
	unsigned int bad = 0;

	ASSERT_EQ(put(*s, 5), 0);
	map({5});
	ASSERT_EQ(peer_refuses(5, first + 1), RDS_RECV_SKIP) << "never sent";
	ASSERT_EQ(peer_refuses(5, 0), RDS_RECV_SKIP);
	ASSERT_EQ(peer_refuses(0, first), RDS_RECV_SKIP);
	ASSERT_EQ(peer_refuses(1, first), RDS_RECV_SKIP);
	ASSERT_EQ(peer_refuses(5, first, 0), RDS_RECV_SKIP);
	EXPECT_EQ(stat(RDS_S_recv_bad_refusal), bad += 5);
	EXPECT_EQ(queued(), 0u);
	ASSERT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
	peer_has(first);
	EXPECT_EQ(queued(), 1u);
	ASSERT_EQ(peer_refuses(5, first, 10), RDS_RECV_SKIP) << "it is refused";
	EXPECT_EQ(stat(RDS_S_recv_bad_refusal), bad += 1);

	std::vector<uint16_t> all = {5};

	for (uint16_t i = 1; i < rds::kMaxRefusedPorts; i++)
		all.push_back(static_cast<uint16_t>(5 + i));
	map(all);
	for (size_t i = 1; i < all.size(); i++)
		ASSERT_EQ(peer_refuses(all[i], first), RDS_RECV_SKIP);
	EXPECT_EQ(stat(RDS_S_recv_bad_refusal), bad);
	ASSERT_EQ(peer_refuses(1000, first), RDS_RECV_SKIP);
	EXPECT_EQ(stat(RDS_S_recv_bad_refusal), bad += 1);
	map({});
	EXPECT_EQ(talk().substr(0, 8), "9:1 5:2 ");
	EXPECT_EQ(talk().substr(talk().size() - 4), "5:2 ") << talk();
	peer_has(next() - 1);
}

TEST_F(PathRefuse, OfAPeerThatDidNotSayItUnderstands)
{
	up(rds::wire::kCapDeliveryAck);

	const uint64_t first = next();

	ASSERT_EQ(put(*s, 5), 0);
	ASSERT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
	EXPECT_EQ(stat(RDS_S_recv_bad_refusal), 1u);
	EXPECT_EQ(talk(), "9:1 5:2 ");
	peer_has(first);
}

TEST_F(PathRefuse, WithoutMemoryTheFrameIsLookedAtLater)
{
	up();

	const uint64_t first = next();

	ASSERT_EQ(put(*s, 5), 0);
	sim::fail_nth(1);
	EXPECT_EQ(peer_refuses(5, first), -12);
	sim::fail_nth(0);
	EXPECT_EQ(queued(), 0u);
	/* RESUME, too, waits for its frame. */
	map({5});
	ASSERT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
	peer_has(first);
	sim::options().fail_per_1000 = 1000;
	map_at(remote, rds::Whose::kPeers).clear(5);
	rds_path_writable(wire().path);
	path().port_cleared();
	sim::run_ready();
	EXPECT_EQ(talk(), "9:1 5:2 ");
	sim::options().fail_per_1000 = 0;
	sim::run_for(100 * kMs);
	EXPECT_EQ(talk(), "9:1 5:2 R:5 5:2 ");
	peer_has(next() - 1);
}

/* Its messages are gone; the port is the peer's to hear of all the same. */
TEST_F(PathRefuse, TakenBackOrClosed)
{
	up();

	const uint64_t first = next();

	for (uint16_t port : {5, 6})
		ASSERT_EQ(put(*s, port), 0);
	map({5, 6});
	rds_socket_cancel(s->core(), nullptr);
	ASSERT_EQ(peer_refuses(5, first), RDS_RECV_SKIP);
	map({6});
	EXPECT_EQ(talk(), "9:1 5:2 6:3 R:5 ");
	for (uint16_t port : {7, 8})
		ASSERT_EQ(put(*s, port), 0);
	map({7, 8});
	ASSERT_EQ(peer_refuses(7, first), RDS_RECV_SKIP);
	ASSERT_EQ(peer_refuses(8, first, 10), RDS_RECV_SKIP);
	peer_has(next() - 1);
	EXPECT_EQ(queued(), 2u);

	const struct rds_endpoint seven = host::endpoint(host::addr4(99), 7);

	rds_socket_cancel(s->core(), &seven);
	EXPECT_EQ(queued(), 1u);
	s.reset();
	EXPECT_EQ(queued(), 0u);
	map({});
	EXPECT_EQ(talk().substr(talk().find("R:5 ")), "R:5 7:4 8:5 R:7 R:8 ");
	peer_has(next() - 1);
}

} // namespace
