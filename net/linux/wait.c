// SPDX-License-Identifier: GPL-2.0
/*
 * wait.c: system calls that wait for a socket, and the core's word that wakes them.
 *
 * A waiter (1) enters the socket's wait queue, (2) looks at the socket, (3) sleeps.  A waker
 * (1) stores the change, (2) looks for sleepers.  Between (1) and (2) each passes a full barrier,
 * so one of them sees the other and no wakeup is lost.  tests/sim/glue runs this file as it is,
 * under every schedule.
 */
#include <linux/poll.h>
#include <linux/sched/signal.h>

#include "glue.h"

/* add_wait_queue() ends in a plain store. */
static void begin_wait(struct sock *sk, struct wait_queue_entry *wait)
{
	add_wait_queue(sk_sleep(sk), wait);
	smp_mb();
}

/*
 * Sleeps once: 0, or the errno that ends the call.  A signal restarts the call where its handler
 * has SA_RESTART, with the whole time again, even if there is a time limit: so does mainline, and a
 * program that has met no EINTR there must meet none here.
 */
static int sleep_once(struct wait_queue_entry *wait, long *timeo)
{
	if (!*timeo)
		return -ETIMEDOUT;
	if (signal_pending(current))
		return -ERESTARTSYS;
	*timeo = wait_woken(wait, TASK_INTERRUPTIBLE, *timeo);
	return 0;
}

/*
 * On the wait queue first, then tried again: a port that clears takes its waiters off its list and
 * wakes them once, and may be full again by the time we look; the same with room for sending.  A
 * send that fails after we could be woken is followed by a wakeup for certain.  While it sleeps a
 * call has neither a message nor room for one, so that any number may.
 */
int rds_wait_and_send(struct sock *sk, struct rds_send_call *call, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	bool blocked = false;
	int err;

	begin_wait(sk, &wait);
	for (;;) {
		err = rds_send_once(sk, call);
		if (!rds_send_may_wait(call, err))
			break;
		if (err == -ENOBUFS && !blocked)
			rds_socket_note_blocked(rds_core(sk));
		blocked |= err == -ENOBUFS;
		err = sleep_once(&wait, timeo);
		if (err)
			break;
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return err;
}

int rds_wait_to_recv(struct sock *sk, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	begin_wait(sk, &wait);
	while (!err && !rds_socket_readable(rds_core(sk)))
		err = sleep_once(&wait, timeo);
	remove_wait_queue(sk_sleep(sk), &wait);
	return err;
}

/*
 * An epoll that is exclusive lets a wake reach one thread, which is not done with the first message
 * when the second comes; one with an edge may count messages by it.  Others need no more than one.
 */
static bool wants_each(const struct poll_table_struct *wait)
{
	return rds_poll_waits(wait) && poll_requested_events(wait) & (EPOLLET | EPOLLEXCLUSIVE);
}

__poll_t rds_poll_socket(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	struct rds_socket *s = rds_core(sock->sk);
	unsigned int ready;
	__poll_t mask = 0;

	sock_poll_wait(file, sock, wait);
	if (unlikely(wants_each(wait)))
		rds_socket_wake_each(s);
	ready = rds_socket_poll(s);
	if (ready & RDS_POLL_IN)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (ready & RDS_POLL_CONG)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLWRBAND;
	if (ready & RDS_POLL_OUT)
		mask |= EPOLLOUT | EPOLLWRNORM;
	return mask;
}

void rds_wake_sleepers(struct sock *sk, unsigned int what)
{
	struct socket_wq *wq;
	__poll_t events = 0;

	if (what & RDS_WAKE_READ)
		events |= EPOLLIN | EPOLLRDNORM;
	if (what & RDS_WAKE_WRITE)
		events |= EPOLLOUT | EPOLLWRNORM;
	/* Told as readable (mainline's way), and blocked senders wait for it too. */
	if (what & RDS_WAKE_CONG)
		events |= EPOLLIN | EPOLLRDNORM | EPOLLWRBAND | EPOLLOUT | EPOLLWRNORM;
	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_poll(&wq->wait, events);
	if (what & (RDS_WAKE_READ | RDS_WAKE_CONG))
		sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	rcu_read_unlock();
}
