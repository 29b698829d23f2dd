// SPDX-License-Identifier: GPL-2.0
#include "mainline.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "sim.h"
#include "stream.h"

namespace peer
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
constexpr size_t kMapBytes = 8192;
constexpr size_t kMaxQueue = 64;
constexpr size_t kExtBytes = 16; /* of a header, for extension headers */
constexpr unsigned int kPaths = 8;
constexpr uint8_t kRetransmitted = 0x04, kMapFlag = 0x01;

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
	: addr(addr), version(v), map_(kMapBytes), generation_(static_cast<uint32_t>(sim::random()))
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
	return *remotes_.back();
}

Mainline::Remote *Mainline::by_line(const Line &l)
{
	for (auto &r : remotes_)
		if (r->line.get() == &l)
			return r.get();
	return nullptr;
}

template <typename F>
void Mainline::later(uint64_t ns, Remote &r, F fn)
{
	sim::after(ns, "peer", [life = std::weak_ptr<char>(life_), fn, r = &r] {
		if (life.lock())
			fn(*r);
	});
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
		return;
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
	r.asked = !r.npaths || version == Version::k7;
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
		if (version == Version::k6) {
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
		m.start = r.line->put_bytes();
		m.end = m.start + m.bytes.size();
		r.line->put(m.bytes);
	}
}

void Mainline::acked(Line &l, uint64_t bytes)
{
	Remote *r = by_line(l);

	while (r && !r->queue.empty() && r->queue.front().end && r->queue.front().end <= bytes)
		r->queue.pop_front();
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

/* ---- receiving; the line is locked ---- */

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
	if (sim::now_ns() >= r->read_at || (ended && version == Version::k7)) {
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

/* What a probe or its answer says of the other end. */
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

	if (flags == kMapFlag) {
		if (data.size() == kMapBytes)
			r.map = data;
		return;
	}
	if (seq < r.next_rx && flags & kRetransmitted) {
		return;
	}
	r.next_rx = seq + 1;
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
	std::string s = version == Version::k6 ? "6.x " : "7.x ";

	s += host::show(addr);
	for (const auto &r : remotes_)
		s += "; " + host::show(r->addr) + " state " +
		     std::to_string(static_cast<int>(r->state)) + " queue " +
		     std::to_string(r->queue.size());
	return s;
}

} // namespace peer
