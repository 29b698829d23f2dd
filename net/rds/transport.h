/* SPDX-License-Identifier: GPL-2.0 */
/*
 * transport.h: the contract between the core and a transport (tcp, ib, loop).
 *
 * A transport registers one const struct rds_transport.  For every connection path the core asks it
 * for a private object (path_alloc) and from then on drives it from ONE place, the path's worker
 * (path.cc): connect, adopt, shutdown and close are called in process context, without locks, never
 * two at once for a path.  xmit is called by whoever holds the path's XmitToken: one caller at a
 * time, process context, and only while the path is up (the worker takes the token before it calls
 * shutdown or close, so xmit never runs beside them).
 *
 * The transport tells the core what happened by the rds_path_*() calls below, from any context.
 * They only post events; a path's state changes in its worker alone.  After close() returns the
 * transport makes no further rds_path_*() or rds_recv_*() call for what it closed.
 */
#ifndef RDS_TRANSPORT_H
#define RDS_TRANSPORT_H

#include "../platform/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RDS_HEADER_BYTES 48

/* Capabilities of a transport: the core asks these, never which transport it has. */
enum rds_transport_caps {
	/* Local destinations go through loopback (RDS_TRANS_LOOP) instead. */
	RDS_CAP_PREFER_LOOP = 1 << 0,
	/* Both ends are on this host and share its congestion maps: no updates are sent.  What
	 * xmit took has been received, so an end owes the other nothing and has no numbers to keep.
	 * A path that is up has a reference on the connection of the other end. */
	RDS_CAP_SHARED_CONG = 1 << 1,
	/* rds_msg payload may be pinned user pages (MSG_ZEROCOPY). */
	RDS_CAP_ZEROCOPY = 1 << 2,
	/* Small messages of a busy stream may wait a moment for company (path.cc). */
	RDS_CAP_COALESCE = 1 << 3,
	/* Path count is negotiated by a probe after each connect (wire.h, NPATHS). */
	RDS_CAP_PROBE = 1 << 4,
	/* RDMA and atomic operations exist, and their extension headers mean something. */
	RDS_CAP_RDMA = 1 << 5,
	/* SIOCRDSSETTOS is understood; every value maps to 0. */
	RDS_CAP_TOS_ZERO = 1 << 6,
	/* Messages that rds_path_acked() reports may still be lost: between two of ours a message
	 * stays queued until the peer's RDS has it (path_ack.cc). */
	RDS_CAP_DELIVERY_ACK = 1 << 7,
	/* With RDS_CAP_DELIVERY_ACK: every peer acknowledges by number in h_ack, mainline's too. */
	RDS_CAP_NUMBERED = 1 << 8,
};

/* ---- what a message does to the peer's memory (RDS_CAP_RDMA) ---- */
enum rds_op_kind { RDS_OP_WRITE, RDS_OP_READ, RDS_OP_FADD, RDS_OP_CSWP };

/* Constant from before the message is queued until its last reference goes. */
struct rds_op {
	unsigned char kind;   /* enum rds_op_kind */
	unsigned char masked; /* atomics: the masks mean something */
	unsigned char fence;  /* the message may go only when the operation is complete */
	unsigned char alone;  /* nothing but the operation is to be sent */
	uint32_t rkey;	      /* of the peer's memory, and where in it: */
	uint64_t raddr;
	uint32_t bytes;		 /* 1 .. 1 MiB; 8 of atomics */
	struct rds_pages *pages; /* our memory: source of a write, target of everything else */
	/* Atomics: what to compare with or to add, what to swap in, and the masks of both. */
	uint64_t compare_add, swap, compare_add_mask, swap_mask;
};

/* The kinds of atomics that an adapter can do. */
enum rds_atomics { RDS_ATOMICS_PLAIN = 1, RDS_ATOMICS_MASKED = 2 };

/* One call's worth of messages: the bytes of msgs[0] (header first, then payload) from @off on,
 * then all of msgs[1], ... */
