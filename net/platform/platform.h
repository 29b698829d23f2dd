/* SPDX-License-Identifier: GPL-2.0 */
/*
 * platform.h: the seam.  All that the core (net/rds, and the pure parts of the transports) imports.
 *
 * C, flat, opaque handles.  Three implementations: net/linux (kernel), tests/sim (one thread,
 * virtual time, injected faults), tests/pthread (real races).  tests/seam compares the core's
 * undefined symbols with the functions declared here.  Changes need a note in docs/decisions.
 *
 * Contexts: "process" may sleep; "any" is process or softirq, with or without core locks held,
 * never hardirq unless said so.
 */
#ifndef RDS_PLATFORM_H
#define RDS_PLATFORM_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory ---- */
/* @size bytes, not zeroed, 8-aligned; NULL when there are none, or when the cgroup of the calling
 * program may have no more: it is charged to it.  Any context that @ctx is true of. */
void *rds_alloc(size_t size, enum rds_ctx ctx);
/* The same for a message, at most 4096 bytes: its owner writes all of it before anybody reads it,
 * so no kernel need clear it, as some do with what they give (init_on_alloc).  rds_free() takes it.
 */
void *rds_alloc_msg(size_t size, enum rds_ctx ctx);
/* The same for one of a kind of which a host may have very many: it takes as much memory as it is
 * large (rds_core_size()).  The cgroup of the calling program pays. */
void *rds_alloc_object(enum rds_object what, enum rds_ctx ctx);
/* Gives memory of rds_alloc() back; NULL is allowed.  Any context. */
void rds_free(void *p);
/* The same for @n of them, none NULL or larger than a page: much cheaper where they were allocated
 * in a row. */
void rds_free_many(size_t n, void **p);

/* ---- locks ---- */
/* All spin locks keep softirqs off while held; none is ever taken in hardirq. */
void rds_spin_init(struct rds_spinlock *l, enum rds_lock_rank rank);
void rds_spin_lock(struct rds_spinlock *l);
void rds_spin_unlock(struct rds_spinlock *l);
void rds_mutex_init(struct rds_mutex *m, enum rds_lock_rank rank);
void rds_mutex_lock(struct rds_mutex *m);
/* 0, or -EINTR when a signal came first (the lock is then not held).  Process. */
int rds_mutex_lock_interruptible(struct rds_mutex *m);
/* The same, of a signal that ends the caller. */
int rds_mutex_lock_killable(struct rds_mutex *m);
/* 1 when it was free and is ours now, else 0.  Process, but does not sleep. */
int rds_mutex_trylock(struct rds_mutex *m);
void rds_mutex_unlock(struct rds_mutex *m);

/* ---- read-copy-update ---- */
void rds_rcu_read_lock(void);
void rds_rcu_read_unlock(void);
/* Returns when every reader that was inside has left.  Process, no spin lock, not a reader. */
void rds_rcu_sync(void);
/* Returns when every function given to rds_rcu_defer() before has run.  Process. */
void rds_rcu_barrier(void);
/* Calls @fn(@h) once every reader that is inside now has left.  Any context. */
void rds_rcu_defer(struct rds_rcu_head *h, void (*fn)(struct rds_rcu_head *h));

/* ---- deferred execution ---- */
/* A work item runs in process context, never twice at once, once more if queued while it runs. */
/* RDS_WORK_WAITS: it may wait for work items of the other kind, which wait for none. */
enum rds_work_kind { RDS_WORK_LEAF, RDS_WORK_WAITS };
void rds_work_init(struct rds_work *w, void (*fn)(struct rds_work *w), enum rds_work_kind kind);
/* Among those of namespace @os, always the same for @w: however many these are, no other
 * namespace's wait for them.  Any context, hardirq too. */
void rds_work_queue(struct rds_work *w, struct rds_os_net *os);
/* After it neither runs nor is queued.  Process, not from @w itself, no lock that @w takes. */
void rds_work_cancel_sync(struct rds_work *w);
/* Waits until what is queued now has run.  Same context rules. */
void rds_work_flush(struct rds_work *w);
/* One-shot timers; @fn may run in hardirq: it may only set atomics and queue work. */
void rds_timer_init(struct rds_timer *t, void (*fn)(struct rds_timer *t));
/* (Re)arms to fire @ns from now.  Of two who do, the later sees all that the earlier had stored
 * before.  Any context. */
