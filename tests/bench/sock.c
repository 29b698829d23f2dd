// SPDX-License-Identifier: GPL-2.0
/* Parts that the sender and the receiver of a case share: clock, sockets, one message out. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "perf.h"

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static uint64_t idle_ns(void)
{
	static char b[1 << 17];
	int fd = open("/proc/timer_list", O_RDONLY);
	ssize_t n, len = 0;
	uint64_t sum = 0;
	char *p, *c;

	if (fd < 0)
		return 0;
	while (len < (ssize_t)sizeof(b) - 1 && (n = read(fd, b + len, sizeof(b) - 1 - len)) > 0)
		len += n;
	close(fd);
	b[len] = 0;
	for (p = b; (p = strstr(p, ".idle_sleeptime")); p++) {
		c = strchr(p, ':');
		if (c)
			sum += strtoull(c + 1, NULL, 10);
	}
	return sum;
}

void clock_begin(void)
{
	sh->visits0 = sh->visits;
	sh->open0 = sh->open;
	sh->idle0 = idle_ns();
	MARK_BEGIN();
	sh->t0 = now();
}

void clock_end(void)
{
	sh->t1 = now();
	MARK_END();
	sh->idle1 = idle_ns();
	sh->visits1 = sh->visits;
	sh->open1 = sh->open;
}

/* The first of the two that fails says why. */
void die(const char *what)
{
	if (!sh->err[0])
		snprintf(sh->err, sizeof(sh->err), "%s: %s", what, strerror(errno));
	_exit(1);
}

void tell(int fd)
{
	if (write(fd, "", 1) != 1)
		die("sync write");
}

void await(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		die("sync read");
}

/*
 * Streams run under SCHED_BATCH: a woken receiver does not preempt the sender, so on one CPU the
 * queue builds up as it would with two.
 */
void enter(int receiver)
{
	struct sched_param sp = {};
	int ns = pc.fam->topo == VETH && receiver ? ns_b : ns_a;

	if (!pc.lat)
		sched_setscheduler(0, SCHED_BATCH, &sp);
	if ((pc.fam->topo == SELF || pc.fam->topo == VETH) && setns(ns, CLONE_NEWNET))
		die("setns");
}

void buffers(int fd)
{
	int v = 4 << 20;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &v, sizeof(v));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &v, sizeof(v));
}

int connected(void)
{
	return pc.fam->kind != RDS;
}

int open_sock(void)
{
	static const int domain[] = {AF_RDS, AF_INET, AF_UNIX};
	int fd =
		socket(domain[pc.fam->kind], pc.fam->kind == TCP ? SOCK_STREAM : SOCK_SEQPACKET, 0);
	int one = 1;

	if (fd < 0)
		die("socket");
	if (pc.fam->kind != TCP)
		buffers(fd);
	else if (pc.lat)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

void end_init(struct end *e, int fd)
{
	e->fd = fd;
	e->buf = malloc(TCPBUF);
	if (!e->buf)
		die("malloc");
	memset(e->buf, 1, TCPBUF); /* no page faults inside the measurement */
}

socklen_t addr_of(struct sockaddr_storage *ss, int sender, int port)
{
	struct sockaddr_in *i = (void *)ss;
	struct sockaddr_un *u = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	if (pc.fam->kind == UNIX) {
		u->sun_family = AF_UNIX;
		return offsetof(struct sockaddr_un, sun_path) + 1 +
		       sprintf(u->sun_path + 1, "rdsperf-%d", port);
	}
	i->sin_family = AF_INET;
	i->sin_port = htons(port);
	i->sin_addr.s_addr = inet_addr(pc.fam->topo == LO		? "127.0.0.1"
				       : pc.fam->topo == SELF || sender ? "10.9.0.1"
									: "10.9.0.2");
	return sizeof(*i);
}

/* One message; TCP gets a length in front of it. */
void tx_raw(int fd, const struct sockaddr_storage *to, socklen_t tolen, const char *b, size_t len)
{
	uint32_t h = len;
	struct iovec v[2] = {{&h, 4}, {(void *)b, len}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	ssize_t r;
	size_t done;

	if (pc.fam->kind != TCP) {
		do
			r = sendto(fd, b, len, 0, (const void *)to, tolen);
		while (r < 0 && errno == EINTR);
		if (r != (ssize_t)len)
			die("send");
		return;
	}
	r = sendmsg(fd, &m, 0);
	if (r < 4)
		die("tcp send");
	for (done = r - 4; done < len; done += r) {
		r = send(fd, b + done, len - done, 0);
		if (r <= 0)
			die("tcp send");
	}
}

/* Next whole TCP frame of a connection; 0 when it would block. */
size_t tcp_frame(struct end *e, char **p)
{
	size_t have;
	uint32_t len;
	ssize_t r;

	if (pc.size >= 16384) { /* large frames: no copy in between */
		if (recv(e->fd, &len, 4, MSG_WAITALL) != 4 || len > MBUF ||
		    recv(e->fd, mbuf, len, MSG_WAITALL) != (ssize_t)len)
			die("tcp recv");
		*p = mbuf;
		return len;
	}
	for (;;) {
		have = e->fill - e->beg;
		if (have >= 4) {
			memcpy(&len, e->buf + e->beg, 4);
			if (have >= len + 4) {
				*p = e->buf + e->beg + 4;
				e->beg += len + 4;
				return len;
			}
		}
		if (e->beg) {
			memmove(e->buf, e->buf + e->beg, have);
			e->beg = 0;
			e->fill = have;
		}
		r = recv(e->fd, e->buf + e->fill, TCPBUF - e->fill, 0);
		if (r < 0 && errno == EAGAIN)
			return 0;
		if (r <= 0)
			die("tcp recv");
		e->fill += r;
	}
}
