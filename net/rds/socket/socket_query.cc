// SPDX-License-Identifier: GPL-2.0
/*
 * socket_query.cc: RDS_RECV_QUERY of a socket: what is held is counted (recv_query.h).
 */
#include "../conn/conn_table.h"
#include "../path/path.h"
#include "recv_query.h"
#include "socket.h"

namespace rds
{
namespace
{

uint16_t port_of(uint64_t word, unsigned int shift)
{
	return static_cast<uint16_t>(word >> shift);
}

bool is_for(const Socket &s, const Path &p, uint64_t word)
{
	return port_of(word, 0) == s.bound.port && same_addr(p.conn.laddr, s.bound.addr) &&
	       p.conn.scope == s.bound.scope;
}

/* Every path of @c on which a message is arriving, and the word that says so. */
template <typename F>
void each_arriving(Conn &c, F fn)
{
	c.for_each_path([&](Path &p) {
		const uint64_t word = p.arriving.load();

		if (word)
			fn(p, word);
	});
}

/* Of which @wanted(path, word) is true those are noted on which a message is arriving, with a
 * reference each.  A few buckets at a time: few have one. */
template <typename F>
void note_arriving(const Net &net, struct rds_recv_look &look, F wanted) RDS_SLEEPS
{
	auto note = [&](Path &p, uint64_t word) {
		if (!wanted(p, word))
			return;
		if (look.n < RDS_RECV_LOOK) {
			if (!p.conn.refs.get_unless_zero())
				return;
			look.paths[look.n] = &p;
		}
		look.n++;
	};

	look.n = 0;
	for (uint64_t pos = 0; pos < kWalkEnd; let_others_run()) {
		RcuReader rcu;

		for (unsigned int n = 0; pos < kWalkEnd && n < kTableStep; n++)
			pos = net.conns.walk(pos, [&](Conn &c) { each_arriving(c, note); });
	}
}

/* Adds up what is held of one peer, or of all. */
class HeldCount final
{
public:
	explicit HeldCount(const struct rds_endpoint *peer) : peer_(peer)
	{
	}
	void freeze(RecvFlows *flows)
	{
		flows_ = flows;
		if (flows_)
			flows_->freeze();
	}
	void queued(const Message &m);
	void arriving(const Path &p, uint64_t word);
	struct rds_recv_counts sum() const;

private:
	bool wants(const struct rds_endpoint &from) const
	{
		return !peer_ || (same_addr(from.addr, peer_->addr) && from.scope == peer_->scope &&
				  (!peer_->port || from.port == peer_->port));
	}

	const struct rds_endpoint *peer_;
	RecvFlows *flows_ = nullptr;
	uint32_t held_ = 0;
	uint64_t span_ = 0; /* of those that are in no flow's */
	bool unknown_ = false;
};

void HeldCount::queued(const Message &m)
{
	struct rds_endpoint from = {m.saddr, m.scope, wire::get16(m.hdr.sport)};
	Place place;

	if (!wants(from))
		return;
	held_++;
	if (RDS_LIKELY(!m.numbered) || !place_of(m.hdr, place)) {
		span_++;
		return;
	}

	RecvFlow *f = flows_ ? flows_->frozen(from) : nullptr;

	if (!f || !f->then.known)
		unknown_ = true;
	else if (!f->hold(place.number))
		span_++;
}

/* Of a flow that nothing has been delivered of yet, no gap is known. */
void HeldCount::arriving(const Path &p, uint64_t word)
{
	struct rds_endpoint from = {p.conn.faddr, p.conn.scope, port_of(word, 16)};

	if (!wants(from))
		return;
	held_++;

	RecvFlow *f = flows_ && word & kArrivingNumbered ? flows_->frozen(from) : nullptr;

	if (f && !f->then.known)
		unknown_ = true;
	else if (!f || !f->hold_arriving(static_cast<uint32_t>(word >> 33)))
		span_++;
}

struct rds_recv_counts HeldCount::sum() const
{
	uint64_t span = span_;

