// SPDX-License-Identifier: GPL-2.0
/*
 * ib_link_op_test.cc: operations between a scripted core and an adapter that keeps what is posted:
 * together with their message or not at all, in the ring's room, and told of once.
 */
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <random>

#include "../../include/uapi/linux/rds.h"
#include "ib_fixture.h"

namespace
{

using fake_ib::End;
using fake_ib::message;
using fake_ib::with_op;
using Drops = std::vector<enum rds_drop_reason>;
using Told = std::vector<int>;

constexpr long kHeader = RDS_HEADER_BYTES;
const Told kNone;

class IbLinkOp : public fake_ib::LinkTest
{
protected:
	struct rds_msg *op(uint32_t slots, uint32_t len = 0)
	{
		return with_op(msg(len), slots);
	}
	struct rds_msg *alone(uint32_t slots)
	{
		struct rds_msg *m = op(slots);

		m->op.alone = 1;
		return m;
	}
	void credit(unsigned int n)
	{
		std::string h = fake_header(0, 0);

		h[25] = static_cast<char>(n);
		end.arrive(h);
	}
};

/* ---- beginning ---- */

TEST_F(IbLinkOp, GoesBeforeItsMessage)
{
	struct rds_msg *a = msg(3), *b = op(3, 5000);

	end.up(16, 8);
	EXPECT_EQ(end.xmit({a, b}), 2 * kHeader + 5003);
	EXPECT_EQ(end.story(), ".ooO.s");
	EXPECT_EQ(b->op_told, kNone);
	EXPECT_EQ(end.complete(), 6u);
	EXPECT_EQ(b->op_told, Told{RDS_RDMA_SUCCESS});
	EXPECT_EQ(a->op_told, kNone);
}

TEST_F(IbLinkOp, ACompletionIsAskedForAndStandsForAllBefore)
{
	end.params.max_unsignaled = 4;
	end.up(32, 8);
	end.xmit({msg(0), msg(0), op(1), msg(0), msg(0), msg(0), msg(0)}, 0, true);
	/* Counted from the operation on. */
	EXPECT_EQ(end.story(), "..O...s.");
}

TEST_F(IbLinkOp, OnlyTheFirstFrameIsFenced)
{
	struct rds_msg *a = op(2, 9000), *b = op(1, 9000);

	a->op.fence = 1;
	end.up(32, 8);
	end.xmit({a, b});
	EXPECT_EQ(end.story(), "oO|...O..s");
}

TEST_F(IbLinkOp, AloneThereIsNoFrame)
{
	struct rds_msg *m = alone(2);

	end.up(8, 8);
	EXPECT_EQ(end.xmit({m}), kHeader);
	EXPECT_EQ(end.story(), "oO");
	EXPECT_EQ(end.complete(), 2u);
	EXPECT_EQ(m->op_told, Told{RDS_RDMA_SUCCESS});
	/* The peer has not heard who we are. */
	rds_ib_link_keepalive(&end.link);
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.story(), "oO");
}

TEST_F(IbLinkOp, IsNotBegunAgainInTheMiddleOfItsMessage)
{
	struct rds_msg *m = op(1, 9000);

	end.up(4, 8);
	EXPECT_EQ(end.xmit({m}), kHeader + 8192);
	end.complete();
	EXPECT_EQ(end.xmit({m}, kHeader + 8192), 9000 - 8192);
	EXPECT_EQ(end.story(), "O.ss");
}

TEST_F(IbLinkOp, ThatIsDecidedIsNotDoneAgain)
{
	struct rds_msg *m = op(1, 5);

	m->op_told = {RDS_RDMA_SUCCESS};
	m->op.fence = 1;
	end.up(8, 8);
	EXPECT_EQ(end.xmit({m}), kHeader + 5);
	EXPECT_EQ(end.story(), "s");
}

