/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_counters.h: what the core counts is what its applications did.
 *
 * Of each life of a host, when all its sockets are closed: as many messages queued for sending as
 * sends succeeded, as many delivered as were read, what the receive queues hold is nothing.  Of all
 * hosts together: nothing that was queued is unaccounted for.
 */
#ifndef RDS_TESTS_CHECK_COUNTERS_H
#define RDS_TESTS_CHECK_COUNTERS_H

#include <cstdint>
#include <string>

#include "host.h"

namespace check
{

class Counters final
{
public:
	/* A life of @net is over: its applications made @sent sends that succeeded, read @read
	 * messages, and may have closed with some @unread. */
	void life(const host::Net &net, uint64_t sent, uint64_t read, bool unread);
	/* All lives are over.  @alone: no host spoke to others than ours; @once: none booted again.
	 */
	void rest(bool alone, bool once);
	const std::string &complaint() const
	{
		return complaint_;
	}

private:
	void equal(const char *what, uint64_t counted, uint64_t known);

	uint64_t sum_[RDS_STAT_COUNT] = {};
	std::string complaint_;
};

} // namespace check
#endif
