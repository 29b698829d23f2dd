/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cong.h: congestion maps: which ports of an address have a full receive queue.
 *
 * One map per address, scope, owner and namespace: a link-local address is another one on each
 * interface, ours on the one and a neighbour's on the other.  Connections and sockets ask with the
 * scope that they have (bind.h), so both mean the same ports.  The bits of ours are set and cleared
 * by the sockets bound there (socket_recv.cc), and every connection from that address carries the
 * map to its peer: each change raises the map's version, each path 0 remembers the version it sent
 * last (map_news.h), and the map which ports its last changes were of.  The bits of a peer's are
 * what the peer sent.  An address that has moved is ours and that of a peer until the last of its
 * connections has ended, and has two maps.  Over a transport with RDS_CAP_SHARED_CONG both ends
 * have the map of ours, and nothing is sent.
 *
 * A sender that meets a set bit becomes a waiter of (map, port); when the bit clears, the waiters
 * of that port are looked up and woken, and nobody else.  A socket that waits for too many ports is
 * woken when any port clears.  Sockets with a congestion monitor are told about every port of their
 * mask, of addresses that a socket here has sent to: a stranger's map is no news.
 *
 * Bits are atomic words without a lock: set and clear happen under the lock of the socket that owns
 * the port.  Waiters and monitors are guarded by CongTable::lock; wakeups happen outside it.
 *
 * A map is counted: a connection has one of either end, a bound socket that of its address, a
 * waiter that of its port, a sender one while it begins to wait.  The last to give it back may be
 * in a softirq, and the table's mutex is for process context: a work item takes what nobody has any
 * more out of the table (cong.cc), and memory goes a grace period later.  Until then it stays in
 * the table, where nobody gets it: who asks for its address gets a new one.  That has lost nothing:
 * ports of ours are cleared by their sockets before they give it back, and a peer's are forgotten
 * with its connection.
 */
#ifndef RDS_CONG_H
#define RDS_CONG_H

#include "coarse_time.h"
#include "hash.h"
#include "list.h"
#include "lock.h"
#include "message.h"
#include "netns.h"

namespace rds
{

class CongMap;
struct CongWatch;

/* A map is of ports of sockets here, or of those that a peer tells of. */
enum class Whose : uint8_t {
	kOurs,
	kPeers,
};

/* A socket that met -ENOBUFS: on its own list, on the map's and in the index, until @port clears.
 * Of those that wait for one port the index has the first, and that one has the others: nobody's
 * wakeup goes past all of another port's. */
struct CongWaiter {
	ListNode map_link;
	ListNode port_link;
	ListNode sock_link;
	List<CongWaiter, &CongWaiter::port_link> others;
	CongWatch *who;
	CongMap *map; /* with a reference */
	uint16_t port;
};

/* A socket's part in it (socket.h): its waiters, and the news that it has not read. */
struct CongWatch {
	~CongWatch()
	{
		bug_on(n_waits || any_link.linked() || monitor_link.linked() ||
			       waking_link.linked(),
		       "a socket is destroyed that waits for a port");
	}

	/* Lists, count and links under CongTable::lock. */
	List<CongWaiter, &CongWaiter::sock_link> waits;
	/* kMaxCongWaits at most; then it is on CongTable::any.  Senders look at it without. */
	unsigned int n_waits = 0;
	ListNode any_link;
	ListNode monitor_link;
	ListNode waking_link; /* it is a monitor that is about to be woken */
	Atomic<bool> monitor_on;
	Atomic<uint64_t> monitor_mask; /* ports (mod 64) that it always wants to hear of */
	Atomic<uint64_t> armed;	       /* that a send was refused for, until it has been told */
	Atomic<uint64_t> cong_notice;  /* ports (mod 64) to report by RDS_CMSG_CONG_UPDATE */
	Atomic<bool> cong_event;       /* without monitor: readable once */
};
/* Wakes the socket of @w: defined above, in socket_recv.cc.  RCU reader, no lock. */
void wake(CongWatch &w, unsigned int what) RDS_READS(kRcu);

/* The connections are above, and define these (conn_maps.cc).  A bit of a map of ours has changed:
 * peers are to get it. */
void tell_peers(Net &net);
/* A port of a peer's map is clear: messages that wait for one are queued again. */
void return_held(Net &net);

/* A word of a map, from the wire or for it. */
RDS_INLINE uint64_t le64(uint64_t v)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap64(v);
}

