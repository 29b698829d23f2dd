// SPDX-License-Identifier: GPL-2.0
#include "tube.h"

#include <algorithm>
#include <cstring>

#include "rng.h"
#include "sim.h"

namespace tube
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
/* Something that was lost is sent again after this, then after twice as long ... */
constexpr uint64_t kResendNs = 200 * kMs;
/* ... and after so many times the connection is dead. */
constexpr unsigned int kMaxTries = 7;
/* How long an end that hears nothing waits until it asks (at least; at most twice as long). */
constexpr uint64_t kKeepaliveNs = 5000 * kMs;

struct Listening {
	struct rds_addr addr;
	Listener *listener;
};

struct State {
	Params params;
	std::vector<Listening> listeners;
	std::vector<std::weak_ptr<Tube>> tubes;
	uint32_t number = 0;
};

State &state()
{
	static auto *s = new State;
	return *s;
}

Listener *listener_at(const struct rds_addr &a)
{
	for (const Listening &l : state().listeners)
		if (!memcmp(&l.addr, &a, sizeof(a)))
			return l.listener;
	return nullptr;
}

/* Any cut point: often all there is, else some of it. */
size_t some_of(size_t n)
{
	return sim::chance(500) ? n : 1 + sim::random_below(n);
}

uint64_t pause(unsigned int tries)
{
	return kResendNs << tries;
}

/* A packet of @side's end: when it arrives, if @side has not vanished before it was sent. */
template <typename F>
void send(Tube &p, unsigned int side, const char *name, F fn)
{
	if (!p.end[side].gone)
		sim::after(network::delay(p.end[side].host, p.end[!side].host), name, fn);
}

bool passes(const Tube &p, unsigned int side)
{
	return !p.end[!side].gone && network::passes(p.end[side].host, p.end[!side].host);
}

void move(const Ref &p, unsigned int side);
void keepalive_later(const Ref &p, unsigned int side);

/* This end learns that the connection is no more.  Locked. */
void die(const Ref &p, unsigned int side)
{
	End &e = p->end[side];

	if (e.dead)
		return;
	e.dead = true; /* closed as well: what it still had to send goes nowhere */
	if (e.closed)
		return;
	keepalive_later(p, !side); /* should it not know yet */
	if (e.user)
		e.user->arrived(RDS_ATOMIC);
}

/* @side is told by the other end's host, unless the packet is lost. */
void send_reset(const Ref &p, unsigned int side)
{
	uint64_t ns = network::delay(p->end[!side].host, p->end[side].host);

	sim::after(ns, "reset", [p, side] {
		End &e = p->end[side];
		Locked l(e);

		if (!e.gone && passes(*p, !side))
			die(p, side);
		else
			keepalive_later(p, side);
	});
}

/* Asks whether the other end is still there; told nothing, it asks again, and then gives up. */
void keepalive(const Ref &p, unsigned int side, unsigned int tries)
{
	End &e = p->end[side];
	Locked l(e);

	if (e.dead || e.closed || e.gone)
		return;
	if (passes(*p, side) && passes(*p, !side)) {
		if (p->end[!side].closed || p->end[!side].dead)
			die(p, side);
	} else if (network::is_on(p->end[!side].host) && p->end[!side].gone &&
		   network::passes(e.host, p->end[!side].host)) {
		die(p, side); /* restarted, and knows nothing of it */
	} else if (tries >= kMaxTries) {
		die(p, side);
	} else {
		sim::after(kKeepaliveNs, "keepalive",
			   [p, side, tries] { keepalive(p, side, tries + 1); });
	}
}

void keepalive_later(const Ref &p, unsigned int side)
{
	sim::after(kKeepaliveNs + sim::random_below(kKeepaliveNs), "keepalive",
		   [p, side] { keepalive(p, side, 0); });
}

/* @side's packet was lost: @again after a pause, unless that was the last try.  Locked. */
template <typename F>
void again_later(const Ref &p, unsigned int side, F again)
{
	End &e = p->end[side];

	if (e.gone || e.closed)
		return;
	if (e.tries >= kMaxTries) {
		die(p, side);
		return;
	}
	sim::after(pause(e.tries++), "again", again);
}

/* ---- bytes ---- */

void ack_arrives(const Ref &p, unsigned int side, uint64_t upto)
{
	End &e = p->end[side];
	Locked l(e);

	if (e.dead || e.closed || e.gone || upto <= e.acked)
		return;
	if (!passes(*p, !side)) {
		/* The bytes are sent again, and acknowledged again. */
		again_later(p, side, [p, side, upto] { ack_arrives(p, side, upto); });
		return;
	}
	e.tries = 0;
	e.acked = upto;
	if (!e.user)
		return;
	e.user->acked(upto);
	if (e.blocked && e.accepted - e.acked <= state().params.send_window * 2 / 3) {
		e.blocked = false;
		e.user->room();
	}
}

