// SPDX-License-Identifier: GPL-2.0
/*
 * Neighbours: users who do their worst in a loop, or something like it without RDS, for comparison,
 * beside a witness (witness.c).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "perf.h"

#define SOL_RDS 276
#define RDS_CANCEL_SENT_TO 1
#define RDS_CMSG_ZCOPY_COOKIE 12
#define RDS_INFO_FIRST 10000
#define RDS_INFO_LAST 10017
#define NOBODY 65534
#define QUEUED 100000 /* messages to a host that is not there */
#define SOCKETS 3000
#define DEAD_HOSTS 4000 /* that a namespace calls without end */
#define INFO_BYTES (32 << 20)

static int rds_socket(void)
{
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0);

	if (fd < 0)
		die("neighbour: socket");
	return fd;
}

static struct sockaddr_in at(const char *ip, int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = inet_addr(ip)};
}

static int bound(const char *ip, int port)
{
	struct sockaddr_in a = at(ip, port);
	int fd = rds_socket();

	if (bind(fd, (void *)&a, sizeof(a)))
		die("neighbour: bind");
	return fd;
}

static int put(int fd, const char *ip, int port, size_t len)
{
	struct sockaddr_in a = at(ip, port);

	return sendto(fd, mbuf, len, MSG_DONTWAIT, (void *)&a, sizeof(a)) < 0 ? -errno : 0;
}

/* Messages that stay queued, and sockets that are there, beside all of them. */
static void crowd(void)
{
	int fd, i;

	if (setns(ns_a, CLONE_NEWNET))
		die("neighbour: setns");
	fd = bound("10.9.0.1", 0);
	buffers(fd);
	for (i = 0; i < QUEUED; i++)
		if (put(fd, "10.9.0.77", 7, 0))
			die("neighbour: queue");
	/* The witness's ports are one or two of each thousand. */
	for (i = 0; i < SOCKETS; i++)
		(void)bound("10.9.0.1", sh->port + 500 + i % 50 + 1000 * (i / 50));
	for (sh->ready = 1;;)
		pause();
}

pid_t neighbour_crowd(void)
{
	pid_t p = fork();

	if (!p)
		crowd();
	while (!sh->ready && !sh->err[0])
		usleep(100000);
	return p;
}

static void as_nobody(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		die("neighbour: setuid");
}

/* Root of a namespace of his own, with an address, and no other host. */
static void as_root_of_own(void)
{
	as_nobody();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		die("neighbour: unshare");
	if (if_up("lo", NULL) || if_up("lo:1", "10.8.0.1"))
		die("neighbour: addresses");
}

/* One of DEAD_HOSTS. */
static const char *dead_host(unsigned int i)
{
	static char ip[32];

	i %= DEAD_HOSTS;
	snprintf(ip, sizeof(ip), "10.77.%d.%d", i / 200, i % 200 + 1);
	return ip;
}

static void spin(void)
{
	for (;;)
		sh->rounds++;
}

static void unix_sockets(void)
{
	for (;; sh->rounds++)
		close(socket(AF_UNIX, SOCK_SEQPACKET, 0));
}

static void cancel(void)
{
	struct sockaddr_in to = at("10.9.0.77", 8);
	int fd;

	as_nobody();
	fd = bound("10.9.0.1", 0);
	for (sh->ready = 1;; sh->rounds++) {
		put(fd, "10.9.0.77", 8, 64);
		setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &to, sizeof(to));
	}
}

static void read_file(const char *path, char *to)
{
	int fd = open(path, O_RDONLY);

	while (fd >= 0 && read(fd, to, INFO_BYTES) > 0)
		;
	close(fd);
}

