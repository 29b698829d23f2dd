/* SPDX-License-Identifier: GPL-2.0 */
/*
 * path_walk.h: looks at all that a path has queued, and what waits for its ports, a few messages
 * each time that it takes the lock.
 *
 * A queue may have 10^6 messages, of all the sockets of this host: nobody holds up its senders and
 * its acks for as long as it takes to look at them.
 */
#ifndef RDS_PATH_WALK_H
#define RDS_PATH_WALK_H

#include "path.h"
#include "queue_walk.h"

template <typename F>
void rds_path::for_each_queued(bool sent, F fn)
{
	rds::QueueWalk walk;

	while (!walk.is_over) {
		rds::Guard g(lock);

		for (unsigned int n = 0; !walk.is_over && n < rds::kQueueStep; n++) {
			rds::Message *m = step_locked(walk);

			/* The transport has those of the queue alone. */
			if (m && (m->end_off && !walk.port) == sent)
				fn(*m);
		}
	}
}

#endif
