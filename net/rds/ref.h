/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ref.h: atomics and object creation.
 *
 * Atomic<T> wraps the compiler's __atomic builtins with the orders that the core uses; on x86 they
 * compile to the kernel's own primitives (cxx.md 6).  Read-modify-writes are in one order with each
 * other and with load_seq(), but full barriers on x86 only: elsewhere a plain load or store that
 * follows may come first.  "I say, then I look" is therefore a read-modify-write and load_seq(), on
 * both sides, or announce_then_look().
 */
#ifndef RDS_REF_H
#define RDS_REF_H

#include <new>

#include "../platform/platform.h"
#include "annotate.h"
#include "bug.h"
#include "rights.h"

namespace rds
{

template <typename T>
class Atomic final
{
public:
	constexpr Atomic() = default;
	constexpr explicit Atomic(T v) : v_(v)
	{
	}
	Atomic(const Atomic &) = delete;
	Atomic &operator=(const Atomic &) = delete;

	RDS_INLINE T load() const
	{
		return __atomic_load_n(&v_, __ATOMIC_RELAXED);
	}
	RDS_INLINE T load_acquire() const
	{
		return __atomic_load_n(&v_, __ATOMIC_ACQUIRE);
	}
	/* In one order with all read-modify-writes: the look after "I say that I wait". */
	RDS_INLINE T load_seq() const
	{
		return __atomic_load_n(&v_, __ATOMIC_SEQ_CST);
	}
	RDS_INLINE void store(T v)
	{
		__atomic_store_n(&v_, v, __ATOMIC_RELAXED);
	}
	RDS_INLINE void store_release(T v)
	{
		__atomic_store_n(&v_, v, __ATOMIC_RELEASE);
	}
	RDS_INLINE T exchange(T v)
	{
		return __atomic_exchange_n(&v_, v, __ATOMIC_SEQ_CST);
	}
	RDS_INLINE T fetch_add(T v)
	{
		return __atomic_fetch_add(&v_, v, __ATOMIC_SEQ_CST);
	}
	RDS_INLINE T fetch_sub(T v)
	{
		return __atomic_fetch_sub(&v_, v, __ATOMIC_SEQ_CST);
	}
	RDS_INLINE T fetch_or(T v)
	{
		return __atomic_fetch_or(&v_, v, __ATOMIC_SEQ_CST);
	}
	RDS_INLINE T fetch_and(T v)
	{
		return __atomic_fetch_and(&v_, v, __ATOMIC_SEQ_CST);
	}
	RDS_INLINE bool compare_exchange(T &expected, T desired)
	{
		return __atomic_compare_exchange_n(&v_, &expected, desired, false, __ATOMIC_SEQ_CST,
						   __ATOMIC_RELAXED);
	}

private:
	T v_{};
};

/* The same for a state: the compilers' builtins want an integer. */
template <typename E>
class AtomicEnum final
{
public:
	RDS_INLINE E load() const
	{
		return static_cast<E>(v_.load());
	}
	RDS_INLINE E load_acquire() const
	{
		return static_cast<E>(v_.load_acquire());
	}
	RDS_INLINE void store(E v)
	{
		v_.store(static_cast<uint8_t>(v));
	}
	RDS_INLINE void store_release(E v)
	{
		v_.store_release(static_cast<uint8_t>(v));
	}
	/* True: it was @expected, and is @desired; else @expected becomes what it is. */
	RDS_INLINE bool compare_exchange(E &expected, E desired)
	{
		uint8_t v = static_cast<uint8_t>(expected);
		bool done = v_.compare_exchange(v, static_cast<uint8_t>(desired));

		expected = static_cast<E>(v);
		return done;
	}

private:
	Atomic<uint8_t> v_;
};

/* For fields that C shares (sysctls, structures of a transport) and that others look at while they
 * are written: one load, one store.  Their owner reads plainly what it wrote, so they order
 * nothing: no pair of "I say, then I look" is made of them. */
template <typename T>
RDS_INLINE T read_once(const T &v)
{
	T now;

	__atomic_load(&v, &now, __ATOMIC_RELAXED);
	return now;
}
template <typename T>
RDS_INLINE void write_once(T &v, T to)
{
	__atomic_store(&v, &to, __ATOMIC_RELAXED);
}

/* Orders a store before a later load of something else (store, full_fence, load). */
RDS_INLINE void full_fence()
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * "I say, then I look", of two who each say something and then look at what the other has said: one
 * of both sees the other, whatever the processor does with stores and loads.
 */
template <typename Say, typename Look>
RDS_INLINE auto announce_then_look(Say say, Look look)
{
	say();
	full_fence();
	return look();
}

/* One less of what @n counts, and never less than none. */
RDS_INLINE void count_down(Atomic<uint32_t> &n, const char *what)
{
	if (bug_on(!n.fetch_sub(1), what))
		n.fetch_add(1);
}

/* Intrusive count.  get_unless_zero() is for objects found under RCU. */
class RefCount final
{
public:
	explicit RefCount(uint32_t n) : n_(n)
	{
	}
	RDS_INLINE void get()
	{
		bug_on_hot(!n_.fetch_add(1), "a reference is taken on what nobody has");
	}
	RDS_INLINE bool get_unless_zero()
	{
		uint32_t n = n_.load();

		while (n)
			if (n_.compare_exchange(n, n + 1))
				return true;
		return false;
	}
	/* True for the last one: the caller frees. */
	RDS_INLINE bool put()
	{
		const uint32_t n = n_.fetch_sub(1);

		bug_on_hot(!n, "more references are given back than were taken");
		return n == 1;
	}
	RDS_INLINE bool only_one() const
	{
		return n_.load_acquire() == 1;
	}

private:
	Atomic<uint32_t> n_;
};

/* An RCU reader for the length of a scope. */
class RDS_SCOPED_CAPABILITY RcuReader final
{
public:
	RDS_INLINE RcuReader() RDS_ACQUIRE_SHARED(kRcu)
	{
		rds_rcu_read_lock();
	}
	RDS_INLINE ~RcuReader() RDS_RELEASE()
	{
		rds_rcu_read_unlock();
	}
	RcuReader(const RcuReader &) = delete;
	RcuReader &operator=(const RcuReader &) = delete;
};

/* The word to an allocator of a task that may wait for memory. */
RDS_INLINE constexpr enum rds_ctx may_sleep() RDS_SLEEPS
{
	return RDS_MAY_SLEEP;
}

/* Between two steps of what takes long. */
RDS_INLINE void let_others_run() RDS_SLEEPS
{
	rds_resched();
}

/* nullptr without memory; constructors cannot fail. */
template <typename T, typename... Args>
RDS_INLINE T *create(enum rds_ctx ctx, Args &&...args)
{
	void *p = rds_alloc(sizeof(T), ctx);

	return p ? new (p) T(static_cast<Args &&>(args)...) : nullptr;
}

/* The same of a @kind of which there may be very many. */
template <typename T, typename... Args>
RDS_INLINE T *create_object(enum rds_object kind, enum rds_ctx ctx, Args &&...args)
{
	void *p = rds_alloc_object(kind, ctx);

	return p ? new (p) T(static_cast<Args &&>(args)...) : nullptr;
}

template <typename T>
RDS_INLINE void destroy(T *p)
{
	if (p)
		p->~T();
	rds_free(p);
}

/* The object whose member @m is at @p. */
template <typename T, typename M>
RDS_INLINE T *container_of(M *p, M T::*m)
{
	/* Any aligned address does for measuring; the null one would trip UBSan. */
	T *probe = reinterpret_cast<T *>(uintptr_t{4096});
	auto off = reinterpret_cast<uintptr_t>(&(probe->*m)) - uintptr_t{4096};

	return reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(p) - off);
}

} // namespace rds
#endif
