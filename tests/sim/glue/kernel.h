/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel.h: as much of the kernel as net/linux/wait.c needs to be compiled, unchanged, in the
 * simulator.  CMakeLists.txt makes every kernel header that it includes an alias of this one.
 *
 * Wait queues are as strict as the kernel's: entering one and looking for sleepers are no barriers,
 * a waker's keys reach poll tables only, and nobody is woken who was not found there (glue.cc).
 */
#ifndef SIM_GLUE_KERNEL_H
#define SIM_GLUE_KERNEL_H

#include <signal.h>
#include <sys/epoll.h>

#include "tests/fuzz/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ERESTARTSYS 512
#define MAX_SCHEDULE_TIMEOUT INT64_MAX
#define TASK_INTERRUPTIBLE 1
typedef unsigned int __poll_t;
struct file;

/* ---- wait queues ---- */
struct wait_queue_entry {
	void *queued;	 /* NULL: on no queue */
	uint32_t events; /* a poll table's; 0: every waker's */
	int woken;
};
struct wait_queue_head;
struct socket_wq {
	struct wait_queue_head *wait;
};
#define DEFINE_WAIT_FUNC(name, fn) struct wait_queue_entry name = {0, 0, 0}

struct wait_queue_head *sk_sleep(struct sock *sk);
void add_wait_queue(struct wait_queue_head *q, struct wait_queue_entry *e);
void remove_wait_queue(struct wait_queue_head *q, struct wait_queue_entry *e);
/* @timeo is in nanoseconds here; what is left of it. */
long wait_woken(struct wait_queue_entry *e, int mode, long timeo);
bool skwq_has_sleeper(struct socket_wq *wq);
/* For wakers without a barrier: here for those who break wait.c. */
bool waitqueue_active(struct wait_queue_head *q);
void wake_up_interruptible_poll(struct wait_queue_head **q, __poll_t events);
void smp_mb(void);
#define rcu_dereference(p) (p)
void rcu_read_lock(void);
void rcu_read_unlock(void);
enum { SOCK_WAKE_WAITD, SOCK_WAKE_SPACE };
static inline void sk_wake_async(struct sock *sk, int how, int band)
{
	(void)sk;
	(void)how;
	(void)band;
}

/* ---- signals ---- */
#define current 0
int signal_pending(int task);

/* ---- poll ---- */
/* Where the kernel has the function that enters a queue, ours has the entry; NULL: poll() only
 * looks. */
struct poll_table_struct {
	struct wait_queue_entry *_qproc;
	__poll_t events;
};
static inline __poll_t poll_requested_events(const struct poll_table_struct *p)
{
	return p->events;
}
/* Enters the table's entry once, and passes a full barrier. */
void sock_poll_wait(struct file *file, struct socket *sock, struct poll_table_struct *p);

#ifdef __cplusplus
}
#endif
#endif
