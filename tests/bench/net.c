// SPDX-License-Identifier: GPL-2.0
/* Two fresh network namespaces with a veth pair between them, without a tool to help. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "perf.h"

int ns_a = -1, ns_b = -1;

struct rtattr *attr(struct request *b, int type, const void *d, int len)
{
	struct rtattr *a = (void *)((char *)b + NLMSG_ALIGN(b->h.nlmsg_len));

	a->rta_type = type;
	a->rta_len = RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), d, len);
	b->h.nlmsg_len = NLMSG_ALIGN(b->h.nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

static void nest_end(struct request *b, struct rtattr *a)
{
	a->rta_len = (char *)b + b->h.nlmsg_len - (char *)a;
}

int talk(int protocol, struct request *b)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, protocol);
	char buf[8192];
	struct nlmsghdr *h = (void *)buf;
	int e = 0;

	b->h.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	if (fd < 0 || send(fd, b, b->h.nlmsg_len, 0) < 0 || recv(fd, buf, sizeof(buf), 0) < 0)
		e = -errno;
	else if (h->nlmsg_type == NLMSG_ERROR)
		e = ((struct nlmsgerr *)NLMSG_DATA(h))->error;
	close(fd);
	return e;
}

int if_up(const char *dev, const char *ip)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), r = 0;
	struct ifreq q = {};
	struct sockaddr_in *s = (void *)&q.ifr_addr;

	strcpy(q.ifr_name, dev);
	s->sin_family = AF_INET;
	if (ip) {
		s->sin_addr.s_addr = inet_addr(ip);
		r |= ioctl(fd, SIOCSIFADDR, &q);
		s->sin_addr.s_addr = inet_addr("255.255.255.0");
		r |= ioctl(fd, SIOCSIFNETMASK, &q);
	}
	memset(&q.ifr_ifru, 0, sizeof(q.ifr_ifru));
	r |= ioctl(fd, SIOCGIFFLAGS, &q);
	q.ifr_flags |= IFF_UP;
	r |= ioctl(fd, SIOCSIFFLAGS, &q);
	close(fd);
	return r;
}

int write_file(const char *path, const char *v)
{
	int fd = open(path, O_WRONLY);
	ssize_t r = fd < 0 ? -1 : write(fd, v, strlen(v));

	if (fd >= 0)
		close(fd);
	return r < 0 ? -1 : 0;
}

/* veth va here, vb in ns_b */
static int veth_add(void)
{
	struct request b = {.h = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
				  .nlmsg_type = RTM_NEWLINK,
				  .nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL}};
	struct rtattr *info, *data, *peer;

	/* fixed hardware addresses: nothing random in the measurement */
	attr(&b, IFLA_IFNAME, "va", 3);
	attr(&b, IFLA_ADDRESS, "\x02\0\0\0\0\x0a", 6);
	info = attr(&b, IFLA_LINKINFO, NULL, 0);
	attr(&b, IFLA_INFO_KIND, "veth", 4);
	data = attr(&b, IFLA_INFO_DATA, NULL, 0);
	peer = attr(&b, VETH_INFO_PEER, NULL, 0);
	b.h.nlmsg_len += sizeof(struct ifinfomsg);
	attr(&b, IFLA_IFNAME, "vb", 3);
	attr(&b, IFLA_ADDRESS, "\x02\0\0\0\0\x0b", 6);
	attr(&b, IFLA_NET_NS_FD, &ns_b, 4);
	nest_end(&b, peer);
	nest_end(&b, data);
	nest_end(&b, info);
	return talk(NETLINK_ROUTE, &b);
}

static int new_netns(void)
{
	if (unshare(CLONE_NEWNET) || if_up("lo", NULL))
		return -1;
	return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

int large_buffers(void)
{
	return write_file("/proc/sys/net/core/wmem_max", "16777216") |
	       write_file("/proc/sys/net/core/rmem_max", "16777216");
}

int net_setup(void)
{
	int e = large_buffers() | if_up("lo", NULL);

	ns_b = new_netns();
	ns_a = new_netns();
	if (e || ns_a < 0 || ns_b < 0 || veth_add())
		return -1;
	e = if_up("va", "10.9.0.1") | setns(ns_b, CLONE_NEWNET) | if_up("vb", "10.9.0.2") |
	    setns(ns_a, CLONE_NEWNET);
	/* idle time is free here: let the devices' IPv6 chatter come to an end */
	sleep(4);
	return e;
}
