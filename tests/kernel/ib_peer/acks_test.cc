// SPDX-License-Identifier: GPL-2.0
/* Acknowledgement by number, what goes out again without it, and connections on which nothing is
 * said. */
#include "over_ib.h"

#include <chrono>
#include <thread>

namespace rdstest
{
namespace
{

class Acks : public OverIb
{
protected:
	/* Frames that acknowledge a number. */
	std::optional<Frame> acknowledges(uint64_t number)
	{
		return peer.receive([number](const Frame &f) { return f.header.ack == number; });
	}

	/* The host sends; what comes, in order, from this message of pattern() on. */
	std::vector<Header> takes(size_t count, size_t first = 0)
	{
		std::vector<Header> headers;

		while (headers.size() < count) {
			const auto f = nextMessage();

			if (!f) {
				ADD_FAILURE() << headers.size() << " messages came";
				break;
			}
			EXPECT_TRUE(f->payload == pattern(first + headers.size(), kBytes))
				<< shown(f->payload);
			headers.push_back(f->header);
		}
		return headers;
	}

	/* The connection ends; the host, which has something to say, makes the next one. */
	void again(const Offer &offer = {})
	{
		peer.hangUp();
		ASSERT_TRUE(peer.called());
		ASSERT_TRUE(peer.accept(peer.offer(offer)));
	}

