// SPDX-License-Identifier: GPL-2.0
/*
 * The pairs that need no fence: what both sides change is one word, or lies under one lock, or is
 * one timer, and that brings what was stored before.  Here is what says when it no longer does.
 */
#include "pairs.h"

namespace
{

using fake::wire;

constexpr uint64_t kSchedules = 300;

class PathPairs : public Pairs
{
protected:
	struct rds_conn *conn_to(unsigned int n)
	{
		struct rds_addr far = host::addr4(n);
		int err = 0;

		return rds_conn_get(net->core(), fake::ops(), &a1, &far, 0, 0, &err);
	}
	/* A host that nobody here has sent to has called, has said who it is, and stays. */
	void stranger(unsigned int n)
	{
		struct rds_conn *c = conn_to(n);
		rds::wire::Header h;

		rds_path_accepted(rds_conn_path(c, 0), &handle);
		sim::run_ready();
		rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
		ASSERT_EQ(fake::arrive(rds_conn_path(c, 0), h), RDS_RECV_SKIP);
		sim::run_ready();
		rds_conn_put(c);
	}
	unsigned int conns() const
	{
		unsigned int n = 0;

		net->core()->conns.for_each([&](rds::Conn &) { n++; });
		return n;
	}

	int handle = 0;
};

/* The task that accepts puts the handle in a slot, which the path closes when it dies: in this one
 * word the handle comes before the tombstone, and is found, or after it, and comes back. */
TEST_F(PathPairs, AHandleIsAdoptedOrDiscardedOnce)
{
	struct rds_conn *c = nullptr;

	every({.prepare = [&] { c = conn_to(99); },
	       .one = [&] { c->kill(); },
	       .other =
		       [this] {
			       sim::spawn("other's acceptor", [this] {
				       linger(100);
				       rds_path_accepted(&path(), &handle);
			       });
		       },
	       .promise =
		       [&] {
			       sim::run_ready();

			       const auto &calls = wire().calls;
			       auto adopted = std::count(calls.begin(), calls.end(), "adopt");

			       rds_conn_put(c);
			       return adopted + fake::discarded().size() == 1;
		       },
	       .schedules = kSchedules});
}

/* The sender queues and looks whether somebody connects; the worker says that nobody does and looks
 * at the queue.  The queue's lock is taken by both: the later sees all of the earlier. */
TEST_F(PathPairs, TheSenderOrTheWorkerConnectsAnew)
{
	every({.prepare =
		       [this] {
			       bring_up();
			       peer_has(path().next_tx_seq() - 1);
			       sim::run_ready();
			       wire().initiates = false;
		       },
	       .one = [] { rds_path_drop(wire().path, RDS_DROP_ERROR); },
	       .other =
		       [this] {
			       sim::spawn("other's sender", [this] {
				       linger(60);
				       EXPECT_EQ(s->send(to, pattern(10)), 0);
			       });
		       },
	       .promise =
		       [this] {
			       /* Its call to a peer that may not know of the end comes later.
				*/
			       sim::run_for(rds::kOwedPauseNs / 2);
			       return path().state() == rds::PathState::kConnecting;
		       },
	       .schedules = kSchedules});
}

/* The acceptor puts the handle in the slot and looks whether the connection retires; the worker
 * says that it retires and looks into the slot.  One of both sees the other, so a call that came in
 * time is answered. */
TEST_F(PathPairs, ACallInTimeKeepsTheConnection)
{
	struct rds_conn *c = nullptr;
	bool in_time = false;

	every({.prepare =
		       [&] {
			       c = conn_to(99);
			       in_time = false;
			       c->life.hand_over(rds::Care::kIdle);
		       },
	       .one = [&] { c->wake_worker(); },
	       .other =
		       [&] {
			       sim::spawn("other's acceptor", [&] {
				       linger(100);
				       in_time = path().accepted(&handle);
			       });
		       },
	       .promise =
		       [&] {
			       sim::run_ready();

			       const auto &calls = wire().calls;
			       auto adopted = std::count(calls.begin(), calls.end(), "adopt");
			       const bool dying = c->life.is_dying();

			       rds_conn_put(c);
			       return adopted + fake::discarded().size() == 1 &&
				      in_time == (adopted == 1) && dying == !in_time;
		       },
	       .schedules = kSchedules});
}

/* The sender queues, and looks whether the connection retires, under the queue's lock; the worker
 * says that it retires, and looks at the queue under that lock: the message goes, or another
 * connection takes it. */
TEST_F(PathPairs, AMessageInTimeKeepsTheConnection)
{
	struct rds_conn *c = nullptr;

	every({.prepare =
		       [&] {
			       struct rds_addr far = host::addr4(99);

			       c = conn_to(99);
			       to = host::endpoint(far, 5000);
			       c->life.hand_over(rds::Care::kIdle);
		       },
	       .one = [&] { c->wake_worker(); },
	       .other =
		       [&] {
			       sim::spawn("other's sender", [&] {
				       linger(100);
				       EXPECT_EQ(s->send(to, pattern(10)), 0);
			       });
		       },
	       .promise =
		       [&] {
			       sim::run_ready();

			       rds::RcuReader rcu;
			       rds::Conn *now = net->core()->conns.find(*fake::ops(), a1, to.addr,
									0, 0, net->core()->key);
			       const bool queued = now && now->first().has_queued();
			       const bool moved = now != c, dying = c->life.is_dying();

			       rds_conn_put(c);
			       return queued && moved == dying;
		       },
	       .schedules = kSchedules});
}

/* A connection made when there are enough counts itself and looks whether the sweep is in a hurry;
 * the sweep says that it is not any more and counts.  When it ends both arm its timer. */
TEST_F(PathPairs, TheSweepComesSoonForWhoIsOneTooMany)
{
	every({.prepare =
		       [this] {
			       struct rds_tunables &tun = *rds_net_tunables(net->core());

			       tun.idle_timeout_ms = 0;
			       tun.max_passive = 1;
			       stranger(97);

			       uint64_t then = sim::now_ns();

			       stranger(98);
			       tun.max_passive = 2;
			       sim::run_for(then + rds::kStrangerSweepNs - 10 * 1000 -
					    sim::now_ns());
		       },
	       .one = [] { sim::sleep_for(10 * 1000); },
	       .other =
		       [this] {
			       sim::spawn("other's third", [this] {
				       linger(500);
				       rds_conn_put(conn_to(99));
			       });
		       },
	       .promise =
		       [this] {
			       sim::options().preempt_per_1000 = 0;
			       EXPECT_EQ(conns(), 3u);
			       sim::run_for(3 * rds::kStrangerSweepNs);
			       return conns() == 2;
		       },
	       .alarms = 2,
	       .schedules = kSchedules});
}

} // namespace