static void info(void)
{
	char *to = malloc(INFO_BYTES);
	socklen_t len;
	int fd, i;

	as_nobody();
	fd = rds_socket();
	for (sh->ready = 1;; sh->rounds++) {
		for (i = RDS_INFO_FIRST; i <= RDS_INFO_LAST; i++) {
			len = INFO_BYTES;
			getsockopt(fd, SOL_RDS, i, to, &len);
		}
		read_file("/proc/net/rds/sockets", to);
		read_file("/proc/net/rds/connections", to);
		read_file("/proc/net/rds/paths", to);
	}
}

static void binding(void)
{
	as_nobody();
	for (sh->ready = 1;; sh->rounds++)
		close(bound("10.9.0.1", 0));
}

/* Messages of @bytes to its own socket on the other side, whose buffer has @room or what is usual
 * (0): it fills and is read, and fills again. */
static void fill_and_read(int room, unsigned int bytes)
{
	int s, r;

	if (setns(ns_b, CLONE_NEWNET))
		die("neighbour: setns");
	r = bound("10.9.0.2", 3001);
	if (room)
		setsockopt(r, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (setns(ns_a, CLONE_NEWNET))
		die("neighbour: setns");
	as_nobody();
	s = bound("10.9.0.1", 3002);
	for (sh->ready = 1;; sh->rounds++) {
		while (!put(s, "10.9.0.2", 3001, bytes))
			;
		while (recv(r, mbuf, MBUF, MSG_DONTWAIT) > 0)
			;
	}
}

static void flap(void)
{
	fill_and_read(2048, 512);
}

static void stream(void)
{
	fill_and_read(0, 8192);
}

/* For comparison: the same of TCP. */
static void tcp_stream(void)
{
	struct sockaddr_in to = at("10.9.0.2", 3001);
	int l, s, r;

	if (setns(ns_b, CLONE_NEWNET))
		die("neighbour: setns");
	l = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(l, (struct sockaddr *)&to, sizeof(to)) || listen(l, 1))
		die("neighbour: listen");
	if (setns(ns_a, CLONE_NEWNET))
		die("neighbour: setns");
	as_nobody();
	s = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(s, (struct sockaddr *)&to, sizeof(to)))
		die("neighbour: connect");
	r = accept(l, NULL, NULL);
	for (sh->ready = 1;; sh->rounds++) {
		while (send(s, mbuf, 8192, MSG_DONTWAIT) > 0)
			;
		while (recv(r, mbuf, MBUF, MSG_DONTWAIT) > 0)
			;
	}
}

/* Lends pages, and never reads that they are its own again. */
static void lend(void)
{
	char control[CMSG_SPACE(sizeof(uint32_t))] = {};
	struct sockaddr_in to = at("10.9.0.2", 3001);
	struct iovec v = {mbuf, 4096};
	struct msghdr m = {.msg_name = &to,
			   .msg_namelen = sizeof(to),
			   .msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	int fd, i, one = 1;

	*(struct cmsghdr *)control = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(uint32_t)),
						      .cmsg_level = SOL_RDS,
						      .cmsg_type = RDS_CMSG_ZCOPY_COOKIE};
	as_nobody();
	for (sh->ready = 1;; sh->rounds++) {
		fd = bound("10.9.0.1", 0);
		setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one));
		for (i = 0; i < 64; i++)
			if (sendmsg(fd, &m, MSG_ZEROCOPY | MSG_DONTWAIT) < 0)
				break;
		close(fd);
	}
}

static void open_close(void)
{
	int fd;

	as_nobody();
	for (sh->ready = 1;; sh->rounds++) {
		fd = bound("10.9.0.1", 0);
		put(fd, "10.9.0.2", 3003, 64);
		close(fd);
	}
}

/* For comparison: sockets of UDP's are bound and closed, and may send a datagram in between, to one
 * that nobody reads. */