void rds_timer_arm(struct rds_timer *t, uint64_t ns);
/* After it the timer is not armed and @fn is not running.  Process, not from @fn. */
void rds_timer_cancel_sync(struct rds_timer *t);

/* ---- the processor ---- */
/* Lets those run that wait for the processor: what takes long calls it between two steps, for a
 * kernel may interrupt no system call that does not ask.  Process, no lock, not a reader. */
void rds_resched(void);

/* ---- time and chance ---- */
/* Nanoseconds of a clock that never goes back; its zero means nothing.  Any context. */
uint64_t rds_now_ns(void);
/* Milliseconds, for ages: a clock that costs a few instructions to read, is some 10 ms behind at
 * times, and wraps.  Any context. */
uint32_t rds_coarse_ms(void);
/* A random number, good enough for ports and back-off.  Any context. */
uint32_t rds_random(void);
/* A secret of 128 bits, that nobody can guess.  Any context. */
void rds_secret(uint64_t key[2]);
/* SipHash of @n words under @key: who does not know it cannot tell which values collide, whatever
 * he has seen.  Some 250 instructions.  Any context. */
uint64_t rds_siphash(const uint64_t key[2], const uint64_t *words, unsigned int n);

/* ---- payload ---- */
/*
 * A payload is the platform's trailer of struct rds_msg: the core allocates
 * sizeof(struct rds_msg) + rds_payload_footprint(len) bytes in one piece and hands over the tail.
 */
/* Trailer bytes for a message of @len bytes (0 for 0); small ones are kept whole inside. */
uint32_t rds_payload_footprint(uint32_t len);
/* Bytes of memory that a payload takes in all, when all of it is at hand: its trailer, and what
 * rds_payload_truesize() says then. */
uint32_t rds_payload_memory(uint32_t len);
/* Makes an empty payload for @len bytes at @p: 0 or -ENOMEM.  @soon of them are filled in at once
 * (all of them: also by _from_user() and _from_mem()), and memory is got for about as many; the
 * others come by rds_payload_append(), perhaps never, which gets the memory for them.  @src (may be
 * NULL) has those of @soon that were received: the platform may keep references to it in place of
 * copies. */
int rds_payload_init(struct rds_payload *p, uint32_t len, const struct rds_src *src, uint32_t soon,
		     enum rds_ctx ctx);
/* Fills all @len bytes from a system call: 0 or -EFAULT.  Process. */
int rds_payload_from_user(struct rds_payload *p, struct rds_uio *from);
/* As _from_user, but pins the caller's pages: 0, -EFAULT, -ENOMEM (RLIMIT_MEMLOCK too).  Instead
 * of rds_payload_init().  Process. */
int rds_payload_pin_user(struct rds_payload *p, uint32_t len, struct rds_uio *from);
/* Makes a pinned payload its own copy and lets the caller's pages go: 0 or -ENOMEM (still
 * pinned).  Process. */
int rds_payload_unpin(struct rds_payload *p);
/* Fills all bytes from memory.  Any context. */
void rds_payload_from_mem(struct rds_payload *p, const void *from);
/* Appends @n bytes found at @off in @src: 0, -ENOMEM, or -EFAULT when they cannot be read now or
 * later (nothing appended).  Softirq or process. */
int rds_payload_append(struct rds_payload *p, struct rds_src *src, uint32_t off, uint32_t n,
		       enum rds_ctx ctx);
/* Copies @n bytes at @off to a system call: 0 or -EFAULT.  Process. */
int rds_payload_to_user(const struct rds_payload *p, uint32_t off, uint32_t n, struct rds_uio *to);
/* Copies @n bytes at @off to memory (congestion maps): 0, or -EFAULT when they cannot be read.  Any
 * context. */
int rds_payload_to_mem(const struct rds_payload *p, uint32_t off, uint32_t n, void *to);
/* Bytes of memory beyond rds_payload_footprint() that this payload holds.  Any context. */
uint32_t rds_payload_truesize(const struct rds_payload *p);
/* Releases what _init, _pin_user and _append got.  Any context. */
void rds_payload_destroy(struct rds_payload *p);
/* Copies @n bytes at @off of received data (headers): 0, or -EFAULT when they cannot be read.  Any
 * context. */
int rds_src_copy(const struct rds_src *src, uint32_t off, void *to, uint32_t n);

