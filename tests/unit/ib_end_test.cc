// SPDX-License-Identifier: GPL-2.0
/*
 * ib_end_test.cc: links that end in order: END goes behind everything, nothing after it, and both
 * ends hear each other's.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "ib_fixture.h"

namespace
{

using fake_ib::End;
using fake_ib::with_op;
using Drops = std::vector<enum rds_drop_reason>;

constexpr long kHeader = RDS_HEADER_BYTES;
constexpr size_t kMarkAt = 26;

class IbEnd : public fake_ib::LinkTest
{
protected:
	/* Open, to a peer that ends in order as well; the core has said hello. */
	void up(uint32_t ring = 16, uint32_t credits = 0)
	{
		end.up(ring, 8, credits);
		rds_ib_link_peer_ends(&end.link);
		ASSERT_EQ(end.xmit({msg(0)}), kHeader);
		end.complete();
		begin_ = end.sent.size();
	}
	/* Posted since. */
	std::vector<fake_ib::Sent> said() const
	{
		return {end.sent.begin() + static_cast<long>(begin_), end.sent.end()};
	}
	static bool is_end(const fake_ib::Sent &s)
	{
		return s.payload.empty() && s.header[kMarkAt] == 1;
	}
	/* The peer's. */
	void arrive_end()
	{
		std::string h = fake_header(0, 0);

		h[kMarkAt] = 1;
		end.arrive(h);
	}

private:
	size_t begin_ = 0;
};

TEST_F(IbEnd, OursGoesAndThePeersAnswersIt)
{
	up();
	EXPECT_FALSE(rds_ib_link_midway(&end.link));
	rds_ib_link_shutdown(&end.link);
	ASSERT_EQ(said().size(), 1u);
	EXPECT_TRUE(is_end(said()[0]));
	EXPECT_EQ(end.story(), "s|s") << "behind what is read, and with a completion";
	end.complete();
	EXPECT_EQ(end.drained, 0u) << "the peer has not answered";
	EXPECT_TRUE(end.drops.empty());
	arrive_end();
	EXPECT_EQ(end.drained, 1u);
	rds_ib_link_broken(&end.link, RDS_DROP_ERROR); /* it goes, when it has heard us */
	EXPECT_TRUE(end.drops.empty());
}

TEST_F(IbEnd, ThePeersIsAnsweredAndThenItHasClosed)
{
	up();
	arrive_end();
	ASSERT_EQ(said().size(), 1u);
	EXPECT_TRUE(is_end(said()[0]));
	EXPECT_TRUE(end.drops.empty()) << "the peer has not heard us to our end";
	end.complete();
	EXPECT_EQ(end.drops, Drops{RDS_DROP_PEER_CLOSED});
	rds_ib_link_broken(&end.link, RDS_DROP_ERROR); /* the peer goes */
	EXPECT_EQ(end.drops.size(), 1u);
	EXPECT_EQ(end.drained, 0u);
}

/* The queue pair may go while our answer is with the adapter. */
TEST_F(IbEnd, AnAnswerThatDoesNotArriveIsAnError)
{
	up();
	arrive_end();
	rds_ib_link_broken(&end.link, RDS_DROP_ERROR);
	EXPECT_EQ(end.drops, Drops{RDS_DROP_ERROR});
}

TEST_F(IbEnd, BothAtOnceHearEachOther)
{
	up();
	rds_ib_link_shutdown(&end.link);
	arrive_end();
	EXPECT_EQ(end.drained, 1u);
	end.complete();
	EXPECT_TRUE(end.drops.empty());
	EXPECT_EQ(said().size(), 1u);
}

/* The core looks for idle paths while the peer's end is being answered. */
TEST_F(IbEnd, OneThatIsBeingAnsweredIsOurOwnAsWell)
{
	up();
	arrive_end();
	rds_ib_link_shutdown(&end.link);
	EXPECT_EQ(said().size(), 1u);
	EXPECT_TRUE(end.drops.empty());
	end.complete();
	EXPECT_EQ(end.drops, Drops{RDS_DROP_PEER_CLOSED});
}

/* The core sends it on another connection. */
TEST_F(IbEnd, NoMessageGoesAfterThePeers)
{
	up();
	arrive_end();
	EXPECT_EQ(end.xmit({msg(0)}), -EAGAIN);
	EXPECT_EQ(said().size(), 1u);
	rds_ib_link_settle(&end.link, RDS_ATOMIC);
	EXPECT_EQ(end.writable, 0u) << "there is room, and not for messages";
}

