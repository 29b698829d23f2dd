/* SPDX-License-Identifier: GPL-2.0 */
/*
 * attempt.h: plays plans in a process of their own, so that one that ends the process (a broken
 * rule of the seam, AddressSanitizer) is a result like any other.
 */
#ifndef RDS_TESTS_ATTEMPT_H
#define RDS_TESTS_ATTEMPT_H

#include <algorithm>
#include <functional>

#include "story.h"

namespace cli
{

constexpr unsigned int kRecoveries = 1 << 14;
/* Seconds of a processor that one play may take: whatever else the machine does. */
constexpr unsigned int kMostSeconds = 120;

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
/* A play begins: the process is ended if it takes more than kMostSeconds. */
void limit_time();
/* Notes why and ends the process. */
[[noreturn]] void give_up(Shared *sh, const std::string &why);

/* The kind of a failure: the part of the complaint that stays the same when the plan does not.
 */
std::string kind_of(const std::string &why);
/* Does @body fail, quietly, and in this way?  No for a play that did not end. */
bool fails_so(Shared *sh, const std::string &kind, void (*body)(void *arg), void *arg);

/* Leaves out large lots of @steps and then small ones, as long as the others go on failing (delta
 * debugging). */
template <typename Step>
void leave_out(std::vector<Step> &steps,
	       const std::function<bool(const std::vector<Step> &)> &still_fails)
{
	size_t size = std::max<size_t>(1, steps.size() / 2);

	for (bool any = true; size > 1 || any; size = std::max<size_t>(1, size / 2)) {
		any = false;
		for (size_t at = 0; at < steps.size();) {
			const auto from = steps.begin() + static_cast<long>(at);
			const auto n = static_cast<long>(std::min(size, steps.size() - at));
			std::vector<Step> less(steps.begin(), from);

			less.insert(less.end(), from + n, steps.end());
			if (still_fails(less)) {
				steps = std::move(less);
				any = true;
			} else {
				at += static_cast<size_t>(n);
			}
		}
	}
}

/* The smallest part of a plan that still fails in the same way: first steps are left out, then
 * hosts, then steps again. */
story::Plan shrink(Shared *sh, const story::Plan &plan, const std::string &why);

} // namespace cli
#endif
