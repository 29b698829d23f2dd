/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net.h: everything of one network namespace.  There are no global tables: what is looked up by
 * address is looked up here, so two namespaces may use the same addresses and ports.
 *
 * Created before the first socket of the namespace, destroyed after the last one is gone.
 */
#ifndef RDS_NET_H
#define RDS_NET_H

#include "bind.h"
#include "cong.h"
#include "connection.h"
#include "rds_core.h"

struct rds_net final {
	rds_net(struct rds_os_net *os, struct rds_stats *st) : os(os), stats(st), seed(rds_random())
	{
	}

	struct rds_os_net *const os;
	struct rds_stats *const stats;
	const uint32_t seed; /* of the tables' hashes */
	struct rds_tunables tun = {
		.reconnect_min_ms = 1,
		.reconnect_max_ms = 1000,
		.max_unacked_packets = 8,
		.max_unacked_bytes = 16 << 20,
		.ping_enable = 1,
		.max_passive = 4096,
		.idle_timeout_ms = 300 * 1000,
		.recv_spill_bytes = rds::kRecvSpillBytes,
	};
	rds::Atomic<uint32_t> passive; /* connections with rds_conn.passive */
	rds::Atomic<bool> dying;       /* no new connections */
	rds::ListNode all_link;	       /* on the list of namespaces (transport.cc) */

	rds::BindTable bind;
	rds::ConnTable conns;
	rds::CongTable cong;

	RDS_INLINE void count(enum rds_stat id, uint64_t n = 1)
	{
		rds_stat_add(stats, id, n);
	}
};

RDS_INLINE void rds_conn::claim()
{
	if (RDS_UNLIKELY(passive.load()) && passive.exchange(false))
		net.passive.fetch_sub(1);
}

namespace rds
{
using Net = ::rds_net;
/* Sockets that want RXPATH_LATENCY: 0 keeps clock reads off the data path. */
extern Atomic<uint32_t> trace_users;
} // namespace rds
#endif
