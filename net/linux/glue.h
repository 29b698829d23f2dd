/* SPDX-License-Identifier: GPL-2.0 */
/*
 * glue.h: what the files of rds.ko's glue share.  Transports use rds_linux.h.
 */
#ifndef RDS_GLUE_H
#define RDS_GLUE_H

#include <linux/seqlock.h>
#include <linux/sockptr.h>
#include <linux/sysctl.h>
#include <linux/uidgid.h>

#include "rds_linux.h"

/*
 * A socket of Linux.  The core's struct rds_socket follows directly behind, in the same object of
 * the slab; its memory goes an RCU grace period after the last reference (SOCK_RCU_FREE), because
 * softirqs look at sockets that are being closed.
 */
struct rds_recv_batch;
struct rds_sock {
	struct sock sk;		      /* first */
	u32 id;			      /* in rds_linux_net.socks */
	struct rds_rx_trace_so trace; /* SO_RDS_MSG_RXPATH_LATENCY, as it was set */
	bool inq;		      /* SO_RDS_INQ; under rds_recv_lock() */
	struct rds_recv_batch *batch; /* recv_batch.c; NULL: off.  Under rds_recv_lock() */
} __aligned(8);

static inline struct rds_sock *rds_sock(const struct sock *sk)
{
	return (struct rds_sock *)sk;
}

static inline struct rds_socket *rds_core(const struct sock *sk)
{
	return (struct rds_socket *)(rds_sock(sk) + 1);
}

static inline struct sock *rds_sk(const struct rds_socket *s)
{
	return &((struct rds_sock *)s - 1)->sk;
}

/* The word of the administrator of a namespace (policy.c). */
struct rds_policy {
	seqlock_t lock;			/* of the two groups */
	kgid_t first_group, last_group; /* who may have sockets: whoever is in one of these */
	unsigned int info_restrict;	/* 1: rows of other users' sockets are an administrator's */
};
#define RDS_LAST_GROUP (~(gid_t)0 - 1) /* there is none with the next number */

struct rds_stats {
	u64 v[RDS_STAT_COUNT];
};

/* One namespace (linux_net.h). */
struct rds_linux_net *rds_linux_net(const struct net *net);

/* The core's (path_xmit.cc); module parameter send_batch_count, set when the module is loaded. */
extern unsigned int rds_send_batch_count;

/* ---- af_rds.c ---- */
extern struct proto rds_proto;
int rds_family_register(void);
void rds_family_unregister(void);

/* ---- addr_events.c ---- */
/* From now on the cores hear of addresses that come to their namespaces and go: 0 or an errno. */
int rds_addr_events_start(void);
/* After it they do not. */
void rds_addr_events_stop(void);

/* ---- address.c ---- */
/* The verdict on a sockaddr; each call has its own errno for each. */
enum rds_name_fault {
	RDS_NAME_GOOD,
	RDS_NAME_SHORT,	      /* too short for its family, or for any */
	RDS_NAME_FAMILY,      /* neither IPv4 nor IPv6 */
	RDS_NAME_ANY,	      /* 0.0.0.0 */
	RDS_NAME_GROUP,	      /* IPv4 broadcast or multicast */
	RDS_NAME_NOT_UNICAST, /* IPv6, v4-mapped ones that are no host included */
	RDS_NAME_NO_SCOPE,    /* link-local without an interface */
};
enum rds_name_fault rds_parse_name(const void *name, int len, struct rds_endpoint *ep);
/* Writes a sockaddr_in or sockaddr_in6 to @to (at least 28 bytes) and returns its length. */
int rds_write_name(const struct rds_endpoint *ep, void *to);

/* ---- sendmsg.c, recvmsg.c ---- */
int rds_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
/* One system call that sends.  Tries to: 0; -EAGAIN, -ENOBUFS and others as rds_msg_create() and
 * rds_socket_send(); then there is no message, and it may be tried again. */
struct rds_send_call;
int rds_send_once(struct sock *sk, struct rds_send_call *call);
/* Is @err of a kind that passes, and told by a wakeup when it does? */
bool rds_send_may_wait(const struct rds_send_call *call, int err);
int rds_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags);

/* ---- recv_batch.c ---- */
/* RDS_RECV_BATCH: 0; -EINVAL, -EINTR, -ENOMEM. */
int rds_batch_set(struct sock *sk, int most);
int rds_batch_get(const struct sock *sk);
void rds_batch_free(struct sock *sk); /* nobody else has it any more */
/* @m, the oldest message, of which @info tells, and those behind it that go with it; the reader's
 * lock is held.  As recvmsg(2), -EFAULT included; a call that fails has read none. */
int rds_recv_batch(struct sock *sk, struct msghdr *msg, size_t size, int flags, struct rds_msg *m,
		   const struct rds_recv_info *info);

/* ---- wait.c ---- */
/* Sends when there is room and the port takes messages: as rds_send_once(), or -ETIMEDOUT after
 * *@timeo jiffies, -ERESTARTSYS for a signal.  *@timeo is what is left of it. */
int rds_wait_and_send(struct sock *sk, struct rds_send_call *call, long *timeo);
/* 0 when there is something to read; -ETIMEDOUT, -ERESTARTSYS.  *@timeo is what is left of it. */
int rds_wait_to_recv(struct sock *sk, long *timeo);
/* The events that poll(2) reports of the socket, errors excepted. */
struct file;
struct poll_table_struct;
__poll_t rds_poll_socket(struct file *file, struct socket *sock, struct poll_table_struct *wait);
/* RDS_WAKE_*: wakes the tasks that wait for that.  Its cause was stored before. */
void rds_wake_sleepers(struct sock *sk, unsigned int what);

