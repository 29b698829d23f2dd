// SPDX-License-Identifier: GPL-2.0
/* Sockets used from inside the kernel, over the loopback transport: vectors, control messages,
 * references on modules. */
#include <linux/net.h>
#include <linux/swap.h>

#include "kunit_rds.h"

#define PORT_A 5001
#define PORT_B 5002

struct pair {
	struct socket *a, *b;
};

static struct sockaddr_in at_port(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				    .sin_port = htons(port)};
}

static struct socket *open_at(struct kunit *test, int port)
{
	struct sockaddr_in sin = at_port(port);
	struct socket *sock = NULL;

	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, PF_RDS, SOCK_SEQPACKET, 0, &sock), 0);
	KUNIT_ASSERT_EQ(test, kernel_bind(sock, (struct sockaddr *)&sin, sizeof(sin)), 0);
	return sock;
}

static int open_pair(struct kunit *test)
{
	struct pair *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	test->priv = p;
	p->a = open_at(test, PORT_A);
	p->b = open_at(test, PORT_B);
	p->b->sk->sk_rcvtimeo = RDS_SOON;
	return 0;
}

static void close_pair(struct kunit *test)
{
	struct pair *p = test->priv;

	if (p && p->a)
		sock_release(p->a);
	if (p && p->b)
		sock_release(p->b);
}

/* Cuts @len bytes into vectors of @cut bytes. */
static int vectors(struct kvec *vec, int most, u8 *bytes, u32 len, u32 cut)
{
	u32 at, n;
	int i = 0;

	for (at = 0; at < len && i < most; at += n) {
		n = min(len - at, cut);
		vec[i++] = (struct kvec){.iov_base = bytes + at, .iov_len = n};
	}
	return i;
}

static int send_in_pieces(struct kunit *test, u8 *bytes, u32 len, u32 cut)
{
	struct pair *p = test->priv;
	struct sockaddr_in to = at_port(PORT_B);
	struct msghdr msg = {.msg_name = &to, .msg_namelen = sizeof(to)};
	static struct kvec vec[1024];

	return kernel_sendmsg(p->a, &msg, vec, vectors(vec, ARRAY_SIZE(vec), bytes, len, cut), len);
}

/* The first message between two sockets arrives later than send() returns. */
static int receive_in_pieces(struct kunit *test, u8 *bytes, u32 len, u32 cut, struct msghdr *msg)
{
	struct pair *p = test->priv;
	static struct kvec vec[1024];

	return kernel_recvmsg(p->b, msg, vec, vectors(vec, ARRAY_SIZE(vec), bytes, len, cut), len,
			      0);
}

static void nothing_there(struct kunit *test)
{
	struct pair *p = test->priv;
	struct kvec vec = {.iov_base = &vec, .iov_len = 1};
	struct msghdr msg = {};

	KUNIT_EXPECT_EQ(test, kernel_recvmsg(p->b, &msg, &vec, 1, 1, MSG_DONTWAIT), -EAGAIN);
}

static void vectors_cut_at_odd_places(struct kunit *test)
{
	static const u32 cuts[] = {1, 13, 1023, 4099, 70001, 1 << 20};
	u8 *bytes = rds_test_bytes(test, 1 << 20), *got = rds_test_bytes(test, 1 << 20);
	int i, s, r;

	for (i = 0; i < rds_test_lengths_n; i++)
		for (s = 0; s < ARRAY_SIZE(cuts); s++)
			for (r = 0; r < ARRAY_SIZE(cuts); r++) {
				u32 len = rds_test_lengths[i];
				struct msghdr msg = {};

				/* SO_SNDBUF is the limit of one message, and 1024 that of vectors.
				 */
				if (len > 65536 || len / min(cuts[s], cuts[r]) >= 1024)
					continue;
				memset(got, 0, len);
				KUNIT_ASSERT_EQ(test, send_in_pieces(test, bytes, len, cuts[s]),
						(int)len);
				KUNIT_ASSERT_EQ(test,
						receive_in_pieces(test, got, len, cuts[r], &msg),
						(int)len);
				KUNIT_ASSERT_EQ(test, memcmp(got, bytes, len), 0);
			}
}

static void a_short_buffer_cuts_the_message(struct kunit *test)
{
	u8 *bytes = rds_test_bytes(test, 10000), *got = kunit_kzalloc(test, 100, GFP_KERNEL);
	struct msghdr msg = {};

	KUNIT_ASSERT_NOT_NULL(test, got);
	KUNIT_ASSERT_EQ(test, send_in_pieces(test, bytes, 10000, 10000), 10000);
	KUNIT_EXPECT_EQ(test, receive_in_pieces(test, got, 100, 7, &msg), 100);
	KUNIT_EXPECT_TRUE(test, msg.msg_flags & MSG_TRUNC);
	KUNIT_EXPECT_EQ(test, memcmp(got, bytes, 100), 0);
	nothing_there(test);
}

