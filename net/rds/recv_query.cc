// SPDX-License-Identifier: GPL-2.0
#include "recv_query.h"

#include "net.h"

namespace rds
{

bool place_of(const wire::Header &h, Place &place)
{
	wire::ExtReader r(h);
	wire::ExtView e;

	while (r.next(e)) {
		if (e.type == wire::Ext::kOrder) {
			place = {.number = wire::get32(e.data), .low = wire::get32(e.data + 4)};
			return true;
		}
	}
	return false;
}

uint64_t arriving_number(const wire::Header &h)
{
	Place place;

	return place_of(h, place) ? uint64_t{place.number} << 33 | kArrivingNumbered : 0;
}

/* ---- RecvFlow ---- */

void RecvFlow::assign(const struct rds_endpoint &peer)
{
	now.peer = peer;
	now.known = false;
}

void RecvFlow::note(const Place &place)
{
	uint32_t below = place.low - 1;
	uint32_t settled = below - now.contig;

	if (place.number - place.low >= kOrderWindow) {
		now.known = false;
		return;
	}
	if (now.known && settled <= kOrderWindow)
		settle(below);
	if (!now.known || !is_new(place.number))
		restart(below);
	take(place.number);
}

bool RecvFlow::is_new(uint32_t number) const
{
	uint32_t ahead = number - now.contig;

	return ahead - 1 < kOrderWindow && !(bits_[number % kOrderWindow / 64] & bit(number));
}

/* Another count, of which all up to @below is nothing to us. */
void RecvFlow::restart(uint32_t below)
{
	now.first = now.contig = now.seen = below;
	now.known = true;
	__builtin_memset(bits_, 0, sizeof(bits_));
}

void RecvFlow::settle(uint32_t upto)
{
	while (now.contig != upto) {
		now.contig++;
		word(now.contig) &= ~bit(now.contig);
	}
}

void RecvFlow::take(uint32_t number)
{
	/* Nobody holds so many: behind it there is room for numbers that wrap. */
	constexpr uint32_t kFar = 1u << 30;

	word(number) |= bit(number);
	if (number - now.first > now.seen - now.first)
		now.seen = number;
	while (word(now.contig + 1) & bit(now.contig + 1))
		settle(now.contig + 1);
	if (now.contig - now.first > kFar)
		now.first = now.contig - kFar;
}

bool RecvFlow::hold(uint32_t number)
{
	uint32_t at = number - then.first;

	if (at - 1 >= then.seen - then.first)
		return false;
	if (!held_++ || at < lowest_ - then.first)
		lowest_ = number;
	return true;
}

bool RecvFlow::hold_arriving(uint32_t number)
{
	constexpr uint32_t kMask = (1u << 31) - 1;
	uint32_t ahead = (number - then.contig) & kMask;

	if (ahead - 1 >= kOrderWindow)
		return false;
	number = then.contig + ahead;
	if (number - then.first > then.seen - then.first)
		then.seen = number;
	return hold(number);
}

/* Of those held, and what is missing below the highest of all that have arrived. */
uint32_t RecvFlow::span() const
{
	uint32_t read = lowest_ - then.first - 1, whole = then.contig - then.first;
	uint32_t span = then.seen - then.first - (read < whole ? read : whole);

	/* A peer that lies may use a number twice. */
	return span < held_ ? held_ : span;
}

/* ---- RecvFlows ---- */

RecvFlows::~RecvFlows()
{
	for_each([](RecvFlow &f) { destroy(&f); });
}

unsigned int RecvFlows::row(const struct rds_endpoint &peer) const
{
	uint32_t port = peer.port;

	return hash_addr(peer.addr, seed_ ^ (port << 16 | port)) % kFlowRows * kFlowWays;
}

/* The peer's; a new one; that of the row which was silent for longest; or nullptr. */
RecvFlow *RecvFlows::get(const struct rds_endpoint &peer)
{
	Atomic<RecvFlow *> *way = &slots_[row(peer)];
	RecvFlow *oldest = nullptr;

	for (unsigned int i = 0; i < kFlowWays; i++, way++) {
		RecvFlow *f = way->load();

		if (!f) {
			f = create<RecvFlow>(RDS_ATOMIC);
			if (f) {
				f->assign(peer);
				way->store_release(f);
			}
			return f;
		}
		if (RecvFlow::same(f->now.peer, peer))
			return f;
		if (!oldest || clock_ - f->heard > clock_ - oldest->heard)
			oldest = f;
	}
	oldest->assign(peer);
	return oldest;
}

void RecvFlows::note(const struct rds_endpoint &peer, const Place &place)
{
	RecvFlow *f = get(peer);

	if (!f)
		return;
	f->heard = ++clock_;
	f->note(place);
}

void RecvFlows::freeze()
{
	for_each([](RecvFlow &f) { f.freeze(); });
}

RecvFlow *RecvFlows::frozen(const struct rds_endpoint &peer) const
{
	const Atomic<RecvFlow *> *way = &slots_[row(peer)];

	for (unsigned int i = 0; i < kFlowWays; i++, way++) {
		RecvFlow *f = way->load_acquire();

		if (f && RecvFlow::same(f->then.peer, peer))
			return f;
	}
	return nullptr;
}

/* ---- the query ---- */

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

/* Every path on which a message is arriving, and the word that says so.  RCU reader. */
template <typename F>
void for_each_arriving(const Net &net, F fn)
{
	net.conns.for_each([&](const Conn &c) {
		c.for_each_path([&](Path &p) {
			uint64_t word = p.arriving.load();

			if (word)
				fn(p, word);
		});
	});
}

void remember(struct rds_recv_look &look, Path &p)
{
	if (look.n < RDS_RECV_LOOK)
		look.paths[look.n] = &p;
	look.n++;
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
	if (RDS_LIKELY(!m.hdr.ext[0]) || !place_of(m.hdr, place)) {
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

/* @m has been queued. */
void rds_socket::note_place(const Message &m)
{
	struct rds_endpoint from = {m.saddr, m.scope, wire::get16(m.hdr.sport)};
	Place place;

	if (!place_of(m.hdr, place))
		return;
	if (!recv_flows)
		recv_flows = create<RecvFlows>(RDS_ATOMIC, net->seed);
	if (recv_flows)
		recv_flows->note(from, place);
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
			for_each_arriving(*net, look_at);
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

	Status st = s->reader.lock_interruptible();

	if (!st.ok())
		return st.code();
	{
		RcuReader rcu;

		for_each_arriving(*s->net, [&](Path &p, uint64_t word) {
			if (is_for(*s, p, word))
				remember(look, p);
		});
		*out = s->count_held(look, peer);
	}
	s->reader.unlock();
	return 0;
}

void rds_recv_look(struct rds_net *net, struct rds_recv_look *look)
{
	look->n = 0;
	for_each_arriving(*net, [&](Path &p, uint64_t) { remember(*look, p); });
}

void rds_socket_recv_counts(struct rds_socket *s, const struct rds_recv_look *look,
			    struct rds_recv_counts *out)
{
	*out = {};
	if (!s->is_bound())
		return;
	if (!s->reader.try_lock()) {
		*out = {.held = RDS_RECV_UNKNOWN, .span = RDS_RECV_UNKNOWN};
		return;
	}
	*out = s->count_held(*look, nullptr);
	s->reader.unlock();
}

} // extern "C"
