/* SPDX-License-Identifier: GPL-2.0 */
/*
 * connection.h: the connection of a pair of addresses, as those see it that are part of it.
 *
 * One worker (conn_worker.cc, docs/decisions/025-one-worker.md).  Dial, accept, end, fold, retire
 * and death of all paths of a connection are turns of its work item, so no two of them meet.  What
 * only they may touch is guarded by kWorker (rights.h).  Everybody else posts events.
 * Transmitting is no turn: it goes on beside the worker, by each path's token.
 *
 * Paths (fan.h).  A connection begins with path 0 alone.  More may be used when the hello of a peer
 * of ours says so, and are when path 0 is full; each is made when it first carries something.
 *
 * Life (lifecycle.h).  A connection that nobody uses is collected; the sweep finds it
 * (conn_idle.cc), its worker decides.
 *
 * Paths, and the table of all connections (conn_table.h), are above this: here they have a name.
 * So a connection's dealings with its paths are declared here, and defined there (path_fan.cc,
 * conn_worker.cc, conn_table.cc, conn_strangers.cc).  Any context, where none is named; each field
 * says which lock is its own.
 */
#ifndef RDS_CONNECTION_H
#define RDS_CONNECTION_H

#include "fan.h"
#include "../hash.h"
#include "lifecycle.h"
#include "../message.h"
#include "../netns.h"
#include "../result.h"
#include "tombs.h"
#include "../transport.h"
#include "../wire.h"

struct rds_path;

namespace rds
{
using Path = ::rds_path;
class CongMap;
} // namespace rds

struct rds_conn final {
	rds_conn(rds::Net &net, const struct rds_transport &t, const struct rds_addr &laddr,
		 const struct rds_addr &faddr, uint32_t scope, uint8_t tos);

	rds::HashNode node;
	rds::RefCount refs;
	rds::Atomic<uint32_t>
		waiting; /* messages that flows keep from its paths; raised under the
			  * lock of their home, where it is called off (lifecycle.h) */
	union {
		struct rds_rcu_head rcu = {}; /* after the last reference */
		rds_conn *next_dead;	      /* waits to be reaped, with one (conn_table.h) */
	};
	rds::Net &net;
	const struct rds_transport &trans;
	const struct rds_addr laddr, faddr;
	const uint32_t scope; /* interface of link-local addresses, or of the one that is; or 0 */
	const uint32_t gen;   /* told to the peer: our paths' numbers begin with this object */
	const unsigned int max_paths; /* told to the peer: that we would use */
	const uint8_t tos;
	rds::User *user = nullptr; /* whose socket made it; nullptr: a peer did */
	bool closing = false;	   /* no new paths; under ConnTable's lock for them */
	/* A peer made it and no socket has used it: counted in net.passive. */
	rds::Atomic<bool> passive;
	rds::Atomic<bool> astray;      /* no sender is to take it (conn_addrs.cc) */
	rds::Atomic<bool> orders;      /* the peer wants to know of flows (order.h) */
	rds::Atomic<bool> lends;       /* a message with lent pages was queued (RDS_CAP_ZEROCOPY) */
	rds::CongMap *lcong = nullptr; /* our own ports: sent to the peer; a reference */
	rds::CongMap *fcong = nullptr; /* the peer's: asked before sending; a reference */
	rds::Atomic<rds::Path *> paths[rds::kMaxPaths]; /* made when first used; path 0 at once */
	rds::Fan fan;					/* changed under path 0's lock */
	rds::Lifecycle life;

