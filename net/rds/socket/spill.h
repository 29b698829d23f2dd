/* SPDX-License-Identifier: GPL-2.0 */
/*
 * spill.h: how much of a full socket's spill each peer has: its share.
 *
 * Beyond its hard limit a socket still takes messages, for what is behind them on their path is
 * others' (rds_socket::may_spill()).  One peer that floods it must not take all of that room: then
 * each other peer that sends one message to the socket would have its path wait, and its messages
 * to other sockets with it.
 *
 * The less is free, the less a peer may have.  With @free bytes left of @size when its message is
 * taken it may have
 *
 *	kSpillShare * free * free * free / (size * size)
 *
 * So one alone gets half of the spill; and when each of n peers has taken all that it may, in any
 * order, and nothing was read, size / sqrt(1 + 2 * kSpillShare * n) is free (decision 041 has the
 * proof).  A threshold in proportion to what is free, as switches with a shared buffer have it,
 * comes to as much once queues have drained to their thresholds; behind a reader that has stopped
 * nothing drains, and n peers by turns would leave size / 2^n.
 *
 * A peer is an address: all its connections, ports and types of service have one share.  Peers are
 * known exactly, so nobody pays for a neighbour in a bucket.  A share exists as long as its peer
 *has a message in the spill, and the Spill as long as there is a share, or its socket.
 *
 * It knows neither sockets nor messages, and has no lock: the socket's recv_lock guards it.
 */
#ifndef RDS_SPILL_H
#define RDS_SPILL_H

#include "../hash.h"
#include "../limits.h"

namespace rds
{

class Spill final
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
	/* How much there is of the spill, in bytes; free is no more than size. */
	struct Room {
		uint64_t free, size;
	};

	explicit Spill(const HashKey &key) : key_(key)
	{
	}
	Spill(const Spill &) = delete;
	Spill &operator=(const Spill &) = delete;
	~Spill();

	/* A peer that has @has bytes may have @more. */
	static bool allows(const Room &room, uint64_t has, uint32_t more);
	/* A message of @bytes is taken for a peer.  -ENOBUFS: it has its share; -ENOMEM. */
	Status take(const struct rds_addr &addr, uint32_t scope, uint32_t bytes, const Room &room);
	/* It has left the socket.  The share that ended with it, or nullptr. */
	[[nodiscard]] Share *give(const struct rds_addr &addr, uint32_t scope, uint32_t bytes);
	bool is_empty() const
	{
		return !peers_;
	}

	/* For who looks. */
	uint32_t peers() const
	{
		return peers_;
	}
	uint64_t bytes_of(const struct rds_addr &addr, uint32_t scope) const;

private:
	Share **find(const struct rds_addr &addr, uint32_t scope);

	const HashKey key_;
	uint32_t peers_ = 0;
	Share *buckets_[kSpillBuckets] = {};
};

} // namespace rds
#endif
