// SPDX-License-Identifier: GPL-2.0
/*
 * ib_link_test.cc: a link between a scripted core and an adapter that keeps what is posted: frames,
 * rings, credits, and every way in which a peer's frames can be wrong.
 */
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <random>

#include "ib_fixture.h"
#include "transports/ib/ib_link_parts.h"

namespace
{

using fake_ib::End;
using fake_ib::frames;
using fake_ib::message;
using fake_ib::pattern;
using Message = std::unique_ptr<struct rds_msg>;

constexpr long kHeader = RDS_HEADER_BYTES;

/* A header with everything that a link looks at. */
struct Head {
	uint32_t len;
	uint16_t sport;
	uint16_t dport = 7;
	uint8_t seq = 1;
	uint8_t credit = 0;
	std::string str() const
	{
		std::string h = fake_header(len, sport);

		h[7] = static_cast<char>(seq);
		h[23] = static_cast<char>(dport);
		h[25] = static_cast<char>(credit);
		return h;
	}
};

const std::string kEmpty = Head{0, 0, 0, 0}.str();

/* The header's words, one's complement: 0xffff when it holds its right checksum. */
unsigned int sum(const std::string &h)
{
	unsigned int s = 0;

	for (size_t i = 0; i < h.size(); i += 2)
		s += static_cast<unsigned char>(h[i]) << 8 | static_cast<unsigned char>(h[i + 1]);
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

std::string with_csum(std::string h)
{
	unsigned int s = ~sum(h) & 0xffff;

	h[30] = static_cast<char>(s >> 8);
	h[31] = static_cast<char>(s);
	return h;
}

class IbLink : public fake_ib::LinkTest
{
protected:
	/* So that the link may say something, too. */
	void greet()
	{
		ASSERT_EQ(end.xmit({msg(0)}), kHeader);
		end.complete();
		ASSERT_TRUE(end.out.empty());
	}
	void expect_dropped(enum rds_ib_link_stat why)
	{
		EXPECT_EQ(end.drops, std::vector<enum rds_drop_reason>{RDS_DROP_PROTOCOL});
		EXPECT_EQ(end.counts[why], 1u);
		EXPECT_EQ(end.link.state, RDS_IB_LINK_ENDED);
	}
};

/* An adapter that tells of more frames than it has buffers. */
TEST_F(IbLink, NothingArrivesWithoutABuffer)
{
	const uint32_t arrived = end.link.arrived;

	end.link.arrived = end.link.offered;
	rds_ib_link_arrived(&end.link);
	EXPECT_EQ(end.link.arrived, end.link.offered);
	end.link.arrived = arrived;
}

/* ---- sending ---- */

TEST_F(IbLink, AMessageGoesOutInFramesThatAllHaveItsHeader)
{
	for (uint32_t len : {0u, 1u, 4095u, 4096u, 4097u, 10000u, 8192u}) {
		struct rds_msg *m = msg(len, 9, 77);
		auto expected = frames(*m);

		end.up(64, 8);
		end.sent.clear();
		EXPECT_EQ(end.xmit({m}), kHeader + len);
		ASSERT_EQ(end.sent.size(), expected.size()) << len;
		for (size_t i = 0; i < expected.size(); i++) {
			EXPECT_EQ(end.sent[i].header, with_csum(expected[i].first));
			EXPECT_EQ(end.sent[i].payload, expected[i].second);
		}
		end.complete();
		rds_ib_link_end(&end.link);
	}
}

TEST_F(IbLink, WithoutChecksumsThereIsNone)
{
	end.params.csum = 0;
	end.up(8, 8);
	EXPECT_EQ(end.xmit({msg(5)}), kHeader + 5);
	EXPECT_EQ(end.sent[0].header, messages[0]->header);
}

TEST_F(IbLink, WhatIsAcceptedEndsWhereAFrameEnds)
{
	struct rds_msg *a = msg(10000, 2), *b = msg(5, 3);

	end.up(4, 8);
	/* Three of four slots. */
	EXPECT_EQ(end.xmit({b, a}), kHeader + 5 + kHeader + 8192);
	EXPECT_EQ(end.xmit({a}, kHeader + 8192), -EAGAIN);
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_ring_full], 2u);
	EXPECT_EQ(end.writable, 0u);
	EXPECT_TRUE(end.out.back().signaled()) << "nothing would ever be completed";
	EXPECT_EQ(end.complete(), 3u);
	EXPECT_EQ(end.writable, 1u);
	end.complete();
	EXPECT_EQ(end.writable, 1u) << "told once";
	EXPECT_EQ(end.xmit({a}, kHeader + 8192), 10000 - 8192);
	EXPECT_EQ(end.sent.back().header, with_csum(a->header));
	EXPECT_EQ(end.sent.back().payload, pattern(10000, 2).substr(8192));
}

TEST_F(IbLink, ACompletionIsAskedForNowAndThenAndAtTheEnd)
{
	std::vector<struct rds_msg *> all(20, msg(0));
	std::string flags;

	end.params.max_unsignaled = 6;
	end.up(64, 8);
	end.xmit(all, 0, true);
	end.xmit({msg(0)});
	for (const auto &s : end.sent)
		flags += s.signaled() ? 's' : '.';
	EXPECT_EQ(flags, ".....s.....s.....s..s");
	EXPECT_EQ(end.complete(), 21u);
}

/* Mainline sleeps until a frame says so: what follows a message may need none. */
TEST_F(IbLink, TheReceiverIsWokenAtEachMessagesEnd)
{
	end.up(64, 8);
	end.xmit({msg(10000), msg(0), msg(4097)}, 0, true);
	std::string woken;

	for (const auto &s : end.sent)
		woken += s.flags & RDS_IB_SOLICITED ? 'w' : '.';
	EXPECT_EQ(woken, "..ww.w");
	EXPECT_EQ(end.story(), "......");
}

/* Nor is one asked for because a frame is not the first of its message. */
TEST_F(IbLink, FramesOfOneMessageAreAlike)
{
	end.up(64, 8);
	EXPECT_EQ(end.xmit({msg(20000)}, 0, true), kHeader + 20000);
	EXPECT_EQ(end.story(), ".....");
}