TEST_F(IbEnd, OperationsComeBeforeTheAnswer)
{
	struct rds_msg *m = with_op(msg(0), 2);

	m->op.alone = 1;
	up();
	ASSERT_EQ(end.xmit({m}), kHeader);
	arrive_end();
	EXPECT_EQ(end.story(), "soO|s");
	end.complete();
	EXPECT_EQ(m->op_told, std::vector<int>{0});
	EXPECT_EQ(end.drops, Drops{RDS_DROP_PEER_CLOSED});
}

TEST_F(IbEnd, AFullRingAnswersWhenItHasRoom)
{
	up(4);
	ASSERT_EQ(end.xmit({msg(0), msg(0), msg(0)}), 3 * kHeader);
	rds_ib_link_keepalive(&end.link);
	rds_ib_link_keepalive(&end.link);
	ASSERT_EQ(said().size(), 4u);
	arrive_end();
	EXPECT_EQ(said().size(), 4u);
	EXPECT_TRUE(end.drops.empty());
	end.complete();
	ASSERT_EQ(said().size(), 5u);
	EXPECT_TRUE(is_end(said()[4]));
}

/* It would not know who we are. */
TEST_F(IbEnd, NobodyEndsBeforeHello)
{
	end.up(16, 8);
	rds_ib_link_peer_ends(&end.link);
	arrive_end();
	EXPECT_TRUE(end.sent.empty());
	EXPECT_EQ(end.drops, Drops{RDS_DROP_ERROR});
}

TEST_F(IbEnd, NothingIsSaidAfterOurs)
{
	up();
	rds_ib_link_shutdown(&end.link);
	end.complete();
	rds_ib_link_keepalive(&end.link);
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(said().size(), 1u);
}

TEST_F(IbEnd, NothingIsHeardAfterThePeers)
{
	up();
	arrive_end();
	end.arrive(fake_header(3, 5), "abc");
	EXPECT_TRUE(path.taken.empty());
}

/* A part of what the peer began is missing. */
TEST_F(IbEnd, InTheMidstOfAMessageItIsNone)
{
	up();
	end.arrive(fake_header(5000, 3), fake_ib::pattern(4096, 3));
	EXPECT_TRUE(rds_ib_link_midway(&end.link));
	arrive_end();
	EXPECT_EQ(end.drops, Drops{RDS_DROP_PROTOCOL});
	EXPECT_EQ(end.counts[RDS_IB_LINK_rx_bad_frame], 1u);
}

/* The peer would miss the rest of the message. */
TEST_F(IbEnd, APeerIsNotAnsweredInTheMidstOfOurs)
{
	up(4);
	ASSERT_LT(end.xmit({msg(5 * RDS_IB_FRAME)}), 5l * RDS_IB_FRAME + kHeader);
	end.complete();

	const size_t before = said().size();

	arrive_end();
	EXPECT_EQ(said().size(), before);
	EXPECT_EQ(end.drops, Drops{RDS_DROP_ERROR});
}

TEST_F(IbEnd, AWholeMessageIsNoPartOfOne)
{
	up(4);
	struct rds_msg *m = msg(5 * RDS_IB_FRAME);
	long n = 0;

	while (n < 5l * RDS_IB_FRAME + kHeader) {
		n += std::max(end.xmit({m}, static_cast<uint32_t>(n)), 0l);
		end.complete();
	}
	arrive_end();
	EXPECT_TRUE(is_end(said().back()));
}

/* Of a message for which there was no room nothing has to follow. */
TEST_F(IbEnd, NorIsOneOfWhichNothingHasGone)
{
	up(4);
	ASSERT_EQ(end.xmit({msg(0), msg(0), msg(0), msg(0)}), 3 * kHeader);
	ASSERT_LT(end.xmit({msg(0)}), 0);
	end.complete();
	arrive_end();
	EXPECT_TRUE(is_end(said().back()));
}

TEST_F(IbEnd, AnOperationIsWaitedFor)
{
	struct rds_msg *m = with_op(msg(0), 2);

	m->op.alone = 1;
	up();
	ASSERT_EQ(end.xmit({m}), kHeader);
	EXPECT_TRUE(rds_ib_link_midway(&end.link));
	end.complete();
	EXPECT_FALSE(rds_ib_link_midway(&end.link));
}

