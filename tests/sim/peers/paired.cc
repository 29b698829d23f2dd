// SPDX-License-Identifier: GPL-2.0
/* Connections; what goes over them is in paired_frames.cc. */
#include "paired.h"

#include <algorithm>
#include <cstring>

#include "paired_parts.h"
#include "sim.h"
#include "verbs.h"

namespace peer
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
/* Nobody waits longer for an answer, ms. */
constexpr uint64_t kAnswerMs = 5000;
constexpr unsigned int kBuffers = 64;
/* So late at most mainline's hears that it is connected, and so long do its rings take to drain. */
constexpr uint64_t kToldNs = kMs, kDrainNs = 50 * kMs;
constexpr size_t kMaxQueue = 64;

void tell_closed(const fabric::Pair &p, unsigned int side)
{
	if (verbs::on_closed)
		verbs::on_closed(p.addr[side], p.addr[!side], tube::Left::kNothing);
}

bool smaller(const struct rds_addr &a, const struct rds_addr &b)
{
	return memcmp(&a, &b, sizeof(a)) < 0;
}

/* A refusal because of the version. */
bool is_refusal(const fabric::Data &d)
{
	return d == fabric::Data{0, 0, 0, 1} || d == fabric::Data{1, 0, 0, 0};
}

bool is_known(const Said &s)
{
	return s.major == 4 ? s.minors & 3 : s.major == 3 && s.minor == 1;
}

} // namespace

Paired::Paired(const struct rds_addr &addr, Version v, bool counts)
	: Honest(addr, v), counts_(counts), map_(kMapBytes)
{
	if (network::host_of(addr) == network::kNobody)
		network::add_host({addr});
	fabric::listen(addr, this);
}

Paired::~Paired()
{
	life_ = nullptr;
	fabric::listen(addr, nullptr);
	sim::wait_until([this] { return !busy; });
	for (auto &c : lines_) {
		fabric::Locked lock(c->qp());

		c->close();
	}
}

Paired::Remote &Paired::remote(const struct rds_addr &a, unsigned int tos)
{
	for (auto &r : remotes_)
		if (!memcmp(&r->addr, &a, sizeof(a)) && r->tos == tos)
			return *r;
	remotes_.push_back(std::make_unique<Remote>(Remote{
		.addr = a, .tos = tos, .generation = static_cast<uint32_t>(sim::random()) | 1}));
	return *remotes_.back();
}

Paired::Remote *Paired::by_line(const Channel &c)
{
	for (auto &r : remotes_)
		if (r->line.get() == &c)
			return r.get();
	return nullptr;
}

host::Bytes &Paired::map_of(const struct rds_addr &a)
{
	host::Bytes &map = maps_[{a.w[0], a.w[1]}];

	map.resize(kMapBytes);
	return map;
}

/* ---- who calls whom ---- */

/* Mainline posts its buffers once it is connected, and tells of them in headers. */
uint32_t Paired::first_buffers() const
{
	return is_mainline() ? 0 : kBuffers;
}

Said Paired::offer(const Remote &r, unsigned int major) const
{
	/* An old one of ours says nothing here: nobody would know whose number it is. */
	const bool tells = is_mainline() && r.next_rx;

	return Said{.major = major,
		    .minor = 1,
		    .minors = 3,
		    .tos = r.tos,
		    .ack = tells ? r.next_rx - 1 : 0,
		    .credits = counts_ ? first_buffers() : 0};
}

void Paired::dial(Remote &r)
{
	if (r.state != State::kDown)
		return;

	const unsigned int major = is_mainline() || r.old_version ? 3 : 4;

	r.state = State::kCalling;
	r.line = Channel::call(*this, addr, r.addr, say(addr, r.addr, offer(r, major)),
			       first_buffers());
	if (!r.line) {
		r.state = State::kDown;
		dial_later(r);
		return;
	}
	r.line->qp().sleeps = is_mainline();
	lines_.push_back(r.line);
	later(kAnswerMs * kMs, r, [this, line = r.line](Remote &r) {
		with_line(r, [&] {
			if (r.line == line && r.state == State::kCalling)
				go_down(r);
		});
	});
}

/* Mainline's does without end.  An old one of ours does as long as there is something to say, or
 * once for a connection that was up. */
void Paired::dial_later(Remote &r)
{
	uint64_t ns = r.backoff_ms ? sim::random_below(r.backoff_ms * kMs) : 0;

	if (r.redial || (!is_mainline() && r.queue.empty() && r.attempts))
		return;
	r.redial = true;
	r.attempts++;
	r.backoff_ms = std::clamp(r.backoff_ms * 2, 1u, 1000u);
	later(ns, r, [this](Remote &r) {
		r.redial = false;
		dial(r);
	});
}

void Paired::opened(Channel &c)
{
	Remote *r = by_line(c);

	if (!r)
		return;
	if (!is_mainline()) {
		connected(*r);
		return;
	}
	/* rdma_cm tells the peer first, which may speak at once. */
	later(sim::random_below(kToldNs), *r, [this, line = r->line](Remote &r) {
		with_line(r, [&] {
			if (r.line == line)
				connected(r);
		});
	});
}

