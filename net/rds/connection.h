/* SPDX-License-Identifier: GPL-2.0 */
/*
 * connection.h: the connection of a pair of addresses, as those see it that are part of it.
 *
 * Paths (path_fan.cc, docs/decisions/014-multipath.md).  A connection begins with path 0 alone.
 * More may be used when the hello of a peer of ours says so, and are when path 0 is full; each is
 * made when it first carries something:
 *
 *	one --kFanBlocks times no room on path 0--> gated
 *	gated --path 0 has delivered what it had--> fanned out
 *	gated, fanned out --the peer has another number, or is none of ours--> folding (path 0 ends)
 *	folding --every other path's queue is on path 0's--> one
 *
 * Which path carries a message follows from its port at one of the two ends (the same for both
 * directions, so that acks need no frames of their own) and n_paths; enqueue() asks under the
 * path's lock, so nothing is queued on the wrong side of a change.
 *
 * Paths, and the table of all connections (conn_table.h), are above this: here they have a name.
 * So a connection's dealings with its paths are declared here, and defined there (path_fan.cc,
 * conn_table.cc, conn_idle.cc, conn_strangers.cc).  Any context, where none is named; each field
 * says which lock is its own.
 */
#ifndef RDS_CONNECTION_H
#define RDS_CONNECTION_H

#include "hash.h"
#include "message.h"
#include "netns.h"
#include "result.h"
#include "tombs.h"
#include "transport.h"
#include "wire.h"

struct rds_path;

namespace rds
{
using Path = ::rds_path;
class CongMap;

/* The fate of a connection that is idle (conn_idle.cc).  Anybody may take kRetiring back;
 * nobody finds one that is kDying. */
enum class Fate : uint8_t { kWatched, kRetiring, kDying };
/* Why the sweep looks after a connection. */
enum class Care : uint8_t {
	kNone,
	kIdle, /* nothing was said for idle_timeout_ms */
	kGone, /* a stranger, and it is not there any more */
	kMute, /* a stranger that has not said one frame */
	kRoom, /* there are too many that only peers want */
};
} // namespace rds

struct rds_conn final {
	rds_conn(rds::Net &net, const struct rds_transport &t, const struct rds_addr &laddr,
		 const struct rds_addr &faddr, uint32_t scope, uint8_t tos)
		: refs(1), net(net), trans(t), laddr(laddr), faddr(faddr), scope(scope),
		  gen(rds_random() | 1), max_paths(t.max_paths), tos(tos),
		  by_sport(laddr.w[0] != faddr.w[0] ? laddr.w[0] < faddr.w[0]
						    : laddr.w[1] < faddr.w[1]),
		  agreed(1), n_paths(1)
	{
	}

	rds::HashNode node;
	rds::RefCount refs;
	struct rds_rcu_head rcu = {};
	rds::Net &net;
	const struct rds_transport &trans;
	const struct rds_addr laddr, faddr;
	const uint32_t scope; /* interface of link-local addresses */
	const uint32_t gen;   /* told to the peer: our paths' numbers begin with this object */
	const unsigned int max_paths; /* told to the peer: that we would use */
	const uint8_t tos;
	const bool by_sport; /* our end's port chooses the path; of one end it does */
	/* A peer made it and no socket has used it: counted in net.passive. */
	rds::Atomic<bool> passive;
	/* Powers of two; changed under path 0's lock. */
	rds::Atomic<uint32_t> agreed;  /* paths that both ends may use */
	rds::Atomic<uint32_t> n_paths; /* that we send on: 1, or as many */
	rds::Atomic<bool> orders;      /* the peer wants to know of flows (order.h) */
	rds::Atomic<uint32_t> waiting; /* messages that flows keep from its paths; raised under the
					* lock of their home, by which it retires or does not */
	rds::Atomic<bool> lends;       /* a message with lent pages was queued (RDS_CAP_ZEROCOPY) */
	rds::CongMap *lcong = nullptr; /* our own ports: sent to the peer */
	rds::CongMap *fcong = nullptr; /* the peer's ports: asked before sending */
	rds::Atomic<rds::Path *> paths[rds::kMaxPaths]; /* made when first used; path 0 at once */
	bool closing = false; /* no new ones; under ConnTable's lock for them */

	/* -- conn_idle.cc; the sweep's but for the first -- */
	rds::AtomicEnum<rds::Fate> fate;
	bool asked = false; /* its paths were, to retire */
	rds::Care care = rds::Care::kNone;
	uint64_t idle_mark = 0, silent_since_ns = 0; /* when a number was last sent or received */
	uint64_t idle_since_ns = 0; /* the same, or when it was last not ready to end */
	uint64_t not_before_ns = 0; /* when it is worth another look */
	bool idle_asked = false;    /* those of its paths that are up, to end in order */
	/* Evicted: it has been asked to end, or may in the midst of a call. */
	rds::Atomic<bool> urged;

	/* -- several paths (path_fan.cc) -- */
	/* Paths but the first hold messages back: older ones are on path 0.  Under its lock. */
	rds::Atomic<bool> gated;
	uint64_t fan_seq = 0;	       /* the last of those; under path 0's lock */
	uint32_t blocks = 0;	       /* times path 0 had no room; under its lock */
	rds::Atomic<bool> fold_wanted; /* as soon as path 0 is down */
	rds::Atomic<uint32_t> folding; /* paths whose queue is not on path 0's yet */
	uint64_t fold_seq = 0;	       /* where it is to go; under path 0's lock */

	/* The path of messages from port @sport to @dport, and of those back. */
	RDS_INLINE unsigned int index_for(uint16_t sport, uint16_t dport) const
	{
		uint32_t n = n_paths.load_acquire();

		if (n == 1)
			return 0;
		return ((by_sport ? sport : dport) * 0x9e3779b1u >> 29) & (n - 1);
	}
	/* nullptr: to be made first. */
	RDS_INLINE rds::Path *path_for(uint16_t sport, uint16_t dport) const
	{
		return paths[index_for(sport, dport)].load_acquire();
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
	rds::Result<rds::Path *> provide(unsigned int index);
	/* The first frame on @p's connection said @hello (of a peer of mainline's: nothing).
	 * False: this connection is not what @p takes it for, and ends.  Receiving. */
	bool met(rds::Path &p, const rds::wire::Hello &hello);
	/* Something left path 0's queue. */
	RDS_INLINE void look_at_gate()
	{
		if (RDS_UNLIKELY(gated.load()))
			open_gate();
	}
	/* The queues of the others go to path 0: messages sent meanwhile would go out twice. */
	RDS_INLINE bool is_folding() const
	{
		return fold_wanted.load_acquire() || folding.load_acquire();
	}
	/* Path 0 is down, and fold_wanted.  Its worker. */
	void begin_fold();
	/* A path has given up its queue.  That path's worker. */
	void folded();
	/* Those that are up find out whether the peer is still there.  With @waiting, those that
	 * have to call do, or ask path 0 to call first. */
	void nudge_others(bool waiting);
	/* It is needed: false if it ends, and another is to be looked up or made. */
	bool call_off();
	/* A socket uses it. */
	RDS_INLINE void claim()
	{
		if (RDS_UNLIKELY(passive.load()) && passive.exchange(false))
			net.passive.fetch_sub(1);
	}
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
	bool agree(uint32_t n, bool orders);
	void open_gate();
};

#endif
