// SPDX-License-Identifier: GPL-2.0
#include "conn_table.h"

#include "../path/path.h"

namespace rds
{
namespace
{

/* Nobody has a reference for so long, but who forgot it. */
constexpr uint64_t kPatienceNs = 10ull * 1000 * 1000 * 1000;

bool same_pair(const Conn &c, const struct rds_transport &t, const struct rds_addr &laddr,
	       const struct rds_addr &faddr, uint32_t scope, uint8_t tos)
{
	if (!same_addr(c.faddr, faddr) || !same_addr(c.laddr, laddr) || c.scope != scope)
		return false;
	if (c.life.is_dying())
		return false; /* nobody's any more (conn_idle.cc) */
	if (&c.trans == &t)
		return c.tos == tos;
	/* Loopback stands in for a transport that prefers it, whatever the TOS. */
	return t.caps & RDS_CAP_PREFER_LOOP && c.is_local() && !c.astray.load();
}

void destroy_path(Path *p)
{
	if (p && p->priv)
		p->conn.trans.path_free(p->priv);
	destroy(p);
}

/* It goes on where one of the same pair ended.  False: no memory, or what was known is just being
 * forgotten. */
bool go_on(Path &p) RDS_SLEEPS
{
	const TombKey key = p.conn.tomb_key();
	const HashKey &secret = p.conn.net.key;
	Tombs &tombs = p.conn.net.conns.tombs;
	TombPorts ports;
	TombCount count;

	if (!tombs.recall(key, p.index, count, nullptr, secret))
		return true;
	if (RDS_UNLIKELY(count.refused) &&
	    (!ports.make_room(count.refused) || !tombs.recall(key, p.index, count, &ports, secret)))
		return false;
	return ports.size() == count.refused && p.begin_with(count, ports);
}

Path *create_path(Conn &c, unsigned int index) RDS_SLEEPS
{
	Path *p = create_object<Path>(RDS_OBJECT_PATH, may_sleep(), c, index);

	if (p)
		p->priv = c.trans.path_alloc(p);
	if (!p || !p->priv || !go_on(*p)) {
		destroy_path(p);
		return nullptr;
	}
	return p;
}

void free_conn(struct rds_rcu_head *h)
{
	Conn *c = container_of(h, &Conn::rcu);
	Atomic<uint32_t> &alive = c->net.conns.alive[c->trans.type];

	c->claim();
	bug_on(c->waiting.load(), "a connection is destroyed that messages wait for");
	c->for_each_path([](Path &p) { destroy_path(&p); });
	if (c->fcong)
		c->net.cong.put(*c->fcong);
	if (c->lcong)
		c->net.cong.put(*c->lcong);
	if (c->user)
		c->net.users.give(*c->user, Has::kConns);
	destroy(c);
	bug_on(!alive.fetch_sub(1), "a connection ends that was not counted");
}

/* Gives @c its maps and its first path. */
Status furnish(Conn &c) RDS_SLEEPS
{
	Net &net = c.net;

	/* On this host the peer's ports are those of sockets here. */
	c.fcong = net.cong.get(c.faddr, c.far_scope(), c.is_local() ? Whose::kOurs : Whose::kPeers,
			       net.key);
	c.lcong = net.cong.get(c.laddr, c.local_scope(), Whose::kOurs, net.key);
	if (!c.fcong || !c.lcong)
		return Status::fail(err::kEnomem);
	return c.provide(0).status();
}

} // namespace

Conn *ConnTable::find(const struct rds_transport &t, const struct rds_addr &laddr,
		      const struct rds_addr &faddr, uint32_t scope, uint8_t tos,
		      const HashKey &key) const
{
	return table_.find(hash_pair(laddr, faddr, key), [&](const Conn &c) {
		return same_pair(c, t, laddr, faddr, scope, tos) && !c.astray.load();
	});
}

Result<Conn *> ConnTable::get(Net &net, const struct rds_transport &t, const struct rds_addr &laddr,
			      const struct rds_addr &faddr, uint32_t scope, uint8_t tos, User *user)
{
	auto c = find_or_make(net, t, laddr, faddr, scope, tos, user);

	if (user && c.ok())
		c.value()->use();
	return c;
}

Result<Conn *> ConnTable::find_or_make(Net &net, const struct rds_transport &t,
				       const struct rds_addr &laddr, const struct rds_addr &faddr,
				       uint32_t scope, uint8_t tos, User *user)
{
	{
		RcuReader rcu;
		/* A peer that calls has the address, and so has loopback's other end. */
		Conn *c = table_.find(hash_pair(laddr, faddr, net.key), [&](const Conn &o) {
			return same_pair(o, t, laddr, faddr, scope, tos) &&
			       !(user && o.astray.load());
		});

		if (c && c->refs.get_unless_zero())
			return c;
	}
	/* A peer's address is not asked for: loopback's other end calls that of a socket here,
	 * which may have lost its device since. */
	Status st = user ? transport_reaches(net.os, t, laddr, faddr, scope) : Status();

	if (!st.ok())
		return st;

	auto via = transport_for(net.os, t, laddr, faddr, scope);

	if (!via.ok())
		return via.status();

	/* Loopback has one connection for all priorities: two would break the order. */
	if (via.value() != &t)
		tos = 0;

	auto made = make(net, *via.value(), laddr, faddr, scope, tos, user);

	rds_module_put(via.value()->owner);
	return made;
}

Result<Conn *> ConnTable::make(Net &net, const struct rds_transport &t,
			       const struct rds_addr &laddr, const struct rds_addr &faddr,
			       uint32_t scope, uint8_t tos, User *user)
{
	if (net.dying.load_acquire())
		return Status::fail(err::kEnetdown);

	Conn *c =
		create_object<Conn>(RDS_OBJECT_CONN, may_sleep(), net, t, laddr, faddr, scope, tos);

	if (!c)
		return Status::fail(err::kEnomem);

	alive[t.type].fetch_add(1);

	Status st = user ? take_share(*c, *user) : admit_passive(*c);

	if (st.ok())
		st = furnish(*c);

	if (!st.ok()) {
		free_conn(&c->rcu);
		return st;
	}
	c->refs.get(); /* the caller's; the first one is the table's */

	Conn *old = table_.insert(hash_pair(laddr, faddr, net.key), c, [&](Conn &o) {
		return same_pair(o, t, laddr, faddr, scope, tos) && o.refs.get_unless_zero();
	});

	if (!old) {
		start_sweep(); /* with a fence */
		if (rds_now_ns() < addrs_settle_.load())
			rds_work_queue(&addrs_work_, net.os);
		return c;
	}
	/* Somebody else was faster, or it is one that led astray; nobody has seen ours. */
	free_conn(&c->rcu);
	if (user)
		old->astray.store(false); /* the way has just been asked for */
	return old;
}

/* @c counts as @user's.  Of a user that has too many the sweep ends some that are idle. */
Status ConnTable::take_share(Conn &c, User &user)
{
	auto taken = net_->users.take(user.uid, Has::kConns, read_once(net_->tun.max_user_conns),
				      net_->os);

	if (taken.ok()) {
		c.user = taken.value();
	} else if (taken.status().is(err::kEdquot)) {
		net_->count(RDS_S_user_refused);
		hurry();
	}
	return taken.status();
}

/* Each dies in a turn of its worker, and is reaped with all that died meanwhile: what takes time is
 * the grace period between.  They stay in the table until then: a socket that closes finds its
 * messages there and takes them back.  One that is not dead yet, with a reference. */
Conn *ConnTable::kill(const struct rds_transport *t)
{
	Conn *one = nullptr;

	for (uint64_t pos = 0; pos < kWalkEnd; let_others_run()) {
		Guard g(paths_lock);
		RcuReader rcu;

		pos = table_.walk(pos, [&](Conn &c) {
			if ((t && &c.trans != t) || c.is_dead())
				return;
			c.closing = true;
			c.kill();
			if (!one && c.refs.get_unless_zero())
				one = &c;
		});
	}
	return one;
}

void ConnTable::kill_all(const struct rds_transport *t)
{
	uint64_t begun = rds_now_ns();
	bool said = false;

	for (;;) {
		if (Conn *c = kill(t)) {
			c->await_turn();
			c->put();
		}
		rds_work_flush(&reap_work_);
		if (!any_alive(t))
			return;
		/* Some are still at it, a sender that had the token, or the other end of loopback,
		 * may have the last reference; and one who was about to enter a new one may have
		 * done so. */
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
	if (closing || !life.call_off())
		return rds::Status::fail(rds::err::kEnetunreach);
	p = rds::create_path(*this, index);
	if (!p)
		return rds::Status::fail(rds::err::kEnomem);
	paths[index].store_release(p);
	return p;
}

void rds_conn::put()
{
	if (!refs.put())
		return;
	if (is_dead()) {
		rds_rcu_defer(&rcu, rds::free_conn);
		return;
	}
	refs.get(); /* it was the table's */
	rds::bug_on(true, "the last reference of a connection that lives is given back");
}

extern "C" {

struct rds_conn *rds_conn_get(struct rds_net *net, const struct rds_transport *t,
			      const struct rds_addr *laddr, const struct rds_addr *faddr,
			      uint32_t scope, unsigned char tos, int *err)
{
	rds::Guard sleeps(rds::kMaySleep); /* a transport's work */

	for (;;) {
		auto r = net->conns.get(*net, *t, *laddr, *faddr, scope, tos, nullptr);

		*err = r.status().code();
		if (!r.ok())
			return nullptr;
		/* It is counted, then we look whether it retires, which looks who is counted after
		 * it has said so. */
		rds::full_fence();
		/* On its way out it stays; if it is too late for that, there is another. */
		if (r.value()->life.call_off())
			return r.value();
		r.value()->put();
	}
}

int rds_conn_may_call(struct rds_net *net, const struct rds_transport *t,
		      const struct rds_addr *laddr, const struct rds_addr *faddr, uint32_t scope,
		      int known)
{
	return net->conns.may_call(*t, *laddr, *faddr, scope, known);
}

void rds_conn_put(struct rds_conn *conn)
{
	conn->put();
}

struct rds_path *rds_conn_path(struct rds_conn *conn, unsigned int index)
{
	rds::Guard sleeps(rds::kMaySleep); /* a transport's work */
	auto p = conn->provide(index < conn->fan.agreed() ? index : 0);

	return p.ok() ? p.value() : nullptr;
}

} // extern "C"
