// SPDX-License-Identifier: GPL-2.0
/*
 * net.cc: namespaces begin and end, and what has to be done to all of them when a transport goes.
 */
#include "net.h"

#include "path/path.h"
#include "transports.h"

using namespace rds;

namespace
{

struct AllNets {
	/* Not the registry's: it is held while connections are killed, and their workers may be
	 * looking a transport up. */
	Mutex<RDS_RANK_NETS> lock;
	List<Net, &Net::all_link> nets RDS_GUARDED_BY(lock);
};

constinit AllNets *all = nullptr; /* created by rds_core_init() */

} // namespace

extern "C" {

int rds_core_init(void)
{
	Guard sleeps(kMaySleep); /* insmod, or a namespace begins */

	all = create<AllNets>(may_sleep());
	if (!all)
		return -err::kEnomem;

	Status st = transports_begin();

	if (!st.ok()) {
		destroy(all);
		all = nullptr;
	}
	return st.code();
}

size_t rds_core_size(enum rds_object what)
{
	return what == RDS_OBJECT_CONN ? sizeof(Conn) : sizeof(Path);
}

void rds_core_exit(void)
{
	transports_end();
	destroy(all);
	all = nullptr;
}

void rds_transport_unregister(const struct rds_transport *t)
{
	transport_forget(*t);

	Guard sleeps(kMaySleep); /* rmmod */
	Guard g(all->lock);

	for (Net *n = all->nets.front(); n; n = all->nets.next(n))
		n->conns.kill_all(t);
}

void rds_transport_net_exit(struct rds_net *net, const struct rds_transport *t)
{
	Guard sleeps(kMaySleep); /* a namespace ends, or rmmod */

	net->conns.kill_all(t);
}

void rds_transport_net_paths(struct rds_net *net, const struct rds_transport *t,
			     void (*fn)(void *arg, struct rds_path *path), void *arg)
{
	for (uint64_t pos = 0; pos < kWalkEnd;) {
		RcuReader rcu;

		pos = net->conns.walk(pos, [&](Conn &c) {
			if (&c.trans == t)
				c.for_each_path([&](Path &p) { fn(arg, &p); });
		});
	}
}

void rds_transport_net_reset(struct rds_net *net, const struct rds_transport *t)
{
	auto drop = [](void *, struct rds_path *p) { p->drop(RDS_DROP_ADMIN); };

	rds_transport_net_paths(net, t, drop, nullptr);
}

unsigned int rds_net_reset(struct rds_net *net, const struct rds_addr *laddr,
			   const struct rds_addr *faddr, unsigned char tos)
{
	Guard sleeps(kMaySleep); /* setsockopt */
	unsigned int n = 0;
	auto reset = [&](Conn &c) {
		if (c.tos != tos || !same_addr(c.laddr, *laddr))
			return;
		c.for_each_path([](Path &p) { p.drop(RDS_DROP_ADMIN); });
		n++;
	};

	if (faddr->w[0] || faddr->w[1]) {
		net->conns.visit_of(*laddr, *faddr, net->key, reset);
		return n;
	}
	for (uint64_t pos = 0; pos < kWalkEnd; let_others_run())
		pos = net->conns.visit(pos, reset);
	return n;
}

struct rds_net *rds_net_create(struct rds_os_net *os, struct rds_stats *st)
{
	Guard sleeps(kMaySleep); /* insmod, or a namespace begins */
	auto *net = create<WholeNet>(may_sleep(), os, st);

	if (!net)
		return nullptr;
	if (!net->bind.init().ok() || !net->conns.init(*net).ok() || !net->cong.init().ok()) {
		destroy(net);
		return nullptr;
	}
	Guard g(all->lock);

	all->nets.push_back(net);
	return net;
}

void rds_net_destroy(struct rds_net *net)
{
	Guard sleeps(kMaySleep); /* the same */

	net->dying.store_release(true);
	net->conns.kill_all(nullptr);
	{
		/* Until now it was on the list: a transport that goes waits for its connections. */
		Guard g(all->lock);

		all->nets.remove(net);
	}
	net->conns.stop_sweep(); /* its paths may have called for it until now */
	destroy(static_cast<WholeNet *>(net));
}

static_assert(kRecvSpillBytes == RDS_RECV_SPILL_BYTES);

struct rds_tunables *rds_net_tunables(struct rds_net *net)
{
	return &net->tun;
}

} // extern "C"
