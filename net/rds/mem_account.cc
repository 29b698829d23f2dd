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
	uint32_t want = in_steps(used_.load() + more);
	uint32_t paid = paid_.load();

	if (want <= paid)
		return Status();
	if (rds_socket_pay(s, want - paid, ctx))
		return ctx == RDS_MAY_SLEEP ? Status::fail(err::kEnomem) : Status();
	paid_.fetch_add(want - paid);
	return Status();
}

void MemAccount::take_back(struct rds_socket *s)
{
	uint32_t want = in_steps(used_.load());
	uint32_t paid = paid_.load();

	if (paid <= want || !paid_.compare_exchange(paid, want))
		return;
	if (rds_socket_repay(s, paid - want))
		paid_.fetch_add(paid - want); /* the next who looks tries again */
}

void MemAccount::close(struct rds_socket *s)
{
	uint32_t paid = paid_.exchange(0);

	if (paid && rds_socket_repay(s, paid))
		rds_bug("somebody has a socket that is destroyed");
}

} // namespace rds
