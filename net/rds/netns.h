/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netns.h: a network namespace as every room knows it: its owner, its counters and its settings.
 * There are no global tables: what is looked up by address is looked up in one of a namespace, so
 * two namespaces may use the same addresses and ports.  The tables are whole in their own rooms;
 * here they have a name, and net.h has them all.
 *
 * Created before the first socket of the namespace, destroyed after the last one is gone.  No lock:
 * what changes is atomic.  Any context.
 */
#ifndef RDS_NETNS_H
#define RDS_NETNS_H

#include "assembly.h"
#include "hash.h"
#include "limits.h"
#include "list.h"
#include "rds_core.h"
#include "ref.h"
#include "users.h"

namespace rds
{
using Net = ::rds_net;
class BindTable;
class ConnTable;
class CongTable;
} // namespace rds

struct rds_net {
	rds_net(struct rds_os_net *os, struct rds_stats *st, rds::BindTable &bind,
		rds::ConnTable &conns, rds::CongTable &cong)
		: os(os), stats(st), key(rds::new_hash_key()), assembly(key), bind(bind),
		  conns(conns), cong(cong)
	{
	}
	rds_net(const rds_net &) = delete;
	rds_net &operator=(const rds_net &) = delete;

	struct rds_os_net *const os;
	struct rds_stats *const stats;
	const rds::HashKey key; /* of the tables' hashes */
	struct rds_tunables tun = {
		.reconnect_min_ms = 1,
		.reconnect_max_ms = 1000,
		.max_unacked_packets = 8,
		.max_unacked_bytes = 16 << 20,
		.ping_enable = 1,
		.max_passive = 4096,
		.idle_timeout_ms = 300 * 1000,
		.unprivileged_port_start = 0,
		.recv_spill_bytes = RDS_RECV_SPILL_BYTES,
		.max_user_sockets = rds::kUserSockets,
		.max_user_conns = rds::kUserConns,
	};
	rds::Atomic<uint32_t> passive;	    /* connections with rds_conn.passive */
	rds::Atomic<uint32_t> trace_users;  /* sockets that want RXPATH_LATENCY: 0: no clock */
	rds::Atomic<uint64_t> next_turn_ns; /* the time of the next turn that nobody has taken */
	rds::Atomic<bool> dying;	    /* no new connections */
	rds::Atomic<uint64_t> first_seq{1}; /* of connections, see ConnTable::first_seq() */
	rds::Atomic<uint64_t> log_after_ns; /* what peers bring about is not told again before */
	rds::Assembly assembly;		    /* memory of messages that are not whole */
	rds::Users users;		    /* what each has of this */
	rds::ListNode all_link;		    /* on the list of namespaces (net.cc) */

	rds::BindTable &bind;
	rds::ConnTable &conns;
	rds::CongTable &cong;

	/* A path is down, and is to call in @pause ns: it takes a turn, @mine.  How long it has to
	 * wait, which is more only if very many have taken theirs.  A turn that is yet to come is
	 * still the path's: it has called before, because its peer knocked, and a peer that knocks
	 * all the time must not take the turns of all others. */
	uint64_t take_turn(uint64_t pause, uint64_t &mine)
	{
		const uint64_t now = rds_now_ns();
		uint64_t turn = next_turn_ns.load();

		if (mine <= now) {
			do
				mine = turn > now ? turn : now;
			while (!next_turn_ns.compare_exchange(turn, mine + rds::kTurnNs));
		}
		return mine - now > pause ? mine - now : pause;
	}
	RDS_INLINE void count(enum rds_stat id, uint64_t n = 1)
	{
		rds_stat_add(stats, id, n);
	}
};

#endif