/* ---- cmsg.c ---- */
/* The requests in the control messages of one sendmsg. */
struct rds_send_cmsgs {
	bool has_cookie;
	u32 cookie; /* RDS_CMSG_ZCOPY_COOKIE */
	int late;   /* errno that the send ends with once its data was read, or 0 */
	/* Of a socket with RDMA: what goes with the message, and a region that it tells of. */
	const struct cmsghdr *op, *map, *dest;
	u64 mapped; /* cookie of the region that @map made: gone if nothing is sent */
	bool has_order;
	u32 order;		 /* RDS_CMSG_ORDER */
	unsigned int n_segments; /* lengths in RDS_CMSG_SEGMENT; 0: the call is one datagram */
	const u32 *segments;
};
/* Before any size is looked at: RDMA_ARGS that are too short (-EINVAL) or want to move more than
 * a message may (-EMSGSIZE). */
int rds_cmsg_check_rdma(struct msghdr *msg);
/* Does the call send many datagrams (RDS_CMSG_SEGMENT)?  After that check. */
bool rds_cmsg_has_segments(struct msghdr *msg);
/* Reads them all: 0, or the errno that the send ends with at once. */
int rds_cmsg_parse(struct rds_socket *s, struct msghdr *msg, bool zcopy,
		   struct rds_send_cmsgs *out);
/* Gives @m its operation and its cookie, once its data was read: 0 or the errno that the send ends
 * with. */
int rds_cmsg_apply(struct rds_socket *s, struct rds_msg *m, struct rds_send_cmsgs *c);
/* Registers memory and stores its cookie at args->cookie_addr, and in *@cookie (may be NULL). */
int rds_register_mr(struct rds_socket *s, const struct rds_get_mr_args *args, u64 *cookie);
/* Nothing was sent. */
void rds_cmsg_undo(struct rds_socket *s, struct rds_send_cmsgs *c);
/* Adds what the socket wants to know about a received message: 0 or -EFAULT. */
int rds_cmsg_recv(struct sock *sk, struct msghdr *msg, const struct rds_recv_info *info);
/* Adds how many bytes can be read after this call, which takes @taken: 0 or -EFAULT. */
int rds_cmsg_inq(struct sock *sk, struct msghdr *msg, u64 taken);
/* Adds the cookies of completed zerocopy sends when there is room for all of the control message:
 * their number, or -EFAULT.  They are taken off by the caller once nothing can fail any more. */
int rds_cmsg_zcopy(struct sock *sk, struct msghdr *msg);

/* ---- cgroup_linux.c ---- */
/* The cgroup of @sk is so far over its limit that only a task which may sleep shall charge it, and
 * reclaim.  Any context. */
bool rds_sk_over_limit(const struct sock *sk);

/* ---- sockopt.c, rds_info.c ---- */
int rds_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
		   unsigned int optlen);
int rds_getsockopt(struct socket *sock, int level, int optname, char __user *optval,
		   int __user *optlen);
int rds_info_getsockopt(struct sock *sk, int optname, char __user *optval, int __user *optlen,
			int len);

struct rds_info_buf;
/* Is @sk's row one that the reader may see?  NULL: of no socket, an administrator's. */
bool rds_info_shows(const struct rds_info_buf *b, const struct sock *sk);
/* The socket by which the reader asks. */
struct rds_socket *rds_info_asks(const struct rds_info_buf *b);

/* ---- policy.c ---- */
/* The namespace has its core already. */
void rds_policy_init(struct net *net);
void rds_policy_groups(struct rds_policy *p, kgid_t *first, kgid_t *last);
void rds_policy_set_groups(struct rds_policy *p, kgid_t first, kgid_t last);
/* May the caller have a socket in @net?  May he bind it to @port?  0 or -EACCES. */
int rds_may_open(const struct net *net);
/* The caller, as one of @net's users. */
u32 rds_user_of_call(const struct net *net);
int rds_may_bind(struct net *net, u16 port);
/* May the caller have a transport's module loaded? */
bool rds_may_load_modules(void);
/* Somebody who looks at the tables of a namespace, by a call or by a file that he has opened. */
struct rds_viewer {
	bool admin; /* has CAP_NET_ADMIN over it; of a file only where that matters */
	bool all;   /* sees the rows of all users */
	kuid_t uid;
	struct rds_socket *asks; /* by this socket of ours; NULL: by none */
};
struct rds_viewer rds_viewer_of_call(struct net *net);
struct rds_viewer rds_viewer_of_file(struct net *net, const struct file *file);
/* Of a message that came by netlink: whoever has opened the socket, and sends now, too. */
struct rds_viewer rds_viewer_of_request(struct net *net, struct sk_buff *skb);
/* The row of @sk; NULL: one of all users. */
bool rds_viewer_sees(const struct rds_viewer *v, const struct sock *sk);

/* ---- rds_info_core.c ---- */
int rds_info_core_init(void);
/* Every counter of @net, the core's before the transports'; @fn does not sleep. */
void rds_counters(struct net *net, void (*fn)(void *arg, const char *name, u64 value), void *arg);
void rds_info_core_exit(void);

/* ---- proc.c ---- */
int rds_proc_net_init(struct net *net);
void rds_proc_net_exit(struct net *net);

/* ---- sysctl.c ---- */
int rds_sysctl_net_init(struct net *net, struct rds_linux_net *rn);
void rds_sysctl_net_exit(struct rds_linux_net *rn);

#endif