TEST_F(IbLinkOp, TrafficOfOperationsIsNotQuiet)
{
	end.up(16, 8);
	end.xmit({msg(0)});
	rds_ib_link_keepalive(&end.link);
	end.xmit({alone(1)});
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.story(), "sO");
	rds_ib_link_keepalive(&end.link);
	EXPECT_EQ(end.story(), "sOs");
}

/* ---- room ---- */

TEST_F(IbLinkOp, WaitsForAllItsSlotsAndAFrames)
{
	struct rds_msg *m = op(5);

	end.up(8, 8);
	EXPECT_EQ(end.xmit({msg(0)}), kHeader);
	EXPECT_EQ(end.xmit({msg(0)}), kHeader);
	/* Five, a frame, and one of the link's own: nothing of it fits. */
	EXPECT_EQ(end.xmit({m}), -EAGAIN);
	EXPECT_EQ(end.story(), "ss");
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_ring_full], 1u);
	rds_ib_link_sent(&end.link, 0);
	rds_ib_link_settle(&end.link, RDS_ATOMIC);
	EXPECT_EQ(end.writable, 1u);
	EXPECT_EQ(end.xmit({m}), kHeader);
	EXPECT_EQ(end.story(), "ssooooOs");
}

/* An operation told of room that is not enough comes back at once, for ever. */
TEST_F(IbLinkOp, IsToldOfRoomWhenThereIsEnough)
{
	end.up(8, 8);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(end.xmit({msg(0)}), kHeader);
	EXPECT_EQ(end.xmit({alone(6)}), -EAGAIN);
	for (uint32_t slot = 0; slot < 3; slot++) {
		rds_ib_link_sent(&end.link, slot);
		rds_ib_link_settle(&end.link, RDS_ATOMIC);
		EXPECT_EQ(end.writable, slot >= 1 ? 1u : 0u);
	}
}

/* Nobody asked for a completion of what is out: then the link does. */
TEST_F(IbLinkOp, DoesNotWaitForWhatNobodyHearsOf)
{
	struct rds_msg *m = op(12);

	end.params.max_unsignaled = 16;
	end.up(16, 8);
	EXPECT_EQ(end.xmit({msg(0), msg(0), msg(0), m}, 0, true), 3 * kHeader);
	EXPECT_EQ(end.story(), "...s");
	EXPECT_TRUE(end.sent.back().empty());
	EXPECT_EQ(end.complete(), 4u);
	EXPECT_EQ(end.writable, 1u);
	EXPECT_EQ(end.xmit({m}), kHeader);
}

/* ... as soon as its own frame is back, if that is still on the way. */
TEST_F(IbLinkOp, AsksForACompletionWhenItCan)
{
	end.params.max_unsignaled = 16;
	end.up(16, 8);
	end.xmit({msg(0)});
	rds_ib_link_keepalive(&end.link);
	rds_ib_link_keepalive(&end.link);
	end.xmit({msg(0), msg(0)}, 0, true);
	EXPECT_EQ(end.story(), "ss..");
	EXPECT_EQ(end.xmit({op(13)}), -EAGAIN);
	EXPECT_EQ(end.story(), "ss..");
	EXPECT_EQ(end.complete(), 2u);
	EXPECT_EQ(end.story(), "ss..s");
	EXPECT_EQ(end.writable, 0u);
	EXPECT_EQ(end.complete(), 3u);
	EXPECT_EQ(end.writable, 1u);
}

TEST_F(IbLinkOp, ARingsWorthIsPossible)
{
	struct rds_msg *a = op(14, 2), *b = alone(15);

	end.up(16, 8);
	EXPECT_EQ(end.xmit({a}), kHeader + 2);
	EXPECT_EQ(end.complete(), 15u);
	EXPECT_EQ(end.xmit({b}), kHeader);
	EXPECT_EQ(end.complete(), 15u);
	EXPECT_EQ(a->op_told, Told{RDS_RDMA_SUCCESS});
	EXPECT_EQ(b->op_told, Told{RDS_RDMA_SUCCESS});
}