	/* nullptr: to be made first. */
	RDS_INLINE rds::Path *path_for(uint16_t sport, uint16_t dport) const
	{
		return paths[fan.index_for(sport, dport)].load_acquire();
	}
	RDS_INLINE rds::Path &first() const
	{
		return *paths[0].load();
	}
	template <typename F>
	void for_each_path(F fn) const
	{
		for (const auto &p : paths)
			if (rds::Path *path = p.load_acquire())
				fn(*path);
	}
	/* Messages move from the others to path 0 and never back: who walks like this meets all. */
	template <typename F>
	void for_each_path_as_messages_move(F fn) const
	{
		for (unsigned int i = rds::kMaxPaths; i-- > 0;)
			if (rds::Path *path = paths[i].load_acquire())
				fn(*path);
	}
	/* Path @index, made if need be.  -ENOMEM; -ENETUNREACH: the connection ends.  Process. */
	rds::Result<rds::Path *> provide(unsigned int index) RDS_SLEEPS;
	/* The first frame on @p's connection said @hello (of a peer of mainline's: nothing).
	 * False: this connection is not what @p takes it for, and ends. */
	bool on_hello(rds::Path &p, const rds::wire::Hello &hello) RDS_REQUIRES(rds::kReceiver);
	/* Something left path 0's queue. */
	RDS_INLINE void look_at_gate()
	{
		if (RDS_UNLIKELY(fan.is_gated()))
			open_gate();
	}
	/* Those that are up find out whether the peer is still there.  With @waiting, those that
	 * have to call do, or ask path 0 to call first. */
	void nudge_others(bool waiting);
	/* Both ends are on this host. */
	bool is_local() const
	{
		return trans.caps & RDS_CAP_SHARED_CONG;
	}
	/* The interface as a part of our address, and of the peer's. */
	RDS_INLINE uint32_t local_scope() const
	{
		return rds::scope_of(laddr, scope);
	}
	RDS_INLINE uint32_t far_scope() const
	{
		return rds::scope_of(faddr, scope);
	}
	/* A socket here sends over it, or is about to: it is no stranger's any more. */
	void use();
	/* It is not counted as passive any more. */
	RDS_INLINE void claim()
	{
		if (RDS_UNLIKELY(passive.load()) && passive.exchange(false))
			rds::count_down(net.passive, "a passive connection was not counted");
	}

	/* -- conn_worker.cc -- */
	/* The namespace or the transport goes: it dies.  Any context. */
	void kill();
	/* One of its paths has events, or gave its token back; or the sweep has handed it over. */
	void wake_worker();
	bool is_dead() const /* all its paths are */
	{
		return dead_.load();
	}
	/* Until the turns have been made of what was posted.  Process. */
	void await_turn();
	/* It is dead, and a grace period over: nothing of it runs any more.  Process. */
	void reap() RDS_SLEEPS;

	/* -- conn_strangers.cc -- */
	/* It is not to stay for long: the sweep comes soon.  Any context. */
	void hurry();
	/* A message from it has reached a socket here. */
	bool has_reached() const;
	/* Nobody here has sent over it, and nobody has got anything. */
	bool is_stranger() const
	{
		return passive.load() && !has_reached();
	}
	rds::TombKey tomb_key() const
	{
		return {laddr, faddr, scope, tos, static_cast<uint8_t>(trans.type)};
	}
	void put();

private:
	/* conn_worker.cc */
	static void work_fn(struct rds_work *w);
	void run() RDS_TURN;
	bool quiesce_from(unsigned int index) RDS_TURN;
	bool fold_if_due() RDS_TURN;
	void fold() RDS_TURN;
	bool die() RDS_TURN;
	enum class Draining : uint8_t { kStays, kEnding, kDrained };
	void look_after() RDS_TURN;
	Draining drain(rds::Care care, bool first) RDS_TURN;
	void evict(rds::Care care, uint64_t now) RDS_TURN;
	bool is_other_end_up() const RDS_TURN;
	bool retire(rds::Care care) RDS_TURN;
	/* path_fan.cc */
	bool agree(uint32_t n, bool orders);
	bool doubt_others();
	void open_gate();

	rds::Atomic<bool> killed_; /* it dies as soon as no sender is at it */
	rds::Atomic<bool> dead_;   /* all paths are */
	struct rds_work work_;
};

#endif
