/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lifecycle.h: how long a connection lives: it is in use, or one decision ends it.
 *
 *	kInUse --hand_over()--> kHandedOver: the sweep has found that it may have to go
 *	kHandedOver --take()--> kLookedAfter: its worker ends its paths in order, and keeps it
 *			until they have ended
 *	kLookedAfter --give_back()--> kInUse
 *	kLookedAfter --retire()--> kRetiring: its worker looks whether anything keeps it
 *	kRetiring --call_off()--> kLookedAfter: somebody needs it after all
 *	kRetiring --die()--> kDying: nobody finds it, another may be made in its place
 *
 * The state is one word, so either the one that needs the connection takes it back, or the worker
 * ends it.  The worker says kRetiring and then looks at each path's queue under the lock of that; a
 * sender queues under the same lock, and then looks at the state.
 *
 * The sweep's memory of a connection is here, too: when it was used last.  That is the sweep's
 * while the connection is in use, and else the worker's.
 *
 * A Lifecycle knows neither paths nor tables, and has no lock, no timer and no clock.
 */
#ifndef RDS_LIFECYCLE_H
#define RDS_LIFECYCLE_H

#include "../bug.h"
#include "../ref.h"

namespace rds
{

/* Why the sweep looks after a connection (conn_idle.cc). */
enum class Care : uint8_t {
	kNone,
	kIdle, /* nothing was said for idle_timeout_ms */
	kGone, /* a stranger, and it is not there any more */
	kMute, /* a stranger that has not said one frame */
	kRoom, /* there are too many that only peers want */
};

class Lifecycle final
{
public:
	/* -- any context -- */
	/* Nothing is queued that did not call it off. */
	RDS_INLINE bool is_ending() const
	{
		return state_.load() >= State::kRetiring;
	}
	bool is_dying() const
	{
		return state_.load() == State::kDying;
	}
	/* It is needed.  False: too late, and another is to be looked up or made. */
	bool call_off()
	{
		State s = State::kRetiring;

		return state_.compare_exchange(s, State::kLookedAfter) || s != State::kDying;
	}
	/* It was evicted: asked to end, and may be in the midst of a call. */
	bool is_evicted() const
	{
		return evicted_.load();
	}

	/* -- the sweep -- */
	bool is_in_use() const
	{
		return state_.load_acquire() == State::kInUse;
	}
	/* To the worker, which may take it at once: it is woken afterwards. */
	void hand_over(Care why)
	{
		if (bug_on(!is_in_use(), "a connection is handed over that its worker has"))
			return;
		care_ = why;
		state_.store_release(State::kHandedOver);
	}
	/* How much was said so far is @mark, and @busy: something is still to be said.  True:
	 * neither has changed for @limit_ns. */
	bool is_idle(uint64_t mark, bool busy, uint64_t limit_ns, uint64_t now);
	/* Nothing was said for so long. */
	uint64_t silent_ns(uint64_t now) const
	{
		return now - silent_since_ns_;
	}
	/* It is not worth another look before @ns. */
	void rest_until(uint64_t ns)
	{
		not_before_ns_ = ns;
	}
	bool rests(uint64_t now) const
	{
		return now < not_before_ns_;
	}

	/* -- the worker -- */
	/* True: it was handed over, and is the worker's from now on. */
	[[nodiscard]] bool take()
	{
		if (state_.load_acquire() != State::kHandedOver)
			return false;
		state_.store(State::kLookedAfter);
		return true;
	}
	/* It was taken, and everything below is the worker's. */
	bool is_looked_after() const
	{
		return state_.load() == State::kLookedAfter;
	}
	Care care() const
	{
		return care_;
	}
	void give_back()
	{
		const State s = state_.load();

		if (bug_on(s != State::kLookedAfter && s != State::kRetiring,
			   "a connection is given back that its worker has not"))
			return;
		state_.store_release(State::kInUse);
	}
	void retire()
	{
		if (bug_on(!is_looked_after(), "a connection retires that nobody looks after"))
			return;
		state_.store(State::kRetiring);
	}
	/* False: it was called off. */
	[[nodiscard]] bool die()
	{
		State s = State::kRetiring;

		return state_.compare_exchange(s, State::kDying);
	}
	/* True for the first time. */
	bool evict()
	{
		return !evicted_.exchange(true);
	}
	/* It stays, as if it had been used at @now, and is not looked at for @pause_ns. */
	void keep(uint64_t now, uint64_t pause_ns);
	/* It was used at @now, or may as well have been. */
	void used(uint64_t now)
	{
		idle_since_ns_ = now;
	}

private:
	enum class State : uint8_t { kInUse, kHandedOver, kLookedAfter, kRetiring, kDying };

	AtomicEnum<State> state_;
	Atomic<bool> evicted_;
	Care care_ = Care::kNone;
	uint64_t mark_ = 0;
	uint64_t silent_since_ns_ = 0; /* when a number was last sent or received */
	uint64_t idle_since_ns_ = 0;   /* the same, or when it was last not ready to end */
	uint64_t not_before_ns_ = 0;
};

} // namespace rds
#endif
