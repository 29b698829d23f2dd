// SPDX-License-Identifier: GPL-2.0
/*
 * Peers of mainline's, which cannot be refused: one of them floods a socket that does not read, and
 * the others send it a message now and then.  Their paths go on, for each has a share of what the
 * socket takes beyond its limit (net/rds/peer_shares.h); when it reads, all comes once, in order.
 */
#include <memory>

#include <gtest/gtest.h>

#include "mainline.h"
#include "net/rds/socket/socket.h"
#include "stream.h"
#include "traffic.h"
#include "transports/loop/loop.h"

namespace
{

constexpr uint64_t kMs = 1000 * 1000, kSecond = 1000 * kMs;
constexpr uint16_t kStopped = 2000, kReading = 2001;
constexpr uint32_t kSpill = 256 * 1024;
constexpr unsigned int kFlood = 1500, kOthers = 6, kOwn = 20;

/* A host of ours with two sockets, and peers whose addresses are smaller or larger. */
class SpillShares : public ::testing::TestWithParam<uint64_t>
{
protected:
	void SetUp() override
	{
		sim::reset({.seed = GetParam(), .preempt_per_1000 = GetParam() % 2 ? 100u : 0u});
		stream::reset();
		ASSERT_EQ(rds_core_init(), 0);
		loop_ = rds_loop_init(&loop_module_);
		ASSERT_EQ(rds_transport_register(loop_), 0);
		ASSERT_EQ(rds_transport_register(stream::ops()), 0);
		net = std::make_unique<host::Net>(std::vector<struct rds_addr>{addr});
		stream::listen(*net, {addr});
		rds_net_tunables(net->core())->recv_spill_bytes = kSpill;
		stopped = open(kStopped, 100);
		reading = open(kReading, 1 << 20);
		for (unsigned int i = 0; i <= kOthers; i++)
			peers.push_back(std::make_unique<peer::Mainline>(
				host::addr4(i % 2 ? 50 + i : 150 + i),
				GetParam() % 3 ? peer::Version::k6 : peer::Version::k7));
		flows = 2 * static_cast<uint32_t>(peers.size());
		sent_.resize(flows);
	}
	void TearDown() override
	{
		peers.clear();
		stopped.reset();
		reading.reset();
		stream::stop_listening(*net);
		net.reset();
		sim::run_for(kSecond);
		rds_transport_unregister(stream::ops());
		rds_transport_unregister(loop_);
		rds_core_exit();
		stream::reset();
		sim::run_ready();
		EXPECT_EQ(sim::leftovers(), "");
		sim::discard();
	}
	std::unique_ptr<host::Socket> open(uint16_t port, uint32_t rcvbuf)
	{
		auto s = std::make_unique<host::Socket>(*net);

		EXPECT_EQ(s->bind(host::endpoint(addr, port)), 0);
		s->sock().rcvbuf = rcvbuf;
		return s;
	}
	/* @count messages of peer @i, whatever the map of ports says. */
	void send(unsigned int i, uint16_t port, unsigned int count)
	{
		sim::spawn("peer sends", [this, i, port, count] {
			const uint32_t flow = 2 * i + (port == kReading);

			for (unsigned int n = 0; n < count; n++) {
				order.sent(flow, sent_[flow]);
				peers[i]->send(host::endpoint(addr, port), 77,
					       traffic::make(flow, sent_[flow]++, 100));
			}
		});
	}
	uint64_t stat(enum rds_stat which)
	{
		return net->stat(which);
	}
	/* The peer's path waits for the socket that does not read. */
	bool waits()
	{
		return sim::run_until([&] { return stat(RDS_S_recv_spill_share) > 3; },
				      10 * kSecond);
	}
	bool reads(host::Socket &s, uint64_t in_all, uint64_t ns)
	{
		return sim::run_until(
			[&] {
				traffic::drain(s, order);
				return order.received_count() >= in_all;
			},
			ns);
	}
	bool has_spill()
	{
		rds::Guard g(stopped->core()->recv_lock);

		return stopped->core()->spill;
	}

	const struct rds_addr addr = host::addr4(100);
	std::unique_ptr<host::Net> net;
	std::unique_ptr<host::Socket> stopped, reading;
	std::vector<std::unique_ptr<peer::Mainline>> peers;
	check::Order order;
	uint32_t flows = 0;

private:
	struct rds_module loop_module_;
	const struct rds_transport *loop_ = nullptr;
	std::vector<uint32_t> sent_;
};

INSTANTIATE_TEST_SUITE_P(Seeds, SpillShares, ::testing::Range<uint64_t>(1, 13));

TEST_P(SpillShares, AFloodPausesNobodyElse)
{
	send(0, kStopped, kFlood);
	ASSERT_TRUE(waits());
	for (unsigned int i = 1; i <= kOthers; i++) {
		send(i, kStopped, 1);
		send(i, kReading, kOwn);
	}
	EXPECT_TRUE(reads(*reading, kOthers * kOwn, kSecond)) << order.received_count();
	EXPECT_LE(stopped->core()->rcv_mem.used(), kSpill);
	EXPECT_TRUE(has_spill());
	/* It wakes up. */
	EXPECT_TRUE(reads(*stopped, kFlood + kOthers * (kOwn + 1), 60 * kSecond))
		<< order.received_count();
	EXPECT_TRUE(order.complete());
	EXPECT_EQ(order.complaint(), "");
	EXPECT_FALSE(has_spill());
	EXPECT_EQ(stopped->core()->rcv_mem.used(), 0u);
}

/* All of them flood, one after the other, and the last has said nothing yet. */
TEST_P(SpillShares, ManyFloodsPauseNobodyElse)
{
	for (unsigned int i = 0; i < kOthers; i++) {
		send(i, kStopped, kFlood);
		sim::run_for(500 * kMs);
	}
	ASSERT_TRUE(waits());
	send(kOthers, kStopped, 1);
	send(kOthers, kReading, kOwn);
	EXPECT_TRUE(reads(*reading, kOwn, kSecond)) << order.received_count();
	EXPECT_TRUE(reads(*stopped, kOthers * kFlood + kOwn + 1, 600 * kSecond));
	EXPECT_TRUE(order.complete());
	EXPECT_EQ(order.complaint(), "");
	EXPECT_FALSE(has_spill());
}

/* The socket is closed as it is: whoever waited goes on. */
TEST_P(SpillShares, ACloseLetsTheFloodGoOn)
{
	send(0, kStopped, kFlood);
	ASSERT_TRUE(waits());
	send(0, kReading, kOwn);
	sim::run_for(kSecond);
	EXPECT_FALSE(reads(*reading, 1, kSecond)) << "it is behind the flood, on the same path";
	stopped.reset();
	EXPECT_TRUE(reads(*reading, kOwn, 10 * kSecond));
	EXPECT_EQ(order.complaint(), "");
}

} // namespace