TEST_F(IbLinkOp, NeedsACreditForItsFrame)
{
	struct rds_msg *m = op(1);

	end.up(16, 8, 2);
	EXPECT_EQ(end.xmit({msg(0)}), kHeader);
	EXPECT_EQ(end.xmit({m}), -EAGAIN);
	EXPECT_EQ(end.story(), "s");
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_throttle], 1u);
	end.complete();
	EXPECT_EQ(end.writable, 0u);
	credit(1);
	EXPECT_EQ(end.writable, 1u);
	EXPECT_EQ(end.xmit({m}), kHeader);
	EXPECT_EQ(end.story(), "sOs");
}

TEST_F(IbLinkOp, AloneNeedsNoCredit)
{
	end.up(8, 8, 2);
	EXPECT_EQ(end.xmit({msg(0)}), kHeader);
	EXPECT_EQ(end.xmit({alone(3)}), kHeader);
	EXPECT_EQ(end.story(), "sooO");
	EXPECT_EQ(end.link.credits, 1);
	/* Nor to be told of room. */
	EXPECT_EQ(end.xmit({alone(5)}), -EAGAIN);
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_throttle], 0u);
	EXPECT_EQ(end.complete(), 4u);
	EXPECT_EQ(end.writable, 1u);
}

/* ---- what cannot be ---- */

class IbLinkOpBig : public IbLinkOp, public testing::WithParamInterface<std::pair<uint32_t, bool>>
{
};

INSTANTIATE_TEST_SUITE_P(Slots, IbLinkOpBig,
			 testing::Values(std::pair(0u, false), std::pair(0u, true),
					 std::pair(15u, false), std::pair(16u, false),
					 std::pair(16u, true), std::pair(17u, true),
					 std::pair(~0u, false), std::pair(~0u, true)));

TEST_P(IbLinkOpBig, FailsAndEverythingElseGoesOn)
{
	auto [slots, is_alone] = GetParam();
	struct rds_msg *m = is_alone ? alone(slots) : op(slots, 7), *behind = op(2);

	end.up(16, 8);
	EXPECT_EQ(end.xmit({msg(0), m, behind}), 3 * kHeader + (is_alone ? 0 : 7));
	EXPECT_EQ(m->op_told, Told{RDS_RDMA_OTHER_ERROR});
	EXPECT_EQ(end.story(), ".oOs");
	EXPECT_EQ(end.complete(), 4u);
	EXPECT_EQ(behind->op_told, Told{RDS_RDMA_SUCCESS});
	EXPECT_TRUE(end.drops.empty());
	rds_ib_link_end(&end.link);
	EXPECT_EQ(m->op_told.size(), 1u);
}

/* ... and the adapter shows by a frame that it works. */
TEST_F(IbLinkOp, ThatTheAdapterDoesNotTakeFailsAlone)
{
	struct rds_msg *m = op(3, 7), *silent = alone(1);

	end.up(16, 8);
	end.op_error = -EINVAL;
	EXPECT_EQ(end.xmit({msg(0), m, msg(5)}), 3 * kHeader + 12);
	EXPECT_EQ(end.story(), ".ss");
	EXPECT_TRUE(end.sent[1].empty());
	EXPECT_EQ(m->op_told, Told{RDS_RDMA_OTHER_ERROR});
	/* One such frame at a time is enough. */
	EXPECT_EQ(end.xmit({silent}), kHeader);
	EXPECT_EQ(silent->op_told, Told{RDS_RDMA_OTHER_ERROR});
	EXPECT_EQ(end.story(), ".ss");
	end.op_error = 0;
	EXPECT_EQ(end.xmit({msg(0)}), kHeader);
	EXPECT_EQ(end.complete(), 4u);
	EXPECT_TRUE(end.drops.empty());
	EXPECT_EQ(end.miscounted(), "");
	rds_ib_link_end(&end.link);
	EXPECT_EQ(m->op_told.size(), 1u);
}

