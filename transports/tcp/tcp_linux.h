/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tcp_linux.h: what the C files of rds_tcp.ko share.
 *
 * They are the plumbing between the core and kernel TCP sockets and hold no protocol: bytes are cut
 * into messages by tcp_frame.cc, who calls whom is decided by tcp_duel.cc.
 *
 *	tcp_linux.c		module, namespaces, counters, the ops table
 *	tcp_sysctl_linux.c	net.rds.tcp.*, and how a socket is set up, also while it is open
 *	tcp_info_linux.c	RDS_INFO_TCP_SOCKETS, and what TCP knows of one connection
 *	tcp_peers_linux.c	connections by the table of peers: who is accepted, and how signed
 *	tcp_peers_keys_linux.c	its keys on the listener and on open connections
 *	tcp_keys_linux.c	keys of sockets, by TCP's options
 *	tcp_listen_linux.c	the listener: accept, and what becomes of it
 *	tcp_path_linux.c	a path's socket from connect or adopt to close; state changes
 *	tcp_send_linux.c	ops->xmit, acks, room
 *	tcp_recv_linux.c	from the receive queue to the frame
 *
 * Locking.  Everything of a path that changes while its socket is open is guarded by that socket's
 * own lock (lock_sock in process context, the spin lock in softirq): the kernel holds it around
 * every callback of a TCP connection, so callbacks, ops->xmit and ops->recv_retry exclude each
 * other. sk_user_data and the callback pointers change under it and sk_callback_lock.  So once
 * close() has taken the lock, put the old callbacks back and cleared sk_user_data, no callback of
 * ours runs on that socket or ever will: one that had begun has ended, a later one is the
 * kernel's.  The core's locks are inside of it.  rds_tcp_net.tuning is outside of all: held for
 * reading by those that take a socket or give it away, for writing by a sysctl or a change of the
 * table of peers, which walks over rds_tcp_net.socks and takes sockets' locks.  A walk without it
 * takes none: a socket that is closed waits, locked, for the walk to leave it.
 *
 * Namespaces.  Our sockets hold no reference on theirs, or it could never end: the namespace's exit
 * closes them all.  Therefore a socket is never left to TCP to finish by itself: it is closed
 * with a linger time of 0, after what had to be said was said (rds_tcp_release()).
 */
#ifndef RDS_TCP_LINUX_H
#define RDS_TCP_LINUX_H

#include <linux/klist.h>
#include <linux/percpu.h>
#include <linux/rwsem.h>
#include <linux/tcp.h>
#include <linux/workqueue.h>
#include <net/tcp.h>

#include "../../net/linux/peers.h"
#include "../../net/linux/rds_linux.h"
#include "tcp_duel.h"
#include "tcp_frame.h"

/* Paths in one namespace: any host that reaches the port can make one, and each costs some 20 kB.
 * */
#define RDS_TCP_MAX_NET_PATHS 65536
/* Keys of TCP-AO that one change of the table of peers takes back from open connections: for each
 * it waits for a grace period, with the namespace's lock held.  Other connections end instead. */
#define RDS_TCP_KEYS_TAKEN 64

/* Ports that one connect tries to bind. */
#define RDS_TCP_BIND_TRIES 8

/* A call without an answer ends: TCP alone would try for two minutes with growing pauses, and miss
 * a host that comes back. */
#define RDS_TCP_CALL_MS 5000
/* Default of rds_tcp_user_timeout_ms: as long as keepalive takes to notice an idle peer's death. */
#define RDS_TCP_USER_TIMEOUT_MS 30000

/* Counters, in the order of rds-info; the first five have mainline's names. */
#define RDS_TCP_STATS(X)                                                                           \
	X(data_ready_calls)    /* TCP has told that bytes came */                                  \
	X(write_space_calls)   /* TCP has told that bytes were acknowledged */                     \
	X(sndbuf_full)	       /* xmit found less room than it had bytes */                        \
	X(connect_raced)       /* accepted the peer's while our own connect was on */              \
	X(listen_closed_stale) /* accepted, but dead before a path took it */                      \
	X(knock_sent)	       /* our connect was heard as a knock */                              \
	X(knock_refused)       /* the peer's knock: reset, and called back */                      \
	X(accept_refused)      /* accepted from ourselves, or no connection could be made */       \
	X(too_many_paths)      /* RDS_TCP_MAX_NET_PATHS reached */                                 \
	X(nudged)	       /* no room and no ack on its way: tried again by a timer */         \
	X(listen_failed)       /* the port was not to be had: nobody can call this namespace */    \
	X(peer_refused) /* a call, of the peer's or ours, that the table of peers refuses */       \
	X(key_refused)	/* accepted unsigned, and the peer has to have a key */

