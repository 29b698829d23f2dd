/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lock.h: locks with their rank in the type, taken by Guard only.
 *
 * The rank (types.h) is the documented order, the lockdep class and the simulator's check in one.
 */
#ifndef RDS_LOCK_H
#define RDS_LOCK_H

#include "../platform/platform.h"
#include "annotate.h"
#include "result.h"

namespace rds
{

template <enum rds_lock_rank Rank>
class RDS_CAPABILITY("spinlock") Spinlock final
{
public:
	/* @rank: for the few of a type that are taken outside of others of it. */
	explicit Spinlock(enum rds_lock_rank rank = Rank)
	{
		rds_spin_init(&l_, rank);
	}
	Spinlock(const Spinlock &) = delete;
	Spinlock &operator=(const Spinlock &) = delete;
	RDS_INLINE void lock() RDS_ACQUIRE()
	{
		rds_spin_lock(&l_);
	}
	RDS_INLINE void unlock() RDS_RELEASE()
	{
		rds_spin_unlock(&l_);
	}

private:
	struct rds_spinlock l_;
};

template <enum rds_lock_rank Rank>
class RDS_CAPABILITY("mutex") Mutex final
{
public:
	Mutex()
	{
		rds_mutex_init(&m_, Rank);
	}
	Mutex(const Mutex &) = delete;
	Mutex &operator=(const Mutex &) = delete;
	RDS_INLINE void lock() RDS_ACQUIRE()
	{
		rds_mutex_lock(&m_);
	}
	RDS_INLINE bool try_lock() RDS_TRY_ACQUIRE(true)
	{
		return rds_mutex_trylock(&m_) != 0;
	}
	RDS_INLINE Status lock_interruptible() RDS_NO_TSA
	{
		return Status(rds_mutex_lock_interruptible(&m_));
	}
	RDS_INLINE Status lock_killable() RDS_NO_TSA
	{
		return Status(rds_mutex_lock_killable(&m_));
	}
	RDS_INLINE void unlock() RDS_RELEASE()
	{
		rds_mutex_unlock(&m_);
	}

private:
	struct rds_mutex m_;
};

template <typename L>
class RDS_SCOPED_CAPABILITY Guard final
{
public:
	RDS_INLINE explicit Guard(L &l) RDS_ACQUIRE(l) : l_(l)
	{
		l_.lock();
	}
	RDS_INLINE ~Guard() RDS_RELEASE()
	{
		l_.unlock();
	}
	Guard(const Guard &) = delete;
	Guard &operator=(const Guard &) = delete;

private:
	L &l_;
};

} // namespace rds
#endif
