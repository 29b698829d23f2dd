/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_linux.h: what the C files of rds_rdma.ko share.
 *
 * They are the plumbing between the core, verbs and rdma_cm, and hold no protocol: messages become
 * frames in ib_link.cc, what hosts tell each other while they connect is in ib_offer.cc.
 *
 *	ib_linux.c		module, counters, the ops table
 *	ib_net_linux.c		namespaces, and how long they have listeners and connections
 *	ib_sysctl_linux.c	net.rds.ib.*
 *	ib_info_linux.c		RDS_INFO_IB_CONNECTIONS
 *	ib_device_linux.c	adapters come and go
 *	ib_moves_linux.c	addresses move to other adapters and hosts
 *	ib_listen_linux.c	the listeners, and what becomes of a peer's request
 *	ib_peers_linux.c	who may call and is called, by the table of peers
 *	ib_cm_linux.c		a path's connection from connect or adopt to close; rdma_cm's events
 *	ib_id_linux.c		ids that nobody wants to hear of any more
 *	ib_proof_linux.c	a call that proves that the connection which it replaces is over
 *	ib_qp_linux.c		its queue pair and completion queue
 *	ib_buffers_linux.c	frames in memory: rds_ib_hw_*()
 *	ib_op_linux.c		RDMA and atomic operations: rds_ib_hw_op*()
 *	ib_atomics_linux.c	which atomics an adapter has
 *	ib_mr_linux.c		memory that peers may reach; ib_mr_linux.h has its locks
 *	ib_mr_pool_linux.c	the same between two uses
 *	ib_regq_linux.c		how an adapter learns of it
 *
 * Locking.  Three things exclude each other in their own ways:
 *
 *	the path's worker	connect, adopt, shutdown, close, recv_retry: one at a time, no lock.
 *				It alone makes and ends rds_ib_path.id and everything behind it.
 *	the id's handler lock	rdma_cm's mutex; held around each of its events, and by the worker
 *				where it changes @phase.  An event in phase IDLE is ignored.
 *	rds_ib_path.lock	spin, bh: the link, the rings and the buffers in them.  Held by the
 *				tasklet that polls, and by xmit, for all of a batch.
 *
 * In this order; rds_peers.lock, which a worker holds for reading while it makes a connection, is
 * outside of all three, and the core's locks are inside of them, and none that sleeps is taken
 * inside a handler: who wants the core's tables because of an event (a peer calls) queues work.
 * rds_ib_devs_lock and rds_ib_dev.lock (bh) are inside of the handler lock, and outside of
 * rds_ib_path.lock and the core's.  The locks of memory regions meet none of these.
 *
 * Before the queue pair exists, and after it and its completion queue were destroyed, the rings
 * are the worker's, or the handler's that makes them, alone.  In between, @live says whether the
 * tasklet may touch them: close() clears it first of all.
 *
 * Namespaces.  An rdma_cm id holds a reference on its namespace, so a listener, or a connection,
 * would keep one alive for ever.  Sockets do that, too, and rightly: a namespace has listeners and
 * connections while it has sockets that are bound to adapters (ib_net_linux.c); the first one
 * always.
 */
#ifndef RDS_IB_LINUX_H
#define RDS_IB_LINUX_H

#include <linux/hashtable.h>
#include <linux/interrupt.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../../net/linux/peers.h"
#include "../../net/linux/rds_linux.h"
#include "ib_limits_linux.h"
#include "ib_link.h"
#include "ib_offer.h"
#include "ib_stats.h"

#define RDS_IB_PORT_V4 18634
#define RDS_IB_PORT_V6 16385

static inline u16 rds_ib_port(const struct rds_addr *addr)
{
	return rds_addr_is_v4(addr) ? RDS_IB_PORT_V4 : RDS_IB_PORT_V6;
}

static inline bool rds_ib_is_iwarp(const struct rdma_cm_id *id)
{
	return rdma_protocol_iwarp(id->device, id->port_num);
}

struct rds_ib_counters {
	u64 v[RDS_IB_STAT_COUNT];
};
DECLARE_PER_CPU(struct rds_ib_counters, rds_ib_counters);

static inline void rds_ib_count(unsigned int id)
{
	this_cpu_inc(rds_ib_counters.v[id]);
}

struct rds_ib_mrs;