/* Half a ring never goes without, for any value of the parameter. */
TEST_F(IbLink, ACompletionIsAskedForBeforeTheRingIsFull)
{
	std::vector<struct rds_msg *> all(20, msg(0));

	end.params.max_unsignaled = 64;
	end.up(16, 8);
	EXPECT_EQ(end.xmit(all, 0, true), 15 * kHeader);
	EXPECT_TRUE(end.sent[7].signaled());
	EXPECT_TRUE(end.sent[14].signaled());
}

TEST_F(IbLink, ACompletionOfNothingIsNone)
{
	end.up(8, 8);
	EXPECT_EQ(end.xmit({msg(0)}), kHeader);
	rds_ib_link_sent(&end.link, 3);
	EXPECT_EQ(end.out.size(), 1u);
	EXPECT_EQ(end.complete(), 1u);
	rds_ib_link_sent(&end.link, 0);
	EXPECT_EQ(end.given_back, 1u);
}

TEST_F(IbLink, WhatIsOfferedAlreadyIsNoError)
{
	end.up(8, 8);
	EXPECT_EQ(rds_ib_link_offer(&end.link, RDS_ATOMIC), 0);
	EXPECT_EQ(end.buffers.size(), 8u);
}

/* Nor can what was not posted have failed. */
TEST_F(IbLink, AFailureOfNothingIsNone)
{
	end.up(8, 8);
	greet();
	rds_ib_link_failed(&end.link, end.next_slot(), 4);
	rds_ib_link_failed(&end.link, end.next_slot() + 1, 4);
	EXPECT_EQ(end.link.failed, 0);
}

/* The same at every place around the end of 32 bits. */
TEST_F(IbLink, PositionsWrap)
{
	for (uint32_t before = 0; before < 20; before++) {
		end.begin = 0u - before;
		rds_ib_link_end(&end.link);
		end.out.clear();
		end.sent.clear();
		end.given_back = 0;
		end.up(8, 4);
		for (uint32_t n = 0; n < 20; n++) {
			const uint32_t slot = end.link.posted % 8;

			ASSERT_EQ(end.xmit({msg(0)}), kHeader);
			rds_ib_link_sent(&end.link, (slot + 1) % 8);
			ASSERT_EQ(end.out.size(), 1u) << "of nothing";
			ASSERT_EQ(end.complete(), 1u);
			ASSERT_EQ(end.given_back, n + 1);
			end.arrive(Head{0, 3, 7, static_cast<uint8_t>(n + 1)}.str());
			ASSERT_EQ(end.buffers.size(), 4u);
		}
		ASSERT_EQ(end.link.posted, 20 - before);
	}
}

TEST_F(IbLink, BeforeItIsOpenThereIsNoRoom)
{
	end.params.send_wr = end.params.recv_wr = 8;
	rds_ib_link_prepare(&end.link, &end.params);
	EXPECT_EQ(end.xmit({msg(3)}), -EAGAIN);
	EXPECT_TRUE(end.sent.empty());
	rds_ib_link_settle(&end.link, RDS_ATOMIC);
	EXPECT_EQ(end.writable, 0u);
	rds_ib_link_open(&end.link);
	EXPECT_EQ(end.writable, 1u);
	EXPECT_EQ(end.xmit({msg(3)}), kHeader + 3);
}

/* iWARP's caller speaks first (RFC 5044, 7.1.2): rdma_cm's word alone opens nothing. */
TEST_F(IbLink, ItHearsFirstWhereItHasTo)
{
	end.params.hears_first = 1;
	end.up(8, 8, 8);
	EXPECT_EQ(end.link.state, RDS_IB_LINK_IDLE);
	EXPECT_EQ(end.xmit({msg(3)}), -EAGAIN);
	rds_ib_link_keepalive(&end.link);
	EXPECT_TRUE(end.sent.empty());
	EXPECT_EQ(end.writable, 0u);
	end.arrive(Head{3, 3}.str(), "abc");
	EXPECT_EQ(end.writable, 1u);
	EXPECT_EQ(end.xmit({msg(3)}), kHeader + 3);
}

/* The caller died between its word that it is up and its first frame: nobody would ever say so. */
TEST_F(IbLink, AFirstFrameThatDoesNotComeEndsIt)
{
	end.params.hears_first = 1;
	end.up(8, 8, 8);
	rds_ib_link_keepalive(&end.link);
	EXPECT_TRUE(end.drops.empty()) << "it may have come up a moment ago";
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.drops, std::vector<enum rds_drop_reason>{RDS_DROP_ERROR});
	EXPECT_EQ(end.xmit({msg(3)}), -ENOTCONN);
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.drops.size(), 1u);
}

/* Of either word the first one opens it, and what it knows stays when the other comes. */
TEST_F(IbLink, TheSecondWordThatItIsUpChangesNothing)
{
	end.up(8, 8, 8);
	end.arrive(Head{3, 3}.str(), "abc");

	const uint32_t owed = end.link.to_return;

	EXPECT_GT(owed, 0u);
	rds_ib_link_open(&end.link);
	EXPECT_EQ(end.link.to_return, owed);
}

TEST_F(IbLink, AnAdapterThatRefusesEndsIt)
{
	end.up(8, 8);
	end.send_error = -EIO;
	EXPECT_EQ(end.xmit({msg(3)}), -EIO);
	EXPECT_EQ(end.xmit({msg(3)}), -ENOTCONN);
	rds_ib_link_keepalive(&end.link);
	rds_ib_link_keepalive(&end.link);
	EXPECT_TRUE(end.sent.empty());
	EXPECT_TRUE(end.drops.empty()) << "xmit has told";
}

/* Frames that it had taken before may arrive: the core knows of them, whole messages or a part. */
TEST_F(IbLink, AnAdapterThatRefusesLaterHasTakenSome)
{
	end.up(16, 8);
	for (unsigned int taken : {1u, 2u, 3u}) {
		end.drops.clear();
		end.send_error = -EIO;
		end.sends_before = taken;
		EXPECT_EQ(end.xmit({msg(7), msg(9000), msg(2)}),
			  2 * kHeader + 7 + (taken - 1) * 4096 - (taken == 1 ? kHeader : 0));
		EXPECT_EQ(end.drops, std::vector<enum rds_drop_reason>{RDS_DROP_SEND});
		EXPECT_EQ(end.out.size(), taken);
		EXPECT_EQ(end.xmit({msg(2)}), -ENOTCONN);
		EXPECT_EQ(end.counts[RDS_IB_LINK_tx_ring_full], 0u);
		rds_ib_link_end(&end.link);
		end.sent.clear();
		end.up(16, 8);
	}
}