enum rds_tcp_stat {
#define RDS_TCP_STAT_ENUM(name) RDS_TCP_S_##name,
	RDS_TCP_STATS(RDS_TCP_STAT_ENUM)
#undef RDS_TCP_STAT_ENUM
		RDS_TCP_STAT_COUNT,
};

struct rds_tcp_counters {
	u64 v[RDS_TCP_STAT_COUNT];
};

/* One namespace. */
struct rds_tcp_net {
	struct net *net;
	struct rds_tcp_counters __percpu *counters;
	atomic_t paths; /* see RDS_TCP_MAX_NET_PATHS */

	struct klist socks; /* rds_tcp_path.link of every path with a socket */

	/* The listener; NULL while nobody wants one, and while the port is another's and
	 * listen_work tries again.  Changed under @tuning, by listen_work alone. */
	struct socket *listener;
	struct delayed_work accept_work, listen_work;
	atomic_t users; /* sockets that are bound to TCP, or have chosen it */
	int always;	/* net.rds.tcp.listen: the port is open without them, too */
	bool logged;	/* the log has it that the port is another's; listen_work */
	int v6_err;	/* errno for which it lacks IPv6, or 0; the same */
	bool stopping;	/* for good: nothing more is accepted */
	void (*plain_data_ready)(struct sock *sk); /* a TCP socket's own callbacks */
	void (*plain_state_change)(struct sock *sk);
	struct list_head all; /* on the list of namespaces; rds_tcp_nets_lock */

	/* net.rds.tcp.*; 0 or empty: as TCP does by itself.  Written under @tuning. */
	struct rw_semaphore *tuning; /* rds_peers.lock */
	int sndbuf, rcvbuf;
	int user_timeout_ms;
	int dscp;
	char ca[TCP_CA_NAME_MAX];
	struct rds_peers *peers;
	struct rds_peers_user peers_user;
	u8 shut; /* enum rds_tcp_shut; for writing */
	struct ctl_table_header *sysctl;
	struct ctl_table *table;
};

/* How the listener keeps strangers' SYNs out, see rds_tcp_listener_shut(). */
enum rds_tcp_shut { RDS_TCP_OPEN_TO_ALL, RDS_TCP_SHUT_BY_KEYS, RDS_TCP_SHUT_BY_AO };

/* The state of a path's socket; guarded by the socket's lock. */
enum rds_tcp_phase {
	RDS_TCP_IDLE,	    /* there is none */
	RDS_TCP_CONNECTING, /* our SYN is out */
	RDS_TCP_OPEN,	    /* messages go both ways */
	RDS_TCP_DRAINING,   /* we have ended, the peer has not: receive only */
	RDS_TCP_ENDED,	    /* nothing more in either direction; the core knows */
};

/* The transport's part of a path. */
struct rds_tcp_path {
	struct rds_path *path;
	struct rds_tcp_net *tn;
	/* Changed by the path's worker alone.  A task that only looks is an RCU reader: its memory,
	 * and that of its sock, goes a grace period after it was taken off. */
	struct socket *sock;

	/* Guarded by the socket's lock. */
	struct rds_tcp_frame frame;
	u8 phase;     /* enum rds_tcp_phase */
	bool paused;  /* the core refused something: ops->recv_retry goes on */
	bool blocked; /* xmit came out short: rds_path_writable() is owed */
	bool keyed;   /* our call is signed */
	bool old_key; /* and began with the key that is being replaced; worker */
	u32 una;      /* snd_una that @acked was last brought up to */
	u64 sent;     /* bytes that TCP took since the connection is up */
	u64 acked;    /* acknowledged by the peer's TCP; may run ahead of @sent */

	struct delayed_work nudge; /* see rds_tcp_xmit() */
	struct klist_node link;	   /* rds_tcp_net.socks */
	u32 attempt;		   /* ports tried so far, from anywhere on; worker */

