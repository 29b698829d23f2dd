// SPDX-License-Identifier: GPL-2.0
#include "link.h"

#include <algorithm>
#include <cstring>

#include "sim.h"
#include "verbs.h"

namespace verbs
{
namespace
{

namespace wire = rds::wire;

constexpr int kAgain = -11, kBroken = -32, kProtocol = -71;
/* Messages that a receiver takes before it says so by itself. */
constexpr unsigned int kAckEvery = 8;
/* The hardware had the peer's answer and the peer's RDS says nothing for so long: is it there? */
constexpr uint64_t kAskNs = 5ull * 1000 * 1000 * 1000;

bool ack_only(const wire::Fields &f)
{
	return !f.sport && !f.dport && !f.len && !(f.flags & ~wire::kAckRequired);
}

} // namespace

void Link::begin(const fabric::Ref &p, unsigned int s, Phase ph)
{
	pair = p;
	side = s;
	phase = ph;
	paused = false;
	credits_ = p->qp[!s].offered;
}

void Link::end()
{
	for (const fabric::Sent &s : qp().sent)
		if (s.m)
			rds_msg_put(s.m);
	qp().sent.clear();
	if (m_)
		rds_msg_put(m_);

	struct rds_path *keep = path;
	unsigned int s = side;

	this->~Link();
	new (this) Link(keep);
	side = s;
}

void Link::established()
{
	if (phase != Phase::kAsking)
		return;
	phase = Phase::kOpen;
	credits_ = qp().closed ? 0 : pair->qp[!side].offered;
	rds_path_connected(path);
	completed(RDS_ATOMIC);
}

/* ---- sending ---- */

/* For a message: one frame is kept for acks, and one credit for giving credits back. */
bool Link::room() const
{
	return ring_.size() + 1 < params().send_ring && (!params().credits || credits_ > 1);
}

void Link::post(const wire::Header &h, struct rds_msg *m, uint32_t off, uint32_t len)
{
	fabric::Frame f;
	wire::Header copy = h;

	wire::put64(copy.ack, took_);
	if (params().credits) {
		copy.credit = static_cast<uint8_t>(std::min(to_return_, 255u));
		to_return_ -= copy.credit;
		credits_ -= credits_ ? 1 : 0; /* ask() does without */
	}
	ack_due_ = false;
	since_ack_ = 0;
	memcpy(f.header, &copy, sizeof(f.header));
	if (len) {
		rds_msg_get(m);
		f.m = m;
		f.off = off;
		f.len = len;
	}
	ring_.push_back(!m);
	posted_++;
	fabric::post_send(pair, side, f);
}

void Link::post_part(struct rds_msg *m, uint32_t off, uint32_t len, bool last)
{
	wire::Header h;

	memcpy(static_cast<void *>(&h), rds_msg_header(m), sizeof(h));
	/* Nobody else will make the peer say that it has the last one. */
	if (last && h.flags != wire::kCongBitmap)
		h.flags |= wire::kAckRequired;
	post(h, m, off, len);
}

long Link::xmit(const struct rds_xmit &x)
{
	long bytes = 0;
	uint32_t off = x.off;

	if (phase != Phase::kOpen || qp().dead)
		return kBroken;
	for (unsigned int i = 0; i < x.n; i++) {
		struct rds_msg *m = x.msgs[i];
		uint32_t len = rds_msg_len(m), pos = off ? off - RDS_HEADER_BYTES : 0;

		if (pos % fabric::kFrameBytes)
			sim::fail("the core forgot where a frame ended");
		for (uint32_t n = ~0u; n; off = 0) {
			if (!room() || (bytes && sim::chance(params().partial_per_1000))) {
				blocked_ = true;
				ask_later();
				return bytes ? bytes : kAgain;
			}
			n = std::min(len - pos, fabric::kFrameBytes);

			bool whole = pos + n == len;

			post_part(m, pos, n, whole && i + 1 == x.n && !x.more);
			bytes += n + (pos ? 0 : RDS_HEADER_BYTES);
			accepted_ += n + (pos ? 0 : RDS_HEADER_BYTES);
			pos += n;
			if (whole) {
				unacked_.push_back(Unacked{wire::get64(rds_msg_header(m)), posted_,
							   accepted_});
				break;
			}
		}
		off = 0;
	}
	ask_later();
	return bytes;
}

/* A host that lost power cannot say so; a frame to it finds out. */
void Link::ask_later()
{
	if (asking_ || unacked_.empty())
		return;
	asking_ = true;
	sim::after(kAskNs, "ask", [p = pair, s = side] {
		fabric::Locked l(p->qp[s]);

		if (fabric::User *u = p->qp[s].user)
			static_cast<Link *>(u)->ask();
	});
}

void Link::ask()
{
	asking_ = false;
	if (phase != Phase::kOpen || qp().dead || unacked_.empty())
		return;
	if (!ack_out_ && ring_.size() < params().send_ring) {
		wire::Header h = {};

		h.flags = wire::kAckRequired;
		ack_out_ = true;
		post(h, nullptr, 0, 0);
	}
	ask_later();
}

/* By itself, when there is no message that could carry it. */
void Link::send_ack()
{
	/* Two at least: the frame itself takes one, and the other end will give that back. */
	bool give = params().credits &&
		    to_return_ >= std::max(2u, std::min(16u, params().recv_ring / 2));

	if (!(ack_due_ || since_ack_ >= kAckEvery || give) || ack_out_ || qp().dead ||
	    phase != Phase::kOpen || ring_.size() >= params().send_ring)
		return;
	if (params().credits && (!credits_ || (credits_ == 1 && !to_return_)))
		return;
	ack_out_ = true;
	post(wire::Header{}, nullptr, 0, 0);
}

void Link::take_answers()
{
	auto &sent = qp().sent;

	while (!sent.empty()) {
		fabric::Sent s = sent.front();

		sent.pop_front();
		if (ring_.empty())
			sim::fail("a completion of nothing");
		if (ring_.front())
			ack_out_ = false;
		ring_.pop_front();
		if (s.ok)
			done_++;
		if (s.m)
			rds_msg_put(s.m);
	}
}

/* Tells the core how far the peer has come. */
void Link::acknowledge()
{
	uint64_t end = 0;

	while (!unacked_.empty()) {
		const Unacked &u = unacked_.front();

		if (u.seq ? u.seq > peer_took_ : u.frame > done_)
			break;
		end = u.end;
		unacked_.pop_front();
	}
	if (end)
		rds_path_acked(path, end);
}

/* ---- receiving ---- */

int Link::refuse()
{
	rds_path_drop(path, RDS_DROP_PROTOCOL);
	return kProtocol;
}

int Link::begin_message(const fabric::Arrival &a, enum rds_ctx ctx)
{
	const auto &h = *reinterpret_cast<const wire::Header *>(a.header);
	struct rds_src src;

	stage_ = Stage::kPayload;
	if (under_way_) {
		bool same = !memcmp(h.sequence, head_.sequence, sizeof(h.sequence)) &&
			    !memcmp(h.len, head_.len, sizeof(h.len)) &&
			    !memcmp(h.sport, head_.sport, 4);

		return same ? 0 : refuse();
	}
	src.data = a.bytes.data();
	src.len = a.bytes.size();

	int r = rds_recv_begin(path, a.header, src.len ? &src : nullptr, ctx, &m_);

	if (r)
		m_ = nullptr;
	if (r == -12) {
		stage_ = Stage::kHeader;
		return kAgain;
	}
	if (r && r != RDS_RECV_SKIP)
		return kProtocol;
	head_ = h;
	left_ = wire::get32(h.len);
	under_way_ = true;
	return 0;
}

int Link::take_payload(const fabric::Arrival &a, enum rds_ctx ctx)
{
	auto n = static_cast<uint32_t>(a.bytes.size());
	struct rds_src src;

	if (n > left_ || n < std::min(left_, fabric::kFrameBytes))
		return refuse();
	src.data = a.bytes.data();
	src.len = n;
	if (m_ && n && rds_payload_append(rds_msg_payload(m_), &src, 0, n, ctx))
		return kAgain;
	left_ -= n;
	stage_ = left_ ? Stage::kHeader : Stage::kDeliver;
	return left_ ? 1 : 0;
}

int Link::deliver()
{
	if (m_ && rds_recv_incoming(path, m_))
		return kAgain;
	m_ = nullptr;
	if (wire::get64(head_.sequence))
		took_ = wire::get64(head_.sequence);
	since_ack_++;
	under_way_ = false;
	stage_ = Stage::kHeader;
	return 1;
}

/* One step with the oldest frame: 1 done with it, 0 go on, -EAGAIN the core has to wait. */
int Link::step(const fabric::Arrival &a, enum rds_ctx ctx)
{
	switch (stage_) {
	case Stage::kHeader:
		return begin_message(a, ctx);
	case Stage::kPayload:
		return take_payload(a, ctx);
	case Stage::kDeliver:
		return deliver();
	}
	return kProtocol;
}

int Link::take(const fabric::Arrival &a, enum rds_ctx ctx)
{
	const auto f = wire::decode(*reinterpret_cast<const wire::Header *>(a.header));
	int r = 0;

	if (!seen_) {
		peer_took_ = std::max(peer_took_, f.ack);
		credits_ += f.credit;
		acknowledge();
		seen_ = true;
	}
	while (!r && !ack_only(f))
		r = step(a, ctx);
	if (r < 0)
		return r;
	ack_due_ = ack_due_ || f.flags & wire::kAckRequired;
	seen_ = false;
	return 0;
}

/* Looks at everything that came, sends what is due, and tells the core. */
void Link::completed(enum rds_ctx ctx)
{
	fabric::Qp &q = qp();
	unsigned int taken = 0;

	take_answers();
	while (phase == Phase::kOpen && !paused && !q.arrived.empty()) {
		int r = take(q.arrived.front(), ctx);

		if (r == kAgain) {
			paused = true;
			rds_recv_later(path);
		} else if (r) {
			phase = Phase::kEnded; /* the core is told */
		} else {
			q.arrived.pop_front();
			taken++;
		}
	}
	if (q.dead) {
		bool asking = phase == Phase::kAsking;

		if (asking || phase == Phase::kOpen)
			rds_path_drop(path, asking ? RDS_DROP_CONNECT : RDS_DROP_ERROR);
		phase = Phase::kEnded;
		return;
	}
	acknowledge();
	fabric::post_recv(pair, side, taken);
	to_return_ += params().credits ? taken : 0;
	send_ack();
	if (blocked_ && phase == Phase::kOpen && room()) {
		blocked_ = false;
		rds_path_writable(path);
	}
}

} // namespace verbs
