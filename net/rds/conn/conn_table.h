/* SPDX-License-Identifier: GPL-2.0 */
/*
 * conn_table.h: the table of a namespace's connections.
 *
 * A connection is found under RCU by every send that missed its socket's cache and made by the
 * first that finds none.  The table holds one reference; a sender that transmits and a transport
 * that accepts hold others for the time.  Sockets cache a plain pointer with the table's
 * generation, which every removal raises: an old generation means "look it up again".
 *
 * End: a connection dies in a turn of its worker, because it has retired or kill_all() said so.  A
 * grace period later, shared by all that died meanwhile, it is taken out of the table (reap()), and
 * its memory goes another one after the last reference.
 */
#ifndef RDS_CONN_TABLE_H
#define RDS_CONN_TABLE_H

#include "calls.h"
#include "../cong.h"
#include "connection.h"
#include "shares.h"
#include "tombs.h"
#include "../transports.h"

namespace rds
{

RDS_INLINE uint32_t hash_pair(const struct rds_addr &laddr, const struct rds_addr &faddr,
			      const HashKey &key)
{
	return hash_addr(faddr, hash_addr(laddr, 0, key), key);
}

/* Maps that have changed. */
enum MapChange : uint32_t { kMapOfOurs = 1 << 0, kMapOfPeers = 1 << 1 };

class ConnTable final
{
public:
	Status init(Net &net) RDS_SLEEPS;
	/* The connection that a socket or peer of transport @t uses for the pair: over @t itself,
	 * or over loopback when @t prefers that for local addresses; not one that leads astray.
	 * RCU reader. */
	Conn *find(const struct rds_transport &t, const struct rds_addr &laddr,
		   const struct rds_addr &faddr, uint32_t scope, uint8_t tos,
		   const HashKey &key) const RDS_READS(kRcu);
	/* As find(), but made when missing, and with a reference.  @user: whose socket is to send
	 * over it, and who has a connection more if it is made: it is used from here on.  nullptr:
	 * a peer calls.  Of those that only peers want there may be max_passive; beyond, the sweep
	 * makes room (conn_strangers.cc), and kPassiveRoom times as many are the end.  -ENOBUFS:
	 * too many; -EDQUOT: too many of @user; -EADDRNOTAVAIL: a socket of loopback's reaches this
	 * host only.  Process. */
	Result<Conn *> get(Net &net, const struct rds_transport &t, const struct rds_addr &laddr,
			   const struct rds_addr &faddr, uint32_t scope, uint8_t tos,
			   User *user) RDS_SLEEPS;
	/* @faddr calls; without @known, a stranger may be one too many.  Process. */
	bool may_call(const struct rds_transport &t, const struct rds_addr &laddr,
		      const struct rds_addr &faddr, uint32_t scope, bool known);
	/* Kills every connection, or those of @t, and waits until their memory is free: after it
	 * nothing calls into @t or points to the namespace.  Process; no new ones come. */
	void kill_all(const struct rds_transport *t) RDS_SLEEPS;
	/* Of an address of ours: those that are up send it.  Of a peer's, a port has cleared, and
	 * messages wait for some: they are queued again.  Any context (conn_maps.cc). */
	void map_changed(MapChange what);
	/* An address has come to this host or gone: connections that it leads astray are found no
	 * more.  Any context (conn_addrs.cc). */
	void addrs_changed();
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
	void outdate()
	{
		gen_.fetch_add(1);
	}
	/* -- of a connection's worker -- */
	/* @c's paths count no further.  -ENOMEM, -ENOBUFS: it cannot be forgotten now.  @owed: a
	 * tombstone is left. */
	Status leave_tomb(Conn &c, bool &owed) RDS_TURN;
	static bool gather_refused(Conn &c, const TombCount (&counts)[kMaxPaths],
				   TombPorts &ports) RDS_TURN;
	/* All its paths are dead. */
	void reap_later(Conn &c);

	/* Without those that are collected: they have nothing left.  RCU reader. */
	template <typename F>
	void for_each(F fn) const RDS_READS(kRcu)
	{
		table_.for_each([&](Conn &c) RDS_READS(kRcu) {
			if (!c.life.is_dying())
				fn(c);
		});
	}

	/* Those of for_each() between the two, of any transport, scope, TOS.  RCU reader. */
	template <typename F>
	void for_each_of(const struct rds_addr &laddr, const struct rds_addr &faddr,
			 const HashKey &key, F fn) const RDS_READS(kRcu)
	{
		(void)table_.find(hash_pair(laddr, faddr, key), [&](Conn &c) {
			if (same_addr(c.laddr, laddr) && same_addr(c.faddr, faddr) &&
			    !c.life.is_dying())
				fn(c);
			return false;
		});
	}
	/* for_each() in steps (HashTable::walk()).  RCU reader. */
	template <typename F>
	uint64_t walk(uint64_t pos, F fn) const RDS_READS(kRcu)
	{
		return table_.walk(pos, [&](Conn &c) RDS_READS(kRcu) {
			if (!c.life.is_dying())
				fn(c);
		});
	}

