/* SPDX-License-Identifier: GPL-2.0 */
/*
 * queue_walk.h: a walk through all that a path has queued, and what waits for its ports.
 *
 * Messages step aside and come back between its steps.  So the walk through the queue comes first,
 * and waits at its end for what comes: no message of a port is looked at before all that is queued
 * was (held.h).  Guarded by the path's lock; rds_path::step_locked() walks.
 */
#ifndef RDS_QUEUE_WALK_H
#define RDS_QUEUE_WALK_H

#include "held.h"
#include "send_queue.h"

namespace rds
{

struct QueueWalk {
	SendQueue::Walk queued;
	HeldPorts::Walk held;
	HeldPort *port = nullptr; /* for which the last message waits; nullptr: it is queued */
	bool is_over = false;

	/* Nobody is kept waiting for it. */
	void end(SendQueue &q, HeldPorts &h)
	{
		q.stop(queued);
		h.stop(held);
		is_over = true;
	}
};

} // namespace rds
#endif
