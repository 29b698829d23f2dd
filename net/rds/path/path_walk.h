/* SPDX-License-Identifier: GPL-2.0 */
/*
 * path_walk.h: looks at all that a path has queued, a few messages each time that it takes the
 * lock.
 *
 * A queue may have 10^6 messages, of all the sockets of this host: nobody holds up its senders and
 * its acks for as long as it takes to look at them.
 */
#ifndef RDS_PATH_WALK_H
#define RDS_PATH_WALK_H

#include "path.h"

template <typename F>
void rds_path::for_each_queued(bool sent, F fn)
{
	rds::SendQueue::Walk walk;
	bool more = true;

	while (more) {
		rds::Guard g(lock);

		for (unsigned int n = 0; more && n < rds::kQueueStep; n++) {
			rds::Message *m = queue_.step(walk);

			more = m;
			if (m && (m->end_off != 0) == sent)
				fn(*m);
		}
		if (more || sent)
			continue;
		full_ports_.for_each([&](const rds::HeldPort &h) {
			for (rds::Message *m = h.msgs.front(); m; m = h.msgs.next(m))
				fn(*m);
		});
	}
}

#endif
