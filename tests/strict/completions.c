// SPDX-License-Identifier: GPL-2.0
/*
 * completions.c: completions on their way from the adapter to those who wait for them, see
 * strict.h.
 *
 * Completions of one queue (what a queue pair sends, what it receives) keep their order, whatever
 * else happens: that is all that adapters promise.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "strict.h"

/* A completion that is held back. */
struct held {
	struct list_head on;
	struct ib_wc wc;
	bool recv;
	unsigned long due; /* jiffies */
};

struct strict_cq {
	struct hlist_node on;
	struct ib_cq *cq;
	ib_comp_handler handler; /* its user's */
	spinlock_t lock;	 /* guards what follows; irqs off */
	struct list_head held;
	bool armed; /* its user wants to be called */
	struct delayed_work work;
};

static DEFINE_HASHTABLE(cqs, 6); /* strict_lock */

static struct strict_cq *find(const struct ib_cq *cq)
{
	struct strict_cq *c, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&strict_lock, flags);
	hash_for_each_possible(cqs, c, on, (unsigned long)cq)
		if (c->cq == cq)
			found = c;
	spin_unlock_irqrestore(&strict_lock, flags);
	return found;
}

/* ---- events ---- */

static void call(struct strict_cq *c)
{
	unsigned long flags;
	bool armed;

	spin_lock_irqsave(&c->lock, flags);
	armed = c->armed;
	c->armed = false;
	spin_unlock_irqrestore(&c->lock, flags);
	if (armed && !strict_one_of(&strict_events_lost))
		c->handler(c->cq, c->cq->cq_context);
}

static void ready(struct ib_cq *cq, void *context)
{
	struct strict_cq *c = find(cq);

	if (c)
		call(c);
}

static void due(struct work_struct *work)
{
	call(container_of(to_delayed_work(work), struct strict_cq, work));
}

int strict_watch_cq(struct ib_cq *cq)
{
	struct strict_cq *c = find(cq);

	if (c)
		return 0;
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->cq = cq;
	c->handler = cq->comp_handler;
	c->armed = true; /* it may be */
	spin_lock_init(&c->lock);
	INIT_LIST_HEAD(&c->held);
	INIT_DELAYED_WORK(&c->work, due);
	spin_lock_irq(&strict_lock);
	hash_add(cqs, &c->on, (unsigned long)cq);
	spin_unlock_irq(&strict_lock);
	cq->comp_handler = ready;
	return 0;
}

int strict_destroy_cq(struct ib_cq *cq, struct ib_udata *udata)
{
	struct strict_cq *c = find(cq);
	struct held *h, *next;
	int err;

	err = strict_ops(cq->device)->destroy_cq(cq, udata);
	if (!c)
		return err;
	spin_lock_irq(&strict_lock);
	hash_del(&c->on);
	spin_unlock_irq(&strict_lock);
	cancel_delayed_work_sync(&c->work);
	list_for_each_entry_safe(h, next, &c->held, on)
		kfree(h);
	kfree(c);
	return err;
}

/* ---- from the adapter ---- */

static void hold(struct strict_cq *c, const struct ib_wc *wc)
{
	struct held *h = kmalloc(sizeof(*h), GFP_ATOMIC);
	unsigned int late;

	if (WARN_ON_ONCE(!h))
		return;
	h->wc = *wc;
	h->recv = strict_seen(wc);
	if (wc->status == IB_WC_WR_FLUSH_ERR)
		h->wc.status = strict_flushed_as;
	late = h->recv ? strict_late_recvs : strict_late_sends;
	h->due = jiffies + msecs_to_jiffies(late);
	list_add_tail(&h->on, &c->held);
}

static void take_all(struct strict_cq *c)
{
	const struct ib_device_ops *ops = strict_ops(c->cq->device);
	struct ib_wc wc;

	while (ops->poll_cq(c->cq, 1, &wc) > 0)
		hold(c, &wc);
}

/* ---- to those who wait ---- */

static bool is_first(const struct strict_cq *c, const struct held *of)
{
	const struct held *h;

	list_for_each_entry(h, &c->held, on) {
		if (h == of)
			return true;
		if (h->wc.qp == of->wc.qp && h->recv == of->recv)
			return false;
	}
	return false;
}

/* The next one that may go; NULL: none may yet. */
static struct held *next_of(struct strict_cq *c)
{
	struct held *h, *found = NULL;
	u32 n = 0;

	list_for_each_entry(h, &c->held, on) {
		if (time_before(jiffies, h->due) || !is_first(c, h))
			continue;
		/* Each of those that may go, as likely as the others. */
		if (get_random_u32() % ++n == 0)
			found = h;
		if (!strict_shuffle)
			break;
	}
	return found;
}

/* There are some, and none may go yet. */
static void look_again(struct strict_cq *c)
{
	unsigned long first = list_first_entry(&c->held, struct held, on)->due;
	struct held *h;

	list_for_each_entry(h, &c->held, on)
		if (time_before(h->due, first))
			first = h->due;
	mod_delayed_work(system_highpri_wq, &c->work,
			 time_after(first, jiffies) ? first - jiffies : 0);
}

int strict_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc)
{
	struct strict_cq *c = find(cq);
	struct held *h;
	unsigned long flags;
	int got = 0;

	if (!c)
		return strict_ops(cq->device)->poll_cq(cq, n, wc);
	if (strict_one_at_a_time)
		n = min(n, 1);
	spin_lock_irqsave(&c->lock, flags);
	take_all(c);
	while (got < n && (h = next_of(c))) {
		list_del(&h->on);
		wc[got++] = h->wc;
		strict_told(&h->wc, h->recv);
		kfree(h);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	return got;
}

/* Armed here before it is there: an event between the two is told of. */
int strict_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	struct strict_cq *c = find(cq);
	unsigned long irqs;
	int missed;

	if (!c)
		return strict_ops(cq->device)->req_notify_cq(cq, flags);
	spin_lock_irqsave(&c->lock, irqs);
	c->armed = true;
	spin_unlock_irqrestore(&c->lock, irqs);
	missed = strict_ops(cq->device)->req_notify_cq(cq, flags);
	spin_lock_irqsave(&c->lock, irqs);
	if (next_of(c))
		missed = 1;
	else if (!list_empty(&c->held))
		look_again(c);
	spin_unlock_irqrestore(&c->lock, irqs);
	return flags & IB_CQ_REPORT_MISSED_EVENTS ? missed : 0;
}
