/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fabric_parts.h: what fabric.cc (connections, faults) and fabric_works.cc (work requests) share.
 */
#ifndef RDS_TESTS_FABRIC_PARTS_H
#define RDS_TESTS_FABRIC_PARTS_H

#include <set>

#include "fabric.h"
#include "sim.h"

namespace fabric
{

constexpr uint64_t kMs = 1000 * 1000;
/* A packet that gets no answer at all is sent again after this, so often. */
constexpr uint64_t kResendNs = 100 * kMs;
constexpr unsigned int kMaxTries = 4;

struct Listening {
	struct rds_addr addr;
	Listener *listener;
};

struct State {
	Params params;
	std::vector<Listening> listeners;
	std::vector<std::weak_ptr<Pair>> pairs;
	std::set<network::HostId> without_device;
	uint32_t number = 0;
	uint64_t not_ready = 0, works = 0;
	unsigned int fail_in = 0;
};
State &state();

/* From that end to the other one. */
uint64_t delay(const Pair &p, unsigned int from);
bool passes(const Pair &p, unsigned int from);

/* ---- locked ---- */
/* The user looks at its completions, in a moment. */
void raise(const Ref &p, unsigned int side);
/* To error; @status: the adapter says how its oldest work request ended. */
void die(const Ref &p, unsigned int side, int status = 0);
/* Sends what is posted, if that is not under way. */
void move(const Ref &p, unsigned int side);

/* Nothing came back for what @side sent: @again, unless that was the last try. */
template <typename F>
void again_later(const Ref &p, unsigned int side, F again)
{
	Qp &q = p->qp[side];

	if (q.tries++ < kMaxTries)
		sim::after(kResendNs, "again", again);
	else
		die(p, side);
}

} // namespace fabric
#endif
