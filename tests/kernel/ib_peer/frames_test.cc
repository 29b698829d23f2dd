// SPDX-License-Identifier: GPL-2.0
/* Frames, well and badly formed: delivered, passed over, or the end of the connection. */
#include "over_ib.h"

#include <algorithm>

namespace rdstest
{
namespace
{

constexpr size_t kThree = 10000; /* a message of three frames */
constexpr size_t kMostBytes = 1 << 20;
/* Ports below 20000 are nobody's but this one; Host::port is. */
constexpr uint16_t kNobody = 4001;

using Frames = std::vector<std::string>;

/* A frame with something else in its header. */
std::string changed(const std::string &bytes, const std::function<void(Header &)> &change)
{
	Header h = Header::decode(bytes.data());

	change(h);
	return frame(h, bytes.substr(headerSize));
}

/* With a wrong checksum. */
std::string damaged(std::string bytes)
{
	bytes[30] = static_cast<char>(bytes[30] ^ 0x10);
	return bytes;
}

Header lengthOf(Header h, uint32_t length)
{
	h.length = length;
	return h;
}

Frames three(const Header &h)
{
	return message(h, pattern(1, kThree));
}

/* Three frames, of which one is changed. */
Frames threeWith(const Header &h, size_t which, const std::function<void(Header &)> &change)
{
	Frames frames = three(h);

	frames[which] = changed(frames[which], change);
	return frames;
}

struct Bad {
	const char *name;
	std::function<Frames(const Header &)> build;
	const char *counter = "ib_rx_bad_frame";
};

const Bad kBad[] = {
	{"another_sequence",
	 [](auto &h) { return threeWith(h, 1, [](Header &x) { x.sequence++; }); }},
	{"another_source", [](auto &h) { return threeWith(h, 1, [](Header &x) { x.sport++; }); }},
	{"another_destination",
	 [](auto &h) { return threeWith(h, 2, [](Header &x) { x.dport++; }); }},
	{"another_length", [](auto &h) { return threeWith(h, 1, [](Header &x) { x.length++; }); }},
	{"another_message",
	 [](auto &h) {
		 Header next = h;

		 next.sequence++;
		 return Frames{three(h)[0], message(next, "hello")[0]};
	 }},
	{"a_ping_inside",
	 [](auto &h) {
		 Header ping = h;

		 ping.dport = 0;
		 return Frames{three(h)[0], frame(ping)};
	 }},
	{"short_first",
	 [](auto &h) { return Frames{frame(lengthOf(h, kThree), std::string(kFrame - 1, 'x'))}; }},
	{"short_last",
	 [](auto &h) {
		 Frames frames = three(h);

		 frames[2].pop_back();
		 return frames;
	 }},
	{"long_last",
	 [](auto &h) {
		 Frames frames = three(h);

		 frames[2] += 'x';
		 return frames;
	 }},
	{"one_too_many",
	 [](auto &h) {
		 Header x = h;

		 x.dport = kNobody; /* the message is whole */

		 const Frames frames = message(x, std::string(kFrame + 5, 'x'));

		 return Frames{frames[0], frames[1], frames[1]};
	 }},
	{"short_message", [](auto &h) { return Frames{frame(lengthOf(h, 20), "0123456789")}; }},
	{"long_message", [](auto &h) { return Frames{frame(lengthOf(h, 5), "0123456789")}; }},
	{"without_its_payload", [](auto &h) { return Frames{frame(lengthOf(h, 5))}; }},
	{"with_a_payload", [](auto &h) { return Frames{frame(h, "hello")}; }},
	{"an_ack_with_a_payload", [](auto &) { return Frames{frame({}, "hello")}; }},
	{"nothing_at_all", [](auto &) { return Frames{""}; }},
	{"one_byte", [](auto &) { return Frames{"x"}; }},
	{"most_of_a_header", [](auto &h) { return Frames{frame(h).substr(0, headerSize - 1)}; }},
	{"a_short_map",
	 [](auto &) {
		 Header map;

		 map.flags = flagCongBitmap;
		 return Frames{frame(lengthOf(map, congestionMapSize), "short")};
	 }},
	{"checksum", [](auto &h) { return Frames{damaged(message(h, "hello")[0])}; },
	 "ib_rx_bad_csum"},
	{"checksum_later",
	 [](auto &h) {
		 Frames frames = three(h);

		 frames[1] = damaged(frames[1]);
		 return frames;
	 },
	 "ib_rx_bad_csum"},
	{"checksum_of_an_ack", [](auto &) { return Frames{damaged(frame({}))}; }, "ib_rx_bad_csum"},
	{"too_long_a_message",
	 [](auto &h) {
		 return Frames{frame(lengthOf(h, kMostBytes + 1), std::string(kFrame, 'x'))};
	 },
	 "recv_drop_bad_length"},
	{"the_longest_length",
	 [](auto &h) { return Frames{frame(lengthOf(h, ~0u), std::string(kFrame, 'x'))}; },
	 "recv_drop_bad_length"},
	/* The adapter finds these: they do not fit into the buffer. */
	{"longer_than_a_frame",
	 [](auto &h) {
		 return Frames{frame(lengthOf(h, kFrame + 1), std::string(kFrame + 1, 'x'))};
	 },
	 "ib_completion_errors"},
	{"two_frames_in_one",
	 [](auto &h) {
		 return Frames{frame(lengthOf(h, 2 * kFrame), std::string(2 * kFrame, 'x'))};
	 },
	 "ib_completion_errors"},
};

class Malformed : public OverIb, public ::testing::WithParamInterface<Bad>
{
};

INSTANTIATE_TEST_SUITE_P(Frames, Malformed, ::testing::ValuesIn(kBad),
			 [](const auto &info) { return std::string(info.param.name); });

TEST_P(Malformed, EndTheConnection)
{
	connect();
	goesOn();
	/* It may end before the last one. */
	peer.send(GetParam().build(header()));
	endsFor(GetParam().counter);
}

/* ---- odd, but nothing that a connection has to end for ---- */

struct Odd {
	const char *name;
	std::function<Frames(const Header &)> build;
	const char *counter; /* nullptr: the message is read */
	bool read = false;   /* counted, and read */
	std::string payload = pattern(1, kThree);
};

Frames between(const Header &h, const Header &what)
{
	Frames frames = three(h);

	frames.insert(frames.begin() + 1, frame(what));
	frames.insert(frames.begin() + 3, frame(what));
	return frames;
}

const Odd kOdd[] = {
	{"other_acks", [](auto &h) { return threeWith(h, 1, [](Header &x) { x.ack = 0; }); },
	 nullptr},
	{"other_credits", [](auto &h) { return threeWith(h, 1, [](Header &x) { x.credit = 9; }); },
	 nullptr},
	{"other_flags",
	 [](auto &h) { return threeWith(h, 2, [](Header &x) { x.flags = flagAckRequired; }); },
	 nullptr},
	{"other_extensions",
	 [](auto &h) { return threeWith(h, 2, [](Header &x) { x.add(extNpaths, 8, 2); }); },
	 nullptr},
	{"acks_inside", [](auto &h) { return between(h, {}); }, nullptr},
	{"heartbeats_inside",
	 [](auto &h) {
		 Header beat;

		 beat.flags = flagHeartbeatPing | flagAckRequired;
		 beat.add(extCapBits, 1, 4);
		 return between(h, beat);
	 },
	 nullptr},
	{"no_checksum", [](auto &h) { return Frames{lengthOf(h, 5).encode() + "hello"}; }, nullptr,
	 false, "hello"},
	{"unknown_flags",
	 [](auto &h) {
		 Header x = h;

		 x.flags = 0xc0;
		 return message(x, "hello");
	 },
	 "recv_bad_flags", true, "hello"},
	{"extension_16",
	 [](auto &h) {
		 Header x = h;

		 x.exthdr[0] = 16;
		 return message(x, "hello");
	 },
	 "recv_bad_exthdr", true, "hello"},
	{"extension_cut_short",
	 [](auto &h) {
		 Header x = h;

		 x.exthdr.fill(12);
		 x.exthdr[14] = extGenNum;
		 return message(x, "hello");
	 },
	 "recv_bad_exthdr", true, "hello"},
	{"from_nobody_to_nobody",
	 [](auto &h) {
		 Header x = h;

		 x.sport = x.dport = 0;
		 return message(x, "hello");
	 },
	 "recv_drop_bad_port"},
	{"from_nobody_in_two_frames",
	 [](auto &h) {
		 Header x = h;

		 x.sport = x.dport = 0;
		 return message(x, pattern(2, 5000));
	 },
	 "recv_drop_bad_port"},
	{"for_nobody",
	 [](auto &h) {
		 Header x = h;

		 x.dport = kNobody;
		 return three(x);
	 },
	 "recv_drop_no_sock"},
	{"ack_of_the_future",
	 [](auto &h) {
		 Header x = h;

		 x.ack = 1ull << 60;
		 return message(x, "hello");
	 },
	 "recv_bad_ack", true, "hello"},
	{"empty_map",
	 [](auto &) {
		 Header map;

		 map.flags = flagCongBitmap;
		 return Frames{frame(map)};
	 },
	 "recv_drop_bad_cong"},
	{"half_a_map",
	 [](auto &) {
		 Header map;

		 map.flags = flagCongBitmap;
		 return message(map, std::string(congestionMapSize / 2, '\xff'));
	 },
	 "recv_drop_bad_cong"},
	{"longer_map",
	 [](auto &) {
		 Header map;

		 map.flags = flagCongBitmap;
		 return message(map, std::string(congestionMapSize + 1, '\xff'));
	 },
	 "recv_drop_bad_cong"},
};

class Unusual : public OverIb, public ::testing::WithParamInterface<Odd>
{
};

INSTANTIATE_TEST_SUITE_P(Frames, Unusual, ::testing::ValuesIn(kOdd),
			 [](const auto &info) { return std::string(info.param.name); });

TEST_P(Unusual, AreKept)
{
	const Odd &odd = GetParam();

	connect();
	goesOn();
	ASSERT_TRUE(peer.send(odd.build(header())));
	if (!odd.counter || odd.read)
		reads(odd.payload);
	if (odd.counter) {
		EXPECT_TRUE(grows(odd.counter));
		EXPECT_EQ(grown(odd.counter), 1u);
	}
	goesOn();
	EXPECT_EQ(grown("ib_rx_bad_frame") + grown("ib_rx_bad_csum"), 0u);
}

/* ---- messages ---- */

class Messages : public OverIb
{
protected:
	explicit Messages(bool v6 = false) : OverIb(v6)
	{
	}

