// SPDX-License-Identifier: GPL-2.0
/* Messages to frames and back, acknowledgement, credits.  The queue pair is locked. */
#include <algorithm>
#include <cstring>

#include "paired.h"
#include "paired_parts.h"
#include "sim.h"

namespace peer
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
/* So many go without asking for an ack; and so late does an old one of ours tell unasked, ms. */
constexpr unsigned int kMaxQuiet = 8;
constexpr uint64_t kAckMs = 5;
/* So long nobody waits for credits, ms. */
constexpr uint64_t kStarveMs = 5000;
/* Credits are given back by themselves when there are so many. */
constexpr uint32_t kUpdateAt = 16;

/* Of one message. */
bool same_message(const host::Bytes &a, const host::Bytes &b)
{
	return !memcmp(a.data(), b.data(), 8) && !memcmp(&a[kLenAt], &b[kLenAt], 8);
}

} // namespace

host::Bytes hello_frame(uint32_t generation)
{
	/* GEN_NUM, NPATHS 1, SPORT_IDX 0, CAP_BITS: delivery acks, ORDER. */
	host::Bytes ext = {6, 0, 0, 0, 0, 5, 0, 1, 8, 0, 7, 0, 0, 0, 6};

	put_be(ext, 1, 4, generation);
	return frame(0, 0, 0, kRetransmitted, {}, ext);
}

uint32_t hello_generation(const host::Bytes &m)
{
	const bool control =
		is_empty_frame(m) && !get_be(m.data(), 8) && m[kFlagsAt] == kRetransmitted;

	return control && m[kExtAt] == 6 ? static_cast<uint32_t>(get_be(&m[kExtAt + 1], 4)) : 0;
}

bool is_empty_frame(const host::Bytes &m)
{
	return !get_be(&m[kLenAt], 4) && !get_be(&m[kSportAt], 4);
}

/* ---- sending ---- */

void Paired::enqueue(Remote &r, host::Bytes b)
{
	const uint64_t seq = r.next_tx++;

	put_be(b, 0, 8, seq);
	r.queue.push_back(Message{seq, std::move(b)});
}

void Paired::put_parts(Remote &r, const host::Bytes &message)
{
	for (size_t at = RDS_HEADER_BYTES;; at += fabric::kFrameBytes) {
		size_t n = std::min<size_t>(message.size() - at, fabric::kFrameBytes);
		host::Bytes part(message.begin(), message.begin() + RDS_HEADER_BYTES);
		auto from = message.begin() + static_cast<long>(at);

		part.insert(part.end(), from, from + static_cast<long>(n));
		r.out.push_back(std::move(part));
		if (at + n == message.size())
			return;
	}
}

void Paired::pump(Remote &r)
{
	if (r.state != State::kUp)
		return;
	if (r.map_due)
		put_parts(r, frame(0, 0, 0, kMapFlag, map_));
	r.map_due = false;
	for (Message &m : r.queue) {
		if (m.posted)
			continue;
		if (++r.quiet >= kMaxQuiet)
			m.bytes[kFlagsAt] |= kAckRequired;
		if (m.bytes[kFlagsAt] & kAckRequired)
			r.quiet = 0;
		m.posted = true;
		put_parts(r, m.bytes);
	}
	flush(r);
}

/* Mainline's would wait for ever for a host that is gone, and the credits with it: somebody looks
 * after that.  (Ours asks, rds_ib_link_keepalive().)  One that is there has to give credits. */
void Paired::starve(Remote &r)
{
	if (r.starving)
		return;
	r.starving = true;
	later(kStarveMs * kMs, r, [this, line = r.line](Remote &r) {
		r.starving = false;
		with_line(r, [&] {
			if (r.line == line && line->is_alone())
				go_down(r);
			else if (r.state == State::kUp)
				flush(r);
		});
	});
}

/* The last credit is for a frame that gives some back. */
void Paired::flush(Remote &r)
{
	while (!r.out.empty()) {
		host::Bytes f = std::move(r.out.front());
		const bool own = is_empty_frame(f);

		if (r.flow && r.credits <= (own && r.owed ? 0u : 1u)) {
			r.out.front() = std::move(f);
			starve(r);
			return;
		}
		r.out.pop_front();
		/* The last number that an old one of ours has of a generation, and mainline's on
		 * this connection. */
		if (is_mainline())
			put_be(f, kAckAt, 8, r.last_rx);
		else
			put_be(f, kAckAt, 8, r.met && r.next_rx ? r.next_rx - 1 : 0);
		if (r.flow) {
			const uint32_t give = std::min(r.owed, 255u);

			f[kCreditAt] = static_cast<unsigned char>(give);
			r.owed -= give;
			r.credits--;
		}
		r.ack_due = false;
		put_sum(f);
		r.line->put(f);
	}
}