TEST_F(IbLink, TheCoreHearsOnceThatItIsBroken)
{
	end.up(8, 8);
	rds_ib_link_broken(&end.link, RDS_DROP_PEER_CLOSED);
	rds_ib_link_broken(&end.link, RDS_DROP_ERROR);
	EXPECT_EQ(end.drops, std::vector<enum rds_drop_reason>{RDS_DROP_PEER_CLOSED});
	EXPECT_EQ(end.xmit({msg(3)}), -ENOTCONN);
	end.arrive(Head{0, 3}.str());
	EXPECT_TRUE(path.taken.empty());
}

TEST_F(IbLink, TheEndGivesEverythingBack)
{
	end.up(8, 4);
	end.xmit({msg(3), msg(9000)});
	end.arrive(Head{5000, 2}.str(), pattern(4096, 2));
	end.fill(Head{5000, 2}.str(), pattern(904, 2));
	EXPECT_EQ(path.live, 1);
	rds_ib_link_end(&end.link);
	EXPECT_TRUE(end.out.empty());
	for (const auto &b : end.rx)
		EXPECT_FALSE(b.offered);
	EXPECT_EQ(path.live, 0);
	EXPECT_EQ(end.link.state, RDS_IB_LINK_IDLE);
	end.sent.clear();
	end.up(8, 4);
	EXPECT_EQ(end.buffers.size(), 4u);
	end.arrive(Head{1, 2}.str(), "x");
	EXPECT_EQ(path.taken.size(), 1u) << "nothing is left of the last connection";
}

/* ---- its own frames ---- */

TEST_F(IbLink, KeepsAQuietConnectionAlive)
{
	end.up(8, 8);
	rds_ib_link_keepalive(&end.link);
	rds_ib_link_keepalive(&end.link);
	EXPECT_TRUE(end.sent.empty()) << "the first word is the core's";
	EXPECT_EQ(end.xmit({msg(3, 2, 41)}), kHeader + 3);
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.sent.size(), 1u) << "something was posted since";
	rds_ib_link_keepalive(&end.link);
	ASSERT_EQ(end.sent.size(), 2u);
	EXPECT_TRUE(end.sent[1].empty());
	EXPECT_TRUE(end.sent[1].signaled());
	EXPECT_EQ(sum(end.sent[1].header), 0xffffu);
	EXPECT_EQ(end.sent[1].ack(), 41u);
	rds_ib_link_keepalive(&end.link);
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.sent.size(), 2u) << "one at a time";
	end.complete();
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.sent.size(), 3u);
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_keepalive], 2u);
}

TEST_F(IbLink, TheLastSlotIsForItsOwn)
{
	std::vector<struct rds_msg *> all(8, msg(0));

	end.up(4, 8);
	EXPECT_EQ(end.xmit(all), 3 * kHeader);
	rds_ib_link_keepalive(&end.link);
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.out.size(), 4u);
	EXPECT_TRUE(end.out.back().empty());
}

TEST_F(IbLink, AdapterRefusingItsOwnFrameEndsIt)
{
	end.up(8, 8);
	greet();
	end.send_error = -EIO;
	rds_ib_link_keepalive(&end.link);
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.drops, std::vector<enum rds_drop_reason>{RDS_DROP_SEND});
}

/* An update that was not posted did not bring any credits back. */
TEST_F(IbLink, ARefusedUpdateIsNotCounted)
{
	end.up(8, 8, 8);
	greet();
	end.send_error = -EIO;
	for (int i = 0; i < 6; i++)
		end.arrive(kEmpty);
	EXPECT_EQ(end.drops, std::vector<enum rds_drop_reason>{RDS_DROP_SEND});
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_credit_updates], 0u);
}

/* ---- credits ---- */

TEST_F(IbLink, SendsNoMoreThanThePeerHasBuffers)
{
	std::vector<struct rds_msg *> all(8, msg(0));

	end.up(64, 8, 5);
	EXPECT_EQ(end.xmit(all), 4 * kHeader) << "the last is for giving credits back";
	EXPECT_TRUE(end.sent.back().signaled());
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_throttle], 1u);
	EXPECT_TRUE(rds_ib_link_dry(&end.link));
	end.complete();
	EXPECT_EQ(end.writable, 0u);
	end.arrive(Head{0, 0, 0, 0, 2}.str());
	EXPECT_EQ(end.writable, 1u);
	EXPECT_EQ(end.link.given, 2u);
	EXPECT_FALSE(rds_ib_link_dry(&end.link)) << "the core does not wait now";
	EXPECT_EQ(end.xmit(all), 2 * kHeader);
	end.arrive(Head{0, 0, 0, 0, 0}.str());
	EXPECT_EQ(end.writable, 1u);
}

TEST_F(IbLink, AFrameCarriesWhatIsToBeGivenBack)
{
	end.up(8, 1024, 100);
	for (int i = 0; i < 5; i++)
		end.arrive(Head{0, 3}.str());
	EXPECT_EQ(end.xmit({msg(5000)}), kHeader + 5000);
	EXPECT_EQ(end.sent[0].credit(), 5u);
	EXPECT_EQ(end.sent[1].credit(), 0u) << "once";
	end.complete();
	end.link.own_out = 1; /* so that they add up */
	for (int i = 0; i < 300; i++)
		end.arrive(Head{0, 3}.str());
	EXPECT_EQ(end.xmit({msg(5000)}), kHeader + 5000);
	EXPECT_EQ(end.sent[2].credit(), 255u);
	EXPECT_EQ(end.sent[3].credit(), 45u);
}

