// SPDX-License-Identifier: GPL-2.0
/*
 * ib_beat_test.cc: heartbeats.  A host that is there answers, however little it can take; who is
 * asked and does not is told from who could not be asked, or not be heard.
 */
#include <gtest/gtest.h>

#include <cerrno>

#include "ib_fixture.h"

namespace
{

constexpr long kHeader = RDS_HEADER_BYTES;
constexpr size_t kCreditAt = 25, kMarkAt = 26;
constexpr char kAsk = 2, kAnswer = 3;

class IbBeat : public fake_ib::LinkTest
{
protected:
	/* Open, to a peer that answers; the core has said hello. */
	void up(uint32_t credits = 0, bool beats = true)
	{
		end.up(16, 8, credits);
		if (beats)
			rds_ib_link_peer_beats(&end.link);
		ASSERT_EQ(end.xmit({msg(0)}), kHeader);
		end.complete();
	}
	/* Of the empty frames that were posted. */
	std::string marks() const
	{
		std::string all;

		for (const auto &s : end.sent)
			if (s.payload.empty() && s.header[kMarkAt])
				all += static_cast<char>('0' + s.header[kMarkAt]);
		return all;
	}
	static std::string beat(char mark)
	{
		std::string h = fake_header(0, 0);

		h[kMarkAt] = mark;
		return h;
	}
	bool unanswered() const
	{
		return rds_ib_link_unanswered(&end.link);
	}
	/* Asked, and the peer's adapter has it. */
	void ask()
	{
		ASSERT_EQ(rds_ib_link_ask(&end.link), 1);
		end.complete();
	}
};

TEST_F(IbBeat, OneIsOutUntilItIsAnswered)
{
	up();
	EXPECT_EQ(rds_ib_link_ask(&end.link), 1);
	EXPECT_EQ(end.miscounted(), "");
	EXPECT_FALSE(unanswered()) << "it is under way";
	end.complete();
	EXPECT_TRUE(unanswered());
	EXPECT_EQ(rds_ib_link_ask(&end.link), 0);
	end.arrive(beat(0));
	EXPECT_TRUE(unanswered()) << "a keepalive is no answer";
	end.arrive(beat(kAnswer));
	EXPECT_FALSE(unanswered());
	ask();
	EXPECT_EQ(marks(), "22");
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_heartbeat], 2u);
	EXPECT_TRUE(end.drops.empty());
}

TEST_F(IbBeat, APeerThatDoesNotAnswerIsNotAsked)
{
	up(0, false);
	EXPECT_EQ(rds_ib_link_ask(&end.link), 0);
	EXPECT_FALSE(unanswered());
	end.arrive(beat(kAsk));
	EXPECT_EQ(end.asked_of, 0u) << "it cannot mean that";
	EXPECT_EQ(marks(), "");
}

TEST_F(IbBeat, AWorkerAnswers)
{
	up();
	rds_ib_link_answer(&end.link);
	EXPECT_EQ(marks(), "") << "nobody has asked";
	end.arrive(beat(kAsk));
	EXPECT_EQ(marks(), "") << "the worker was not there yet";
	EXPECT_EQ(end.asked_of, 1u);
	rds_ib_link_answer(&end.link);
	EXPECT_EQ(marks(), "3");
	EXPECT_EQ(end.counts[RDS_IB_LINK_rx_heartbeat], 1u);
	end.complete();
	rds_ib_link_answer(&end.link);
	EXPECT_EQ(marks(), "3") << "once";
	end.arrive(beat(kAsk));
	EXPECT_EQ(end.asked_of, 2u);
}

/* Its own frame is still with the adapter, and one at a time goes. */
TEST_F(IbBeat, AnAnswerWithoutRoomGoesLater)
{
	up();
	EXPECT_EQ(rds_ib_link_ask(&end.link), 1);
	end.arrive(beat(kAsk));
	rds_ib_link_answer(&end.link);
	EXPECT_EQ(marks(), "2");
	end.arrive(beat(kAsk));
	EXPECT_EQ(end.asked_of, 1u) << "the worker was there";
	end.complete();
	EXPECT_EQ(marks(), "23");
	end.complete();
	EXPECT_EQ(marks(), "23");
}

