// SPDX-License-Identifier: GPL-2.0
/*
 * lines: sends text line by line, each a message of its own, and many in each system call.
 *
 *	lines recv ADDRESS PORT			prints the lines that come
 *	lines send ADDRESS PEER PORT		sends those of its input; PEER's receiver is at PORT
 *
 * RDS_CMSG_SEGMENT cuts what one sendmsg has into messages, RDS_RECV_BATCH lets one recvmsg return
 * many.  Modules that know neither get and give one a call.  IPv4.  See rds(7).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rds.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINES 256   /* of a call, at most */
#define BYTES 65536 /* the same; a longer line is cut */

struct lines {
	uint32_t count, bytes;
	uint32_t length[LINES];
	char text[BYTES];
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static struct sockaddr_in name_of(const char *address, const char *port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};

	if (inet_pton(AF_INET, address, &sin.sin_addr) != 1) {
		fprintf(stderr, "lines: '%s' is no IPv4 address\n", address);
		exit(2);
	}
	return sin;
}

static int bound_socket(const struct sockaddr_in *at)
{
	int fd = socket(PF_RDS, SOCK_SEQPACKET, 0);

	if (fd < 0)
		fail("socket(PF_RDS)");
	if (bind(fd, (const struct sockaddr *)at, sizeof(*at)))
		fail("bind");
	return fd;
}

/* All lines in one call: the bytes that were sent, which are those of whole lines. */
static ssize_t send_together(int fd, struct sockaddr_in *to, struct lines *l)
{
	union {
		char room[CMSG_SPACE(sizeof(l->length))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {l->text, l->bytes};
	struct msghdr msg = {.msg_name = to,
			     .msg_namelen = sizeof(*to),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = CMSG_SPACE(l->count * sizeof(uint32_t))};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_RDS;
	c->cmsg_type = RDS_CMSG_SEGMENT;
	c->cmsg_len = CMSG_LEN(l->count * sizeof(uint32_t));
	memcpy(CMSG_DATA(c), l->length, l->count * sizeof(uint32_t));
	return sendmsg(fd, &msg, 0);
}

static void send_lines(int fd, struct sockaddr_in *to, struct lines *l)
{
	uint32_t at = 0, i;
	ssize_t sent = l->count ? send_together(fd, to, l) : 0;

	if (sent < 0 && errno != EINVAL)
		fail("sendmsg");
	/* One a call: what is left, or all. */
	for (i = 0; i < l->count; at += l->length[i++])
		if ((ssize_t)at >= sent && sendto(fd, l->text + at, l->length[i], 0,
						  (struct sockaddr *)to, sizeof(*to)) < 0)
			fail("sendto");
	l->count = l->bytes = 0;
}

static int send_input(const char *own, const char *peer, const char *port)
{
	static struct lines l;
	struct sockaddr_in at = name_of(own, "0"), to = name_of(peer, port);
	int fd = bound_socket(&at);
	unsigned long all = 0;

	while (fgets(l.text + l.bytes, BYTES - l.bytes, stdin)) {
		l.length[l.count] = strlen(l.text + l.bytes);
		l.bytes += l.length[l.count++];
		all++;
		if (l.count == LINES || l.bytes > BYTES / 2)
			send_lines(fd, &to, &l);
	}
	send_lines(fd, &to, &l);
	/* An empty message says that this is all.  Messages that are not delivered when a socket is
	 * closed are taken back: wait for the answer. */
	if (sendto(fd, "", 0, 0, (struct sockaddr *)&to, sizeof(to)) < 0 || recv(fd, &l, 1, 0) < 0)
		fail("the end");
	fprintf(stderr, "%lu lines delivered\n", all);
	return 0;
}

/* The messages that one call returns. Where lengths are told, that of one that is cut is its whole
 * length: no more is there than the call has returned. */
static void receive_lines(int fd, struct lines *l, struct sockaddr_in *from)
{
	union {
		char room[CMSG_SPACE(sizeof(l->length))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {l->text, BYTES};
	struct msghdr msg = {.msg_name = from,
			     .msg_namelen = sizeof(*from),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control.room)};
	struct cmsghdr *c;
	ssize_t n = recvmsg(fd, &msg, 0);
	uint32_t i;

	if (n < 0)
		fail("recvmsg");
	l->count = 1;
	l->length[0] = n;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_RDS || c->cmsg_type != RDS_CMSG_RECV_BATCH)
			continue;
		l->count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(uint32_t);
		memcpy(l->length, CMSG_DATA(c), l->count * sizeof(uint32_t));
	}
	for (i = 0; i < l->count; n -= l->length[i++])
		l->length[i] = l->length[i] < n ? l->length[i] : n;
}

static int print_lines(const char *own, const char *port)
{
	static struct lines l;
	struct sockaddr_in at = name_of(own, port), from;
	int fd = bound_socket(&at), most = LINES;
	uint32_t i, begin;

	/* Refused by modules that do not know it: then each call returns one. */
	(void)setsockopt(fd, SOL_RDS, RDS_RECV_BATCH, &most, sizeof(most));
	for (;;) {
		receive_lines(fd, &l, &from);
		for (i = begin = 0; i < l.count && l.length[i]; begin += l.length[i++])
			fwrite(l.text + begin, 1, l.length[i], stdout);
		fflush(stdout);
		if (i < l.count)
			break;
	}
	if (sendto(fd, "", 0, 0, (struct sockaddr *)&from, sizeof(from)) < 0)
		fail("sendto");
	/* Until the answer is delivered: closing would take it back. */
	sleep(1);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "recv"))
		return print_lines(argv[2], argv[3]);
	if (argc == 5 && !strcmp(argv[1], "send"))
		return send_input(argv[2], argv[3], argv[4]);
	fprintf(stderr, "usage: lines recv ADDRESS PORT | lines send ADDRESS PEER PORT\n");
	return 2;
}
