// SPDX-License-Identifier: GPL-2.0
/*
 * state_events.c: what happens to paths and ports, for those that listen.
 *
 * A path's worker tells, which is at it anyway, and the message or the reader that fills or clears
 * a port; no other message does.  Without a listener it costs a look.  Nothing is kept for one that
 * is slow: its socket is told that something is missing, and the state can be read again.
 */
#include <linux/ratelimit.h>

#include "linux_net.h"
#include "state.h"

/* Ports of a namespace that are told of in a second: some fill and clear thousands of times. */
#define RDS_STATE_PORTS 20

static_assert(RDS_PATH_DOWN == 0); /* enum rds::PathState (path_table.h) */
static_assert(RDS_PATH_DEAD == 4);

/* The news that a change of state is; -1: none. */
static int rds_state_news(unsigned int from, unsigned int to, unsigned int why)
{
	if (to == RDS_PATH_UP)
		return RDS_PATH_CAME_UP;
	if (from == RDS_PATH_UP)
		return RDS_PATH_WENT_DOWN;
	if (from != RDS_PATH_CONNECTING || to != RDS_PATH_DOWN)
		return -1;
	return why == RDS_DROP_REFUSED || why == RDS_DROP_KEY ? RDS_PATH_REFUSED : RDS_PATH_FAILED;
}

static int rds_state_put_path(struct sk_buff *skb, const struct rds_path *p)
{
	const u32 scope = rds_path_scope(p);

	if (rds_state_put_addr(skb, RDS_PATH_A_LOCAL, rds_path_laddr(p)) ||
	    rds_state_put_addr(skb, RDS_PATH_A_REMOTE, rds_path_faddr(p)) ||
	    (scope && nla_put_u32(skb, RDS_PATH_A_SCOPE, scope)) ||
	    nla_put_u8(skb, RDS_PATH_A_TOS, rds_path_tos(p)) ||
	    nla_put_u8(skb, RDS_PATH_A_INDEX, rds_path_index(p)) ||
	    nla_put_string(skb, RDS_PATH_A_TRANSPORT, rds_path_transport(p)->name))
		return -EMSGSIZE;
	return 0;
}

/* A message for @net's listeners, or NULL. */
static struct sk_buff *rds_state_begin(struct net *net, int news, void **hdr)
{
	struct sk_buff *msg;

	if (!genl_has_listeners(&rds_state_family, net, RDS_STATE_EVENTS))
		return NULL;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_ATOMIC);
	if (!msg) {
		genl_set_err(&rds_state_family, net, 0, RDS_STATE_EVENTS, -ENOBUFS);
		return NULL;
	}
	*hdr = genlmsg_put(msg, 0, 0, &rds_state_family, 0, RDS_STATE_CMD_PATH_EVENT);
	if (*hdr && !nla_put_u8(msg, RDS_PATH_A_EVENT, news))
		return msg;
	nlmsg_free(msg);
	return NULL;
}

/* @err: there was no room for something. */
static void rds_state_tell(struct net *net, struct sk_buff *msg, void *hdr, int err)
{
	if (WARN_ON_ONCE(err)) {
		nlmsg_free(msg);
		return;
	}
	genlmsg_end(msg, hdr);
	genlmsg_multicast_netns(&rds_state_family, net, msg, 0, RDS_STATE_EVENTS, GFP_ATOMIC);
}

static void rds_state_tell_of(const struct rds_path *p, int news, const char *why)
{
	struct net *net = rds_os_net_to_net(rds_path_os_net(p));
	struct sk_buff *msg;
	void *hdr;
	int err;

	msg = rds_state_begin(net, news, &hdr);
	if (!msg)
		return;
	err = rds_state_put_path(msg, p);
	if (!err && why)
		err = nla_put_string(msg, RDS_PATH_A_LAST_REASON, why);
	rds_state_tell(net, msg, hdr, err);
}

void rds_state_event(const struct rds_path *p, unsigned int from, unsigned int to, unsigned int why)
{
	const int news = rds_state_news(from, to, why);

	if (news >= 0)
		rds_state_tell_of(p, news,
				  news == RDS_PATH_CAME_UP ? NULL : rds_drop_reason_name(why));
}

void rds_state_fold(const struct rds_path *p)
{
	rds_state_tell_of(p, RDS_PATH_FOLDED, NULL);
}

void rds_state_port(struct net *net, bool ours, const struct rds_addr *addr, u16 port, bool full)
{
	struct sk_buff *msg;
	void *hdr;
	int err;

	if (!genl_has_listeners(&rds_state_family, net, RDS_STATE_EVENTS) ||
	    !__ratelimit(&rds_linux_net(net)->port_news))
		return;
	msg = rds_state_begin(net, full ? RDS_PATH_FULL : RDS_PATH_CLEAR, &hdr);
	if (!msg)
		return;
	err = rds_state_put_addr(msg, ours ? RDS_PATH_A_LOCAL : RDS_PATH_A_REMOTE, addr);
	if (!err)
		err = nla_put(msg, RDS_PATH_A_CONGESTED_PORTS, sizeof(port), &port);
	rds_state_tell(net, msg, hdr, err);
}

/* The log is not told of those that are too many. */
void rds_state_init(struct net *net)
{
	struct ratelimit_state *rs = &rds_linux_net(net)->port_news;

	ratelimit_state_init(rs, HZ, RDS_STATE_PORTS);
	ratelimit_set_flags(rs, RATELIMIT_MSG_ON_RELEASE);
}
