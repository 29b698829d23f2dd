/* SPDX-License-Identifier: GPL-2.0 */
/*
 * send_space.h: how much of a socket's send queue is taken, and the senders that were refused.
 *
 * Two amounts: payload bytes, and memory (mem_account.h) in which an empty message counts too.  A
 * message is admitted while less than the limit is taken, so the last one may overshoot
 * (mainline's rule).  Room is taken before there is a message, so senders that wait for room have
 * none, however many they are.  Nothing is taken by who is refused, not even for a moment; a
 * message that is not sent after all gives its room back as any other, and wakes who was refused
 * meanwhile.
 *
 * A sender that is refused is woken: take() (1) says that somebody waits, (2) looks again; give()
 * (1) gives back, (2) looks whether somebody waits.  All four are sequentially consistent, so one
 * of both sees the other (docs/locking.md).  There is no other way to give space back.
 */
#ifndef RDS_SEND_SPACE_H
#define RDS_SEND_SPACE_H

#include "../mem_account.h"

namespace rds
{

class SendSpace final
{
public:
	/* For a message of @s.  False: the queue is full, and RDS_WAKE_WRITE follows. */
	RDS_INLINE bool take(struct rds_socket *s, uint32_t bytes, uint32_t mem)
	{
		if (RDS_LIKELY(try_take(s, bytes, mem)))
			return true;
		return wait_or_take(s, bytes, mem);
	}
	/* A message that has its room needs more memory: no question, it is under way already. */
	void grow(uint32_t mem)
	{
		(void)mem_.add(mem);
	}
	/* Gives back what was taken, and wakes @s with @wake (RDS_WAKE_*) and whoever waits for
	 * room.  Any context, RCU reader, no lock. */
	void give(struct rds_socket *s, uint32_t bytes, uint32_t mem, unsigned int wake = 0)
		RDS_READS(kRcu);
	/* False: RDS_WAKE_WRITE follows. */
	bool wait_for_room(struct rds_socket *s);
	/* Half of it is taken. */
	bool short_of_room(struct rds_socket *s) const;

	/* All memory that was taken is paid for (MemAccount::pay). */
	RDS_INLINE Status pay(struct rds_socket *s) RDS_SLEEPS
	{
		return RDS_LIKELY(mem_.covers(0)) ? Status() : mem_.pay(s, 0, may_sleep());
	}
	bool empty() const
	{
		return !mem_.used();
	}
	/* At the end of @s. */
	void close(struct rds_socket *s)
	{
		bug_on(bytes_.load() || mem_.used(), "a socket is destroyed that has to send");
		mem_.close(s);
	}

	/* A snapshot. */
	uint32_t bytes() const
	{
		return bytes_.load();
	}
	/* For tests. */
	MemAccount &mem()
	{
		return mem_;
	}

private:
	RDS_INLINE static bool below(uint32_t bytes, uint64_t mem, uint32_t limit)
	{
		return bytes < limit && mem / kMemFactor < limit;
	}
	RDS_INLINE bool try_take(struct rds_socket *s, uint32_t bytes, uint32_t mem)
	{
		uint32_t limit = rds_socket_sndbuf(s), now = bytes_.load();

		do
			if (RDS_UNLIKELY(!below(now, mem_.used(), limit)))
				return false;
		while (RDS_UNLIKELY(!bytes_.compare_exchange(now, now + bytes)));
		/* Senders that pass together may each overshoot in memory: what their messages
		 * have of it anyway. */
		(void)mem_.add(mem);
		return true;
	}
	bool wait_or_take(struct rds_socket *s, uint32_t bytes, uint32_t mem);
	bool has_room(struct rds_socket *s) const;

	Atomic<uint32_t> bytes_; /* payload queued and not acknowledged */
	MemAccount mem_;	 /* memory of the same messages */
	Atomic<bool> waiting_;	 /* somebody found it full and was not woken yet */
};

} // namespace rds

#endif