TEST_F(IbLinkOp, ThatIsNotTakenIsNothingToTellThePeerFirst)
{
	end.up(16, 8);
	end.op_error = -EINVAL;
	EXPECT_EQ(end.xmit({op(1, 4), msg(0)}), 2 * kHeader + 4);
	EXPECT_EQ(end.story(), "s");
	EXPECT_FALSE(end.sent[0].empty()) << "a message is the first";
}

TEST_F(IbLinkOp, WhereNoFrameIsTakenEitherItIsTheConnection)
{
	struct rds_msg *m = op(3);

	end.up(16, 8);
	end.xmit({msg(0)});
	end.op_error = -EINVAL;
	end.send_error = -EIO;
	EXPECT_EQ(end.xmit({m}), -ENOTCONN);
	EXPECT_EQ(end.xmit({m}), -ENOTCONN);
	rds_ib_link_end(&end.link);
	EXPECT_EQ(m->op_told, kNone) << "it is done on the next connection";
}

TEST_F(IbLinkOp, ThatBreaksTheConnectionWasNotBegun)
{
	struct rds_msg *m = op(3);

	end.up(16, 8);
	end.op_error = -EIO;
	EXPECT_EQ(end.xmit({msg(0), m}), kHeader) << "the one before has gone";
	EXPECT_EQ(end.drops, Drops{RDS_DROP_SEND});
	EXPECT_EQ(end.xmit({m}), -ENOTCONN);
	rds_ib_link_end(&end.link);
	EXPECT_EQ(m->op_told, kNone) << "it is done on the next connection";
}

TEST_F(IbLinkOp, ThatBreaksTheConnectionAndIsTheFirstIsToldByXmit)
{
	struct rds_msg *m = op(3);

	end.up(16, 8);
	end.op_error = -EIO;
	EXPECT_EQ(end.xmit({m}), -ENOTCONN);
	EXPECT_TRUE(end.drops.empty());
	rds_ib_link_end(&end.link);
	EXPECT_EQ(m->op_told, kNone);
}

/* ---- memory that cannot be mapped now ---- */

TEST_F(IbLinkOp, WaitsForMappings)
{
	struct rds_msg *m = op(3, 7);

	end.up(16, 8);
	end.op_error = -ENOMEM;
	EXPECT_EQ(end.xmit({msg(0), m}), kHeader);
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_ring_full], 0u) << "there is room";
	EXPECT_EQ(m->op_told, kNone);
	EXPECT_TRUE(end.drops.empty());
	rds_ib_link_settle(&end.link, RDS_ATOMIC);
	EXPECT_EQ(end.writable, 1u);
	end.op_error = 0;
	EXPECT_EQ(end.xmit({m}), kHeader + 7);
	EXPECT_EQ(end.story(), ".sooOs");
}

/* The frame of an operation that was begun comes later; the operation does not go twice. */
TEST_F(IbLinkOp, IsKnownToBeBegunWhenItsFrameWaits)
{
	struct rds_msg *m = op(3, 5000), *decided = op(1, 5000);

	m->op.fence = decided->op.fence = 1;
	end.up(32, 8);
	end.send_error = -ENOMEM;
	EXPECT_EQ(end.xmit({m}), 1);
	EXPECT_EQ(end.xmit({m}, 1), -EAGAIN);
	EXPECT_EQ(end.story(), "ooO");
	rds_ib_link_settle(&end.link, RDS_ATOMIC);
	EXPECT_EQ(end.writable, 1u);
	end.send_error = 0;
	EXPECT_EQ(end.xmit({m}, 1), kHeader + 5000 - 1);
	EXPECT_EQ(end.story(), "ooO|.s");
	EXPECT_EQ(end.sent[3].payload.size(), 4096u);
	EXPECT_EQ(end.sent[4].payload.size(), 5000u - 4096);
	end.send_error = -ENOMEM;
	EXPECT_EQ(end.xmit({decided}), 1);
	end.complete();
	EXPECT_EQ(decided->op_told, Told{RDS_RDMA_SUCCESS});
	end.send_error = 0;
	EXPECT_EQ(end.xmit({decided}, 1), kHeader + 5000 - 1);
	EXPECT_EQ(end.story(), "ooO|.sO.s");
	EXPECT_EQ(m->op_told.size(), 1u);
}