/* A connection's part in knowing which ports of its peer are set. */
enum class Reports : uint8_t {
	kNo,   /* there is none */
	kSoon, /* it begins, and the peer's map may come before we know that it is up */
	kYes,
};

class CongMap final
{
public:
	CongMap(const struct rds_addr &a, uint32_t interface, Whose who)
		: scope(interface), addr(a), whose(who)
	{
	}
	~CongMap()
	{
		rds_free(bits_.load());
		rds_free(log_.load());
	}

	RDS_INLINE bool test(uint16_t port) const
	{
		const Atomic<uint64_t> *w = bits_.load_acquire();

		return w && (w[port / 64].load() >> (port % 64) & 1);
	}
	/* Is any bit set?  A little late where one changes just now. */
	RDS_INLINE bool any() const
	{
		return used_words_.load();
	}
	/* Milliseconds for which any() has been true; wraps after 49 days. */
	uint32_t any_ms() const
	{
		return used_words_.load_acquire() ? any_since_.age_ms() : 0;
	}
	/* Calls @fn(port) for each bit that is set: a snapshot. */
	template <typename F>
	void for_each_set(F fn) const;
	/* Makes room for bits; without it set() does nothing.  -ENOMEM. */
	Status ensure_bits(enum rds_ctx ctx);
	/* True when the bit changed; the version then did too. */
	bool set(uint16_t port);
	bool clear(uint16_t port);
	/* Little-endian copy of all bits, as the wire has them. */
	void snapshot(uint64_t *words) const;
	/* Which ports have changed after @since up to version @upto, and what they are now.  False:
	 * too many, or it is not known any more. */
	bool changes(uint32_t since, uint32_t upto, wire::MapChanges &out) const;
	/* Takes over @words (as on the wire) and leaves in them, in our byte order, what was set
	 * and no longer is.  The same bits once more are no change.  -ENOMEM: nothing changed. */
	Status replace(uint64_t *words);
	/* Clears every bit: the ports (mod 64) that were set. */
	uint64_t clear_all();
	/* Raised by every change of a bit. */
	uint32_t version() const
	{
		return version_.load_acquire();
	}
	/* A port of ours has cleared since one filled: a snapshot. */
	bool has_cleared() const
	{
		return cleared_.load();
	}

	HashNode node;
	RefCount refs{1};
	const uint32_t scope; /* interface of a link-local address */
	union {
		struct rds_rcu_head rcu = {}; /* after the last reference, out of the table */
		CongMap *next_gone;	      /* before that, with none (CongTable::gone_) */
	};
	const struct rds_addr addr;
	List<CongWaiter, &CongWaiter::map_link> waiters; /* CongTable::lock */
	Atomic<uint32_t> reporters; /* connections that begin or are up (Reports) */
	Atomic<uint32_t> held; /* ports that messages wait for, over all paths (path_hold.cc) */
	Atomic<bool> wanted;   /* a socket here has sent there, or waits: never taken back */
	const Whose whose;
	Atomic<uint16_t> cuts; /* connections from here that did not end in order (map_news.h) */

private:
	Atomic<bool> cleared_;	      /* the last change of a bit by set() or clear() */
	Atomic<uint16_t> used_words_; /* that have a bit set */

	void note_word(uint64_t was, uint64_t is);
	void note_change(uint16_t port);
	void make_log(enum rds_ctx ctx);

	Atomic<Atomic<uint64_t> *> bits_; /* kCongMapWords of them, or nullptr: none set ever */
	/* Of the changes that made the last kMapLog versions: low 16 bits of the version, and port.
	 * Version v is in place v % kMapLog; there with the bits, unless there was no memory. */
	Atomic<Atomic<uint32_t> *> log_;
	Atomic<uint32_t> version_;
	CoarseTime any_since_; /* a bit has been set, without a pause */
};

template <typename F>
void CongMap::for_each_set(F fn) const
{
	const Atomic<uint64_t> *bits = bits_.load_acquire();

	for (unsigned int i = 0; bits && i < kCongMapWords; i++)
		for (uint64_t left = bits[i].load(); left; left &= left - 1)
			fn(static_cast<uint16_t>(64 * i +
						 static_cast<unsigned int>(__builtin_ctzll(left))));
}