/* Room for control messages of every size: all of it or MSG_CTRUNC, never a byte beyond. */
static void control_messages_fit_or_are_cut(struct kunit *test)
{
	struct pair *p = test->priv;
	const size_t whole = CMSG_SPACE(sizeof(struct __kernel_old_timeval));
	u8 byte = 1;
	size_t room;

	sock_enable_timestamps(p->b->sk);
	for (room = 0; room <= whole; room++) {
		u8 *control = kunit_kzalloc(test, room + 1, GFP_KERNEL);
		struct msghdr msg = {.msg_control = control, .msg_controllen = room};

		KUNIT_ASSERT_NOT_NULL(test, control);
		KUNIT_ASSERT_EQ(test, send_in_pieces(test, &byte, 1, 1), 1);
		KUNIT_EXPECT_EQ(test, receive_in_pieces(test, &byte, 1, 1, &msg), 1);
		KUNIT_EXPECT_EQ(test, !!(msg.msg_flags & MSG_CTRUNC),
				room < CMSG_LEN(sizeof(struct __kernel_old_timeval)));
		KUNIT_EXPECT_EQ(test, control[room], 0);
	}
}

static void the_sender_is_named(struct kunit *test)
{
	struct sockaddr_storage from = {};
	struct msghdr msg = {.msg_name = &from, .msg_namelen = sizeof(from)};
	const struct sockaddr_in *sin = (void *)&from;
	u8 byte = 1;

	KUNIT_ASSERT_EQ(test, send_in_pieces(test, &byte, 1, 1), 1);
	KUNIT_EXPECT_EQ(test, receive_in_pieces(test, &byte, 1, 1, &msg), 1);
	KUNIT_EXPECT_EQ(test, msg.msg_namelen, (int)sizeof(*sin));
	KUNIT_EXPECT_EQ(test, sin->sin_family, AF_INET);
	KUNIT_EXPECT_EQ(test, ntohs(sin->sin_port), PORT_A);
	KUNIT_EXPECT_EQ(test, ntohl(sin->sin_addr.s_addr), INADDR_LOOPBACK);
}

/* A user's socket holds the module, a kernel's own does too. */
static void sockets_hold_the_module(struct kunit *test)
{
	struct pair *p = test->priv;
	struct module *rds = p->a->ops->owner;
	struct socket *more[10];
	int before, i;

	KUNIT_ASSERT_NOT_NULL(test, rds);
	KUNIT_EXPECT_STREQ(test, rds->name, "rds");
	rcu_barrier(); /* sockets of the tests before; softirqs may look at them until then */
	before = module_refcount(rds);
	for (i = 0; i < ARRAY_SIZE(more); i++)
		more[i] = open_at(test, 6000 + i);
	KUNIT_EXPECT_GE(test, module_refcount(rds), before + (int)ARRAY_SIZE(more));
	for (i = 0; i < ARRAY_SIZE(more); i++)
		sock_release(more[i]);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, module_refcount(rds), before);
}

/* The limits of all sockets' memory: a quarter, three eighths and a half of what buffers may take,
 * as other families have them. */
static void memory_is_limited(struct kunit *test)
{
	struct pair *p = test->priv;
	const struct proto *proto = p->a->sk->sk_prot;
	long pages = nr_free_buffer_pages();
	int i;

	KUNIT_EXPECT_EQ(test, proto->sysctl_mem[0], pages / 4);
	KUNIT_EXPECT_EQ(test, proto->sysctl_mem[1], pages / 8 * 3);
	KUNIT_EXPECT_EQ(test, proto->sysctl_mem[2], pages / 2);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, proto->sysctl_wmem[i], (int)PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, proto->sysctl_rmem[i], (int)PAGE_SIZE);
	}
}

static struct kunit_case cases[] = {KUNIT_CASE(vectors_cut_at_odd_places),
				    KUNIT_CASE(a_short_buffer_cuts_the_message),
				    KUNIT_CASE(nothing_there),
				    KUNIT_CASE(control_messages_fit_or_are_cut),
				    KUNIT_CASE(the_sender_is_named),
				    KUNIT_CASE(sockets_hold_the_module),
				    KUNIT_CASE(memory_is_limited),
				    {}};

static struct kunit_suite suite = {
	.name = "rds_socket",
	.init = open_pair,
	.exit = close_pair,
	.test_cases = cases,
};
kunit_test_suite(suite);
