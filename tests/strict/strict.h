/* SPDX-License-Identifier: GPL-2.0 */
/*
 * strict.h: rds_strict.ko, which makes of an adapter in software (soft-RoCE, soft-iWARP) one that
 * has the limits and the bad days of a real one, and that does not forgive what those would not.
 *
 * It is loaded before rds_rdma.ko and, as a client of the RDMA core, meets each adapter first: it
 * lowers the attributes that others read, and stands before the adapter's operations.  Whatever was
 * made before that (the queue pair for management) it does not know and leaves alone.
 *
 *	strict_main.c	the client: adapters come and go
 *	profiles.c	families of adapters: their limits, and what they refuse
 *	faults.c	what goes wrong, as the parameters say
 *	queue_pairs.c	post_send, post_recv: limits, refusals, and the account of what is posted
 *	completions.c	poll_cq: late, one at a time, in another order, with other words; lost ones
 *	regions.c	memory regions and whether their keys are valid
 *
 * A use that no adapter forgives is a line "WARNING: rds_strict: ..." in the kernel's log, which
 * fails the test: more posted than was asked for, more entries than may be, posting behind an error
 * that was told, a key given again whose end was not told.
 *
 * Parameters, which can be written at any time but for the first:
 *
 *	profile=NAME		limits and refusals of a family, see profiles.c
 *	refuse=OP:ERRNO[:AFTER[:TIMES[:AT]]]
 *				post_send refuses work requests of this kind (any, send, write,
 *				read, atomic, masked, reg, inv) with -ERRNO, after AFTER that pass,
 *				TIMES times (0: for ever), only those that are the AT'th of their
 *				chain (from 0); "" ends it
 *	refused			so many were, by the profile or by this
 *	dereg_fails		so many ib_dereg_mr() fail (-1: all)
 *	late_sends, late_recvs	completions come so many ms late
 *	one_at_a_time		poll_cq brings one at a time
 *	shuffle			completions of different queues change their order
 *	flushed_as		the status (enum ib_wc_status) that stands for "flushed"
 *	events_lost		so many completion events are lost
 *	slow_end		destroying a queue pair takes so many ms
 *	qp_most			a queue pair with more entries cannot be made: -ENOMEM (0: it can)
 *
 * Locking.  strict_lock (irqs off) guards every account; drivers are called without it, but for
 * poll_cq, which strict_cq.lock serialises.  Accounts of an object live as long as the object.
 */
#ifndef RDS_STRICT_H
#define RDS_STRICT_H

#include <linux/hashtable.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

/* ---- profiles.c ---- */

/* 0 of a limit: as the adapter in software has it. */
struct strict_profile {
	const char *name;
	int send_sge, recv_sge, read_sge;
	int qp_wr, cqe;
	unsigned int mr_pages;
	int mrs;
	bool no_regions;	   /* no IB_DEVICE_MEM_MGT_EXTENSIONS */
	bool no_atomics;	   /* and it says so */
	bool masked_too;	   /* it says that it has those, too */
	int atomics_refused;	   /* it says that it has them, and post_send says -errno */
	int masked_refused;	   /* the same of masked ones */
	int atomic_rights_refused; /* REG_MR with IB_ACCESS_REMOTE_ATOMIC: -errno */
};

/* NULL: there is none of this name. */
const struct strict_profile *strict_find_profile(const char *name);
/* Lowers what others read of @dev. */
void strict_lower(struct ib_device *dev, const struct strict_profile *p);

/* ---- strict_main.c ---- */

/* An adapter, and what it was before. */
struct strict_dev {
	struct list_head on;
	struct ib_device *dev;
	struct ib_device_ops was;
	struct ib_device_attr attrs;
	int mrs; /* that there are */
};

extern spinlock_t strict_lock;
extern const struct strict_profile *strict_profile;
/* The operations that stand behind ours. */
const struct ib_device_ops *strict_ops(const struct ib_device *dev);
struct strict_dev *strict_dev_of(const struct ib_device *dev);
/* Told in the log, where tests look. */
#define strict_wrong(fmt, ...) pr_warn_ratelimited("WARNING: rds_strict: " fmt "\n", ##__VA_ARGS__)

/* ---- faults.c ---- */

/* Does the adapter refuse @wr, the @at'th of its chain?  0 or -errno. */
int strict_refuses(const struct ib_send_wr *wr, unsigned int at);
/* True as often as the parameter *@left says; < 0: always. */
bool strict_one_of(int *left);
/* An event of each adapter, which is there. */
void strict_happens(enum ib_event_type type);
extern int strict_dereg_fails, strict_events_lost;
extern unsigned int strict_late_sends, strict_late_recvs, strict_flushed_as, strict_slow_end;
extern unsigned int strict_qp_most;
extern bool strict_one_at_a_time, strict_shuffle;

/* ---- queue_pairs.c ---- */

struct strict_mr;

/* A work request that is with the adapter. */
struct strict_wr {
	u64 id;
	bool signaled;
	enum ib_wr_opcode opcode;
	struct strict_mr *mr; /* whose key it changes, with a reference */
};

struct strict_qp {
	struct hlist_node on;
	struct ib_qp *qp;
	struct ib_qp_cap cap;
	struct strict_wr *sends; /* a ring of cap.max_send_wr */
	u32 sent, send_done;	 /* free running */
	u64 *recvs;		 /* a ring of cap.max_recv_wr */
	u32 offered, recv_seen, recv_done;
	bool shared; /* its completion queue is of the RDMA core's kind: several use it at once */
	bool failed; /* an error was told */
};

int strict_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int strict_destroy_qp(struct ib_qp *qp, struct ib_udata *udata);
int strict_post_send(struct ib_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int strict_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
/* A completion has come from the adapter, each once: is it of what was received? */
bool strict_seen(const struct ib_wc *wc);
/* And now its user knows it. */
void strict_told(const struct ib_wc *wc, bool recv);

/* ---- completions.c ---- */

/* From now on @cq is watched. */
int strict_watch_cq(struct ib_cq *cq);
int strict_destroy_cq(struct ib_cq *cq, struct ib_udata *udata);
int strict_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc);
int strict_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags);

/* ---- regions.c ---- */

enum strict_key { KEY_NONE, KEY_COMING, KEY_VALID, KEY_ENDING, KEY_UNKNOWN };

/* How a request ended: done, failed or flushed, or it was not taken. */
enum strict_end { WR_DONE, WR_LOST, WR_NEVER };

struct ib_mr *strict_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 pages);
int strict_dereg_mr(struct ib_mr *mr, struct ib_udata *udata);
int strict_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int n, unsigned int *off);
/* @wr changes a key: the region, with a reference, which has its next state then; NULL: it does
 * not.  strict_lock is held by the caller of both. */
struct strict_mr *strict_key_posted(const struct ib_device *dev, const struct ib_send_wr *wr);
/* It has ended so; the reference goes. */
void strict_key_told(struct strict_mr *mr, enum ib_wr_opcode opcode, enum strict_end end);

#endif
