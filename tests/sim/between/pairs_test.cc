// SPDX-License-Identifier: GPL-2.0
/*
 * The core's pairs of "I say, then I look": two sides that each say something and look at what the
 * other says, at the same moment, under many schedules and both memory models.  One of them must
 * see the other; where neither does, something waits for ever.
 */
#include "fixture.h"
#include "net/rds/net.h"
#include "placed.h"

namespace
{

using fake::wire;
using host::endpoint;
using host::Socket;

constexpr uint64_t kMs = 1000 * 1000;
constexpr uint64_t kSchedules = 4000;
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
	};
	void every(const Play &play)
	{
		for (uint64_t seed = 1; seed <= kSchedules && !HasFailure(); seed++) {
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
			     std::to_string(at));
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
		return *wire().path;
	}
	/* A connection whose peer is one of ours. */
	void bring_up()
	{
		rds::wire::Header h;

		ASSERT_EQ(s->send(to, pattern(100)), 0);
		sim::run_ready();
		rds_path_connected(wire().path);
		sim::run_ready();
		rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
		ASSERT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
		sim::run_ready();
	}
	int arrive(uint64_t seq, size_t bytes = 10)
	{
		return fake::arrive(wire().path, seq, 5000, 4000, pattern(bytes));
	}
	void peer_has(uint64_t seq)
	{
		rds::wire::Header h;

		rds::wire::encode_control(h);
		rds::wire::put64(h.ack, seq);
		(void)fake::arrive(wire().path, h);
	}
	/* The highest number that we told the peer that we have. */
	uint64_t told()
	{
		uint64_t most = 0;

		for (const auto &f : fake::frames(wire().sent))
			most = std::max(most, f.ack);
		return most;
	}
	/* What the peer was told last of our port 4000. */
	bool told_congested()
	{
		bool set = false;

		for (const auto &f : fake::frames(wire().sent))
			if (f.flags == rds::wire::kCongBitmap)
				set = f.data[4000 / 8] & 1u << 4000 % 8;
		return set;
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

	std::unique_ptr<Socket> s;
	struct rds_endpoint to = endpoint(remote, 5000);

private:
	bool placed_ = false;

	void begin(const sim::Options &opt)
	{
		options = opt;
		CoreTest::SetUp();
		fake::set_caps(RDS_CAP_DELIVERY_ACK);
		s = std::make_unique<Socket>(*net);
		ASSERT_EQ(s->bind(endpoint(a1, 4000)), 0);
	}
	void end()
	{
		s.reset();
		CoreTest::TearDown();
	}
};

/* The receiver takes a message and looks whether the timer of acks runs; the timer ends and looks
 * whether there is something to tell. */
TEST_F(Pairs, AnAckIsOwedByTheTimerOrByTheReceiver)
{
	every({[this] {
		       bring_up();
		       arrive(1);
		       /* It goes with what we send: the timer will find nothing. */
		       ASSERT_EQ(s->send(to, pattern(10)), 0);
		       sim::run_ready();
		       ASSERT_EQ(told(), 1u);
		       sim::run_for(rds::kAckDelayNs - 20 * 1000);
	       },
	       [] { sim::sleep_for(20 * 1000); },
	       [this] {
		       linger(500);
		       arrive(2);
	       },
	       [this] {
		       sim::options().preempt_per_1000 = 0;
		       sim::run_for(3 * rds::kAckDelayNs);
		       return told() == 2;
	       },
	       2});
}

/* The sender says that it waits and looks for room; the peer's ack gives room and looks for who
 * waits. */
TEST_F(Pairs, WhoWaitsForRoomIsWoken)
{
	bool sent = false;

	every({[&] {
		       sent = false;
		       s->sock().sndbuf = 1024;
		       bring_up();
		       for (int i = 0; i < 64 && !s->send(to, pattern(100)); i++)
			       ;
		       sim::run_ready();
	       },
	       [&] {
		       for (;;) {
			       uint32_t seen = s->sock().woken.load();

			       if (!s->send(to, pattern(100)))
				       break;
			       sim::wait_until([&] { return s->sock().woken.load() != seen; });
		       }
		       sent = true;
	       },
	       [this] { peer_has(path().next_tx_seq() - 1); },
	       [&] {
		       bool done = sent;

		       s->sock().woken.fetch_add(1); /* lets it go */
		       peer_has(path().next_tx_seq() - 1);
		       sim::run_ready();
		       return done;
	       }});
}

/* Delivery says that the port is congested and looks at the bytes again; the reader takes bytes
 * away and looks whether the port is congested. */
TEST_F(Pairs, APortIsNotCongestedWithAlmostNothingQueued)
{
	every({[&] {
		       s->sock().rcvbuf = kRcvbuf;
		       bring_up();
		       arrive(1, kRcvbuf - 10);
	       },
	       [&] { EXPECT_TRUE(s->recv()); }, [&] { arrive(2, 100); },
	       [&] {
		       sim::run_ready();
		       return !congested() && read_all() == 1;
	       }});
}

/* A port changes its version and looks which connections are up; a connection says that it is up
 * and looks at the version. */
TEST_F(Pairs, APeerIsToldOfAPortThatClearsWhileItConnects)
{
	every({[&] {
		       s->sock().rcvbuf = kRcvbuf;
		       bring_up();
		       for (uint64_t seq = 1; !congested() && seq < 100; seq++)
			       arrive(seq, 300);
		       sim::run_ready();
		       rds_path_drop(wire().path, RDS_DROP_ERROR);
		       sim::run_ready();
		       sim::run_for(1000 * kMs);
	       },
	       [&] {
		       linger(60);
		       read_all();
	       },
	       [&] {
		       rds::wire::Header h;

		       rds_path_connected(wire().path);
		       rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
		       (void)fake::arrive(wire().path, h);
	       },
	       [&] {
		       sim::options().preempt_per_1000 = 0;
		       sim::run_for(100 * kMs);
		       EXPECT_FALSE(congested());
		       EXPECT_FALSE(told_congested());
		       return path().state() == rds::PathState::kUp;
	       }});
}

/* Who makes the first connection looks whether the sweep runs; the sweep that found none says that
 * it ends and looks for connections. */
TEST_F(Pairs, AConnectionIsSweptThatIsMadeWhileTheSweepEnds)
{
	auto conns = [this] {
		unsigned int n = 0;

		net->core()->conns.for_each([&](rds::Conn &) { n++; });
		return n;
	};

	every({[&] {
		       rds_net_tunables(net->core())->idle_timeout_ms = 1000;
		       net->core()->conns.start_sweep();
		       sim::run_for(rds::kSweepSoonNs - 10 * 1000);
	       },
	       [] { sim::sleep_for(10 * 1000); },
	       [&] {
		       sim::spawn("other's first connection", [&] {
			       linger(200);

			       int err = 0;
			       struct rds_addr far = host::addr4(99);
			       struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &a1,
								 &far, 0, 0, &err);
			       if (c)
				       rds_conn_put(c);
		       });
	       },
	       [&] {
		       sim::options().preempt_per_1000 = 0;
		       bool made = conns() == 1;

		       sim::run_for(600 * 1000 * kMs);
		       return made && conns() == 0;
	       },
	       2});
}

} // namespace
