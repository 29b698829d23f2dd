// SPDX-License-Identifier: GPL-2.0
/*
 * platform_linux.c: the seam on Linux: memory, locks, RCU, deferred work, time, counters, log.
 * Payloads are in payload_linux.c and payload_skb.c.
 */
#include "platform_linux.h"

#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>

#include "glue.h"
#include "linux_net.h"
#include "payload_pool.h"
#include "../rds/path_event.h"
#include "state.h"
#include "trace.h"

int rds_platform_init(void)
{
	int err = rds_memory_init();

	if (err)
		return err;
	err = rds_pool_init();
	if (err)
		rds_memory_exit();
	return err;
}

void rds_platform_exit(void)
{
	rcu_barrier();
	rds_pool_exit();
	rds_memory_exit();
}

/* ---- locks ---- */
/* One lockdep class for each rank, so that the documented order is the checked one. */
static struct lock_class_key rds_lock_keys[RDS_RANK_COUNT];
static const char *const rds_lock_names[RDS_RANK_COUNT] = {
	[RDS_RANK_BIND] = "rds:bind",
	[RDS_RANK_NETS] = "rds:nets",
	[RDS_RANK_REGISTRY] = "rds:registry",
	[RDS_RANK_READER] = "rds:reader",
	[RDS_RANK_TABLE] = "rds:table",
	[RDS_RANK_LOOK] = "rds:look",
	[RDS_RANK_CONG] = "rds:cong",
	[RDS_RANK_ORDER] = "rds:order",
	[RDS_RANK_FURTHER_PATH] = "rds:further_path",
	[RDS_RANK_PATH] = "rds:path",
	[RDS_RANK_RECV] = "rds:recv",
	[RDS_RANK_SOCKET] = "rds:socket",
	[RDS_RANK_RDMA] = "rds:rdma",
	[RDS_RANK_TOMBS] = "rds:tombs",
	[RDS_RANK_ASSEMBLY] = "rds:assembly",
	[RDS_RANK_USERS] = "rds:users",
};

static spinlock_t *to_spin(struct rds_spinlock *l)
{
	BUILD_BUG_ON(sizeof(*l) < sizeof(spinlock_t));
	return (spinlock_t *)l;
}

static struct mutex *to_mutex(struct rds_mutex *m)
{
	BUILD_BUG_ON(sizeof(*m) < sizeof(struct mutex));
	return (struct mutex *)m;
}

void rds_spin_init(struct rds_spinlock *l, enum rds_lock_rank rank)
{
	spin_lock_init(to_spin(l));
	lockdep_set_class_and_name(to_spin(l), &rds_lock_keys[rank], rds_lock_names[rank]);
}

void rds_spin_lock(struct rds_spinlock *l)
{
	spin_lock_bh(to_spin(l));
}

void rds_spin_unlock(struct rds_spinlock *l)
{
	spin_unlock_bh(to_spin(l));
}

void rds_mutex_init(struct rds_mutex *m, enum rds_lock_rank rank)
{
	mutex_init(to_mutex(m));
	lockdep_set_class_and_name(to_mutex(m), &rds_lock_keys[rank], rds_lock_names[rank]);
}

void rds_mutex_lock(struct rds_mutex *m)
{
	mutex_lock(to_mutex(m));
}

int rds_mutex_lock_interruptible(struct rds_mutex *m)
{
	return mutex_lock_interruptible(to_mutex(m));
}

int rds_mutex_lock_killable(struct rds_mutex *m)
{
	return mutex_lock_killable(to_mutex(m));
}

int rds_mutex_trylock(struct rds_mutex *m)
{
	return mutex_trylock(to_mutex(m));
}

void rds_mutex_unlock(struct rds_mutex *m)
{
	mutex_unlock(to_mutex(m));
}

/* ---- read-copy-update ---- */
void rds_rcu_read_lock(void)
{
	rcu_read_lock();
}

void rds_rcu_read_unlock(void)
{
	rcu_read_unlock();
}

void rds_rcu_sync(void)
{
	synchronize_rcu();
}

void rds_rcu_barrier(void)
{
	rcu_barrier();
}

static void run_rcu(struct rcu_head *head)
{
	struct rds_linux_rcu *r = container_of(head, struct rds_linux_rcu, head);

	r->fn((struct rds_rcu_head *)r);
}

