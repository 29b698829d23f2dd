// SPDX-License-Identifier: GPL-2.0
/*
 * address.c: sockaddrs of user space to endpoints of the core, and back.
 */
#include <linux/in.h>
#include <net/ipv6.h>

#include "glue.h"

static enum rds_name_fault parse_v4(const struct sockaddr_in *sin, struct rds_endpoint *ep)
{
	__be32 addr = sin->sin_addr.s_addr;

	if (addr == htonl(INADDR_ANY))
		return RDS_NAME_ANY;
	if (addr == htonl(INADDR_BROADCAST) || ipv4_is_multicast(addr))
		return RDS_NAME_GROUP;
	ep->addr = rds_addr_from_v4(addr);
	ep->port = ntohs(sin->sin_port);
	return RDS_NAME_GOOD;
}

static enum rds_name_fault parse_v6(const struct sockaddr_in6 *sin6, struct rds_endpoint *ep)
{
	int type = ipv6_addr_type(&sin6->sin6_addr);

	if (!(type & IPV6_ADDR_UNICAST)) {
		__be32 v4 = sin6->sin6_addr.s6_addr32[3];

		if (!(type & IPV6_ADDR_MAPPED) || v4 == htonl(INADDR_ANY) ||
		    v4 == htonl(INADDR_BROADCAST) || ipv4_is_multicast(v4))
			return RDS_NAME_NOT_UNICAST;
	}
	if (type & IPV6_ADDR_LINKLOCAL) {
		if (!sin6->sin6_scope_id)
			return RDS_NAME_NO_SCOPE;
		ep->scope = sin6->sin6_scope_id;
	}
	ep->addr = rds_addr_from_in6(&sin6->sin6_addr);
	ep->port = ntohs(sin6->sin6_port);
	return RDS_NAME_GOOD;
}

enum rds_name_fault rds_parse_name(const void *name, int len, struct rds_endpoint *ep)
{
	const struct sockaddr *sa = name;

	memset(ep, 0, sizeof(*ep));
	if (len < (int)offsetofend(struct sockaddr, sa_family))
		return RDS_NAME_SHORT;
	switch (sa->sa_family) {
	case AF_INET:
		if (len < (int)sizeof(struct sockaddr_in))
			return RDS_NAME_SHORT;
		return parse_v4(name, ep);
	case AF_INET6:
		if (len < (int)sizeof(struct sockaddr_in6))
			return RDS_NAME_SHORT;
		return parse_v6(name, ep);
	default:
		return RDS_NAME_FAMILY;
	}
}

int rds_write_name(const struct rds_endpoint *ep, void *to)
{
	struct sockaddr_in6 *sin6 = to;
	struct sockaddr_in *sin = to;

	if (rds_addr_is_v4(&ep->addr)) {
		memset(sin, 0, sizeof(*sin));
		sin->sin_family = AF_INET;
		sin->sin_port = htons(ep->port);
		sin->sin_addr.s_addr = rds_addr_v4(&ep->addr);
		return sizeof(*sin);
	}
	memset(sin6, 0, sizeof(*sin6));
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = htons(ep->port);
	sin6->sin6_addr = rds_addr_in6(&ep->addr);
	sin6->sin6_scope_id = ep->scope;
	return sizeof(*sin6);
}
