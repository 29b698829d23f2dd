// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on the peer's memory, in bursts of a window; the sender's end begins them.
 *
 * write, read: on one region of the receiver's, a message with each; the receiver looks at what was
 * written, or writes what is read next, and ends the burst with a message of its own.
 * map: the sender offers a region with each message, to be used once; the receiver writes into it
 * and answers.
 *
 * All that is moved is stamped at both ends of every page, and each operation must be told of once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/rds.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "perf.h"

#ifndef SOL_RDS
#define SOL_RDS 276
#endif
#define PAGE 4096
#define TEXT 64	   /* bytes of a message */
#define MOST 64	   /* of a burst */
#define NOTICES 16 /* taken with one call */

static int sock;
static struct sockaddr_storage peer;
static socklen_t peerlen;
static char *memory;	     /* of as many pieces as a burst has */
static uint64_t cookie;	     /* that came last ... */
static uint64_t given[MOST]; /* ... and with the messages of a burst */
static uint64_t out[MOST]; /* the operation with this piece, counted from 1, until it is told of */
static long arrived;	   /* messages */

static char *piece(long k)
{
	return memory + k % pc.window * pc.size;
}

static void stamp(long k)
{
	uint64_t v = k;
	char *p;

	for (p = piece(k); p < piece(k) + pc.size; p += PAGE) {
		memcpy(p, &v, sizeof(v));
		memcpy(p + PAGE - sizeof(v), &v, sizeof(v));
	}
}

static void check(long k)
{
	uint64_t v = k;
	char *p;

	for (p = piece(k); p < piece(k) + pc.size; p += PAGE)
		if (memcmp(p, &v, sizeof(v)) || memcmp(p + PAGE - sizeof(v), &v, sizeof(v)))
			sh->bad++;
}

/* ---- messages ---- */

/* Message @k, with what @type says unless that is 0.  False: not now. */
static int send_with(long k, int type, const void *args, size_t len)
{
	uint64_t text[TEXT / sizeof(uint64_t)] = {k};
	char room[CMSG_SPACE(sizeof(struct rds_rdma_args))] = {};
	struct iovec iov = {text, TEXT};
	struct msghdr m = {.msg_name = &peer,
			   .msg_namelen = peerlen,
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = CMSG_SPACE(len)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	if (type) {
		*c = (struct cmsghdr){CMSG_LEN(len), SOL_RDS, type};
		memcpy(CMSG_DATA(c), args, len);
	} else {
		m.msg_control = NULL;
		m.msg_controllen = 0;
	}
	if (sendmsg(sock, &m, 0) == TEXT)
		return 1;
	if (errno != EAGAIN)
		die("send");
	return 0;
}

static void say(long k)
{
	while (!send_with(k, 0, NULL, 0))
		;
}

/* With message @k, @len bytes from the piece on; mainline registers for a peer it knows only. */
static void offer(long k, size_t len, uint64_t flags)
{
	uint64_t c;
	struct rds_get_mr_args map = {{(uintptr_t)piece(k), len}, (uintptr_t)&c, flags};

	while (!send_with(k, RDS_CMSG_RDMA_MAP, &map, sizeof(map)))
		;
}

/* Piece @k and the peer's, @at bytes from where its region begins. */
static void operate(long k, uint64_t region, size_t at, uint64_t flags)
{
	struct rds_iovec local = {(uintptr_t)piece(k), pc.size};
	struct rds_rdma_args args = {.cookie = region,
				     .remote_vec = {at, pc.size},
				     .local_vec_addr = (uintptr_t)&local,
				     .nr_local = 1,
				     .flags = flags | RDS_RDMA_NOTIFY_ME,
				     .user_token = k + 1};

	out[k % pc.window] = k + 1;
	while (!send_with(k, RDS_CMSG_RDMA_ARGS, &args, sizeof(args)))
		;
}

static void told(const struct rds_rdma_notify *n)
{
	uint64_t *of = &out[(n->user_token - 1) % pc.window];

	if (n->status || *of != n->user_token)
		sh->bad++;
	*of = 0;
}

static void take_control(struct msghdr *m)
{
	struct rds_rdma_notify n;
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == SOL_RDS && c->cmsg_type == RDS_CMSG_RDMA_STATUS) {
			memcpy(&n, CMSG_DATA(c), sizeof(n));
			told(&n);
		} else if (c->cmsg_level == SOL_RDS && c->cmsg_type == RDS_CMSG_RDMA_DEST) {
			memcpy(&cookie, CMSG_DATA(c), sizeof(cookie));
		}
	}
}