void rds_rcu_defer(struct rds_rcu_head *h, void (*fn)(struct rds_rcu_head *h))
{
	struct rds_linux_rcu *r = (struct rds_linux_rcu *)h;

	BUILD_BUG_ON(sizeof(*h) < sizeof(*r));
	r->fn = fn;
	call_rcu(&r->head, run_rcu);
}

/* ---- deferred execution ---- */
static struct rds_linux_work *to_work(struct rds_work *w)
{
	BUILD_BUG_ON(sizeof(*w) < sizeof(struct rds_linux_work));
	return (struct rds_linux_work *)w;
}

static void run_work(struct work_struct *work)
{
	struct rds_linux_work *w = container_of(work, struct rds_linux_work, work);

	w->fn((struct rds_work *)w);
}

void rds_work_init(struct rds_work *w, void (*fn)(struct rds_work *w), enum rds_work_kind kind)
{
	/* Each INIT_WORK is a lockdep class of its own. */
	if (kind == RDS_WORK_WAITS)
		INIT_WORK(&to_work(w)->work, run_work);
	else
		INIT_WORK(&to_work(w)->work, run_work);
	to_work(w)->fn = fn;
}

struct workqueue_struct *rds_workers_create(const struct net *net)
{
	if (net_eq(net, &init_net))
		return alloc_workqueue("krdsd", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	/* Not WQ_MEM_RECLAIM: that is a thread for each container, used or not. */
	return alloc_workqueue("krdsd/%u", WQ_UNBOUND, RDS_WORKERS_OF_A_NET, net->ns.inum);
}

void rds_work_queue(struct rds_work *w, struct rds_os_net *os)
{
	queue_work(rds_linux_net(rds_os_net_to_net(os))->workers, &to_work(w)->work);
}

void rds_work_cancel_sync(struct rds_work *w)
{
	cancel_work_sync(&to_work(w)->work);
}

void rds_work_flush(struct rds_work *w)
{
	flush_work(&to_work(w)->work);
}

void rds_resched(void)
{
	cond_resched();
}

static struct rds_linux_timer *to_timer(struct rds_timer *t)
{
	BUILD_BUG_ON(sizeof(*t) < sizeof(struct rds_linux_timer));
	return (struct rds_linux_timer *)t;
}

static enum hrtimer_restart run_timer(struct hrtimer *timer)
{
	struct rds_linux_timer *t = container_of(timer, struct rds_linux_timer, timer);

