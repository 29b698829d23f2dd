// SPDX-License-Identifier: GPL-2.0
/*
 * mem_account.cc: the rare part: a step is paid, or taken back.
 */
#include "mem_account.h"

namespace rds
{

/* Two at once may pay for the same bytes: what is too much is taken back as any other. */
Status MemAccount::pay(struct rds_socket *s, uint32_t more, enum rds_ctx ctx)
{
	uint64_t want = in_steps(used_.load() + more);
	uint64_t paid = paid_.load();

	if (want <= paid)
		return Status();

	uint32_t n = at_once(want - paid);

	switch (rds_socket_pay(s, n, ctx)) {
	case 0:
		paid_.fetch_add(n);
		return Status();
	case -err::kEagain:
		return Status();
	default:
		return Status::fail(err::kEnomem);
	}
}

void MemAccount::take_back(struct rds_socket *s)
{
	uint64_t want = in_steps(used_.load());
	uint64_t paid = paid_.load();
	uint32_t n = paid > want ? at_once(paid - want) : 0;

	if (!n || !paid_.compare_exchange(paid, paid - n))
		return;
	if (rds_socket_repay(s, n))
		paid_.fetch_add(n); /* the next who looks tries again */
}

void MemAccount::close(struct rds_socket *s)
{
	uint64_t paid = paid_.exchange(0);

	for (; paid; paid -= at_once(paid))
		bug_on(rds_socket_repay(s, at_once(paid)),
		       "somebody has a socket that is destroyed");
}

} // namespace rds
