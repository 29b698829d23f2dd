// SPDX-License-Identifier: GPL-2.0
/* Settings as the kernel is given them: RDS's by the made-up kernel, the others by a UDP socket. */
#include "made_up_kernel.h"

#include <gtest/gtest.h>

namespace
{

using made_up::kernel;
using made_up::raw;
using namespace std::chrono_literals;

struct Settings : testing::Test {
	Settings()
	{
		kernel = {};
		sock = *rds::Socket::open();
		udp = rds::Socket::adopt(::socket(AF_INET, SOCK_DGRAM, 0));
	}
	rds::Socket sock, udp;
};

TEST_F(Settings, OfRds)
{
	EXPECT_TRUE(sock.set_order(rds::Order::half));
	EXPECT_EQ(kernel.options[RDS_ORDER], raw(1));
	EXPECT_EQ(sock.order().value(), rds::Order::half);
	EXPECT_TRUE(sock.set_transport(rds::Transport::tcp));
	EXPECT_EQ(kernel.options[SO_RDS_TRANSPORT], raw(2));
	EXPECT_EQ(sock.transport().value(), rds::Transport::tcp);
	kernel.options[SO_RDS_TRANSPORT] = raw(-1);
	EXPECT_EQ(sock.transport().value(), std::nullopt);
	EXPECT_TRUE(sock.set_recverr(true));
	EXPECT_EQ(kernel.options[RDS_RECVERR], raw(1));
	EXPECT_TRUE(sock.recverr().value());
	EXPECT_TRUE(sock.set_type_of_service(7));
	EXPECT_EQ(sock.type_of_service().value(), 7);
}

TEST_F(Settings, WhetherModulesKnowThem)
{
	EXPECT_TRUE(sock.knows_order().value());
	kernel.refused = {RDS_ORDER};
	EXPECT_FALSE(sock.knows_order().value());
	EXPECT_EQ(sock.set_order(rds::Order::half).error(), std::errc::no_protocol_option);
	sock.close();
	EXPECT_EQ(sock.knows_order().error(), std::errc::bad_file_descriptor);
}

TEST_F(Settings, OfTheCongestionMonitor)
{
	EXPECT_TRUE(sock.monitor_congestion());
	EXPECT_EQ(kernel.options[RDS_CONG_MONITOR], raw(1));
	EXPECT_TRUE(sock.monitor_congestion(false));
	EXPECT_EQ(kernel.options[RDS_CONG_MONITOR], raw(0));
	EXPECT_TRUE(sock.monitor_ports(std::array<std::uint16_t, 4>{0, 63, 64, 4000}));
	EXPECT_EQ(kernel.options[RDS_CONG_MONITOR],
		  raw(1 | std::uint64_t{1} << 63 | std::uint64_t{1} << 4000 % 64));
	EXPECT_TRUE(sock.monitor_ports({}));
	EXPECT_EQ(kernel.options[RDS_CONG_MONITOR], raw(std::uint64_t{0}));
}

TEST_F(Settings, OfLatency)
{
	using rds::Stage;

	EXPECT_TRUE(sock.trace_latency());
	EXPECT_EQ(kernel.options[SO_RDS_MSG_RXPATH_LATENCY], std::string("\3\0\1\2", 4));
	EXPECT_TRUE(sock.trace_latency(std::array{Stage::queued, Stage::reassembly}));
	EXPECT_EQ(kernel.options[SO_RDS_MSG_RXPATH_LATENCY], std::string("\2\2\1\0", 4));
	EXPECT_TRUE(sock.trace_latency({}));
	EXPECT_EQ(kernel.options[SO_RDS_MSG_RXPATH_LATENCY], std::string(4, '\0'));
	const std::array<Stage, 4> four = {};
	EXPECT_EQ(sock.trace_latency(four).error(), std::errc::bad_address);
}

TEST_F(Settings, TimeLimits)
{
	EXPECT_EQ(udp.send_timeout().value(), std::nullopt);
	EXPECT_TRUE(udp.set_send_timeout(1500ms));
	EXPECT_EQ(udp.send_timeout().value(), 1500ms);
	EXPECT_EQ(udp.receive_timeout().value(), std::nullopt);
	EXPECT_TRUE(udp.set_receive_timeout(2s));
	EXPECT_EQ(udp.receive_timeout().value(), 2s);
	EXPECT_TRUE(udp.set_send_timeout(std::nullopt));
	EXPECT_EQ(udp.send_timeout().value(), std::nullopt);
	/* None at all is a microsecond, which the kernel rounds up, not for ever. */
	EXPECT_TRUE(udp.set_send_timeout(0us));
	EXPECT_NE(udp.send_timeout().value(), std::nullopt);
	EXPECT_EQ(udp.set_send_timeout(-1us).error(), std::errc::invalid_argument);
}

TEST_F(Settings, OfAnySocket)
{
	EXPECT_FALSE(udp.nonblocking().value());
	for (const bool on : {true, true, false}) {
		EXPECT_TRUE(udp.set_nonblocking(on));
		EXPECT_EQ(udp.nonblocking().value(), on);
	}
	EXPECT_TRUE(udp.set_send_queue(8192));
	EXPECT_EQ(udp.option<int>(SOL_SOCKET, SO_SNDBUF).value(), 16384);
	EXPECT_TRUE(udp.set_receive_queue(4096));
	EXPECT_EQ(udp.option<int>(SOL_SOCKET, SO_RCVBUF).value(), 8192);
	udp.close();
	EXPECT_EQ(udp.set_nonblocking(true).error(), std::errc::bad_file_descriptor);
	EXPECT_EQ(udp.nonblocking().error(), std::errc::bad_file_descriptor);
	EXPECT_EQ(udp.send_timeout().error(), std::errc::bad_file_descriptor);
}

} // namespace
