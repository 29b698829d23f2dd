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
	       p.conn.local_scope() == s.bound.scope;
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

/* How many paths there are on which a message is arriving and of which @wanted(path, word) is true;
 * @room of them are noted with a reference each.  A few buckets at a time: few have one. */
template <typename F>
unsigned int note_arriving(const Net &net, struct rds_path **paths, unsigned int room,
			   F wanted) RDS_SLEEPS
{
	unsigned int found = 0;
	auto note = [&](Path &p, uint64_t word) {
		if (!wanted(p, word))
			return;
		if (found < room) {
			if (!p.conn.refs.get_unless_zero())
				return;
			paths[found] = &p;
		}
		found++;
	};

	for (uint64_t pos = 0; pos < kWalkEnd; let_others_run()) {
		RcuReader rcu;

		for (unsigned int n = 0; pos < kWalkEnd && n < kTableStep; n++)
			pos = net.conns.walk(pos, [&](Conn &c) { each_arriving(c, note); });
	}
	return found;
}

void put_all(struct rds_path **paths, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		paths[i]->conn.put();
}

/* All paths on which a message for one socket is arriving, however many those are. */
class ArrivingAt final
{
public:
	ArrivingAt() = default;
	ArrivingAt(const ArrivingAt &) = delete;
	ArrivingAt &operator=(const ArrivingAt &) = delete;
	~ArrivingAt()
	{
		put_all(paths_, n_);
		rds_free(paths_);
	}
	Status find(const Socket &s) RDS_SLEEPS;
	struct rds_path *const *paths() const
	{
		return paths_;
	}
	unsigned int n() const
	{
		return n_;
	}

private:
	struct rds_path **paths_ = nullptr;
	unsigned int n_ = 0; /* once all are found */
};

/* They are counted, mostly none, and found again when there is room for them and some more. */
Status ArrivingAt::find(const Socket &s)
{
	unsigned int room = 0;

	for (;;) {
		const unsigned int found =
			note_arriving(*s.net, paths_, room, [&](const Path &p, uint64_t word) {
				return is_for(s, p, word);
			});

		if (found <= room) {
			n_ = found;
			return {};
		}
		put_all(paths_, room);
		rds_free(paths_);
		room = found + found / 4 + 1;
		paths_ = static_cast<struct rds_path **>(
			rds_alloc(room * sizeof(*paths_), may_sleep()));
		if (!paths_)
			return Status::fail(err::kEnomem);
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
	struct rds_endpoint from = {p.conn.faddr, p.conn.far_scope(), port_of(word, 16)};

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

struct rds_recv_counts rds_socket::count_held(struct rds_path *const *paths, unsigned int n,
					      const struct rds_endpoint *peer)
{
	HeldCount count(peer);
	{
		Guard g(recv_lock);

		take_arrived();
		count.freeze(recv_flows);
		for (unsigned int i = 0; i < n; i++) {
			const uint64_t word = paths[i]->arriving.load();

			if (word && is_for(*this, *paths[i], word))
				count.arriving(*paths[i], word);
		}
	}
	for (Message *m = reading.front(); m; m = reading.next(m))
		count.queued(*m);
	return count.sum();
}

extern "C" {

int rds_socket_recv_query(struct rds_socket *s, const struct rds_endpoint *peer,
			  struct rds_recv_counts *out) RDS_NO_TSA
{
	if (!s->is_bound())
		return -err::kEnotconn;

	Guard sleeps(kMaySleep); /* a program's call */
	ArrivingAt arriving;
	Status st = s->reader.lock_interruptible();

	if (!st.ok())
		return st.code();
	st = arriving.find(*s);
	if (st.ok())
		*out = s->count_held(arriving.paths(), arriving.n(), peer);
	s->reader.unlock();
	return st.code();
}

void rds_recv_look(struct rds_net *net, struct rds_recv_look *look)
{
	Guard sleeps(kMaySleep); /* a program's call */

	look->n = note_arriving(*net, look->paths, RDS_RECV_LOOK,
				[](const Path &, uint64_t) { return true; });
}

void rds_recv_look_end(struct rds_recv_look *look)
{
	put_all(look->paths, look->n < RDS_RECV_LOOK ? look->n : RDS_RECV_LOOK);
	look->n = 0;
}

void rds_socket_recv_counts(struct rds_socket *s, const struct rds_recv_look *look,
			    struct rds_recv_counts *out)
{
	*out = {};
	if (!s->is_bound())
		return;
	/* More are not looked at with its lock held: a table has many sockets. */
	if (look->n > RDS_RECV_LOOK || !s->reader.try_lock()) {
		*out = {.held = RDS_RECV_UNKNOWN, .span = RDS_RECV_UNKNOWN};
		return;
	}
	*out = s->count_held(look->paths, look->n, nullptr);
	s->reader.unlock();
}

void rds_socket_fill(const struct rds_socket *s, struct rds_socket_fill *out)
{
	*out = {.unread = s->rcv_bytes.load(),
		.unacked = s->snd_space.bytes(),
		.unread_ms = 0,
		.congested_ms = 0,
		.waits = s->unread.any(),
		.congested = s->congested.load_acquire()};
	if (out->waits)
		out->unread_ms = s->unread.age_ms();
	if (out->congested)
		out->congested_ms = s->congested_since.age_ms();
}

} // extern "C"
