// SPDX-License-Identifier: GPL-2.0
#include "options_core.h"

#include <cstdlib>
#include <cstring>

using fuzz::must;

std::unique_ptr<std::vector<char>> user;
std::set<uint64_t> regions;
bool is_admin;
unsigned int n_conns;
struct reset last_reset;

bool in_user_memory(const void *p, size_t n)
{
	auto at = reinterpret_cast<uintptr_t>(p);
	auto from = reinterpret_cast<uintptr_t>(user->data());

	return at >= from && n <= user->size() && at - from <= user->size() - n;
}

extern "C" {

unsigned long copy_from_user(void *to, const void *from, unsigned long n)
{
	if (!in_user_memory(from, n))
		return n;
	memcpy(to, from, n);
	return 0;
}

unsigned long copy_to_user(void *to, const void *from, unsigned long n)
{
	if (!in_user_memory(to, n))
		return n;
	memcpy(to, from, n);
	return 0;
}

void *memdup_user(const void *from, size_t n)
{
	if (!in_user_memory(from, n))
		return reinterpret_cast<void *>(intptr_t{-EFAULT});

	void *p = malloc(n);

	memcpy(p, from, n);
	return p;
}

void kfree(const void *p)
{
	free(const_cast<void *>(p));
}

void lock_sock(struct sock *sk)
{
	must(!sk->locked++, "a socket is locked once");
}

void release_sock(struct sock *sk)
{
	must(!--sk->locked, "a socket that is unlocked was locked");
}

struct net *sock_net(const struct sock *)
{
	static struct net net;

	return &net;
}

bool ns_capable(struct user_namespace *, int cap)
{
	must(cap == CAP_NET_ADMIN, "the right that is asked for");
	return is_admin;
}

struct rds_net *rds_net_of(struct net *)
{
	return nullptr;
}

unsigned int rds_net_reset(struct rds_net *, const struct rds_addr *laddr,
			   const struct rds_addr *faddr, unsigned char tos)
{
	last_reset = {*laddr, *faddr, tos};
	return n_conns;
}

int rds_recv_lock(struct rds_socket *s)
{
	must(!s->reading, "nobody waits for itself");
	s->reading = true;
	return 0;
}

void rds_recv_unlock(struct rds_socket *s)
{
	s->reading = false;
}

void rds_socket_fill(const struct rds_socket *s, struct rds_socket_fill *out)
{
	memset(out, 0, sizeof(*out));
	out->unread = s->unread;
}

int put_cmsg(struct msghdr *m, int level, int type, int len, void *data)
{
	size_t space = CMSG_SPACE(static_cast<size_t>(len));
	struct cmsghdr c = {CMSG_LEN(static_cast<size_t>(len)), level, type};

	if (m->msg_controllen < space) {
		m->msg_flags |= MSG_CTRUNC;
		return 0;
	}
	memcpy(m->msg_control, &c, sizeof(c));
	memcpy(static_cast<char *>(m->msg_control) + sizeof(c), data, static_cast<size_t>(len));
	m->msg_control = static_cast<char *>(m->msg_control) + space;
	m->msg_controllen -= space;
	return 0;
}

uint64_t rds_now_ns(void)
{
	return 1000;
}

int rds_socket_bound(const struct rds_socket *s, struct rds_endpoint *ep)
{
	memset(ep, 0, sizeof(*ep));
	return s->bound;
}

void rds_socket_cancel(struct rds_socket *s, const struct rds_endpoint *to)
{
	s->cancelled = true;
	s->cancelled_to = to ? *to : rds_endpoint{};
}

void rds_socket_set_recverr(struct rds_socket *s, int on)
{
	s->recverr = on;
}

int rds_socket_recverr(const struct rds_socket *s)
{
	return s->recverr;
}

int rds_socket_set_order(struct rds_socket *s, uint32_t order)
{
	if (order > RDS_ORDER_UNORDERED)
		return -EINVAL;
	s->order = order;
	return 0;
}

uint32_t rds_socket_order(const struct rds_socket *s)
{
	return s->order;
}

int rds_batch_set(struct sock *sk, int most)
{
	if (most < 0 || most > RDS_MAX_SEGMENTS)
		return -EINVAL;
	rds_core(sk)->batch = most;
	return 0;
}

int rds_batch_get(const struct sock *sk)
{
	return rds_core(sk)->batch;
}

int rds_msg_set_order(struct rds_socket *, struct rds_msg *m, uint32_t order)
{
	must(order <= RDS_ORDER_UNORDERED, "what is wrong was refused before");
	m->order = order;
	return 0;
}

void rds_socket_set_cong_monitor(struct rds_socket *s, int on, uint64_t mask)
{
	s->monitor = on;
	s->mask = mask;
}

void rds_socket_cong_monitor(const struct rds_socket *s, int *on, uint64_t *mask)
{
	*on = s->monitor;
	*mask = s->mask;
}

int rds_socket_recv_query(struct rds_socket *s, const struct rds_endpoint *peer,
			  struct rds_recv_counts *out)
{
	if (!s->bound)
		return -ENOTCONN;
	s->asked = true;
	s->asked_of_one = peer;
	*out = s->held;
	return 0;
}

/* address.c's, as far as families go. */
enum rds_name_fault rds_parse_name(const void *name, int len, struct rds_endpoint *ep)
{
	sa_family_t family;

	must(len == 128, "all of the address");
	memset(ep, 0, sizeof(*ep));
	memcpy(&family, name, sizeof(family));
	return family == AF_INET || family == AF_INET6 ? RDS_NAME_GOOD : RDS_NAME_FAMILY;
}

unsigned int rds_socket_caps(const struct rds_socket *s)
{
	return s->rdma ? RDS_CAP_RDMA : 0;
}

int rds_mr_get(struct rds_socket *s, const struct rds_iov *, uint64_t, uint64_t *cookie)
{
	if (!s->bound || !s->rdma)
		return s->bound ? -EOPNOTSUPP : -ENOTCONN;
	*cookie = regions.empty() ? 1 : *regions.rbegin() + 1;
	regions.insert(*cookie);
	return 0;
}

int rds_mr_free(struct rds_socket *s, uint64_t cookie, uint64_t)
{
	return cookie ? (regions.erase(cookie) ? 0 : -EINVAL) : s->rdma ? 0 : -EINVAL;
}

int rds_msg_set_op(struct rds_socket *, struct rds_msg *m, const struct rds_op_args *a)
{
	uint64_t sum = 0;

	must(a->n_local && a->n_local <= 1024 && a->remote_bytes <= 1 << 20, "in bounds");
	for (unsigned int i = 0; i < a->n_local; i++)
		sum += a->local[i].addr ^ a->local[i].bytes;
	must(!m->op, "one operation");
	m->op = true;
	return sum % 7 ? 0 : -ENOMEM;
}

int rds_msg_set_cookie(struct rds_socket *, struct rds_msg *m, uint64_t cookie)
{
	if (m->cookie || !regions.count(cookie))
		return -EINVAL;
	m->cookie = cookie;
	return 0;
}

int rds_socket_transport(const struct rds_socket *s)
{
	return s->transport;
}

int rds_socket_set_transport(struct rds_socket *s, unsigned int type)
{
	must(s->transport < 0 && type < RDS_TRANS_COUNT, "only what can be set is set");
	s->transport = static_cast<int>(type);
	return 0;
}

void rds_socket_set_trace(struct rds_socket *s, int on)
{
	s->tracing = on;
}

unsigned int rds_socket_zcopy(struct rds_socket *s, uint32_t *cookies, unsigned int max)
{
	unsigned int n = std::min(s->n_cookies, max);

	memcpy(cookies, s->cookies, n * sizeof(*cookies));
	return n;
}

int rds_info_getsockopt(struct sock *, int, char *, int *, int)
{
	return -ENOSPC; /* rds_info.c copies under locks: the virtual machine's tests */
}

} // extern "C"
