// SPDX-License-Identifier: GPL-2.0
/* Connections and sending; what comes is in mainline_recv.cc. */
#include "mainline.h"

#include <algorithm>
#include <cstring>

#include "paired_parts.h"
#include "sim.h"
#include "stream.h"

namespace peer
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
constexpr size_t kMaxQueue = 64;

bool same(const struct rds_addr &a, const struct rds_addr &b)
{
	return !memcmp(&a, &b, sizeof(a));
}

/* The end of a connection at our side: what TCP has acknowledged and nobody has read is lost. */
void tell_closed(const tube::Ref &p, unsigned int side)
{
	if (stream::on_closed)
		stream::on_closed(p->addr[side], p->addr[!side], p->end[side].left());
}

void refuse(const tube::Ref &p)
{
	tell_closed(p, 1);
	tube::refuse(p, 1);
}

} // namespace

void put_be(host::Bytes &b, size_t at, unsigned int bytes, uint64_t n)
{
	for (unsigned int i = 0; i < bytes; i++)
		b[at + i] = static_cast<unsigned char>(n >> 8 * (bytes - 1 - i));
}

uint64_t get_be(const unsigned char *p, unsigned int bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | *p++;
	return n;
}

host::Bytes frame(uint64_t seq, uint16_t sport, uint16_t dport, uint8_t flags,
		  const host::Bytes &data, const host::Bytes &ext)
{
	host::Bytes b(RDS_HEADER_BYTES + data.size());

	put_be(b, 0, 8, seq);
	put_be(b, 16, 4, data.size());
	put_be(b, 20, 2, sport);
	put_be(b, 22, 2, dport);
	b[24] = flags;
	std::copy(ext.begin(), ext.end(), b.begin() + 32);
	std::copy(data.begin(), data.end(), b.begin() + RDS_HEADER_BYTES);
	return b;
}

Mainline::Mainline(const struct rds_addr &addr, Version v)
	: Honest(addr, v), map_(kMapBytes), generation_(static_cast<uint32_t>(sim::random()))
{
	if (network::host_of(addr) == network::kNobody)
		network::add_host({addr});
	tube::listen(addr, this);
}

Mainline::~Mainline()
{
	life_ = nullptr;
	tube::listen(addr, nullptr);
	sim::wait_until([this] { return !busy; });
	for (auto &l : lines_) {
		tube::Locked lock(l->end());

		l->close();
	}
	for (auto &r : remotes_)
		unstash(*r);
}

/* ---- who calls whom ---- */

Mainline::Remote &Mainline::remote(const struct rds_addr &a)
{
	for (auto &r : remotes_)
		if (same(r->addr, a))
			return *r;

	bool caller = memcmp(&addr, &a, sizeof(a)) < 0;

	remotes_.push_back(std::make_unique<Remote>(Remote{.addr = a, .caller = caller}));
	remotes_.back()->map.resize(kMapBytes);
	if (version == Version::kOld)
		remotes_.back()->own_generation = static_cast<uint32_t>(sim::random()) | 1;
	return *remotes_.back();
}

Mainline::Remote *Mainline::by_line(const Line &l)
{
	for (auto &r : remotes_)
		if (r->line.get() == &l)
			return r.get();
	return nullptr;
}

void Mainline::dial(Remote &r)
{
	if (r.state != State::kDown)
		return;
	r.state = State::kCalling;
	r.line = Line::call(*this, addr, r.addr);
	lines_.push_back(r.line);
}

/* The smaller address calls again by itself; the larger when its application sends again, which it
 * does after a while. */
void Mainline::dial_later(Remote &r)
{
	uint64_t ns = r.backoff_ms ? sim::random_below(r.backoff_ms * kMs) : 0;

	if (r.redial || (!r.caller && r.queue.empty()))
		return;
	r.redial = true;
	r.backoff_ms = std::clamp(r.backoff_ms * 2, 1u, 1000u);
	later(r.caller ? ns : 1000 * kMs, r, [this](Remote &r) {
		r.redial = false;
		dial(r);
	});
}

void Mainline::opened(Line &l)
{
	Remote *r = by_line(l);

	if (!r || r->state != State::kCalling)
		return;
	if (r->caller) {
		come_up(*r);
		came(l);
	} else {
		go_down(*r); /* heard as a knock */
	}
}

void Mainline::incoming(const tube::Ref &p)
{
	Remote &r = remote(p->addr[0]);

	if (r.caller) {
		refuse(p);
		dial(r);
		/* If the other end of what is up is gone, this finds it out. */
		if (LineRef line = version == Version::kOld ? r.line : nullptr) {
			tube::Locked l(line->end());

			if (r.line == line && r.state == State::kUp)
				probe(r, 1, 0), pump(r);
		}
		return;
	}
	if (version == Version::kOld && r.state == State::kUp) {
		LineRef own = r.line;
		tube::Locked l(own->end());

		if (r.line == own && r.state == State::kUp)
			go_down(r);
	}
	if (r.state == State::kCalling) {
		LineRef own = r.line;
		tube::Locked l(own->end());

		if (r.line == own && r.state == State::kCalling) {
			own->close();
			r.line = nullptr;
			r.state = State::kDown;
		}
	}
	if (r.state == State::kDown) {
		adopt(r, p);
	} else if (version == Version::k7 && !r.stash) {
		r.stash = p;
	} else {
		refuse(p);
	}
}

void Mainline::adopt(Remote &r, const tube::Ref &p)
{
	tube::Locked l(p->end[1]);

	if (r.state != State::kDown) {
		refuse(p);
		return;
	}
	r.line = Line::take(*this, p);
	lines_.push_back(r.line);
	r.state = State::kCalling;
	come_up(r);
	came(*r.line);
}

