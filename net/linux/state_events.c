// SPDX-License-Identifier: GPL-2.0
/*
 * state_events.c: what happens to paths, for those that listen.
 *
 * A path's worker tells, which is at it anyway; no message does.  Without a listener it costs a
 * look.  Nothing is kept for one that is slow: its socket is told that something is missing, and
 * the state can be read again.
 */
#include "state.h"

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

static int rds_state_put_event(struct sk_buff *skb, const struct rds_path *p, int news,
			       unsigned int why)
{
	const u32 scope = rds_path_scope(p);

	if (rds_state_put_addr(skb, RDS_PATH_A_LOCAL, rds_path_laddr(p)) ||
	    rds_state_put_addr(skb, RDS_PATH_A_REMOTE, rds_path_faddr(p)) ||
	    (scope && nla_put_u32(skb, RDS_PATH_A_SCOPE, scope)) ||
	    nla_put_u8(skb, RDS_PATH_A_TOS, rds_path_tos(p)) ||
	    nla_put_u8(skb, RDS_PATH_A_INDEX, rds_path_index(p)) ||
	    nla_put_string(skb, RDS_PATH_A_TRANSPORT, rds_path_transport(p)->name) ||
	    nla_put_u8(skb, RDS_PATH_A_EVENT, news))
		return -EMSGSIZE;
	return news == RDS_PATH_CAME_UP
		       ? 0
		       : nla_put_string(skb, RDS_PATH_A_LAST_REASON, rds_drop_reason_name(why));
}

void rds_state_event(const struct rds_path *p, unsigned int from, unsigned int to, unsigned int why)
{
	struct net *net = rds_os_net_to_net(rds_path_os_net(p));
	const int news = rds_state_news(from, to, why);
	struct sk_buff *msg;
	void *hdr;

	if (news < 0 || !genl_has_listeners(&rds_state_family, net, RDS_STATE_EVENTS))
		return;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_ATOMIC);
	if (!msg) {
		genl_set_err(&rds_state_family, net, 0, RDS_STATE_EVENTS, -ENOBUFS);
		return;
	}
	hdr = genlmsg_put(msg, 0, 0, &rds_state_family, 0, RDS_STATE_CMD_PATH_EVENT);
	if (!hdr || rds_state_put_event(msg, p, news, why)) {
		WARN_ON_ONCE(1); /* it has room for all of that */
		nlmsg_free(msg);
		return;
	}
	genlmsg_end(msg, hdr);
	genlmsg_multicast_netns(&rds_state_family, net, msg, 0, RDS_STATE_EVENTS, GFP_ATOMIC);
}
