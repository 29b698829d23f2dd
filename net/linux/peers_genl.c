// SPDX-License-Identifier: GPL-2.0
/*
 * peers_genl.c: generic netlink family "rds_peers": the table of peers as an administrator of
 * the namespace sees it (include/uapi/linux/rds_peers.h, docs/netlink/rds_peers.yaml).
 *
 * A key is read once, wiped from the message that brought it, and in no answer.
 */
#include <linux/slab.h>
#include <net/genetlink.h>

#include "peers.h"

static struct genl_family rds_peers_family;

static const struct genl_multicast_group rds_peers_groups[] = {
	{.name = RDS_PEERS_MCGRP_EVENTS, .flags = GENL_MCAST_CAP_NET_ADMIN},
};

/* ---- what comes in ---- */

#define RDS_PEERS_PREFIX_POLICY                                                                    \
	[RDS_PEERS_A_ADDR] = NLA_POLICY_RANGE(NLA_BINARY, 4, 16),                                  \
	[RDS_PEERS_A_LEN] = NLA_POLICY_MAX(NLA_U8, 128),                                           \
	[RDS_PEERS_A_SCOPE] = NLA_POLICY_MIN(NLA_U32, 1)

static const struct nla_policy rds_peers_set_policy[RDS_PEERS_A_MAX + 1] = {
	RDS_PEERS_PREFIX_POLICY,
	[RDS_PEERS_A_POLICY] = NLA_POLICY_MAX(NLA_U8, RDS_PEERS_REFUSE),
	[RDS_PEERS_A_METHOD] = NLA_POLICY_MAX(NLA_U8, RDS_PEERS_TCP_AO),
	[RDS_PEERS_A_KEY] = NLA_POLICY_RANGE(NLA_BINARY, 1, RDS_PEERS_MAX_KEY),
	[RDS_PEERS_A_REPLACE] = {.type = NLA_FLAG},
	[RDS_PEERS_A_SNDID] = {.type = NLA_U8},
	[RDS_PEERS_A_RCVID] = {.type = NLA_U8},
	[RDS_PEERS_A_ALG] = NLA_POLICY_MAX(NLA_U8, RDS_PEERS_CMAC_AES128),
};

static const struct nla_policy rds_peers_del_policy[RDS_PEERS_A_MAX + 1] = {
	RDS_PEERS_PREFIX_POLICY,
};

static const struct nla_policy rds_peers_default_policy[RDS_PEERS_A_MAX + 1] = {
	[RDS_PEERS_A_POLICY] = NLA_POLICY_MAX(NLA_U8, RDS_PEERS_REFUSE),
};

static int rds_peers_bad(struct genl_info *info, int attr, const char *why)
{
	info->extack->bad_attr = info->attrs[attr];
	info->extack->_msg = why;
	return -EINVAL;
}

/* Address and length, as the table has them. */
static int rds_peers_get_addr(struct genl_info *info, struct rds_peer *e)
{
	const struct nlattr *addr = info->attrs[RDS_PEERS_A_ADDR];
	u8 bits = nla_get_u8(info->attrs[RDS_PEERS_A_LEN]);
	struct in6_addr in6, prefix;

	if (nla_len(addr) == 4)
		e->addr = rds_addr_from_v4(nla_get_be32(addr));
	else if (nla_len(addr) == 16)
		memcpy(&e->addr, nla_data(addr), 16);
	else
		return rds_peers_bad(info, RDS_PEERS_A_ADDR, "an address has 4 or 16 bytes");
	if (!bits)
		return rds_peers_bad(info, RDS_PEERS_A_LEN, "for all hosts, set the default");
	if (bits > 8 * nla_len(addr))
		return rds_peers_bad(info, RDS_PEERS_A_LEN, "longer than the address");
	e->len = nla_len(addr) == 4 ? 96 + bits : bits;
	if (rds_addr_is_v4(&e->addr) && e->len <= 96)
		return rds_peers_bad(info, RDS_PEERS_A_LEN, "no prefix of IPv4 addresses");
	in6 = rds_addr_in6(&e->addr);
	ipv6_addr_prefix(&prefix, &in6, e->len);
	if (!ipv6_addr_equal(&prefix, &in6))
		return rds_peers_bad(info, RDS_PEERS_A_ADDR, "bits are set beyond the prefix");
	return 0;
}

