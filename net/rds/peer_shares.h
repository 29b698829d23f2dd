/* SPDX-License-Identifier: GPL-2.0 */
/*
 * peer_shares.h: how much each peer has of memory that several share: its share.
 *
 * Two rooms divide what they have in this way.  A full socket takes messages beyond its hard limit,
 * for what is behind them on their path is others' (rds_socket::may_spill()); and a namespace
 * collects messages that are not whole (assembly.h).  One peer must not take all of that: then each
 * other peer with one message for it would have its path wait, and its messages to other sockets
 * with it.
 *
 * The less is free, the less a peer may have.  With @free bytes left of @size when its message is
 * taken it may have
 *
 *	kPeerShare * free * free * free / (size * size)
 *
 * So one alone gets half; and when each of n peers has taken all that it may, in any order, and
 * nothing was given back, size / sqrt(1 + 2 * kPeerShare * n) is free (decision 041 has the proof).
 * A threshold in proportion to what is free, as switches with a shared buffer have it, comes to as
 * much once queues have drained to their thresholds; behind a reader that has stopped nothing
 * drains, and n peers by turns would leave size / 2^n.
 *
 * A peer is an address: all its connections, ports and types of service have one share.  Peers are
 * known exactly, so nobody pays for a neighbour in a bucket.  A share exists as long as a message
 * of its peer is counted.
 *
 * It knows neither messages nor those that it counts for, and has no lock: its owner's guards it,
 * recv_lock of a socket and Assembly's.
 */
#ifndef RDS_PEER_SHARES_H
#define RDS_PEER_SHARES_H

#include "hash.h"
#include "limits.h"

namespace rds
{

class PeerShares final
{
public:
	/* Of one peer; made with its first message, and the caller's to destroy after its last. */
	struct Share {
		Share(const struct rds_addr &addr, uint32_t scope) : addr(addr), scope(scope)
		{
		}
		const struct rds_addr addr;
		const uint32_t scope;
		uint32_t messages = 0;
		uint64_t bytes = 0;
		Share *next = nullptr; /* in the same bucket */
	};
	/* How much there is to share, in bytes; free is no more than size. */
	struct Room {
		uint64_t free, size;
	};

	explicit PeerShares(const HashKey &key) : key_(key)
	{
	}
	PeerShares(const PeerShares &) = delete;
	PeerShares &operator=(const PeerShares &) = delete;
	~PeerShares();

	/* A peer that has @has bytes may have @more. */
	static bool allows(const Room &room, uint64_t has, uint64_t more);
	/* A message of @bytes is taken for a peer.  -ENOBUFS: it has its share; -ENOMEM. */
	Status take(const struct rds_addr &addr, uint32_t scope, uint32_t bytes, const Room &room);
	/* The same of a message that is there anyway: it is only counted.  -ENOMEM. */
	Status count(const struct rds_addr &addr, uint32_t scope, uint64_t bytes);
	/* A message that is counted has become larger by @bytes. */
	void grow(const struct rds_addr &addr, uint32_t scope, uint64_t bytes);
	/* It has gone, with all its bytes.  The share that ended with it, or nullptr. */
	[[nodiscard]] Share *give(const struct rds_addr &addr, uint32_t scope, uint64_t bytes);
	bool is_empty() const
	{
		return !peers_;
	}
	uint64_t bytes_of(const struct rds_addr &addr, uint32_t scope) const;

	/* For who looks. */
	uint32_t peers() const
	{
		return peers_;
	}

private:
	Share **find(const struct rds_addr &addr, uint32_t scope);

	const HashKey key_;
	uint32_t peers_ = 0;
	Share *buckets_[kPeerShareBuckets] = {};
};

} // namespace rds
#endif
