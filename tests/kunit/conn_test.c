// SPDX-License-Identifier: GPL-2.0
/*
 * A connection over TCP, looked at from inside: how its socket is set up, how it is counted what
 * the peer has, and what is left of it when it ends.  The case that loads this module has made the
 * interface "cable", and a host at the other end of it (tests/kernel/facts.py).
 */
#include <linux/in.h>
#include <net/addrconf.h>
#include <net/inet_hashtables.h>

#include "kunit_rds.h"
#include "transports/tcp/tcp_linux.h"

#define HERE 0x0a080001
#define THERE 0x0a080002
#define PORT 5003
#define FIRST_LEN 100 /* bytes of the message that has the connection made */

struct conn {
	struct socket *rds;
	struct sock *sk; /* the TCP connection, that this host has called */
	struct rds_tcp_path *tp;
};

static struct sockaddr_in at(u32 addr, int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(addr), .sin_port = htons(port)};
}

/* The established connection from this host to RDS at the other one, with a reference. */
static struct sock *find_connection(void)
{
	struct hlist_nulls_node *node;
	struct sock *sk, *found = NULL;
	unsigned int i;

	for (i = 0; i <= tcp_hashinfo.ehash_mask && !found; i++) {
		spin_lock_bh(inet_ehash_lockp(&tcp_hashinfo, i));
		sk_nulls_for_each(
			sk, node,
			&tcp_hashinfo.ehash[i].chain) if (net_eq(sock_net(sk), &init_net) &&
							  sk->sk_state == TCP_ESTABLISHED &&
							  sk->sk_dport == htons(RDS_TCP_PORT) &&
							  sk->sk_user_data) found = sk;
		if (found)
			sock_hold(found);
		spin_unlock_bh(inet_ehash_lockp(&tcp_hashinfo, i));
	}
	return found;
}

/* Until it is there, for as long as that may take. */
static struct sock *await_connection(void)
{
	unsigned long until = jiffies + RDS_SOON / 2;
	struct sock *sk;

	while (!(sk = find_connection()) && time_before(jiffies, until))
		schedule_timeout_uninterruptible(1);
	return sk;
}

/* @n messages of @len bytes; nobody there waits for them. */
static void say(struct kunit *test, u32 n, u32 len)
{
	struct conn *c = test->priv;
	struct sockaddr_in to = at(THERE, 4000);
	u8 *bytes = rds_test_bytes(test, len);

	while (n--) {
		struct msghdr msg = {.msg_name = &to, .msg_namelen = sizeof(to)};
		struct kvec vec = {.iov_base = bytes, .iov_len = len};

		KUNIT_ASSERT_EQ(test, kernel_sendmsg(c->rds, &msg, &vec, 1, len), (int)len);
	}
}

static int open_conn(struct kunit *test)
{
	struct conn *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct sockaddr_in sin = at(HERE, PORT);

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, PF_RDS, SOCK_SEQPACKET, 0, &c->rds), 0);
	KUNIT_ASSERT_EQ(test, kernel_bind(c->rds, (struct sockaddr *)&sin, sizeof(sin)), 0);
	say(test, 1, FIRST_LEN);
	c->sk = await_connection();
	KUNIT_ASSERT_NOT_NULL(test, c->sk);
	c->tp = c->sk->sk_user_data;
	return 0;
}

static void close_conn(struct kunit *test)
{
	struct conn *c = test->priv;

	if (c && c->sk)
		sock_put(c->sk);
	if (c && c->rds)
		sock_release(c->rds);
}

static void how_it_is_set_up(struct kunit *test)
{
	struct conn *c = test->priv;
	const struct tcp_sock *tcp = tcp_sk(c->sk);

	KUNIT_EXPECT_TRUE(test, tcp->nonagle & TCP_NAGLE_OFF);
	KUNIT_EXPECT_TRUE(test, sock_flag(c->sk, SOCK_KEEPOPEN));
	KUNIT_EXPECT_EQ(test, (int)tcp->keepalive_time, 5 * HZ);
	KUNIT_EXPECT_EQ(test, (int)tcp->keepalive_intvl, 5 * HZ);
	KUNIT_EXPECT_EQ(test, (int)tcp->keepalive_probes, 5);
	KUNIT_EXPECT_EQ(test, (int)inet_csk(c->sk)->icsk_user_timeout, 30000);
	KUNIT_EXPECT_EQ(test, (int)c->sk->sk_allocation, (int)GFP_NOFS);
	KUNIT_EXPECT_EQ(test, (int)c->sk->sk_reuse, SK_CAN_REUSE);
	KUNIT_EXPECT_FALSE(test, c->sk->sk_userlocks & (SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK));
}

/* Has TCP got @sent bytes, which may be before RDS knows that it is connected?  Has it all
 * acknowledged, and does it know that nobody waits for that any more?  The peer's RDS has told the
 * core before, so that the transport need not hear of it. */
static bool is_quiet(struct conn *c, u64 sent)
{
	bool quiet;

	lock_sock(c->sk);
	quiet = c->tp->sent >= sent && tcp_rtx_and_write_queues_empty(c->sk) &&
		!test_bit(SOCK_NOSPACE, &c->tp->sock->flags);
	release_sock(c->sk);
	return quiet;
}

static void await_quiet(struct kunit *test, u64 sent)
{
	unsigned long until = jiffies + RDS_SOON / 4;
	bool quiet;

	while (!(quiet = is_quiet(test->priv, sent)) && time_before(jiffies, until))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_TRUE(test, quiet);
}