static int rds_peers_get_prefix(struct genl_info *info, struct rds_peer *e)
{
	struct in6_addr in6;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, RDS_PEERS_A_ADDR) ||
	    GENL_REQ_ATTR_CHECK(info, RDS_PEERS_A_LEN))
		return -EINVAL;
	err = rds_peers_get_addr(info, e);
	if (err || !info->attrs[RDS_PEERS_A_SCOPE])
		return err;
	e->scope = nla_get_u32(info->attrs[RDS_PEERS_A_SCOPE]);
	in6 = rds_addr_in6(&e->addr);
	if (!(ipv6_addr_type(&in6) & IPV6_ADDR_LINKLOCAL))
		return rds_peers_bad(info, RDS_PEERS_A_SCOPE,
				     "an interface goes with link-local addresses only");
	return 0;
}

/* The ids and the algorithm, which only TCP-AO has. */
static int rds_peers_get_ao(struct genl_info *info, struct rds_peer_key *key)
{
	if (key->method != RDS_PEERS_TCP_AO) {
		if (info->attrs[RDS_PEERS_A_SNDID] || info->attrs[RDS_PEERS_A_RCVID] ||
		    info->attrs[RDS_PEERS_A_ALG])
			return rds_peers_bad(info, RDS_PEERS_A_METHOD,
					     "ids and an algorithm go with TCP-AO only");
		return 0;
	}
	if (GENL_REQ_ATTR_CHECK(info, RDS_PEERS_A_SNDID) ||
	    GENL_REQ_ATTR_CHECK(info, RDS_PEERS_A_RCVID))
		return -EINVAL;
	key->sndid = nla_get_u8(info->attrs[RDS_PEERS_A_SNDID]);
	key->rcvid = nla_get_u8(info->attrs[RDS_PEERS_A_RCVID]);
	if (info->attrs[RDS_PEERS_A_ALG])
		key->alg = nla_get_u8(info->attrs[RDS_PEERS_A_ALG]);
	return 0;
}

static int rds_peers_get_key(struct genl_info *info, struct rds_peer *e)
{
	struct nlattr *key = info->attrs[RDS_PEERS_A_KEY];

	if (info->attrs[RDS_PEERS_A_METHOD])
		e->key.method = nla_get_u8(info->attrs[RDS_PEERS_A_METHOD]);
	if (!key != (e->key.method == RDS_PEERS_NONE))
		return rds_peers_bad(info, RDS_PEERS_A_METHOD, "a key and its method go together");
	if (key && e->policy == RDS_PEERS_REFUSE)
		return rds_peers_bad(info, RDS_PEERS_A_KEY, "a host that is refused has no key");
	if (key && e->scope)
		return rds_peers_bad(info, RDS_PEERS_A_SCOPE,
				     "a key is for all interfaces: leave this one out");
	if (key) {
		e->key.len = nla_len(key);
		memcpy(e->key.bytes, nla_data(key), e->key.len);
	}
	return rds_peers_get_ao(info, &e->key);
}

static int rds_peers_get_entry(struct genl_info *info, struct rds_peer *e)
{
	int err = rds_peers_get_prefix(info, e);

	if (err)
		return err;
	if (GENL_REQ_ATTR_CHECK(info, RDS_PEERS_A_POLICY))
		return -EINVAL;
	e->policy = nla_get_u8(info->attrs[RDS_PEERS_A_POLICY]);
	return rds_peers_get_key(info, e);
}

static int rds_peers_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rds_peers *p = rds_peers_of(genl_info_net(info));
	struct rds_peer *e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT);
	struct nlattr *key = info->attrs[RDS_PEERS_A_KEY];
	int err = -ENOMEM;

	if (e)
		err = rds_peers_get_entry(info, e);
	/* An error would be answered with the whole message. */
	if (key)
		memzero_explicit(nla_data(key), nla_len(key));
	if (!err) {
		down_write(&p->lock);
		err = rds_peers_set(p, e, nla_get_flag(info->attrs[RDS_PEERS_A_REPLACE]),
				    info->extack);
		up_write(&p->lock);
	}
	if (err)
		kfree_sensitive(e);
	return err;
}

