// SPDX-License-Identifier: GPL-2.0
/* Soft-RoCE, in one machine or on a cable between two, and how two keep in step. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rdma_netlink.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "perf.h"

#define MEET_PORT 9
/* The time that the other machine may take to boot, or to find out that a case has failed. */
#define MEET_SECONDS 200
/*
 * Interrupts are moderated, as network cards' are: what came is looked for so many times, so long
 * after each other (ns), before the card may interrupt again.  Else the number of interrupts, and
 * of wakeups from idle, depends on how fast the host runs the two machines.
 */
#define MODERATE_TIMES "8"
#define MODERATE_NS "2000000"

static char me;
static int listener = -1;

static const char *address(char role)
{
	return role == 'a' ? "10.9.0.1" : "10.9.0.2";
}

static int rxe_add(const char *dev)
{
	struct request b = {
		.h = {.nlmsg_len = NLMSG_LENGTH(0),
		      .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK)}};

	attr(&b, RDMA_NLDEV_ATTR_DEV_NAME, "rxe0", 5);
	attr(&b, RDMA_NLDEV_ATTR_LINK_TYPE, "rxe", 4);
	attr(&b, RDMA_NLDEV_ATTR_NDEV_NAME, dev, strlen(dev) + 1);
	return talk(NETLINK_RDMA, &b);
}

static int listen_for_peer(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(MEET_PORT)};
	struct timeval tv = {.tv_sec = MEET_SECONDS};

	listener = socket(AF_INET, SOCK_STREAM, 0);
	return bind(listener, (void *)&in, sizeof(in)) || listen(listener, 1) ||
	       setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}

static int moderate(void)
{
	return write_file("/sys/class/net/eth0/napi_defer_hard_irqs", MODERATE_TIMES) ||
	       write_file("/sys/class/net/eth0/gro_flush_timeout", MODERATE_NS);
}

int ib_setup(char role)
{
	int alone;

	me = role;
	if (large_buffers() || if_up("lo", NULL))
		return -1;
	alone = me == 's' || me == 't';
	if (alone ? if_up("dummy0", address('a')) || if_up("dummy0:1", address('b'))
		  : if_up("eth0", address(me)) || moderate())
		return -1;
	errno = -rxe_add(alone ? "dummy0" : "eth0");
	if (errno)
		return -1;
	/* Let the devices' IPv6 chatter come to an end. */
	sleep(4);
	return me == 'b' ? listen_for_peer() : 0;
}

static int call(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(MEET_PORT)};
	int fd, i;

	in.sin_addr.s_addr = inet_addr(address('b'));
	for (i = 0; i < MEET_SECONDS; i++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (!connect(fd, (void *)&in, sizeof(in)))
			return fd;
		close(fd);
		sleep(1);
	}
	return -1;
}

int peer_meet(void)
{
	int one = 1, fd = me == 'a' ? call() : accept(listener, NULL, NULL);

	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}
