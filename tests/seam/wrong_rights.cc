// SPDX-License-Identifier: GPL-2.0
/*
 * wrong_rights.cc: each line marked "wrong" is something that a right (net/rds/rights.h) or a lock
 * forbids, and thread_safety.sh wants the compiler to say so of each, and of no other.
 */
#include "../../net/rds/lock.h"
#include "../../net/rds/path/path_due.h"
#include "../../net/rds/path/received.h"
#include "../../net/rds/socket/bind.h"

namespace rds
{

struct Wrong final {
	Spinlock<RDS_RANK_PATH> lock;
	int locked RDS_GUARDED_BY(lock) = 0;
	int of_worker RDS_GUARDED_BY(kWorker) = 0;
	int of_sender RDS_GUARDED_BY(kSender) = 0;

	void turn() RDS_TURN;
	void transmit() RDS_REQUIRES(kSender) RDS_SLEEPS;
};

inline void no_worker(Wrong &w)
{
	w.of_worker++; /* wrong */
	w.turn();      /* wrong, twice: it sleeps as well */
}

inline void no_sender(Wrong &w, Received &r) RDS_TURN
{
	w.of_worker++;
	w.of_sender++;	    /* wrong */
	(void)r.take_due(); /* wrong */
}

inline void no_receiver(Received &r) RDS_REQUIRES(kSender)
{
	(void)r.take_due();
	(void)r.add(1, false); /* wrong */
}

inline bool no_reader(const BindTable &t, const struct rds_addr &a, const HashKey &key)
{
	return t.find(a, 0, 1, key); /* wrong */
}

inline bool a_reader(const BindTable &t, const struct rds_addr &a, const HashKey &key)
{
	RcuReader rcu;

	return t.find(a, 0, 1, key);
}

inline void sleeps_as_reader(BindTable &t) RDS_SLEEPS
{
	RcuReader rcu;

	(void)t.init(); /* wrong */
}

inline void lets_others_run_as_reader() RDS_SLEEPS
{
	let_others_run();

	RcuReader rcu;

	let_others_run(); /* wrong */
}

inline void sleeps_in_softirq(Wrong &w) RDS_REQUIRES(kSender)
{
	w.transmit(); /* wrong */
}

inline void no_lock(Wrong &w)
{
	w.locked++; /* wrong */

	Guard g(w.lock);

	w.locked++;
}

inline void no_turn(Deadline<StateLimit> &state, Deadline<Retry> &retry)
{
	retry.arm(Retry::soon());
	retry.arm(Retry::map(1));	 /* wrong */
	state.arm(StateLimit::pause(1)); /* wrong */
	state.cancel();			 /* wrong */
}

} // namespace rds