/* @change is done to the entry that the message names. */
static int rds_peers_change(struct genl_info *info,
			    int (*change)(struct rds_peers *p, const struct rds_peer *like,
					  struct netlink_ext_ack *extack))
{
	struct rds_peers *p = rds_peers_of(genl_info_net(info));
	struct rds_peer like = {};
	int err = rds_peers_get_prefix(info, &like);

	if (err)
		return err;
	down_write(&p->lock);
	err = change(p, &like, info->extack);
	up_write(&p->lock);
	return err;
}

static int rds_peers_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	return rds_peers_change(info, rds_peers_del);
}

static int rds_peers_forget_doit(struct sk_buff *skb, struct genl_info *info)
{
	return rds_peers_change(info, rds_peers_forget);
}

static int rds_peers_default_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rds_peers *p = rds_peers_of(genl_info_net(info));

	if (GENL_REQ_ATTR_CHECK(info, RDS_PEERS_A_POLICY))
		return -EINVAL;
	down_write(&p->lock);
	rds_peers_default(p, nla_get_u8(info->attrs[RDS_PEERS_A_POLICY]));
	up_write(&p->lock);
	return 0;
}

/* ---- what goes out ---- */

/* The address @addr, of which @len of 128 bits count. */
static int rds_peers_put_prefix(struct sk_buff *skb, const struct rds_addr *addr, u8 len, u32 scope)
{
	bool v4 = rds_addr_is_v4(addr);
	const u8 *bytes = (const u8 *)addr;

	if (nla_put(skb, RDS_PEERS_A_ADDR, v4 ? 4 : 16, v4 ? bytes + 12 : bytes) ||
	    nla_put_u8(skb, RDS_PEERS_A_LEN, v4 ? len - 96 : len))
		return -EMSGSIZE;
	return scope ? nla_put_u32(skb, RDS_PEERS_A_SCOPE, scope) : 0;
}

static int rds_peers_put_ao(struct sk_buff *skb, const struct rds_peer *e)
{
	if (nla_put_u8(skb, RDS_PEERS_A_SNDID, e->key.sndid) ||
	    nla_put_u8(skb, RDS_PEERS_A_RCVID, e->key.rcvid) ||
	    nla_put_u8(skb, RDS_PEERS_A_ALG, e->key.alg))
		return -EMSGSIZE;
	if (e->old.len && (nla_put_u8(skb, RDS_PEERS_A_OLD_SNDID, e->old.sndid) ||
			   nla_put_u8(skb, RDS_PEERS_A_OLD_RCVID, e->old.rcvid)))
		return -EMSGSIZE;
	return 0;
}

/* Methods, lengths and ids tell keys apart; their bytes stay here. */
static int rds_peers_put_keys(struct sk_buff *skb, const struct rds_peer *e)
{
	if (nla_put_u8(skb, RDS_PEERS_A_METHOD, e->key.method) ||
	    (e->key.len && nla_put_u8(skb, RDS_PEERS_A_KEY_LEN, e->key.len)))
		return -EMSGSIZE;
	return e->key.method == RDS_PEERS_TCP_AO ? rds_peers_put_ao(skb, e) : 0;
}

static int rds_peers_put_entry(struct sk_buff *skb, struct netlink_callback *cb,
			       const struct rds_peer *e)
{
	void *hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				&rds_peers_family, NLM_F_MULTI, RDS_PEERS_CMD_PEER_GET);

	if (!hdr)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, hdr);
	if (rds_peers_put_prefix(skb, &e->addr, e->len, e->scope) ||
	    nla_put_u8(skb, RDS_PEERS_A_POLICY, e->policy) || rds_peers_put_keys(skb, e)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

static int rds_peers_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct rds_peers *p = rds_peers_of(sock_net(skb->sk));
	const struct rds_peer *e;
	long i = 0;

	down_read(&p->lock);
	cb->seq = p->changes;
	list_for_each_entry(e, &p->list, link) {
		if (i >= cb->args[0] && rds_peers_put_entry(skb, cb, e))
			break;
		i++;
	}
	up_read(&p->lock);
	cb->args[0] = i;
	return skb->len;
}

