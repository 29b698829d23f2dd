// SPDX-License-Identifier: GPL-2.0
/*
 * dial.cc: whether a path that is down calls, and when.
 */
#include "dial.h"

namespace rds
{
namespace
{

constexpr uint64_t kNsPerUs = 1000;

/* Was the last yes, at @last, @pause ago?  Tasks that ask together may both be told yes: the second
 * finds nothing to do. */
bool once_in(uint64_t pause, Atomic<uint64_t> &last, uint64_t now)
{
	uint64_t then = last.load();

	if (then && now - then < pause)
		return false;
	last.store(now);
	return true;
}

} // namespace

bool Dial::may_ask(uint64_t now)
{
	return once_in(kCallPauseNs, called_ns_, now);
}

bool Dial::heeds_knock(uint64_t now)
{
	return once_in(kKnockAgainNs, knocked_ns_, now);
}

Dial::Plan Dial::plan(const Terms &t)
{
	if (!t.waiting && !calls_unasked(t)) {
		/* A peer that has not heard of the end waits for acks: one call tells it.  One that
		 * has not answered an end in order is to be asked whether it drains. */
		bool unanswered = t.why == RDS_DROP_IDLE && !t.drained;
		bool broken = t.why == RDS_DROP_ERROR || t.why == RDS_DROP_ADMIN;

		if (!t.acks || !(broken || unanswered))
			return {kRest, 0};
		owes_.store(true); /* also if path 0 has to be up first */
		return {kTell, kOwedPauseNs};
	}
	state_.store(State::kWaiting);

	if (t.why == RDS_DROP_PROTOCOL)
		return {kCall, next_fault_pause_ns()};

	uint64_t pause_us = next_pause_us(t);

	return {kCall, t.why == RDS_DROP_KNOCKED ? kKnockPauseNs : pause_us * kNsPerUs};
}

/* With nothing to send.  A stranger (conn_strangers.cc) is called back kStrangerCalls times for a
 * knock, and then forgotten; a host that has brought something and is not there, kKnownCalls. */
bool Dial::calls_unasked(const Terms &t) const
{
	bool unwanted = (t.passive && t.why == RDS_DROP_EVICTED) ||
			(t.stranger && calls_.load() >= kStrangerCalls) ||
			(t.passive && calls_.load() >= kKnownCalls);

	return t.initiates && !t.drained && !unwanted;
}

/* At once the first time, then a random part of a pause that doubles from least_ms to most_ms until
 * the peer was of use. */
uint64_t Dial::next_pause_us(const Terms &t)
{
	/* In microseconds: a random part of one millisecond would be none at all, for ever. */
	uint64_t pause_us = backoff_ms_ ? rds_random() % (backoff_ms_ * 1000u) : 0;

	backoff_ms_ = backoff_ms_ ? backoff_ms_ * 2 : t.least_ms;
	if (backoff_ms_ > t.most_ms)
		backoff_ms_ = t.most_ms;
	return pause_us;
}

/* A peer that says nonsense will say it again, however often it knocks. */
uint64_t Dial::next_fault_pause_ns()
{
	const uint64_t pause = kFaultPauseNs << faults_;

	if (pause >= kMaxFaultPauseNs)
		return kMaxFaultPauseNs;
	faults_++;
	return pause;
}

} // namespace rds