static void udp_sockets(int send)
{
	struct sockaddr_in to = at("10.9.0.2", 3003), from = at("10.9.0.1", 0);
	int fd;

	if (setns(ns_b, CLONE_NEWNET))
		die("neighbour: setns");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (bind(fd, (struct sockaddr *)&to, sizeof(to)))
		die("neighbour: bind");
	if (setns(ns_a, CLONE_NEWNET))
		die("neighbour: setns");
	as_nobody();
	for (sh->ready = 1;; sh->rounds++) {
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		if (bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
		    (send && sendto(fd, mbuf, 64, 0, (struct sockaddr *)&to, sizeof(to)) < 0))
			die("neighbour: udp");
		close(fd);
	}
}

static void udp_ports(void)
{
	udp_sockets(0);
}

static void udp_datagrams(void)
{
	udp_sockets(1);
}

static void make_namespaces(int with_rds)
{
	pid_t p;

	as_nobody();
	for (sh->ready = 1;; sh->rounds++) {
		p = fork();
		if (!p) {
			if (unshare(CLONE_NEWUSER | CLONE_NEWNET) || if_up("lo", NULL))
				_exit(1);
			if (with_rds)
				put(bound("127.0.0.1", 0), "127.0.0.1", 9, 64);
			_exit(0);
		}
		waitpid(p, NULL, 0);
	}
}

static void namespaces(void)
{
	make_namespaces(1);
}

/* For comparison: nobody has a socket of ours there. */
static void empty_namespaces(void)
{
	make_namespaces(0);
}

/* Thousands of hosts are called as often as a namespace's root may say. */
static void dead_hosts(void)
{
	unsigned int i;
	int fd;

	as_root_of_own();
	write_file("/proc/sys/net/rds/reconnect_max_delay_ms", "1");
	fd = bound("10.8.0.1", 0);
	buffers(fd);
	for (i = 0; i < DEAD_HOSTS; i++)
		if (put(fd, dead_host(i), 7, 64))
			die("neighbour: dead hosts");
	for (sh->ready = 1;;)
		pause();
}

/* For comparison: TCP calls the same hosts. */
static void tcp_to_dead_hosts(void)
{
	struct sockaddr_in to;
	int fd;

	as_root_of_own();
	for (sh->ready = 1;; sh->rounds++) {
		to = at(dead_host(sh->rounds), 7);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
			die("neighbour: a dead host answers");
		close(fd);
	}
}

static const struct {
	const char *name;
	void (*act)(void);
} deeds[] = {{"alone", NULL},
	     {"spin", spin},
	     {"unix", unix_sockets},
	     {"cancel", cancel},
	     {"info", info},
	     {"bind", binding},
	     {"flap", flap},
	     {"lend", lend},
	     {"open", open_close},
	     {"netns", namespaces},
	     {"dead", dead_hosts},
	     {"stream", stream},
	     {"tcp", tcp_stream},
	     {"bare", empty_namespaces},
	     {"port", udp_ports},
	     {"udp", udp_datagrams},
	     {"syn", tcp_to_dead_hosts}};

const char *neighbour_name(unsigned int i)
{
	return i < sizeof(deeds) / sizeof(*deeds) ? deeds[i].name : NULL;
}

/* Returns when the neighbour is at it; its process, or 0. */
pid_t neighbour_begin(void)
{
	struct sched_param first = {.sched_priority = 1};
	unsigned int i = 0;
	pid_t p = 0;

	while (strcmp(deeds[i].name, pc.test->name))
		i++;
	if (deeds[i].act) {
		p = fork();
		if (!p) {
			setpgid(0, 0);
			if (setns(ns_a, CLONE_NEWNET))
				die("neighbour: setns");
			sh->ready = deeds[i].act == spin || deeds[i].act == unix_sockets;
			deeds[i].act();
		}
		while (!sh->ready && !sh->err[0])
			usleep(100000);
	}
	sched_setscheduler(0, SCHED_FIFO, &first);
	return p;
}

void neighbour_end(pid_t p)
{
	struct sched_param none = {};

	sched_setscheduler(0, SCHED_OTHER, &none);
	if (!p)
		return;
	kill(-p, SIGKILL);
	waitpid(p, NULL, 0);
	sleep(3); /* what it leaves to others ends */
}
