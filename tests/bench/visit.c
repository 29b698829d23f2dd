// SPDX-License-Identifier: GPL-2.0
/*
 * Strangers: an address that RDS has never heard of connects, waits for the answer, which is a
 * reset, for the larger address is called back, and resets; alone as fast as it can, or 100,000
 * times a minute beside a stream.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <time.h>
#include <unistd.h>
#include "perf.h"

#define STRANGER "10.9.0.77"
#define RDS_PORT 16385
#define EVERY_NS 600000 /* a hundred thousand in a minute */

int visit_setup(void)
{
	return if_up("va:1", STRANGER);
}

static void visit(void)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(STRANGER)};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(RDS_PORT),
				 .sin_addr.s_addr = inet_addr("10.9.0.2")};
	struct linger at_once = {1, 0};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char hello[64];
	int is_open = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) ||
	    bind(fd, (void *)&from, sizeof(from)))
		die("visit");
	if (!connect(fd, (void *)&to, sizeof(to)))
		recv(fd, hello, sizeof(hello), 0);
	else
		is_open = errno != ECONNREFUSED; /* the reset came before we looked */
	sh->open += is_open;
	close(fd);
	sh->visits++;
}

/* The port is open while somebody uses RDS. */
void visited(long warm, long n)
{
	struct sockaddr_storage a;
	int fd;

	(void)warm;
	(void)n;
	enter(1);
	fd = open_sock();
	if (bind(fd, (void *)&a, addr_of(&a, 0, sh->port)))
		die("visited");
	tell(pc.r2s[1]);
	for (;;)
		pause();
}

/* The work that it leaves to others is counted, too. */
void visitor(long warm, long n)
{
	enter(0);
	await(pc.r2s[0]);
	while (warm--)
		visit();
	clock_begin();
	while (n--)
		visit();
	sleep(2);
	clock_end();
	_exit(0);
}

void visitor_beside(long warm, long n)
{
	struct timespec next;

	(void)warm;
	(void)n;
	enter(0);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		visit();
		next.tv_nsec += EVERY_NS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}
