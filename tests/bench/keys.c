// SPDX-License-Identifier: GPL-2.0
/* The two namespaces' tables of peers get a key for each other, without a tool to help. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>
#include "../../include/uapi/linux/rds_peers.h"
#include "perf.h"

#define KEY "thirty-two bytes of no secrecy.."

static struct request ask_of(int family, int command)
{
	struct request b = {.h = {.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN), .nlmsg_type = family}};
	struct genlmsghdr *g = NLMSG_DATA(&b.h);

	g->cmd = command;
	g->version = 1;
	return b;
}

/* The number that the kernel has given to the family; -1: there is none. */
static int family_number(void)
{
	struct request b = ask_of(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC), left, number = -1;
	char buf[8192];
	struct nlmsghdr *h = (void *)buf;
	struct rtattr *a;

	attr(&b, CTRL_ATTR_FAMILY_NAME, RDS_PEERS_FAMILY_NAME, sizeof(RDS_PEERS_FAMILY_NAME));
	b.h.nlmsg_flags = NLM_F_REQUEST;
	if (fd >= 0 && send(fd, &b, b.h.nlmsg_len, 0) > 0 && recv(fd, buf, sizeof(buf), 0) > 0 &&
	    h->nlmsg_type == GENL_ID_CTRL) {
		a = (void *)((char *)NLMSG_DATA(h) + GENL_HDRLEN);
		left = h->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
		for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
			if (a->rta_type == CTRL_ATTR_FAMILY_ID)
				number = *(unsigned short *)RTA_DATA(a);
	}
	close(fd);
	return number;
}

/* Of the namespace that this process is in. */
static int sign_to(const char *ip, unsigned char method)
{
	struct request b = ask_of(family_number(), RDS_PEERS_CMD_PEER_SET);
	unsigned char id = 1, bits = 32, accept = RDS_PEERS_ACCEPT;
	in_addr_t addr = inet_addr(ip);

	attr(&b, RDS_PEERS_A_ADDR, &addr, sizeof(addr));
	attr(&b, RDS_PEERS_A_LEN, &bits, 1);
	attr(&b, RDS_PEERS_A_POLICY, &accept, 1);
	attr(&b, RDS_PEERS_A_METHOD, &method, 1);
	attr(&b, RDS_PEERS_A_KEY, KEY, sizeof(KEY) - 1);
	if (method == RDS_PEERS_TCP_AO) {
		attr(&b, RDS_PEERS_A_SNDID, &id, 1);
		attr(&b, RDS_PEERS_A_RCVID, &id, 1);
	}
	return talk(NETLINK_GENERIC, &b);
}

int keys_setup(const char *method)
{
	unsigned char number = strcmp(method, "tcp-ao") ? RDS_PEERS_TCP_MD5 : RDS_PEERS_TCP_AO;
	int e = sign_to("10.9.0.2", number);

	if (!e && setns(ns_b, CLONE_NEWNET))
		e = -errno;
	if (!e)
		e = sign_to("10.9.0.1", number);
	if (!e && setns(ns_a, CLONE_NEWNET))
		e = -errno;
	errno = -e;
	return e;
}
