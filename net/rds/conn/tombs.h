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
 * and then sends again what counts as dealt with and reached no socket.  Each tombstone may have
 * kTombPorts of them, and more as long as all together have kTombSpare bytes for that: else nothing
 * is remembered, and the connection has to stay.  If it cannot, for there are too many connections,
 * those tombstones make room that have spare memory, the oldest first.
 *
 * There are kMaxTombstones at most in a namespace; the one that was written or asked for least
 * recently makes room.  A tombstone stays in its place while its successor lives, for paths of that
 * which are made later; it is written again when the successor ends, and taken away when both ends
 * of all paths that it knows drain (conn_idle.cc).
 *
 * Other hosts may have had the peer's address, before or in between.  What is known of their
 * generations (gen_counts.h) goes into the tombstone and out of it as the rest does: an orderly end
 * is that of one generation.  The memory of that is spare memory, too.
 */
#ifndef RDS_TOMBS_H
#define RDS_TOMBS_H

#include "../gen_counts.h"
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
	GenCount now;	  /* of the generation that was met last */
	uint32_t refused; /* ports that it had refused to all of them */
	GenCounts past;

	/* By how many generations ago it was met. */
	const GenCount &met(unsigned int ago) const
	{
		return ago ? past.of[ago - 1] : now;
	}
	/* Nothing of that generation has to be known any more. */
	void drop_now()
	{
		now = past.take_first();
	}
};

/* There is no spare memory for ports: ... */
enum class TombsFull : uint8_t {
	kFails,	  /* ... nothing is remembered, or ... */
	kForgets, /* ... others are forgotten */
};

/*
 * Ports that paths of one connection had refused: as many as there are.  A word for each: the port,
 * the path, how many generations ago (TombCount::met()), and how far below the next number of that
 * one the first was that was refused.  That is less than what the peer keeps unacknowledged, or the
 * peer has heard of it; so 43 bits are enough.
 */
class TombPorts final
{
public:
	TombPorts() = default;
	TombPorts(const TombPorts &) = delete;
	TombPorts &operator=(const TombPorts &) = delete;
	~TombPorts()
	{
		rds_free(notes_);
	}
	/* For @n of them; there are none yet.  False: no memory. */
	bool make_room(uint32_t n) RDS_SLEEPS;
	void add(unsigned int path, unsigned int ago, uint16_t port, uint64_t below);
	/* Those of the paths that are not in @which. */
	void add_others(const TombPorts &from, uint32_t which);
	/* Those of the paths in @which go. */
	void remove(uint32_t which);
	void swap(TombPorts &other);
	uint32_t count(unsigned int path) const;
	uint32_t count_others(uint32_t which) const;
	uint32_t size() const
	{
		return n_;
	}
	uint32_t room() const
	{
		return room_;
	}
	/* Bytes of memory beyond those that each tombstone may have. */
	uint32_t spare() const;
	/* Calls @fn(ago, port, below) for each of @path; false: one of them did not succeed. */
	template <typename F>
	bool each_of(unsigned int path, F fn) const
	{
		bool all = true;

		for (uint32_t i = 0; i < n_; i++)
			if (path_of(notes_[i]) == path)
				all = fn(ago_of(notes_[i]), static_cast<uint16_t>(notes_[i]),
					 below_of(notes_[i])) &&
				      all;
		return all;
	}

private:
	static unsigned int path_of(uint64_t note)
	{
		return note >> 16 & (kMaxPaths - 1);
	}
	static unsigned int ago_of(uint64_t note)
	{
		return note >> 19 & (kGenerations - 1);
	}
	static uint64_t below_of(uint64_t note)
	{
		return note >> 21;
	}

	uint64_t *notes_ = nullptr;
	uint32_t n_ = 0, room_ = 0;
};
static_assert(kMaxPaths == 1 << (19 - 16) && kGenerations == 1 << (21 - 19));

/*
 * Counts of generations that the paths of one connection had met before the last: no memory where
 * there was none.
 */
