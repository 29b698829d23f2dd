// SPDX-License-Identifier: GPL-2.0
/*
 * queue_pairs.c: what is posted to queue pairs, see strict.h.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "strict.h"

static DEFINE_HASHTABLE(qps, 6); /* strict_lock */

static struct strict_qp *find(const struct ib_qp *qp)
{
	struct strict_qp *q;

	hash_for_each_possible(qps, q, on, (unsigned long)qp)
		if (q->qp == qp)
			return q;
	return NULL;
}

/* ---- made and destroyed ---- */

/* An adapter in software may have more than the attributes say. */
static bool too_much(const struct ib_device_attr *can, const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;

	return cap->max_send_wr > can->max_qp_wr || cap->max_recv_wr > can->max_qp_wr ||
	       cap->max_send_sge > can->max_send_sge || cap->max_recv_sge > can->max_recv_sge;
}

static struct strict_qp *make(struct ib_qp *qp, const struct ib_qp_init_attr *attr)
{
	struct strict_qp *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q)
		return NULL;
	q->qp = qp;
	q->cap = attr->cap;
	q->shared = attr->send_cq->wc;
	q->sends = kvcalloc(attr->cap.max_send_wr, sizeof(*q->sends), GFP_KERNEL);
	q->recvs = kvcalloc(attr->cap.max_recv_wr, sizeof(*q->recvs), GFP_KERNEL);
	if (q->sends && q->recvs)
		return q;
	kvfree(q->sends);
	kvfree(q->recvs);
	kfree(q);
	return NULL;
}

/* As many completions as there may be at once have room. */
static void check_cq(const struct ib_qp_init_attr *attr)
{
	u32 needs = attr->cap.max_send_wr;

	if (attr->recv_cq == attr->send_cq)
		needs += attr->cap.max_recv_wr;
	if (needs > attr->send_cq->cqe)
		strict_wrong("a completion queue of %d for %u requests", attr->send_cq->cqe, needs);
}

int strict_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct ib_qp_init_attr asked = *attr;
	struct strict_qp *q;
	int err;

	if (udata || attr->qp_type != IB_QPT_RC)
		return strict_ops(qp->device)->create_qp(qp, attr, udata);
	if (too_much(&qp->device->attrs, attr))
		return -EINVAL;
	if (strict_qp_most && max(attr->cap.max_send_wr, attr->cap.max_recv_wr) > strict_qp_most)
		return -ENOMEM;
	q = make(qp, &asked);
	if (!q)
		return -ENOMEM;
	err = strict_watch_cq(attr->send_cq) ?: strict_watch_cq(attr->recv_cq);
	if (!err)
		err = strict_ops(qp->device)->create_qp(qp, attr, udata);
	if (err) {
		kvfree(q->sends);
		kvfree(q->recvs);
		kfree(q);
		return err;
	}
	check_cq(&asked);
	spin_lock_irq(&strict_lock);
	hash_add(qps, &q->on, (unsigned long)qp);
	spin_unlock_irq(&strict_lock);
	return 0;
}

int strict_destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	const struct ib_device_ops *ops = strict_ops(qp->device);
	struct strict_qp *q;
	struct strict_wr *w;
	int err;

	if (strict_slow_end)
		msleep(strict_slow_end);
	spin_lock_irq(&strict_lock);
	q = find(qp);
	if (q)
		hash_del(&q->on);
	spin_unlock_irq(&strict_lock);
	err = ops->destroy_qp(qp, udata);
	if (!q)
		return err;
	spin_lock_irq(&strict_lock);
	for (; q->send_done != q->sent; q->send_done++) {
		w = &q->sends[q->send_done % q->cap.max_send_wr];
		if (w->mr)
			strict_key_told(w->mr, w->opcode, WR_LOST);
	}
	spin_unlock_irq(&strict_lock);
	kvfree(q->sends);
	kvfree(q->recvs);
	kfree(q);
	return err;
}

/* ---- posted ---- */

static void check_send(const struct strict_qp *q, const struct ib_send_wr *wr)
{
	if (q->sent - q->send_done >= q->cap.max_send_wr)
		strict_wrong("more than %u requests are posted", q->cap.max_send_wr);
	if (wr->opcode == IB_WR_REG_MR || wr->opcode == IB_WR_LOCAL_INV)
		return;
	if (wr->num_sge > q->cap.max_send_sge)
		strict_wrong("%d entries, %u may be", wr->num_sge, q->cap.max_send_sge);
	if (wr->opcode == IB_WR_RDMA_READ && wr->num_sge > q->qp->device->attrs.max_sge_rd)
		strict_wrong("%d entries of a read, %d may be", wr->num_sge,
			     q->qp->device->attrs.max_sge_rd);
	if (q->failed && !q->shared)
		strict_wrong("a request is posted behind an error");
}

/* It is with the adapter from now on, or will be in a moment: its completion may come first. False:
 * this queue pair is none of those that we know. */
