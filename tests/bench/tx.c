// SPDX-License-Identifier: GPL-2.0
/* The sending process: warms up, waits for quiet, sends, waits for the echo or for credit. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "perf.h"

static struct end *te;
static struct sockaddr_storage peer;
static socklen_t peerlen;

void credit_wait(void)
{
	char c[64];

	if (recv(te[0].fd, c, sizeof(c), 0) < 0)
		die("credit");
}

/* mainline's RDS refuses MSG_BATCH, which sendmmsg sets: one by one then */
static void send_batch(struct mmsghdr *mm)
{
	int i, r;

	for (i = 0; i < BATCH; i += r) {
		r = sendmmsg(te[0].fd, mm + i, BATCH - i, 0);
		if (r < 0 && errno == EOPNOTSUPP)
			r = sendmsg(te[0].fd, &mm[i].msg_hdr, 0) < 0 ? -1 : 1;
		if (r <= 0)
			die("sendmmsg");
	}
}

static void tx_batch(long n, long first)
{
	static struct mmsghdr mm[BATCH];
	static struct iovec iv[2 * BATCH];
	uint32_t hdr = pc.size, v[2] = {};
	long k;
	int i;

	for (i = 0; i < BATCH; i++) {
		iv[2 * i] = (struct iovec){&hdr, 4};
		iv[2 * i + 1] = (struct iovec){mbuf + i * BATCH_STRIDE, pc.size};
		mm[i].msg_hdr.msg_iov = &iv[2 * i + 1];
		mm[i].msg_hdr.msg_iovlen = 1;
		if (!connected()) {
			mm[i].msg_hdr.msg_name = &peer;
			mm[i].msg_hdr.msg_namelen = peerlen;
		}
	}
	for (k = 0; k < n; k += BATCH) {
		for (i = 0; i < BATCH; i++) {
			v[0] = first + k + i;
			memcpy(mbuf + i * BATCH_STRIDE, v, 8);
		}
		if (pc.fam->kind != TCP)
			send_batch(mm);
		else if (writev(te[0].fd, iv, 2 * BATCH) != (ssize_t)(BATCH * (pc.size + 4)))
			die("writev");
		if (pc.fam->credit && (k + BATCH) % pc.window == 0)
			credit_wait();
	}
}

static void tx_phase(long n, long first)
{
	uint32_t v[2];
	char *p;
	long k;

	if (pc.test->op && !pc.paced) {
		rdma_tx(n, first);
		return;
	}
	if (pc.test->many & GIVES && many_tx(te[0].fd, &peer, peerlen, n, first))
		return;
	if (pc.test->batch > 1) {
		tx_batch(n, first);
		return;
	}
	for (k = 0; k < n; k++) {
		v[0] = (first + k) / pc.nsend;
		v[1] = k % pc.nsend;
		memcpy(mbuf, v, 8);
		if (pc.paced && first)
			pace_wait(k);
		tx_raw(te[v[1]].fd, connected() ? NULL : &peer, connected() ? 0 : peerlen, mbuf,
		       pc.size);
		if (pc.lat) {
			if (pc.fam->kind == TCP)
				tcp_frame(&te[0], &p);
			else if (recv(te[0].fd, mbuf, MBUF, 0) != (ssize_t)pc.size)
				die("echo");
			if (pc.paced && first)
				pace_note(k);
		} else if (pc.fam->credit && (k + 1) % pc.window == 0) {
			credit_wait();
		}
	}
}

void sender(long warm, long n)
{
	struct sockaddr_storage a;
	int i;

	enter(0);
	await(pc.r2s[0]);
	peerlen = addr_of(&peer, 0, sh->port);
	te = calloc(pc.nsend, sizeof(*te));
	for (i = 0; i < pc.nsend; i++) {
		end_init(&te[i], open_sock());
		if (!connected() && bind(te[i].fd, (void *)&a, addr_of(&a, 1, sh->port + 1 + i)))
			die("bind sender");
		if (connected() && connect(te[i].fd, (void *)&peer, peerlen))
			die("connect");
	}
	if (pc.test->op && !pc.paced)
		rdma_open(te[0].fd, 1);
	tx_phase(warm, 0);
	await(pc.r2s[0]);
	usleep(QUIET_US);
	if (pc.fam->topo == PEER)
		await(pc.r2s[0]);
	clock_begin();
	tx_phase(n, warm);
	await(pc.r2s[0]);
	if (pc.paced)
		pace_sum(n);
	if (pc.fam->topo == PEER)
		clock_end();
	if (pc.test->op && !pc.paced)
		rdma_close();
	tell(pc.s2r[1]);
	_exit(0);
}
