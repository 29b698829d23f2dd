// SPDX-License-Identifier: GPL-2.0
/*
 * zerocopy: sends large messages out of its own pages, and writes to them again when it may.
 *
 *	zerocopy recv ADDRESS PORT COUNT	reads so many messages, and looks at each byte
 *	zerocopy send ADDRESS PEER PORT COUNT	sends so many, all of them from one place in memory
 *
 * A send with MSG_ZEROCOPY lends its pages to the kernel.  Until its cookie comes back they must
 * not be written to: the peer would get what was written.  Cookies come as a control message, up
 * to eight in one, beside a message or alone, and POLLIN tells of them.  A receive that would
 * wait for a message does not return for a cookie, so cookies are read by one that does not wait.
 * Where pages cannot be lent, messages are copied as ever.  IPv4.  See rds(7), Zerocopy.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rds.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MESSAGE 131072

static char message[MESSAGE];

/* A sender has sent @sent messages; @lent of them came back, and @answered: the reader has all. */
struct sender {
	int fd;
	uint32_t sent, lent, copied;
	int answered;
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
		fprintf(stderr, "zerocopy: '%s' is no IPv4 address\n", address);
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

/* Every message has bytes of its own, its number before them. */
static void fill(char *into, uint32_t number)
{
	memset(into, number % 251, MESSAGE);
	memcpy(into, &number, sizeof(number));
}

static void send_message(struct sender *s, struct sockaddr_in *to)
{
	uint32_t cookie = s->sent;
	union {
		char room[CMSG_SPACE(sizeof(cookie))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {message, sizeof(message)};
	struct msghdr msg = {.msg_name = to,
			     .msg_namelen = sizeof(*to),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control.room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_RDS;
	c->cmsg_type = RDS_CMSG_ZCOPY_COOKIE;
	c->cmsg_len = CMSG_LEN(sizeof(cookie));
	memcpy(CMSG_DATA(c), &cookie, sizeof(cookie));
	s->sent++;
	if (sendmsg(s->fd, &msg, MSG_ZEROCOPY) >= 0)
		return;
	/* Loopback and queue pairs do not lend; ENOMEM: more than RLIMIT_MEMLOCK is lent. */
	if (errno != EOPNOTSUPP && errno != ENOMEM)
		fail("sendmsg");
	msg.msg_controllen = 0;
	if (sendmsg(s->fd, &msg, 0) < 0)
		fail("sendmsg");
	s->copied++;
}

/* Waits for cookies, or for the reader's answer, and takes what has come, which may be both. */
static void take_what_comes(struct sender *s)
{
	union {
		char room[256];
		struct cmsghdr align;
	} control;
	char answer[3];
	struct iovec iov = {answer, sizeof(answer)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct pollfd p = {.fd = s->fd, .events = POLLIN};
	struct rds_zcopy_cookies done;
	struct cmsghdr *c;
	ssize_t n;

	if (poll(&p, 1, -1) < 0)
		fail("poll");
	n = recvmsg(s->fd, &msg, MSG_DONTWAIT);
	if (n < 0) {
		if (errno == EAGAIN)
			return;
		fail("recvmsg");
	}
	s->answered |= n > 0;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_RDS || c->cmsg_type != RDS_CMSG_ZCOPY_COMPLETION)
			continue;
		memcpy(&done, CMSG_DATA(c), sizeof(done));
		/* Only the last message is under way here; with more, done.cookies says which. */
		s->lent += done.num;
	}
}

static int send_all(const char *own, const char *peer, const char *port, uint32_t count)
{
	struct sockaddr_in at = name_of(own, "0"), to = name_of(peer, port);
	struct sender s = {.fd = bound_socket(&at)};
	int on = 1, bytes = 4 * MESSAGE;

	if (setsockopt(s.fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)))
		fail("SO_ZEROCOPY");
	/* A message is no larger than the send queue. */
	if (setsockopt(s.fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)))
		fail("SO_SNDBUF");
	while (s.sent < count) {
		fill(message, s.sent);
		send_message(&s, &to);
		while (s.lent + s.copied < s.sent)
			take_what_comes(&s);
	}
	/* The reader's word that it has all: closing takes back what is not delivered. */
	while (!s.answered)
		take_what_comes(&s);
	printf("%u messages delivered, %u of them without a copy\n", s.sent, s.lent);
	return 0;
}

static int receive_all(const char *own, const char *port, uint32_t count)
{
	static char want[MESSAGE];
	struct sockaddr_in at = name_of(own, port), from;
	socklen_t len = sizeof(from);
	int fd = bound_socket(&at);
	uint32_t got;
	ssize_t n;

	for (got = 0; got < count; got++) {
		n = recvfrom(fd, message, sizeof(message), 0, (struct sockaddr *)&from, &len);
		if (n < 0)
			fail("recvfrom");
		if (n != sizeof(message)) {
			fprintf(stderr, "zerocopy: a message of %zd bytes\n", n);
			return 1;
		}
		fill(want, got);
		if (memcmp(message, want, sizeof(want))) {
			fprintf(stderr, "zerocopy: message %u is not what was sent\n", got);
			return 1;
		}
	}
	if (sendto(fd, "all", 3, 0, (struct sockaddr *)&from, len) < 0)
		fail("sendto");
	printf("%u messages, each as it was sent\n", got);
	fflush(stdout);
	/* Until the sender has that word: closing here would take it back. */
	while (getchar() != EOF)
		;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "recv"))
		return receive_all(argv[2], argv[3], atoi(argv[4]));
	if (argc == 6 && !strcmp(argv[1], "send"))
		return send_all(argv[2], argv[3], argv[4], atoi(argv[5]));
	fprintf(stderr, "usage: zerocopy recv ADDRESS PORT COUNT |"
			" zerocopy send ADDRESS PEER PORT COUNT\n");
	return 2;
}
