// SPDX-License-Identifier: GPL-2.0
/*
 * received.cc: what one path has received: a connection begins, its peer is met, the timer runs
 * out.
 */
#include "received.h"

namespace rds
{

Received::~Received()
{
	destroy(past_);
}

void Received::begin(bool acks)
{
	peer_.store(acks ? Peer::kUnknown : Peer::kPlain);
	due_.store(false);
	known_.store(0);
	acked_.store(0);
}

bool Received::resume(const GenCount &now, const GenCounts &past)
{
	if (past.any() && !past_)
		past_ = create<GenCounts>(may_sleep(), past);
	gen_.store(now.gen);
	next_.store(now.next);
	first_ = now.next;
	return past_ || !past.any();
}

/* The count of @gen, which is not the current one; that is remembered.  Without memory it is not,
 * and what it sends again is taken for new. */
uint64_t Received::change_generation(uint32_t gen)
{
	const uint64_t next = next_.load();
	const GenCount last = {next, next ? gen_.load() : 0};

	if (!past_ && last.gen)
		past_ = create<GenCounts>(RDS_ATOMIC);
	return past_ ? past_->change(last, gen) : 0;
}

void Received::meet(uint32_t gen, bool numbered)
{
	bug_on(peer() != Peer::kUnknown, "a peer is met that is known");
	if (gen != gen_.load()) {
		next_.store(change_generation(gen));
		gen_.store_release(gen); /* what was agreed comes before: is_of() */
	}
	if (!gen && !numbered) {
		peer_.store(Peer::kPlain);
		return;
	}
	known_.store(gen ? next_.load() : 0);
	peer_.store(Peer::kAcks);
}

bool Received::remembers(uint32_t gen) const
{
	return is_of(gen) || (past_ && past_->has(gen));
}

bool Received::timer_over()
{
	const bool news =
		announce_then_look([&] { armed_.store(false); }, [&] { return !all_acked(); });

	return news && fall_due();
}

} // namespace rds