/* The last credit is for giving some back; but a host that has none answers all the same. */
TEST_F(IbBeat, AQuestionTakesNotTheLastCredit)
{
	up(3);
	ASSERT_EQ(end.link.credits, 2);
	EXPECT_EQ(rds_ib_link_ask(&end.link), 1);
	end.complete();
	ASSERT_EQ(end.link.credits, 1);
	end.arrive(beat(kAnswer));
	EXPECT_EQ(rds_ib_link_ask(&end.link), 0);
	EXPECT_FALSE(unanswered());
	for (const char *all : {"23", "233"}) {
		end.arrive(beat(kAsk));
		rds_ib_link_answer(&end.link);
		end.complete();
		EXPECT_EQ(marks(), all);
	}
	EXPECT_EQ(end.link.credits, -1);
	/* It gives none back, and asks without end. */
	end.link.credits = -(1 << 24);
	end.arrive(beat(kAsk));
	rds_ib_link_answer(&end.link);
	EXPECT_EQ(marks(), "233");
}

/* Keepalives come and go as without heartbeats. */
TEST_F(IbBeat, IsNoKeepalive)
{
	up();
	rds_ib_link_keepalive(&end.link);
	ask();
	end.arrive(beat(kAsk));
	rds_ib_link_answer(&end.link);
	end.complete();
	EXPECT_EQ(end.link.quiet, 1);
	EXPECT_EQ(end.link.deaf, 1);
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_keepalive], 1u);
	end.arrive(beat(0));
	EXPECT_EQ(end.link.deaf, 0);
}

/* The peer is to have buffers, and has gone perhaps: with nothing to send the adapter would not
 * notice. */
TEST_F(IbBeat, WhereMessagesWaitForBuffersAFrameGoesSoon)
{
	auto doubts = [this] {
		rds_ib_link_doubt(&end.link);
		return end.counts[RDS_IB_LINK_tx_keepalive];
	};

	up(4);
	EXPECT_EQ(doubts(), 0u) << "nothing waits";
	ASSERT_EQ(end.xmit({msg(0), msg(0), msg(0)}), 2 * kHeader);
	ASSERT_EQ(end.link.credits, 1);
	EXPECT_EQ(doubts(), 0u) << "the adapter has something";
	end.complete();
	EXPECT_EQ(doubts(), 1u);
	EXPECT_EQ(doubts(), 1u) << "one at a time";
	EXPECT_EQ(end.link.credits, 0);
	end.complete();
	EXPECT_EQ(doubts(), 2u) << "without a credit";
	end.complete();
	end.arrive(beat(0));
	EXPECT_EQ(doubts(), 2u) << "it speaks";
	EXPECT_EQ(doubts(), 3u);
	end.complete();

	std::string credits = beat(0);

	credits[kCreditAt] = 9;
	end.arrive(credits);
	EXPECT_EQ(doubts(), 3u) << "there are buffers";
	EXPECT_EQ(doubts(), 3u);
}

/* Something has happened to the port. */
TEST_F(IbBeat, AProbeGoesAtOnce)
{
	up(2, false);
	rds_ib_link_probe(&end.link);
	EXPECT_EQ(end.sent.size(), 1u) << "the last credit is not for it";
	end.arrive(beat(0));
	std::string credit = beat(0);

	credit[kCreditAt] = 2;
	end.arrive(credit);
	rds_ib_link_probe(&end.link);
	ASSERT_EQ(end.sent.size(), 2u);
	EXPECT_EQ(marks(), "");
	rds_ib_link_probe(&end.link);
	EXPECT_EQ(end.sent.size(), 2u) << "one is with the adapter";
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_keepalive], 0u);
}

/* A question is heard behind messages that the core has no room for: those before the pause, and
 * those after. */
TEST_F(IbBeat, ASlowReceiverAnswers)
{
	up();
	path.incoming_again = 3;
	end.fill(fake_header(2, 4), "ab");
	end.fill(beat(0));
	end.arrive(beat(kAsk));
	ASSERT_EQ(end.link.paused, 1);
	EXPECT_EQ(end.asked_of, 1u);
	rds_ib_link_answer(&end.link);
	EXPECT_EQ(marks(), "3");
	end.complete();
	end.arrive(fake_header(2, 4), "cd");
	EXPECT_EQ(end.asked_of, 1u);
	end.arrive(beat(kAsk));
	ASSERT_EQ(end.link.paused, 1);
	EXPECT_EQ(end.asked_of, 2u);
	rds_ib_link_answer(&end.link);
	EXPECT_EQ(marks(), "33");
}

/* However often the core is tried in vain, and when the question's turn comes. */
TEST_F(IbBeat, AQuestionIsHeardOnce)
{
	up();
	path.incoming_again = 3;
	end.fill(fake_header(2, 4), "ab");
	end.arrive(beat(kAsk));
	rds_ib_link_answer(&end.link);
	end.complete();
	for (int i = 0; i < 4; i++) {
		rds_ib_link_retry(&end.link);
		EXPECT_EQ(end.asked_of, 1u);
	}
	ASSERT_EQ(end.link.taken, end.link.arrived);
	end.arrive(beat(kAsk));
	EXPECT_EQ(end.asked_of, 2u);
	path.incoming_again = 1;
	end.arrive(fake_header(2, 4), "ab");
	ASSERT_EQ(end.link.paused, 1);
	EXPECT_EQ(end.asked_of, 2u) << "it was taken";
}