struct rds_xmit {
	struct rds_msg *const *msgs;
	unsigned int n;	    /* at least 1 */
	uint32_t off;	    /* bytes of msgs[0] that were accepted earlier */
	unsigned char more; /* another call follows at once: no need to push */
	unsigned char acks; /* rds_path_acked() has to follow; else the peer itself tells */
};

/* Why a path was dropped, and how traces and tables call it. */
#define RDS_DROP_REASONS(X, LAST)                                                                  \
	X(NONE, "-")                                                                               \
	X(PEER_CLOSED, "peer closed")                                                              \
	X(ERROR, "error") /* reset, timeout, unreachable */                                        \
	X(CONNECT, "connect failed")                                                               \
	X(KNOCKED, "knocked")	   /* our knock was accepted; now the peer calls us */             \
	X(REPLACED, "replaced")	   /* the peer opened a new one */                                 \
	X(PROTOCOL, "protocol")	   /* the peer sent what no RDS sends */                           \
	X(SEND, "send failed")	   /* xmit failed */                                               \
	X(PATHS, "paths changed")  /* the peer has another number of paths */                      \
	X(ADMIN, "admin")	   /* a sysctl asked for it, or the table of peers */              \
	X(IDLE, "idle")		   /* nothing went over it for idle_timeout_ms */                  \
	X(EVICTED, "evicted")	   /* a stranger said nothing, or room was needed */               \
	X(STALLED, "stalled")	   /* the rest of a frame does not come, or holds others up */     \
	X(REFUSED, "refused here") /* the transport's connect said -EACCES: we do not call it */   \
	X(KEY, "no answer; key?")  /* no answer to a call that was signed */                       \
	LAST(DESTROY, "destroy")   /* its namespace or transport goes */

enum rds_drop_reason {
#define RDS_DROP_ENUM(name, text) RDS_DROP_##name,
	RDS_DROP_REASONS(RDS_DROP_ENUM, RDS_DROP_ENUM)
#undef RDS_DROP_ENUM
};

/* Facts of a path's connection that are known without having been measured for this; any that is
 * not known stays as it was. */
struct rds_link_facts {
	uint64_t tx_bytes, rx_bytes; /* of it: acknowledged by the peer's transport, and received */
	uint32_t rtt_us;	     /* from a byte to its acknowledgement, smoothed; 0: none yet */
	uint32_t heard_ms;	     /* since the peer's transport has acknowledged anything */
	unsigned char known;	     /* 0: these four are not */
	unsigned char signed_by;     /* enum rds_peers_method of <linux/rds_peers.h> */
};

/* An answer of laddr_check. */
#define RDS_LADDR_IF_ASKED 1

struct rds_transport {
	const char *name;	  /* as RDS_INFO_CONNECTIONS shows it: "tcp", at most 15 bytes */
	unsigned int type;	  /* RDS_TRANS_* of the UAPI */
	unsigned int caps;	  /* enum rds_transport_caps */
	unsigned int max_paths;	  /* of one connection, 1..8 */
	unsigned int call_ms;	  /* a connect that neither succeeds nor fails ends then */
	struct rds_module *owner; /* pinned by every socket that is bound to this transport */

	/* A socket of @net has chosen the transport; it is released, and nothing of it is queued
	 * any more.  NULL, both: of no interest.  Process. */
	void (*use)(struct rds_os_net *net);
	void (*unuse)(struct rds_os_net *net);

	/* Does this transport serve the local address @addr (with interface @scope)?  0: yes;
	 * RDS_LADDR_IF_ASKED: for who asks for it (SO_RDS_TRANSPORT), others' sockets take the next
	 * transport, as mainline has it; -EADDRNOTAVAIL: no.  Another error, -ENOMEM or -EADDRINUSE
	 * (it has no port of its own left): that cannot be told now, so bind(2) fails with it, and
	 * no other transport is taken in its place.  Process. */
	int (*laddr_check)(struct rds_os_net *net, const struct rds_addr *addr, uint32_t scope);