TEST_F(IbLinkOp, FramesWaitForMappingsWithWhatTheyCarry)
{
	struct rds_msg *m = msg(9000);

	end.up(16, 8, 6);
	for (int i = 0; i < 3; i++)
		end.arrive(fake_header(0, 0)); /* buffers to give back */

	const auto credits = end.link.credits;

	end.send_error = -ENOMEM;
	end.sends_before = 1;
	EXPECT_EQ(end.xmit({m}), kHeader + 4096);
	EXPECT_EQ(end.xmit({m}, kHeader + 4096), -EAGAIN);
	EXPECT_EQ(end.link.credits, credits - 2) << "one of its own asks for a completion";
	EXPECT_EQ(end.sent[0].credit(), 3u);
	end.arrive(fake_header(0, 0));
	EXPECT_EQ(end.xmit({m}, kHeader + 4096), -EAGAIN);
	EXPECT_EQ(end.counts[RDS_IB_LINK_tx_throttle], 0u);
	EXPECT_GE(end.writable, 1u);
	end.send_error = 0;
	EXPECT_EQ(end.xmit({m}, kHeader + 4096), 9000 - 4096);
	EXPECT_EQ(end.sent.back().credit() + end.sent[end.sent.size() - 2].credit(), 1u);
	EXPECT_EQ(end.miscounted(), "");
}

/* A header that does not go is not the last that the core says of acks. */
TEST_F(IbLinkOp, WhatDoesNotGoLeavesItsAckToTheNextFrame)
{
	for (int refuse : {0, -EINVAL}) {
		struct rds_msg *m = alone(1);

		m->header[15] = 42;
		end.sent.clear();
		end.up(16, 8);
		end.xmit({msg(0)});
		end.complete();
		end.op_error = refuse;
		end.xmit({m});
		end.op_error = 0;
		rds_ib_link_keepalive(&end.link);
		rds_ib_link_keepalive(&end.link);
		EXPECT_EQ(end.sent.back().ack(), 42u);
		rds_ib_link_end(&end.link);
	}
}

/* The core knows that it was begun: else it would tell a program that cancels it that it was not.
 */
TEST_F(IbLinkOp, WhoseFrameTheAdapterRefusesIsDropped)
{
	struct rds_msg *m = op(3, 5);

	end.up(16, 8);
	end.send_error = -EIO;
	EXPECT_EQ(end.xmit({m, msg(0)}), 1);
	EXPECT_EQ(end.story(), "ooO");
	EXPECT_EQ(end.drops, Drops{RDS_DROP_SEND});
	EXPECT_EQ(end.xmit({m}, 1), -ENOTCONN);
	EXPECT_EQ(m->op_told, kNone) << "it may still be done";
	rds_ib_link_end(&end.link);
	EXPECT_EQ(m->op_told, Told{RDS_RDMA_DROPPED});
}

/* ---- how it ended ---- */

TEST_F(IbLinkOp, IsDroppedWithItsConnection)
{
	struct rds_msg *a = op(2), *b = op(2), *c = alone(1);

	end.up(16, 8);
	end.xmit({a, b, c});
	rds_ib_link_sent(&end.link, 1);
	EXPECT_EQ(a->op_told, Told{RDS_RDMA_SUCCESS});
	rds_ib_link_broken(&end.link, RDS_DROP_ERROR);
	EXPECT_EQ(b->op_told, kNone) << "it may still be done";
	rds_ib_link_end(&end.link);
	EXPECT_EQ(a->op_told, Told{RDS_RDMA_SUCCESS});
	EXPECT_EQ(b->op_told, Told{RDS_RDMA_DROPPED});
	EXPECT_EQ(c->op_told, Told{RDS_RDMA_DROPPED});
	EXPECT_TRUE(end.out.empty());
}

