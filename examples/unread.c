// SPDX-License-Identifier: GPL-2.0
/*
 * unread: asks how much has come for a socket and is not read yet, of one peer and of all.
 *
 *	unread ADDRESS PEER
 *
 * It sends itself two messages, asks, reads one, and asks again.  Nothing comes from PEER here, so
 *of that one there is nothing.  IPv4.  See rds(7), RDS_RECV_QUERY.
 */
#include <arpa/inet.h>
#include <linux/rds.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* peer: port 0 stands for all its ports; NULL for all peers. */
static struct rds_recv_query unread(int fd, const struct sockaddr_in *peer)
{
	struct rds_recv_query q = {.want = RDS_RECV_QUERY_NBUFS | RDS_RECV_QUERY_SPAN};
	socklen_t len = sizeof(q);

	if (peer)
		memcpy(&q.peer, peer, sizeof(*peer));
	if (getsockopt(fd, SOL_RDS, RDS_RECV_QUERY, &q, &len))
		fail("RDS_RECV_QUERY");
	return q;
}

static void tell(const char *of, struct rds_recv_query q)
{
	/* The span is more where messages have overtaken each other and one is still missing. */
	printf("of %s: %u messages", of, q.nbufs_allocated);
	if (q.bufs_alloc_span == RDS_RECV_QUERY_UNKNOWN)
		printf("\n");
	else
		printf(", span %u\n", q.bufs_alloc_span);
}

int main(int argc, char **argv)
{
	struct sockaddr_in own = {.sin_family = AF_INET}, peer = {.sin_family = AF_INET};
	socklen_t len = sizeof(own);
	int fd = socket(PF_RDS, SOCK_SEQPACKET, 0);
	char text[16];

	if (argc != 3 || inet_pton(AF_INET, argv[1], &own.sin_addr) != 1 ||
	    inet_pton(AF_INET, argv[2], &peer.sin_addr) != 1) {
		fprintf(stderr, "usage: unread ADDRESS PEER\n");
		return 2;
	}
	if (fd < 0)
		fail("socket(PF_RDS)");
	if (bind(fd, (struct sockaddr *)&own, sizeof(own)) ||
	    getsockname(fd, (struct sockaddr *)&own, &len))
		fail("bind");
	for (int i = 0; i < 2; i++)
		if (sendto(fd, "hello", 5, 0, (struct sockaddr *)&own, len) < 0)
			fail("sendto");
	while (unread(fd, NULL).nbufs_allocated < 2)
		poll(NULL, 0, 1);
	tell("all", unread(fd, NULL));
	tell("the other", unread(fd, &peer));
	if (recv(fd, text, sizeof(text), 0) < 0)
		fail("recv");
	tell("all, after reading one", unread(fd, NULL));
	return 0;
}
