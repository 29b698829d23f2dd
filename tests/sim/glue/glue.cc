// SPDX-License-Identifier: GPL-2.0
#include "glue.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "layout.h"
#include "net/rds/ref.h"
#include "sim.h"

/* The tasks on the queue of one socket.  @sleepers is what wakers look at before they take the
 * lock.
 */
struct wait_queue_head {
	wait_queue_head()
	{
		rds_spin_init(&lock, RDS_RANK_COUNT);
	}

	struct rds_spinlock lock;
	rds::Atomic<uint32_t> sleepers{0};
	std::vector<struct wait_queue_entry *> entries;
	struct socket_wq wq = {this};
};

struct rds_send_call {
	host::Socket &s;
	const struct rds_endpoint &to;
	std::span<const unsigned char> data;
};

namespace
{

std::unordered_map<const struct rds_socket *, std::unique_ptr<struct wait_queue_head>> queues;
std::function<bool()> has_signal;

struct wait_queue_head &queue_of(struct rds_socket *s)
{
	auto &q = queues[s];

	if (!q)
		q = std::make_unique<struct wait_queue_head>();
	glue_sk(s)->sk_wq = &q->wq;
	return *q;
}

void wake_sleepers(struct rds_socket *s, unsigned int what)
{
	queue_of(s);
	rds_wake_sleepers(glue_sk(s), what);
}

} // namespace

extern "C" {

int rds_send_once(struct sock *, struct rds_send_call *call)
{
	return call->s.send(call->to, call->data);
}

bool rds_send_may_wait(const struct rds_send_call *, int err)
{
	return err == -EAGAIN || err == -ENOBUFS;
}

struct wait_queue_head *sk_sleep(struct sock *sk)
{
	return &queue_of(glue_core(sk));
}

/* The lock is given back by a plain store: that somebody sleeps may be seen late. */
void add_wait_queue(struct wait_queue_head *q, struct wait_queue_entry *e)
{
	rds_spin_lock(&q->lock);
	e->queued = q;
	q->entries.push_back(e);
	q->sleepers.store(static_cast<uint32_t>(q->entries.size()));
	rds_spin_unlock(&q->lock);
}

void remove_wait_queue(struct wait_queue_head *q, struct wait_queue_entry *e)
{
	rds_spin_lock(&q->lock);
	std::erase(q->entries, e);
	e->queued = nullptr;
	q->sleepers.store(static_cast<uint32_t>(q->entries.size()));
	rds_spin_unlock(&q->lock);
}

long wait_woken(struct wait_queue_entry *e, int, long timeo)
{
	uint64_t from = sim::now_ns();
	auto over = std::make_shared<bool>(false);

	if (timeo != MAX_SCHEDULE_TIMEOUT)
		sim::after(
			static_cast<uint64_t>(timeo), "time limit", [over] { *over = true; },
			sim::Context::kHardirq);
	rds::full_fence(); /* set_current_state() */
	sim::wait_until([&] { return e->woken || *over || signal_pending(0); });
	e->woken = 0;
	rds::full_fence();
	if (timeo == MAX_SCHEDULE_TIMEOUT)
		return timeo;

	return std::max(timeo - static_cast<long>(sim::now_ns() - from), 0l);
}

bool waitqueue_active(struct wait_queue_head *q)
{
	return q->sleepers.load();
}

bool skwq_has_sleeper(struct socket_wq *wq)
{
	rds::full_fence();
	return wq && waitqueue_active(wq->wait);
}

void wake_up_interruptible_poll(struct wait_queue_head **q, __poll_t events)
{
	rds_spin_lock(&(*q)->lock);
	for (struct wait_queue_entry *e : (*q)->entries)
		if (!e->events || e->events & events)
			e->woken = 1;
	rds_spin_unlock(&(*q)->lock);
}

void smp_mb(void)
{
	rds::full_fence();
}

void rcu_read_lock(void)
{
	rds_rcu_read_lock();
}

void rcu_read_unlock(void)
{
	rds_rcu_read_unlock();
}

int signal_pending(int)
{
	return has_signal && has_signal();
}

void sock_poll_wait(struct file *, struct socket *sock, struct poll_table_struct *p)
{
	if (!p || !p->_qproc)
		return;
	if (!p->_qproc->queued)
		add_wait_queue(sk_sleep(sock->sk), p->_qproc);
	smp_mb();
}

} // extern "C"

namespace glue
{

void start(std::function<bool()> signalled)
{
	if (glue_sock_bytes > host::Sock::kLinuxBytes)
		sim::fail("what Linux has before the core's storage has no room");
	queues.clear();
	has_signal = std::move(signalled);
	host::wake_sleepers = wake_sleepers;
}

bool nobody_waits()
{
	return std::all_of(queues.begin(), queues.end(),
			   [](const auto &q) { return q.second->entries.empty(); });
}

int send(host::Socket &s, const struct rds_endpoint &to, std::span<const unsigned char> data,
	 long ns)
{
	struct rds_send_call call = {s, to, data};
	int ret = rds_send_once(glue_sk(s.core()), &call);

	if ((ret == -EAGAIN || ret == -ENOBUFS) && ns)
		ret = rds_wait_and_send(glue_sk(s.core()), &call, &ns);
	return ret;
}

int wait_to_recv(host::Socket &s, long ns)
{
	return rds_wait_to_recv(glue_sk(s.core()), &ns);
}

struct Poll::State {
	struct wait_queue_entry entry = {};
	struct poll_table_struct table = {};
	struct socket sock = {};
	bool looked = false; /* since the last wakeup */
};

Poll::Poll(host::Socket &s, unsigned int flags) : state_(std::make_unique<State>())
{
	state_->table = {&state_->entry, flags};
	state_->sock.sk = glue_sk(s.core());
}

Poll::~Poll()
{
	if (state_->entry.queued)
		remove_wait_queue(sk_sleep(state_->sock.sk), &state_->entry);
}

unsigned int Poll::look(unsigned int events)
{
	bool edge = state_->table.events & EPOLLET;

	if (edge && state_->looked && !state_->entry.woken)
		return 0;
	state_->entry.woken = 0;
	state_->looked = true;
	rds::full_fence();
	return rds_poll_socket(nullptr, &state_->sock, &state_->table) & events;
}

unsigned int Poll::wait(unsigned int events)
{
	state_->entry.events = events;
	for (;;) {
		unsigned int ready = look(events);

		if (ready || signal_pending(0))
			return ready;
		sim::wait_until([this] { return state_->entry.woken || signal_pending(0); });
	}
}

} // namespace glue