static bool note_send(struct ib_qp *qp, const struct ib_send_wr *wr)
{
	struct strict_qp *q;
	unsigned long flags;

	spin_lock_irqsave(&strict_lock, flags);
	q = find(qp);
	if (q) {
		check_send(q, wr);
		q->sends[q->sent++ % q->cap.max_send_wr] = (struct strict_wr){
			.id = wr->wr_id,
			.signaled = wr->send_flags & IB_SEND_SIGNALED,
			.opcode = wr->opcode,
			.mr = strict_key_posted(qp->device, wr),
		};
	}
	spin_unlock_irqrestore(&strict_lock, flags);
	return q;
}

/* No: it was not taken after all. */
static void forget_send(struct ib_qp *qp)
{
	struct strict_qp *q;
	struct strict_wr *w;
	unsigned long flags;

	spin_lock_irqsave(&strict_lock, flags);
	q = find(qp);
	if (q) {
		w = &q->sends[--q->sent % q->cap.max_send_wr];
		if (w->mr)
			strict_key_told(w->mr, w->opcode, WR_NEVER);
	}
	spin_unlock_irqrestore(&strict_lock, flags);
}

static bool is_known(const struct ib_qp *qp)
{
	unsigned long flags;
	bool known;

	spin_lock_irqsave(&strict_lock, flags);
	known = find(qp);
	spin_unlock_irqrestore(&strict_lock, flags);
	return known;
}

/* One request at a time, so that any of a chain can be refused.  The caller's chain is cut for the
 * moment: it is his, but nobody else looks at it. */
int strict_post_send(struct ib_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	const struct ib_device_ops *ops = strict_ops(qp->device);
	const struct ib_send_wr *next, *other;
	unsigned int at = 0;
	int err = 0;

	if (!is_known(qp))
		return ops->post_send(qp, wr, bad);
	for (; wr; wr = next, at++) {
		next = wr->next;
		err = strict_refuses(wr, at);
		if (!err) {
			note_send(qp, wr);
			((struct ib_send_wr *)wr)->next = NULL;
			err = ops->post_send(qp, wr, &other);
			((struct ib_send_wr *)wr)->next = (struct ib_send_wr *)next;
			if (err)
				forget_send(qp);
		}
		if (err) {
			*bad = wr;
			return err;
		}
	}
	return 0;
}

static bool note_recv(struct ib_qp *qp, const struct ib_recv_wr *wr)
{
	struct strict_qp *q;
	unsigned long flags;

	spin_lock_irqsave(&strict_lock, flags);
	q = find(qp);
	if (q) {
		if (q->offered - q->recv_done >= q->cap.max_recv_wr)
			strict_wrong("more than %u buffers are posted", q->cap.max_recv_wr);
		if (wr->num_sge > q->cap.max_recv_sge)
			strict_wrong("%d entries of a buffer, %u may be", wr->num_sge,
				     q->cap.max_recv_sge);
		q->recvs[q->offered++ % q->cap.max_recv_wr] = wr->wr_id;
	}
	spin_unlock_irqrestore(&strict_lock, flags);
	return q;
}

int strict_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	const struct ib_recv_wr *w;
	struct strict_qp *q;
	unsigned long flags;
	int err;

	for (w = wr; w && note_recv(qp, w); w = w->next)
		;
	err = strict_ops(qp->device)->post_recv(qp, wr, bad);
	if (!err)
		return 0;
	spin_lock_irqsave(&strict_lock, flags);
	q = find(qp);
	for (w = *bad; q && w; w = w->next)
		q->offered--;
	spin_unlock_irqrestore(&strict_lock, flags);
	return err;
}

/* ---- done ---- */

/* Of an error the opcode says nothing, but buffers are used in their order. */
bool strict_seen(const struct ib_wc *wc)
{
	struct strict_qp *q;
	unsigned long flags;
	bool recv = wc->status == IB_WC_SUCCESS && wc->opcode & IB_WC_RECV;

	spin_lock_irqsave(&strict_lock, flags);
	q = find(wc->qp);
	if (q && wc->status != IB_WC_SUCCESS)
		recv = q->offered != q->recv_seen &&
		       q->recvs[q->recv_seen % q->cap.max_recv_wr] == wc->wr_id;
	if (q && recv)
		q->recv_seen++;
	spin_unlock_irqrestore(&strict_lock, flags);
	return recv;
}

/* A completion stands for all requests before it, unless those have failed: then each has one. */
static void send_told(struct strict_qp *q, const struct ib_wc *wc)
{
	const bool good = wc->status == IB_WC_SUCCESS;
	struct strict_wr *w;
	bool found = false;

	while (q->send_done != q->sent && !found) {
		w = &q->sends[q->send_done++ % q->cap.max_send_wr];
		found = w->id == wc->wr_id && (w->signaled || !good);
		if (w->mr)
			strict_key_told(w->mr, w->opcode, good ? WR_DONE : WR_LOST);
		w->mr = NULL;
	}
	if (!found)
		strict_wrong("a completion of nothing that was posted");
	q->failed |= !good;
}

void strict_told(const struct ib_wc *wc, bool recv)
{
	struct strict_qp *q;
	unsigned long flags;

	spin_lock_irqsave(&strict_lock, flags);
	q = find(wc->qp);
	if (q && recv)
		q->recv_done++;
	else if (q)
		send_told(q, wc);
	if (q && wc->status != IB_WC_SUCCESS)
		q->failed = true;
	spin_unlock_irqrestore(&strict_lock, flags);
}