	if (flows_)
		flows_->for_each([&](const RecvFlow &f) {
			if (f.holds())
				span += f.span();
		});
	if (unknown_ || span > RDS_RECV_UNKNOWN)
		span = RDS_RECV_UNKNOWN;
	return {.held = held_, .span = static_cast<uint32_t>(span)};
}

} // namespace
} // namespace rds

using namespace rds;

/*
 * @m has been queued.  Flows are made only while all is paid for: their debt would stay over an
 * empty queue, where no reader makes it smaller, and the port would be full for as long.
 */
void rds_socket::note_place(const Message &m)
{
	struct rds_endpoint from = {m.saddr, m.scope, wire::get16(m.hdr.sport)};
	Place place;

	if (!place_of(m.hdr, place))
		return;

	const bool paid = !rcv_mem.unpaid();

	if (!recv_flows && paid)
		recv_flows = create<RecvFlows>(RDS_ATOMIC, net->key);
	if (!recv_flows)
		return;
	recv_flows->note(from, place, paid);

	const uint32_t before = flow_bytes.load(), now = recv_flows->bytes();

	if (now == before)
		return;
	rcv_mem.add(now - before);
	flow_bytes.fetch_add(now - before);
}

struct rds_recv_counts rds_socket::count_held(const struct rds_recv_look &look,
					      const struct rds_endpoint *peer)
{
	HeldCount count(peer);
	{
		Guard g(recv_lock);
		auto look_at = [&](const Path &p, uint64_t word) {
			if (word && is_for(*this, p, word))
				count.arriving(p, word);
		};

		take_arrived();
		count.freeze(recv_flows);
		if (look.n > RDS_RECV_LOOK)
			net->conns.for_each([&](Conn &c) { each_arriving(c, look_at); });
		else
			for (unsigned int i = 0; i < look.n; i++)
				look_at(*look.paths[i], look.paths[i]->arriving.load());
	}
	for (Message *m = reading.front(); m; m = reading.next(m))
		count.queued(*m);
	return count.sum();
}

extern "C" {

int rds_socket_recv_query(struct rds_socket *s, const struct rds_endpoint *peer,
			  struct rds_recv_counts *out) RDS_NO_TSA
{
	struct rds_recv_look look = {};

	if (!s->is_bound())
		return -err::kEnotconn;

	Guard sleeps(kMaySleep); /* a program's call */
	Status st = s->reader.lock_interruptible();

	if (!st.ok())
		return st.code();
	note_arriving(*s->net, look,
		      [&](const Path &p, uint64_t word) { return is_for(*s, p, word); });
	{
		RcuReader rcu;

		*out = s->count_held(look, peer);
	}
	s->reader.unlock();
	rds_recv_look_end(&look);
	return 0;
}

void rds_recv_look(struct rds_net *net, struct rds_recv_look *look)
{
	Guard sleeps(kMaySleep); /* a program's call */

	note_arriving(*net, *look, [](const Path &, uint64_t) { return true; });
}

void rds_recv_look_end(struct rds_recv_look *look)
{
	for (unsigned int i = 0; i < look->n && i < RDS_RECV_LOOK; i++)
		look->paths[i]->conn.put();
	look->n = 0;
}

void rds_socket_recv_counts(struct rds_socket *s, const struct rds_recv_look *look,
			    struct rds_recv_counts *out)
{
	RcuReader rcu;

	*out = {};
	if (!s->is_bound())
		return;
	/* Messages that arrive on more paths than were noted would be looked for on all that there
	 * are, with the socket's lock held, and that for each socket of a table. */
	if (look->n > RDS_RECV_LOOK || !s->reader.try_lock()) {
		*out = {.held = RDS_RECV_UNKNOWN, .span = RDS_RECV_UNKNOWN};
		return;
	}
	*out = s->count_held(*look, nullptr);
	s->reader.unlock();
}

int rds_socket_fill(const struct rds_socket *s, uint32_t *unacked, uint64_t *unread)
{
	*unacked = s->snd_space.bytes();
	*unread = s->rcv_bytes.load();
	return s->congested.load();
}

} // extern "C"