/* A namespace's part of an adapter.  It cannot go while @users is not 0. */
struct rds_ib_dev {
	struct ib_device *ibdev;
	struct rds_os_net *os;
	struct ib_pd *pd;		/* in which its keys are valid */
	struct rds_ib_mrs *mrs;		/* its memory regions */
	struct list_head all;		/* rds_ib_devs; rds_ib_devs_lock */
	struct ib_event_handler events; /* the first namespace's, for all parts of the adapter */
	u8 atomics;	       /* those that it takes, once it was asked (ib_atomics_linux.c) */
	bool no_atomic_rights; /* of its regions, as was seen */
	refcount_t users;      /* paths, calls at work with it, and 1 until it is being removed */
	struct completion unused;

	spinlock_t lock;	  /* guards @paths; bh */
	struct list_head paths;	  /* rds_ib_path.on_dev */
	unsigned long through;	  /* jiffies: when a connection over it came up last */
	struct delayed_work look; /* for calls of others that were lost perhaps */
};

/* Headers of one ring, in pages that stay mapped. */
struct rds_ib_headers {
	unsigned int pages;
	struct rds_ib_header_page {
		u8 *mem;
		u64 dma;
	} * page;
};

enum rds_ib_slot {
	RDS_IB_SLOT_FRAME,
	RDS_IB_SLOT_OP,	     /* of an operation; not its last */
	RDS_IB_SLOT_OP_LAST, /* holds the operation's mapping and its reference on the message */
};

/* A slot of the send queue, with the memory of @m that is mapped: a frame, or part of an operation.
 */
struct rds_ib_tx {
	struct rds_msg *m;
	u8 kind; /* enum rds_ib_slot */
	u8 n;	 /* frames: entries of rds_ib_path.tx_sges in use, the header's included; 0: free */
	u8 dir;	 /* operations: enum dma_data_direction */
	struct rds_pages *pages; /* operations */
};

/* Work requests of an operation, on their way to the adapter. */
#define RDS_IB_OP_CHAIN 36
struct rds_ib_op_wrs {
	struct ib_rdma_wr wr[RDS_IB_OP_CHAIN];
	struct ib_sge sge[RDS_IB_OP_CHAIN * RDS_IB_OP_SGES];
};

/*
 * A buffer that the adapter fills: pages as the only fragment of an sk_buff, which messages may
 * keep a clone of.  Then the slot gets a new one; otherwise it is used again and again.
 */
struct rds_ib_rx {
	struct sk_buff *skb;
	u64 dma;
	u32 bytes;  /* of the frame that came */
	u32 mapped; /* bytes of payload that the adapter may write; 0: not mapped */
};

/* The state of a path's connection; guarded by the id's handler lock. */
enum rds_ib_phase {
	RDS_IB_IDLE,	  /* there is none, or close() has begun */
	RDS_IB_CALLING,	  /* by us, nothing came of it yet */
	RDS_IB_ANSWERING, /* the peer's request was accepted */
	RDS_IB_OPEN,
};

/* The transport's part of a path. */
struct rds_ib_path {
	struct rds_path *path;
	struct rdma_cm_id *id;	   /* changed by the path's worker alone */
	u8 phase;		   /* enum rds_ib_phase */
	bool unconfirmed;	   /* rdma_cm waits for the peer to confirm our answer */
	struct rds_ib_proof proof; /* of the last connection; @lock */
	u8 renewed;		   /* calls that were made anew since it was up; rds_ib_dev.look */
	u8 attempt;    /* which version to propose; phase CALLING, and the worker before */
	u64 called_ns; /* when we called last */

	/* From the making of the queue pair to close(). */
	struct rds_ib_dev *dev;
	struct list_head on_dev;	      /* rds_ib_dev.paths */
	struct hlist_node by_laddr, by_faddr; /* rds_ib_devs_lock */
	bool moved;		  /* an address of it is elsewhere now; rds_ib_devs_lock */
	u8 write_sges, read_sges; /* of one work request; 0: there is no such operation ... */
	u8 reads;		  /* ... nor if the peer takes none (this is constant once open) */
	struct ib_cq *cq;
	u32 send_wr, recv_wr;
	u8 order; /* frames have up to 4 KiB << this of payload */

