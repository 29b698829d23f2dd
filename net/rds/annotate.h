/* SPDX-License-Identifier: GPL-2.0 */
/*
 * annotate.h: what the compiler checks for us.  clang's thread-safety analysis in the tests
 * (-Wthread-safety -Werror), nothing in the kernel's build.
 */
#ifndef RDS_ANNOTATE_H
#define RDS_ANNOTATE_H

#if defined(__clang__)
#define RDS_TSA(x) __attribute__((x))
#else
#define RDS_TSA(x)
#endif

#define RDS_CAPABILITY(name) RDS_TSA(capability(name))
#define RDS_SCOPED_CAPABILITY RDS_TSA(scoped_lockable)
#define RDS_GUARDED_BY(x) RDS_TSA(guarded_by(x))
#define RDS_REQUIRES(...) RDS_TSA(requires_capability(__VA_ARGS__))
#define RDS_READS(...) RDS_TSA(requires_shared_capability(__VA_ARGS__))
#define RDS_EXCLUDES(...) RDS_TSA(locks_excluded(__VA_ARGS__))
#define RDS_ACQUIRE(...) RDS_TSA(acquire_capability(__VA_ARGS__))
#define RDS_TRY_ACQUIRE(...) RDS_TSA(try_acquire_capability(__VA_ARGS__))
#define RDS_ACQUIRE_SHARED(...) RDS_TSA(acquire_shared_capability(__VA_ARGS__))
#define RDS_RELEASE(...) RDS_TSA(release_capability(__VA_ARGS__))
/* For the few places that take a lock in one function and leave it in another; each says why. */
#define RDS_NO_TSA RDS_TSA(no_thread_safety_analysis)

/* Everything defined in a header: never emitted twice, so COMDAT never matters (cxx.md 2). */
#define RDS_INLINE inline __attribute__((always_inline))

#define RDS_LIKELY(x) __builtin_expect(!!(x), 1)
#define RDS_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
