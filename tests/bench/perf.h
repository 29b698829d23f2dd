/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rdsperf: what one message costs, for RDS and for what else could carry it.
 *
 * Each case forks a sender and a receiver. They warm the connection up, both go quiet, then the
 * clock runs from just before the first send to just after the last receive, so that everything
 * spent on the messages is inside. Under `qemu -icount shift=0,sleep=off` one nanosecond of the
 * guest's clock is one guest instruction or one nanosecond of idle time; the idle part is read from
 * /proc/timer_list and reported apart.
 *
 * With a peer the ends are on two machines: each counts from before the first message to after the
 * last one, and the figure is the sum.
 *
 * Boundaries, order and loss are checked in every case.
 */
#ifndef RDSPERF_H
#define RDSPERF_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifndef AF_RDS
#define AF_RDS 21
#endif

/* Long no-ops that icprof.c recognises: what is counted is what runs between them. */
#define MARK(n)                                                                                    \
	__asm__ volatile(".byte 0x66,0x2e,0x0f,0x1f,0x84,0," #n ",0x53,0x44,0x52" ::: "memory")
#define MARK_BEGIN() MARK(1)
#define MARK_END() MARK(2)

enum kind { RDS, TCP, UNIX };
enum topo {
	LO,	 /* 127.0.0.1 */
	SELF,	 /* the node's own interface address */
	VETH,	 /* two network namespaces joined by a veth pair */
	NEAR,	 /* two addresses of one machine's soft-RoCE */
	THROUGH, /* the same, with modules that take no shorter way (counted.py) */
	PEER,	 /* two machines, each of which runs one end and counts for itself */
};

struct family {
	const char *name;
	enum kind kind;
	enum topo topo;
	int credit; /* nothing but the program holds the sender back (mainline's loop on 127/8) */
};

/* The mover of a test's data: messages, or operations on the peer's memory (rdma.c). */
enum op { NONE, WRITE, READ, MAP, VISIT, PACED };

struct test {
	const char *name;
	int senders;
	int batch; /* messages per sendmmsg, recvmmsg or writev */
	size_t size[6];
	enum op op;
	enum { TAKES = 1, GIVES = 2 } many; /* a call: the receiver, the sender */
};

#define BATCH 32
#define BATCH_STRIDE 16384
#define MBUF (2u << 20)
#define TCPBUF 65536
/* Delayed acks and deferred work of the warm-up have come to an end. */
#define QUIET_US 300000

/* Shared by the parent, the sender and the receiver of a case. */
struct shared {
	volatile uint64_t t0, idle0, t1, idle1, bad;
	/* visit.c: and to how many of them the port was open. */
	volatile uint64_t visits, open, visits0, visits1, open0, open1;
	volatile uint64_t ready, rounds, p50, p99, most; /* witness.c */
	int port;
	char err[160];
};

/* The case that runs now; set before the fork, read-only after it. */
struct perf_case {
	const struct family *fam;
	const struct test *test;
	size_t size;
	int nsend;
	int window; /* messages per credit */
	int lat;    /* ping-pong: every message is echoed */
	int paced;  /* and the next one is sent at its time */
	int r2s[2],
		s2r[2]; /* pipes by which the two tell each other to go on; PEER: one TCP socket */
};

/* One end of a connection, or a datagram socket. */
struct end {
	int fd;
	char *buf; /* TCP: bytes read, frames not yet taken */
	size_t beg, fill;
};

extern struct perf_case pc;
extern struct shared *sh;
extern char *mbuf;
extern int ns_a, ns_b;

/* sock.c */
void clock_begin(void);
void clock_end(void);
void die(const char *what) __attribute__((noreturn));
void tell(int fd);
void await(int fd);
void enter(int receiver);
void buffers(int fd);
int open_sock(void);
int connected(void);
socklen_t addr_of(struct sockaddr_storage *ss, int sender, int port);
void tx_raw(int fd, const struct sockaddr_storage *to, socklen_t tolen, const char *b, size_t len);
size_t tcp_frame(struct end *e, char **p);
void end_init(struct end *e, int fd);

/* rx.c, tx.c: the two processes of a case */
void receiver(long warm, long n) __attribute__((noreturn));
void sender(long warm, long n) __attribute__((noreturn));

/* of those, also for many.c */
void credit_wait(void);
void rx_check(const char *p, size_t got);
void rx_credit(void);

/* many.c: @n messages, many a call.  0: this RDS, or what is beside it, has no such calls. */
int many_tx(int fd, const struct sockaddr_storage *to, socklen_t tolen, long n, long first);
int many_rx(int fd, struct sockaddr_storage *from, socklen_t *fromlen, long n);

/* rdma.c: @fd's end of a case of operations, from the first message to the last. */
void rdma_open(int fd, int sender);
void rdma_tx(long n, long first);
void rdma_rx(long n, long first);
void rdma_close(void);

/* visit.c: @n strangers, one after the other; the same without end; whom they visit. */
int visit_setup(void);
void visitor(long warm, long n) __attribute__((noreturn));
void visitor_beside(long warm, long n) __attribute__((noreturn));
void visited(long warm, long n) __attribute__((noreturn));

/* witness.c: its pings, each from when it was due. */
void pace_wait(long k);
void pace_note(long k);
void pace_sum(long n);

/* neighbour.c: the users beside it. */
const char *neighbour_name(unsigned int i);
pid_t neighbour_crowd(void);
pid_t neighbour_begin(void);
void neighbour_end(pid_t p);

/* net.c */
struct request {
	struct nlmsghdr h;
	char d[1024];
};
struct rtattr *attr(struct request *b, int type, const void *d, int len);
int talk(int protocol, struct request *b);
int if_up(const char *dev, const char *ip);
int write_file(const char *path, const char *v);
int large_buffers(void);
/* namespaces A and B, va 10.9.0.1 <-> vb 10.9.0.2; 0 or -1 */
int net_setup(void);
/* keys.c: once the namespaces are there */
int keys_setup(const char *method);

/* peer.c: soft-RoCE; @role: this is machine 'a' (10.9.0.1) or 'b' (10.9.0.2), or both ('s'); 0, -1
 */
int ib_setup(char role);
/* A TCP connection to the other machine, one for each case, or -1. */
int peer_meet(void);

#endif
