// SPDX-License-Identifier: GPL-2.0
/*
 * bulk: sends a file in blocks that may overtake each other, and "done" behind all of them.
 *
 *	bulk recv ADDRESS PORT FILE		writes what it is sent
 *	bulk send ADDRESS PEER PORT FILE	sends; PEER's receiver is at PORT
 *
 * Every block says where it belongs, so the order in which blocks arrive does not matter: they are
 * un-ordered, and the kernel sends each over whichever path has least to do.  The last message is
 * half-ordered: when it arrives, all blocks have.  IPv4.  See rds(7), ORDER.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rds.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BLOCK 65536

struct block {
	uint64_t offset;
	uint32_t bytes; /* 0: done, and offset is the size of all */
	uint32_t pad;
	char data[BLOCK];
};
#define HEADER offsetof(struct block, data)

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static struct sockaddr_in name_of(const char *address, const char *port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};

	if (inet_pton(AF_INET, address, &sin.sin_addr) != 1) {
		fprintf(stderr, "bulk: '%s' is no IPv4 address\n", address);
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

static void send_block(int fd, struct sockaddr_in *to, struct block *b, uint32_t order)
{
	union {
		char room[CMSG_SPACE(sizeof(order))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {b, HEADER + b->bytes};
	struct msghdr msg = {.msg_name = to,
			     .msg_namelen = sizeof(*to),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control.room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_RDS;
	c->cmsg_type = RDS_CMSG_ORDER;
	c->cmsg_len = CMSG_LEN(sizeof(order));
	memcpy(CMSG_DATA(c), &order, sizeof(order));
	if (sendmsg(fd, &msg, 0) >= 0)
		return;
	if (errno != EINVAL)
		fail("sendmsg");
	/* Modules that do not know hints send everything in order. */
	msg.msg_controllen = 0;
	if (sendmsg(fd, &msg, 0) < 0)
		fail("sendmsg");
}

static int send_file(const char *own, const char *peer, const char *port, const char *path)
{
	static struct block b;
	struct sockaddr_in at = name_of(own, "0"), to = name_of(peer, port);
	int fd = bound_socket(&at), in = open(path, O_RDONLY);
	ssize_t n;

	if (in < 0)
		fail(path);
	while ((n = read(in, b.data, BLOCK)) > 0) {
		b.bytes = n;
		send_block(fd, &to, &b, RDS_ORDER_UNORDERED);
		b.offset += n;
	}
	if (n < 0)
		fail(path);
	b.bytes = 0;
	send_block(fd, &to, &b, RDS_ORDER_HALF);
	/* Messages not delivered when a socket is closed are taken back: wait for the answer. */
	if (recv(fd, &b, sizeof(b), 0) < 0)
		fail("recv");
	printf("%llu bytes delivered\n", (unsigned long long)b.offset);
	return 0;
}

static int receive_file(const char *own, const char *port, const char *path)
{
	static struct block b;
	struct sockaddr_in at = name_of(own, port), from;
	socklen_t len = sizeof(from);
	int fd = bound_socket(&at), out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	uint64_t got = 0, late = 0, next = 0;
	ssize_t n;

	if (out < 0)
		fail(path);
	for (;;) {
		n = recvfrom(fd, &b, sizeof(b), 0, (struct sockaddr *)&from, &len);
		if (n < 0)
			fail("recv");
		/* Anybody may send here, and say what is not so: that is no block. */
		if (n < (ssize_t)HEADER || n - HEADER != b.bytes)
			continue;
		if (!b.bytes)
			break;
		if (pwrite(out, b.data, b.bytes, b.offset) != (ssize_t)b.bytes)
			fail(path);
		late += b.offset < next;
		next = b.offset < next ? next : b.offset + b.bytes;
		got += b.bytes;
	}
	if (got != b.offset) {
		fprintf(stderr, "bulk: 'done' overtook %lld bytes\n", (long long)(b.offset - got));
		return 1;
	}
	printf("%llu bytes received, %llu blocks were overtaken\n", (unsigned long long)got,
	       (unsigned long long)late);
	if (sendto(fd, &b, HEADER, 0, (struct sockaddr *)&from, len) < 0)
		fail("send");
	/* Until the answer is delivered: closing would take it back. */
	sleep(1);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "recv"))
		return receive_file(argv[2], argv[3], argv[4]);
	if (argc == 6 && !strcmp(argv[1], "send"))
		return send_file(argv[2], argv[3], argv[4], argv[5]);
	fprintf(stderr, "usage: bulk recv ADDRESS PORT FILE | bulk send ADDRESS PEER PORT FILE\n");
	return 2;
}
