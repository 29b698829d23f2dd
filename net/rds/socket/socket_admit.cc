// SPDX-License-Identifier: GPL-2.0
/*
 * socket_admit.cc: a message gets room in its socket's send queue, and then is made.
 *
 * In this order, and nothing of a message is there before it has its room: a program may have any
 * number of threads that wait, each with a message of any length
 * (docs/decisions/033-room-first.md).
 */
#include "../conn/conn_table.h"
#include "../order.h"
#include "socket.h"

using rds::CongMap;
using rds::Conn;
using rds::Message;
using rds::Result;
using rds::Status;
namespace err = rds::err;

/* The map that messages to @to ask, with a reference: that of their connection, which is made if
 * there is none.  Its address may be one of ours, too. */
Result<CongMap *> rds_socket::map_to(const struct rds_endpoint &to)
{
	{
		rds::RcuReader rcu;
		const Conn *known = known_conn(to);

		if (known) {
			known->fcong->refs.get();
			return known->fcong;
		}
	}
	auto made = net->conns.get(*net, *trans, bound.addr, to.addr, scope_to(to), tos, &user);

	if (!made.ok())
		return made.status();

	CongMap *map = made.value()->fcong;

	map->refs.get();
	made.value()->put();
	return map;
}

/* Whether a message to @to would get on its way, of one that is not made.  -ENOBUFS: its port is
 * full, and the socket waits for it. */
Status rds_socket::ask_way(const struct rds_endpoint &to)
{
	auto map = map_to(to);

	if (!map.ok())
		return map.status();

	CongMap &ports = *map.value();
	Status st = ports.test(to.port) ? net->cong.wait(watch, ports, to.port) : Status();

	net->cong.put(ports);
	return st;
}

bool rds_socket::refused(const struct rds_endpoint &to)
{
	auto map = map_to(to);
	const bool full = !map.ok() || rds::CongTable::arm_monitor(watch, *map.value(), to.port);

	if (map.ok())
		net->cong.put(*map.value());
	net->count(RDS_S_cong_send_error, full);
	return full;
}

/* Takes room for a message to @to before there is one, and pays for it: a sender that waits has
 * nothing, and pays for nothing.  All else that is wrong is told before a full queue is; and a
 * program that sends on to a full port is told without a message that was made in vain. */
Status rds_socket::admit(const struct rds_endpoint &to, uint32_t len, uint32_t mem)
{
	if (!is_bound())
		return Status::fail(err::kEnotconn);

	Status st = RDS_UNLIKELY(rds::read_once(watch.n_waits)) ? ask_way(to) : Status();

	if (RDS_UNLIKELY(!st.ok()))
		return st;
	if (RDS_LIKELY(snd_space.take(this, len, mem))) {
		st = snd_space.pay(this);
		if (RDS_UNLIKELY(!st.ok()))
			give_room(len, mem);
		return st;
	}
	st = ask_way(to);
	if (!st.ok())
		return st;
	net->count(RDS_S_send_queue_full);
	return Status::fail(err::kEagain);
}

void rds_socket::give_room(uint32_t len, uint32_t mem)
{
	rds::RcuReader rcu;

	snd_space.give(this, len, mem);
}

namespace
{

/* A message of bytes that are copied. */
Status make_copy(uint32_t len, struct rds_uio *from, Message *&m) RDS_SLEEPS
{
	m = rds::message_create(len, rds::may_sleep());
	if (!m)
		return Status::fail(err::kEnomem);
	if (!len)
		return Status();

	Status copied(rds_payload_from_user(m->payload(), from));

	if (RDS_UNLIKELY(!copied.ok()))
		rds::message_put(m);
	return copied;
}

/* A message of pages that are lent. */
Status make_lent(uint32_t len, struct rds_uio *from, uint32_t cookie, Message *&m) RDS_SLEEPS
{
	m = rds::message_alloc(len, rds::may_sleep());
	if (!m)
		return Status::fail(err::kEnomem);

	Status lent = rds::message_lend(*m, cookie);

	if (lent.ok())
		lent = Status(rds_payload_pin_user(m->payload(), len, from));
	if (lent.ok())
		m->flags = rds::kMsgPinned;
	else
		rds::message_free_raw(m);
	return lent;
}

} // namespace

extern "C" {

int rds_msg_create(struct rds_socket *s, const struct rds_endpoint *to, uint32_t len,
		   struct rds_uio *from, int zcopy, uint32_t cookie, struct rds_msg **out)
{
	rds::Guard sleeps(rds::kMaySleep); /* a program's call */
	const uint32_t charge = rds::message_cost(len, zcopy != 0);
	Status st = s->admit(*to, len, charge);
	Message *m;

	if (RDS_UNLIKELY(!st.ok()))
		return st.code();
	st = RDS_UNLIKELY(zcopy) ? make_lent(len, from, cookie, m) : make_copy(len, from, m);
	if (RDS_UNLIKELY(!st.ok())) {
		s->give_room(len, charge);
		s->net->count(RDS_S_send_no_memory, st.is(err::kEnomem));
		return st.code();
	}
	if (len && !zcopy)
		s->net->count(RDS_S_copy_from_user, len);
	m->charge = charge;
	rds::set_order(*m, static_cast<rds::Order>(s->order.load()));
	*out = m;
	return 0;
}

void rds_msg_drop(struct rds_socket *s, struct rds_msg *m)
{
	const uint32_t len = m->len, charge = m->charge;

	rds::message_put(m);
	s->give_room(len, charge);
}

} // extern "C"