/* Moves what fits from one end to the other. */
void deliver(const Ref &p, unsigned int side)
{
	End &from = p->end[side], &to = p->end[!side];
	size_t window = state().params.recv_window;
	size_t space = to.rx.size() < window ? window - to.rx.size() : 0;
	size_t n = std::min(from.tx.size(), space);

	if (n) {
		n = some_of(n);
		to.rx.put(from.tx.data(), n);
		from.tx.take(n);

		uint64_t upto = from.accepted - from.tx.size();

		send(*p, !side, "ack", [p, side, upto] { ack_arrives(p, side, upto); });
	}
	if (from.fin_out && !from.fin_sent && from.tx.empty())
		from.fin_sent = to.fin_in = true;
	if (to.user && to.open)
		to.user->arrived(RDS_ATOMIC);
}

/* A segment of @side's bytes comes to the other end, or is lost on the way. */
void segment_arrives(const Ref &p, unsigned int side)
{
	End &from = p->end[side], &to = p->end[!side];
	bool again;
	{
		Locked l(to);

		from.moving = false;
		if (from.gone || from.dead)
			return;
		again = !passes(*p, side) && !(to.gone && network::is_on(to.host));
		if (!again && (to.closed || to.gone || to.dead)) {
			send_reset(p, side);
			again = !passes(*p, !side); /* nothing tells that it came */
		} else if (!again) {
			deliver(p, side);
		}
	}
	Locked l(from);

	if (!again) {
		move(p, side);
	} else if (!from.moving) {
		from.moving = true;
		again_later(p, side, [p, side] { segment_arrives(p, side); });
	}
}

/* Sends a segment if there is something to send, room for it, and none on the way. */
void move(const Ref &p, unsigned int side)
{
	End &from = p->end[side], &to = p->end[!side];
	bool fin = from.fin_out && !from.fin_sent && from.tx.empty();
	bool full = to.rx.size() >= state().params.recv_window && !to.closed && !to.gone;
	bool bytes = !from.tx.empty() && !full;

	if (from.moving || from.dead || (!bytes && !fin) || (!bytes && to.closed))
		return;
	from.moving = true;
	send(*p, side, "segment", [p, side] { segment_arrives(p, side); });
}

/* ---- connecting ---- */

/* The caller hears that it was accepted. */
void answer_arrives(const Ref &p)
{
	End &e = p->end[0];
	Locked l(e);

	if (e.closed || e.dead || e.gone)
		return;
	if (!passes(*p, 1)) {
		again_later(p, 0, [p] { answer_arrives(p); });
		return;
	}
	e.tries = 0;
	e.open = true;
	if (e.user)
		e.user->established();
}

/* The call comes to the host of the called address. */
void call_arrives(const Ref &p)
{
	Locked l(p->end[0]);

	if (p->end[0].closed || p->end[0].gone)
		return;
	if (!passes(*p, 0)) {
		again_later(p, 0, [p] { call_arrives(p); });
		return;
	}

	Listener *who = listener_at(p->addr[1]);

	if (!who || sim::chance(state().params.refuse_per_1000)) {
		p->end[1].closed = true;
		send_reset(p, 0);
		return; /* nobody there */
	}
	p->end[1].open = true;
	who->busy++;
	sim::spawn("accept", [p, who] {
		who->incoming(p);
		who->busy--;
	});
	send(*p, 1, "answer", [p] { answer_arrives(p); });
}

bool alive(const Tube &p)
{
	auto at = [](const End &e) { return e.user && !e.dead && !e.closed && !e.gone; };

	return at(p.end[0]) || at(p.end[1]);
}

} // namespace

Locked::Locked(End &e) : e_(e)
{
	sim::wait_on(&e, [&e] { return !e.locked; });
	e.locked = true;
}

Locked::~Locked()
{
	e_.locked = false;
	sim::wake(&e_);
}

void reset(const Params &p)
{
	state() = State();
	state().params = p;
}

Params &params()
{
	return state().params;
}

void listen(const struct rds_addr &a, Listener *l)
{
	auto &all = state().listeners;

	std::erase_if(all, [&](const Listening &o) { return !memcmp(&o.addr, &a, sizeof(a)); });
	if (l)
		all.push_back(Listening{a, l});
}

