// SPDX-License-Identifier: GPL-2.0
#include "conn_table.h"

#include "path.h"

namespace rds
{
namespace
{

/* Connections that are killed together. */
constexpr unsigned int kKillBatch = 32;
/* Nobody has a reference for so long, but who forgot it. */
constexpr uint64_t kPatienceNs = 10ull * 1000 * 1000 * 1000;

uint32_t hash_pair(const struct rds_addr &laddr, const struct rds_addr &faddr, uint32_t seed)
{
	return hash_addr(faddr, hash_addr(laddr, seed));
}

bool same_pair(const Conn &c, const struct rds_transport &t, const struct rds_addr &laddr,
	       const struct rds_addr &faddr, uint32_t scope, uint8_t tos)
{
	if (!same_addr(c.faddr, faddr) || !same_addr(c.laddr, laddr) || c.scope != scope)
		return false;
	if (c.fate.load() == Fate::kDying)
		return false; /* nobody's any more (conn_idle.cc) */
	if (&c.trans == &t)
		return c.tos == tos;
	/* Loopback stands in for a transport that prefers it, whatever the TOS. */
	return t.caps & RDS_CAP_PREFER_LOOP && c.trans.caps & RDS_CAP_SHARED_CONG;
}

void destroy_path(Path *p)
{
	if (p && p->priv)
		p->conn.trans.path_free(p->priv);
	destroy(p);
}

Path *create_path(Conn &c, unsigned int index)
{
	Path *p = create<Path>(RDS_MAY_SLEEP, c, index);
	TombCount count;

	if (p)
		p->priv = c.trans.path_alloc(p);
	if (!p || !p->priv) {
		destroy_path(p);
		return nullptr;
	}
	if (c.net.conns.tombs.recall(c.tomb_key(), index, count, c.net.seed))
		p->begin_with(count);
	return p;
}

void free_conn(struct rds_rcu_head *h)
{
	Conn *c = container_of(h, &Conn::rcu);
	Atomic<uint32_t> &alive = c->net.conns.alive[c->trans.type];

	c->claim();
	/* It may die in the midst of a fold. */
	bug_on(c->waiting.load(), "a connection is destroyed that messages wait for");
	c->for_each_path([](Path &p) { destroy_path(&p); });
	destroy(c);
	bug_on(!alive.fetch_sub(1), "a connection ends that was not counted");
}

/* Gives @c its maps and its first path. */
Status furnish(Conn &c)
{
	Net &net = c.net;

	c.fcong = net.cong.get(c.faddr, net.seed);
	c.lcong = net.cong.get(c.laddr, net.seed);
	if (!c.fcong || !c.lcong)
		return Status::fail(err::kEnomem);
	return c.provide(0).status();
}

} // namespace

Conn *ConnTable::find(const struct rds_transport &t, const struct rds_addr &laddr,
		      const struct rds_addr &faddr, uint32_t scope, uint8_t tos,
		      uint32_t seed) const
{
	return table_.find(hash_pair(laddr, faddr, seed), [&](const Conn &c) {
		return same_pair(c, t, laddr, faddr, scope, tos);
	});
}

Result<Conn *> ConnTable::get(Net &net, const struct rds_transport &t, const struct rds_addr &laddr,
			      const struct rds_addr &faddr, uint32_t scope, uint8_t tos, For whom)
{
	{
		RcuReader rcu;
		Conn *c = find(t, laddr, faddr, scope, tos, net.seed);

		if (c && c->refs.get_unless_zero())
			return c;
	}
	auto via = transport_for(net.os, t, laddr, faddr, scope);

	if (!via.ok())
		return via.status();

	/* Loopback has one connection for all priorities: two would break the order. */
	if (via.value() != &t)
		tos = 0;

	auto made = make(net, *via.value(), laddr, faddr, scope, tos, whom);

	rds_module_put(via.value()->owner);
	return made;
}

Result<Conn *> ConnTable::make(Net &net, const struct rds_transport &t,
			       const struct rds_addr &laddr, const struct rds_addr &faddr,
			       uint32_t scope, uint8_t tos, For whom)
{
	if (net.dying.load_acquire())
		return Status::fail(err::kEnetdown);

	Conn *c = create<Conn>(RDS_MAY_SLEEP, net, t, laddr, faddr, scope, tos);

	if (!c)
		return Status::fail(err::kEnomem);

	alive[t.type].fetch_add(1);

	Status st = whom == For::kPeer ? admit_passive(*c) : Status();

	if (st.ok())
		st = furnish(*c);

	if (!st.ok()) {
		free_conn(&c->rcu);
		return st;
	}
	c->refs.get(); /* the caller's; the first one is the table's */

	Conn *old = table_.insert(hash_pair(laddr, faddr, net.seed), c, [&](Conn &o) {
		return same_pair(o, t, laddr, faddr, scope, tos) && o.refs.get_unless_zero();
	});

	if (!old) {
		start_sweep();
		return c;
	}
	free_conn(&c->rcu); /* somebody else was faster; nobody has seen ours */
	return old;
}

/* With a reference each. */
unsigned int ConnTable::pick_victims(const struct rds_transport *t, Conn **out)
{
	RcuReader rcu;
	unsigned int n = 0;

	table_.for_each([&](Conn &c) {
		if (n < kKillBatch && (!t || &c.trans == t) && c.refs.get_unless_zero())
			out[n++] = &c;
	});
	return n;
}

/* Many die together, because what takes time is the grace period between death and burial. */
void ConnTable::kill_batch(Conn **victims, unsigned int n)
{
	auto each = [&](auto fn) {
		for (unsigned int i = 0; i < n; i++)
			victims[i]->for_each_path(fn);
	};

	{
		Guard g(paths_lock);

		for (unsigned int i = 0; i < n; i++)
			victims[i]->closing = true;
	}

	each([](Path &p) { p.post(kEvDie); });
	each([](Path &p) { p.await_death(); });
	rds_rcu_sync();
	each([](Path &p) { p.bury(); });
	/* They stay in the table until their queues are empty: a socket that closes meanwhile
	 * finds its messages there and takes them back.  Two may do this at once. */
	for (unsigned int i = 0; i < n; i++) {
		if (table_.remove(victims[i])) {
			gen_.fetch_add(1);
			victims[i]->put();
		}
		victims[i]->put();
	}
}

void ConnTable::kill_all(const struct rds_transport *t)
{
	Conn *victims[kKillBatch];
	uint64_t begun = rds_now_ns();
	bool said = false;

	for (;;) {
		unsigned int n = pick_victims(t, victims);

		if (n) {
			kill_batch(victims, n);
			continue;
		}
		if (!any_alive(t))
			return;
		/* A sender that had the token, or the other end of loopback, may have the last
		 * reference; and one who was about to enter a new one may have done so. */
		rds_rcu_sync();
		rds_rcu_barrier();
		if (!said && rds_now_ns() - begun >= kPatienceNs) {
			rds_log("a connection that is gone is still in use: waiting", nullptr,
				nullptr);
			said = true;
		}
	}
}

bool ConnTable::any_alive(const struct rds_transport *t) const
{
	uint32_t n = 0;

	for (unsigned int type = 0; type < kTransCount; type++)
		if (!t || type == t->type)
			n += alive[type].load_acquire();
	return n != 0;
}

void ConnTable::kick_laddr(const struct rds_addr &laddr)
{
	RcuReader rcu;

	/* The map has changed, then we look who is up; who comes up looks at the map (come_up). */
	full_fence();
	table_.for_each([&](Conn &c) {
		if (same_addr(c.laddr, laddr) && !(c.trans.caps & RDS_CAP_SHARED_CONG) &&
		    c.first().state() == PathState::kUp)
			c.first().post(kEvSend);
	});
}

void ConnTable::port_cleared(const CongMap &map)
{
	RcuReader rcu;

	table_.for_each([&](Conn &c) {
		if (c.fcong == &map)
			c.for_each_path([](Path &p) { p.port_cleared(); });
	});
}

void tell_peers(Net &net, const CongMap &map)
{
	net.conns.kick_laddr(map.addr);
}

void return_held(Net &net, const CongMap &map)
{
	net.conns.port_cleared(map);
}

} // namespace rds

