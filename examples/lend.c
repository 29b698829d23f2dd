// SPDX-License-Identifier: GPL-2.0
/*
 * lend: lends memory to a program on another host, which writes and reads it without this one.
 *
 *	lend serve ADDRESS PORT			lends its memory; the last one to ask has it
 *	lend ask OWN ADDRESS PORT [NUMBER]	writes, reads back, adds NUMBER to a counter there
 *
 * The server's answer brings a cookie, which names the memory.  An operation goes with a message,
 * which comes when what was written is there, and ends with a notification.  The adapters of two
 * hosts do it (rds_rdma): over TCP and within a host it is EOPNOTSUPP.  IPv4.  See rds-rdma(7).
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/rds.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A message is one of these letters; those of operations are their tokens, too. */
enum { ASK = '?', ANSWER = '!', WRITTEN = 'w', READ = 'r', ADDED = '+' };

/* Lent, or an asker's own.  On mainline peers reach whole pages, so nothing else is in these. */
static _Alignas(4096) struct memory {
	uint64_t counter;
	char bytes[65536 - sizeof(uint64_t)];
} memory;

union control {
	struct cmsghdr first;
	char room[256]; /* more than any call here needs */
};

struct end {
	int fd, flags; /* flags of its sends */
	struct sockaddr_in peer;
	rds_rdma_cookie_t cookie; /* of what is lent; 0: nothing is */
};

/* The outcome of one recvmsg: a message, or a notification, which has no sender. */
struct got {
	struct sockaddr_in from;
	char what;		  /* 0: no message of ours */
	rds_rdma_cookie_t cookie; /* 0: none came */
	struct rds_rdma_notify notice;
};

static const char *hint(void)
{
	return errno == EOPNOTSUPP ? " (no RDMA over TCP or within a host; some adapters lend "
				     "nothing, or cannot add)"
				   : "";
}

static struct sockaddr_in name_of(const char *address, const char *port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};

	if (inet_pton(AF_INET, address, &sin.sin_addr) != 1)
		errx(2, "'%s' is no IPv4 address", address);
	return sin;
}

static int bound_socket(struct sockaddr_in at)
{
	int fd = socket(PF_RDS, SOCK_SEQPACKET, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)))
		err(1, fd < 0 ? "socket(PF_RDS)" : "bind");
	return fd;
}

static int is_written(void)
{
	return memory.bytes[0] == WRITTEN &&
	       !memcmp(memory.bytes, memory.bytes + 1, sizeof(memory.bytes) - 1);
}

/* A message, and with it a control message unless @type is 0. */
static int say(struct end *e, char what, int type, const void *args, size_t len)
{
	union control control = {{.cmsg_level = SOL_RDS, .cmsg_type = type}};
	struct iovec iov = {&what, sizeof(what)};
	struct msghdr msg = {.msg_name = &e->peer,
			     .msg_namelen = sizeof(e->peer),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = type ? CMSG_SPACE(len) : 0};

	control.first.cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(&control.first), args, len);
	return sendmsg(e->fd, &msg, e->flags) < 0 ? -1 : 0;
}

/* A control message for which there was no room was cut: it is too short, and not taken. */
static void take(const struct cmsghdr *c, int type, void *to, size_t len)
{
	if (c->cmsg_level == SOL_RDS && c->cmsg_type == type && c->cmsg_len >= CMSG_LEN(len))
		memcpy(to, CMSG_DATA(c), len);
}

static struct got receive(int fd)
{
	union control control;
	struct got g = {.what = 0};
	struct iovec iov = {&g.what, sizeof(g.what)};
	struct msghdr msg = {.msg_name = &g.from,
			     .msg_namelen = sizeof(g.from),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};

	if (recvmsg(fd, &msg, 0) < 0)
		err(1, "recvmsg");
	/* Anybody may send here: a message that is longer is none of ours. */
	if (msg.msg_flags & MSG_TRUNC)
		g.what = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		take(c, RDS_CMSG_RDMA_DEST, &g.cookie, sizeof(g.cookie));
		take(c, RDS_CMSG_RDMA_STATUS, &g.notice, sizeof(g.notice));
	}
	return g;
}