/* For an ack, or for credits. */
void Paired::own_frame(Remote &r)
{
	r.out.push_front(frame(0, 0, 0, !is_mainline() ? kRetransmitted : 0, {}));
	flush(r);
}

/* One at a time. */
void Paired::acknowledge(Remote &r, bool now)
{
	if (!now && is_mainline())
		return; /* it was not asked */
	if (!now && !r.ack_armed) {
		r.ack_armed = r.ack_due = true;
		later(kAckMs * kMs, r, [this, line = r.line](Remote &r) {
			with_line(r, [&] {
				r.ack_armed = false;
				if (r.line == line && r.state == State::kUp && r.ack_due)
					own_frame(r);
			});
		});
	}
	r.ack_due = true;
	if (now && (!is_mainline() || !r.line->unsent()))
		own_frame(r);
}

void Paired::drop_acked(Remote &r, uint64_t ack)
{
	while (!r.queue.empty() && r.queue.front().seq <= ack)
		r.queue.pop_front();
}

/* ---- receiving ---- */

void Paired::came(Channel &c)
{
	Remote *r = by_line(c);

	if (!r)
		return;
	/* A frame is as good as the word that we are connected, which may be lost. */
	if (r->state == State::kAnswering && !c.qp().arrived.empty())
		come_up(*r);
	if (r->state == State::kUp)
		look(*r);
	if (r->line.get() == &c && c.qp().dead)
		go_down(*r);
}

void Paired::look(Remote &r)
{
	Channel &c = *r.line;
	host::Bytes f;

	if (slow_ && !r.read_at) {
		r.read_at = sim::now_ns() + sim::random_below(3 * kMs);
		later(r.read_at - sim::now_ns(), r, [this, line = r.line](Remote &r) {
			with_line(r, [&] {
				if (r.line == line)
					came(*line);
			});
		});
	}
	if (sim::now_ns() >= r.read_at || c.qp().dead) {
		r.read_at = 0;
		while (r.line.get() == &c && c.get(f))
			if (!read(r, f))
				go_down(r);
	}
	if (r.line.get() != &c)
		return;
	if (r.ack_due && is_mainline() && !c.unsent())
		own_frame(r);
	if (r.flow && r.owed >= kUpdateAt && !c.unsent())
		own_frame(r);
	pump(r);
}

/* The first frame of a connection with one of ours, as an old one of ours sees it. */
void Paired::meet(Remote &r, const host::Bytes &f)
{
	uint32_t generation = hello_generation(f);

	r.met = true;
	if (generation != r.heard_generation)
		r.next_rx = 0;
	r.heard_generation = generation;
}

/* False: the frame is wrong. */
bool Paired::read(Remote &r, const host::Bytes &f)
{
	const size_t len = get_be(&f[kLenAt], 4);
	const size_t got = r.in.empty() ? 0 : r.in.size() - RDS_HEADER_BYTES;

	if (!good_sum(f))
		return false;
	if (!is_mainline() && !r.met)
		meet(r, f);
	r.owed++;
	r.credits += f[kCreditAt];
	drop_acked(r, get_be(&f[kAckAt], 8));
	if (is_empty_frame(f))
		return f.size() == RDS_HEADER_BYTES;
	if (f.size() - RDS_HEADER_BYTES != std::min<size_t>(len - got, fabric::kFrameBytes) ||
	    (!r.in.empty() && !same_message(r.in, f)))
		return false;
	r.in.insert(r.in.end(), f.begin() + (r.in.empty() ? 0 : RDS_HEADER_BYTES), f.end());
	if (r.in.size() < RDS_HEADER_BYTES + len)
		return true;

	host::Bytes whole = std::move(r.in);

	r.in.clear();
	take(r, whole);
	return true;
}

void Paired::take(Remote &r, const host::Bytes &m)
{
	const uint64_t seq = get_be(m.data(), 8);
	const auto sport = static_cast<uint16_t>(get_be(&m[kSportAt], 2));
	const auto dport = static_cast<uint16_t>(get_be(&m[kDportAt], 2));
	const uint8_t flags = m[kFlagsAt];
	host::Bytes data(m.begin() + RDS_HEADER_BYTES, m.end());

	if (flags == kMapFlag) {
		if (data.size() == kMapBytes)
			map_of(r.addr) = data;
		return;
	}

	const bool old = seq < r.next_rx && (flags & kRetransmitted || !is_mainline());

	if (!old)
		r.next_rx = seq + 1;
	r.last_rx = std::max(r.last_rx, old ? seq : r.next_rx - 1);
	acknowledge(r, flags & kAckRequired);
	if (old)
		return;
	if (sport && !dport)
		enqueue(r, frame(0, 0, sport, 0, {}));
	else if (sport && dport && on_message)
		on_message(host::endpoint(r.addr, sport), dport, data);
}

} // namespace peer