/* The core has no memory for the question's own header. */
TEST_F(IbBeat, AQuestionThatIsNotTakenYetIsHeard)
{
	up();
	path.begin_nomem = 1;
	end.arrive(beat(kAsk));
	ASSERT_EQ(end.link.paused, 1);
	EXPECT_EQ(end.asked_of, 1u);
}

/* Over iWARP the caller speaks first.  Once it has, its silence is judged as any other's. */
TEST_F(IbBeat, WhoHasSpokenMayBeSilent)
{
	end.params.hears_first = 1;
	end.up(16, 8);
	end.arrive(fake_header(2, 4), "ab");
	ASSERT_EQ(end.link.state, RDS_IB_LINK_OPEN);
	for (int i = 0; i < 3; i++)
		rds_ib_link_keepalive(&end.link);
	EXPECT_TRUE(end.drops.empty());
}

/* Frames that look like one: with payload, or too short for a header. */
TEST_F(IbBeat, OnlyAnEmptyFrameAsks)
{
	std::string h = fake_header(2, 4);

	up();
	path.incoming_again = 2;
	end.arrive(fake_header(2, 4), "ab");
	ASSERT_EQ(end.link.paused, 1);
	h[kMarkAt] = kAsk;
	end.arrive(h, "cd");
	end.arrive(beat(kAsk).substr(0, 20));
	EXPECT_EQ(end.asked_of, 0u);
}

/* The answer may be in what the core has no room for. */
TEST_F(IbBeat, WhoHasNotLookedAtAllKnowsNothing)
{
	up();
	ask();
	ASSERT_TRUE(unanswered());
	path.incoming_again = 1;
	end.arrive(fake_header(2, 4), "ab");
	ASSERT_EQ(end.link.paused, 1);
	EXPECT_FALSE(unanswered());
	rds_ib_link_retry(&end.link);
	EXPECT_TRUE(unanswered());
}

/* Without memory for buffers the answer waits at the peer's adapter. */
TEST_F(IbBeat, WhoHasNoBufferKnowsNothing)
{
	up();
	ask();
	end.most_buffers = 0;
	while (!end.buffers.empty())
		end.arrive(beat(0));
	EXPECT_FALSE(unanswered());
	end.most_buffers = SIZE_MAX;
	rds_ib_link_settle(&end.link, RDS_ATOMIC);
	EXPECT_TRUE(unanswered());
}

/* An answer is behind the messages that the peer's adapter was given before it.  Empty frames
 * are no such thing: they do not fill a queue. */
TEST_F(IbBeat, ItIsSeenWhetherMessagesCome)
{
	up();
	ask();
	EXPECT_FALSE(rds_ib_link_spoke(&end.link));
	end.arrive(beat(0));
	end.arrive(beat(kAsk));
	EXPECT_FALSE(rds_ib_link_spoke(&end.link));
	end.arrive(fake_header(2 * RDS_IB_FRAME, 4), std::string(RDS_IB_FRAME, 'a'));
	EXPECT_TRUE(unanswered());
	EXPECT_EQ(rds_ib_link_spoke(&end.link), 1);
	EXPECT_FALSE(rds_ib_link_spoke(&end.link)) << "told once";
	end.arrive(fake_header(2 * RDS_IB_FRAME, 4), std::string(RDS_IB_FRAME, 'b'));
	EXPECT_TRUE(rds_ib_link_spoke(&end.link)) << "the rest of it";
}

/* Nothing is said behind END. */
TEST_F(IbBeat, AtTheEndNobodyIsAsked)
{
	up();
	rds_ib_link_peer_ends(&end.link);
	ask();
	rds_ib_link_shutdown(&end.link);
	ASSERT_EQ(marks(), "21");
	EXPECT_FALSE(unanswered());
	end.arrive(beat(kAnswer));
	end.arrive(beat(kAsk));
	rds_ib_link_answer(&end.link);
	end.complete();
	EXPECT_EQ(rds_ib_link_ask(&end.link), 0);
	EXPECT_EQ(marks(), "21");
}

/* Frame numbers go round. */
TEST_F(IbBeat, AQuestionJustBeforeTheCounterWraps)
{
	end.begin = UINT32_MAX;
	up();
	ask();
	EXPECT_TRUE(unanswered());
	end.arrive(beat(kAnswer));
	EXPECT_FALSE(unanswered());
}

} // namespace
