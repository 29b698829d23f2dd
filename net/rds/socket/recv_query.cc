// SPDX-License-Identifier: GPL-2.0
#include "recv_query.h"

#include "../hash.h"
#include "../rds_core.h"

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

/* A word at a time: softirqs are off, and the peer says how far. */
void RecvFlow::settle(uint32_t upto)
{
	while (now.contig != upto) {
		const uint32_t at = now.contig + 1, left = upto - now.contig, room = 64 - at % 64;
		const uint32_t n = left < room ? left : room;

		word(at) &= ~(~0ull >> (64 - n) << at % 64);
		now.contig += n;
	}
}

/* So many have arrived behind what is settled, up to the end of their word. */
uint32_t RecvFlow::run()
{
	const uint32_t at = now.contig + 1;
	const uint64_t missing = ~(word(at) >> at % 64);

	return missing ? static_cast<uint32_t>(__builtin_ctzll(missing)) : 64;
}

void RecvFlow::take(uint32_t number)
{
	/* Nobody holds so many: behind it there is room for numbers that wrap. */
	constexpr uint32_t kFar = 1u << 30;

	word(number) |= bit(number);
	if (number - now.first > now.seen - now.first)
		now.seen = number;
	while (uint32_t n = run())
		settle(now.contig + n);
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
	return hash_addr(peer.addr, peer.port, key_) % kFlowRows * kFlowWays;
}

/* The peer's; a new one; that of the row which was silent for longest; or nullptr. */
RecvFlow *RecvFlows::get(const struct rds_endpoint &peer, bool may_grow)
{
	Atomic<RecvFlow *> *way = &slots_[row(peer)];
	RecvFlow *oldest = nullptr;

	for (unsigned int i = 0; i < kFlowWays; i++, way++) {
		RecvFlow *f = way->load();

		if (!f) {
			f = may_grow ? create<RecvFlow>(RDS_ATOMIC) : nullptr;
			if (f) {
				bytes_ += sizeof(*f);
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

void RecvFlows::note(const struct rds_endpoint &peer, const Place &place, bool may_grow)
{
	RecvFlow *f = get(peer, may_grow);

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

} // namespace rds