class CongTable final
{
public:
	explicit CongTable(struct rds_os_net *os);
	Status init() RDS_SLEEPS
	{
		return table_.init();
	}
	/* Process. */
	~CongTable();

	/* The map of @addr with a reference, made if there is none; nullptr without memory.
	 * Process. */
	CongMap *get(const struct rds_addr &addr, uint32_t scope, Whose whose,
		     const HashKey &key) RDS_SLEEPS;
	/* Gives a reference back.  RCU readers that have found the map may go on.  Any context,
	 * with locks held or not. */
	void put(CongMap &map);
	/* Maps that there are: a snapshot. */
	uint32_t count() const
	{
		return table_.count();
	}

	/* A local port's bit changed: tell the peers; after a clear also our own waiters. */
	static void local_changed(Net &net, CongMap &map, uint16_t port, bool set);
	/* A peer sent its map (@m has kCongMapBytes).  -ENOMEM: call again later. */
	static Status received(Net &net, CongMap &map, Message &m);
	/* ... or which of its ports have filled or cleared.  The same. */
	static Status heard(Net &net, CongMap &map, const wire::MapChanges &c);
	/* The connection to the peer is gone, and what it said of its ports with it: whoever waits
	 * for one tries again, and so connects.  The peer sends its map again then. */
	static void lost_peer(Net &net, CongMap &map);
	/* A congestion update to send, or nullptr without memory. */
	static Message *make_update(const CongMap &map) RDS_SLEEPS;
	/* The same of a few ports. */
	static Message *make_changes(const wire::MapChanges &c) RDS_SLEEPS;

	/* Makes @s wait for @port: -ENOBUFS, it will be woken; success: the port is clear by now;
	 * -ENOMEM.  Process. */
	Status wait(CongWatch &s, CongMap &map, uint16_t port) RDS_SLEEPS RDS_EXCLUDES(lock);
	/* A send of @s, which does not wait, was refused for @port: with a monitor it is told when
	 * that clears, once.  False: it is clear by now. */
	static bool arm_monitor(CongWatch &s, CongMap &map, uint16_t port);
	/* @s waits for nothing any more and is no monitor. */
	void forget(CongWatch &s) RDS_EXCLUDES(lock);
	void set_monitor(CongWatch &s, bool on, uint64_t mask) RDS_EXCLUDES(lock);

	Spinlock<RDS_RANK_CONG> lock;

private:
	using PortList = List<CongWaiter, &CongWaiter::port_link>;
	/* The first waiter of each map and port: made by the first of all. */
	struct Index {
		PortList lists[kCongIndexLists];
	};
	PortList *list_of(const CongMap &map, uint16_t port) const;
	CongWaiter *first_of(const CongMap &map, uint16_t port) const RDS_REQUIRES(lock);
	bool ensure_index() RDS_SLEEPS;
	void add(CongWatch &s, CongMap &map, uint16_t port, CongWaiter &w) RDS_REQUIRES(lock);
	void unlink(CongWaiter &w) RDS_REQUIRES(lock);
	static void port_cleared(Net &net, CongMap &map) RDS_EXCLUDES(lock);
	void wake_port(Net &net, CongMap &map, uint16_t port) RDS_EXCLUDES(lock);
	bool has_waiters(const CongMap &map) RDS_EXCLUDES(lock);
	void wake_ports(Net &net, CongMap &map, const uint64_t *words) RDS_EXCLUDES(lock);
	void wake_listed(Net &net, CongMap &map, const uint64_t *words) RDS_EXCLUDES(lock);
	void wake_all(Net &net, CongMap &map) RDS_EXCLUDES(lock);
	void wake_any(Net &net) RDS_EXCLUDES(lock);
	void wake_monitors(uint64_t mask) RDS_EXCLUDES(lock);
	static void reap_fn(struct rds_work *w);
	void reap();

	struct rds_os_net *const os_;
	HashTable<CongMap, &CongMap::node> table_;
	Atomic<CongMap *> gone_; /* by next_gone: nobody has them, and the work item none yet */
	struct rds_work reap_work_;
	Atomic<Index *> index_;
	List<CongWatch, &CongWatch::any_link> any RDS_GUARDED_BY(lock);
	List<CongWatch, &CongWatch::waking_link> waking RDS_GUARDED_BY(lock);
	List<CongWatch, &CongWatch::monitor_link> monitors RDS_GUARDED_BY(lock);
};

} // namespace rds
#endif
