// SPDX-License-Identifier: GPL-2.0
/* The receiving process: takes messages, checks them, echoes or gives credit. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "perf.h"

static struct end *re;
static int re_n, ep = -1;
static struct epoll_event evs[64];
static int ev_i, ev_n;
static struct sockaddr_storage from, credit_to;
static socklen_t fromlen, credit_tolen;
static struct end *from_end, *credit_end;
static uint32_t *next; /* sequence number that comes next, per sender */

static size_t dgram_in(int fd, char **p)
{
	struct iovec v = {mbuf, MBUF};
	struct msghdr m = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &v, .msg_iovlen = 1};
	ssize_t r = recvmsg(fd, &m, 0);

	if (r < 0 && (errno == EAGAIN || errno == EINTR) && ep >= 0)
		return 0;
	if (r < 0)
		die("recv");
	fromlen = m.msg_namelen;
	*p = mbuf;
	return r;
}

static size_t rx_msg(char **p)
{
	size_t r;

	if (re_n == 1) {
		from_end = &re[0];
		return pc.fam->kind == TCP ? tcp_frame(&re[0], p) : dgram_in(re[0].fd, p);
	}
	for (;;) {
		if (ev_i == ev_n) {
			ev_n = epoll_wait(ep, evs, 64, -1);
			ev_i = 0;
			if (ev_n <= 0)
				die("epoll");
		}
		from_end = evs[ev_i].data.ptr;
		r = pc.fam->kind == TCP ? tcp_frame(from_end, p) : dgram_in(from_end->fd, p);
		if (r)
			return r;
		ev_i++;
	}
}

static void reply(struct end *e, const struct sockaddr_storage *to, socklen_t tolen, const char *b,
		  size_t len)
{
	tx_raw(e->fd, connected() ? NULL : to, connected() ? 0 : tolen, b, len);
}

void rx_credit(void)
{
	reply(credit_end, &credit_to, credit_tolen, "credit!", 8);
}

void rx_check(const char *p, size_t got)
{
	uint32_t v[2]; /* sequence number, sender */

	if (got != pc.size) {
		errno = EMSGSIZE;
		die("message size");
	}
	memcpy(v, p, 8);
	if (v[1] >= (uint32_t)pc.nsend || v[0] != next[v[1]])
		sh->bad++;
	if (v[1] < (uint32_t)pc.nsend)
		next[v[1]] = v[0] + 1;
	if (v[0] == 0 && v[1] == 0) {
		credit_to = from;
		credit_tolen = fromlen;
		credit_end = from_end;
	}
}

static void rx_batch(long n)
{
	struct mmsghdr mm[BATCH] = {};
	struct iovec iv[BATCH];
	long k, c = 0;
	int i, r;

	from_end = &re[0];
	for (k = 0; k < n; k += r) {
		for (i = 0; i < BATCH; i++) {
			iv[i].iov_base = mbuf + i * BATCH_STRIDE;
			iv[i].iov_len = BATCH_STRIDE;
			mm[i].msg_hdr.msg_iov = &iv[i];
			mm[i].msg_hdr.msg_iovlen = 1;
			mm[i].msg_hdr.msg_name = connected() ? NULL : &from;
			mm[i].msg_hdr.msg_namelen = connected() ? 0 : sizeof(from);
		}
		r = recvmmsg(re[0].fd, mm, BATCH, MSG_WAITFORONE, NULL);
		if (r <= 0)
			die("recvmmsg");
		for (i = 0; i < r; i++) {
			fromlen = mm[i].msg_hdr.msg_namelen;
			rx_check(iv[i].iov_base, mm[i].msg_len);
			if (pc.fam->credit && ++c % pc.window == 0)
				rx_credit();
		}
	}
}

static void rx_phase(long n, long first)
{
	char *p;
	size_t got;
	long k;

	if (pc.test->op && !pc.paced) {
		rdma_rx(n, first);
		return;
	}
	if (pc.test->many & TAKES) {
		from_end = &re[0];
		if (many_rx(re[0].fd, &from, &fromlen, n))
			return;
	}
	if (pc.test->batch > 1 && pc.fam->kind != TCP) {
		rx_batch(n);
		return;
	}
	for (k = 0; k < n; k++) {
		got = rx_msg(&p);
		rx_check(p, got);
		if (pc.lat)
			reply(from_end, &from, fromlen, p, got);
		else if (pc.fam->credit && (k + 1) % pc.window == 0)
			rx_credit();
	}
}

static void accept_all(int fd)
{
	int one = 1, i, c;

	if (re_n > 1)
		ep = epoll_create1(0);
	for (i = 0; i < re_n; i++) {
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &re[i]};

		c = accept4(fd, NULL, NULL, re_n > 1 ? SOCK_NONBLOCK : 0);
		if (c < 0)
			die("accept");
		end_init(&re[i], c);
		if (pc.fam->kind == UNIX)
			buffers(c);
		else if (pc.lat)
			setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (ep >= 0 && epoll_ctl(ep, EPOLL_CTL_ADD, c, &ev))
			die("epoll_ctl");
	}
}

void receiver(long warm, long n)
{
	struct sockaddr_storage a;
	int one = 1, fd;

	enter(1);
	next = calloc(pc.nsend, sizeof(*next));
	re_n = connected() ? pc.nsend : 1;
	re = calloc(re_n, sizeof(*re));
	fd = open_sock();
	if (pc.fam->kind == TCP)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (void *)&a, addr_of(&a, 0, sh->port)))
		die("bind receiver");
	if (connected() && listen(fd, 1024))
		die("listen");
	tell(pc.r2s[1]);
	re[0].fd = fd;
	if (connected())
		accept_all(fd);
	if (pc.test->op && !pc.paced)
		rdma_open(fd, 0);
	rx_phase(warm, 0);
	tell(pc.r2s[1]);
	if (pc.fam->topo == PEER) {
		usleep(QUIET_US);
		clock_begin();
		tell(pc.r2s[1]);
	}
	rx_phase(n, warm);
	clock_end();
	tell(pc.r2s[1]);
	await(pc.s2r[0]);
	if (pc.test->op && !pc.paced)
		rdma_close();
	_exit(0);
}
