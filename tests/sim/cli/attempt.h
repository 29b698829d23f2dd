/* SPDX-License-Identifier: GPL-2.0 */
/*
 * attempt.h: plays plans in a process of their own, so that one that ends the process (a broken
 * rule of the seam, AddressSanitizer) is a result like any other.
 */
#ifndef RDS_TESTS_ATTEMPT_H
#define RDS_TESTS_ATTEMPT_H

#include "story.h"

namespace cli
{

constexpr unsigned int kRecoveries = 1 << 14;

/* Written by the child, read by both. */
struct Shared {
	uint64_t seed; /* under way */
	char why[400]; /* it failed, empty: it did not say */
	/* Sums over what has passed. */
	uint64_t seeds, sent, received, lost, cuts, cancels, failed_allocs, virtual_ns, history,
		ops, ops_done, overtaken;
	size_t peak_bytes;
	unsigned int edges;
	uint32_t recovered[kRecoveries]; /* seeds, by ms of recovery */
};

Shared *make_shared();
/* Forks; true when @body ran to its end.  @quiet: what it prints goes nowhere. */
bool in_child(Shared *sh, bool quiet, void (*body)(void *arg), void *arg);
/* Notes why and ends the process. */
[[noreturn]] void give_up(Shared *sh, const std::string &why);

/* The kind of a failure: the part of the complaint that stays the same when the plan does not.
 */
std::string kind_of(const std::string &why);

/*
 * The smallest part of a plan that still fails in the same way: first steps are left out, in large
 * lots and then small ones, then hosts, then steps again (delta debugging).
 */
story::Plan shrink(Shared *sh, const story::Plan &plan, const std::string &why);

} // namespace cli
#endif
