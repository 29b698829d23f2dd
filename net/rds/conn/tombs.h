/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tombs.h: what is remembered of connections that are gone: tombstones.
 *
 * A connection that only a peer wanted, that brought messages for sockets here and then broke, has
 * nothing left but numbers: how far each of its paths had counted, and in which generation of the
 * peer's.  The peer may still send something again that was delivered.  So its object goes, and a
 * tombstone stays: the next connection of the same pair begins with these numbers (create_path() in
 * conn_table.cc), and knows a duplicate when it sees one.
 *
 * Ports that were refused (refused.h) are remembered as well: the peer may not have heard of it,
 * and then sends again what counts as dealt with and reached no socket.
 *
 * There are kMaxTombstones at most in a namespace; the one that was written or asked for least
 * recently makes room.  A tombstone stays in its place while its successor lives, for paths of that
 * which are made later; it is written again when the successor ends, and taken away when both ends
 * of all paths that it knows drain (conn_idle.cc).
 */
#ifndef RDS_TOMBS_H
#define RDS_TOMBS_H

#include "../hash.h"
#include "../list.h"

namespace rds
{

/* Whose it is: what makes two connections the same one. */
struct TombKey {
	struct rds_addr laddr, faddr;
	uint32_t scope;
	uint8_t tos, transport;

	bool operator==(const TombKey &o) const;
};

/* How far one path had counted. */
struct TombCount {
	uint64_t next_rx_seq;
	uint32_t gen;	  /* of the peer's; 0: none */
	uint32_t refused; /* ports that it had refused to that generation */
};

/* Ports that paths of one connection had refused, as many as there is room for. */
class TombPorts final
{
public:
	void add(unsigned int path, uint16_t port, uint64_t first);
	/* Those of the paths in @which go. */
	void remove(uint32_t which);
	void add_all(const TombPorts &other);
	uint32_t count(unsigned int path) const;
	bool is_empty() const
	{
		return !n_;
	}
	/* Calls @fn(port, first number) for each of @path; false: one of them did not succeed. */
	template <typename F>
	bool each_of(unsigned int path, F fn) const
	{
		bool all = true;

		for (uint32_t i = 0; i < n_; i++)
			if (path_[i] == path)
				all = fn(port_[i], first_[i]) && all;
		return all;
	}

private:
	uint64_t first_[kTombPorts];
	uint16_t port_[kTombPorts];
	uint8_t path_[kTombPorts];
	uint32_t n_ = 0;
};
static_assert(sizeof(TombPorts) <= 1024);

struct Tomb {
	Tomb(const TombKey &key, uint32_t hash) : key(key), hash(hash)
	{
	}
	~Tomb()
	{
		destroy(ports);
	}
	Tomb(const Tomb &) = delete;
	Tomb &operator=(const Tomb &) = delete;

	const TombKey key;
	const uint32_t hash;
	uint32_t which = 0; /* a bit for each path that is known */
	uint32_t gen[kMaxPaths] = {};
	uint64_t next_rx_seq[kMaxPaths] = {};
	TombPorts *ports = nullptr; /* mostly there are none */
	Tomb *next = nullptr;	    /* in the same bucket */
	ListNode age;
};

class Tombs final
{
public:
	Tombs() = default;
	Tombs(const Tombs &) = delete;
	Tombs &operator=(const Tombs &) = delete;
	~Tombs();

	/* Counts of those paths whose bit is in @which, and @ports of them, which is taken;
	 * nullptr: they had refused none.  What is known of the others stays.  -ENOMEM: nothing is
	 * remembered.  Process. */
	Status remember(const TombKey &key, uint32_t which, const TombCount (&counts)[kMaxPaths],
			TombPorts *ports, const HashKey &secret) RDS_SLEEPS RDS_EXCLUDES(lock_);
	/* True: @count is where path @index went on.  Its ports are added to @ports, if the caller
	 * gives any. */
	bool recall(const TombKey &key, unsigned int index, TombCount &count, TombPorts *ports,
		    const HashKey &secret) RDS_EXCLUDES(lock_);
	bool knows(const TombKey &key, const HashKey &secret) RDS_EXCLUDES(lock_);
	/* Of those paths; the tombstone goes when nothing is known of others. */
	void forget(const TombKey &key, uint32_t which, const HashKey &secret) RDS_EXCLUDES(lock_);
	/* A snapshot. */
	uint32_t count() const
	{
		return count_.load();
	}

private:
	bool make_buckets() RDS_SLEEPS RDS_EXCLUDES(lock_);
	Tomb *touch(const TombKey &key, uint32_t hash) RDS_REQUIRES(lock_);
	void enter(Tomb *t) RDS_REQUIRES(lock_);
	void take_out(Tomb *t) RDS_REQUIRES(lock_);

	Spinlock<RDS_RANK_TOMBS> lock_;
	Atomic<Tomb **> buckets_; /* kTombBuckets of them, made with the first tombstone */
	List<Tomb, &Tomb::age> ages_ RDS_GUARDED_BY(lock_); /* the oldest first */
	Atomic<uint32_t> count_;			    /* written under lock_ */
};

} // namespace rds
#endif
