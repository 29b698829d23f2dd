// SPDX-License-Identifier: GPL-2.0
/*
 * ib_frame_test.cc: frames are as large as both hosts' buffers, and each host says what its own
 * are.
 */
#include <gtest/gtest.h>

#include "ib_fixture.h"

namespace
{

constexpr uint32_t kFrame = RDS_IB_FRAME;

class IbFrame : public fake_ib::LinkTest
{
protected:
	/* Our buffers have @ours, the peer's @theirs. */
	void up(unsigned int ours, unsigned int theirs)
	{
		end.params.order = static_cast<uint8_t>(ours);
		end.up(16, 16);
		rds_ib_link_peer_order(&end.link, theirs);
	}
	std::vector<size_t> sent() const
	{
		std::vector<size_t> all;

		for (const auto &s : end.sent)
			all.push_back(s.payload.size());
		return all;
	}
	/* A message of @len whose first frame has @first bytes: is that one? */
	bool takes(uint32_t len, uint32_t first)
	{
		end.arrive(fake_header(len, 3), std::string(first, 'x'));
		return end.link.state == RDS_IB_LINK_OPEN;
	}
};

struct Orders {
	unsigned int ours, theirs, both;
};

class IbFrameOrders : public IbFrame, public testing::WithParamInterface<Orders>
{
protected:
	const uint32_t frame = kFrame << GetParam().both;

	void up()
	{
		IbFrame::up(GetParam().ours, GetParam().theirs);
	}
};

TEST_P(IbFrameOrders, AMessageGoesInFramesThatBothHaveBuffersFor)
{
	up();

	struct rds_msg *m = msg(2 * frame + 7);

	ASSERT_EQ(end.xmit({m}), 2 * frame + 7 + RDS_HEADER_BYTES);
	EXPECT_EQ(sent(), (std::vector<size_t>{frame, frame, 7}));
	EXPECT_EQ(end.sent[0].payload + end.sent[1].payload + end.sent[2].payload,
		  m->payload.bytes);
	EXPECT_EQ(end.miscounted(), "");
}

TEST_P(IbFrameOrders, AFullFrameIsExactlyThatLong)
{
	up();
	EXPECT_TRUE(takes(frame, frame));
	EXPECT_TRUE(takes(frame + 1, frame));
	EXPECT_TRUE(takes(frame + 1, 1));
	ASSERT_EQ(path.taken.size(), 2u);
	EXPECT_EQ(path.taken[1].second.size(), frame + 1);
}

TEST_P(IbFrameOrders, AnyOtherEndsTheConnection)
{
	for (uint32_t wrong : {frame - 1, frame + 1, frame / 2, 2 * frame}) {
		up();
		EXPECT_FALSE(takes(2 * frame, wrong)) << wrong;
		rds_ib_link_end(&end.link);
	}
	EXPECT_EQ(path.taken.size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, IbFrameOrders,
			 testing::Values(Orders{0, 0, 0}, Orders{0, 2, 0}, Orders{2, 0, 0},
					 Orders{1, 2, 1}, Orders{2, 1, 1}, Orders{2, 2, 2}),
			 [](const auto &info) {
				 return "Ours" + std::to_string(info.param.ours) + "Theirs" +
					std::to_string(info.param.theirs);
			 });

TEST_F(IbFrame, AConnectionSaysNothingOfTheNext)
{
	up(2, 2);
	rds_ib_link_end(&end.link);
	up(2, 0);
	EXPECT_EQ(end.link.frame, kFrame);
	rds_ib_link_end(&end.link);
	up(1, 2);
	EXPECT_EQ(end.link.frame, 2 * kFrame);
}

} // namespace