/* The present connection makes room for the peer that calls; false: the call is refused. */
bool Paired::gives_way(Remote &r)
{
	if (r.state == State::kDown)
		return true;

	const bool up = r.state == State::kUp;

	if (is_mainline() && !up)
		return false;
	if (!is_mainline() && r.state == State::kCalling && smaller(addr, r.addr))
		return false;
	with_line(r, [&] { go_down(r); });
	/* Mainline's drops it, and refuses all the same. */
	return !is_mainline() && r.state == State::kDown;
}

void Paired::incoming(const fabric::Ref &p)
{
	Said said = hear(p->said[0], addr);
	Remote &r = remote(p->addr[0], said.tos);

	if (!is_known(said)) {
		fabric::reject(p, {0, 0, 0, 1});
		return;
	}
	if (!gives_way(r)) {
		fabric::reject(p);
		return;
	}
	adopt(r, p, said);
}

void Paired::adopt(Remote &r, const fabric::Ref &p, const Said &said)
{
	fabric::Locked l(p->qp[1]);

	if (r.state == State::kDown)
		r.line = Channel::take(*this, p, say(addr, r.addr, offer(r, said.major)),
				       first_buffers());
	else
		r.attempts = 0; /* its own call came first */
	if (!r.line || r.line->pair() != p) {
		fabric::reject(p);
		return;
	}
	r.line->qp().sleeps = is_mainline();
	lines_.push_back(r.line);
	r.state = State::kAnswering;
	learn(r, said);
}

/* Takes in the contents of an offer. */
void Paired::learn(Remote &r, const Said &said)
{
	r.flow = counts_ && said.credits;
	r.credits = said.credits;
	r.owed = 0;
	if (is_mainline())
		drop_acked(r, said.ack);
}

/* ---- up and down; the queue pair is locked ---- */

void Paired::connected(Remote &r)
{
	if (r.state == State::kCalling) {
		Said said = hear(r.line->heard(), addr);

		if (!is_known(said)) {
			go_down(r);
			return;
		}
		learn(r, said);
	}
	if (r.state != State::kUp)
		come_up(r);
	came(*r.line);
}

void Paired::come_up(Remote &r)
{
	sim::say("%s is connected with %s", host::show(addr).c_str(), host::show(r.addr).c_str());
	r.state = State::kUp;
	r.backoff_ms = r.attempts = 0;
	r.quiet = 0;
	r.last_rx = r.read_at = 0;
	r.met = r.ack_due = r.ack_armed = false;
	r.map_due = true;
	r.in.clear();
	r.out.clear();
	for (uint32_t n = first_buffers(); n < kBuffers; n++, r.owed++)
		r.line->offer();
	if (!is_mainline())
		r.out.push_back(hello_frame(r.generation));
	pump(r);
}

void Paired::go_down(Remote &r)
{
	Channel &c = *r.line;

	/* Of a refused call: another version is tried next. */
	if (r.state == State::kCalling && is_refusal(c.heard()) && !r.tos)
		r.old_version = !r.old_version;
	if (r.state == State::kUp)
		tell_closed(*c.pair(), c.side());
	for (Message &m : r.queue) {
		if (m.posted)
			m.bytes[24] |= kRetransmitted | kAckRequired;
		m.posted = false;
	}
	c.close();
	r.line = nullptr;
	r.state = State::kDisconnecting;
	r.out.clear();
	if (is_mainline())
		later(sim::random_below(kDrainNs), r, [this](Remote &r) { came_down(r); });
	else
		came_down(r);
}

void Paired::came_down(Remote &r)
{
	r.state = State::kDown;
	dial_later(r);
}

void Paired::drop_all()
{
	for (auto &r : remotes_)
		with_line(*r, [&] {
			if (r->state == State::kUp)
				go_down(*r);
		});
}

/* ---- applications ---- */

bool Paired::may_send(const struct rds_endpoint &to)
{
	return !(map_of(to.addr)[to.port / 8] & 1 << to.port % 8) &&
	       remote(to.addr, 0).queue.size() < kMaxQueue;
}

bool Paired::is_lost(const struct rds_addr &a)
{
	Remote &r = remote(a, 0);

	return r.state == State::kDown && !r.redial && r.queue.empty();
}

void Paired::send(const struct rds_endpoint &to, uint16_t sport, const host::Bytes &data)
{
	Remote &r = remote(to.addr, 0);

	enqueue(r, frame(0, sport, to.port, 0, data));
	if (r.line)
		with_line(r, [&] { pump(r); });
	else if (!r.redial)
		dial(r);
}

void Paired::congest(uint16_t port, bool on)
{
	auto bit = static_cast<unsigned char>(1 << port % 8);

	if (on)
		map_[port / 8] |= bit;
	else
		map_[port / 8] &= static_cast<unsigned char>(~bit);
	for (auto &r : remotes_) {
		r->map_due = true;
		with_line(*r, [&] { pump(*r); });
	}
}

bool Paired::idle() const
{
	return std::all_of(remotes_.begin(), remotes_.end(),
			   [](const auto &r) { return r->queue.empty(); });
}

std::string Paired::show() const
{
	std::string s = version == Version::k6 ? "6.x " : version == Version::k7 ? "7.x " : "old ";

	s += host::show(addr) + ", over queue pairs";
	for (const auto &r : remotes_)
		s += "; " + host::show(r->addr) + " state " +
		     std::to_string(static_cast<int>(r->state)) + " queue " +
		     std::to_string(r->queue.size()) + " out " + std::to_string(r->out.size()) +
		     " credits " + std::to_string(r->flow ? r->credits : 0);
	return s;
}

} // namespace peer
