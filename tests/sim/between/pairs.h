/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pairs.h: two sides of the core that each say something and look at what the other says, at the
 * same moment, under many schedules and both memory models, and with one switch at each atomic.
 */
#ifndef RDS_TESTS_BETWEEN_PAIRS_H
#define RDS_TESTS_BETWEEN_PAIRS_H

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"
#include "placed.h"

constexpr uint64_t kMs = 1000 * 1000;
constexpr uint32_t kRcvbuf = 2048;

class Pairs : public CoreTest
{
protected:
	/* A world for each schedule: every() makes them. */
	void SetUp() override
	{
	}
	void TearDown() override
	{
	}
	/* @prepare runs alone, @one and @other side by side; then @promise must hold. */
	struct Play {
		std::function<void()> prepare, one, other;
		std::function<bool()> promise;
		unsigned int alarms = 0; /* how often time has to go on in the middle of it */
		uint64_t schedules = 4000;
	};
	void every(const Play &play)
	{
		for (uint64_t seed = 1; seed <= play.schedules && !HasFailure(); seed++) {
			SCOPED_TRACE("schedule " + std::to_string(seed));
			begin({.seed = seed});
			play.prepare();
			sim::options().preempt_per_1000 = 150 + 100 * (seed % 3);
			sim::reseed(seed);
			run(play);
			EXPECT_TRUE(play.promise());
			end();
		}
		every_place(play);
	}
	static void run(const Play &play)
	{
		sim::spawn("one", sim::Call([&] { play.one(); }));
		sim::spawn("other", sim::Call([&] { play.other(); }), sim::Context::kSoftirq);
		sim::run_ready();
	}
	/* The same with one switch from each side to the other, at each of its atomics. */
	void every_place(const Play &play)
	{
		placed_ = true;
		for (sim::Memory memory : {sim::Memory::kX86, sim::Memory::kWeak})
			for (bool first_stops : {true, false})
				for (uint64_t at = 1; !HasFailure(); at++)
					if (!place(memory, first_stops, at, play))
						break;
		placed_ = false;
	}
	/* False if the side that was to stop has had no such place. */
	bool place(sim::Memory memory, bool first_stops, uint64_t at, const Play &play)
	{
		SCOPED_TRACE((first_stops ? "one stops at " : "other stops at ") +
			     std::to_string(at) +
			     (memory == sim::Memory::kX86 ? " of x86" : " of a weak processor"));
		begin({.seed = 1, .memory = memory});
		play.prepare();

		sim::Placed placed(first_stops, at, play.alarms);

		sim::choose_with(&placed);
		run(play);
		sim::choose_with(nullptr);
		EXPECT_TRUE(play.promise());
		end();
		return placed.reached();
	}
	/* So many times both sides meet at another moment; where moments are chosen, not at all. */
	void linger(uint64_t most)
	{
		while (!placed_ && sim::random_below(most))
			sim::yield();
	}
	rds_path &path()
	{
		return *fake::wire().path;
	}
	/* A connection whose peer is one of ours. */
	void bring_up(uint32_t caps = rds::wire::kCapDeliveryAck)
	{
		rds::wire::Header h;

		ASSERT_EQ(s->send(to, pattern(100)), 0);
		sim::run_ready();
		rds_path_connected(fake::wire().path);
		sim::run_ready();
		rds::wire::encode_hello(h, {77, caps});
		ASSERT_EQ(fake::arrive(fake::wire().path, h), RDS_RECV_SKIP);
		sim::run_ready();
	}
	/* As many messages as make our port 4000 full, and then the connection ends. */
	void fill_and_cut()
	{
		s->sock().rcvbuf = kRcvbuf;
		bring_up();
		for (uint64_t seq = 1; !congested() && seq < 100; seq++)
			arrive(seq, 300);
		sim::run_ready();
		rds_path_drop(fake::wire().path, RDS_DROP_ERROR);
		sim::run_ready();
		sim::run_for(1000 * kMs);
	}
	int arrive(uint64_t seq, size_t bytes = 10)
	{
		return fake::arrive(fake::wire().path, seq, 5000, 4000, pattern(bytes));
	}
	void peer_has(uint64_t seq)
	{
		rds::wire::Header h;

		rds::wire::encode_control(h);
		rds::wire::put64(h.ack, seq);
		(void)fake::arrive(fake::wire().path, h);
	}
	/* The highest number that we told the peer that we have. */
	uint64_t told()
	{
		uint64_t most = 0;

		for (const auto &f : fake::frames(fake::wire().sent))
			most = std::max(most, f.ack);
		return most;
	}
	/* Whether the peer was told last that our port 4000 is congested. */
	bool told_congested()
	{
		bool set = false;

		for (const auto &f : fake::frames(fake::wire().sent))
			if (f.flags == rds::wire::kCongBitmap)
				set = f.data[4000 / 8] & 1u << 4000 % 8;
		return set;
	}
	/* The peer says which of its ports are full. */
	static void peer_says(const std::vector<uint16_t> &full)
	{
		host::Bytes bits(rds::kCongMapBytes);

		for (uint16_t port : full)
			bits[port / 8] |= static_cast<unsigned char>(1 << port % 8);
		EXPECT_EQ(fake::arrive(fake::wire().path, 0, 0, 0, bits, rds::wire::kCongBitmap),
			  0);
	}
	/* So many messages for this port were sent on the connection at hand. */
	static size_t sent_to(uint16_t port)
	{
		size_t n = 0;

		for (const auto &f : fake::frames(fake::wire().sent))
			n += f.dport == port;
		return n;
	}
	bool congested()
	{
		return s->core()->congested.load();
	}
	size_t read_all()
	{
		size_t n = 0;

		while (s->readable() && s->recv())
			n++;
		return n;
	}

	std::unique_ptr<host::Socket> s;
	struct rds_endpoint to = host::endpoint(remote, 5000);

private:
	bool placed_ = false;

	void begin(const sim::Options &opt)
	{
		options = opt;
		CoreTest::SetUp();
		fake::set_caps(RDS_CAP_DELIVERY_ACK);
		s = std::make_unique<host::Socket>(*net);
		ASSERT_EQ(s->bind(host::endpoint(a1, 4000)), 0);
	}
	void end()
	{
		s.reset();
		CoreTest::TearDown();
	}
};

#endif
