/* SPDX-License-Identifier: GPL-2.0 */
/*
 * assembly.h: the memory of messages that have begun to arrive and are not whole: nobody's yet, so
 * a namespace has a budget for it.
 *
 * Strangers (rds_conn::is_stranger()) have a small one for all of them together, and cannot touch
 * the other.  A message whose bytes were all at hand when it began is not counted, and costs
 * nothing here.  Of the others each byte that it holds is counted until it is whole or freed:
 * by its last reference, so whoever throws it away need not know.
 *
 * The limits are looked at before memory is got and counted in after it, so each path may
 * exceed them by what comes at once.  No lock: atomics here, and in the message what its one
 * receiver writes.  Any context.
 */
#ifndef RDS_ASSEMBLY_H
#define RDS_ASSEMBLY_H

#include "message.h"

namespace rds
{

class Assembly final
{
public:
	Assembly() = default;
	Assembly(const Assembly &) = delete;
	Assembly &operator=(const Assembly &) = delete;
	~Assembly();

	/* Another may begin, which is only half here. */
	bool may_begin(bool stranger) const
	{
		return stranger ? strangers_.load() < kAssemblyStrangers
				: others_.load() < kAssembly;
	}
	void begin(Message &m, bool stranger);
	/* More of @m may be taken.  At the limit one message of those who wait may grow all the
	 * same, and no other before that is whole: each of them may be what the others wait for. */
	bool may_grow(Message &m);
	/* It may have. */
	void count(Message &m);
	void left(Message &m);

	/* For who looks. */
	uint64_t of_strangers() const
	{
		return strangers_.load();
	}
	uint64_t of_others() const
	{
		return others_.load();
	}

private:
	Atomic<uint64_t> &sum_of(const Message &m)
	{
		return m.stranger ? strangers_ : others_;
	}

	Atomic<uint64_t> strangers_, others_;
	Atomic<Message *> goes_on_; /* a name, and not looked into */
};

} // namespace rds
#endif