static int rds_peers_default_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct rds_peers *p = rds_peers_of(genl_info_net(info));
	struct sk_buff *msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *hdr;

	if (!msg)
		return -ENOMEM;
	hdr = genlmsg_put_reply(msg, info, &rds_peers_family, 0, RDS_PEERS_CMD_DEFAULT_GET);
	if (!hdr || nla_put_u8(msg, RDS_PEERS_A_POLICY, READ_ONCE(p->policy))) {
		nlmsg_free(msg);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return genlmsg_reply(msg, info);
}

/* The listener may have gone meanwhile, and a message for want of memory: an event is a hint.  A
 * call that nobody answers is told with its socket locked. */
void rds_peers_genl_refused(struct rds_peers *p, const struct rds_addr *faddr, u32 scope,
			    enum rds_peers_cause cause)
{
	struct sk_buff *msg;
	void *hdr;

	if (!genl_has_listeners(&rds_peers_family, p->net, 0))
		return;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_ATOMIC);
	if (!msg)
		return;
	hdr = genlmsg_put(msg, 0, 0, &rds_peers_family, 0, RDS_PEERS_CMD_REFUSED);
	if (!hdr || rds_peers_put_prefix(msg, faddr, 128, scope) ||
	    nla_put_u8(msg, RDS_PEERS_A_CAUSE, cause)) {
		nlmsg_free(msg);
		return;
	}
	genlmsg_end(msg, hdr);
	genlmsg_multicast_netns(&rds_peers_family, p->net, msg, 0, 0, GFP_ATOMIC);
}

/* ---- the family ---- */

static const struct genl_ops rds_peers_ops[] = {
	{
		.cmd = RDS_PEERS_CMD_PEER_SET,
		.flags = GENL_UNS_ADMIN_PERM,
		.policy = rds_peers_set_policy,
		.maxattr = RDS_PEERS_A_MAX,
		.doit = rds_peers_set_doit,
	},
	{
		.cmd = RDS_PEERS_CMD_PEER_DEL,
		.flags = GENL_UNS_ADMIN_PERM,
		.policy = rds_peers_del_policy,
		.maxattr = RDS_PEERS_A_MAX,
		.doit = rds_peers_del_doit,
	},
	{
		.cmd = RDS_PEERS_CMD_KEY_FORGET,
		.flags = GENL_UNS_ADMIN_PERM,
		.policy = rds_peers_del_policy,
		.maxattr = RDS_PEERS_A_MAX,
		.doit = rds_peers_forget_doit,
	},
	{
		.cmd = RDS_PEERS_CMD_PEER_GET,
		.flags = GENL_UNS_ADMIN_PERM,
		.dumpit = rds_peers_get_dumpit,
	},
	{
		.cmd = RDS_PEERS_CMD_DEFAULT_SET,
		.flags = GENL_UNS_ADMIN_PERM,
		.policy = rds_peers_default_policy,
		.maxattr = RDS_PEERS_A_MAX,
		.doit = rds_peers_default_set_doit,
	},
	{
		.cmd = RDS_PEERS_CMD_DEFAULT_GET,
		.flags = GENL_UNS_ADMIN_PERM,
		.doit = rds_peers_default_get_doit,
	},
};

/* No alias asks for the module by the family's name: anybody may ask for families. */
static struct genl_family rds_peers_family __ro_after_init = {
	.name = RDS_PEERS_FAMILY_NAME,
	.version = RDS_PEERS_FAMILY_VERSION,
	.netnsok = true,
	.parallel_ops = true, /* rds_peers.lock is the lock; keys may take long */
	.module = THIS_MODULE,
	.ops = rds_peers_ops,
	.n_ops = ARRAY_SIZE(rds_peers_ops),
	.mcgrps = rds_peers_groups,
	.n_mcgrps = ARRAY_SIZE(rds_peers_groups),
};

int rds_peers_genl_start(void)
{
	return genl_register_family(&rds_peers_family);
}

void rds_peers_genl_stop(void)
{
	genl_unregister_family(&rds_peers_family);
}
