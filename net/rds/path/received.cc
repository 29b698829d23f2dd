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

void Received::resume(uint64_t next, uint32_t gen)
{
	gen_.store(gen);
	next_.store(next);
	first_ = next;
}

/* The count of @gen, which is not the current one; that is remembered.  Without memory it is not,
 * and what it sends again is taken for new. */
uint64_t Received::change_generation(uint32_t gen)
{
	const uint64_t last_next = next_.load();
	const uint32_t last_gen = last_next ? gen_.load() : 0;
	unsigned int at = 0;

	if (!past_ && last_gen)
		past_ = create<Past>(RDS_ATOMIC);
	if (!past_)
		return 0;

	auto &of = past_->of;
	const unsigned int end = kGenerations - 1;

	/* Its place, or the first of those that are free, or that of the oldest. */
	while (at < end - 1 && of[at].gen && of[at].gen != gen)
		at++;

	const uint64_t next = gen && of[at].gen == gen ? of[at].next : 0;

	if (last_gen) {
		for (; at; at--)
			of[at] = of[at - 1];
		of[0] = {last_next, last_gen};
	} else if (next) {
		for (; at < end - 1; at++)
			of[at] = of[at + 1];
		of[at] = {};
	}
	return next;
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
	bool found = is_of(gen);

	for (unsigned int i = 0; past_ && i < kGenerations - 1; i++)
		found = found || past_->of[i].gen == gen;
	return found;
}

bool Received::timer_over()
{
	const bool news =
		announce_then_look([&] { armed_.store(false); }, [&] { return !all_acked(); });

	return news && fall_due();
}

} // namespace rds