TEST_F(IbLink, GivesCreditsBackByItself)
{
	end.up(8, 64, 2);
	EXPECT_EQ(end.xmit({msg(0)}), kHeader);
	end.complete();
	EXPECT_EQ(end.xmit({msg(0)}), -EAGAIN);
	for (int i = 0; i < 15; i++)
		end.arrive(Head{0, 3}.str());
	EXPECT_EQ(end.sent.size(), 1u);
	end.arrive(Head{0, 3}.str());
	ASSERT_EQ(end.sent.size(), 2u);
	EXPECT_TRUE(end.sent[1].empty());
	EXPECT_EQ(end.sent[1].credit(), 16u);
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_credit_updates], 1u);
	/* That was the last one. */
	end.complete();
	for (int i = 0; i < 20; i++)
		end.arrive(Head{0, 3}.str());
	EXPECT_EQ(end.sent.size(), 2u);
	end.arrive(Head{0, 0, 0, 0, 1}.str());
	ASSERT_EQ(end.sent.size(), 3u);
	EXPECT_EQ(end.sent[2].credit(), 21u);
	EXPECT_EQ(end.writable, 0u);
	/* One at a time. */
	end.arrive(Head{0, 0, 0, 0, 9}.str());
	for (int i = 0; i < 30; i++)
		end.arrive(Head{0, 3}.str());
	EXPECT_EQ(end.sent.size(), 3u);
	end.complete();
	EXPECT_EQ(end.sent.size(), 4u);
}

TEST_F(IbLink, OfASmallRingHalfIsGivenBack)
{
	end.up(8, 4, 50);
	greet();
	end.arrive(Head{0, 3}.str());
	EXPECT_EQ(end.sent.size(), 1u);
	end.arrive(Head{0, 3}.str());
	EXPECT_EQ(end.sent.back().credit(), 2u);
}

class IbLinkFew : public IbLink, public testing::WithParamInterface<unsigned int>
{
};
INSTANTIATE_TEST_SUITE_P(Buffers, IbLinkFew, testing::Values(3u, 4u, 8u, 15u, 31u));

/* A peer that was told of few, for memory was short, and keeps one back: it is told of more. */
TEST_P(IbLinkFew, OfThoseThatArePostedHalfIsGivenBack)
{
	end.most_buffers = GetParam();
	end.up(8, 64, 50);
	ASSERT_EQ(end.link.offered, GetParam());
	greet();
	for (unsigned int i = 0; i + 1 < GetParam(); i++)
		end.arrive(Head{0, 3}.str());
	EXPECT_GT(end.sent.size(), 1u) << "it waits for a keepalive";
	EXPECT_GE(end.sent.back().credit(), 2u);
}

TEST_F(IbLink, WithoutCountingNothingIsSaidAndNothingHeard)
{
	end.up(8, 8, 0);
	greet();
	for (int i = 0; i < 40; i++)
		end.arrive(Head{0, 3, 7, 1, 200}.str());
	EXPECT_EQ(end.xmit({msg(0)}), kHeader);
	EXPECT_EQ(end.sent.back().credit(), 0u);
	EXPECT_EQ(end.sent.size(), 2u);
	EXPECT_EQ(end.counts[RDS_IB_LINK_rx_credit_updates], 0u);
}

/* Nor when only the peer does not count. */
TEST_F(IbLink, WithAPeerThatDoesNotCountNothingIsCounted)
{
	std::vector<struct rds_msg *> all(20, msg(0));

	end.params.send_wr = 64;
	end.params.recv_wr = end.params.first_buffers = 8;
	end.params.flow = end.params.named = 1;
	rds_ib_link_prepare(&end.link, &end.params);
	rds_ib_link_peer_credit(&end.link, 0);
	rds_ib_link_open(&end.link);
	EXPECT_EQ(end.xmit(all), 20 * kHeader);
	EXPECT_EQ(end.link.p.flow, 0);
}

/* Of those that are posted a power of two is named, and the others are given back as new ones. */
TEST_F(IbLink, OurOfferNamesAPowerOfTwo)
{
	for (uint32_t posted = 4; posted <= 16; posted++) {
		End one(&path);

		one.most_buffers = posted;
		one.up(8, 16, 100);
		ASSERT_EQ(one.buffers.size(), posted);
		EXPECT_EQ(one.claimed, posted < 8 ? 4u : posted < 16 ? 8u : 16u);
		ASSERT_EQ(one.xmit({msg(0)}), kHeader);
		EXPECT_EQ(one.claimed + one.sent.back().credit(), posted);
	}
}

/* Mainline's reply names no buffers, for it has none yet, and it counts ours. */
TEST_F(IbLink, APeerThatGivesBuffersBackCountsOurs)
{
	end.params.send_wr = 64;
	end.params.recv_wr = end.params.first_buffers = 64;
	end.params.flow = end.params.named = 1;
	rds_ib_link_prepare(&end.link, &end.params);
	end.rx.assign(64, End::Buffer());
	rds_ib_link_offer(&end.link, RDS_MAY_SLEEP);
	EXPECT_EQ(rds_ib_link_claim(&end.link), 64u);
	rds_ib_link_peer_credit(&end.link, 0);
	rds_ib_link_open(&end.link);
	greet();
	for (int i = 0; i < 20; i++)
		end.arrive(Head{0, 3}.str());
	EXPECT_EQ(end.sent.size(), 1u) << "nobody counts";
	end.arrive(Head{0, 3, 7, 1, 200}.str());
	ASSERT_EQ(end.sent.size(), 2u);
	EXPECT_EQ(end.sent.back().credit(), 21u);
	/* Of its own we count none, and wait for none. */
	EXPECT_EQ(end.xmit(std::vector<struct rds_msg *>(50, msg(0))), 50 * kHeader);
	EXPECT_EQ(end.link.p.flow, 0);
}

/* A link that was used is as new once it is prepared. */
TEST_F(IbLink, PreparedItIsAsNew)
{
	struct rds_ib_link fresh = {};

	end.params.send_wr = end.params.recv_wr = 8;
	end.params.first_buffers = 4;
	memset(static_cast<void *>(&end.link.posted), 0x11,
	       sizeof(end.link) - offsetof(struct rds_ib_link, posted));
	rds_ib_link_prepare(&end.link, &end.params);
	fresh.path = &path;
	fresh.hw = &end;
	fresh.p = end.params;
	fresh.depth = 4;
	fresh.frame = RDS_IB_FRAME;
	EXPECT_FALSE(memcmp(&fresh, &end.link, sizeof(fresh)));
}

