// SPDX-License-Identifier: GPL-2.0
/*
 * socket_send.cc: a socket's send side: the way of a message to a path's queue, and back.
 */
#include "../conn/conn_table.h"
#include "../order.h"
#include "../path/path.h"
#include "socket.h"

using rds::Conn;
using rds::Message;
using rds::Status;
namespace err = rds::err;

/*
 * The cache is two words that change together: a writer first makes the generation impossible, a
 * reader looks at it again after the pointer (docs/locking.md, "Connection cache").
 */
void rds_socket::remember(Conn *c, uint64_t gen)
{
	c->use();
	sent_to.note(c->faddr);

	rds::Guard g(small_lock);

	conn_gen.exchange(~0ull);
	conn_cache.store_release(c); /* not before the generation was made impossible */
	conn_gen.store_release(gen);
}

/* An existing connection to @to; valid inside the caller's RCU section. */
Conn *rds_socket::known_conn(const struct rds_endpoint &to)
{
	uint64_t gen = net->conns.generation();
	bool fresh = conn_gen.load_acquire() == gen;
	Conn *c = conn_cache.load_acquire();

	if (RDS_LIKELY(fresh && conn_gen.load_acquire() == gen &&
		       rds::same_addr(c->faddr, to.addr) && c->scope == scope_to(to) &&
		       c->tos == tos))
		return c;
	c = net->conns.find(*trans, bound.addr, to.addr, scope_to(to), tos, net->key);
	if (c)
		remember(c, gen);
	return c;
}

/*
 * Over @c; @token becomes the path that the caller has to transmit, with a reference on @c.  False:
 * @c has no path for this yet, or it just became another.
 */
bool rds_socket::send_over(Conn &c, uint16_t port, Message *m, bool more, rds::XmitToken &token,
			   Status &st)
{
	rds::Path *path = c.path_for(bound.port, port);

	if (RDS_UNLIKELY(!path))
		return false;
	if (RDS_UNLIKELY(c.fcong->test(port)))
		st = Status::fail(err::kEnobufs);
	else if (RDS_UNLIKELY(m->flags & rds::kMsgPinned) && !(c.trans.caps & RDS_CAP_ZEROCOPY))
		st = Status::fail(err::kEopnotsupp);
	else if (RDS_UNLIKELY(m->rdma()) && m->rdma_side->has_op && !(c.trans.caps & RDS_CAP_RDMA))
		st = Status::fail(err::kEopnotsupp); /* to an address of this host */
	else
		return queue_on(*path, port, m, more, token, st);
	return true;
}

/* @m, which is for @port, goes to a socket of this host in this call, if that is simple. */
bool rds_socket::send_at_once(rds::Path &path, uint16_t port, Message &m)
{
	const Conn &c = path.conn;
	const uint32_t len = m.len, charge = m.charge;
	rds::Socket *to = net->bind.find(c.faddr, c.far_scope(), port, net->key);

	/* A ping is for no socket, and for none that is there what is thrown away is counted. */
	if (!to || m.has != rds::MsgHas::kNothing || !to->deliver_at_once(m, path))
		return false;
	snd_space.give(this, len, charge);
	return true;
}

bool rds_socket::queue_on(rds::Path &path, uint16_t port, Message *m, bool more,
			  rds::XmitToken &token, Status &st)
{
	m->sock = this;
	m->tos = tos;
	rds::wire::encode(m->hdr, m->len, bound.port, port, 0);
	if (RDS_UNLIKELY(m->rdma()))
		rds::msg_rdma_stamp(*m);
	else if (RDS_UNLIKELY(m->zcopy()))
		path.conn.lends.store(true);

	/* Once queued the message may be gone: nothing of it is used below. */
	rds::Path *at = &path;
	rds::Flows *in = send_flows.load_acquire();

	if (path.conn.trans.other_end && !in && send_at_once(path, port, *m)) {
		net->count(RDS_S_send_queued);
		st = Status();
		return true;
	}

	auto queued = RDS_UNLIKELY(in) ? in->enqueue(path.conn, m, more, at, token.batch)
				       : path.enqueue(m, more, &token.batch);
	bool moved = queued.ok() && queued.value() == rds::Queued::kMoved;

	st = queued.status();
	if (RDS_UNLIKELY(!queued.ok() || moved)) {
		m->sock = nullptr;
		return !moved;
	}
	net->count(RDS_S_send_queued);
	if (queued.value() == rds::Queued::kTransmit) {
		/* The token is ours; the path's end waits for it, and so the table's reference. */
		at->conn.refs.get();
		token.path = at;
	}
	return true;
}