	/* The transport's part of a new path, or NULL without memory.  Process. */
	void *(*path_alloc)(struct rds_path *path);
	/* Frees it; the path is down and closed.  Process or RCU callback (softirq). */
	void (*path_free)(void *tp);

	/* Does this side call the other?  Then the core reconnects by itself; if not it calls only
	 * when it has something to send (a knock).  Pure.  Any context. */
	int (*initiates)(const void *tp);
	/* Starts to connect: 0 (then rds_path_connected() or rds_path_drop() follows) or -errno;
	 * -EACCES: this host's administrator does not want it. */
	int (*connect)(void *tp);
	/* Why nobody answers the call that is on, as far as this side can tell: a reason to drop
	 * it.  NULL: RDS_DROP_CONNECT.  Process, connecting. */
	enum rds_drop_reason (*unanswered)(const void *tp);
	/* Takes over an accepted @handle given to rds_path_accepted(): 0, or -errno when it is dead
	 * already (then it is released).  Data may arrive before this returns. */
	int (*adopt)(void *tp, void *handle);
	/* Releases a @handle that nobody adopts. */
	void (*discard)(void *handle);
	/* @tp is up and has answered, so another that its peer opened, whose handle was discarded,
	 * does not take its place.  NULL: nobody is told.  Process. */
	void (*takeover_refused)(void *tp);
	/* Starts an orderly end: nothing more is sent, what the peer still sends is received.
	 * rds_path_drained() follows when the peer has ended too, rds_path_drop() if it dies
	 * instead; the core waits 5 s at most.  Nothing is received after rds_path_drained(): the
	 * core may forget what it had from the peer. */
	void (*shutdown)(void *tp);
	/* Ends it now and waits for callbacks on their way.  A message received in part is thrown
	 * away.  Idempotent. */
	void (*close)(void *tp);

	/* Has the peer left the connection, or is it dead, though what it brought may not have been
	 * read yet?  NULL: rds_path_drop() says so at once.  Process, connected. */
	int (*ended)(const void *tp);

	/* Accepts bytes in order, as many as it has room for: the count, 0 or -EAGAIN when there is
	 * no room (then rds_path_writable() follows), another -errno when the path is broken. */
	long (*xmit)(void *tp, const struct rds_xmit *x);
	/* The path on which this host receives what @tp transmits, as long as that is up: the core
	 * may put a message into a socket's queue there itself, without xmit, while none is queued
	 * or under way.  NULL: it is another host that receives; only with RDS_CAP_SHARED_CONG.
	 * Process, connected. */
	struct rds_path *(*other_end)(const void *tp);
	/* Goes on receiving after rds_recv_*() said -ENOMEM or -EAGAIN.  Process. */
	void (*recv_retry)(void *tp);
	/* Is this no moment to end the connection in order, though the core sees nothing go over
	 * it? A message has arrived in part, however long the rest takes; or the transport is at
	 * work. Of a transport with RDS_CAP_DELIVERY_ACK whose peer's orderly end can be told from
	 * a failure; NULL: idle connections stay.  Process, connected. */
	int (*midway)(const void *tp);
	/* Bytes that the peer owes of the frame under way: 0 between two, and while the core has no
	 * room for what is here.  NULL: frames come whole.  Any context, from path_alloc to
	 * path_free. */
	uint32_t (*wants)(const void *tp);
	/* For who looks.  NULL: nothing is known.  Process, from path_alloc to path_free. */
	void (*facts)(const void *tp, struct rds_link_facts *f);

