/* SPDX-License-Identifier: GPL-2.0 */
/*
 * calls.h: how often hosts that nobody here knows may call: so often by prefix, and so often in
 * all.
 *
 * Token buckets, before there is an object for the caller, and whatever becomes of the call: one
 * for each prefix (/24 of IPv4, /64 of IPv6; by kCallSlots hash values, and prefixes of one value
 * share a bucket), and one for all.  A bucket is one word: the time at which it would be full, if
 * each token took its time to come back; so nothing has to be filled up, and an idle one costs
 * nothing.
 *
 * A host that somebody here talks to, or that has brought something, or that an administrator has
 * named, is known (ConnTable::may_call()): it takes no token and is never refused, however many
 * strangers call.
 *
 * No lock: each word changes by compare-and-exchange.  Any context.
 */
#ifndef RDS_CALLS_H
#define RDS_CALLS_H

#include "shares.h"

namespace rds
{

class Calls final
{
public:
	/* A stranger calls at @now_ns.  False: one of the buckets is empty. */
	bool admit(const struct rds_addr &faddr, uint32_t scope, uint64_t now_ns,
		   const HashKey &key);

private:
	Atomic<uint32_t> prefixes_[kCallSlots], all_; /* kCallTickNs; wrap around */
};

} // namespace rds
#endif