/* As try_send(), when no connection or no path of it is there: makes what is missing. */
Status rds_socket::send_anew(const struct rds_endpoint &to, Message *m, bool more,
			     rds::XmitToken &token)
{
	for (;;) {
		uint64_t gen = net->conns.generation();
		auto made =
			net->conns.get(*net, *trans, bound.addr, to.addr, scope_to(to), tos, &user);

		if (!made.ok())
			return made.status();

		Conn *c = made.value();

		Status st = c->provide(c->fan.index_for(bound.port, to.port)).status();

		/* It may go on any; one that cannot be made is not used. */
		if (m->flags & rds::kMsgUnordered)
			for (uint32_t i = 0; i < c->fan.n_paths(); i++)
				(void)c->provide(i);

		bool done = !st.ok() && c->life.call_off();

		if (st.ok()) {
			rds::RcuReader rcu;

			done = send_over(*c, to.port, m, more, token, st);
		}
		if (done)
			remember(c, gen);
		c->put();
		if (done)
			return st;
	}
}

Status rds_socket::try_send(const struct rds_endpoint &to, Message *m, bool more)
{
	rds::XmitToken token;
	bool done;
	Status st;
	{
		rds::RcuReader rcu;
		Conn *c = known_conn(to);

		done = c && send_over(*c, to.port, m, more, token, st);
	}
	if (RDS_UNLIKELY(!done))
		st = send_anew(to, m, more, token);
	if (token.path) {
		Conn &c = token.path->conn;

		token.path->transmit(token.batch);
		c.put();
	}
	return st;
}

/* A local receiver would read the caller's pages after we gave them back.  The copy is paid for as
 * any other: lent pages counted nothing. */
Status rds_socket::copy_pages(Message &m)
{
	Status copied(rds_payload_unpin(m.payload()));

	if (!copied.ok())
		return copied;
	m.flags &= static_cast<uint16_t>(~rds::kMsgPinned);

	const uint32_t lent = m.charge;

	rds::message_charge_payload(m);
	snd_space.grow(m.charge - lent);
	return snd_space.pay(this);
}

Status rds_socket::send(const struct rds_endpoint &to, Message *m, bool more)
{
	if (RDS_UNLIKELY(to.port == rds::kPingPort))
		pinged.store(true); /* before the pong can come */
	for (;;) {
		Status st = try_send(to, m, more);

		if (st.is(err::kEopnotsupp) && m->flags & rds::kMsgPinned) {
			st = copy_pages(*m);
			if (!st.ok())
				return st;
			continue;
		}
		if (RDS_LIKELY(!st.is(err::kEnobufs)))
			return st;

		st = ask_way(to);
		if (!st.ok())
			return st;
		/* It cleared while we registered: once more. */
	}
}

namespace rds
{

void sender_done(Socket &s, uint32_t bytes, uint32_t mem, ZcopyNote *note)
{
	unsigned int wake = 0;

	if (RDS_UNLIKELY(note)) {
		Guard g(s.small_lock);

		if (!s.dead.load()) {
			s.zcopy_done.push_back(note);
			s.zcopy_count.fetch_add(1);
			wake = RDS_WAKE_READ;
			note = nullptr;
			bug_on(mem < kZcopyNoteBytes,
			       "a note holds more room than its message had");
			mem -= kZcopyNoteBytes;
		}
	}
	if (RDS_UNLIKELY(note))
		rds_free(note);
	s.snd_space.give(&s, bytes, mem, wake);
}

bool sender_short_of_room(Socket &s)
{
	return s.snd_space.short_of_room(&s);
}

bool sender_has_flows(const Socket &s)
{
	return s.send_flows.load_acquire();
}

bool sender_converses(Socket &s)
{
	return s.has_read.load() && s.has_read.exchange(false);
}

bool sender_is_gone(const Socket &s)
{
	return s.dead.load();
}

bool sender_is_done(const Socket &s)
{
	return s.snd_space.empty();
}

} // namespace rds