/* Each flag is one or none at every place where it is raised. */
TEST_F(IbLink, FlagsAreOneOrNone)
{
	end.up(8, 8, 2);
	greet();
	EXPECT_EQ(end.miscounted(), "");
	EXPECT_EQ(end.xmit({msg(0)}), -EAGAIN);
	EXPECT_EQ(end.link.blocked, 1);
	for (int i = 0; i < 3; i++) {
		rds_ib_link_keepalive(&end.link);
		EXPECT_EQ(end.miscounted(), "");
	}
	EXPECT_EQ(end.link.own_out, 1);
	EXPECT_EQ(end.link.deaf, 1);
	path.incoming_again = 1;
	end.arrive(Head{2, 4}.str(), "ab");
	EXPECT_EQ(end.link.paused, 1);
	EXPECT_EQ(end.miscounted(), "");
	rds_ib_link_retry(&end.link);
	EXPECT_EQ(end.miscounted(), "");
	EXPECT_EQ(end.link.deaf, 0);
}

/* The peer may be gone with all our credits, and nobody else will find out. */
TEST_F(IbLink, OutOfCreditsAndNothingHeardItAsksAllTheSame)
{
	end.up(8, 8, 2);
	greet();
	EXPECT_EQ(end.xmit({msg(0)}), -EAGAIN);
	rds_ib_link_keepalive(&end.link);
	end.arrive(Head{0, 3}.str());
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.sent.size(), 1u) << "it is there";
	rds_ib_link_keepalive(&end.link);
	ASSERT_EQ(end.sent.size(), 2u);
	rds_ib_link_keepalive(&end.link);
	end.complete();
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.sent.size(), 3u);
	end.complete();
	/* Two went on tick: they are paid first. */
	end.arrive(Head{0, 0, 0, 0, 2}.str());
	EXPECT_EQ(end.xmit({msg(0)}), -EAGAIN);
	end.arrive(Head{0, 0, 0, 0, 1}.str());
	EXPECT_EQ(end.xmit({msg(0)}), kHeader);
}

/* Only to ask whether the peer is there a frame goes on tick, not to give credits back. */
TEST_F(IbLink, OnTickItGivesNoCreditsBackByItself)
{
	end.up(8, 64, 2);
	greet();
	rds_ib_link_keepalive(&end.link);
	for (int i = 0; i < 2; i++) {
		rds_ib_link_keepalive(&end.link);
		end.complete();
	}
	ASSERT_EQ(end.link.credits, -1);
	ASSERT_EQ(end.sent.size(), 3u);
	for (int i = 0; i < 20; i++)
		end.arrive(Head{0, 3}.str());
	EXPECT_EQ(end.sent.size(), 3u);
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_credit_updates], 0u);
	end.arrive(Head{0, 0, 0, 0, 1}.str());
	EXPECT_EQ(end.sent.size(), 3u) << "that is paid first";
	end.arrive(Head{0, 0, 0, 0, 1}.str());
	ASSERT_EQ(end.sent.size(), 4u);
	EXPECT_EQ(end.sent[3].credit(), 22u);
	EXPECT_EQ(end.link.credits, 0);
}

/* Two credits: one is for the frame, one is kept. */
TEST_F(IbLink, WithTwoCreditsItKeepsAlive)
{
	end.up(8, 8, 3);
	greet();
	rds_ib_link_keepalive(&end.link);
	end.arrive(Head{0, 3}.str());
	ASSERT_EQ(end.link.deaf, 0);
	ASSERT_EQ(end.link.credits, 2);
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_keepalive], 1u);
	EXPECT_EQ(end.link.credits, 1);
}

/* As often folded as a sum of six words may need it. */
TEST_F(IbLink, AnyHeadersChecksumIsRight)
{
	std::mt19937 rng(7);
	rds::wire::Header h;

	for (int i = 0; i < 200000; i++) {
		auto *b = reinterpret_cast<unsigned char *>(&h);
		std::string text;

		for (size_t k = 0; k < sizeof(h); k++)
			b[k] = rng() % 8 ? 0xff : static_cast<unsigned char>(rng());
		h.csum[0] = h.csum[1] = 0;
		text.assign(reinterpret_cast<const char *>(&h), sizeof(h));

		uint16_t is = rds::ib::checksum(h);

		memcpy(h.csum, &is, sizeof(is));
		ASSERT_EQ(std::string(reinterpret_cast<const char *>(&h), sizeof(h)),
			  with_csum(text));
	}
}

TEST_F(IbLink, ALyingPeersCreditsDoNotOverflow)
{
	end.up(8, 8, ~0u);
	greet();
	for (int i = 0; i < 1000; i++)
		end.arrive(Head{0, 3, 7, 1, 255}.str());
	EXPECT_EQ(end.xmit({msg(0)}), kHeader);
}

/* With as many as need be counted no more are. */
TEST_F(IbLink, ManyCreditsAreEnough)
{
	end.up(8, 8, ~0u);
	ASSERT_EQ(end.link.credits, rds::ib::kManyCredits);
	end.arrive(Head{0, 3, 7, 1, 9}.str());
	EXPECT_EQ(end.link.credits, rds::ib::kManyCredits);
	greet();
	end.arrive(Head{0, 3, 7, 2, 9}.str());
	EXPECT_EQ(end.link.credits, rds::ib::kManyCredits - 1 + 9);
}

/* A batch that begins in the midst of a message: all of it goes, also what is behind that one. */
TEST_F(IbLink, TheRestOfAMessageIsNotAllOfABatch)
{
	struct rds_msg *a = msg(10000, 2), *b = msg(5, 3);

	end.up(64, 8);
	EXPECT_EQ(end.xmit({a, b}, kHeader + 4096), 10000 - 4096 + kHeader + 5);
	ASSERT_EQ(end.sent.size(), 3u);
	EXPECT_EQ(end.sent[2].payload, pattern(5, 3));
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_ring_full], 0u);
	end.complete();
}

/* The bytes in a header where the checksum goes are not summed up. */
TEST_F(IbLink, AnOldChecksumDoesNotCount)
{
	struct rds_msg *m = msg(5, 3);
	std::string clean = m->header;

	m->header[30] = 0x12;
	m->header[31] = 0x34;
	end.up(8, 8);
	EXPECT_EQ(end.xmit({m}), kHeader + 5);
	EXPECT_EQ(end.sent[0].header, with_csum(clean));
}

