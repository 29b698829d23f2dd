/* SPDX-License-Identifier: GPL-2.0 */
/*
 * path_walk.h: looks at all that a path has queued, and what waits for its ports, a few messages
 * each time that it takes the lock.
 *
 * A queue may have 10^6 messages, of all the sockets of this host: nobody holds up its senders and
 * its acks, nor whoever waits for the processor, for as long as it takes to look at them.  Between
 * two steps nothing is held but a reference on the connection, by the caller; the walk stands in
 * the queue, which moves it on (send_queue.h), and ends with it: what dies has no messages.
 */
#ifndef RDS_PATH_WALK_H
#define RDS_PATH_WALK_H

#include "path.h"
#include "queue_walk.h"

template <typename F>
void rds_path::for_each_queued(bool sent, F fn)
{
	for (rds::QueueWalk walk; !walk.is_over; rds::let_others_run()) {
		rds::RcuReader rcu; /* what messages point to stays */
		rds::Guard g(lock);

		for (unsigned int n = 0; !walk.is_over && n < rds::kLookStep; n++) {
			rds::Message *m = step_locked(walk);

			/* The transport has those of the queue alone. */
			if (m && (m->end_off && !walk.port) == sent)
				fn(*m);
		}
	}
}

#endif
