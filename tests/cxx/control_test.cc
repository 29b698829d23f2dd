// SPDX-License-Identifier: GPL-2.0
/* Control messages become events, and numbers are those of <linux/rds.h>. No socket is made. */
#include "made_up_kernel.h"

#include <gtest/gtest.h>

namespace
{

using made_up::control;
using made_up::raw;
using namespace std::chrono_literals;

const std::string many(8, '\xff');

std::vector<rds::Event> told(const std::string &control)
{
	std::vector<rds::Event> found;

	for (const rds::Event &one : rds::Events(made_up::bytes(control)))
		found.push_back(one);
	return found;
}

template <class E>
void tells(int type, const std::string &payload, const E &wanted)
{
	const auto found = told(control(type, payload));

	ASSERT_EQ(found.size(), 1u);
	ASSERT_TRUE(std::holds_alternative<E>(found[0]));
	EXPECT_EQ(std::get<E>(found[0]), wanted);
	if (type == RDS_CMSG_ZCOPY_COMPLETION)
		return; /* as many cookies as it says are enough */
	for (std::size_t size = 0; size < payload.size(); size++)
		EXPECT_EQ(told(control(type, payload.substr(0, size))).size(), 0u) << size;
}

TEST(Events, EachIsDecodedAndNoneIsMadeUpOfOneCutShort)
{
	tells(RDS_CMSG_CONG_UPDATE, raw(std::uint64_t{5}), rds::CongestionEnded{5});
	tells(RDS_CMSG_RDMA_STATUS, raw(std::uint64_t{77}, std::int32_t{-1}, 0),
	      rds::RdmaDone{77, -1});
	tells(RDS_CMSG_ZCOPY_COMPLETION, raw(2, 40, 50, 0, 0, 0, 0, 0, 0),
	      rds::ZeroCopyDone{{40, 50}, 2});
	tells(RDS_CMSG_ZCOPY_COMPLETION, raw(2, 40, 50), rds::ZeroCopyDone{{40, 50}, 2});
	EXPECT_EQ(told(control(RDS_CMSG_ZCOPY_COMPLETION, raw(2, 40))).size(), 0u);
	EXPECT_EQ(told(control(RDS_CMSG_ZCOPY_COMPLETION, "abc")).size(), 0u);
	EXPECT_EQ(told(control(RDS_CMSG_ZCOPY_COMPLETION, raw(9) + std::string(40, 'x'))).size(),
		  0u);
}

TEST(Events, OnesThatAreNotKnownArePassedOver)
{
	const auto ended = control(RDS_CMSG_CONG_UPDATE, raw(std::uint64_t{1}));

	EXPECT_TRUE(told("").empty());
	EXPECT_TRUE(told(control(999, many)).empty());
	EXPECT_TRUE(told(control(RDS_CMSG_CONG_UPDATE, many, SOL_SOCKET)).empty());
	EXPECT_TRUE(rds::Events().empty());
	EXPECT_EQ(told(control(999, "x") + ended + control(1, "abc", SOL_SOCKET) + ended).size(),
		  2u);
	EXPECT_FALSE(rds::Events(made_up::bytes(control(999, "x") + ended)).empty());
}

TEST(Events, EndWhereALengthMakesNoSense)
{
	const auto ended = control(RDS_CMSG_CONG_UPDATE, many);

	for (const std::size_t length :
	     {std::size_t{0}, std::size_t{CMSG_LEN(0) - 1}, ended.size() + 1, ~std::size_t{0}}) {
		auto wrong = ended;
		std::memcpy(wrong.data(), &length, sizeof(length));
		EXPECT_TRUE(told(wrong).empty()) << length;
		EXPECT_EQ(told(ended + wrong).size(), 1u) << length;
	}
	EXPECT_EQ(told(ended + ended.substr(0, sizeof(cmsghdr) - 1)).size(), 1u);
	/* The last one need not be followed by what makes its length even. */
	const auto odd = control(RDS_CMSG_ZCOPY_COMPLETION, raw(1, 2, 3)).substr(0, CMSG_LEN(12));
	EXPECT_EQ(told(odd).size(), 1u);
}

TEST(Events, CongestionEndedForAPort)
{
	const rds::CongestionEnded ended{std::uint64_t{1} << 32};

	for (const std::uint16_t port : {31, 32, 33, 96, 160})
		EXPECT_EQ(ended.includes(port), port % 64 == 32) << port;
	EXPECT_EQ(rds::congestion_bit(65535), std::uint64_t{1} << 63);
	for (const unsigned port : {0, 63, 64, 4000, 65535})
		EXPECT_EQ(rds::congestion_bit(static_cast<std::uint16_t>(port)),
			  RDS_CONG_MONITOR_MASK(port));

	const auto both = control(RDS_CMSG_RDMA_STATUS, raw(std::uint64_t{1}, 0, 0)) +
			  control(RDS_CMSG_CONG_UPDATE, raw(ended.mask));
	EXPECT_TRUE(rds::Events(made_up::bytes(both)).congestion_ended(96));
	EXPECT_FALSE(rds::Events(made_up::bytes(both)).congestion_ended(97));
}

TEST(Messages, AreDescribed)
{
	std::array<rds::Message, 2> two;
	const auto spent = [](std::uint64_t time) {
		return control(RDS_CMSG_RXPATH_LATENCY,
			       raw(std::uint32_t{0x00000202}, std::uint32_t{0}, time, time + 1,
				   std::uint64_t{0}));
	};
	const auto said = control(RDS_CMSG_RDMA_DEST, raw(std::uint64_t{77})) + spent(900) +
			  spent(7) + spent(8);

	rds::detail::describe(two, made_up::bytes(said));
	EXPECT_EQ(two[0].rdma_cookie, 77u);
	EXPECT_FALSE(two[1].rdma_cookie);
	const rds::Latency first = {
		{{{rds::Stage::queued, 900ns}, {rds::Stage::header_to_data, 901ns}, {}}}, 2};
	EXPECT_EQ(two[0].latency, first);
	ASSERT_TRUE(two[1].latency);
	EXPECT_EQ(two[1].latency->spent[0].time, 7ns);
	/* Four stages there are not; a short one is none. */
	two[0].latency = first;
	rds::detail::describe(two, made_up::bytes(control(RDS_CMSG_RXPATH_LATENCY,
							  "\4" + many + many + many + many)));
	EXPECT_FALSE(two[0].latency);
	rds::detail::describe(two, made_up::bytes(control(RDS_CMSG_RXPATH_LATENCY, many)));
	EXPECT_FALSE(two[0].latency);
	rds::detail::describe({}, made_up::bytes(said));
}

} // namespace
