/* SPDX-License-Identifier: GPL-2.0 */
/*
 * looks.h: walks of programs through paths' queues take turns.
 *
 * A walk stands in a queue between two steps, and the queue moves it on, under its lock, whenever a
 * message comes or leaves (send_queue.h).  A user may have thousands of threads that take messages
 * back, close, or ask for tables: standing side by side they would make each message of everybody
 * else's dear.  So a namespace has kTurns turns, and a queue never more walks than that, but for
 * its worker's own.  A user always takes the same turn: it waits for itself, and for those few with
 * whom it has to share.
 *
 * Outside of all spin locks, taken for one path at a time.  Process.
 */
#ifndef RDS_LOOKS_H
#define RDS_LOOKS_H

#include "hash.h"
#include "lock.h"

namespace rds
{

class Looks final
{
public:
	/* @walk is @user's, and is done in its turn.  Not where the calling program is killed
	 * before that: then only @needed ones are, which wait on. */
	template <typename F>
	void take_turn(uint32_t user, bool needed, F walk) RDS_SLEEPS RDS_NO_TSA
	{
		Mutex<RDS_RANK_LOOK> &turn = turns_[hash_mix(user) % kTurns];

		if (needed)
			turn.lock();
		else if (!turn.lock_killable().ok())
			return;
		walk();
		turn.unlock();
	}

private:
	static constexpr unsigned int kTurns = 16;

	Mutex<RDS_RANK_LOOK> turns_[kTurns];
};

} // namespace rds
#endif
