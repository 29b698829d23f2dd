// SPDX-License-Identifier: GPL-2.0
/* The end of a socket, and errors that wait on it. */
#include <linux/net.h>
#include <net/sock.h>

#include "kunit_rds.h"

static struct socket *open_one(struct kunit *test)
{
	struct socket *sock = NULL;

	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, PF_RDS, SOCK_SEQPACKET, 0, &sock), 0);
	return sock;
}

/* Nothing leads from one half to the other, and a second close finds nothing to do. */
static void both_halves_are_let_go(struct kunit *test)
{
	struct socket *sock = open_one(test);
	struct sock *sk = sock->sk;

	KUNIT_EXPECT_TRUE(test, sock_flag(sk, SOCK_RCU_FREE));
	sock_hold(sk);
	KUNIT_EXPECT_EQ(test, sock->ops->release(sock), 0);
	KUNIT_EXPECT_NULL(test, sock->sk);
	KUNIT_EXPECT_TRUE(test, sock_flag(sk, SOCK_DEAD));
	KUNIT_EXPECT_NULL(test, sk->sk_socket);
	KUNIT_EXPECT_EQ(test, refcount_read(&sk->sk_refcnt), 1);
	sock_put(sk);
	KUNIT_EXPECT_EQ(test, sock->ops->release(sock), 0);
	sock_release(sock);
}

static struct sk_buff *queue_error(struct kunit *test, struct sock *sk)
{
	struct sk_buff *skb = alloc_skb(100, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_queue_tail(&sk->sk_error_queue, skb_get(skb));
	return skb;
}

static void errors_go_with_it(struct kunit *test)
{
	struct socket *sock = open_one(test);
	struct sk_buff *skb = queue_error(test, sock->sk);

	sock_release(sock);
	KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1);
	kfree_skb(skb);
}

static bool polls_error(struct socket *sock)
{
	return sock->ops->poll(NULL, sock, NULL) & EPOLLERR;
}

static void errors_are_polled(struct kunit *test)
{
	struct socket *sock = open_one(test);
	struct sk_buff *skb;

	KUNIT_EXPECT_FALSE(test, polls_error(sock));
	skb = queue_error(test, sock->sk);
	KUNIT_EXPECT_TRUE(test, polls_error(sock));
	skb_queue_purge(&sock->sk->sk_error_queue);
	kfree_skb(skb);
	KUNIT_EXPECT_FALSE(test, polls_error(sock));
	sock->sk->sk_err = ECONNRESET;
	KUNIT_EXPECT_TRUE(test, polls_error(sock));
	KUNIT_EXPECT_EQ(test, sock_error(sock->sk), -ECONNRESET);
	KUNIT_EXPECT_FALSE(test, polls_error(sock));
	sock_release(sock);
}

/* The pages of all sockets; this processor's part is not in the sum yet. */
static long pages_of(const struct proto *proto)
{
	return atomic_long_read(proto->memory_allocated) + this_cpu_read(*proto->per_cpu_fw_alloc);
}

static void reserved_memory_goes_with_it(struct kunit *test)
{
	struct socket *sock = open_one(test);
	const struct proto *proto = sock->sk->sk_prot;
	long before = pages_of(proto);

	sock->sk->sk_reserved_mem = 2 * PAGE_SIZE; /* as SO_RESERVE_MEM does it in a cgroup */
	sock->sk->sk_forward_alloc += 2 * PAGE_SIZE;
	this_cpu_add(*proto->per_cpu_fw_alloc, 2);
	KUNIT_EXPECT_EQ(test, pages_of(proto), before + 2);
	sock_release(sock);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, pages_of(proto), before);
}

static struct kunit_case cases[] = {KUNIT_CASE(both_halves_are_let_go),
				    KUNIT_CASE(errors_go_with_it),
				    KUNIT_CASE(errors_are_polled),
				    KUNIT_CASE(reserved_memory_goes_with_it),
				    {}};

static struct kunit_suite suite = {.name = "rds_closing", .test_cases = cases};
kunit_test_suite(suite);