	t->fn((struct rds_timer *)t);
	return HRTIMER_NORESTART;
}

void rds_timer_init(struct rds_timer *t, void (*fn)(struct rds_timer *t))
{
	rds_hrtimer_setup(&to_timer(t)->timer, run_timer);
	to_timer(t)->fn = fn;
}

void rds_timer_arm(struct rds_timer *t, uint64_t ns)
{
	hrtimer_start(&to_timer(t)->timer, ns_to_ktime(ns), HRTIMER_MODE_REL);
}

void rds_timer_cancel_sync(struct rds_timer *t)
{
	hrtimer_cancel(&to_timer(t)->timer);
}

/* ---- time and chance ---- */
uint64_t rds_now_ns(void)
{
	return ktime_get_ns();
}

uint32_t rds_coarse_ms(void)
{
	return jiffies_to_msecs(jiffies);
}

uint32_t rds_random(void)
{
	return get_random_u32();
}

void rds_secret(uint64_t key[2])
{
	get_random_bytes(key, 2 * sizeof(key[0]));
}

uint64_t rds_siphash(const uint64_t key[2], const uint64_t *words, unsigned int n)
{
	const siphash_key_t k = {{key[0], key[1]}};

	return siphash(words, n * sizeof(words[0]), &k);
}

/* ---- sockets ---- */
void rds_socket_wake(struct rds_socket *s, unsigned int what)
{
	rds_wake_sleepers(rds_sk(s), what);
}

/* sk_forward_alloc is under the socket's lock; nothing of ours holds that for long. */
int rds_socket_pay(struct rds_socket *s, uint32_t bytes, enum rds_ctx ctx)
{
	struct sock *sk = rds_sk(s);
	int err = -ENOMEM;

	if (ctx == RDS_MAY_SLEEP) {
		lock_sock(sk);
		err = sk_wmem_schedule(sk, bytes) ? 0 : -ENOMEM;
		if (!err)
			sk_mem_charge(sk, bytes);
		release_sock(sk);
		return err;
	}
	if (rds_sk_over_limit(sk))
		return -ENOMEM;
	spin_lock_bh(&sk->sk_lock.slock);
	if (sock_owned_by_user(sk)) {
		err = -EAGAIN;
	} else if (sk_wmem_schedule(sk, bytes)) {
		sk_mem_charge(sk, bytes);
		err = 0;
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	return err;
}

int rds_socket_repay(struct rds_socket *s, uint32_t bytes)
{
	struct sock *sk = rds_sk(s);
	int err = -EAGAIN;

	spin_lock_bh(&sk->sk_lock.slock);
	if (!sock_owned_by_user(sk)) {
		sk_mem_uncharge(sk, bytes);
		err = 0;
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	return err;
}

uint32_t rds_socket_sndbuf(const struct rds_socket *s)
{
	return READ_ONCE(rds_sk(s)->sk_sndbuf) / 2;
}

uint32_t rds_socket_rcvbuf(const struct rds_socket *s)
{
	return READ_ONCE(rds_sk(s)->sk_rcvbuf) / 2;
}

uint64_t rds_socket_stamp(const struct rds_socket *s)
{
	return sock_flag(rds_sk(s), SOCK_RCVTSTAMP) ? ktime_get_real_ns() : 0;
}

/* ---- counters, log, trace ---- */
void rds_stat_add(struct rds_stats *st, unsigned int id, uint64_t n)
{
	struct rds_stats __percpu *stats = (struct rds_stats __percpu *)(unsigned long)st;

	this_cpu_add(stats->v[id], n);
}

void rds_log(const char *what, const struct rds_addr *laddr, const struct rds_addr *faddr)
{
	static const struct rds_addr none;

	pr_info_ratelimited("rds: %s (%pI6c - %pI6c)\n", what, laddr ? laddr : &none,
			    faddr ? faddr : &none);
}

void rds_bug(const char *what)
{
	static const char *reported[64]; /* more than there are */
	int i;

	for (i = 0; i < ARRAY_SIZE(reported); i++) {
		const char *was = cmpxchg(&reported[i], NULL, what);

		if (was == what)
			return;
		if (!was)
			break;
	}
	WARN(1, "rds: %s\n", what);
}

void rds_trace_state(const struct rds_path *p, unsigned int from, unsigned int to, unsigned int why)
{
	trace_rds_path_state(p, from, to, why);
	rds_state_event(p, from, to, why);
}

void rds_trace_event(const struct rds_path *p, unsigned int event, unsigned int from)
{
	trace_rds_path_event(p, event, from);
	if (event == RDS_EV_fold)
		rds_state_fold(p);
}

void rds_trace_drop(const struct rds_path *p, unsigned int why, u64 seq, u32 len, u16 sport,
		    u16 dport)
{
	trace_rds_drop(p, why, seq, len, sport, dport);
}

void rds_trace_cong(struct rds_os_net *os, int ours, const struct rds_addr *addr, unsigned int port,
		    enum rds_cong_news news)
{
	trace_rds_cong(addr, port, news);
	if (news == RDS_CONG_FULL || news == RDS_CONG_CLEAR)
		rds_state_port(rds_os_net_to_net(os), ours, addr, port, news == RDS_CONG_FULL);
}

/* ---- modules ---- */
/* A module whose start fails is freed whatever references there are: none is given before that. */
int rds_module_get(struct rds_module *m)
{
	struct module *mod = (struct module *)m;

	if (mod && READ_ONCE(mod->state) != MODULE_STATE_LIVE)
		return -ENOENT;
	return try_module_get(mod) ? 0 : -ENOENT;
}

void rds_module_put(struct rds_module *m)
{
	module_put((struct module *)m);
}

int rds_caller_is_admin(struct rds_os_net *os)
{
	return ns_capable_noaudit(rds_os_net_to_net(os)->user_ns, CAP_NET_ADMIN);
}

void rds_module_request(const char *name, int for_all)
{
	if (for_all || rds_may_load_modules())
		request_module("%s", name);
}
