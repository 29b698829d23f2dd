/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sent_to.h: the addresses that a socket has sent to, so that what it has queued is found without a
 * look at every connection of the namespace.
 *
 * Most sockets send to a few: those are listed.  Beyond kMaxSentTo of them, or without memory for
 * one more, the list is incomplete, and stays so.  An address is noted before the connection to it
 * is cached, and never forgotten, so nothing but the list's head changes and readers take no lock.
 */
#ifndef RDS_SENT_TO_H
#define RDS_SENT_TO_H

#include "../hash.h"

namespace rds
{

class SentTo final
{
public:
	SentTo() = default;
	SentTo(const SentTo &) = delete;
	SentTo &operator=(const SentTo &) = delete;
	/* Nobody else uses it any more. */
	~SentTo()
	{
		while (Entry *e = first_.load()) {
			first_.store(e->next);
			destroy(e);
		}
	}

	/* Any context. */
	void note(const struct rds_addr &addr)
	{
		unsigned int n = 0;

		if (!complete_.load())
			return;
		for (Entry *e = first_.load_acquire(); e; e = e->next, n++)
			if (same_addr(e->addr, addr))
				return;

		Entry *e = n < kMaxSentTo ? create<Entry>(RDS_ATOMIC, addr) : nullptr;

		if (!e) {
			complete_.store(false);
			return;
		}
		e->next = first_.load();
		while (!first_.compare_exchange(e->next, e))
			;
	}
	/* False: there are others, too. */
	bool is_complete() const
	{
		return complete_.load();
	}
	/* One that two senders noted at once is met twice.  Any context. */
	template <typename F>
	void for_each(F fn) const
	{
		for (Entry *e = first_.load_acquire(); e; e = e->next)
			fn(e->addr);
	}

private:
	struct Entry {
		explicit Entry(const struct rds_addr &a) : addr(a)
		{
		}
		const struct rds_addr addr;
		Entry *next = nullptr;
	};

	Atomic<Entry *> first_;
	Atomic<bool> complete_{true};
};

} // namespace rds
#endif