/* At each of their slots: done before it, failed there, dropped behind it. */
TEST_F(IbLinkOp, AFailureNamesOne)
{
	for (uint32_t slot = 0; slot < 7; slot++) {
		struct rds_msg *a = op(2), *b = op(2), *c = alone(1);
		const uint32_t first = slot + 5; /* round the ring, too */
		auto told = [slot](uint32_t from, uint32_t to) {
			return Told{slot > to	  ? RDS_RDMA_SUCCESS
				    : slot < from ? RDS_RDMA_DROPPED
						  : RDS_RDMA_REMOTE_ERROR};
		};

		end.sent.clear();
		end.up(16, 8);
		for (uint32_t i = 0; i < first; i++) {
			end.xmit({msg(0)});
			end.complete();
		}
		EXPECT_EQ(end.xmit({a, b, c}), 3 * kHeader); /* oO.oO.O */
		rds_ib_link_failed(&end.link, (first + slot) % 16, RDS_RDMA_REMOTE_ERROR);
		EXPECT_EQ(end.link.failed, 1);
		EXPECT_EQ(end.miscounted(), slot ? end.miscounted() : "");
		EXPECT_EQ(end.out.size(), 7 - slot) << "the rest may still be looked at";
		/* All others are flushed, whatever the hardware side makes of that. */
		rds_ib_link_failed(&end.link, (first + 6) % 16, RDS_RDMA_OTHER_ERROR);
		rds_ib_link_broken(&end.link, RDS_DROP_ERROR);
		rds_ib_link_end(&end.link);
		EXPECT_TRUE(end.out.empty());
		EXPECT_EQ(a->op_told, told(0, 1)) << slot;
		EXPECT_EQ(b->op_told, told(3, 4)) << slot;
		EXPECT_EQ(c->op_told, told(6, 6)) << slot;
	}
}

TEST_F(IbLinkOp, AFailureOfNothingIsNone)
{
	struct rds_msg *m = op(2);

	end.up(8, 8);
	rds_ib_link_failed(&end.link, 0, RDS_RDMA_REMOTE_ERROR);
	end.xmit({m});
	rds_ib_link_failed(&end.link, 3, RDS_RDMA_REMOTE_ERROR);
	EXPECT_EQ(end.out.size(), 3u);
	EXPECT_EQ(m->op_told, kNone);
	/* That of something is not the second. */
	rds_ib_link_failed(&end.link, 0, RDS_RDMA_REMOTE_ERROR);
	EXPECT_EQ(m->op_told, Told{RDS_RDMA_REMOTE_ERROR});
	rds_ib_link_end(&end.link);
}

TEST_F(IbLinkOp, NothingIsLeftOfAFailureOnTheNextConnection)
{
	struct rds_msg *a = op(2), *b = op(2);

	end.up(8, 8);
	end.xmit({a});
	rds_ib_link_failed(&end.link, 0, RDS_RDMA_OTHER_ERROR);
	rds_ib_link_end(&end.link);
	end.sent.clear();
	end.up(8, 8);
	end.xmit({b});
	end.complete();
	EXPECT_EQ(a->op_told, Told{RDS_RDMA_OTHER_ERROR});
	EXPECT_EQ(b->op_told, Told{RDS_RDMA_SUCCESS});
}

/* ---- at random ---- */

/* Messages with and without operations, in any ring, with credits and without, and an end at any
 * time: all get out that can, every operation is told of once, and in order. */
