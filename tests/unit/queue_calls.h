/* SPDX-License-Identifier: GPL-2.0 */
/*
 * queue_calls.h: what a path does with a SendQueue in steps, between which it gives up its lock,
 * done at once.
 */
#ifndef RDS_TESTS_QUEUE_CALLS_H
#define RDS_TESTS_QUEUE_CALLS_H

#include "net/rds/path/send_queue.h"

/* How many go out again; those of which @leaves is true go to @done. */
template <typename F>
uint32_t restart(rds::SendQueue &q, F leaves, rds::MsgList &done)
{
	rds::SendQueue::Walk walk;
	uint32_t again = 0;

	q.begin_restart();
	while (q.restart_some(
		walk, leaves, [&](rds::Message &m) { done.push_back(&m); }, again))
		;
	return again;
}

inline uint32_t restart(rds::SendQueue &q)
{
	rds::MsgList none;

	return restart(
		q, [](const rds::Message &) { return false; }, none);
}

template <typename F>
void take_all(rds::SendQueue &q, rds::SendQueue::Fold &f, rds::SendQueue &from, F leaves,
	      rds::MsgList &done)
{
	while (q.take_some(f, from, leaves, done))
		;
}

inline void renumber(rds::SendQueue &q, rds::SendQueue::Fold &f)
{
	while (q.renumber_some(f))
		;
}

#endif
