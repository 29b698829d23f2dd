/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hash.h: a growing hash table that is read under RCU.
 *
 * Readers (any context) walk one chain inside an RCU section and take no lock.  Writers (process
 * context) hold the table's mutex.  Every object has two links, one for each of two alternating
 * bucket arrays: growing threads all objects into the new array by the links that nobody reads,
 * publishes it, and waits until the readers of the old one have left; so no reader ever meets a
 * half-moved chain, and nothing is allocated per object (docs/decisions/003-hash-table.md).
 *
 * An object that was removed may be freed after an RCU grace period.
 */
#ifndef RDS_HASH_H
#define RDS_HASH_H

#include "bug.h"
#include "limits.h"
#include "lock.h"
#include "ref.h"

namespace rds
{

struct HashNode {
	Atomic<HashNode *> next[2];
	uint32_t hash = 0;
};

/* Where a walk in steps is (HashTable::walk()): buckets in the order of their numbers' reversed
 * bits.  Doubling a table puts both halves of a bucket where that was, so the position stays right
 * in a table of any size. */
inline constexpr uint64_t kWalkEnd = uint64_t{1} << 32;

RDS_INLINE uint32_t reverse_bits(uint32_t x)
{
	x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
	x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
	x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(x);
}

/* 64 bits to 32, every input bit in every output bit. */
RDS_INLINE uint32_t hash_mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return static_cast<uint32_t>(x ^ (x >> 32));
}

/* The secret under which a namespace hashes; it never leaves the kernel. */
struct HashKey {
	uint64_t k[2];
};

RDS_INLINE HashKey new_hash_key()
{
	HashKey key;

	rds_secret(key.k);
	return key;
}

/* Of tables in which every message looks something up (docs/decisions/035-keyed-hashes.md): each
 * half of the address is hidden by a half of the key before they are multiplied.  @with: what else
 * tells the objects apart. */
RDS_INLINE uint32_t hash_addr(const struct rds_addr &a, uint32_t with, const HashKey &key)
{
	__extension__ typedef unsigned __int128 Wide;
	Wide product = Wide{a.w[0] ^ key.k[0]} * (a.w[1] ^ key.k[1]);

	return hash_mix(static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^
			with);
}

/* Of the others, whose keys a stranger chooses. */
RDS_INLINE uint32_t hash_words(const uint64_t *words, unsigned int n, const HashKey &key)
{
	return static_cast<uint32_t>(rds_siphash(key.k, words, n));
}

/* The interface that is part of @a's name, if @a is an IPv6 link-local address (fe80::/10): @scope.
 * A connection between one and a global address has it all the same. */
RDS_INLINE uint32_t scope_of(const struct rds_addr &a, uint32_t scope)
{
	const auto *b = reinterpret_cast<const uint8_t *>(&a);

	return RDS_UNLIKELY(scope) && b[0] == 0xfe && (b[1] & 0xc0) == 0x80 ? scope : 0;
}
RDS_INLINE bool same_addr(const struct rds_addr &a, const struct rds_addr &b)
{
	return a.w[0] == b.w[0] && a.w[1] == b.w[1];
}

template <typename T, HashNode T::*M>
class HashTable final
{
	struct Buckets {
		uint32_t mask;
		uint32_t link; /* which of HashNode::next this array uses */
		Atomic<HashNode *> head[];
	};

public:
	HashTable() = default;
	HashTable(const HashTable &) = delete;
	HashTable &operator=(const HashTable &) = delete;
	/* The table is empty and nobody reads any more. */
	~HashTable()
	{
		bug_on(count(), "a table is destroyed, and something is in it");
		rds_free(t_.load());
	}

	/* -ENOMEM.  Once, before anything else. */
	Status init() RDS_SLEEPS
	{
		Buckets *b = make(kHashMinBuckets, 0);

		if (!b)
			return Status::fail(err::kEnomem);
		t_.store_release(b);
		return Status();
	}

	/* The object of this @hash for which @match is true, or nullptr.  RCU reader or writer. */
	template <typename F>
	RDS_INLINE T *find(uint32_t hash, F match) const
	{
		const Buckets *b = t_.load_acquire();
		HashNode *n = b->head[hash & b->mask].load_acquire();

		for (; n; n = n->next[b->link].load_acquire()) {
			T *t = container_of(n, M);

			if (n->hash == hash && match(*t))
				return t;
		}
		return nullptr;
	}