	static constexpr size_t kBytes = 100;
};

TEST_F(Acks, ComeAtOnceWhenAskedFor)
{
	connect();
	for (int i = 0; i < 5; i++) {
		Header h = header();

		h.flags = flagAckRequired;
		ASSERT_TRUE(peer.send(message(h, "please")));
		reads("please");
		EXPECT_TRUE(acknowledges(h.sequence)) << h.sequence;
	}
	EXPECT_EQ(grown("recv_ack_required"), 5u);
}

TEST_F(Acks, ComeUnasked)
{
	connect();
	for (int i = 0; i < 5; i++) {
		const uint64_t number = sequence;

		deliver("no hurry");
		EXPECT_TRUE(acknowledges(number)) << number;
	}
}

/* A message that nobody listens for is dealt with, too. */
TEST_F(Acks, AlsoOfWhatNobodyReads)
{
	connect();
	Header h = header(4001);

	h.flags = flagAckRequired;
	ASSERT_TRUE(peer.send(message(h, "hello?")));
	EXPECT_TRUE(acknowledges(h.sequence));
}

TEST_F(Acks, GoWithMessages)
{
	connect();
	deliver("first");
	ASSERT_EQ(host.send(own, 1, kBytes).count, 1u);
	const auto f = nextMessage();

	ASSERT_TRUE(f);
	EXPECT_EQ(f->header.ack, sequence - 1);
	acknowledge(f->header.sequence);
}

/* A sender that hears no acks asks for one, as soon as it knows its peer at all. */
TEST_F(Acks, AreAskedFor)
{
	connect();
	deliver("I am here");
	for (int i = 0; i < 40; i++)
		ASSERT_EQ(host.send(own, 1, kBytes).count, 1u);
	const auto f = peer.receive([](const Frame &f) {
		return f.header.sequence && f.header.flags & flagAckRequired;
	});

	ASSERT_TRUE(f);
	EXPECT_TRUE(grows("send_ack_required"));
}

/* Without one everything goes out again, as often as a connection ends; with one the rest. */
TEST_F(Acks, DecideWhatIsSentAgain)
{
	peer.listen();
	ASSERT_EQ(host.send(own, 4, kBytes).count, 4u);
	ASSERT_TRUE(peer.called());
	ASSERT_TRUE(peer.accept(peer.offer()));
	const std::vector<Header> first = takes(4);

	again();
	const std::vector<Header> second = takes(4);

	for (size_t i = 0; i < second.size(); i++) {
		EXPECT_EQ(second[i].sequence, first[i].sequence);
		EXPECT_TRUE(second[i].flags & flagRetransmitted);
		EXPECT_FALSE(first[i].flags & flagRetransmitted);
	}
	ASSERT_EQ(second.size(), 4u);
	acknowledge(second[1].sequence);
	/* An ack of less takes nothing back. */
	acknowledge(second[0].sequence);
	acknowledge(0);
	ASSERT_TRUE(peer.settle());
	EXPECT_TRUE(grows("recv_ack_only", 3));
	again();
	EXPECT_EQ(takes(2, 2).size(), 2u);
}

/* Of what was never sent, nothing is believed. */
TEST_F(Acks, OfTheFuture)
{
	peer.listen();
	ASSERT_EQ(host.send(own, 2, kBytes).count, 2u);
	ASSERT_TRUE(peer.called());
	ASSERT_TRUE(peer.accept(peer.offer()));
	const std::vector<Header> first = takes(2);

	ASSERT_EQ(first.size(), 2u);
	for (const uint64_t number : {first[1].sequence + 1, ~0ul, 1ul << 63})
		acknowledge(number);
	EXPECT_TRUE(grows("recv_bad_ack", 3));
	again();
	EXPECT_EQ(takes(2).size(), 2u);
	deliver("and the connection is as good as any");
}

/* The number in an offer: from a peer that has acknowledged some before, of what has left. */
TEST_F(Acks, InOffers)
{
	peer.listen();
	ASSERT_EQ(host.send(own, 4, kBytes).count, 4u);
	ASSERT_TRUE(peer.called());
	/* It may mean the numbers of the host's that was here before. */
	ASSERT_TRUE(peer.accept(peer.offer({.ack = 4})));
	const std::vector<Header> all = takes(4);

	ASSERT_EQ(all.size(), 4u);
	again({.ack = all[3].sequence});
	EXPECT_EQ(takes(4).size(), 4u);
	acknowledge(all[0].sequence);
	ASSERT_TRUE(peer.settle());
	EXPECT_TRUE(grows("recv_ack_only"));
	again({.ack = all[1].sequence});
	EXPECT_EQ(takes(2, 2).size(), 2u);
	again({.ack = ~0ull});
	EXPECT_EQ(takes(2, 2).size(), 2u);
}

/* A peer that says which generation its numbers are of. */
TEST_F(Acks, OfAGeneration)
{
	connect();
	hello(1111);
	deliver("one");
	deliver("two");
	EXPECT_TRUE(acknowledges(2));
	/* The same again: it is told what is there, before it sends. */
	peer.hangUp();
	ASSERT_TRUE(insist(peer).accepted);
	hello(1111);
	ASSERT_EQ(host.send(own, 1, kBytes).count, 1u);
	auto f = nextMessage();

	ASSERT_TRUE(f);
	EXPECT_EQ(f->header.ack, 2u);
	acknowledge(f->header.sequence);
	Header h;

	h.sequence = 2;
	h.sport = 9;
	h.dport = Host::port;
	h.flags = flagRetransmitted;
	ASSERT_TRUE(peer.send(message(h, "two")));
	EXPECT_TRUE(grows("recv_drop_old_seq"));
	/* Restarted: another generation, and its number 2 is new. */
	peer.hangUp();
	ASSERT_TRUE(insist(peer).accepted);
	hello(2222);
	ASSERT_TRUE(peer.send(message(h, "another two")));
	reads("another two");
	EXPECT_TRUE(acknowledges(2));
	EXPECT_EQ(grown("recv_drop_old_seq"), 1u);
}

/* ---- silence ---- */

/* The host finds it out by its keepalive, every 5 s. */
constexpr Patience kSilence = std::chrono::seconds(60);

class Silence : public Acks
{
protected:
	/* Though it speaks. */
	void is_given_up()
	{
		speak();
		ASSERT_EQ(host.send(own, 20, kBytes).count, 20u);
		while (peer.open()) {
			std::this_thread::sleep_for(std::chrono::seconds(1));
			if (!peer.send(frame(Header())))
				break;
		}
		EXPECT_TRUE(grows("ib_tx_stuck"));
		EXPECT_EQ(grown("conn_reset"), 1u);
	}
};

/* Nothing to say: an empty frame all the same, now and then, with what was acknowledged. */
TEST_F(Silence, IsFilledByKeepalives)
{
	connect();
	const uint64_t number = sequence;

	deliver("last words");
	for (int i = 0; i < 2; i++) {
		EXPECT_TRUE(host.grows(before, "ib_tx_keepalive", i + 1, kSilence));
		const auto f = peer.receive([number](const Frame &f) {
			return isEmpty(f.header) && f.header.ack == number;
		});

		ASSERT_TRUE(f);
		EXPECT_EQ(f->bytes.size(), headerSize);
	}
	EXPECT_EQ(grown("conn_reset"), 0u);
}

/* The peer is gone without a word: its keepalive tells the host. */
TEST_F(Silence, OfAPeerThatVanished)
{
	connect();
	goesOn();
	peer.vanish();
	EXPECT_TRUE(host.grows(before, "conn_reset", 1, kSilence));
	EXPECT_EQ(grown("ib_completion_errors") + grown("ib_tx_stuck"), 1u);
}

/* The peer posts no buffers, and says nothing any more: it is given time, but not for ever. */
TEST_F(Silence, OfAPeerWithoutBuffers)
{
	peer.call(peer.offer(), {.receive = 4, .again = false});
	speak();
	ASSERT_EQ(host.send(own, 20, kBytes).count, 20u);
	EXPECT_TRUE(host.grows(before, "ib_tx_stuck", 1, kSilence));
	EXPECT_TRUE(peer.ended());
	EXPECT_EQ(grown("conn_reset"), 1u);
}

/* One that speaks has no room for now, and is waited for, with what was sent to it. */
TEST_F(Silence, OfAPeerWithoutBuffersThatSpeaks)
{
	peer.call(peer.offer(), {.receive = 4, .again = false});
	speak();
	ASSERT_EQ(host.send(own, 20, kBytes).count, 20u);

	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(25);

	while (std::chrono::steady_clock::now() < end) {
		std::this_thread::sleep_for(std::chrono::seconds(1));
		speak();
	}
	EXPECT_TRUE(peer.open());
	EXPECT_EQ(grown("ib_tx_stuck") + grown("conn_reset"), 0u);
}

/* But not for ever, if an administrator wants that. */
TEST_F(Silence, OfAPeerWithoutBuffersThatSpeaksForTooLong)
{
	const Setting patience{host, "ib/slow_peer_secs", "12"};

	peer.call(peer.offer(), {.receive = 4, .again = false});
	is_given_up();
}

/* Nor of one that has buffers, and does not let the host have them. */
TEST_F(Silence, OfAPeerThatGivesNoBuffersForTooLong)
{
	const Setting counted{host, "ib/flow_control", "1"};
	const Setting patience{host, "ib/slow_peer_secs", "12"};

	peer.call(peer.offer({.credits = 4}), {.receive = 64});
	is_given_up();
}

} // namespace
} // namespace rdstest
