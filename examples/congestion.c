// SPDX-License-Identifier: GPL-2.0
/*
 * congestion: sends more than a slow reader takes, and is told when it may go on.
 *
 *	congestion recv ADDRESS PORT COUNT	reads so many messages, with a small receive queue
 *	congestion send ADDRESS PEER PORT COUNT	sends so many, and never waits in a send
 *
 * A send that would have to wait fails with ENOBUFS while the receiver's port is full, and with
 *EAGAIN while the own queue is.  POLLOUT tells of the second only.  Of the first tells a control
 *message, once RDS_CONG_MONITOR is on: its mask has the bits of ports that take messages again.
 *IPv4.  See rds(7).
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
#include <unistd.h>

#define MESSAGE 4096
#define QUEUE 32768

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static struct sockaddr_in name_of(const char *address, const char *port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};

	if (inet_pton(AF_INET, address, &sin.sin_addr) != 1) {
		fprintf(stderr, "congestion: '%s' is no IPv4 address\n", address);
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

static void wait_for(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};

	if (poll(&p, 1, -1) < 0)
		fail("poll");
}

/* A notice comes by itself, without a message: recvmsg() returns 0, and no address. */
static uint64_t ports_that_are_free(int fd)
{
	union {
		char room[256];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {.msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	uint64_t mask = 0, more;

	wait_for(fd, POLLIN);
	if (recvmsg(fd, &msg, MSG_DONTWAIT) < 0) {
		if (errno == EAGAIN)
			return 0;
		fail("recvmsg");
	}
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_RDS || c->cmsg_type != RDS_CMSG_CONG_UPDATE)
			continue;
		memcpy(&more, CMSG_DATA(c), sizeof(more));
		mask |= more;
	}
	return mask;
}

static int send_all(const char *own, const char *peer, const char *port, uint32_t count)
{
	struct sockaddr_in at = name_of(own, "0"), to = name_of(peer, port);
	int fd = bound_socket(&at), on = 1;
	char message[MESSAGE] = "";
	uint32_t sent = 0, waits = 0;

	if (setsockopt(fd, SOL_RDS, RDS_CONG_MONITOR, &on, sizeof(on)))
		fail("RDS_CONG_MONITOR");
	while (sent < count) {
		memcpy(message, &sent, sizeof(sent));
		if (sendto(fd, message, sizeof(message), MSG_DONTWAIT, (struct sockaddr *)&to,
			   sizeof(to)) >= 0) {
			sent++;
		} else if (errno == ENOBUFS) {
			waits++;
			while (!(ports_that_are_free(fd) & RDS_CONG_MONITOR_MASK(atoi(port))))
				;
		} else if (errno == EAGAIN) {
			wait_for(fd, POLLOUT);
		} else {
			fail("sendto");
		}
	}
	/* The reader's word that it has all: closing takes back what is not delivered. */
	if (recv(fd, message, sizeof(message), 0) < 0)
		fail("recv");
	printf("%u messages delivered, waited %u times for the reader\n", sent, waits);
	return 0;
}

static int receive_all(const char *own, const char *port, uint32_t count)
{
	struct sockaddr_in at = name_of(own, port), from;
	socklen_t len = sizeof(from);
	int fd = bound_socket(&at), bytes = QUEUE;
	char message[MESSAGE];
	uint32_t got, number;
	ssize_t n;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)))
		fail("SO_RCVBUF");
	for (got = 0; got < count; got++) {
		n = recvfrom(fd, message, sizeof(message), 0, (struct sockaddr *)&from, &len);
		if (n < 0)
			fail("recvfrom");
		if (n != sizeof(message)) {
			fprintf(stderr, "congestion: a message of %zd bytes\n", n);
			return 1;
		}
		memcpy(&number, message, sizeof(number));
		if (number != got) {
			fprintf(stderr, "congestion: %u came in place of %u\n", number, got);
			return 1;
		}
		usleep(1000);
	}
	if (sendto(fd, "all", 3, 0, (struct sockaddr *)&from, len) < 0)
		fail("sendto");
	printf("%u messages, in order\n", got);
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
	fprintf(stderr, "usage: congestion recv ADDRESS PORT COUNT |"
			" congestion send ADDRESS PEER PORT COUNT\n");
	return 2;
}
