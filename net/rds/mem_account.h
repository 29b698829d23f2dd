/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mem_account.h: what a socket's messages take of memory, in one direction, and who pays for it.
 *
 * The platform charges it to the socket's cgroup, as TCP's buffers are (decisions/017), in steps of
 * kPayStep: most messages find their memory paid for.  Two words, no lock: used is exact; paid is
 * at least as much but for a moment, or while the platform refuses who may not wait (a debt, which
 * the next who looks pays; a receiver takes no more than kMostDebt on it).
 */
#ifndef RDS_MEM_ACCOUNT_H
#define RDS_MEM_ACCOUNT_H

#include "bug.h"
#include "limits.h"
#include "ref.h"
#include "result.h"

namespace rds
{

class MemAccount final
{
public:
	RDS_INLINE uint64_t used() const
	{
		return used_.load();
	}
	/* For who looks again (Atomic::load_seq). */
	RDS_INLINE uint64_t used_seq() const
	{
		return used_.load_seq();
	}
	/* Returns the bytes before. */
	RDS_INLINE uint64_t add(uint32_t n)
	{
		return used_.fetch_add(n);
	}
	RDS_INLINE void sub(uint64_t n)
	{
		bug_on_hot(used_.fetch_sub(n) < n, "more memory comes back than was used");
	}
	/* @more bytes are paid for, too. */
	RDS_INLINE bool covers(uint32_t more) const
	{
		return used_.load() + more <= paid_.load();
	}
	RDS_INLINE bool overpaid() const
	{
		return paid_.load() >= used_.load() + 2 * kPayStep;
	}
	/* The debt, with @more bytes, for who looks again. */
	RDS_INLINE uint64_t unpaid(uint32_t more = 0) const
	{
		uint64_t used = used_.load_seq() + more, paid = paid_.load();

		return used > paid ? used - paid : 0;
	}
	/* Pays for what @s uses and @more bytes: -ENOMEM, the cgroup has no more.  No lock held;
	 * who may not wait gets no error, and makes a debt, while somebody else is at it. */
	Status pay(struct rds_socket *s, uint32_t more, enum rds_ctx ctx);
	/* Takes back what nobody uses.  Any context, spin locks of the core may be held. */
	void take_back(struct rds_socket *s);
	/* At the end of @s, when nobody else can have it: takes everything back. */
	void close(struct rds_socket *s);

private:
	static uint64_t in_steps(uint64_t n)
	{
		return (n + kPayStep - 1) & ~uint64_t{kPayStep - 1};
	}
	/* The platform pays and takes back 32 bits at a time. */
	static uint32_t at_once(uint64_t n)
	{
		return n < kMostAtOnce ? static_cast<uint32_t>(n) : kMostAtOnce;
	}
	static constexpr uint32_t kMostAtOnce = 1u << 30;
	/* Limits are numbers of 32 bits, and kHardMemFactor times as much may be used. */
	Atomic<uint64_t> used_;
	Atomic<uint64_t> paid_;
};

} // namespace rds

#endif
