// SPDX-License-Identifier: GPL-2.0
/*
 * socket_recv.cc: a socket's receive side: delivery, reading, and congestion of its port.
 */
#include "../path/path.h"
#include "recv_query.h"
#include "socket.h"

using rds::Deliver;
using rds::Guard;
using rds::Message;
using rds::Status;

namespace
{

RDS_INLINE void describe(const rds::Socket &s, const Message &m, struct rds_recv_info &info)
{
	info.from.addr = m.saddr;
	info.from.scope = m.scope;
	info.from.port = rds::wire::get16(m.hdr.sport);
	info.len = m.len;
	/* Of a transport without RDMA it would be a key that means nothing here. */
	info.cookie = RDS_UNLIKELY(m.hdr.ext[0]) && s.trans->caps & RDS_CAP_RDMA
			      ? rds::rdma_cookie(m.hdr)
			      : 0;
	info.stamp_ns = m.stamp_ns;
	__builtin_memcpy(info.trace_ns, m.trace_ns, sizeof(info.trace_ns));
}

} // namespace

RDS_INLINE uint32_t rds_socket::recv_limit() const
{
	uint32_t asked = rds_socket_rcvbuf(this);

	return asked < rds::kMostRcvbuf ? asked : rds::kMostRcvbuf;
}

/*
 * A socket whose messages are charged to nobody would be no part of its cgroup's limit, and any
 * host may send to it.  Of a cgroup that has no more, @m is taken on credit if all of it fits; one
 * that is larger waits for memory, and not for a reader, as with half of the credit used up.
 * Somebody who has the socket locked is done soon, and the next message pays: one is taken till
 * then.
 */
bool rds_socket::pays_for(const Message &m)
{
	const bool may_have_more = rcv_mem.pay(this, m.charge, RDS_ATOMIC).ok();

	return rcv_mem.unpaid() <= rds::kMostDebt / 2 &&
	       (may_have_more || rcv_mem.unpaid(m.charge) <= rds::kMostDebt);
}

/* A message that spills is paid for, and counted in: no more is asked of it. */
RDS_INLINE bool rds_socket::has_room_for(Message &m, uint32_t limit, bool spills)
{
	if (RDS_UNLIKELY(unread_mem() / rds::kHardMemFactor > limit))
		return spills && may_spill(m, limit);
	return RDS_LIKELY(rcv_mem.unpaid(m.charge) <= rds::kMostDebt / 2) || pays_for(m);
}

/* The limit may have been lowered since the last message came: that we are full has to be said. */
Deliver rds_socket::refuse()
{
	bool news;
	{
		Guard g(recv_lock);

		if (dead.load())
			return Deliver::kClosed;
		news = !congested.load() && congest();
	}
	if (news)
		rds::CongTable::local_changed(*net, *lcong, bound.port, true);
	return Deliver::kFull;
}

/* Notes when @m came.  False: there is no room. */
RDS_INLINE bool rds_socket::expects(Message &m, rds::Arrival &how, bool spills)
{
	how.limit = recv_limit();
	if (RDS_UNLIKELY(!has_room_for(m, how.limit, spills)))
		return false;
	m.stamp_ns = rds_socket_stamp(this);
	if (RDS_UNLIKELY(net->trace_users.load()))
		m.trace_ns[2] = rds_now_ns();
	return true;
}

/* @m is the reader's once the lock is given up, who may free it.  False: closed. */
RDS_INLINE bool rds_socket::arrive(Message &m, rds::Arrival &how)
{
	if (rds::bug_on_hot(!lcong, "a message is for a socket that has no address") || dead.load())
		return false;
	how.first = arrived.empty();
	how.len = m.len;
	arrived.push_back(&m);
	if (RDS_UNLIKELY(m.numbered))
		note_place(m);
	if (how.first)
		unread.arrives();

	const uint64_t bytes = rcv_bytes.fetch_add(m.len) + m.len;

	(void)rcv_mem.add(m.charge);
	how.congested =
		RDS_UNLIKELY(bytes > how.limit || unread_mem() / rds::kMemFactor > how.limit) &&
		!congested.load() && congest();
	return true;
}

RDS_INLINE void rds_socket::after_arrival(const rds::Arrival &how)
{
	net->count(RDS_S_recv_queued);
	net->count(RDS_S_recv_bytes_added_to_sock, how.len);
	if (RDS_UNLIKELY(!rcv_mem.covers(0)))
		(void)rcv_mem.pay(this, 0, RDS_ATOMIC);
	if (how.congested)
		rds::CongTable::local_changed(*net, *lcong, bound.port, true);
	if (how.first || RDS_UNLIKELY(wake_each.load()))
		rds_socket_wake(this, RDS_WAKE_READ);
}

