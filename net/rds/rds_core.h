/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rds_core.h: what the core offers to the glue (net/linux, and the simulator's applications):
 * network namespaces, sockets, and snapshots for rds-info.  Transports use transport.h.
 *
 * The glue translates: user memory, sockaddrs, cmsgs and options end there.  Everything returns 0
 * or a negative errno; nothing here blocks for a peer: where a system call may wait (full queue,
 * congestion, nothing to read) the core says -EAGAIN or -ENOBUFS, the glue sleeps and asks again,
 * and rds_socket_wake() of the seam ends the sleep.
 */
#ifndef RDS_CORE_H
#define RDS_CORE_H

#include "../platform/types.h"
#include "stats.h"
#include "transport.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- module and namespaces (process context) ---- */
int rds_core_init(void);
void rds_core_exit(void);
/* Bytes of one of these.  Any context, before rds_core_init(), too. */
size_t rds_core_size(enum rds_object what);
/* NULL without memory.  @st is what rds_stat_add() will be called with. */
struct rds_net *rds_net_create(struct rds_os_net *os, struct rds_stats *st);
/* No socket of the namespace is left.  Destroys the connections of every transport. */
void rds_net_destroy(struct rds_net *net);

/* The settings of /proc/sys/net/rds in one namespace.  The glue writes checked values at any time:
 * the core reads each by read_once(). */
struct rds_tunables {
	unsigned int reconnect_min_ms;	  /* 1 .. reconnect_max_ms; default 1 */
	unsigned int reconnect_max_ms;	  /* reconnect_min_ms .. 3600000; default 1000 */
	unsigned int max_unacked_packets; /* default 8 (used by transports with RDS acks) */
	unsigned int max_unacked_bytes;	  /* default 16 MiB */
	unsigned int ping_enable;	  /* 0: pings are not answered; default 1 */
	unsigned int max_passive;	  /* connections that only peers want; default 4096 */
	unsigned int idle_timeout_ms;	  /* of connections with peers of ours; default 300000, 0:
					   * they stay */
	unsigned int unprivileged_port_start; /* 0 .. 65535; default 0.  Lower ports are for who
					       * may have them (the glue asks), and port 0 means
					       * none of them */
	unsigned int recv_spill_bytes;	      /* of a full socket, see kRecvSpillBytes; 0 ..
					       * RDS_RECV_SPILL_BYTES, the default */
	unsigned int max_user_sockets;	      /* of one user; default kUserSockets, see users.h */
	unsigned int max_user_conns;	      /* the same of connections; default kUserConns */
};
#define RDS_RECV_SPILL_BYTES (16u << 20)
struct rds_tunables *rds_net_tunables(struct rds_net *net);

/* An address has come to the namespace or gone: connections to one that has moved are left for
 * others (conn_addrs.cc).  Any context. */
void rds_net_addrs_changed(struct rds_net *net);
/* Ends the connections from @laddr to @faddr of type of service @tos, of any transport, or those to
 * every address if @faddr is all zeros; they are made again for what is to be sent.  How many there
 * were.  Process. */
unsigned int rds_net_reset(struct rds_net *net, const struct rds_addr *laddr,
			   const struct rds_addr *faddr, unsigned char tos);

/* Counters of every registered transport, in order of type: calls @fn for each. */
void rds_transport_stats(struct rds_os_net *os,
			 void (*fn)(void *arg, const char *name, uint64_t value), void *arg);
/* Another number when a transport has been registered or unregistered since; never 0.  Any context.
 */
unsigned int rds_transports_stamp(void);
/* Name of core counter @id, NULL beyond the last. */
const char *rds_stat_name(unsigned int id);
/* The name of an event of a path (enum rds_path_event, path_event.h).  Any context. */
const char *rds_path_event_name(unsigned int event);
/* How tables call a reason to drop a connection (enum rds_drop_reason).  Any context. */
const char *rds_drop_reason_name(unsigned int why);
/* The state that @path is in (enum rds::PathState, path_table.h): a snapshot.  Any context. */
unsigned int rds_path_state(const struct rds_path *path);

/* ---- sockets (process context unless said otherwise) ---- */
size_t rds_socket_size(void); /* bytes, 8-aligned, that the glue reserves per socket */
/* @uid: the user whose it is, and who makes the connections over which it sends.  -EDQUOT: has as
 * many sockets as it may; -ENOMEM. */
int rds_socket_init(struct rds_socket *s, struct rds_net *net, uint32_t uid);
/* First half of close(): unbinds, clears its congestion bit, cancels what it sent, drops what it
 * received.  The memory may go after an RCU grace period ... */
void rds_socket_release(struct rds_socket *s);
/* ... and this: nobody else can have it any more.  Any context. */
void rds_socket_destroy(struct rds_socket *s);

/* Binds; port 0 picks one.  The address must have been checked for its kind by the glue.
 * -EINVAL bound already, reserved port, or scope differs from the connected one; -EADDRNOTAVAIL no
 * transport has it; -ENOPROTOOPT the transport set before has it not; -EADDRINUSE; -ENOMEM. */
int rds_socket_bind(struct rds_socket *s, const struct rds_endpoint *want);
/* Default destination; may be repeated.  -EINVAL: link-local scope differs from the bound one. */
int rds_socket_connect(struct rds_socket *s, const struct rds_endpoint *to);
/* 1 and *@ep when bound (connected), else 0. */
int rds_socket_bound(const struct rds_socket *s, struct rds_endpoint *ep);
int rds_socket_peer(const struct rds_socket *s, struct rds_endpoint *ep);
/* SO_RDS_TRANSPORT.  -EOPNOTSUPP attached already; -ENOPROTOOPT not to be had, and not to be loaded
 * for this caller. */
int rds_socket_set_transport(struct rds_socket *s, unsigned int type);
/* RDS_TRANS_* or -1 (RDS_TRANS_NONE). */
int rds_socket_transport(const struct rds_socket *s);
unsigned int rds_socket_caps(const struct rds_socket *s); /* enum rds_transport_caps, 0 unbound */
/* SIOCRDSSETTOS.  -ENOIOCTLCMD no transport or it has no TOS; -EINVAL set, or sent already. */
int rds_socket_set_tos(struct rds_socket *s, unsigned char tos);
unsigned char rds_socket_tos(const struct rds_socket *s);

/* Congestion monitor: the mask of ports (bit = port % 64) whose clearing is reported by
 * RDS_CMSG_CONG_UPDATE.  With @on, a send that does not wait and meets -ENOBUFS adds its port until
 * that has been reported (rds_socket_refused()). */
void rds_socket_set_cong_monitor(struct rds_socket *s, int on, uint64_t mask);
void rds_socket_cong_monitor(const struct rds_socket *s, int *on, uint64_t *mask);
void rds_socket_set_recverr(struct rds_socket *s, int on);
int rds_socket_recverr(const struct rds_socket *s);
/* Which RXPATH_LATENCY points are wanted: keeps the core stamping messages while any socket is. */
void rds_socket_set_trace(struct rds_socket *s, int on);

/* -- sending -- */
/* Takes room in the send queue for a message of @len bytes to @to, and then makes it of what is in
 * @from; or takes nothing: -ENOTCONN unbound; -EAGAIN send queue full (RDS_WAKE_WRITE follows, also
 * when nobody polls); -ENOMEM; -EFAULT; without room, and while @s waits for any port, also what
 * rds_socket_send() would say of @to.  @zcopy: pages are pinned and @cookie comes back by
 * rds_socket_zcopy() when the message has left the send queue. */
int rds_msg_create(struct rds_socket *s, const struct rds_endpoint *to, uint32_t len,
		   struct rds_uio *from, int zcopy, uint32_t cookie, struct rds_msg **m);
/* Frees a message of @s that is not sent after all, and gives its room back. */
void rds_msg_drop(struct rds_socket *s, struct rds_msg *m);
/* May messages overtake each other?  RDS_ORDER_* of the UAPI: of @m, before it is sent, or of all
 * of @s's that are made from now on.  -EINVAL: none of these; -ENOMEM. */
int rds_msg_set_order(struct rds_socket *s, struct rds_msg *m, uint32_t order);
int rds_socket_set_order(struct rds_socket *s, uint32_t order);
uint32_t rds_socket_order(const struct rds_socket *s);
/* Queues @m to @to and transmits what it can.  0: the core owns @m.  Else the caller keeps it, and
 * its room: -ENOBUFS @to is congested (the socket will be woken with RDS_WAKE_CONG); -ENOMEM,
 * -ENETDOWN, -EOPNOTSUPP no connection; -EDQUOT its user has as many as it may; -ENETUNREACH it is
 * being destroyed.  @more: the caller sends again at once (MSG_MORE). */
int rds_socket_send(struct rds_socket *s, const struct rds_endpoint *to, struct rds_msg *m,
		    int more);
int rds_socket_writable(const struct rds_socket *s); /* room in the send queue.  Any context */
/* Is @to congested as far as we know?  Any context. */
int rds_socket_congested(struct rds_socket *s, const struct rds_endpoint *to);
/* Counts a blocking send that met congestion. */
void rds_socket_note_blocked(struct rds_socket *s);
/* A send to @to that does not wait was refused (-ENOBUFS): it is counted, and the monitor, if there
 * is one, will be told.  0: @to is not congested any more, and the caller is to try again. */
int rds_socket_refused(struct rds_socket *s, const struct rds_endpoint *to);
/* Takes back everything not acknowledged to @to (NULL: to anybody). */
void rds_socket_cancel(struct rds_socket *s, const struct rds_endpoint *to);

/* -- RDMA (transports with RDS_CAP_RDMA) -- */
/* An operation on the peer's memory, which goes with a message.  Flags and statuses are the UAPI's
 * RDS_RDMA_*. */
struct rds_op_args {
	unsigned char kind;    /* enum rds_op_kind */
	unsigned char masked;  /* an atomic with masks */
	uint64_t cookie;       /* names the peer's memory, and ... */
	uint64_t remote_addr;  /* ... where to begin in it, */
	uint64_t remote_bytes; /* up to there; 8 of atomics */
	const struct rds_iov *local;
	unsigned int n_local;
	uint64_t flags; /* RDS_RDMA_FENCE, _NOTIFY_ME, _SILENT */
	uint64_t token; /* for the notification */
	uint64_t compare_add, swap, compare_add_mask, swap_mask;
};
/* Makes memory of the calling process accessible to peers: 0 and *@cookie, which has a key in its
 * low and an offset in its high half.  @flags: RDS_RDMA_READWRITE (peers may write), _USE_ONCE
 * (goes when a peer says that it has used it), _INVALIDATE (unreachable at once when it goes).
 * -ENOTCONN unbound; -EOPNOTSUPP no RDMA there, or no regions; -EINVAL nothing, or wraps; -EMSGSIZE
 * more than 1 MiB; -EPERM, -EFAULT, -ENOMEM of pinning; -EAGAIN as many as there may be; -ENODEV.
 */
int rds_mr_get(struct rds_socket *s, const struct rds_iov *vec, uint64_t flags, uint64_t *cookie);
/* Ends that; @cookie 0: carries out what was left over of earlier calls.  @flags: _INVALIDATE.
 * -EINVAL: this socket has no such memory, or no transport that has any. */
int rds_mr_free(struct rds_socket *s, uint64_t cookie, uint64_t flags);
/* Before @m is sent: an operation goes with it.  -EOPNOTSUPP: the adapter does not have it;
 * -EMSGSIZE, -EINVAL (nothing to do, more pieces than the remote side has room for, or there is
 * one), -EFAULT, -EPERM, -ENOMEM. */
int rds_msg_set_op(struct rds_socket *s, struct rds_msg *m, const struct rds_op_args *a);
/* Before @m is sent: the receiver will be told this cookie.  -EINVAL: not memory of @s, or @m has
 * one. */
int rds_msg_set_cookie(struct rds_socket *s, struct rds_msg *m, uint64_t cookie);
/* Up to @max operations that ended, oldest first; _done removes the first @n. */
struct rds_notice {
	uint64_t token;
	int32_t status; /* RDS_RDMA_* */
};
unsigned int rds_socket_notices(struct rds_socket *s, struct rds_notice *to, unsigned int max);
void rds_socket_notices_done(struct rds_socket *s, unsigned int n);

/* -- receiving -- */
struct rds_recv_info {
	struct rds_endpoint from;
	uint64_t cookie; /* of the sender's memory, 0: none came with it */
	uint32_t len;
	uint64_t stamp_ns;    /* arrival, time of day; 0 when not asked for */
	uint64_t trace_ns[3]; /* header, whole, delivered (rds_now_ns); 0 when not asked for */
};
/* One reader at a time: 0 or -EINTR.  Between lock and unlock the head stays the head. */
int rds_recv_lock(struct rds_socket *s);
void rds_recv_unlock(struct rds_socket *s);
/* The oldest message or NULL, and what is known about it. */
struct rds_msg *rds_recv_head(struct rds_socket *s, struct rds_recv_info *info);
/* The one behind @m or NULL, if it comes from where @m does: address, port and type of service. */
struct rds_msg *rds_recv_next(struct rds_socket *s, struct rds_msg *m, struct rds_recv_info *info);
/* Takes the oldest @n off, which the reader has looked at, and frees them. */
void rds_recv_pop(struct rds_socket *s, unsigned int n);
/* Copies to the system call's buffer: 0 or -EFAULT. */
int rds_recv_copy(struct rds_socket *s, struct rds_msg *m, uint32_t n, struct rds_uio *to);

/* Messages that peers have sent and nobody has read (recv_query.h); RDS_RECV_UNKNOWN: cannot be
 * told. */
#define RDS_RECV_UNKNOWN 0xffffffffu
struct rds_recv_counts {
	uint32_t held; /* messages, from their first header on */
	uint32_t span; /* ... and what is missing among them; never less, and 0 only with it */
};
/* Of one peer (NULL: of all; port 0: of all of its ports): 0; -ENOTCONN unbound, -EINTR,
 * -ENOMEM.  Process. */
int rds_socket_recv_query(struct rds_socket *s, const struct rds_endpoint *peer,
			  struct rds_recv_counts *out);
/* The same of many sockets, for tables: the paths on which something was arriving just now, which
 * stay until the look ends; process, both ... */
#define RDS_RECV_LOOK 32
struct rds_recv_look {
	unsigned int n; /* as many as there were; RDS_RECV_LOOK of them have been noted */
	struct rds_path *paths[RDS_RECV_LOOK];
};
void rds_recv_look(struct rds_net *net, struct rds_recv_look *look);
void rds_recv_look_end(struct rds_recv_look *look);
/* ... and what a socket holds, both UNKNOWN while somebody reads, or with more than RDS_RECV_LOOK
 * of those.  Process, but does not sleep. */
void rds_socket_recv_counts(struct rds_socket *s, const struct rds_recv_look *look,
			    struct rds_recv_counts *out);
/* Congestion notification waiting to be reported (0: none), and its removal once it was. */
uint64_t rds_socket_cong_notice(const struct rds_socket *s);
void rds_socket_cong_notice_done(struct rds_socket *s, uint64_t mask);
/* Up to @max zerocopy cookies of completed sends, oldest first; _done removes the first @n. */
unsigned int rds_socket_zcopy(struct rds_socket *s, uint32_t *cookies, unsigned int max);
void rds_socket_zcopy_done(struct rds_socket *s, unsigned int n);
/* Is there something for a blocking recvmsg?  Any context. */
int rds_socket_readable(const struct rds_socket *s);
/* How full its queues are.  A snapshot, any context. */
struct rds_socket_fill {
	uint64_t unread;       /* bytes of payload that nobody has read */
	uint32_t unacked;      /* ... that no peer has acknowledged */
	uint32_t unread_ms;    /* the age of the oldest message not read (unread_since.h) */
	uint32_t congested_ms; /* for so long peers have been told that its port is full */
	unsigned char waits, congested; /* whether there is any such message; whether it is full */
};
void rds_socket_fill(const struct rds_socket *s, struct rds_socket_fill *out);

enum rds_poll {
	RDS_POLL_IN = 1,   /* data or a notification */
	RDS_POLL_CONG = 2, /* without monitor: something we waited for cleared (told once) */
	RDS_POLL_OUT = 4,  /* room in the send queue */
};
unsigned int rds_socket_poll(struct rds_socket *s);
/*
 * From now on RDS_WAKE_READ follows every message, not just the first of those that nobody has
 * read: for waiters of which a wake reaches one, or one that tells it nothing twice.  Any context.
 */
void rds_socket_wake_each(struct rds_socket *s);

/*
 * ---- snapshots, in steps ----
 * @fn is called for each at @pos, under RCU or a spin lock: it may not sleep.  Positions begin at
 * 0; the next one is returned, RDS_INFO_END after the last.  An object that is there from the
 * first step to the last is met once, one that comes or goes between them once or not at all.
 * Process.
 */
#define RDS_INFO_END ((uint64_t)1 << 33)
struct rds_conn_info {
	struct rds_addr laddr, faddr;
	uint64_t next_tx_seq, next_rx_seq; /* of path 0 */
	const char *transport;
	unsigned char flags; /* 1 sending, 2 connecting, 4 connected */
	unsigned char tos;
};
struct rds_path_info {
	struct rds_addr laddr, faddr;
	uint64_t next_tx_seq, next_rx_seq;
	const char *transport;
	const char *state;	 /* "up", "down", ... */
	const char *last_reason; /* why it ended last, or a connect failed; "-": never */
	uint32_t attempts;	 /* connects begun */
	uint32_t resets;	 /* times it was up and ended */
	unsigned char index;
	unsigned char tos;
};
struct rds_msg_info {
	const struct rds_socket *owner; /* whose send or receive queue counts it; NULL: nobody's */
	struct rds_addr laddr, faddr;
	uint64_t seq;
	uint32_t len;
	uint16_t lport, fport; /* host order */
	unsigned char tos;
};
struct rds_socket_info {
	const struct rds_socket *s;
	struct rds_endpoint bound, peer;
};
enum rds_info_queue { RDS_QUEUE_SEND, RDS_QUEUE_RETRANS, RDS_QUEUE_RECV };
uint64_t rds_info_conns(struct rds_net *net, uint64_t pos,
			void (*fn)(void *arg, const struct rds_conn_info *i), void *arg);
uint64_t rds_info_paths(struct rds_net *net, uint64_t pos,
			void (*fn)(void *arg, const struct rds_path_info *i), void *arg);
/* @asks: the program's socket, whose user's walks through queues take turns; NULL: no program's. */
uint64_t rds_info_messages(struct rds_net *net, enum rds_info_queue q, struct rds_socket *asks,
			   uint64_t pos, void (*fn)(void *arg, const struct rds_msg_info *i),
			   void *arg);
uint64_t rds_info_sockets(struct rds_net *net, uint64_t pos,
			  void (*fn)(void *arg, const struct rds_socket_info *i), void *arg);

/* All that is known of a path.  A message costs it the time at which it was queued. */
#define RDS_FACT_PORTS 16
struct rds_refused_port {
	uint32_t ms;   /* for which its messages have been refused, without a pause */
	uint16_t port; /* of the peer */
};
enum { RDS_FACT_PEER_UNKNOWN, RDS_FACT_PEER_OTHER, RDS_FACT_PEER_OURS };
struct rds_path_facts {
	struct rds_path_info i;
	uint64_t state_ns;		/* for which it has been in its state */
	uint64_t unacked;		/* messages at most, from the oldest that is queued on */
	uint32_t waits_ms;		/* for which the oldest of them, or of those that wait */
					/* beside the queue, was there.  Not of loopback's */
	uint32_t ack_us;		/* from one that asks for it to the peer's RDS's ack, */
					/* smoothed; 0: none came on this connection */
	uint32_t unsent_bytes;		/* of them, that the transport has not taken yet */
	uint32_t scope;			/* interface of link-local addresses */
	uint32_t congested;		/* ports of the peer that its map calls full ... */
	uint16_t ports[RDS_FACT_PORTS]; /* ... and the first of these */
	uint32_t congested_ms;		/* for which there has been one without a pause */
	uint32_t refused;		/* ports that the peer has refused messages for */
	unsigned char waits;		/* waits_ms is known: there is one */
	unsigned char holds;		/* messages wait for one of those ports */
	unsigned char refuses;		/* this end has refused messages for ports of its own */
	unsigned char state;		/* enum rds::PathState */
	unsigned char peer;		/* RDS_FACT_PEER_*: of the last connection */
	struct rds_link_facts link;	/* while it is up */
	/* Of the ports that it has refused messages for, the lowest, in order. */
	struct rds_refused_port refused_ports[RDS_FACT_PORTS];
};
/* How far a walk is, which may end in the midst of a position: the paths of one are met in the
 * order of their connections' addresses in memory, which do not change.  All 0: at its beginning.
 */
struct rds_path_place {
	uint64_t pos;	/* RDS_INFO_END: all were met */
	uint64_t end;	/* of what the position was when it was begun, before the table grew */
	uint64_t conn;	/* in it, the next path's is this one, or is behind it */
	uint32_t index; /* ... of this one's paths, the next */
};
/* One step of the walk: calls @fn, which does not sleep, for the paths that come next.  0: it has
 * answered 0, for it has no room, and is called for this path in the next step; or all were met. */
int rds_info_path_facts(struct rds_net *net, struct rds_path_place *at,
			int (*fn)(void *arg, const struct rds_path_facts *f), void *arg);

#ifdef __cplusplus
}
#endif
#endif
