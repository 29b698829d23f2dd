/* SPDX-License-Identifier: GPL-2.0 */
/*
 * connection.h: the connection of a pair of addresses, and the table of them.
 *
 * A connection is found under RCU by every send that missed its socket's cache and made by the
 * first that finds none.  The table holds one reference; a sender that transmits and a transport
 * that accepts hold others for the time.  Sockets cache a plain pointer with the table's
 * generation, which every removal raises: an old generation means "look it up again".
 *
 * End: kill_all() takes it out of the table, raises the generation, drives every path to kDead, and
 * drops the table's reference; the memory goes a grace period after the last one.
 */
#ifndef RDS_CONNECTION_H
#define RDS_CONNECTION_H

#include "path.h"
#include "transports.h"

struct rds_conn final {
	rds_conn(rds::Net &net, const struct rds_transport &t, const struct rds_addr &laddr,
		 const struct rds_addr &faddr, uint32_t scope, uint8_t tos)
		: refs(1), net(net), trans(t), laddr(laddr), faddr(faddr), scope(scope),
		  gen(rds_random() | 1), tos(tos)
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
	const uint8_t tos;
	/* A peer made it and no socket has used it: counted in net.passive. */
	rds::Atomic<uint8_t> passive;
	uint8_t n_paths = 1; /* in use */
	rds::CongMap *lcong = nullptr; /* our own ports: sent to the peer */
	rds::CongMap *fcong = nullptr; /* the peer's ports: asked before sending */
	rds::Path *paths[rds::kMaxPaths] = {}; /* made when first used; path 0 at once */

	/* The path that carries what @s sends. */
	RDS_INLINE rds::Path &path_for(const rds::Socket &s)
	{
		(void)s;
		return *paths[0];
	}
	/* A socket uses it. */
	RDS_INLINE void claim();
	void put();
};

namespace rds
{
using Conn = ::rds_conn;

class ConnTable final
{
    public:
	Status init()
	{
		return table_.init();
	}
	/* The connection that a socket or peer of transport @t uses for the pair: over @t itself,
	 * or over loopback when @t prefers that for local addresses.  RCU reader. */
	Conn *find(const struct rds_transport &t, const struct rds_addr &laddr,
		   const struct rds_addr &faddr, uint32_t scope, uint8_t tos,
		   uint32_t seed) const;
	/* Who needs a connection: a socket that sends, or a peer that calls.  Of those that only
	 * peers want there are max_passive at most. */
	enum class For { kSocket, kPeer };
	/* As find(), but made when missing, and with a reference.  -ENOBUFS: too many.  Process. */
	Result<Conn *> get(Net &net, const struct rds_transport &t, const struct rds_addr &laddr,
			   const struct rds_addr &faddr, uint32_t scope, uint8_t tos, For whom);
	/* Kills every connection, or those of @t, and waits until their memory is free: after it
	 * nothing calls into @t or points to the namespace.  Process; no new ones come. */
	void kill_all(const struct rds_transport *t);
	/* Posts a transmission on every connection from @laddr that sends congestion maps. */
	void kick_laddr(const struct rds_addr &laddr);
	/* Raised by every removal: cached pointers of before are void. */
	uint64_t generation() const
	{
		return gen_.load_acquire();
	}
	/* RCU reader. */
	template <typename F>
	void for_each(F fn) const
	{
		table_.for_each(fn);
	}

	/* Connections that have memory, by transport type: made and not yet freed. */
	Atomic<uint32_t> alive[kTransCount];

    private:
	Result<Conn *> make(Net &net, const struct rds_transport &t,
			    const struct rds_addr &laddr, const struct rds_addr &faddr,
			    uint32_t scope, uint8_t tos, For whom);
	unsigned int pick_victims(const struct rds_transport *t, Conn **out);
	void kill_batch(Conn **victims, unsigned int n);
	bool any_alive(const struct rds_transport *t) const;

	HashTable<Conn, &Conn::node> table_;
	Atomic<uint64_t> gen_;
};

/* The transport that carries from @t's sockets at @laddr to @faddr: @t, or loopback.  Takes a
 * module reference that the caller drops.  -EADDRNOTAVAIL.  Process (transport.cc). */
Result<const struct rds_transport *> transport_for(struct rds_os_net *os,
						   const struct rds_transport &t,
						   const struct rds_addr &laddr,
						   const struct rds_addr &faddr, uint32_t scope);

} // namespace rds
#endif
