// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_frame_test.cc: a stream of messages comes out of the frame as it went in, wherever it is cut,
 * whatever the core refuses on the way; and what is half received is freed.
 */
#include <gtest/gtest.h>

#include <cerrno>

#include "fake_tcp_core.h"

namespace
{

using Message = std::pair<std::string, std::string>;

std::string pattern(uint32_t len, uint16_t seed)
{
	std::string s(len, '\0');

	for (uint32_t i = 0; i < len; i++)
		s[i] = static_cast<char>(seed * 31 + i * 7 + (i >> 8));
	return s;
}

class TcpFrame : public testing::Test
{
protected:
	TcpFrame()
	{
		fake_path = &path;
		memset(static_cast<void *>(&frame), 0x5a, sizeof(frame)); /* as it was allocated */
		rds_tcp_frame_init(&frame, &path);
	}

	void TearDown() override
	{
		rds_tcp_frame_reset(&frame);
		EXPECT_EQ(path.live, 0) << "messages leaked";
	}

	/* A message for the stream, and what is expected of it. */
	void add(uint32_t len, uint16_t sport)
	{
		Message m{fake_header(len, sport), pattern(len, sport)};

		stream += m.first + m.second;
		if (sport != path.skip_port)
			expected.push_back(m);
	}

	void add_mixed()
	{
		add(0, 2);
		add(1, 3);
		add(0, 4);
		add(64, 5);
		add(131, 6);
	}

	/* One piece of a stream, as often as the core wants it again.  The bytes lie at @lead. */
	void feed_piece(const std::string &bytes, uint32_t lead = 0)
	{
		struct rds_src src {
			std::string(lead, '?') + bytes
		};
		uint32_t done = 0;

		for (int tries = 0; tries < 100; tries++) {
			uint32_t used = 0, left = static_cast<uint32_t>(bytes.size()) - done;
			int r = rds_tcp_frame_feed(&frame, &src, lead + done, left, RDS_ATOMIC,
						   &used);

			ASSERT_LE(used, left);
			done += used;
			if (r == 0) {
				ASSERT_EQ(done, bytes.size());
				return;
			}
			ASSERT_EQ(r, -EAGAIN);
		}
		FAIL() << "the frame never goes on";
	}

	int feed(const std::string &bytes, uint32_t *used)
	{
		struct rds_src src {
			bytes
		};

		return rds_tcp_frame_feed(&frame, &src, 0, static_cast<uint32_t>(bytes.size()),
					  RDS_ATOMIC, used);
	}

	/* Begins anew, with the same script. */
	void restart()
	{
		rds_tcp_frame_reset(&frame);
		path.taken.clear();
		path.headers.clear();
	}