/* One message, or notices.  False: there is nothing, and MSG_DONTWAIT was said. */
static int take(int flags)
{
	uint64_t text[TEXT / sizeof(uint64_t)];
	uint64_t room[NOTICES * CMSG_SPACE(sizeof(struct rds_rdma_notify)) / 8];
	struct iovec iov = {text, TEXT};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof(room)};
	ssize_t r = recvmsg(sock, &m, flags);

	if (r < 0 && errno == EAGAIN)
		return 0;
	if (r < 0)
		die("recv");
	take_control(&m);
	if (!r)
		return 1;
	if (r != TEXT || text[0] != (uint64_t)arrived)
		sh->bad++;
	given[arrived++ % pc.window] = cookie;
	return 1;
}

static int under_way(void)
{
	int i;

	for (i = 0; i < pc.window; i++)
		if (out[i])
			return 1;
	return 0;
}

/* ---- the two ends ---- */

void rdma_open(int fd, int sender)
{
	size_t len = pc.window * pc.size;

	sock = fd;
	peerlen = addr_of(&peer, !sender, sh->port + !sender);
	memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || pc.window > MOST)
		die("memory");
	memset(memory, 0, len);
	/* The first message makes the connection, its answer has the region. */
	if (sender)
		say(0);
	while (!arrived)
		take(0);
	arrived = 0;
	if (!sender) {
		long k;

		for (k = 0; pc.test->op == READ && k < pc.window; k++)
			stamp(k);
		offer(0, len, RDS_RDMA_READWRITE);
	}
}

static void request(long k, uint64_t region)
{
	size_t at = piece(k) - memory;

	if (pc.test->op == WRITE) {
		stamp(k);
		operate(k, region, at, RDS_RDMA_READWRITE);
	} else if (pc.test->op == READ) {
		operate(k, region, at, RDS_RDMA_FENCE);
	} else {
		offer(k, pc.size, RDS_RDMA_READWRITE | RDS_RDMA_USE_ONCE | RDS_RDMA_INVALIDATE);
	}
}

void rdma_tx(long n, long first)
{
	static uint64_t region;
	long k, i, answers = pc.test->op == MAP ? pc.window : 1, last = arrived;

	if (!first)
		region = cookie;
	for (k = first; k < first + n; k += pc.window) {
		for (i = 0; i < pc.window; i++)
			request(k + i, region);
		for (last += answers; arrived < last || under_way();)
			take(0);
		for (i = 0; pc.test->op != WRITE && i < pc.window; i++)
			check(k + i);
	}
}

static void serve(long k)
{
	if (pc.test->op == WRITE) {
		check(k);
	} else if (pc.test->op == READ) {
		stamp(k + pc.window);
	} else {
		while (out[k % pc.window])
			take(0);
		stamp(k);
		operate(k, given[k % pc.window], 0, RDS_RDMA_READWRITE);
	}
}

void rdma_rx(long n, long first)
{
	long k;

	for (k = first; k < first + n; k++) {
		while (arrived <= k)
			take(0);
		serve(k);
		if (pc.test->op != MAP && (k + 1) % pc.window == 0)
			say(k / pc.window);
	}
	while (under_way())
		take(0);
}

/* Nothing was told of twice, nothing came that nobody sent. */
void rdma_close(void)
{
	while (take(MSG_DONTWAIT))
		sh->bad++;
}
