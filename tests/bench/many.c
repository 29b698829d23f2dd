// SPDX-License-Identifier: GPL-2.0
/* Many datagrams a call, of RDS that has them: RDS_CMSG_SEGMENT and RDS_RECV_BATCH. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include "perf.h"

#define SOL_RDS 276
#define RECV_BATCH 66
#define CMSG_SEGMENT 129

/* BATCH of them from @first on in one call.  False: this RDS has none of that. */
static int send_many(int fd, const struct sockaddr_storage *to, socklen_t tolen, long first)
{
	char control[CMSG_SPACE(4)] = {};
	struct iovec v = {mbuf, BATCH * pc.size};
	struct msghdr m = {.msg_name = (void *)to,
			   .msg_namelen = tolen,
			   .msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	uint32_t size = pc.size, head[2] = {};
	int i;

	for (i = 0; i < BATCH; i++) {
		head[0] = first + i;
		memcpy(mbuf + i * pc.size, head, 8);
	}
	c->cmsg_level = SOL_RDS;
	c->cmsg_type = CMSG_SEGMENT;
	c->cmsg_len = CMSG_LEN(4);
	memcpy(CMSG_DATA(c), &size, 4);
	if (sendmsg(fd, &m, 0) == (ssize_t)v.iov_len)
		return 1;
	if (errno != EINVAL)
		die("many of them");
	return 0;
}

int many_tx(int fd, const struct sockaddr_storage *to, socklen_t tolen, long n, long first)
{
	long k;

	if (pc.fam->kind != RDS)
		return 0;
	for (k = 0; k < n; k += BATCH) {
		if (!send_many(fd, to, tolen, first + k))
			return 0;
		if (pc.fam->credit && (k + BATCH) % pc.window == 0)
			credit_wait();
	}
	return 1;
}

int many_rx(int fd, struct sockaddr_storage *from, socklen_t *fromlen, long n)
{
	char control[CMSG_SPACE(4 * BATCH)];
	int most = BATCH;
	long k = 0;

	if (pc.fam->kind != RDS || setsockopt(fd, SOL_RDS, RECV_BATCH, &most, sizeof(most)))
		return 0;
	while (k < n) {
		struct iovec v = {mbuf, BATCH * BATCH_STRIDE};
		struct msghdr m = {.msg_name = from,
				   .msg_namelen = sizeof(*from),
				   .msg_iov = &v,
				   .msg_iovlen = 1,
				   .msg_control = control,
				   .msg_controllen = sizeof(control)};
		struct cmsghdr *c;
		const char *at = mbuf;
		const uint32_t *size;
		int i, count;

		if (recvmsg(fd, &m, 0) < 0)
			die("recv many");
		*fromlen = m.msg_namelen;
		c = CMSG_FIRSTHDR(&m);
		size = (const uint32_t *)CMSG_DATA(c);
		count = (c->cmsg_len - CMSG_LEN(0)) / 4;
		for (i = 0; i < count; at += size[i++]) {
			rx_check(at, size[i]);
			k++;
			if (pc.fam->credit && k % pc.window == 0)
				rx_credit();
		}
	}
	return 1;
}