	/* RDS_CAP_RDMA; NULL without.
	 *
	 * A message may come with an operation (rds_msg_op()).  xmit begins it when it accepts the
	 * message's first byte, before the message itself; where the operation is alone it accepts
	 * the message's bytes and sends none of them.  Of every operation that it began it says
	 * once how that ended, rds_op_done(), before close() returns: RDS_RDMA_DROPPED if nothing
	 * is known.  Until then it holds a reference on the message, and so op->pages.
	 *
	 * mr_get: makes @pages accessible to peers of @laddr, who may write to them if @write.  0,
	 * *@key, *@at (the address of the first byte as peers say it), and *@mr; @pages are the
	 * transport's then.  -ENODEV: no adapter is there; -EOPNOTSUPP: it shares no memory;
	 * -EAGAIN: as many as there may be; -EMSGSIZE: larger than its adapter can; -ENOMEM,
	 * -EINVAL. Process. */
	int (*mr_get)(struct rds_os_net *net, const struct rds_addr *laddr, uint32_t scope,
		      struct rds_pages *pages, int write, uint32_t *key, uint32_t *at, void **mr);
	/* Ends that.  @now: no peer can reach the memory any more when this returns (process); else
	 * that may take until mr_flush, or until it is worth while (any context). */
	void (*mr_free)(void *mr, int now);
	/* The program is going to look at what peers wrote (@for_device 0), or they at what it
	 * wrote.  Any context. */
	void (*mr_sync)(void *mr, int for_device);
	/* Carries out all mr_free() calls that wait for it, at @laddr's adapter.  Process. */
	void (*mr_flush)(struct rds_os_net *net, const struct rds_addr *laddr, uint32_t scope);
	/* The atomics that @laddr's adapter can do: enum rds_atomics.  Process. */
	unsigned int (*atomics)(struct rds_os_net *net, const struct rds_addr *laddr,
				uint32_t scope);

	/* Named counters of the transport, shown after the core's.  May be NULL/0. */
	unsigned int n_stats;
	const char *const *stat_names;
	void (*stats)(struct rds_os_net *net, uint64_t *values);
};

/* ---- registry (process context) ---- */
/* 0, -EEXIST (type taken).  The structure must outlive the registration. */
int rds_transport_register(const struct rds_transport *t);
/* Destroys every connection of @t in every namespace and returns when none is left. */
void rds_transport_unregister(const struct rds_transport *t);
/* Destroys the connections of @t in one namespace: that ends, or nobody there uses @t. */
void rds_transport_net_exit(struct rds_net *net, const struct rds_transport *t);
/* Drops every path of @t in @net; they reconnect (a sysctl changed). */
void rds_transport_net_reset(struct rds_net *net, const struct rds_transport *t);
/* Calls @fn for each path of @t in @net that there is before and after; under RCU, so it may not
 * sleep. */
void rds_transport_net_paths(struct rds_net *net, const struct rds_transport *t,
			     void (*fn)(void *arg, struct rds_path *path), void *arg);

/* ---- connections (process context) ---- */
/* @faddr calls, and @known: somebody has vouched for it.  False: too many that nobody knows do, and
 * this is one of them; it is refused before anything is kept of it (conn/calls.h). */
int rds_conn_may_call(struct rds_net *net, const struct rds_transport *t,
		      const struct rds_addr *laddr, const struct rds_addr *faddr, uint32_t scope,
		      int known);
/* For a peer that calls: the connection of the pair, made if there is none; -errno in *@err and
 * NULL: -ENOMEM, -ENOBUFS (too many that only peers want), -ENETDOWN (namespace or transport is
 * going), -EOPNOTSUPP (faddr is local and the transport does not serve that).  Drop the reference
 * with rds_conn_put(). */
struct rds_conn *rds_conn_get(struct rds_net *net, const struct rds_transport *t,
			      const struct rds_addr *laddr, const struct rds_addr *faddr,
			      uint32_t scope, unsigned char tos, int *err);
void rds_conn_put(struct rds_conn *conn);
/* The path that a call from @index of the peer's is for: that one when the peer is ours and has as
 * many, else path 0.  NULL without memory. */
struct rds_path *rds_conn_path(struct rds_conn *conn, unsigned int index);

/* ---- what a path is (any context) ---- */
void *rds_path_priv(const struct rds_path *path); /* what path_alloc returned */
const struct rds_addr *rds_path_laddr(const struct rds_path *path);
const struct rds_addr *rds_path_faddr(const struct rds_path *path);
uint32_t rds_path_scope(const struct rds_path *path);
unsigned char rds_path_tos(const struct rds_path *path); /* a connection each */
unsigned int rds_path_index(const struct rds_path *path);
struct rds_net *rds_path_net(const struct rds_path *path);
struct rds_os_net *rds_path_os_net(const struct rds_path *path);
const struct rds_transport *rds_path_transport(const struct rds_path *path);