	struct rds_path path;
	struct rds_tcp_frame frame;
	std::string stream;
	std::vector<Message> expected;
};

TEST_F(TcpFrame, init__waits_for_a_whole_header)
{
	EXPECT_EQ(rds_tcp_frame_header_left(&frame), 48u);
	EXPECT_EQ(rds_tcp_frame_payload_left(&frame), 0u);
}

TEST_F(TcpFrame, feed__whole_stream_at_once)
{
	add_mixed();
	feed_piece(stream);
	EXPECT_EQ(path.taken, expected);
	EXPECT_EQ(rds_tcp_frame_header_left(&frame), 48u);
}

TEST_F(TcpFrame, feed__byte_by_byte)
{
	add_mixed();
	for (size_t i = 0; i < stream.size(); i++)
		feed_piece(stream.substr(i, 1), static_cast<uint32_t>(i % 3));
	EXPECT_EQ(path.taken, expected);
}

TEST_F(TcpFrame, feed__every_cut)
{
	add_mixed();
	for (size_t cut = 0; cut <= stream.size(); cut++) {
		restart();
		feed_piece(stream.substr(0, cut), 5);
		feed_piece(stream.substr(cut));
		ASSERT_EQ(path.taken, expected) << "cut at " << cut;
	}
}

TEST_F(TcpFrame, feed__every_pair_of_cuts_across_two_messages)
{
	add(3, 2);
	add(0, 3);
	for (size_t a = 0; a <= stream.size(); a++) {
		for (size_t b = a; b <= stream.size(); b++) {
			restart();
			feed_piece(stream.substr(0, a));
			feed_piece(stream.substr(a, b - a), 1);
			feed_piece(stream.substr(b), 2);
			ASSERT_EQ(path.taken, expected) << "cut at " << a << " and " << b;
		}
	}
}

TEST_F(TcpFrame, feed__empty_message_is_delivered_with_its_header)
{
	feed_piece(fake_header(0, 9));
	ASSERT_EQ(path.taken.size(), 1u);
	EXPECT_EQ(path.taken[0].second, "");
}

TEST_F(TcpFrame, feed__last_byte_delivers)
{
	add(10, 2);
	feed_piece(stream.substr(0, stream.size() - 1));
	EXPECT_TRUE(path.taken.empty());
	EXPECT_EQ(rds_tcp_frame_header_left(&frame), 0u);
	EXPECT_EQ(rds_tcp_frame_payload_left(&frame), 1u);
	feed_piece(stream.substr(stream.size() - 1));
	EXPECT_EQ(path.taken, expected);
}

TEST_F(TcpFrame, begin__gets_the_source_only_when_payload_is_in_it)
{
	add(10, 2);
	feed_piece(stream);
	EXPECT_TRUE(path.begun_with_src);
	feed_piece(stream.substr(0, 48));
	EXPECT_FALSE(path.begun_with_src);
	feed_piece(stream.substr(48));
	EXPECT_EQ(path.taken.size(), 2u);
}

TEST_F(TcpFrame, begin__says_how_much_of_the_payload_is_here)
{
	add(1000, 2);
	feed_piece(stream.substr(0, 48));
	EXPECT_EQ(path.begun_with, 0u);
	feed_piece(stream.substr(48));
	feed_piece(stream.substr(0, 48 + 300));
	EXPECT_EQ(path.begun_with, 300u);
	feed_piece(stream.substr(48 + 300));
	feed_piece(stream + stream); /* of its own bytes, not of what comes behind */
	EXPECT_EQ(path.begun_with, 1000u);
	EXPECT_EQ(path.taken.size(), 4u);
}

TEST_F(TcpFrame, payload__that_cannot_be_read_ends_the_stream)
{
	uint32_t used;

	add(10, 2);

	struct rds_src src = {stream};

	path.append_error = -EFAULT;
	EXPECT_EQ(rds_tcp_frame_feed(&frame, &src, 0, 58, RDS_ATOMIC, &used), -EPROTO);
	EXPECT_EQ(rds_tcp_frame_feed(&frame, &src, used, 58 - used, RDS_ATOMIC, &used), -EPROTO);
	EXPECT_TRUE(path.taken.empty());
	EXPECT_EQ(path.drops, 1);
}

/* The core drops a path that brings too much: it is told once, and nothing more is read. */
TEST_F(TcpFrame, payload__that_there_is_no_room_for_ends_the_stream)
{
	uint32_t used;

	add(10, 2);

	struct rds_src src = {stream};

	path.append_error = -EPROTO;
	EXPECT_EQ(rds_tcp_frame_feed(&frame, &src, 0, 50, RDS_ATOMIC, &used), -EPROTO);
	path.append_error = 0;
	EXPECT_EQ(rds_tcp_frame_feed(&frame, &src, used, 58 - used, RDS_ATOMIC, &used), -EPROTO);
	EXPECT_TRUE(path.taken.empty());
	EXPECT_EQ(path.drops, 0);
}

/* It is not the header that lay there before. */
TEST_F(TcpFrame, header__that_cannot_be_read_ends_the_stream)
{
	uint32_t used;

	add(0, 2);
	feed_piece(stream);
	ASSERT_EQ(path.headers.size(), 1u);

	struct rds_src src = {stream};

	path.copy_error = -EFAULT;
	EXPECT_EQ(rds_tcp_frame_feed(&frame, &src, 0, 48, RDS_ATOMIC, &used), -EPROTO);
	EXPECT_EQ(used, 0u);
	path.copy_error = 0;
	EXPECT_EQ(rds_tcp_frame_feed(&frame, &src, 0, 48, RDS_ATOMIC, &used), -EPROTO);
	EXPECT_EQ(path.headers.size(), 1u);
	EXPECT_EQ(path.drops, 1);
}

TEST_F(TcpFrame, skip__every_cut)
{
	path.skip_port = 77;
	add(5, 2);
	add(200, 77);
	add(0, 77);
	add(7, 3);
	for (size_t cut = 0; cut <= stream.size(); cut++) {
		restart();
		feed_piece(stream.substr(0, cut));
		feed_piece(stream.substr(cut));
		ASSERT_EQ(path.taken, expected) << "cut at " << cut;
		ASSERT_EQ(path.headers.size(), 4u);
	}
}

/* Every byte of the way, as RDS_INFO_TCP_SOCKETS shows it. */
TEST_F(TcpFrame, left__counts_down)
{
	for (bool skipped : {false, true}) {
		path.skip_port = skipped ? 2 : -1;
		stream.clear();
		expected.clear();
		add(20, 2);
		for (uint32_t i = 0; i < stream.size(); i++) {
			EXPECT_EQ(rds_tcp_frame_midway(&frame), i != 0) << i;
			/* A whole header lies there until the first byte of payload. */
			EXPECT_EQ(rds_tcp_frame_header_left(&frame), i < 48 ? 48 - i : 0u) << i;
			EXPECT_EQ(rds_tcp_frame_payload_left(&frame), i < 48 ? 0u : 68 - i) << i;
			feed_piece(stream.substr(i, 1));
		}
		EXPECT_EQ(rds_tcp_frame_midway(&frame), 0);
	}
	/* Whole, and not taken yet: nothing of it is missing, and it is under way. */
	uint32_t used;

	path.skip_port = -1;
	path.incoming_again = 1;
	EXPECT_EQ(feed(stream, &used), -EAGAIN);
	EXPECT_EQ(rds_tcp_frame_midway(&frame), 1);
	EXPECT_EQ(rds_tcp_frame_header_left(&frame), 0u);
	EXPECT_EQ(rds_tcp_frame_payload_left(&frame), 0u);
}

TEST_F(TcpFrame, wants__what_the_peer_owes_and_nothing_else)
{
	add(10, 2);
	EXPECT_EQ(rds_tcp_frame_wants(&frame), 0u) << "between two frames";
	feed_piece(stream.substr(0, 1));
	EXPECT_EQ(rds_tcp_frame_wants(&frame), 47u);
	feed_piece(stream.substr(1, 46));
	EXPECT_EQ(rds_tcp_frame_wants(&frame), 1u);
	feed_piece(stream.substr(47, 1));
	EXPECT_EQ(rds_tcp_frame_wants(&frame), 10u);
	feed_piece(stream.substr(48, 9));
	EXPECT_EQ(rds_tcp_frame_wants(&frame), 1u);
	feed_piece(stream.substr(57));
	EXPECT_EQ(rds_tcp_frame_wants(&frame), 0u);
}

/* A whole message that is not taken is our own fault. */
TEST_F(TcpFrame, wants__nothing_for_a_full_receiver)
{
	uint32_t used;

	add(10, 2);

	struct rds_src src = {stream};

	path.incoming_again = 1;
	EXPECT_EQ(rds_tcp_frame_feed(&frame, &src, 0, 58, RDS_ATOMIC, &used), -EAGAIN);
	EXPECT_EQ(rds_tcp_frame_wants(&frame), 0u);
}

TEST_F(TcpFrame, skip__counts_down)
{
	path.skip_port = 77;
	add(200, 77);
	feed_piece(stream.substr(0, 48 + 150));
	EXPECT_EQ(rds_tcp_frame_payload_left(&frame), 50u);
	EXPECT_EQ(rds_tcp_frame_header_left(&frame), 0u);
}

/* The core refuses at every place in turn, at every cut: nothing is lost, doubled or reordered. */
TEST_F(TcpFrame, retry__every_cut_and_every_refusal)
{
	int *const knobs[] = {&path.begin_nomem, &path.append_nomem, &path.incoming_again};

	path.skip_port = 77;
	add(5, 2);
	add(20, 77);
	add(0, 3);
	add(40, 4);
	for (int *knob : knobs) {
		for (size_t cut = 0; cut <= stream.size(); cut++) {
			restart();
			*knob = 2;
			feed_piece(stream.substr(0, cut));
			*knob = 3;
			feed_piece(stream.substr(cut));
			*knob = 0;
			ASSERT_EQ(path.taken, expected) << "cut at " << cut;
		}
	}
	EXPECT_GT(path.refused, 0);
}

TEST_F(TcpFrame, retry__begin_takes_nothing_beyond_the_header)
{
	uint32_t used;

	add(10, 2);
	path.begin_nomem = 2;
	EXPECT_EQ(feed(stream, &used), -EAGAIN);
	EXPECT_EQ(used, 48u);
	EXPECT_EQ(frame.state, RDS_TCP_FRAME_BEGIN);
	/* Nothing more came, and it is refused again: the header is remembered. */
	EXPECT_EQ(rds_tcp_frame_feed(&frame, nullptr, 0, 0, RDS_MAY_SLEEP, &used), -EAGAIN);
	EXPECT_EQ(feed(stream.substr(48), &used), 0);
	EXPECT_EQ(path.taken, expected);
}

TEST_F(TcpFrame, retry__append_takes_nothing)
{
	uint32_t used;

	add(10, 2);
	path.append_nomem = 1;
	EXPECT_EQ(feed(stream, &used), -EAGAIN);
	EXPECT_EQ(used, 48u);
	EXPECT_EQ(feed(stream.substr(48), &used), 0);
	EXPECT_EQ(path.taken, expected);
}

TEST_F(TcpFrame, retry__whole_message_needs_no_more_bytes)
{
	uint32_t used;

	add(10, 2);
	path.incoming_again = 1;
	EXPECT_EQ(feed(stream, &used), -EAGAIN);
	EXPECT_EQ(used, stream.size());
	EXPECT_TRUE(path.taken.empty());
	EXPECT_EQ(rds_tcp_frame_feed(&frame, nullptr, 0, 0, RDS_MAY_SLEEP, &used), 0);
	EXPECT_EQ(used, 0u);
	EXPECT_EQ(path.taken, expected);
}

/* A message that follows a refused one waits behind it. */
TEST_F(TcpFrame, retry__next_message_waits)
{
	uint32_t used;

	add(10, 2);
	add(0, 3);
	path.incoming_again = 1;
	EXPECT_EQ(feed(stream, &used), -EAGAIN);
	EXPECT_EQ(used, 58u);
	EXPECT_EQ(path.headers.size(), 1u);
	feed_piece(stream.substr(used));
	EXPECT_EQ(path.taken, expected);
}

TEST_F(TcpFrame, protocol_error__nothing_more_is_taken)
{
	uint32_t used;

	path.bad_port = 99;
	add(4, 2);
	expected.resize(1);
	stream += fake_header(5, 99) + "hello" + fake_header(0, 3);
	EXPECT_EQ(feed(stream, &used), -EPROTO);
	EXPECT_EQ(used, 48u + 4 + 48);
	EXPECT_EQ(path.taken, expected);
	EXPECT_EQ(feed(stream.substr(used), &used), -EPROTO);
	EXPECT_EQ(used, 0u);
	EXPECT_EQ(rds_tcp_frame_feed(&frame, nullptr, 0, 0, RDS_MAY_SLEEP, &used), -EPROTO);
	EXPECT_EQ(path.headers.size(), 2u);
	/* Only a new connection helps. */
	rds_tcp_frame_reset(&frame);
	feed_piece(fake_header(0, 3));
	EXPECT_EQ(path.taken.size(), 2u);
}

TEST_F(TcpFrame, reset__at_every_cut_frees_and_begins_anew)
{
	add_mixed();
	for (size_t cut = 0; cut <= stream.size(); cut++) {
		restart();
		feed_piece(stream.substr(0, cut));
		rds_tcp_frame_reset(&frame);
		ASSERT_EQ(path.live, 0) << "cut at " << cut;
		path.taken.clear();
		feed_piece(stream);
		ASSERT_EQ(path.taken, expected) << "cut at " << cut;
	}
}

TEST_F(TcpFrame, reset__frees_what_waits_to_be_delivered)
{
	uint32_t used;

	add(10, 2);
	path.incoming_again = 1;
	EXPECT_EQ(feed(stream, &used), -EAGAIN);
	EXPECT_EQ(path.live, 1);
	rds_tcp_frame_reset(&frame);
	EXPECT_EQ(path.live, 0);
	rds_tcp_frame_reset(&frame);
}

} // namespace