/* Why it is blocked: the ring, or the peer's buffers, whatever is left of the other. */
TEST_F(IbLink, ItIsCountedWhatIsMissing)
{
	end.up(3, 8, 4);
	EXPECT_EQ(end.xmit({msg(0), msg(0), msg(0)}), 2 * kHeader);
	ASSERT_EQ(end.link.credits, 2);
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_ring_full], 1u);
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_throttle], 0u);
	end.complete();
	EXPECT_EQ(end.xmit({msg(0), msg(0)}), kHeader);
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_ring_full], 1u);
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_throttle], 1u);
}

/* ---- receiving ---- */

TEST_F(IbLink, FramesBecomeMessages)
{
	end.up(8, 8);
	for (uint32_t len : {0u, 1u, 4095u, 4096u, 4097u, 10000u, 8192u}) {
		const auto *m = msg(len, 5);

		path.taken.clear();
		for (const auto &f : frames(*m)) {
			EXPECT_TRUE(path.taken.empty());
			end.arrive(with_csum(f.first), f.second);
		}
		ASSERT_EQ(path.taken.size(), 1u) << len;
		EXPECT_EQ(path.taken[0].second, m->payload.bytes);
	}
	EXPECT_EQ(end.buffers.size(), 8u);
	EXPECT_TRUE(end.drops.empty());
}

TEST_F(IbLink, TheCoreSeesOneHeaderOfAMessageAndEveryEmptyOne)
{
	end.up(8, 8);
	end.arrive(kEmpty);
	end.arrive(Head{5000, 3}.str(), pattern(4096, 3));
	/* Acks and credits come at any place. */
	end.arrive(kEmpty);
	end.arrive(kEmpty);
	end.arrive(Head{5000, 3}.str(), pattern(904, 4));
	end.arrive(kEmpty);
	EXPECT_EQ(path.headers.size(), 5u);
	ASSERT_EQ(path.taken.size(), 1u);
	EXPECT_EQ(path.taken[0].second, pattern(4096, 3) + pattern(904, 4));
}

/* sim_fast --seed 1004594005: mainline's ack came with the second frame of a map, and not again. */
TEST_F(IbLink, LaterFramesOfAMessageAcknowledge)
{
	const auto *with_ack = msg(9000, 3, 91);
	auto all = frames(*msg(9000, 3, 74));

	end.up(8, 8);
	end.arrive(with_csum(all[0].first), all[0].second);
	EXPECT_TRUE(path.acks.empty()) << "the core saw it";
	all[1].first = with_ack->header;
	path.append_nomem = 1;
	end.arrive(with_csum(all[1].first), all[1].second);
	EXPECT_EQ(path.acks, std::vector<uint64_t>{91});
	rds_ib_link_retry(&end.link);
	end.arrive(with_csum(all[2].first), all[2].second);
	EXPECT_EQ(path.acks, (std::vector<uint64_t>{91, 74}));
	EXPECT_EQ(path.headers.size(), 1u);
	EXPECT_EQ(path.taken.size(), 1u);
}

/* A peer that has begun a message and sends no more of it is found out by that (conn_idle.cc). */
TEST_F(IbLink, ItTellsWhatAMessageLacks)
{
	end.up(8, 8);
	EXPECT_EQ(rds_ib_link_wants(&end.link), 0u);
	end.arrive(Head{9000, 3}.str(), pattern(4096, 3));
	EXPECT_EQ(rds_ib_link_wants(&end.link), 9000u - 4096);
	end.arrive(kEmpty);
	EXPECT_EQ(rds_ib_link_wants(&end.link), 9000u - 4096) << "an ack is no part of it";
	path.append_nomem = 1;
	end.arrive(Head{9000, 3}.str(), pattern(4096, 4));
	EXPECT_EQ(rds_ib_link_wants(&end.link), 0u) << "it is here, and the core has no room";
	rds_ib_link_retry(&end.link);
	EXPECT_EQ(rds_ib_link_wants(&end.link), 808u);
	end.arrive(Head{9000, 3}.str(), pattern(808, 5));
	EXPECT_EQ(rds_ib_link_wants(&end.link), 0u);
	EXPECT_EQ(path.taken.size(), 1u);
}

TEST_F(IbLink, WhatNobodyWantsIsSkipped)
{
	path.skip_port = 9;
	end.up(8, 8);
	end.arrive(Head{9000, 9}.str(), pattern(4096, 1));
	end.arrive(Head{9000, 9}.str(), pattern(4096, 1));
	end.arrive(Head{9000, 9}.str(), pattern(808, 1));
	end.arrive(Head{3, 4}.str(), "abc");
	EXPECT_EQ(path.headers.size(), 2u);
	EXPECT_EQ(path.taken.size(), 1u);
}

/* The core refuses at every step: nothing is lost, doubled or overtaken. */
TEST_F(IbLink, ARefusalIsTriedAgain)
{
	int *const knobs[] = {&path.begin_nomem, &path.append_nomem, &path.incoming_again};

	end.up(8, 8, 5);
	for (int *knob : knobs) {
		const unsigned int later = end.later;
		const int32_t credits = end.link.credits;

		path.taken.clear();
		*knob = 2;
		end.arrive(Head{5000, 3, 7, 1, 1}.str(), pattern(4096, 3));
		end.arrive(Head{5000, 3, 7, 1, 1}.str(), pattern(904, 4));
		end.arrive(Head{2, 4}.str(), "ab");
		EXPECT_EQ(end.later, later + 1) << "asked once";
		EXPECT_TRUE(path.taken.empty());
		rds_ib_link_retry(&end.link);
		EXPECT_EQ(end.later, later + 2);
		rds_ib_link_retry(&end.link);
		ASSERT_EQ(path.taken.size(), 2u);
		EXPECT_EQ(path.taken[0].second, pattern(4096, 3) + pattern(904, 4));
		EXPECT_EQ(path.taken[1].second, "ab");
		EXPECT_EQ(end.link.credits, credits + 2) << "counted once";
	}
	EXPECT_EQ(end.counts[RDS_IB_LINK_rx_paused], 6u);
}