	/* An update of our congestion map, in which a port is full, or none. */
	void sayFull(std::optional<uint16_t> port)
	{
		std::string map(congestionMapSize, '\0');
		Header h;

		if (port)
			map[*port / 8] = static_cast<char>(1 << *port % 8);
		h.flags = flagCongBitmap;
		ASSERT_TRUE(peer.send(message(h, map)));
	}

	/* The host's next map: is its application's port full there? */
	bool saysFull(bool full, Patience patience = kSoon)
	{
		return peer
			.receive(
				[&](const Frame &f) {
					if (!isMap(f.header) || inMap_++ % 2)
						return false;
					return ((f.payload[Host::port / 8] >> Host::port % 8) &
						1) == full;
				},
				patience)
			.has_value();
	}

private:
	unsigned inMap_ = 0; /* frames of maps that came, two each */
};

class MessagesV6 : public Messages
{
protected:
	MessagesV6() : Messages(true)
	{
	}
};

const size_t kLengths[] = {0,	 1,    4095,  4096,	      4097,	 8191,
			   8192, 8193, 65536, kMostBytes - 1, kMostBytes};

TEST_F(Messages, OfAnyLength)
{
	connect();
	for (const size_t length : kLengths)
		deliver(pattern(length, length));
	EXPECT_EQ(grown("conn_reset"), 0u);
}

TEST_F(MessagesV6, OfAnyLength)
{
	connect();
	for (const size_t length : {0, 5, 4096, 4097, 10000})
		deliver(pattern(length, length));
}

/* The messages that the host sends, frame by frame. */
TEST_F(Messages, OfTheHost)
{
	connect();
	speak();
	for (const size_t length : {0, 1, 4096, 4097, 8192, 65536}) {
		std::string got;
		std::optional<Header> first;

		ASSERT_EQ(host.send(own, 1, length).count, 1u);
		do {
			const auto f = nextMessage();

			ASSERT_TRUE(f) << length;
			EXPECT_EQ(f->header.length, length);
			EXPECT_EQ(f->header.sport, Host::port);
			EXPECT_EQ(f->header.dport, Host::port);
			first = first.value_or(f->header);
			EXPECT_EQ(f->header.sequence, first->sequence);
			got += f->payload;
			EXPECT_EQ(f->payload.size(),
				  std::min(kFrame, length - (got.size() - f->payload.size())));
		} while (got.size() < length);
		EXPECT_TRUE(got == pattern(0, length)) << shown(got);
		acknowledge(first->sequence);
	}
}

TEST_F(Messages, PingsAreAnswered)
{
	connect();
	for (const uint16_t port : {7, 4000, 65535}) {
		ASSERT_TRUE(peer.send(frame(header(0, port))));
		const auto f = nextMessage();

		ASSERT_TRUE(f);
		EXPECT_EQ(f->header.sport, 0);
		EXPECT_EQ(f->header.dport, port);
		EXPECT_EQ(f->header.length, 0u);
	}
}

/* The beginning of a connection: who we are, and which of our ports are full. */
TEST_F(Messages, ComeAfterHelloAndMap)
{
	connect();
	const auto first = peer.receive();

	ASSERT_TRUE(first);
	EXPECT_TRUE(isHello(first->header)) << first->header.text();
	EXPECT_NE(first->header.find(extGenNum).value_or(0), 0u);
	/* It acknowledges by number, and knows ORDER and CHANGES. */
	EXPECT_EQ(first->header.find(extCapBits).value_or(0), 2u | 4u | 16u);
	EXPECT_EQ(first->header.flags, flagRetransmitted);
	speak();
	EXPECT_TRUE(saysFull(false));
}

/* A message that was sent again is read once; a restarted peer's numbers begin anew. */
TEST_F(Messages, AreReadOnce)
{
	connect();
	const Header first = header();
	Header again = first;

	again.flags = flagRetransmitted;
	ASSERT_TRUE(peer.send(message(first, "once")));
	reads("once");
	deliver("another");
	ASSERT_TRUE(peer.send(message(again, "once")));
	ASSERT_TRUE(peer.send(message(again, pattern(3, kThree))));
	EXPECT_TRUE(grows("recv_drop_old_seq", 2));
	goesOn();
	ASSERT_TRUE(peer.send(message(first, "restarted")));
	reads("restarted");
}

/* Cut off in its midst, a message is none; it is sent again. */
TEST_F(Messages, CutOff)
{
	const Header first = header();
	Header again = first;

	again.flags = flagRetransmitted;
	connect();
	goesOn();
	for (const int n : {1, 2}) {
		const Frames frames = three(first);

		ASSERT_TRUE(peer.send(Frames(frames.begin(), frames.begin() + n)));
		ASSERT_TRUE(peer.settle());
		peer.hangUp();
		ASSERT_TRUE(insist(peer).accepted);
	}
	sequence += 10;
	again.sequence = sequence++;
	ASSERT_TRUE(peer.send(three(again)));
	reads(pattern(1, kThree));
	EXPECT_EQ(grown("ib_rx_bad_frame"), 0u);
}

/* Our port is full: nobody there sends to it until it is not. */
TEST_F(Messages, NotToAFullPort)
{
	connect();
	sayFull(Host::port);
	EXPECT_TRUE(grows("cong_update_received"));
	EXPECT_EQ(host.send(own, 1, 10).error, ENOBUFS);
	sayFull(std::nullopt);
	EXPECT_TRUE(grows("cong_update_received", 2));
	EXPECT_EQ(host.send(own, 1, 10).error, 0);
	const auto f = nextMessage();

	ASSERT_TRUE(f);
	EXPECT_TRUE(f->payload == pattern(0, 10));
	acknowledge(f->header.sequence);
}

/* The host's port is full: its map says so, and again when it was read empty. */
TEST_F(Messages, FillThePort)
{
	const std::string payload = pattern(1, 8000);
	size_t sent = 0;

	connect();
	speak();
	EXPECT_TRUE(saysFull(false));
	while (sent < 500 && !saysFull(true, Patience(0))) {
		ASSERT_TRUE(peer.send(message(header(), payload)));
		ASSERT_TRUE(peer.settle());
		++sent;
	}
	EXPECT_LT(sent, 500u);
	for (size_t i = 0; i < sent; i++)
		reads(payload);
	EXPECT_TRUE(saysFull(false));
	goesOn();
}

/* It is as long as a frame, and completes a buffer in which the header of an earlier one lies. */
TEST_F(Messages, NotByAWriteWithImmediateData)
{
	const Setting small(host, "ib/max_recv_wr", "16");
	const std::string payload = pattern(1, kFrame);
	const uint64_t cookie = host.region(2 * kFrame);

	connect();
	for (int i = 0; i < 40; i++)
		deliver(payload);
	peer.queue().writeAndTell(cookie >> 32, static_cast<uint32_t>(cookie), headerSize + kFrame);
	endsFor("ib_rx_bad_frame");
	EXPECT_FALSE(host.next(v6, std::chrono::milliseconds(500)));
}

/* Memory of the host that nobody has given a key for. */
TEST_F(Messages, NotIntoItsMemory)
{
	uint64_t resets = 0;

	for (const bool read : {false, true}) {
		for (const uint64_t address : {0ull, 0xffff888000000000ull}) {
			ASSERT_TRUE(insist(peer).accepted);
			ASSERT_TRUE(peer.send(message(header(), "before")));
			reads("before");
			peer.queue().access(address, 0x1234, read);
			EXPECT_TRUE(peer.ended());
			EXPECT_TRUE(grows("conn_reset", ++resets));
			ASSERT_TRUE(peer.queue().error);
			EXPECT_TRUE(*peer.queue().error == IBV_WC_REM_ACCESS_ERR ||
				    *peer.queue().error == IBV_WC_REM_INV_REQ_ERR)
				<< ibv_wc_status_str(*peer.queue().error);
		}
	}
}

} // namespace
} // namespace rdstest
