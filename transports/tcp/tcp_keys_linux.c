// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_keys_linux.c: keys of TCP's sockets, by their options.
 *
 * The kernel takes the options from a module as it does from a program.  What is on the stack here
 * has a key in it, and is wiped.
 */
#include "../../net/linux/compat.h"
#include "tcp_keys_linux.h"
#include "tcp_linux.h"

static const char *const rds_tcp_algs[] = {
	[RDS_PEERS_HMAC_SHA256] = "hmac(sha256)",
	[RDS_PEERS_HMAC_SHA1] = "hmac(sha1)",
	[RDS_PEERS_CMAC_AES128] = "cmac(aes128)",
};

/* The prefix as the options of @sock want it; false: there is no IPv6 here. */
static bool rds_tcp_key_prefix(const struct socket *sock, const struct rds_addr *addr, u8 len,
			       void *storage, u8 *prefixlen)
{
	struct sockaddr_storage *ss = storage;
	bool v4 = rds_addr_is_v4(addr);

	*prefixlen = v4 ? len - 96 : len;
	if (sock->sk->sk_family == AF_INET6) {
		/* IPv4 stays mapped here. */
		((struct sockaddr_in6 *)ss)->sin6_family = AF_INET6;
		((struct sockaddr_in6 *)ss)->sin6_addr = rds_addr_in6(addr);
	} else if (v4) {
		rds_sockaddr(ss, addr, 0, 0);
	} else {
		return false;
	}
	return true;
}

static int rds_tcp_key_option(struct socket *sock, int option, void *value, unsigned int size)
{
	int err = sock->ops->setsockopt(sock, SOL_TCP, option, KERNEL_SOCKPTR(value), size);

	memzero_explicit(value, size);
	return err;
}

/* ---- TCP-MD5 ---- */

/* No length takes it back. */
static int rds_tcp_md5(struct socket *sock, const struct rds_addr *addr, u8 len, const u8 *key,
		       u8 key_len)
{
	struct tcp_md5sig md5 = {
		.tcpm_flags = TCP_MD5SIG_FLAG_PREFIX,
		.tcpm_keylen = key_len,
	};

	if (!rds_tcp_key_prefix(sock, addr, len, &md5.tcpm_addr, &md5.tcpm_prefixlen))
		return 0;
	memcpy(md5.tcpm_key, key, key_len);
	return rds_tcp_key_option(sock, TCP_MD5SIG_EXT, &md5, sizeof(md5));
}

/* ---- TCP-AO ---- */

static int rds_tcp_ao_add(struct socket *sock, const struct rds_addr *addr, u8 len,
			  const struct rds_peer_key *key)
{
	struct tcp_ao_add ao = {
		.sndid = key->sndid,
		.rcvid = key->rcvid,
		.keylen = key->len,
	};

	if (!rds_tcp_key_prefix(sock, addr, len, &ao.addr, &ao.prefix))
		return 0;
	strscpy(ao.alg_name, rds_tcp_algs[key->alg], sizeof(ao.alg_name));
	memcpy(ao.key, key->bytes, key->len);
	return rds_tcp_key_option(sock, TCP_AO_ADD_KEY, &ao, sizeof(ao));
}

static int rds_tcp_ao_del(struct socket *sock, const struct rds_addr *addr, u8 len,
			  const struct rds_peer_key *key)
{
	struct tcp_ao_del ao = {
		.sndid = key->sndid,
		.rcvid = key->rcvid,
		/* A listener signs nothing itself: there is nobody to wait for. */
		.del_async = inet_sk_state_load(sock->sk) == TCP_LISTEN,
	};

	if (!rds_tcp_key_prefix(sock, addr, len, &ao.addr, &ao.prefix))
		return 0;
	return rds_tcp_key_option(sock, TCP_AO_DEL_KEY, &ao, sizeof(ao));
}

/* ---- either ---- */

int rds_tcp_key_add(struct socket *sock, const struct rds_addr *addr, u8 len,
		    const struct rds_peer_key *key)
{
	return key->method == RDS_PEERS_TCP_AO ? rds_tcp_ao_add(sock, addr, len, key)
					       : rds_tcp_md5(sock, addr, len, key->bytes, key->len);
}

int rds_tcp_key_del(struct socket *sock, const struct rds_addr *addr, u8 len,
		    const struct rds_peer_key *key)
{
	return key->method == RDS_PEERS_TCP_AO ? rds_tcp_ao_del(sock, addr, len, key)
					       : rds_tcp_md5(sock, addr, len, key->bytes, 0);
}

int rds_tcp_key_begin(struct socket *sock, const struct rds_peer_key *key)
{
	struct tcp_ao_info_opt ao = {
		.set_current = 1,
		.set_rnext = 1,
		.current_key = key->sndid,
		.rnext = key->rcvid,
	};

	return rds_tcp_key_option(sock, TCP_AO_INFO, &ao, sizeof(ao));
}

int rds_tcp_key_prefer(struct socket *sock, const struct rds_peer_key *key)
{
	struct tcp_ao_info_opt ao = {.set_rnext = 1, .rnext = key->rcvid};

	return rds_tcp_key_option(sock, TCP_AO_INFO, &ao, sizeof(ao));
}

int rds_tcp_key_require_ao(struct socket *listener, bool on)
{
	struct tcp_ao_info_opt ao = {.ao_required = on};

	return rds_tcp_key_option(listener, TCP_AO_INFO, &ao, sizeof(ao));
}

u8 rds_tcp_signed_by(const struct sock *sk)
{
#ifdef CONFIG_TCP_AO
	if (rcu_access_pointer(tcp_sk(sk)->ao_info))
		return RDS_PEERS_TCP_AO;
#endif
#ifdef CONFIG_TCP_MD5SIG
	if (rcu_access_pointer(tcp_sk(sk)->md5sig_info))
		return RDS_PEERS_TCP_MD5;
#endif
	return RDS_PEERS_NONE;
}