Deliver rds_socket::deliver(Message *m, rds::Atomic<uint64_t> &arriving, bool spills)
{
	rds::Arrival how;

	if (RDS_UNLIKELY(!expects(*m, how, spills)))
		return refuse();
	{
		Guard g(recv_lock);

		if (!arrive(*m, how))
			return Deliver::kClosed;
		arriving.store(0);
	}
	after_arrival(how);
	return Deliver::kTaken;
}

bool rds_socket::deliver_at_once(Message &m, struct rds_path &path)
{
	rds::Arrival how;

	if (RDS_UNLIKELY(!expects(m, how, false)) || !path.deliver_at_once(m, *this, how))
		return false;
	after_arrival(how);
	return true;
}

bool rds::arrive(Socket &to, Message &m, Arrival &how)
{
	Guard g(to.recv_lock);

	return to.arrive(m, how);
}

/*
 * Sets our port's bit.  The reader gives bytes back without our lock: (1) we say "congested", (2)
 * we look at the bytes again; it (1) takes bytes away, (2) looks at "congested".  All four are in
 * one order (Atomic::load_seq), so one of us sees the other, and the bit never stays set over an
 * empty queue.
 */
bool rds_socket::congest()
{
	congested_since.set_to_now();
	congested.exchange(true);
	if (below_low_water()) {
		congested.store(false);
		return false;
	}
	return lcong->set(bound.port);
}

bool rds_socket::below_low_water() const
{
	uint32_t limit = recv_limit() / 2;

	return rcv_bytes.load_seq() < limit && unread_mem() / rds::kMemFactor < limit &&
	       rcv_mem.unpaid() <= rds::kMostDebt / 2;
}

void rds_socket::maybe_uncongest()
{
	bool changed;

	if (!below_low_water())
		return;
	{
		Guard g(recv_lock);

		if (!congested.load() || !below_low_water())
			return;
		congested.store(false);
		changed = lcong->clear(bound.port);
	}
	if (changed)
		rds::CongTable::local_changed(*net, *lcong, bound.port, false);
}

/* Messages that arrived become the reader's. */
void rds_socket::take_arrived()
{
	if (arrived.empty())
		return;
	unread.taken(reading.back());
	reading.splice_back(arrived);
}

Message *rds_socket::recv_head()
{
	if (reading.empty() && unread.has_arrived()) {
		Guard g(recv_lock);

		take_arrived();
	}
	return reading.front();
}

/* The one behind @m, which has been read, if that is of the same sender. */
Message *rds_socket::recv_next(Message &m)
{
	if (!reading.next(&m) && unread.has_arrived()) {
		Guard g(recv_lock);

		take_arrived();
	}

	Message *next = reading.next(&m);

	return next && rds::wire::get16(next->hdr.sport) == rds::wire::get16(m.hdr.sport) &&
			       next->scope == m.scope && next->tos == m.tos &&
			       rds::same_addr(next->saddr, m.saddr)
		       ? next
		       : nullptr;
}

/* The oldest is the reader's no longer: what it held is added to @sum. */
RDS_INLINE Message *rds_socket::take_read(ReadSum &sum)
{
	Message *m = reading.pop_front();

	if (rds::bug_on_hot(!m, "more messages are read than there are"))
		return nullptr;
	sum.n++;
	sum.bytes += m->len;
	sum.charge += m->charge;
	unread.read(m, reading.empty());
	return m;
}

RDS_INLINE void rds_socket::after_read(const ReadSum &sum)
{
	net->count(RDS_S_recv_delivered, sum.n);
	net->count(RDS_S_recv_bytes_freed_fromsock, sum.bytes);
	rcv_bytes.fetch_sub(sum.bytes);
	rcv_mem.sub(sum.charge);
	if (RDS_UNLIKELY(rcv_mem.overpaid()))
		rcv_mem.take_back(this);
	if (RDS_UNLIKELY(congested.load_seq()))
		maybe_uncongest();
}

/* The room of a bin on the stack would cost one message more than it saves. */
__attribute__((noinline)) void rds_socket::pop_many(unsigned int n)
{
	rds::MessageBin bin;
	ReadSum sum;

	while (n--) {
		if (Message *m = take_read(sum))
			bin.put(m);
	}
	after_read(sum);
}