	spinlock_t lock; /* guards what follows; bh */
	bool live;	 /* completions may be polled */
	bool closing;	 /* close() waits for @heard */
	bool left;	 /* rdma_cm says that the peer has gone, in the midst of an end in order */
	struct rds_ib_link link;
	struct rds_ib_tx *tx;
	struct ib_sge *tx_sges; /* RDS_IB_SGES(@order) for each of @tx */
	struct rds_ib_rx *rx;
	struct rds_ib_headers tx_headers, rx_headers;
	struct rds_ib_op_wrs *op_wrs;
	struct sk_buff_head spare; /* receive buffers that nobody posted yet */
	struct sk_buff_head lent;  /* free ones, then those that messages keep a clone of */
	struct ib_wc wc[RDS_IB_BATCH];
	u32 done_seen, arrived_seen, given_seen; /* of the link, at the last keepalive ... */
	u32 still;	    /* ... and how often they were the same while frames were out */
	unsigned long took; /* jiffies: when none was out or waited at last, or one was taken */

	struct tasklet_struct tasklet;
	struct delayed_work refill; /* buffers that there was no memory for, and mappings */
	struct delayed_work keepalive;
	struct delayed_work beat;
	struct delayed_work doubt; /* while the link is dry */
	struct work_struct answer; /* to the peer's heartbeat */
	unsigned long asked;	   /* jiffies: our last one, ... */
	unsigned long spoke;	   /* ... the last message's frame since, or it, and ... */
	u32 silent;		   /* ... looks in a row that found it unanswered for too long */
	bool probe;		   /* @beat is to send something at once */
	struct work_struct routed; /* the route to the peer is known */
	struct work_struct begun;  /* frames came before rdma_cm's word */
	struct completion heard;   /* the adapter has said what it will of operations */
};

/* A peer's request, between rdma_cm's event and the path that takes it. */
struct rds_ib_call {
	struct work_struct work;
	struct rdma_cm_id *id;
	struct rds_ib_offer offer;
	u8 responder_resources, initiator_depth;
	u8 len;	     /* of @data */
	bool proven; /* by the other end of the last connection */
	u8 data[RDS_IB_OFFER_BYTES_V6];
};

/* A namespace. */
struct rds_ib_net {
	struct net *net;
	struct rds_peers_user peers_user;
	struct mutex lock;   /* guards what follows */
	unsigned long users; /* sockets, and for the first namespace the module */
	bool open;	     /* there may be listeners and connections; holds @net */
	struct rdma_cm_id *listeners[2];
	struct work_struct idle; /* ends that when @users is 0 */
};

/* ib_linux.c */
extern struct workqueue_struct *rds_ib_wq;
extern struct workqueue_struct *rds_ib_slow_wq; /* of work that waits, for the other one's too */
extern struct rds_transport rds_ib_transport;

/* ib_net_linux.c */
int rds_ib_nets_start(void);
/* After it no namespace listens, and none has connections; no socket uses us. */
void rds_ib_nets_close(void);
void rds_ib_nets_stop(void);
/* Peers can call us in the first namespace: 0, or -errno. */
int rds_ib_nets_open(void);
void rds_ib_use(struct rds_os_net *os);
void rds_ib_unuse(struct rds_os_net *os);

/* ib_sysctl_linux.c */
extern unsigned int rds_ib_max_send_wr, rds_ib_max_recv_wr, rds_ib_max_unsignaled_wr;
extern unsigned int rds_ib_max_recv_allocation; /* buffers of 4 KiB */
extern unsigned int rds_ib_flow_control;
extern unsigned int rds_ib_frame_bytes; /* of payload, that our buffers are to hold */
extern unsigned int rds_ib_heartbeat_interval_secs, rds_ib_heartbeat_timeout_secs;
extern unsigned int rds_ib_slow_peer_secs; /* 0: for ever */
int rds_ib_sysctl_start(void);
void rds_ib_sysctl_stop(void);

/* ib_info_linux.c */
int rds_ib_info_start(void);
void rds_ib_info_stop(void);

/* ib_device_linux.c */
int rds_ib_devices_start(void);
/* No path uses any. */
void rds_ib_devices_stop(void);
/* @os' parts of adapters go.  No connection of it is left, and none is made. */
void rds_ib_devices_net_idle(struct rds_os_net *os);
/* Is it one that we use?  A moment later it may be none. */
bool rds_ib_is_ours(const struct ib_device *ibdev);
/* Ties @tp to the adapter: false when that is not ours, or going, or without memory.  Process. */
bool rds_ib_dev_attach(struct rds_ib_path *tp, struct ib_device *ibdev);
void rds_ib_dev_detach(struct rds_ib_path *tp);
/* A connection over it has come up. */
void rds_ib_dev_through(struct rds_ib_dev *dev);
/* The adapter that has @addr; ERR_PTR(-ENODEV): none of ours; or (-ENOMEM).  It stays until _put().
 * Process. */
