/* SPDX-License-Identifier: GPL-2.0 */
/*
 * assembly.h: the memory of messages that have begun to arrive and are not whole: nobody's yet, so
 * a namespace has a budget for it.
 *
 * Strangers (rds_conn::is_stranger()) have a small one for all of them together, and cannot touch
 * the other.  Of that a part is open to everybody else, and in peace nobody needs more.  Of the
 * rest each peer has a share (peer_shares.h): a message that grows while the open part is used up
 * is counted in it, with all that it has.  A peer that has its share waits, but that alone would
 * have all wait for each other's rest; so one message of the namespace has the turn, and grows
 * whatever it has.  Its turn ends when it is whole or freed; after kAssemblyTurnNs the next that
 * waits takes it.  One that lost its turn and asks for more than its peer's share again holds up
 * the others: its path is dropped, and an honest peer sends it once more.
 *
 * A message whose bytes were all at hand when it began is not counted, and costs nothing here.  Of
 * the others each byte that it holds is counted until it is whole or freed: by its last reference,
 * so whoever throws it away need not know.
 *
 * The limits are looked at before memory is got and counted in after it, so each path may
 * exceed them by what comes at once.  The sums are atomics; the lock is of the shares and the turn,
 * and is not taken in peace.  In the message its one receiver writes.  Any context.
 */
#ifndef RDS_ASSEMBLY_H
#define RDS_ASSEMBLY_H

#include "lock.h"
#include "message.h"
#include "peer_shares.h"

namespace rds
{

class Assembly final
{
public:
	/* The answer to bytes of a message that is not whole: they are taken, or not now, or its
	 * path is dropped. */
	enum class Verdict : uint8_t { kTake, kLater, kNever };

	explicit Assembly(const HashKey &key) : shares_(key)
	{
	}
	Assembly(const Assembly &) = delete;
	Assembly &operator=(const Assembly &) = delete;
	~Assembly();

	/* Another of this peer begins, which is only half here. */
	Verdict may_begin(const struct rds_addr &from, uint32_t scope, bool stranger)
		RDS_EXCLUDES(lock_);
	/* It has begun. */
	void begin(Message &m, const struct rds_addr &from, uint32_t scope, bool stranger)
		RDS_EXCLUDES(lock_);
	/* More of @m is there. */
	Verdict may_grow(Message &m) RDS_EXCLUDES(lock_)
	{
		const bool room =
			m.stranger ? strangers_have_room() : others_.load() < kAssemblyOpen;

		return RDS_LIKELY(room) ? Verdict::kTake : without_room(m);
	}
	/* It may have grown. */
	void count(Message &m) RDS_EXCLUDES(lock_);
	void left(Message &m) RDS_EXCLUDES(lock_);

	/* For who looks. */
	uint64_t of_strangers() const
	{
		return strangers_.load();
	}
	uint64_t of_others() const
	{
		return others_.load();
	}

private:
	bool strangers_have_room() const
	{
		return strangers_.load() < kAssemblyStrangers;
	}
	Atomic<uint64_t> &sum_of(const Message &m)
	{
		return m.stranger ? strangers_ : others_;
	}
	Verdict without_room(Message &m) RDS_EXCLUDES(lock_);
	bool has_share(const struct rds_addr &from, uint32_t scope) RDS_REQUIRES(lock_);
	Verdict take_turn(Message &m) RDS_REQUIRES(lock_);

	Atomic<uint64_t> strangers_, others_;
	Spinlock<RDS_RANK_ASSEMBLY> lock_;
	PeerShares shares_ RDS_GUARDED_BY(lock_);
	const Message *turn_ RDS_GUARDED_BY(lock_) = nullptr; /* a name, and not looked into */
	uint64_t turn_ns_ RDS_GUARDED_BY(lock_) = 0;	      /* when it began */
};

} // namespace rds
#endif
