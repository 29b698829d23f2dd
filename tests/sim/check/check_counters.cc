// SPDX-License-Identifier: GPL-2.0
#include "check_counters.h"

namespace check
{

void Counters::equal(const char *what, uint64_t counted, uint64_t known)
{
	if (counted != known && complaint_.empty())
		complaint_ = "counters: " + std::string(what) + " is " + std::to_string(counted) +
			     ", and should be " + std::to_string(known);
}

void Counters::life(const host::Net &net, uint64_t sent, uint64_t read, bool unread)
{
	for (unsigned int i = 0; i < RDS_STAT_COUNT; i++)
		sum_[i] += net.stat(static_cast<enum rds_stat>(i));
	equal("send_queued", net.stat(RDS_S_send_queued), sent);
	equal("recv_delivered", net.stat(RDS_S_recv_delivered), read);
	equal("recv_bytes_freed_fromsock", net.stat(RDS_S_recv_bytes_freed_fromsock),
	      net.stat(RDS_S_recv_bytes_added_to_sock));
	if (!unread)
		equal("recv_queued", net.stat(RDS_S_recv_queued), read);
}

/* A message that is taken back on its way is counted as cancelled, and may arrive all the same. */
void Counters::rest(bool alone, bool once)
{
	uint64_t ended = sum_[RDS_S_recv_queued] + sum_[RDS_S_send_cancelled] +
			 sum_[RDS_S_recv_drop_no_sock] + sum_[RDS_S_recv_drop_dead_sock];

	if (!alone)
		return;
	if (sum_[RDS_S_send_queued] > ended)
		equal("what was delivered, cancelled or dropped", ended, sum_[RDS_S_send_queued]);
	if (once && sum_[RDS_S_recv_queued] > sum_[RDS_S_send_queued])
		equal("recv_queued of all hosts", sum_[RDS_S_recv_queued], sum_[RDS_S_send_queued]);
}

} // namespace check