class TombPast final
{
public:
	TombPast() = default;
	TombPast(const TombPast &) = delete;
	TombPast &operator=(const TombPast &) = delete;
	~TombPast()
	{
		rds_free(of_);
	}
	/* False: no memory. */
	bool make_room() RDS_SLEEPS;
	/* Of @path; without room there is none. */
	void set(unsigned int path, const GenCounts &past);
	GenCounts of(unsigned int path) const
	{
		return of_ ? of_[path] : GenCounts();
	}
	/* Of paths that are not in @which. */
	bool any_others(uint32_t which) const;
	void swap(TombPast &other);
	/* Bytes of memory. */
	uint32_t spare() const;

private:
	GenCounts *of_ = nullptr; /* kMaxPaths of them */
};

struct Tomb {
	Tomb(const TombKey &key, uint32_t hash) : key(key), hash(hash)
	{
	}
	Tomb(const Tomb &) = delete;
	Tomb &operator=(const Tomb &) = delete;

	const TombKey key;
	const uint32_t hash;
	uint32_t which = 0; /* a bit for each path that is known */
	uint32_t gen[kMaxPaths] = {};
	uint64_t next_rx_seq[kMaxPaths] = {};
	TombPorts ports;
	TombPast past;
	Tomb *next = nullptr; /* in the same bucket */
	ListNode age;
	ListNode spare; /* of those that take spare memory, by age */

	/* Bytes beyond those that each tombstone may have. */
	uint32_t spare_bytes() const
	{
		return ports.spare() + past.spare();
	}
};
static_assert(sizeof(Tomb) <= 256);

class Tombs final
{
public:
	Tombs() = default;
	Tombs(const Tombs &) = delete;
	Tombs &operator=(const Tombs &) = delete;
	~Tombs();

	/* Counts of those paths whose bit is in @which, and the ports that they had refused.  What
	 * is known of the others stays.  -ENOMEM; -ENOBUFS: no spare memory for so many ports. Then
	 * all is as before.  Process. */
	Status remember(const TombKey &key, uint32_t which, const TombCount (&counts)[kMaxPaths],
			const TombPorts &ports, TombsFull full, const HashKey &secret) RDS_SLEEPS
		RDS_EXCLUDES(lock_);
	/* True: @count is where path @index went on.  Its ports are added to @ports, if the caller
	 * gives any, with room for them. */
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
	/* Bytes of spare memory in use. */
	uint32_t spare() const
	{
		return spare_.load();
	}

private:
	using TombList = List<Tomb, &Tomb::age>;

	bool make_buckets() RDS_SLEEPS RDS_EXCLUDES(lock_);
	/* All that a tombstone is to have beside its counts. */
	struct Words {
		TombPorts ports;
		TombPast past;
	};
	bool gather(const TombKey &key, uint32_t hash, uint32_t which,
		    const TombCount (&counts)[kMaxPaths], const TombPorts &ports,
		    Words &all) RDS_SLEEPS RDS_EXCLUDES(lock_);
	Status make_place(Tomb *t, uint32_t spare, TombsFull full, TombList &gone)
		RDS_REQUIRES(lock_);
	void engrave(Tomb &t, uint32_t which, const TombCount (&counts)[kMaxPaths], Words &all)
		RDS_REQUIRES(lock_);
	void erase(Tomb &t, uint32_t which, Words &gone) RDS_REQUIRES(lock_);
	void account(Tomb &t, uint32_t had) RDS_REQUIRES(lock_);
	void give_spare(Tomb &t) RDS_REQUIRES(lock_);
	Tomb *touch(const TombKey &key, uint32_t hash) RDS_REQUIRES(lock_);
	void enter(Tomb *t) RDS_REQUIRES(lock_);
	void take_out(Tomb *t) RDS_REQUIRES(lock_);

	Spinlock<RDS_RANK_TOMBS> lock_;
	Atomic<Tomb **> buckets_; /* kTombBuckets of them, made with the first tombstone */
	TombList ages_ RDS_GUARDED_BY(lock_);			/* the oldest first */
	List<Tomb, &Tomb::spare> spares_ RDS_GUARDED_BY(lock_); /* the same, of those with spare */
	Atomic<uint32_t> count_, spare_;			/* written under lock_ */
};

} // namespace rds
#endif
