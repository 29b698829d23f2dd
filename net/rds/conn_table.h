/* SPDX-License-Identifier: GPL-2.0 */
/*
 * conn_table.h: the table of a namespace's connections.
 *
 * A connection is found under RCU by every send that missed its socket's cache and made by the
 * first that finds none.  The table holds one reference; a sender that transmits and a transport
 * that accepts hold others for the time.  Sockets cache a plain pointer with the table's
 * generation, which every removal raises: an old generation means "look it up again".
 *
 * End: kill_all() takes it out of the table, raises the generation, drives every path to kDead, and
 * drops the table's reference; the memory goes a grace period after the last one.
 */
#ifndef RDS_CONN_TABLE_H
#define RDS_CONN_TABLE_H

#include "cong.h"
#include "connection.h"
#include "tombs.h"
#include "transports.h"

namespace rds
{

class ConnTable final
{
public:
	Status init(Net &net);
	/* The connection that a socket or peer of transport @t uses for the pair: over @t itself,
	 * or over loopback when @t prefers that for local addresses.  RCU reader. */
	Conn *find(const struct rds_transport &t, const struct rds_addr &laddr,
		   const struct rds_addr &faddr, uint32_t scope, uint8_t tos, uint32_t seed) const;
	/* The side that needs a connection: a socket that sends, or a peer that calls.  Of those
	 * that only peers want there may be max_passive; beyond, the sweep makes room
	 * (conn_strangers.cc), and kPassiveRoom times as many are the end. */
	enum class For { kSocket, kPeer };
	/* As find(), but made when missing, and with a reference.  -ENOBUFS: too many.  Process. */
	Result<Conn *> get(Net &net, const struct rds_transport &t, const struct rds_addr &laddr,
			   const struct rds_addr &faddr, uint32_t scope, uint8_t tos, For whom);
	/* Kills every connection, or those of @t, and waits until their memory is free: after it
	 * nothing calls into @t or points to the namespace.  Process; no new ones come. */
	void kill_all(const struct rds_transport *t);
	/* Posts a transmission on every connection from @laddr that sends congestion maps. */
	void kick_laddr(const struct rds_addr &laddr);
	/* A port of @map has cleared, and messages wait for some. */
	void port_cleared(const CongMap &map);
	/* Looks after idle connections (conn_idle.cc).  From the first that is made ... */
	void start_sweep();
	/* ... until kill_all(): no sweep runs or will.  Process. */
	void stop_sweep();
	/* Somebody is gone, or too many are there: the sweep comes soon.  Any context. */
	void hurry();
	/* No connection before this one had this number, or a higher one, on the way to any peer
	 * that does not know one connection's numbers from another's. */
	uint64_t first_seq() const
	{
		return net_->first_seq.load();
	}
	/* Raised by every removal: cached pointers of before are void. */
	uint64_t generation() const
	{
		return gen_.load_acquire();
	}
	/* Without those that are collected: they have nothing left.  RCU reader. */
	template <typename F>
	void for_each(F fn) const
	{
		table_.for_each([&](Conn &c) {
			if (c.fate.load() != Fate::kDying)
				fn(c);
		});
	}

	/* Connections that have memory, by transport type: made and not yet freed. */
	Atomic<uint32_t> alive[kTransCount];
	/* Held to make a path, or to end the making of paths. */
	Mutex<RDS_RANK_TABLE> paths_lock;
	Tombs tombs;

private:
	static void sweep_timer_fn(struct rds_timer *t);
	static void sweep_fn(struct rds_work *w);
	void sweep();
	unsigned int pick();
	bool take(Conn &c, unsigned int &n);
	bool look_after(Conn &c);
	bool part(Conn &c);
	bool condemn(Conn &c);
	void keep(Conn &c);
	void bury(unsigned int n);
	/* conn_strangers.cc */
	uint32_t excess() const;
	unsigned int pick_evicted(unsigned int n);
	void urge(Conn &c);
	Status leave_tomb(Conn &c, bool &owed);
	Status admit_passive(Conn &c);
	Result<Conn *> make(Net &net, const struct rds_transport &t, const struct rds_addr &laddr,
			    const struct rds_addr &faddr, uint32_t scope, uint8_t tos, For whom);
	unsigned int pick_victims(const struct rds_transport *t, Conn **out);
	void kill_batch(Conn **victims, unsigned int n);
	bool any_alive(const struct rds_transport *t) const;

	HashTable<Conn, &Conn::node> table_;
	Atomic<uint64_t> gen_;
	Net *net_ = nullptr;
	struct rds_work sweep_work_;
	struct rds_timer sweep_timer_;
	Conn *picked_[kSweepBatch]; /* what one run looks after, with a reference each; its own */
	Atomic<bool> sweeping_;	    /* the timer is armed, or the work runs */
	Atomic<bool> hurried_;	    /* somebody has called hurry() since the last run */
	Atomic<bool> swept_;	    /* for good */
};

} // namespace rds
#endif
