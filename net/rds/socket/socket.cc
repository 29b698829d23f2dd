// SPDX-License-Identifier: GPL-2.0
/*
 * socket.cc: a socket's names and options, its beginning and its end.
 */
#include "socket.h"

#include "../order.h"
#include "../transports.h"

using rds::Guard;
using rds::Status;
namespace err = rds::err;

rds_socket::rds_socket(rds::Net *net, rds::User &user) : net(net), user(user)
{
}

rds_socket::~rds_socket()
{
	rds::bug_on(trans || congested.load() || recv_flows || !arrived.empty() ||
			    !reading.empty() || !zcopy_done.empty(),
		    "a socket is destroyed that was not released");
	rds::destroy(spill); /* an empty one, if a delivery found no memory for what came next */
}

/* Pinned, until we are released, or a bind that chose it fails. */
void rds_socket::choose(const struct rds_transport *t)
{
	rds::write_once(trans, t);
	if (t->use)
		t->use(net->os);
}

void rds_socket::give_transport_back()
{
	const struct rds_transport *t = trans;

	rds::write_once(trans, static_cast<const struct rds_transport *>(nullptr));
	if (t->unuse)
		t->unuse(net->os);
	rds_module_put(t->owner);
}

/* Finds the transport (unless it was set before) and enters the address. */
Status rds_socket::attach(const struct rds_endpoint &want)
{
	const struct rds_transport *t = trans;
	struct rds_endpoint ep = want;
	const bool chosen = t;

	if (chosen) {
		Status serves = rds::transport_serves(net->os, *t, want.addr, want.scope);

		if (!serves.ok())
			return serves.is(err::kEaddrnotavail) ? Status::fail(err::kEnoprotoopt)
							      : serves;
	} else {
		auto found = rds::transport_for_laddr(net->os, want.addr, want.scope);

		if (!found.ok())
			return found.status();
		/* Softirqs and readers find us, and ask for it, as soon as we are entered. */
		choose(found.value());
	}

	rds::CongMap *map = net->cong.get(want.addr, want.scope, rds::Whose::kOurs, net->key);
	Status st = map ? map->ensure_bits(rds::may_sleep()) : Status::fail(err::kEnomem);

	if (st.ok()) {
		lcong = map;
		st = net->bind.add(*this, ep, net->key,
				   rds::read_once(net->tun.unprivileged_port_start));
	}
	if (st.ok()) {
		bound_flag.store_release(true);
		return st;
	}
	lcong = nullptr;
	if (map)
		net->cong.put(*map);
	if (!chosen)
		give_transport_back();
	return st;
}

Status rds_socket::bind(const struct rds_endpoint &want)
{
	Guard g(bind_lock);
	struct rds_endpoint to;

	if (is_bound() || want.port == rds::kProbePort)
		return Status::fail(err::kEinval);
	/* A link-local peer fixed the interface before. */
	if (get_peer(to) && to.scope && want.scope && to.scope != want.scope)
		return Status::fail(err::kEinval);
	return attach(want);
}

Status rds_socket::connect(const struct rds_endpoint &to)
{
	/* Bound to an interface: no other one. */
	if (to.scope && is_bound() && bound.scope && bound.scope != to.scope)
		return Status::fail(err::kEinval);

	Guard g(small_lock);

	peer = to;
	has_peer = true;
	return Status();
}

bool rds_socket::get_peer(struct rds_endpoint &ep)
{
	Guard g(small_lock);

	ep = peer;
	return has_peer;
}

Status rds_socket::set_transport(unsigned int type)
{
	Guard g(bind_lock);

	if (trans)
		return Status::fail(err::kEopnotsupp);

	auto t = rds::transport_by_type(type);

	if (!t.ok())
		return t.status();
	choose(t.value());
	return Status();
}

Status rds_socket::set_tos(uint8_t value)
{
	Guard g(bind_lock);

	if (!trans || !(trans->caps & (RDS_CAP_TOS_ZERO | RDS_CAP_RDMA)))
		return Status::fail(err::kEnoioctlcmd);
	if (tos || conn_cache.load())
		return Status::fail(err::kEinval);
	tos = trans->caps & RDS_CAP_TOS_ZERO ? 0 : value;
	return Status();
}