bool rds_socket::congested_to(const struct rds_endpoint &to)
{
	rds::RcuReader rcu;

	if (!is_bound())
		return false;

	Conn *c = known_conn(to);

	return c && c->fcong->test(to.port);
}

void rds_socket::cancel(const struct rds_endpoint *to)
{
	if (!is_bound() || snd_space.empty())
		return;

	auto cancel_to = [&](const struct rds_addr &addr) RDS_NO_TSA {
		net->conns.visit_of(bound.addr, addr, net->key,
				    [&](Conn &c) RDS_NO_TSA { cancel_on(c, to ? to->port : -1); });
	};

	if (to)
		cancel_to(to->addr);
	else if (sent_to.is_complete())
		sent_to.for_each(cancel_to);
	else
		for (uint64_t pos = 0; pos < rds::kWalkEnd && !snd_space.empty();
		     rds::let_others_run())
			pos = net->conns.visit(pos, [&](Conn &c) RDS_SLEEPS {
				if (rds::same_addr(c.laddr, bound.addr))
					cancel_on(c, -1);
			});
}

void rds_socket::cancel_on(Conn &c, int to_port)
{
	if (rds::Flows *mine = send_flows.load_acquire())
		mine->cancel(c, to_port);
	/* A program that is killed closes the socket next: that is needed. */
	const bool needed = rds::sender_is_gone(*this);

	c.for_each_path_as_messages_move([&](rds::Path &p) RDS_NO_TSA {
		user.take_turn(needed, [&]() RDS_NO_TSA { p.cancel(*this, to_port); });
	});
}

extern "C" {

int rds_msg_set_order(struct rds_socket *s, struct rds_msg *m, uint32_t order)
{
	rds::Guard sleeps(rds::kMaySleep); /* a program's call */
	Status st = rds::Flows::expect(s->send_flows, order);

	if (st.ok())
		rds::set_order(*m, static_cast<rds::Order>(order));
	return st.code();
}

int rds_socket_set_order(struct rds_socket *s, uint32_t order)
{
	rds::Guard sleeps(rds::kMaySleep); /* a program's call */
	Status st = rds::Flows::expect(s->send_flows, order);

	if (st.ok())
		s->order.store(order);
	return st.code();
}

uint32_t rds_socket_order(const struct rds_socket *s)
{
	return s->order.load();
}

int rds_socket_send(struct rds_socket *s, const struct rds_endpoint *to, struct rds_msg *m,
		    int more)
{
	rds::Guard sleeps(rds::kMaySleep); /* a program's call */

	return s->send(*to, m, more != 0).code();
}

int rds_socket_writable(const struct rds_socket *s)
{
	return const_cast<struct rds_socket *>(s)->writable();
}

int rds_socket_congested(struct rds_socket *s, const struct rds_endpoint *to)
{
	return s->congested_to(*to);
}

void rds_socket_note_blocked(struct rds_socket *s)
{
	s->net->count(RDS_S_cong_send_blocked);
}

int rds_socket_refused(struct rds_socket *s, const struct rds_endpoint *to)
{
	rds::Guard sleeps(rds::kMaySleep); /* a program's call */

	return s->refused(*to);
}

void rds_socket_cancel(struct rds_socket *s, const struct rds_endpoint *to)
{
	rds::Guard sleeps(rds::kMaySleep); /* a program's call */

	s->cancel(to);
}

} // extern "C"