void rds_socket::recv_pop(unsigned int n)
{
	if (!has_read.load())
		has_read.store(true);
	if (RDS_UNLIKELY(n != 1))
		return pop_many(n);

	ReadSum sum;

	if (Message *m = take_read(sum))
		rds::message_put(m);
	after_read(sum);
}

bool rds_socket::readable() const
{
	return unread.any() || watch.cong_notice.load() || rdma.notices.load();
}

unsigned int rds_socket::poll()
{
	unsigned int mask = 0;

	if (readable() || zcopy_count.load())
		mask |= RDS_POLL_IN;
	if (watch.cong_event.load() && watch.cong_event.exchange(false) && !watch.monitor_on.load())
		mask |= RDS_POLL_CONG;
	if (writable())
		mask |= RDS_POLL_OUT;
	return mask;
}

void rds::wake(CongWatch &w, unsigned int what)
{
	rds_socket_wake(container_of(&w, &rds_socket::watch), what);
}

/* Closed: nothing more arrives, and what did is thrown away. */
void rds_socket::drop_received()
{
	rds::List<Message, &Message::recv_link> gone;
	rds::RecvFlows *no_more;
	bool was_congested;
	{
		Guard r(reader);

		gone.splice_back(reading);
		Guard g(recv_lock);

		no_more = recv_flows;
		recv_flows = nullptr;
		rcv_mem.sub(flow_bytes.exchange(0));
		gone.splice_back(arrived);
		unread.dropped();
		was_congested = congested.exchange(false);
		if (was_congested)
			was_congested = lcong->clear(bound.port);
	}
	rds::destroy(no_more);
	while (Message *m = gone.pop_front()) {
		net->count(RDS_S_recv_bytes_freed_fromsock, m->len);
		rds::message_put(m);
	}
	if (was_congested)
		rds::CongTable::local_changed(*net, *lcong, bound.port, false);
}

extern "C" {

int rds_recv_lock(struct rds_socket *s) RDS_NO_TSA
{
	return s->reader.lock_interruptible().code();
}

void rds_recv_unlock(struct rds_socket *s) RDS_NO_TSA
{
	s->reader.unlock();
}

struct rds_msg *rds_recv_head(struct rds_socket *s, struct rds_recv_info *info) RDS_NO_TSA
{
	Message *m = s->recv_head();

	if (m)
		describe(*s, *m, *info);
	return m;
}

struct rds_msg *rds_recv_next(struct rds_socket *s, struct rds_msg *m,
			      struct rds_recv_info *info) RDS_NO_TSA
{
	Message *next = s->recv_next(*m);

	if (next)
		describe(*s, *next, *info);
	return next;
}

void rds_recv_pop(struct rds_socket *s, unsigned int n) RDS_NO_TSA
{
	s->recv_pop(n);
}

int rds_recv_copy(struct rds_socket *s, struct rds_msg *m, uint32_t n, struct rds_uio *to)
{
	if (!n)
		return 0;
	s->net->count(RDS_S_copy_to_user, n);
	return rds_payload_to_user(m->payload(), 0, n, to);
}

uint64_t rds_socket_cong_notice(const struct rds_socket *s)
{
	return s->watch.cong_notice.load();
}

void rds_socket_cong_notice_done(struct rds_socket *s, uint64_t mask)
{
	s->watch.cong_notice.fetch_and(~mask);
}

unsigned int rds_socket_zcopy(struct rds_socket *s, uint32_t *cookies, unsigned int max)
{
	Guard g(s->small_lock);
	unsigned int n = 0;

	for (rds::ZcopyNote *z = s->zcopy_done.front(); z && n < max; z = s->zcopy_done.next(z))
		cookies[n++] = z->cookie;
	return n;
}

void rds_socket_zcopy_done(struct rds_socket *s, unsigned int n)
{
	if (RDS_LIKELY(!n))
		return; /* each recvmsg asks */

	rds::RcuReader rcu;

	while (n--) {
		rds::ZcopyNote *z;
		{
			Guard g(s->small_lock);
			z = s->zcopy_done.pop_front();
		}
		if (!z)
			return;
		s->zcopy_count.fetch_sub(1);
		rds_free(z);
		s->snd_space.give(s, 0, rds::kZcopyNoteBytes);
	}
}

int rds_socket_readable(const struct rds_socket *s)
{
	return s->readable();
}

unsigned int rds_socket_poll(struct rds_socket *s)
{
	return s->poll();
}

void rds_socket_wake_each(struct rds_socket *s)
{
	s->wake_each.store(true);
}

} // extern "C"