TEST_F(IbLink, APausedLinkTakesNothingAndStillSends)
{
	end.up(8, 4);
	path.incoming_again = 1;
	end.arrive(Head{2, 4}.str(), "ab");
	end.fill(Head{2, 4}.str(), "cd");
	EXPECT_EQ(end.xmit({msg(3)}), kHeader + 3);
	end.complete();
	EXPECT_TRUE(path.taken.empty());
	EXPECT_EQ(end.buffers.size(), 2u);
	rds_ib_link_retry(&end.link);
	EXPECT_EQ(path.taken.size(), 2u);
	EXPECT_EQ(end.buffers.size(), 4u);
}

TEST_F(IbLink, ChecksumsAreChecked)
{
	std::string good = with_csum(Head{2, 4}.str());

	end.up(8, 8);
	end.arrive(good, "ab");
	end.arrive(Head{2, 4}.str(), "ab"); /* none */
	EXPECT_EQ(path.taken.size(), 2u);
	good[20] ^= 1;
	end.arrive(good, "ab");
	EXPECT_EQ(path.taken.size(), 2u);
	expect_dropped(RDS_IB_LINK_rx_bad_csum);
	end.arrive(Head{2, 4}.str(), "ab");
	EXPECT_EQ(path.headers.size(), 2u) << "nothing more is taken";
}

TEST_F(IbLink, AnEmptyFramesChecksumIsCheckedToo)
{
	std::string h = with_csum(kEmpty);

	h[15] = 1; /* h_ack */
	end.up(8, 8);
	end.arrive(h);
	EXPECT_TRUE(path.headers.empty());
	expect_dropped(RDS_IB_LINK_rx_bad_csum);
}

struct Wrong {
	const char *name;
	std::vector<std::pair<std::string, size_t>> frames; /* header, bytes of payload */
};

class IbLinkWrong : public IbLink, public testing::WithParamInterface<Wrong>
{
};

const Wrong kWrong[] = {
	{"NoHeader", {{"short", 0}}},
	{"LessThanAFrame", {{Head{5000, 3}.str(), 4095}}},
	{"MoreThanTheMessage", {{Head{5, 3}.str(), 6}}},
	{"LessThanTheMessage", {{Head{5, 3}.str(), 4}}},
	{"NoPayload", {{Head{5, 3}.str(), 0}}},
	{"PayloadOfNothing", {{Head{0, 3}.str(), 1}}},
	{"EmptyWithPayload", {{kEmpty, 1}}},
	{"LastTooLong", {{Head{5000, 3}.str(), 4096}, {Head{5000, 3}.str(), 905}}},
	{"LastTooShort", {{Head{5000, 3}.str(), 4096}, {Head{5000, 3}.str(), 903}}},
	{"AnotherNumber", {{Head{5000, 3}.str(), 4096}, {Head{5000, 3, 7, 2}.str(), 904}}},
	{"AnotherLength", {{Head{5000, 3}.str(), 4096}, {Head{5001, 3}.str(), 904}}},
	{"AnotherSource", {{Head{5000, 3}.str(), 4096}, {Head{5000, 4}.str(), 904}}},
	{"AnotherDestination", {{Head{5000, 3}.str(), 4096}, {Head{5000, 3, 8}.str(), 904}}},
	{"MessageInMessage", {{Head{5000, 3}.str(), 4096}, {Head{0, 4}.str(), 0}}},
	{"EmptyWithPayloadInMessage", {{Head{5000, 3}.str(), 4096}, {kEmpty, 904}}},
};

INSTANTIATE_TEST_SUITE_P(Frames, IbLinkWrong, testing::ValuesIn(kWrong),
			 [](const auto &info) { return std::string(info.param.name); });

TEST_P(IbLinkWrong, EndsIt)
{
	end.up(8, 8);
	for (const auto &f : GetParam().frames) {
		EXPECT_TRUE(end.drops.empty());
		end.arrive(f.first, pattern(static_cast<uint32_t>(f.second), 1));
	}
	expect_dropped(RDS_IB_LINK_rx_bad_frame);
	EXPECT_TRUE(path.taken.empty());
	end.arrive(Head{2, 4}.str(), "ab");
	EXPECT_TRUE(path.taken.empty());
}

/* The core has dropped it by itself. */
TEST_F(IbLink, WhatTheCoreCallsNoRdsEndsIt)
{
	path.bad_port = 66;
	end.up(8, 8);
	end.arrive(Head{2, 66}.str(), "ab");
	EXPECT_EQ(end.link.state, RDS_IB_LINK_ENDED);
	EXPECT_TRUE(end.drops.empty());
	EXPECT_EQ(end.link.taken, 0u) << "its buffer is given back with the others";
	end.arrive(Head{2, 4}.str(), "ab");
	EXPECT_TRUE(path.taken.empty());
}

/* It brings too much that is not whole. */
TEST_F(IbLink, WhatTheCoreHasNoRoomForEndsIt)
{
	path.append_error = -EPROTO;
	end.up(8, 8);
	end.arrive(Head{9000, 4}.str(), pattern(4096, 1));
	EXPECT_EQ(end.link.state, RDS_IB_LINK_ENDED);
	EXPECT_TRUE(end.drops.empty());
	path.append_error = 0;
	end.arrive(Head{9000, 4}.str(), pattern(4096, 1));
	EXPECT_EQ(path.headers.size(), 1u);
	EXPECT_TRUE(path.taken.empty());
}

TEST_F(IbLink, BuffersComeWhenThereIsMemory)
{
	end.offer_error = -ENOMEM;
	end.up(8, 4);
	EXPECT_EQ(end.buffers.size(), 0u);
	end.offer_error = 0;
	rds_ib_link_settle(&end.link, RDS_ATOMIC);
	EXPECT_EQ(end.buffers.size(), 4u);
	end.offer_error = -EIO;
	end.arrive(Head{2, 4}.str(), "ab");
	EXPECT_EQ(path.taken.size(), 1u);
	EXPECT_EQ(end.drops, std::vector<enum rds_drop_reason>{RDS_DROP_ERROR});
}

/* Buffers that our offer did not tell of are credits. */
TEST_F(IbLink, LateBuffersAreGivenBack)
{
	end.offer_error = -ENOMEM;
	end.up(8, 16, 50);
	end.offer_error = 0;
	EXPECT_EQ(end.xmit({msg(0)}), kHeader);
	rds_ib_link_settle(&end.link, RDS_ATOMIC);
	ASSERT_EQ(end.sent.size(), 2u);
	EXPECT_EQ(end.sent[1].credit(), 16u);
}