	/* Adds @t unless one matches: then that one is returned and nothing changes. */
	template <typename F>
	T *insert(uint32_t hash, T *t, F match) RDS_SLEEPS RDS_EXCLUDES(lock_)
	{
		Guard g(lock_);
		T *old = find(hash, match);

		if (old)
			return old;
		if (count_.load() > t_.load()->mask)
			grow();

		Buckets *b = t_.load();
		Atomic<HashNode *> &head = b->head[hash & b->mask];

		(t->*M).hash = hash;
		(t->*M).next[b->link].store(head.load());
		head.store_release(&(t->*M));
		count_.store(count_.load() + 1);
		return nullptr;
	}

	/* Takes @t out: false when somebody else did already. */
	bool remove(T *t) RDS_EXCLUDES(lock_)
	{
		Guard g(lock_);
		Buckets *b = t_.load();
		Atomic<HashNode *> *at = &b->head[(t->*M).hash & b->mask];
		HashNode *n;

		while ((n = at->load())) {
			if (n == &(t->*M)) {
				at->store_release(n->next[b->link].load());
				count_.store(count_.load() - 1);
				return true;
			}
			at = &n->next[b->link];
		}
		return false;
	}

	/* Calls @fn for every object; one that comes or goes meanwhile is met or not.  RCU
	 * reader.  A table whose init() failed has none: owners clean up the same way. */
	template <typename F>
	void for_each(F fn) const RDS_READS(kRcu)
	{
		const Buckets *b = t_.load_acquire();

		if (!b)
			return;
		for (uint32_t i = 0; i <= b->mask; i++) {
			HashNode *n = b->head[i].load_acquire();

			for (; n; n = n->next[b->link].load_acquire())
				fn(*container_of(n, M));
		}
	}

	/* Calls @fn for every object of the bucket at @pos, 0 at first, and returns the position of
	 * the next one, kWalkEnd after the last.  Between two steps the RCU section may end, and
	 * the table may grow: an object that is there all the time is met once.  RCU reader. */
	template <typename F>
	uint64_t walk(uint64_t pos, F fn) const RDS_READS(kRcu)
	{
		const Buckets *b = t_.load_acquire();

		if (!b || pos >= kWalkEnd)
			return kWalkEnd;

		HashNode *n =
			b->head[reverse_bits(static_cast<uint32_t>(pos)) & b->mask].load_acquire();

		for (; n; n = n->next[b->link].load_acquire())
			fn(*container_of(n, M));
		return pos + uint64_t{~reverse_bits(b->mask)} + 1;
	}

	/* Takes out everything and gives it to @fn.  Nobody else reads or writes any more. */
	template <typename F>
	void drain(F fn)
	{
		Buckets *b = t_.load();

		for (uint32_t i = 0; b && i <= b->mask; i++)
			while (HashNode *n = b->head[i].load()) {
				b->head[i].store(n->next[b->link].load());
				count_.store(count_.load() - 1);
				fn(container_of(n, M));
			}
	}

	/* Number of objects, and of buckets: a snapshot. */
	uint32_t count() const
	{
		return count_.load();
	}
	uint32_t buckets() const
	{
		return t_.load()->mask + 1;
	}

private:
	static Buckets *make(uint32_t n, uint32_t link) RDS_SLEEPS
	{
		size_t bytes = sizeof(Buckets) + n * sizeof(Atomic<HashNode *>);
		auto *b = static_cast<Buckets *>(rds_alloc(bytes, may_sleep()));

		if (b) {
			__builtin_memset(static_cast<void *>(b), 0, bytes);
			b->mask = n - 1;
			b->link = link;
		}
		return b;
	}

	/* Without memory the chains grow longer instead. */
	void grow() RDS_REQUIRES(lock_) RDS_SLEEPS
	{
		Buckets *old = t_.load();

		if (old->mask + 1 >= kHashMaxBuckets)
			return;

		Buckets *b = make((old->mask + 1) * 2, !old->link);

		if (!b)
			return;
		for (uint32_t i = 0; i <= old->mask; i++) {
			for (HashNode *n = old->head[i].load(); n; n = n->next[old->link].load()) {
				Atomic<HashNode *> &head = b->head[n->hash & b->mask];

				n->next[b->link].store(head.load());
				head.store(n);
			}
		}
		t_.store_release(b);
		rds_rcu_sync();
		rds_free(old);
	}

	Mutex<RDS_RANK_TABLE> lock_;
	Atomic<Buckets *> t_;
	Atomic<uint32_t> count_; /* written under lock_ */
};

} // namespace rds
#endif