TEST_F(IbEnd, WhatCameAndWasNotTakenIsWaitedFor)
{
	up();
	end.fill(fake_header(0, 0));
	EXPECT_TRUE(rds_ib_link_midway(&end.link));
	rds_ib_link_settle(&end.link, RDS_ATOMIC);
	EXPECT_FALSE(rds_ib_link_midway(&end.link));
}

TEST_F(IbEnd, APeerThatDoesNotKnowItIsLeftAtOnce)
{
	end.up(16, 8);
	EXPECT_TRUE(rds_ib_link_midway(&end.link)) << "it does not end because it is idle";
	ASSERT_EQ(end.xmit({msg(0)}), kHeader);
	rds_ib_link_shutdown(&end.link);
	EXPECT_EQ(end.sent.size(), 1u);
	EXPECT_EQ(end.drained, 1u);
	EXPECT_TRUE(end.drops.empty());
}

TEST_F(IbEnd, TheMarkOfOneThatDoesNotSaySoMeansNothing)
{
	end.up(16, 8);
	arrive_end();
	EXPECT_TRUE(end.drops.empty());
	end.arrive(fake_header(3, 5), "abc");
	EXPECT_EQ(path.taken.size(), 1u);
}

/* Over iWARP a frame without a buffer ends the connection. */
TEST_F(IbEnd, WithoutACreditItIsNone)
{
	up(16, 3);
	end.link.credits = 0;
	rds_ib_link_shutdown(&end.link);
	EXPECT_TRUE(said().empty());
	EXPECT_EQ(end.drops, Drops{RDS_DROP_SEND});
	EXPECT_EQ(end.drained, 0u);
}

TEST_F(IbEnd, NorIsAnAnswer)
{
	up(16, 3);
	end.link.credits = 0;
	arrive_end();
	EXPECT_TRUE(said().empty());
	EXPECT_EQ(end.drops, Drops{RDS_DROP_ERROR});
}

TEST_F(IbEnd, TheLastCreditIsGoodForIt)
{
	up(16, 3);
	end.link.credits = 1;
	rds_ib_link_shutdown(&end.link);
	ASSERT_EQ(said().size(), 1u);
	EXPECT_TRUE(is_end(said()[0]));
}

TEST_F(IbEnd, AFullRingHasNoRoomForIt)
{
	up(4);
	ASSERT_EQ(end.xmit({msg(0), msg(0), msg(0)}), 3 * kHeader);
	rds_ib_link_keepalive(&end.link);
	rds_ib_link_keepalive(&end.link);
	ASSERT_EQ(said().size(), 4u) << "the last slot is for what the link has to say";
	EXPECT_FALSE(is_end(said()[3])) << "which is no end";
	rds_ib_link_shutdown(&end.link);
	EXPECT_EQ(said().size(), 4u);
	EXPECT_EQ(end.drops, Drops{RDS_DROP_SEND});
}

TEST_F(IbEnd, ANewConnectionHasNotEnded)
{
	up();
	rds_ib_link_shutdown(&end.link);
	rds_ib_link_end(&end.link);
	end.sent.clear();
	up();
	rds_ib_link_keepalive(&end.link);
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(said().size(), 1u);
}

/* Until then rdma_cm's word of the peer is not the end. */
TEST_F(IbEnd, ItIsAtItUntilTheAdapterTellsOfTheAnswer)
{
	up();
	EXPECT_FALSE(rds_ib_link_ending(&end.link));
	arrive_end();
	EXPECT_TRUE(rds_ib_link_ending(&end.link));
	end.complete();
	EXPECT_FALSE(rds_ib_link_ending(&end.link));
	EXPECT_EQ(end.drops, Drops{RDS_DROP_PEER_CLOSED});
}

TEST_F(IbEnd, ItIsAtItUntilThePeersHasCome)
{
	up();
	rds_ib_link_shutdown(&end.link);
	EXPECT_TRUE(rds_ib_link_ending(&end.link));
	arrive_end();
	EXPECT_FALSE(rds_ib_link_ending(&end.link));
	EXPECT_EQ(end.drained, 1u);
}

} // namespace
