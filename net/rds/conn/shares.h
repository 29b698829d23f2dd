/* SPDX-License-Identifier: GPL-2.0 */
/*
 * shares.h: which of too many connections that only peers want go, by prefix: of the larger one
 * first.
 *
 * An address is cheap to whoever has a prefix: /24 (IPv4), /64 (IPv6).  So strangers have room by
 * prefix, not by address.  Of two prefixes the one with more strangers loses one of its own first,
 * until each has one; what is left goes by rank alone (conn_strangers.cc).  And a prefix that has
 * more than its share of all the room, known hosts included, loses those beyond it before anybody
 * else does.  A known host is otherwise not counted against its prefix: else a cluster would make
 * room for strangers of many prefixes.
 *
 * The sweep makes one when there are too many, counts all in its first pass, plans, and asks for
 * each in its second.  Prefixes are told apart by kShareSlots hash values only, and those of one
 * value count as one.  The key is another in each sweep, so nobody has a bad neighbour for long.
 *
 * No lock, no allocation, no clock: the sweep's own.
 */
#ifndef RDS_SHARES_H
#define RDS_SHARES_H

#include "../hash.h"

namespace rds
{

/* The part of @a that one stranger may have for itself. */
RDS_INLINE struct rds_addr prefix_of(const struct rds_addr &a)
{
	struct rds_addr p = a;

	/* Big-endian: ::ffff:a.b.c.d loses d, an IPv6 address the half that its host chooses. */
	if (!a.w[0] && (__builtin_bswap64(a.w[1]) >> 32) == 0xffff)
		p.w[1] = __builtin_bswap64(__builtin_bswap64(a.w[1]) & ~uint64_t{0xff});
	else
		p.w[1] = 0;
	return p;
}

RDS_INLINE uint32_t hash_prefix(const struct rds_addr &a, uint32_t scope, const HashKey &key)
{
	return hash_addr(prefix_of(a), scope, key);
}

/* In this order room is made among hosts of one prefix, or where prefixes do not matter. */
enum class Rank : uint8_t {
	kStrangerDown,
	kStrangerSilent,
	kKnownDown,
	kKnownSilent,
	kStrangerBusy,
	kStrangerNew, /* goes for another prefix's sake only */
	kLast,	      /* stays, whoever else comes */
};

class Shares final
{
public:
	static constexpr unsigned int kRanks = static_cast<unsigned int>(Rank::kLast);

	explicit Shares(const HashKey &key) : key_(key)
	{
	}
	Shares(const Shares &) = delete;
	Shares &operator=(const Shares &) = delete;

	/* First pass: there is one of rank @r. */
	void count(const struct rds_addr &faddr, uint32_t scope, Rank r);
	/* Then: @needed have to go, and a prefix's share is @share.  So many of them are found by
	 * prefix; they are taken out of @all, which has the number of each rank. */
	uint32_t plan(uint32_t needed, uint32_t share, uint32_t (&all)[kRanks]);
	/* Second pass: is this one of those?  They are as many as were planned. */
	bool take(const struct rds_addr &faddr, uint32_t scope, Rank r);

private:
	struct Slot {
		uint16_t there[kRanks] = {}, go[kRanks] = {};
		uint32_t weight = 0;
	};

	Slot &slot_of(const struct rds_addr &faddr, uint32_t scope)
	{
		return slots_[hash_prefix(faddr, scope, key_) % kShareSlots];
	}
	void weigh(uint32_t of);
	uint32_t level(uint32_t needed, uint32_t least) const;
	uint64_t above(uint32_t level) const;
	static void plan_in(Slot &s, uint32_t n, uint32_t of, uint32_t (&all)[kRanks]);
	uint32_t cut(uint32_t needed, uint32_t least, uint32_t of, uint32_t (&all)[kRanks]);

	Slot slots_[kShareSlots];
	const HashKey key_;
};

} // namespace rds
#endif