/* Bytes that TCP took, and those that the peer has, are what TCP itself says: the latter when the
 * next are sent. */
static void acks_are_counted(struct kunit *test)
{
	static const u32 lengths[] = {100, 3000, 9000, 60000};
	struct conn *c = test->priv;
	int i;

	await_quiet(test, FIRST_LEN + RDS_HEADER_BYTES);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		u64 sent = c->tp->sent;

		say(test, 3, lengths[i]);
		lock_sock(c->sk);
		KUNIT_EXPECT_EQ(test, (u32)(c->tp->una + c->tp->sent - c->tp->acked),
				tcp_sk(c->sk)->write_seq);
		release_sock(c->sk);
		await_quiet(test, sent + 3 * (lengths[i] + RDS_HEADER_BYTES));
		lock_sock(c->sk);
		KUNIT_EXPECT_GE(test, c->tp->acked, sent);
		KUNIT_EXPECT_FALSE(test, c->tp->blocked);
		release_sock(c->sk);
	}
}

/* The transport's answers to the core about it. */
static void its_state(struct kunit *test)
{
	struct conn *c = test->priv;
	const struct rds_transport *trans = rds_path_transport(c->tp->path);

	await_quiet(test, FIRST_LEN + RDS_HEADER_BYTES);
	KUNIT_EXPECT_STREQ(test, trans->name, "tcp");
	KUNIT_EXPECT_TRUE(test, trans->initiates(c->tp));
	KUNIT_EXPECT_FALSE(test, trans->ended(c->tp));
	KUNIT_EXPECT_FALSE(test, trans->midway(c->tp));
	KUNIT_EXPECT_EQ(test, (int)c->tp->phase, RDS_TCP_OPEN);
}

static void the_kernel_has_its_callbacks_back(struct kunit *test)
{
	struct conn *c = test->priv;
	unsigned long until = jiffies + RDS_SOON;
	struct socket *plain = NULL;

	KUNIT_ASSERT_EQ(test,
			sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP, &plain), 0);
	KUNIT_EXPECT_PTR_NE(test, c->sk->sk_data_ready, plain->sk->sk_data_ready);
	rds_path_drop(c->tp->path, RDS_DROP_ADMIN);
	while (READ_ONCE(c->sk->sk_socket) && time_before(jiffies, until))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_NULL(test, c->sk->sk_user_data);
	KUNIT_EXPECT_PTR_EQ(test, c->sk->sk_data_ready, plain->sk->sk_data_ready);
	KUNIT_EXPECT_PTR_EQ(test, c->sk->sk_state_change, plain->sk->sk_state_change);
	KUNIT_EXPECT_PTR_EQ(test, c->sk->sk_write_space, plain->sk->sk_write_space);
	KUNIT_EXPECT_TRUE(test, sock_flag(c->sk, SOCK_LINGER));
	KUNIT_EXPECT_EQ(test, (int)c->sk->sk_lingertime, 0);
	sock_release(plain);
}

/* Which addresses are this host's, of which interface, as the transport sees it. */
static void which_addresses_are_ours(struct kunit *test)
{
	struct conn *c = test->priv;
	struct rds_path *path = c->tp->path;
	const struct rds_transport *trans = rds_path_transport(path);
	struct net_device *cable = dev_get_by_name(&init_net, "cable");
	struct in6_addr own = {.s6_addr = {0xfd, 0, 0, 8, [15] = 1}};
	struct in6_addr other = {.s6_addr = {0xfd, 0, 0, 8, [15] = 2}};
	struct rds_addr a;
	struct {
		struct rds_addr addr;
		u32 scope;
		int want;
	} rows[] = {{rds_addr_from_v4(htonl(HERE)), 0, 0},
		    {rds_addr_from_v4(htonl(INADDR_LOOPBACK)), 0, 0},
		    {rds_addr_from_v4(htonl(THERE)), 0, -EADDRNOTAVAIL},
		    {rds_addr_from_v4(htonl(HERE | 0xff)), 0, -EADDRNOTAVAIL},
		    {rds_addr_from_v4(htonl(0xe0000001)), 0, -EADDRNOTAVAIL},
		    {rds_addr_from_in6(&own), 0, 0},
		    {rds_addr_from_in6(&own), cable ? cable->ifindex : 0, 0},
		    {rds_addr_from_in6(&own), 1, 0}, /* of another interface: the host is one */
		    {rds_addr_from_in6(&own), 4711, -EADDRNOTAVAIL},
		    {rds_addr_from_in6(&other), 0, -EADDRNOTAVAIL}};
	int i;

	KUNIT_ASSERT_NOT_NULL(test, cable);
	dev_put(cable);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		a = rows[i].addr;
		if (trans->laddr_check(rds_path_os_net(path), &a, rows[i].scope) != rows[i].want)
			KUNIT_FAIL(test, "row %d is not %d", i, rows[i].want);
	}
}

static struct kunit_case cases[] = {KUNIT_CASE(how_it_is_set_up),
				    KUNIT_CASE(acks_are_counted),
				    KUNIT_CASE(its_state),
				    KUNIT_CASE(which_addresses_are_ours),
				    KUNIT_CASE(the_kernel_has_its_callbacks_back),
				    {}};

static struct kunit_suite suite = {
	.name = "rds_conn",
	.init = open_conn,
	.exit = close_conn,
	.test_cases = cases,
};
kunit_test_suite(suite);