	/*
	 * -- the same, where @fn may sleep: between two connections nothing is held but a reference
	 * on the one that @fn has, and others may run.  They are met in the order of their
	 * addresses in memory, so one that is there all the time is met once.  Process --
	 */
	template <typename F>
	void visit_of(const struct rds_addr &laddr, const struct rds_addr &faddr,
		      const HashKey &key, F fn) const RDS_SLEEPS
	{
		visit_each([&](auto look) RDS_READS(kRcu) { for_each_of(laddr, faddr, key, look); },
			   fn);
	}
	/* Position behind the bucket at @pos, as large as the table is now. */
	uint64_t end_of(uint64_t pos) const
	{
		RcuReader rcu;

		return table_.walk(pos, [](const Conn &) {});
	}
	/* Those from @pos to @end, of which others' positions may come in between while the table
	 * grows.  A caller that comes again says the same @end: one bucket may be several then. */
	template <typename F>
	void visit(uint64_t pos, uint64_t end, F fn) const RDS_SLEEPS
	{
		visit_each(
			[&](auto look) RDS_READS(kRcu) {
				for (uint64_t at = pos; at < end;)
					at = walk(at, look);
			},
			fn);
	}
	template <typename F>
	uint64_t visit(uint64_t pos, F fn) const RDS_SLEEPS
	{
		const uint64_t end = end_of(pos);

		visit(pos, end, fn);
		return end;
	}

	/* Connections that have memory, by transport type: made and not yet freed. */
	Atomic<uint32_t> alive[kTransCount];
	/* Held to make a path, or to end the making of paths. */
	Mutex<RDS_RANK_TABLE> paths_lock;
	Tombs tombs;

private:
	static void sweep_timer_fn(struct rds_timer *t);
	static void sweep_fn(struct rds_work *w);
	static void reap_fn(struct rds_work *w);
	enum class Step : uint8_t { kMore, kPause, kEnd };
	void sweep();
	Step step();
	void look_at(Conn &c, uint64_t now);
	void await_next_pass();
	void hand_over(Conn &c, Care care);
	void reap() RDS_SLEEPS;
	/* conn_maps.cc */
	static void maps_fn(struct rds_work *w);
	void look_at_maps();
	/* conn_addrs.cc */
	static void addrs_timer_fn(struct rds_timer *t);
	static void addrs_fn(struct rds_work *w);
	void look_at_addrs() RDS_SLEEPS;
	/* conn_strangers.cc */
	uint32_t excess() const;
	uint32_t share() const;
	void prepare() RDS_SLEEPS;
	void rank(const Conn &c, uint64_t now);
	bool make_room();
	void evict(Conn &c, uint64_t now);
	Status admit_passive(Conn &c);
	Result<Conn *> find_or_make(Net &net, const struct rds_transport &t,
				    const struct rds_addr &laddr, const struct rds_addr &faddr,
				    uint32_t scope, uint8_t tos, User *user) RDS_SLEEPS;
	Result<Conn *> make(Net &net, const struct rds_transport &t, const struct rds_addr &laddr,
			    const struct rds_addr &faddr, uint32_t scope, uint8_t tos,
			    User *user) RDS_SLEEPS;
	Status take_share(Conn &c, User &user) RDS_SLEEPS;
	Conn *kill(const struct rds_transport *t) RDS_SLEEPS;
	bool any_alive(const struct rds_transport *t) const;

	/* A pass of the sweep over the table; its work's own. */
	struct Pass {
		uint64_t at = 0;		     /* as HashTable::walk() has it */
		uint32_t handed_over = 0;	     /* since the last pause */
		uint32_t going = 0;		     /* that only peers want, and end anyway */
		uint32_t ranks[Shares::kRanks] = {}; /* that may be evicted; then: that are */
		Shares *shares = nullptr;	     /* there were too many, and memory */
		bool makes_room = false, evicts = false;
	};

	/* A round over the table after maps have changed; its work's own. */
	struct Round {
		uint64_t at = 0, left = 0; /* as HashTable::walk() has it */
		uint32_t what = 0;	   /* MapChange */
	};

	/* Of those that @each gives the one behind @last (nullptr: the first), with a reference. */
	template <typename Each>
	static Conn *next_of(Each each, const Conn *last)
	{
		RcuReader rcu;
		Conn *next;

		do {
			next = nullptr;
			each([&](Conn &c) {
				if (is_behind(&c, last) && (!next || is_behind(next, &c)))
					next = &c;
			});
			last = next; /* one that nobody has is gone */
		} while (next && !next->refs.get_unless_zero());
		return next;
	}
	static bool is_behind(const Conn *c, const Conn *last)
	{
		return reinterpret_cast<uintptr_t>(c) > reinterpret_cast<uintptr_t>(last);
	}
	template <typename Each, typename F>
	static void visit_each(Each each, F fn) RDS_SLEEPS
	{
		Conn *next;

		for (Conn *c = next_of(each, nullptr); c; c = next) {
			fn(*c);
			next = next_of(each, c);
			c->put();
			let_others_run();
		}
	}

	HashTable<Conn, &Conn::node> table_;
	Atomic<uint64_t> gen_;
	Net *net_ = nullptr;
	Pass pass_;
	Calls calls_;
	struct rds_work sweep_work_;
	struct rds_timer sweep_timer_;
	Round round_;
	Atomic<uint32_t> maps_due_; /* MapChange, since the round began */
	struct rds_work maps_work_;
	Atomic<uint64_t> addrs_settle_; /* ns: until then the host's addresses may still change */
	struct rds_work addrs_work_;
	struct rds_timer addrs_timer_;
	struct rds_work reap_work_;
	Atomic<Conn *> dead_;	/* with a reference each; by next_dead */
	Atomic<bool> sweeping_; /* the timer is armed, or the work runs */
	Atomic<bool> hurried_;	/* somebody has called hurry() since the last run */
	Atomic<bool> swept_;	/* for good */
};

} // namespace rds
#endif