struct Random {
	explicit Random(unsigned int seed) : rng(seed)
	{
		fake_path = &path;
		path.skip_port = 0;
		ring = 4u << below(4);
		end.params.max_unsignaled = below(20);
		for (uint32_t n = 100; n; n--) {
			all.emplace_back(message(below(3) ? below(300) : below(20000), 2));
			if (below(2))
				continue;
			with_op(all.back().get(), 1 + below(ring - 2));
			all.back()->op.alone = !below(3);
		}
		end.up(ring, 8, below(2) ? 2 + below(8) : 0);
	}
	uint32_t below(uint32_t n)
	{
		return rng() % n;
	}
	uint32_t size() const
	{
		return all[at]->len + RDS_HEADER_BYTES;
	}
	void send()
	{
		std::vector<struct rds_msg *> batch;

		for (size_t k = at; k < all.size() && batch.size() < 1 + below(4); k++)
			batch.push_back(all[k].get());

		end.op_error = below(8) ? 0 : below(2) ? -ENOMEM : -EINVAL;
		end.send_error = below(8) ? 0 : -ENOMEM;
		end.sends_before = below(3);

		long n = end.xmit(batch, off, at + batch.size() < all.size());

		end.op_error = end.send_error = 0;
		end.sends_before = 0;
		blocked = n == -EAGAIN;
		for (off += n > 0 ? static_cast<uint32_t>(n) : 0; at < all.size() && off >= size();
		     at++)
			off -= size();
		blocked |= off > 0;
	}
	void come_back()
	{
		size_t last = below(static_cast<uint32_t>(end.out.size()));

		while (last && !end.out[last].signaled())
			last--;
		if (end.out[last].signaled())
			rds_ib_link_sent(&end.link, end.out[last].slot);
		for (; gone < end.sent.size() - end.out.size(); gone++)
			owed += !end.sent[gone].op;
	}
	void step()
	{
		if (at < all.size() && (!blocked || end.writable)) {
			end.writable = 0;
			send();
		}
		if (!end.out.empty())
			come_back();
		if (end.link.p.flow && owed && below(2)) {
			std::string h = fake_header(0, 0);

			h[25] = static_cast<char>(owed);
			owed = 0;
			end.fill(h);
		}
		rds_ib_link_settle(&end.link, RDS_ATOMIC);
		if (!below(30))
			rds_ib_link_keepalive(&end.link);
	}

	std::mt19937 rng;
	struct rds_path path;
	std::vector<std::unique_ptr<struct rds_msg>> all;
	End end{&path};
	uint32_t ring, off = 0;
	size_t at = 0, gone = 0;
	unsigned int owed = 0; /* credits */
	bool blocked = false;
};

TEST(IbLinkOpRandom, EveryOneIsToldOfOnceInOrder)
{
	for (unsigned int seed = 1; seed <= 300; seed++) {
		Random r(seed);
		const int until = seed % 3 ? 20000 : static_cast<int>(r.below(100));
		int worst = 0;

		for (int n = 0; n < until && (r.at < r.all.size() || !r.end.out.empty()); n++) {
			r.step();
			ASSERT_EQ(r.end.miscounted(), "") << "seed " << seed;
		}
		if (seed % 3) {
			ASSERT_EQ(r.at, r.all.size()) << "stuck, seed " << seed;
		}
		if (seed % 2 && !r.end.out.empty())
			rds_ib_link_failed(&r.end.link, r.end.out.front().slot,
					   RDS_RDMA_REMOTE_ERROR);
		rds_ib_link_end(&r.end.link);
		for (size_t k = 0; k < r.all.size(); k++) {
			const auto &m = *r.all[k];
			const bool begun = m.has_op && (k < r.at || (k == r.at && r.off));

			ASSERT_EQ(m.op_told.size(), begun ? 1u : 0u) << "seed " << seed;
			ASSERT_EQ(m.refs, 1u) << "seed " << seed;
			if (begun && m.op_told[0] != RDS_RDMA_OTHER_ERROR) {
				ASSERT_GE(m.op_told[0], worst) << "seed " << seed;
				worst = m.op_told[0];
			}
		}
	}
}

} // namespace