struct rds_ib_dev *rds_ib_dev_get(struct rds_os_net *os, const struct rds_addr *addr, u32 scope);
void rds_ib_dev_put(struct rds_ib_dev *dev);
/* Calls @fn for each path with a queue pair; it may not sleep. */
void rds_ib_each_path(void (*fn)(void *arg, struct rds_ib_path *tp), void *arg);
/* The same for those to @faddr. */
void rds_ib_each_path_to(const struct rds_addr *faddr,
			 void (*fn)(void *arg, struct rds_ib_path *tp), void *arg);

/* ib_moves_linux.c */
void rds_ib_moves_start(void);
void rds_ib_moves_stop(void);
/* Has the address of @tp left its adapter?  Then the connection ends.  rds_ib_devs_lock. */
bool rds_ib_left_adapter(struct rds_ib_path *tp);

/* ib_listen_linux.c */
/* 0; -errno when IPv4 is not to be had, which IPv6 need not be. */
int rds_ib_listen_start(struct rds_ib_net *in);
/* After it no request is taken, and none is on its way to a path. */
void rds_ib_listen_stop(struct rds_ib_net *in);
/* Refuses a request that nobody takes; the peer is told @why, unless that is 0. */
void rds_ib_call_end(struct rds_ib_call *call, u32 why);

/* ib_peers_linux.c; process */
/* May @faddr call us?  0 or -EACCES, which is counted and told. */
int rds_ib_peers_accept(struct net *net, const struct rds_addr *faddr, u32 scope);
/* The same of @tp's call; rds_peers.lock is held. */
int rds_ib_peers_call(const struct rds_ib_path *tp);
void rds_ib_takeover_refused(void *priv);
/* Between the two a change of the table holds for connections that there are. */
void rds_ib_peers_start(struct rds_ib_net *in);
void rds_ib_peers_stop(struct rds_ib_net *in);

/* ib_addr_linux.c */
/* An id that is bound to @addr, whose adapter it names, if any; or ERR_PTR. */
struct rdma_cm_id *rds_ib_bound(struct rds_os_net *os, const struct rds_addr *addr, u32 scope);
int rds_ib_laddr_check(struct rds_os_net *os, const struct rds_addr *addr, u32 scope);

/* ib_id_linux.c */
/* The handler of an id whose events are of no interest. */
int rds_ib_no_event(struct rdma_cm_id *id, struct rdma_cm_event *event);
/* Destroys @id soon; its handler leaves its events alone.  Process, handler not locked. */
void rds_ib_id_end(struct rdma_cm_id *id);

/* ib_cm_linux.c */
void *rds_ib_path_alloc(struct rds_path *path);
void rds_ib_path_free(void *priv);
int rds_ib_initiates(const void *priv);
int rds_ib_connect(void *priv);
int rds_ib_adopt(void *priv, void *handle);
void rds_ib_discard(void *handle);
int rds_ib_midway(const void *priv);
void rds_ib_shutdown(void *priv);
void rds_ib_close(void *priv);

/* ib_proof_linux.c */
/* A connection begins: the peer has named its secret, or this host does. */
void rds_ib_have_secret(struct rds_ib_path *tp, u32 secret);
u32 rds_ib_new_secret(struct rds_ib_path *tp);
/* Does @call come from the other end of @tp's last connection?  Then that one is over. */
bool rds_ib_proves(struct rds_ib_path *tp, const struct rds_ib_call *call);
/* Some call may have taken the place of one that proved that the connection was over. */
bool rds_ib_admits(struct rds_ib_path *tp, const struct rds_ib_call *call);
int rds_ib_ended(const void *priv);

/* ib_qp_linux.c */
/* Makes queue pair, completion queue and rings for @tp->id, and posts receive buffers, for frames
 * of 4 KiB << @order at most: 0 or -errno, and then rds_ib_qp_destroy() is still to be called. */