/* ---- what happened to it (any context) ---- */
void rds_path_connected(struct rds_path *path);
/* Hands an accepted connection over; the path decides in its worker.  Process. */
void rds_path_accepted(struct rds_path *path, void *handle);
/* The peer asks to be called (its knock was refused): connect now, or prove that we are up. */
void rds_path_knocked(struct rds_path *path);
void rds_path_drop(struct rds_path *path, enum rds_drop_reason why);
void rds_path_drained(struct rds_path *path);
void rds_path_writable(struct rds_path *path);
/* The transport will not lose the first @bytes of what xmit accepted since this path came up. */
void rds_path_acked(struct rds_path *path, uint64_t bytes);
/* The peer said while connecting, before rds_path_connected() or while adopting, that it has all up
 * to number @seq.  Ignored where that proves nothing. */
void rds_path_delivered(struct rds_path *path, uint64_t seq);
/* The number to report to a peer in the same place; 0, which is always right: none. */
uint64_t rds_path_received(const struct rds_path *path);

/* ---- receiving (softirq or process; one caller at a time per path) ---- */
enum { RDS_RECV_SKIP = 1 };
/* A header of RDS_HEADER_BYTES arrived; @src holds the first @at_hand payload bytes (NULL: none
 * yet), and no memory is got for others before they come.
 * 0 and *@m, into whose payload h_len bytes go; RDS_RECV_SKIP: read h_len bytes and forget them;
 * -ENOMEM: call again later with the same header; -EPROTO: the path is being dropped, stop. */
int rds_recv_begin(struct rds_path *path, const unsigned char *header, const struct rds_src *src,
		   uint32_t at_hand, enum rds_ctx ctx, struct rds_msg **m);
/* @n payload bytes of @m, which rds_recv_begin() made, are at @off in @src: 0, and they are its, by
 * rds_payload_append().  -ENOMEM: call again later with the same; -EFAULT: they cannot be read now
 * or later; -EPROTO: the path is being dropped, stop. */
int rds_recv_more(struct rds_path *path, struct rds_msg *m, struct rds_src *src, uint32_t off,
		  uint32_t n, enum rds_ctx ctx);
/* A message whose rds_recv_begin() has been called goes on with another header, whose h_ack is @seq
 * (over queue pairs every frame has one: docs/wire.md). */
void rds_recv_ack(struct rds_path *path, uint64_t seq);
/* The message is whole.  0: taken.  -EAGAIN: its receiver is over the hard limit, call again
 * later with the same message before anything else of this path. */
int rds_recv_incoming(struct rds_path *path, struct rds_msg *m);
/* -ENOMEM or -EAGAIN came: the worker will call ops->recv_retry() after a moment. */
void rds_recv_later(struct rds_path *path);

/* ---- messages as a transport sees them (any context) ---- */
const unsigned char *rds_msg_header(const struct rds_msg *m); /* RDS_HEADER_BYTES, as on the wire */
uint32_t rds_msg_len(const struct rds_msg *m);		      /* payload bytes */
struct rds_payload *rds_msg_payload(struct rds_msg *m);
void rds_msg_get(struct rds_msg *m);
void rds_msg_put(struct rds_msg *m); /* frees with the last reference */
/* The operation to begin with, NULL: there is none, or it was done on an earlier connection. */
const struct rds_op *rds_msg_op(const struct rds_msg *m);
/* It ended: @status is one of RDS_RDMA_* of the UAPI, SUCCESS, REMOTE_ERROR (the peer's memory was
 * not to be had), DROPPED or OTHER_ERROR.  Only the first word counts.  @path: whose xmit began
 * it. */
void rds_op_done(struct rds_path *path, struct rds_msg *m, int status);

#ifdef __cplusplus
}
#endif
#endif