	/* The kernel's own callbacks. */
	void (*plain_state_change)(struct sock *sk);
	void (*plain_data_ready)(struct sock *sk);
	void (*plain_write_space)(struct sock *sk);
};

/* The next of rds_tcp_net.socks; the socket stays until @i goes on.  Process. */
static inline struct rds_tcp_path *rds_tcp_next_sock(struct klist_iter *i)
{
	struct klist_node *n = klist_next(i);

	return n ? container_of(n, struct rds_tcp_path, link) : NULL;
}

/* Socket locked. */
static inline void rds_tcp_enter(struct rds_tcp_path *tp, enum rds_tcp_phase phase)
{
	sock_owned_by_me(tp->sock->sk);
	tp->phase = phase;
}

/* tcp_linux.c */
extern struct workqueue_struct *rds_tcp_wq;
extern struct rds_transport rds_tcp_transport;
struct rds_tcp_net *rds_tcp_net_of(struct net *net);
static inline void rds_tcp_count(struct rds_tcp_net *tn, enum rds_tcp_stat id)
{
	this_cpu_inc(tn->counters->v[id]);
}

/* tcp_sysctl_linux.c */
int rds_tcp_sysctl_start(struct rds_tcp_net *tn);
void rds_tcp_sysctl_stop(struct rds_tcp_net *tn);
/* Gives @sock, @tp's, all settings, again if need be; false: the connection would have to be a new
 * one for the receive buffer.  Under tn->tuning.  Process, socket not locked. */
bool rds_tcp_tune(struct rds_tcp_path *tp, struct socket *sock);
/* Options that can only be set once the connection that we called is there.  Socket locked. */
void rds_tcp_tune_established(struct rds_tcp_net *tn, struct sock *sk);
/* Options that accepted connections inherit, and need from their first segment on. */
void rds_tcp_tune_listener(struct rds_tcp_net *tn, struct socket *sock);

/* tcp_info_linux.c */
void rds_tcp_facts(const void *priv, struct rds_link_facts *f);
int rds_tcp_info_start(void);
void rds_tcp_info_stop(void);

/* tcp_listen_linux.c; process */
void rds_tcp_listen_init(struct rds_tcp_net *tn);
/* Listens while there are sockets, or @always.  When it returns the port is as it is wanted, or
 * that is tried again. */
void rds_tcp_listen_always(struct rds_tcp_net *tn, bool always);
/* Nobody listens any more, for good. */
void rds_tcp_listen_stop(struct rds_tcp_net *tn);
void rds_tcp_use(struct rds_os_net *os);
void rds_tcp_unuse(struct rds_os_net *os);

/* tcp_peers_linux.c; process.  Between the two a change of the table of peers holds here. */
void rds_tcp_peers_start(struct rds_tcp_net *tn);
void rds_tcp_peers_stop(struct rds_tcp_net *tn);
void rds_tcp_takeover_refused(void *priv);

/* tcp_path_linux.c */
int rds_tcp_laddr_check(struct rds_os_net *os, const struct rds_addr *addr, u32 scope);
/* Ends a socket for good: what was not sent is not sent, nothing of it stays behind. */
void rds_tcp_release(struct socket *sock);
void *rds_tcp_path_alloc(struct rds_path *path);
void rds_tcp_path_free(void *priv);
int rds_tcp_initiates(const void *priv);
int rds_tcp_midway(const void *priv);
u32 rds_tcp_wants(const void *priv);
int rds_tcp_ended(const void *priv);
int rds_tcp_connect(void *priv);
enum rds_drop_reason rds_tcp_unanswered(const void *priv);
int rds_tcp_adopt(void *priv, void *handle);
void rds_tcp_discard(void *handle);
void rds_tcp_shutdown(void *priv);
void rds_tcp_close(void *priv);

/* tcp_send_linux.c */
long rds_tcp_xmit(void *priv, const struct rds_xmit *x);
void rds_tcp_write_space(struct sock *sk);
/* The connection is up: counting starts here.  Socket locked. */
void rds_tcp_send_start(struct rds_tcp_path *tp);
void rds_tcp_nudge(struct work_struct *work);

/* tcp_recv_linux.c */
void rds_tcp_data_ready(struct sock *sk);
void rds_tcp_recv_retry(void *priv);
/* Reads what is there, and tells the core when it was the last.  Socket locked. */
void rds_tcp_receive(struct rds_tcp_path *tp, enum rds_ctx ctx);

#endif
