// SPDX-License-Identifier: GPL-2.0
/* Frames that come, and an old release's dealings with them.  The line is locked. */
#include <algorithm>
#include <iterator>

#include "mainline.h"
#include "paired_parts.h"
#include "sim.h"

namespace peer
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
/* How late an old one of ours acknowledges. */
constexpr uint64_t kAckNs = 5 * kMs;
constexpr size_t kExtBytes = 16; /* of a header, for extension headers */

} // namespace

void Mainline::came(Line &l)
{
	Remote *r = by_line(l);
	bool ended = l.end().dead || l.end().fin_in;

	if (!r)
		return;
	if (r->state == State::kCalling && l.end().dead) {
		go_down(*r);
		return;
	}
	if (r->state != State::kUp && r->state != State::kDraining)
		return;
	if (slow_ && !r->read_at) {
		r->read_at = sim::now_ns() + sim::random_below(3 * kMs);
		later(r->read_at - sim::now_ns(), *r, [this, line = r->line](Remote &r) {
			tube::Locked l(line->end());

			if (r.line == line)
				came(*line);
		});
	}
	/* 7.x reads before it closes, 6.x does not. */
	if (sim::now_ns() >= r->read_at || (ended && version != Version::k6)) {
		r->read_at = 0;
		read(*r);
	}
	if (r->line.get() == &l && ended)
		go_down(*r);
}

void Mainline::read(Remote &r)
{
	size_t at = 0;
	host::Bytes b = r.line->read();

	r.in.insert(r.in.end(), b.begin(), b.end());
	while (r.in.size() - at >= RDS_HEADER_BYTES) {
		size_t n = RDS_HEADER_BYTES + get_be(&r.in[at + 16], 4);

		if (r.in.size() - at < n)
			break;
		take(r, host::Bytes(r.in.data() + at, r.in.data() + at + n));
		at += n;
	}
	r.in.erase(r.in.begin(), r.in.begin() + static_cast<long>(at));
	pump(r);
}

/* ---- of an old one of ours ---- */

uint64_t Mainline::ack(const Remote &r) const
{
	return version == Version::kOld && r.met && r.next_rx ? r.next_rx - 1 : 0;
}

void Mainline::acknowledge(Remote &r, bool now)
{
	auto bare = [this](Remote &r) {
		host::Bytes f = frame(0, 0, 0, kRetransmitted, {});

		r.ack_due = false;
		put_be(f, kAckAt, 8, ack(r));
		r.line->put(f);
	};

	if (now) {
		bare(r);
		return;
	}
	if (r.ack_due)
		return;
	r.ack_due = true;
	later(kAckNs, r, [this, line = r.line, bare](Remote &r) {
		tube::Locked l(line->end());

		if (r.line == line && r.state == State::kUp && r.ack_due)
			bare(r);
	});
}

/* Every frame, before anything else is made of it.  True: it is no message. */
bool Mainline::heard(Remote &r, const host::Bytes &m)
{
	if (!r.met) {
		uint32_t generation = hello_generation(m);

		r.met = true;
		if (generation != r.generation)
			r.next_rx = 0;
		r.generation = generation;
	}

	const uint64_t has = get_be(&m[kAckAt], 8);

	while (!r.queue.empty() && r.queue.front().end &&
	       get_be(&r.queue.front().bytes[0], 8) <= has)
		r.queue.pop_front();
	if (m[kFlagsAt] == kMapFlag)
		return false;
	if (!get_be(&m[0], 8))
		return true;
	if (get_be(&m[0], 8) >= r.next_rx)
		return false;
	acknowledge(r, true); /* it had that */
	return true;
}

/* A probe's or its answer's account of the other end. */
void Mainline::take_probe(Remote &r, const unsigned char *ext, size_t n)
{
	/* Bytes behind the type, of those that a probe may have. */
	constexpr size_t kSizes[] = {0, 4, 4, 8, 8, 2, 4, 4, 1};
	unsigned int npaths = 1;
	uint32_t generation = 0;

	for (size_t at = 0; at < n && ext[at] && ext[at] < std::size(kSizes);) {
		const size_t size = kSizes[ext[at]];

		if (at + 1 + size > n)
			break;
		if (ext[at] == 5)
			npaths = static_cast<unsigned int>(get_be(ext + at + 1, 2));
		if (ext[at] == 6)
			generation = static_cast<uint32_t>(get_be(ext + at + 1, 4));
		at += 1 + size;
	}
	r.npaths = std::clamp(npaths, 1u, kPaths);
	if (version != Version::k7 || !generation)
		return;
	if (r.generation && r.generation != generation)
		r.next_rx = 0;
	r.generation = generation;
}

void Mainline::take(Remote &r, const host::Bytes &m)
{
	uint64_t seq = get_be(m.data(), 8);
	auto sport = static_cast<uint16_t>(get_be(&m[20], 2));
	auto dport = static_cast<uint16_t>(get_be(&m[22], 2));
	uint8_t flags = m[24];
	host::Bytes data(m.begin() + RDS_HEADER_BYTES, m.end());

	if (version == Version::kOld && heard(r, m))
		return;
	if (flags == kMapFlag) {
		if (data.size() == kMapBytes)
			r.map = data;
		return;
	}
	if (seq < r.next_rx && flags & kRetransmitted) {
		return;
	}
	r.next_rx = seq + 1;
	if (version == Version::kOld)
		acknowledge(r, flags & kAckRequired);
	if (!sport && !dport)
		return;
	if (!dport) {
		if (sport == 1)
			take_probe(r, &m[32], kExtBytes);
		probe(r, 0, sport);
	} else if (!sport) {
		if (dport == 1) {
			take_probe(r, &m[32], kExtBytes);
			r.asked = false;
		}
	} else if (on_message) {
		on_message(host::endpoint(r.addr, sport), dport, data);
	}
}

} // namespace peer