/* ---- two links ---- */

struct Pair {
	struct rds_path path[2];
	End end[2] = {End(&path[0]), End(&path[1])};
	std::vector<Message> messages[2];
	struct Cursor {
		size_t at = 0;
		uint32_t off = 0;
	} cursor[2];
	bool blocked[2] = {false, false};
	size_t wired[2] = {0, 0}; /* frames that crossed */
	std::mt19937 rng;

	uint32_t below(uint32_t n)
	{
		return rng() % n;
	}

	void send(int i)
	{
		Cursor &c = cursor[i];
		std::vector<struct rds_msg *> batch;

		for (size_t k = c.at; k < messages[i].size() && batch.size() < 4; k++)
			batch.push_back(messages[i][k].get());
		if (batch.empty() || (blocked[i] && !end[i].writable))
			return;
		end[i].writable = 0;

		long n = end[i].xmit(batch, c.off, c.at + batch.size() < messages[i].size());

		blocked[i] = n == -EAGAIN;
		for (n = n < 0 ? 0 : n; n; c.off = 0, c.at++) {
			long left = messages[i][c.at]->len + kHeader - c.off;

			if (n < left) {
				c.off += static_cast<uint32_t>(n);
				blocked[i] = true;
				return;
			}
			n -= left;
		}
	}

	void cross(int i)
	{
		End &to = end[!i];

		for (uint32_t n = below(5); n && wired[i] < end[i].sent.size(); n--) {
			/* Without credits the hardware waits. */
			ASSERT_FALSE(end[i].link.p.flow && to.buffers.empty());
			if (to.buffers.empty())
				break;

			const auto &s = end[i].sent[wired[i]++];

			to.fill(s.header, s.payload);
		}
		rds_ib_link_settle(&to.link, RDS_ATOMIC);
	}

	void refuse(int i)
	{
		fake_path = &path[i];
		path[i].begin_nomem = static_cast<int>(below(2));
		path[i].incoming_again = static_cast<int>(below(2));
	}

	/* Frames that have crossed are complete, up to a signaled one. */
	void complete(int i)
	{
		uint64_t crossed = wired[i] - end[i].given_back;

		for (uint64_t k = crossed; k; k--)
			if (end[i].out[k - 1].signaled()) {
				rds_ib_link_sent(&end[i].link, end[i].out[k - 1].slot);
				break;
			}
		rds_ib_link_settle(&end[i].link, RDS_ATOMIC);
	}

	void step()
	{
		int i = static_cast<int>(below(2));

		fake_path = &path[!i];
		switch (below(6)) {
		case 0:
			send(i);
			break;
		case 1:
			cross(i);
			break;
		case 2:
			complete(i);
			break;
		case 3:
			rds_ib_link_retry(&end[i].link);
			break;
		case 4:
			refuse(i);
			break;
		case 5:
			if (!below(10))
				rds_ib_link_keepalive(&end[i].link);
		}
	}

	bool through() const
	{
		return path[1].taken.size() == messages[0].size() &&
		       path[0].taken.size() == messages[1].size();
	}
};

TEST(IbLinkPair, AllOfBothComesThroughWhateverTheRings)
{
	for (unsigned int seed = 1; seed <= 60; seed++) {
		Pair p;

		p.rng.seed(seed);
		for (int i = 0; i < 2; i++) {
			p.path[i].skip_port = 0;
			/* Of two pairs one wraps. */
			p.end[i].begin =
				seed % 4 < 2 ? 0
					     : 0u - (seed * 7 + static_cast<unsigned int>(i)) % 100;
			p.end[i].params.max_unsignaled = p.below(20);
			p.end[i].params.order = static_cast<uint8_t>(p.below(3));
			for (uint32_t n = 60 + p.below(60); n; n--)
				p.messages[i].emplace_back(
					message(p.below(3) ? p.below(300) : p.below(20000),
						static_cast<uint16_t>(2 + n)));
		}

		const uint32_t recv[2] = {4u << p.below(4), 4u << p.below(4)};
		bool flow = seed % 2;

		for (int i = 0; i < 2; i++)
			p.end[i].up(4u << p.below(4), recv[i], flow ? recv[!i] : 0);
		for (int i = 0; i < 2; i++)
			rds_ib_link_peer_order(&p.end[i].link, p.end[!i].params.order);
		for (int n = 0; n < 200000 && !p.through(); n++) {
			p.step();
			ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
			ASSERT_EQ(p.end[n % 2].miscounted(), "") << "seed " << seed;
		}
		ASSERT_TRUE(p.through()) << "seed " << seed;
		for (int i = 0; i < 2; i++) {
			for (size_t k = 0; k < p.messages[i].size(); k++)
				ASSERT_EQ(p.path[!i].taken[k].second,
					  p.messages[i][k]->payload.bytes);
			EXPECT_TRUE(p.end[i].drops.empty());
			EXPECT_EQ(flow,
				  p.end[i].counts[RDS_IB_LINK_tx_credit_updates] +
						  p.end[i].counts[RDS_IB_LINK_rx_credit_updates] >
					  0);
		}
		EXPECT_EQ(p.path[0].live + p.path[1].live, 0);
	}
}

/* Messages behind a batch may be taken back before they go; then nobody has asked for a completion.
 */
TEST_F(IbLink, ACompletionIsOwedOnlyIfItWasAskedFor)
{
	end.up(16, 8);
	EXPECT_FALSE(rds_ib_link_owed(&end.link));
	end.xmit({msg(0)});
	EXPECT_TRUE(rds_ib_link_owed(&end.link));
	end.xmit({msg(0), msg(0)}, 0, true);
	EXPECT_EQ(end.story(), "s..");
	EXPECT_TRUE(rds_ib_link_owed(&end.link));
	end.complete();
	EXPECT_FALSE(rds_ib_link_owed(&end.link)) << "two are out, of which nobody hears";
	rds_ib_link_keepalive(&end.link);
	rds_ib_link_keepalive(&end.link);
	EXPECT_TRUE(rds_ib_link_owed(&end.link));
	end.complete();
	EXPECT_FALSE(rds_ib_link_owed(&end.link));
}

} // namespace