/* ---- a program's memory, for RDMA ---- */
/* Pins the pages of @n pieces of the caller's memory, none of them empty; @write: they will be
 * written to.  0 and *@pages, or -EFAULT (not there, or not to be written to), -EOPNOTSUPP (of a
 * file that is not in memory: DAX), -EPERM (the caller may lock no memory), -ENOMEM (RLIMIT_MEMLOCK
 * too).  Process, of the caller. */
int rds_pages_pin(const struct rds_iov *v, unsigned int n, int write, struct rds_pages **pages);
/* Lets them go; no adapter knows them any more.  Any context: what has to sleep follows soon. */
void rds_pages_unpin(struct rds_pages *pages);

/* ---- sockets ---- */
enum rds_wake { RDS_WAKE_READ = 1, RDS_WAKE_WRITE = 2, RDS_WAKE_CONG = 4 };
/* Wakes whoever sleeps in or polls @s for any of @what (enum rds_wake).  Any context, no core
 * lock held; @s is kept alive by an RCU reader or a reference of the caller. */
void rds_socket_wake(struct rds_socket *s, unsigned int what);
/* Half of SO_SNDBUF and SO_RCVBUF as they are now, in bytes (the kernel doubles what was set). */
uint32_t rds_socket_sndbuf(const struct rds_socket *s);
uint32_t rds_socket_rcvbuf(const struct rds_socket *s);
/* Charges @bytes of messages to the cgroup of @s.  RDS_MAY_SLEEP: may wait for memory to be
 * reclaimed; RDS_ATOMIC: -EAGAIN, somebody else is at it.  -ENOMEM: the cgroup may have no more. */
int rds_socket_pay(struct rds_socket *s, uint32_t bytes, enum rds_ctx ctx);
/* Takes that back: 0, or -EAGAIN as above.  Any context. */
int rds_socket_repay(struct rds_socket *s, uint32_t bytes);
/* Current time of day in ns for SO_TIMESTAMP, or 0 when @s does not ask for it.  Any context. */
uint64_t rds_socket_stamp(const struct rds_socket *s);

/* ---- counters, log, trace ---- */
/* Adds to this CPU's counter @id (enum rds_stat, stats.h) of a namespace's set.  Any context. */
void rds_stat_add(struct rds_stats *st, unsigned int id, uint64_t n);
/* One rate-limited line: @what, and the pair of addresses it is about (either may be NULL). */
void rds_log(const char *what, const struct rds_addr *laddr, const struct rds_addr *faddr);
/* A bug of ours: warns once per @what with a stack trace.  The caller then drops the path. */
void rds_bug(const char *what);
/* A path went from state @from to @to because of @why (enum rds_drop_reason or event). */
void rds_trace_state(const struct rds_path *p, unsigned int from, unsigned int to,
		     unsigned int why);
/* A path's connection took event @event (enum rds_path_event, net/rds/path_event.h), which found it
 * in state @from. */
void rds_trace_event(const struct rds_path *p, unsigned int event, unsigned int from);
/* A message that came on @p is thrown away; @why is the counter (enum rds_stat) that says so.
 * Ports in host order.  Any context. */
void rds_trace_drop(const struct rds_path *p, unsigned int why, uint64_t seq, uint32_t len,
		    uint16_t sport, uint16_t dport);
/* News of ports at @addr, which is of the namespace (@ours) or a peer's: of @port, or of all where
 * that is 0.  Any context. */
enum rds_cong_news {
	RDS_CONG_FULL,	    /* @port takes no more */
	RDS_CONG_CLEAR,	    /* it does again */
	RDS_CONG_MAP,	    /* the peer at @addr sent its map */
	RDS_CONG_FORGOTTEN, /* its connection is gone, and with it what its map said */
};
void rds_trace_cong(struct rds_os_net *os, int ours, const struct rds_addr *addr, unsigned int port,
		    enum rds_cong_news news);

/* ---- modules and rights ---- */
/* A reference on a transport's code: 0, or -ENOENT when it is being unloaded, or is not loaded yet:
 * its start may still fail.  Any context. */
int rds_module_get(struct rds_module *m);
void rds_module_put(struct rds_module *m);
/* Tries to load a transport ("rds_tcp"); whether it came is seen in the registry.  Unless it is one
 * @for_all, nothing is tried for a caller who may not load modules.  Process. */
void rds_module_request(const char *name, int for_all);
/* Does the calling program administer the namespace?  No bound for a user holds for it.
 * Process. */
int rds_caller_is_admin(struct rds_os_net *os);

#ifdef __cplusplus
}
#endif
#endif
