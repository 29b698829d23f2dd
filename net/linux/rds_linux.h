/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rds_linux.h: what the Linux glue shares between its files and with the C files of transports.
 *
 * The core's opaque types are these structures of Linux; the helpers here are the only casts:
 *	struct rds_os_net  struct net		struct rds_src	  struct sk_buff
 *	struct rds_uio	   struct iov_iter	struct rds_module struct module
 *	struct rds_socket  lies behind struct rds_sock, see there
 */
#ifndef RDS_LINUX_H
#define RDS_LINUX_H

#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "../../include/uapi/linux/rds.h"
#include "../platform/platform.h"
#include "../rds/rds_core.h"
#include "../rds/transport.h"
#include "compat.h"

/*
 * The version, of all modules: they go together.  A transport needs a symbol of rds.ko that has it
 * in its name.  So the kernel refuses one that was built for another rds.ko, mainline's or another
 * of ours, and the line in its log says which version is missing, whatever else they have in
 * common.
 */
#define RDS_VERSION_MAJOR 5
#define RDS_VERSION_MINOR 0
#define RDS_MODULE_VERSION __stringify(RDS_VERSION_MAJOR) "." __stringify(RDS_VERSION_MINOR)
#define RDS_VERSION_PASTE(major, minor) rds_ko_of_version_##major##_##minor
#define RDS_VERSION_NAME(major, minor) RDS_VERSION_PASTE(major, minor)
#define RDS_VERSION_SYMBOL RDS_VERSION_NAME(RDS_VERSION_MAJOR, RDS_VERSION_MINOR)
extern const char RDS_VERSION_SYMBOL[];

/* At the end of a transport's module file. */
#define RDS_TRANSPORT_MODULE                                                                       \
	static const char *const rds_version_wanted __used = RDS_VERSION_SYMBOL;                   \
	MODULE_VERSION(RDS_MODULE_VERSION)

/* ---- casts across the seam ---- */
static inline struct rds_os_net *rds_os_net(struct net *net)
{
	return (struct rds_os_net *)net;
}

static inline struct net *rds_os_net_to_net(struct rds_os_net *os)
{
	return (struct net *)os;
}

static inline struct rds_src *rds_src(struct sk_buff *skb)
{
	return (struct rds_src *)skb;
}

static inline struct rds_uio *rds_uio(struct iov_iter *iter)
{
	return (struct rds_uio *)iter;
}

static inline struct rds_module *rds_module(struct module *m)
{
	return (struct rds_module *)m;
}

/* ---- addresses ---- */
static inline struct in6_addr rds_addr_in6(const struct rds_addr *a)
{
	struct in6_addr in6;

	BUILD_BUG_ON(sizeof(in6) != sizeof(*a));
	memcpy(&in6, a, sizeof(in6));
	return in6;
}

static inline struct rds_addr rds_addr_from_in6(const struct in6_addr *in6)
{
	struct rds_addr a;

	memcpy(&a, in6, sizeof(a));
	return a;
}

/* IPv4 is kept mapped into IPv6. */
static inline struct rds_addr rds_addr_from_v4(__be32 v4)
{
	struct in6_addr in6;

	ipv6_addr_set_v4mapped(v4, &in6);
	return rds_addr_from_in6(&in6);
}

static inline bool rds_addr_is_v4(const struct rds_addr *a)
{
	struct in6_addr in6 = rds_addr_in6(a);

	return ipv6_addr_v4mapped(&in6);
}

static inline __be32 rds_addr_v4(const struct rds_addr *a)
{
	return rds_addr_in6(a).s6_addr32[3];
}

/* Fills @ss, returns its length. */
static inline int rds_sockaddr(struct sockaddr_storage *ss, const struct rds_addr *addr, u32 scope,
			       u16 port)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (rds_addr_is_v4(addr)) {
		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = rds_addr_v4(addr);
		sin->sin_port = htons(port);
		return sizeof(*sin);
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_addr = rds_addr_in6(addr);
	sin6->sin6_port = htons(port);
	sin6->sin6_scope_id = scope;
	return sizeof(*sin6);
}

/* ---- namespaces (module.c) ---- */
/* The core's half of @net.  Valid while @net has sockets or rds.ko's pernet data is registered:
 * transports' pernet operations end before rds.ko's. */
struct rds_net *rds_net_of(struct net *net);

/* ---- RDS_INFO_* (rds_info.c) ---- */
/* Collects elements into the caller's room and counts those that did not fit. */
struct rds_info_buf;
void rds_info_add(struct rds_info_buf *b, const void *element);
/* Is the reader one who has CAP_NET_ADMIN over the namespace? */
bool rds_info_is_for_admin(const struct rds_info_buf *b);
/*
 * @fn calls rds_info_add() with elements of @each bytes, for what is in @net; it may run more than
 * once for one call, and may sleep.  @flags: enum rds_table_flags.  0, or -EEXIST; -EINVAL for a
 * code out of range.
 */
enum rds_table_flags {
	/* Nothing is copied when the caller's room is too small for all (mainline does so for some
	 * codes). */
	RDS_TABLE_WHOLE = 1,
	/* Its rows are of all users together: where info_restrict is set, only an administrator is
	 * told any. */
	RDS_TABLE_OF_ALL = 2,
};
int rds_info_register(int optname, unsigned int each, unsigned int flags,
		      void (*fn)(struct net *net, struct rds_info_buf *b));
/* After it @fn neither runs nor is called again. */
void rds_info_unregister(int optname);

#endif