void rds_socket::release()
{
	/* A delivery looks at this under recv_lock, which drop_received() takes after it. */
	dead.store(true);
	drop_received();
	if (is_bound()) {
		net->bind.remove(*this);
		cancel(nullptr);
		/* A delivery that has found us goes on with it until its RCU section ends. */
		net->cong.put(*lcong);
	}
	/* After what it sent was cancelled: nobody reads of that. */
	if (rds::RdmaSide *side = rdma.side.load_acquire())
		side->detach();
	net->cong.forget(watch);
	rds_socket_zcopy_done(this, ~0u);
	rds_socket_set_trace(this, 0);
	if (trans)
		give_transport_back();
	net->users.give(user, rds::Has::kSockets);
}

extern "C" {

size_t rds_socket_size(void)
{
	return (sizeof(struct rds_socket) + 7) & ~size_t{7};
}

int rds_socket_init(struct rds_socket *s, struct rds_net *net, uint32_t uid)
{
	rds::Guard sleeps(rds::kMaySleep); /* a program's call */
	auto user = net->users.take(uid, rds::Has::kSockets,
				    rds::read_once(net->tun.max_user_sockets), net->os);

	net->count(RDS_S_user_refused, user.status().is(err::kEdquot));
	if (user.ok())
		new (s) rds_socket(net, *user.value());
	return user.status().code();
}

void rds_socket_release(struct rds_socket *s)
{
	rds::Guard sleeps(rds::kMaySleep); /* the last who has it closes it */

	s->release();
}

void rds_socket_destroy(struct rds_socket *s)
{
	s->snd_space.close(s);
	s->rcv_mem.close(s);
	if (rds::RdmaSide *side = s->rdma.side.load_acquire())
		side->put();
	if (rds::Flows *flows = s->send_flows.load_acquire())
		flows->put();
	s->~rds_socket();
}

int rds_socket_bind(struct rds_socket *s, const struct rds_endpoint *want)
{
	rds::Guard sleeps(rds::kMaySleep); /* a program's call */

	return s->bind(*want).code();
}

int rds_socket_connect(struct rds_socket *s, const struct rds_endpoint *to)
{
	return s->connect(*to).code();
}

int rds_socket_bound(const struct rds_socket *s, struct rds_endpoint *ep)
{
	if (!s->is_bound())
		return 0;
	*ep = s->bound;
	return 1;
}

int rds_socket_peer(const struct rds_socket *s, struct rds_endpoint *ep)
{
	return const_cast<struct rds_socket *>(s)->get_peer(*ep);
}

int rds_socket_set_transport(struct rds_socket *s, unsigned int type)
{
	return s->set_transport(type).code();
}

int rds_socket_transport(const struct rds_socket *s)
{
	const struct rds_transport *t = rds::read_once(s->trans);

	return t ? static_cast<int>(t->type) : -1;
}

unsigned int rds_socket_caps(const struct rds_socket *s)
{
	const struct rds_transport *t = rds::read_once(s->trans);

	return t ? t->caps : 0;
}

int rds_socket_set_tos(struct rds_socket *s, unsigned char tos)
{
	return s->set_tos(tos).code();
}

unsigned char rds_socket_tos(const struct rds_socket *s)
{
	return s->tos;
}

void rds_socket_set_cong_monitor(struct rds_socket *s, int on, uint64_t mask)
{
	s->net->cong.set_monitor(s->watch, on != 0, mask);
}

void rds_socket_cong_monitor(const struct rds_socket *s, int *on, uint64_t *mask)
{
	*on = s->watch.monitor_on.load();
	*mask = s->watch.monitor_mask.load() | s->watch.armed.load();
}

void rds_socket_set_recverr(struct rds_socket *s, int on)
{
	s->recverr.store(on != 0);
}

int rds_socket_recverr(const struct rds_socket *s)
{
	return s->recverr.load();
}

void rds_socket_set_trace(struct rds_socket *s, int on)
{
	bool now = on != 0;
	bool was = s->tracing.exchange(now);

	if (now && !was)
		s->net->trace_users.fetch_add(1);
	else if (!now && was)
		s->net->trace_users.fetch_sub(1);
}

} // extern "C"
