/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dial.h: whether one end of a path calls the other, and how long it pauses before.
 *
 *	kIdle		nobody calls.  The first task that needs the peer says so, and posts
 *	kWanted		a task has said so: the worker will look, and others need not post
 *	kWaiting	a pause is running, at whose end the worker calls; no wish cuts it short
 *	kBusy		a call is under way, or a connection is up
 *
 *	kIdle --want()--> kWanted --begin()--> kBusy
 *	any --ended()--> kIdle --a message waits, or it is this end that calls--> kWaiting
 *	kWaiting, kIdle --begin()--> kBusy
 *	any --up()--> kBusy
 *	any --stop()--> kIdle
 *
 * A Dial knows neither the path nor its connection, and has no lock, no timer and no clock.  It
 * decides on the Terms that it is told; the decision is a Plan, by which the path arms its timer.
 * The worker's turns alone decide.  Any context may call want(), may_ask() and heeds_knock(), and
 * read the counters.
 *
 * A sender against the worker.  The sender (1) queues its message, (2) says by want() that the peer
 * is needed; ended() (1) says kIdle, (2) looks whether a message waits.  Both take the queue's lock
 * in between, so either the worker finds the message or the sender finds kIdle, and posts
 * (docs/locking.md).
 *
 * Debt.  A peer of ours that has not heard of a connection's end waits for acks: one call tells it.
 * That is no state: a wish comes and goes while the debt stays, until a connection begins.
 */
#ifndef RDS_DIAL_H
#define RDS_DIAL_H

#include "../bug.h"
#include "../limits.h"
#include "../ref.h"
#include "../transport.h"

namespace rds
{

class Dial final
{
public:
	/* The circumstances in which a path has gone down, or is not to call yet. */
	struct Terms {
		unsigned int why; /* rds_drop_reason; RDS_DROP_NONE: path 0 has to be up first */
		bool waiting;	  /* a message that a socket here has sent is queued */
		bool initiates;	  /* this end calls by itself, and on this path */
		bool drained;	  /* both ends have ended in order: neither calls by itself */
		bool passive;	  /* no socket here has used the connection ... */
		bool stranger;	  /* ... nor has any got something from it */
		bool acks;	  /* the peer acknowledges, and waits for our acks */
		uint32_t least_ms, most_ms; /* the first pause but one, and the longest */
	};
	enum What : uint8_t {
		kRest, /* no timer: somebody has to want() */
		kTell, /* to call the peer that may not know of the end */
		kCall, /* to call the peer again */
	};
	struct Plan {
		What what;
		uint64_t in_ns; /* the time to arm the timer for */
	};

	/* A task needs the peer, and the path is down.  True: the caller posts kEvWant. */
	[[nodiscard]] RDS_INLINE bool want()
	{
		State idle = State::kIdle;

		return state_.compare_exchange(idle, State::kWanted);
	}
	/* A task could use the peer and has nothing for it yet: whether it may want() at @now. */
	[[nodiscard]] bool may_ask(uint64_t now);
	/* The peer has knocked at @now: whether it is to be called for that.  Not if it was just
	 * called for a knock, and answered nothing, or nonsense. */
	[[nodiscard]] bool heeds_knock(uint64_t now);

	/* -- in the path's worker -- */
	/* The path went down, or has nobody to lead it.  @look for its Terms comes when senders can
	 * see kIdle, and takes the queue's lock. */
	template <typename Look>
	[[nodiscard]] RDS_INLINE Plan ended(Look look)
	{
		state_.store(State::kIdle);
		return plan(look());
	}
	/* A call begins. */
	void begin()
	{
		bug_on(state_.load() == State::kBusy, "a call begins while there is another");
		state_.store(State::kBusy);
		calls_.fetch_add(1);
		attempts_.fetch_add(1);
	}
	/* A connection is up, be it that the peer has called. */
	void up()
	{
		state_.store(State::kBusy);
	}
	/* A path that stays down until somebody wants it anew. */
	void stop()
	{
		state_.store(State::kIdle);
	}
	/* The peer wants to be called: at once, and as often as if it had never been. */
	void knocked()
	{
		backoff_ms_ = 0;
		calls_.store(0);
	}
	/* The peer was of use on the connection that ended: the first pause is none, and its next
	 * knock is heeded. */
	void answered()
	{
		backoff_ms_ = 0;
		faults_ = 0;
		knocked_ns_.store(0);
	}
	/* A connection that ends was up for @ns. */
	void was_up(uint64_t ns)
	{
		if (ns < kSteadyNs)
			return;
		calls_.store(0);
		answered();
	}
	/* A connection begins, which tells the peer; or it is not the same peer any more. */
	void owe_nothing()
	{
		owes_.store(false);
	}

	uint64_t turn_ns = 0; /* the last turn that it took (Net::take_turn()); worker */

	/* -- snapshots, for any context -- */
	RDS_INLINE bool is_idle() const
	{
		return state_.load() == State::kIdle;
	}
	RDS_INLINE bool is_waiting() const
	{
		return state_.load() == State::kWaiting;
	}
	/* The peer is to be called once, though nobody wants it. */
	bool owes() const
	{
		return owes_.load();
	}
	/* Calls begun, and those of them since the peer knocked, or was up for long. */
	uint32_t attempts() const
	{
		return attempts_.load();
	}
	uint32_t calls() const
	{
		return calls_.load();
	}

private:
	enum class State : uint8_t { kIdle, kWanted, kWaiting, kBusy };

	Plan plan(const Terms &t);
	bool calls_unasked(const Terms &t) const;
	uint64_t next_pause_us(const Terms &t);
	uint64_t next_fault_pause_ns();

	Atomic<uint64_t> called_ns_;  /* the time at which may_ask() last said yes; 0: never */
	Atomic<uint64_t> knocked_ns_; /* heeds_knock() the same, since the peer was of use */
	Atomic<uint32_t> attempts_;
	Atomic<uint32_t> calls_;
	uint32_t backoff_ms_ = 0; /* the next pause is a random part of it; worker */
	AtomicEnum<State> state_;
	Atomic<bool> owes_;
	uint8_t faults_ = 0; /* connections that ended by nonsense, as far as pauses grow; worker */
};

} // namespace rds
#endif
