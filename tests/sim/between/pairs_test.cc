// SPDX-License-Identifier: GPL-2.0
/*
 * The core's pairs of "I say, then I look": two sides that each say something and look at what the
 * other says, at the same moment, under many schedules and both memory models.  One of them must
 * see the other; where neither does, something waits for ever.
 */
#include "pairs.h"

namespace
{

using fake::wire;

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
	every({[&] { fill_and_cut(); },
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

/* Two ports change, each raises the map's version and then says which it was; the transmitter looks
 * at the version, and then which they were. */
TEST_F(Pairs, AChangeIsToldWhileAnotherPortChanges)
{
	rds::CongMap *map = nullptr;
	auto flip = [&](uint16_t port) {
		EXPECT_TRUE(map->test(port) ? map->clear(port) : map->set(port));
		rds::CongTable::local_changed(*net->core(), *map, port, map->test(port));
	};
	auto peer_knows = [&] {
		bool knows[3] = {};

		for (const auto &f : fake::frames(fake::wire().sent)) {
			const rds::wire::MapChanges c = rds::wire::decode_changes(f.header);

			if (f.flags == rds::wire::kCongBitmap)
				for (uint16_t port = 0; port < 3; port++)
					knows[port] = f.data[0] >> port & 1;
			for (uint8_t i = 0; i < c.n; i++)
				knows[c.port[i]] = c.is_full(i);
		}
		for (uint16_t port = 0; port < 3; port++)
			if (knows[port] != map->test(port))
				return false;
		return true;
	};

	every({[&] {
		       bring_up(rds::wire::kCapDeliveryAck | rds::wire::kCapChanges);
		       map = path().conn.lcong;
		       ASSERT_TRUE(map->ensure_bits(RDS_MAY_SLEEP).ok());
		       flip(2);
		       sim::run_for(100 * kMs);
	       },
	       [&] {
		       flip(0);
		       flip(2);
	       },
	       [&] {
		       linger(60);
		       flip(1);
	       },
	       [&] {
		       sim::options().preempt_per_1000 = 0;
		       sim::run_for(100 * kMs);
		       return peer_knows();
	       }});
}

/* The maker of the first connection looks whether the sweep runs; the sweep that found none says
 * that it ends and looks for connections. */
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
