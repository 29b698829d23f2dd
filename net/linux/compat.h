/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compat.h: the only place that knows of kernel versions.  The rest is written for the newest one
 * that we build for; what an older kernel lacks is made up here.
 */
#ifndef RDS_COMPAT_H
#define RDS_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/net.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/tcp.h>
#include <linux/version.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

/* 6.5: pages are handed to TCP by MSG_SPLICE_PAGES; before, by ->sendpage(). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define RDS_HAVE_SPLICE_PAGES 1
#define RDS_NO_SENDPAGE
#else
#define RDS_NO_SENDPAGE .sendpage = sock_no_sendpage,
#endif

/* 6.6: tables are registered with their size; before, they end with an empty entry.  Tables here
 * always have one, and its being counted or not is settled in this function. */
static inline struct ctl_table_header *rds_register_sysctl(struct net *net, const char *path,
							   struct ctl_table *table, size_t n)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	return register_net_sysctl_sz(net, path, table, n);
#else
	return register_net_sysctl(net, path, table);
#endif
}

/* 6.11: handlers get their table const. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
typedef const struct ctl_table rds_ctl_table;
#else
typedef struct ctl_table rds_ctl_table;
#endif

/* 6.8, and what was taken into older ones: groups have flags of their own names.  Before, they had
 * those of operations, of which this one asked for the same capability. */
#ifndef GENL_MCAST_CAP_NET_ADMIN
#define GENL_MCAST_CAP_NET_ADMIN GENL_UNS_ADMIN_PERM
#endif

/* 6.10: __assign_str() takes the string from the entry's declaration. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define rds_assign_str(field, from) __assign_str(field)
#else
#define rds_assign_str(field, from) __assign_str(field, from)
#endif

/* 6.2: a socket used in reclaim context must not take the task's page fragment. */
static inline void rds_sk_no_task_frag(struct sock *sk)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	sk->sk_use_task_frag = false;
#endif
}

/* 6.13: init and callback in one call. */
static inline void rds_hrtimer_setup(struct hrtimer *t,
				     enum hrtimer_restart (*fn)(struct hrtimer *t))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(t, fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(t, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	t->function = fn;
#endif
}

/* 6.7: shrinkers are allocated by those who run them.  NULL: no memory. */
typedef unsigned long rds_shrink_fn(struct shrinker *s, struct shrink_control *sc);

static inline struct shrinker *rds_shrinker_register(const char *name, rds_shrink_fn *count,
						     rds_shrink_fn *scan)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	struct shrinker *s = shrinker_alloc(0, "%s", name);
#else
	struct shrinker *s = kzalloc(sizeof(*s), GFP_KERNEL);
#endif

	if (!s)
		return NULL;
	s->count_objects = count;
	s->scan_objects = scan;
	s->seeks = DEFAULT_SEEKS;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	shrinker_register(s);
#else
	if (register_shrinker(s, "%s", name)) {
		kfree(s);
		return NULL;
	}
#endif
	return s;
}

static inline void rds_shrinker_unregister(struct shrinker *s)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	shrinker_free(s);
#else
	unregister_shrinker(s);
	kfree(s);
#endif
}

/* 6.7, or wherever it was taken back to: TCP-AO.  A TCP that knows nothing of it, or was built
 * without, has the same answer to these options: ENOPROTOOPT. */
#ifndef TCP_AO_ADD_KEY
#define TCP_AO_ADD_KEY 38
#define TCP_AO_DEL_KEY 39
#define TCP_AO_INFO 40
#define TCP_AO_MAXKEYLEN 80

struct tcp_ao_add {
	struct __kernel_sockaddr_storage addr;
	char alg_name[64];
	s32 ifindex;
	u32 set_current : 1, set_rnext : 1, reserved : 30;
	u16 reserved2;
	u8 prefix, sndid, rcvid, maclen, keyflags, keylen;
	u8 key[TCP_AO_MAXKEYLEN];
} __aligned(8);

struct tcp_ao_del {
	struct __kernel_sockaddr_storage addr;
	s32 ifindex;
	u32 set_current : 1, set_rnext : 1, del_async : 1, reserved : 29;
	u16 reserved2;
	u8 prefix, sndid, rcvid, current_key, rnext, keyflags;
} __aligned(8);

struct tcp_ao_info_opt {
	u32 set_current : 1, set_rnext : 1, ao_required : 1, set_counters : 1, accept_icmps : 1,
		reserved : 27;
	u16 reserved2;
	u8 current_key, rnext;
	u64 pkt_good, pkt_bad, pkt_key_not_found, pkt_ao_required, pkt_dropped_icmp;
} __aligned(8);
#endif

/* 7.2 has no poll_does_not_wait() any more, and the same in its tables. */
#define rds_poll_waits(table) ((table) && (table)->_qproc)

/* 6.19: bind and connect take sockaddr_unsized.  The kernel's own table tells, whatever of it was
 * taken into an older one. */
struct sockaddr_unsized;
typedef typeof(*_Generic(((struct proto_ops *)NULL)->bind,
			 int (*)(struct socket *, struct sockaddr *, int)
			 : (struct sockaddr *)NULL, default
			 : (struct sockaddr_unsized *)NULL)) rds_sockaddr_arg;

#endif