int rds_ib_qp_create(struct rds_ib_path *tp, unsigned int order);
/* Idempotent.  After it nothing calls the link. */
void rds_ib_qp_destroy(struct rds_ib_path *tp);
/* From now on completions are polled, those that there are at once; @open: and frames sent. */
void rds_ib_qp_go(struct rds_ib_path *tp, bool open);
void rds_ib_poll(struct tasklet_struct *t);
long rds_ib_xmit(void *priv, const struct rds_xmit *x);
void rds_ib_recv_retry(void *priv);
u32 rds_ib_wants(const void *priv);
void rds_ib_refill(struct work_struct *work);
void rds_ib_begun(struct work_struct *work);
/* For the keepalive. */
void rds_ib_insist(struct rds_ib_path *tp);

/* ib_beat_linux.c */
void rds_ib_beats_init(struct rds_ib_path *tp);
/* The connection is up. */
void rds_ib_beats_begin(struct rds_ib_path *tp);
/* Connections over the path's adapter come up, and this is not one of them perhaps.
 * rds_ib_dev.lock. */
void rds_ib_others_got_through(struct rds_ib_path *tp);
/* Something has happened to the path's adapter, or to one of its ports.  rds_ib_dev.lock. */
void rds_ib_happened(struct rds_ib_path *tp, const struct ib_event *event);
/* Messages wait for the peer to have buffers.  Link locked; @live. */
void rds_ib_dry(struct rds_ib_path *tp);
/* After it no work of these runs.  @live is false. */
void rds_ib_beats_end(struct rds_ib_path *tp);

/* ib_buffers_linux.c */
int rds_ib_rings_alloc(struct rds_ib_path *tp);
/* Also of what the adapter did not fill.  The queue pair is gone. */
void rds_ib_rings_free(struct rds_ib_path *tp);
/* The adapter has filled a slot with @bytes.  Link locked. */
void rds_ib_filled(struct rds_ib_path *tp, u32 slot, u32 bytes);
/* A mapping has failed, as they do where there are few: it is tried again in a moment. */
void rds_ib_map_later(struct rds_ib_path *tp);
/* Gets receive buffers that rds_ib_hw_offer() finds later.  May sleep. */
void rds_ib_spares(struct rds_ib_path *tp);
/* Gives back those that no slot has, for nothing comes.  Link locked. */
void rds_ib_trim(struct rds_ib_path *tp);

/* ib_op_linux.c */
/* The limits of @tp's adapter for operations; returns the slots of the largest one. */
u32 rds_ib_op_limits(struct rds_ib_path *tp);
/* A slot of an operation is free. */
void rds_ib_op_sent(struct rds_ib_path *tp, struct rds_ib_tx *tx);

/* ib_atomics_linux.c */
/* The atomics (enum rds_atomics) that @dev has, as far as is known. */
unsigned int rds_ib_atomics_of(const struct rds_ib_dev *dev);
/* For programs, who have to know.  Process. */
unsigned int rds_ib_atomics(struct rds_os_net *os, const struct rds_addr *laddr, u32 scope);

/* ib_mr_linux.c */
/* NULL without memory. */
struct rds_ib_mrs *rds_ib_mrs_create(struct rds_ib_dev *dev);
/* Nobody uses @dev, and it goes: all its regions end, and handles remain. */
void rds_ib_mrs_end(struct rds_ib_mrs *mrs);
/* How many large regions there may be, and their pages. */
void rds_ib_mrs_info(const struct rds_ib_mrs *mrs, u32 *most, u32 *pages);
/* May peers reach memory by it?  A hint; @dev is held. */
bool rds_ib_mrs_in_use(const struct rds_ib_dev *dev);
int rds_ib_mr_get(struct rds_os_net *os, const struct rds_addr *laddr, u32 scope,
		  struct rds_pages *pages, int write, u32 *key, u32 *at, void **out);
void rds_ib_mr_free(void *priv, int now);
void rds_ib_mr_sync(void *priv, int for_device);
void rds_ib_mr_flush(struct rds_os_net *os, const struct rds_addr *laddr, u32 scope);

/* ib_post_send() said so: is it the queue pair, or the adapter?  Everything else is about the work
 * request: drivers have many words for what they do not know. */
static inline bool rds_ib_is_broken(int err)
{
	return err == -EIO || err == -ENODEV || err == -ENOTCONN || err == -ESHUTDOWN;
}

/* A completion's wr_id is the slot; of a receive this too. */
#define RDS_IB_WR_RECV (1ULL << 32)

#endif