rds::Result<rds::Path *> rds_conn::provide(unsigned int index)
{
	rds::Path *p = paths[index].load_acquire();

	if (p)
		return p;

	rds::Guard g(net.conns.paths_lock);

	p = paths[index].load();
	if (p)
		return p;
	if (closing || !call_off())
		return rds::Status::fail(rds::err::kEnetunreach);
	p = rds::create_path(*this, index);
	if (!p)
		return rds::Status::fail(rds::err::kEnomem);
	paths[index].store_release(p);
	return p;
}

void rds_conn::put()
{
	if (refs.put())
		rds_rcu_defer(&rcu, rds::free_conn);
}

extern "C" {

struct rds_conn *rds_conn_get(struct rds_net *net, const struct rds_transport *t,
			      const struct rds_addr *laddr, const struct rds_addr *faddr,
			      uint32_t scope, unsigned char tos, int *err)
{
	for (;;) {
		auto r = net->conns.get(*net, *t, *laddr, *faddr, scope, tos,
					rds::ConnTable::For::kPeer);

		*err = r.status().code();
		if (!r.ok())
			return nullptr;
		/* On its way out it stays; if it is too late for that, there is another. */
		if (r.value()->call_off())
			return r.value();
		r.value()->put();
	}
}

void rds_conn_put(struct rds_conn *conn)
{
	conn->put();
}

struct rds_path *rds_conn_path(struct rds_conn *conn, unsigned int index)
{
	auto p = conn->provide(index < conn->agreed.load_acquire() ? index : 0);

	return p.ok() ? p.value() : nullptr;
}

} // extern "C"