void Mainline::unstash(Remote &r)
{
	tube::Ref p = std::move(r.stash);

	r.stash = nullptr;
	if (!p)
		return;
	if (life_)
		adopt(r, p);
	else
		refuse(p);
}

/* ---- up and down; the line is locked ---- */

void Mainline::come_up(Remote &r)
{
	sim::say("%s is connected with %s", host::show(addr).c_str(), host::show(r.addr).c_str());
	r.state = State::kUp;
	r.backoff_ms = 0;
	r.map_due = true;
	r.read_at = 0;
	r.in.clear();
	r.met = r.ack_due = false;
	if (version == Version::kOld)
		r.line->put(hello_frame(r.own_generation));
	r.asked = version != Version::kOld && (!r.npaths || version == Version::k7);
	if (r.asked)
		probe(r, 1, 0);
	pump(r);
}

void Mainline::close_line(Remote &r)
{
	Line &l = *r.line;

	tell_closed(l.ref(), l.side());
	for (Message &m : r.queue) {
		if (m.end && m.start < l.taken()) {
			m.bytes[24] |= kRetransmitted;
		}
		m.start = m.end = 0;
	}
	l.close();
	r.line = nullptr;
	r.state = State::kDown;
}

void Mainline::go_down(Remote &r)
{
	close_line(r);
	if (r.stash)
		later(0, r, [this](Remote &r) { unstash(r); });
	dial_later(r);
}

void Mainline::drop_all()
{
	for (auto &r : remotes_) {
		LineRef line = r->line;

		if (!line)
			continue;

		tube::Locked l(line->end());

		if (r->line != line || r->state != State::kUp)
			continue;
		if (version != Version::k7) {
			go_down(*r);
			continue;
		}
		r->state = State::kDraining;
		line->finish();
		later(5000 * kMs, *r, [this, line](Remote &r) {
			tube::Locked l(line->end());

			if (r.line == line && r.state == State::kDraining)
				go_down(r);
		});
		came(*line);
	}
}

/* ---- sending ---- */

bool Mainline::may_send(const struct rds_endpoint &to)
{
	Remote &r = remote(to.addr);

	return !(r.map[to.port / 8] & 1 << to.port % 8) && r.queue.size() < kMaxQueue;
}

bool Mainline::is_lost(const struct rds_addr &a)
{
	Remote &r = remote(a);

	return r.state == State::kDown && !r.redial && r.queue.empty();
}

void Mainline::enqueue(Remote &r, host::Bytes b)
{
	put_be(b, 0, 8, r.next_tx++);
	r.queue.push_back(Message{std::move(b)});
}

void Mainline::send(const struct rds_endpoint &to, uint16_t sport, const host::Bytes &data)
{
	Remote &r = remote(to.addr);

	enqueue(r, frame(0, sport, to.port, 0, data));
	if (LineRef line = r.line) {
		tube::Locked l(line->end());

		if (r.line == line)
			pump(r);
	} else if (!r.redial) {
		dial(r);
	}
}

/* 6.x says how many paths it has, 7.x also who it is and how its ports name paths. */
void Mainline::probe(Remote &r, uint16_t sport, uint16_t dport)
{
	host::Bytes ext = {5, 0, kPaths};

	if (version == Version::k7) {
		ext.insert(ext.end(), {6, 0, 0, 0, 0, 8, 0});
		put_be(ext, 4, 4, generation_);
	}
	enqueue(r, frame(0, sport, dport, version == Version::k7 ? 0x20 : 0, {}, ext));
}

void Mainline::pump(Remote &r)
{
	if (r.state != State::kUp)
		return;
	if (r.map_due)
		r.line->put(frame(0, 0, 0, kMapFlag, map_));
	r.map_due = false;
	for (Message &m : r.queue) {
		if (m.end)
			continue;
		if (!r.line->takes_more())
			return;
		m.start = r.line->put_bytes();
		m.end = m.start + m.bytes.size();
		put_be(m.bytes, kAckAt, 8, ack(r));
		r.ack_due = false;
		r.line->put(m.bytes);
	}
}

void Mainline::acked(Line &l, uint64_t bytes)
{
	Remote *r = version == Version::kOld ? nullptr : by_line(l);

	while (r && !r->queue.empty() && r->queue.front().end && r->queue.front().end <= bytes)
		r->queue.pop_front();
}

void Mainline::room(Line &l)
{
	if (Remote *r = by_line(l))
		pump(*r);
}

void Mainline::congest(uint16_t port, bool on)
{
	auto bit = static_cast<unsigned char>(1 << port % 8);

	if (on)
		map_[port / 8] |= bit;
	else
		map_[port / 8] &= static_cast<unsigned char>(~bit);
	for (auto &r : remotes_) {
		r->map_due = true;
		if (LineRef line = r->line) {
			tube::Locked l(line->end());

			if (r->line == line)
				pump(*r);
		}
	}
}

bool Mainline::answered() const
{
	return std::all_of(remotes_.begin(), remotes_.end(),
			   [](const auto &r) { return r->state != State::kUp || !r->asked; });
}

bool Mainline::idle() const
{
	return std::all_of(remotes_.begin(), remotes_.end(),
			   [](const auto &r) { return r->queue.empty(); });
}

std::string Mainline::show() const
{
	std::string s = version == Version::k6 ? "6.x " : version == Version::k7 ? "7.x " : "old ";

	s += host::show(addr);
	for (const auto &r : remotes_)
		s += "; " + host::show(r->addr) + " state " +
		     std::to_string(static_cast<int>(r->state)) + " queue " +
		     std::to_string(r->queue.size());
	return s;
}

} // namespace peer