Ref connect(const struct rds_addr &from, const struct rds_addr &to, uint32_t scope, User *user,
	    uint16_t port)
{
	auto p = std::make_shared<Tube>();
	auto &all = state().tubes;

	p->addr[0] = from;
	p->addr[1] = to;
	p->scope = scope;
	p->port = port;
	p->number = ++state().number;
	p->end[0].user = user;
	p->end[0].host = network::host_of(from);
	p->end[1].host = network::host_of(to);
	p->end[0].gone = !network::is_on(p->end[0].host);
	if (all.size() == all.capacity())
		std::erase_if(all, [](const std::weak_ptr<Tube> &o) { return o.expired(); });
	all.push_back(p);
	send(*p, 0, "call", [p] { call_arrives(p); });
	return p;
}

size_t room(Tube &p, unsigned int side, size_t want, size_t most)
{
	End &e = p.end[side];
	size_t used = static_cast<size_t>(e.accepted - e.acked);
	size_t window = state().params.send_window;
	size_t n = std::min({want, most, used < window ? window - used : 0});

	e.blocked = n < want;
	return n;
}

void wrote(const Ref &p, unsigned int side, size_t n)
{
	p->end[side].accepted += n;
	move(p, side);
}

void read_some(const Ref &p, unsigned int side)
{
	move(p, !side); /* the window may have opened */
}

void finish(const Ref &p, unsigned int side)
{
	p->end[side].fin_out = true;
	move(p, side);
}

void close(const Ref &p, unsigned int side)
{
	End &e = p->end[side];

	e.user = nullptr;
	if (e.fin_in && !e.dead && e.rx.empty()) {
		/* The bytes in tx still go out; then both have ended. */
		finish(p, side);
		return;
	}
	if (!e.dead && !e.gone)
		send_reset(p, !side);
	e.closed = true;
}

void refuse(const Ref &p, unsigned int side)
{
	p->end[side].closed = true;
	send_reset(p, !side);
}

uint64_t ByteQueue::fresh_digest() const
{
	uint64_t h = size();

	for (size_t i = 0; i < size(); i += sizeof(h)) {
		uint64_t word = 0;

		memcpy(&word, data() + i, std::min(sizeof(word), size() - i));
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return sim::mix(h) | 1;
}

namespace
{

uint64_t digest(const End &e)
{
	uint64_t h = e.tx.digest() + 3 * e.rx.digest() + (e.accepted - e.acked) * 5 + e.tries;

	for (bool b : {e.locked, e.user != nullptr, e.open, e.closed, e.gone, e.fin_out, e.fin_sent,
		       e.fin_in, e.dead, e.blocked, e.moving})
		h = h * 3 + b;
	return sim::mix(h);
}

} // namespace

uint64_t digest()
{
	uint64_t h = 0;

	for (auto &weak : state().tubes)
		if (auto p = weak.lock())
			h = sim::mix(h + digest(p->end[0]) + 7 * digest(p->end[1]));
	return h;
}

uint64_t place(const Ref &p)
{
	uint64_t n = 0;

	for (auto &weak : state().tubes) {
		auto other = weak.lock();

		n += !!other;
		if (other == p)
			return n;
	}
	return 0;
}

bool quiet()
{
	for (auto &weak : state().tubes) {
		auto p = weak.lock();

		for (unsigned int side = 0; p && side < 2; side++) {
			const End &e = p->end[side];

			if (!e.closed && !e.gone && (!e.rx.empty() || (!e.tx.empty() && !e.dead)))
				return false;
		}
	}
	return true;
}

Ref living(uint64_t nth)
{
	for (auto &weak : state().tubes) {
		auto p = weak.lock();

		if (p && alive(*p) && !nth--)
			return p;
	}
	return nullptr;
}

unsigned int count_living()
{
	unsigned int n = 0;

	for (auto &weak : state().tubes) {
		auto p = weak.lock();

		n += p && alive(*p);
	}
	return n;
}

void cut_one_end(const Ref &p, unsigned int side)
{
	sim::after(network::delay(p->end[!side].host, p->end[side].host), "reset", [p, side] {
		Locked l(p->end[side]);

		die(p, side);
	});
}

void cut(const Ref &p)
{
	cut_one_end(p, 0);
	cut_one_end(p, 1);
}

void crash(network::HostId h)
{
	for (auto &weak : state().tubes) {
		auto p = weak.lock();

		for (unsigned int side = 0; p && side < 2; side++) {
			End &e = p->end[side];

			if (e.host != h || e.gone || (side && !e.open))
				continue;
			e.gone = true;
			keepalive_later(p, !side);
		}
	}
}

} // namespace tube