/* The memory is @asker's from here on, and nobody else's. */
static void lend(struct end *e, struct sockaddr_in asker)
{
	struct rds_free_mr_args old = {.cookie = e->cookie, .flags = RDS_RDMA_INVALIDATE};
	struct rds_get_mr_args args = {.vec = {(uintptr_t)&memory, sizeof(memory)},
				       .cookie_addr = (uintptr_t)&e->cookie,
				       .flags = RDS_RDMA_READWRITE};

	if (e->cookie && setsockopt(e->fd, SOL_RDS, RDS_FREE_MR, &old, sizeof(old)))
		err(1, "RDS_FREE_MR");
	memset(memory.bytes, 0, sizeof(memory.bytes));
	e->peer = asker;
	/* RDS_GET_MR would need no message, but with mainline's modules a connection. */
	if (!say(e, ANSWER, RDS_CMSG_RDMA_MAP, &args, sizeof(args)))
		return;
	warn("lending%s", hint());
	e->cookie = 0;
	say(e, ANSWER, 0, "", 0);
}

/* Anybody may send here. */
static int is_from(const struct got *g, const struct sockaddr_in *whom)
{
	return !memcmp(&g->from, whom, offsetof(struct sockaddr_in, sin_zero));
}

static void serve(struct sockaddr_in at)
{
	/* An asker that does not read its answer is not waited for. */
	struct end e = {.fd = bound_socket(at), .flags = MSG_DONTWAIT};
	struct got g;

	puts("ready");
	for (;;) {
		g = receive(e.fd);
		if (g.what == ASK)
			lend(&e, g.from);
		else if (g.what == WRITTEN && is_from(&g, &e.peer) && is_written())
			printf("%s has written every byte\n", inet_ntoa(g.from.sin_addr));
	}
}

static void operate(struct end *e, char what, int type, const void *args, size_t len)
{
	static const char *const ends[] = {"done", "the other host refused it", "cancelled",
					   "the connection ended, it may be done", "failed here"};
	struct got g;

	if (say(e, what, type, args, len))
		err(1, "an operation%s", hint());
	do
		g = receive(e->fd);
	while (g.notice.user_token != (uint64_t)what);
	if (g.notice.status != RDS_RDMA_SUCCESS)
		errx(1, "operation '%c': %s", what,
		     (uint32_t)g.notice.status < 5 ? ends[g.notice.status] : "an unknown end");
}

/* All bytes, to the server's memory (RDS_RDMA_READWRITE) or from it. */
static void move(struct end *e, char what, uint64_t flags)
{
	struct rds_iovec own = {(uintptr_t)memory.bytes, sizeof(memory.bytes)};
	struct rds_rdma_args args = {
		.cookie = e->cookie,
		.remote_vec = {offsetof(struct memory, bytes), sizeof(memory.bytes)},
		.local_vec_addr = (uintptr_t)&own,
		.nr_local = 1,
		.flags = flags | RDS_RDMA_NOTIFY_ME,
		.user_token = what,
	};

	operate(e, what, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
}

static void add(struct end *e, unsigned long long number)
{
	struct rds_atomic_args args = {
		.cookie = e->cookie,
		.local_addr = (uintptr_t)&memory.counter, /* for what was there before */
		.remote_addr = offsetof(struct memory, counter),
		.fadd = {number},
		.flags = RDS_RDMA_NOTIFY_ME,
		.user_token = ADDED,
	};

	operate(e, ADDED, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
	printf("added %llu to %llu\n", number, (unsigned long long)memory.counter);
}

static void ask(struct sockaddr_in at, struct sockaddr_in server, unsigned long long number)
{
	struct end e = {.fd = bound_socket(at), .peer = server};
	struct got g;

	/* For all of it, as strangers may send messages without end. */
	alarm(60);
	if (say(&e, ASK, 0, "", 0))
		err(1, "asking");
	do
		g = receive(e.fd);
	while (g.what != ANSWER || !is_from(&g, &server));
	e.cookie = g.cookie;
	if (!e.cookie)
		errx(1, "the server lends nothing, and says why");
	memset(memory.bytes, WRITTEN, sizeof(memory.bytes));
	move(&e, WRITTEN, RDS_RDMA_READWRITE);
	memset(memory.bytes, 0, sizeof(memory.bytes));
	/* Without a fence mainline's modules may tell of the end before the bytes are here. */
	move(&e, READ, RDS_RDMA_FENCE);
	if (!is_written())
		errx(1, "other bytes came back");
	printf("%zu bytes written and read back\n", sizeof(memory.bytes));
	if (number)
		add(&e, number);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 4 && !strcmp(argv[1], "serve"))
		serve(name_of(argv[2], argv[3]));
	if (argc < 5 || argc > 6 || strcmp(argv[1], "ask"))
		errx(2, "usage: lend serve ADDRESS PORT | lend ask OWN ADDRESS PORT [NUMBER]");
	ask(name_of(argv[2], "0"), name_of(argv[3], argv[4]),
	    argc == 6 ? strtoull(argv[5], NULL, 0) : 0);
	return 0;
}
