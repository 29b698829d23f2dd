// SPDX-License-Identifier: GPL-2.0
/*
 * received.cc: what one path has received: a connection begins, its peer is met, the timer runs
 * out.
 */
#include "received.h"

namespace rds
{

void Received::begin(bool acks)
{
	peer_.store(acks ? Peer::kUnknown : Peer::kPlain);
	due_.store(false);
	known_.store(0);
	acked_.store(0);
}

void Received::resume(uint64_t next, uint32_t gen)
{
	gen_.store(gen);
	next_.store(next);
	first_ = next;
}

void Received::meet(uint32_t gen, bool numbered)
{
	bug_on(peer() != Peer::kUnknown, "a peer is met that is known");
	if (gen != gen_.load()) {
		next_.store(0);
		gen_.store_release(gen); /* what was agreed comes before: is_of() */
	}
	if (!gen && !numbered) {
		peer_.store(Peer::kPlain);
		return;
	}
	known_.store(gen ? next_.load() : 0);
	peer_.store(Peer::kAcks);
}

bool Received::timer_over()
{
	const bool news =
		announce_then_look([&] { armed_.store(false); }, [&] { return !all_acked(); });

	return news && fall_due();
}

} // namespace rds
