// SPDX-License-Identifier: GPL-2.0
#include "fabric.h"

#include <algorithm>
#include <cstring>

#include "fabric_parts.h"

namespace fabric
{
namespace
{

/* The end that accepted, and hears nothing, gives up. */
constexpr uint64_t kAcceptNs = 2000 * kMs;

Listener *listener_at(const struct rds_addr &a)
{
	for (const Listening &l : state().listeners)
		if (!memcmp(&l.addr, &a, sizeof(a)))
			return l.listener;
	return nullptr;
}

/* The other end learns that @side was destroyed; this may be lost, and then it does not. */
void tell_end(const Ref &p, unsigned int side)
{
	if (p->qp[side].gone)
		return;
	sim::after(delay(*p, side), "disconnect", [p, side] {
		if (!passes(*p, side))
			return;

		Locked l(p->qp[!side]);

		die(p, !side);
	});
}

/* ---- connecting ---- */

void ready_arrives(const Ref &p)
{
	Qp &q = p->qp[1];
	Locked l(q);

	if (!passes(*p, 0) || q.dead)
		return;
	q.heard = true;
	if (q.user)
		q.user->established();
}

void reply_arrives(const Ref &p)
{
	Qp &q = p->qp[0];
	Locked l(q);

	if (!passes(*p, 1)) {
		if (!q.dead)
			again_later(p, 0, [p] { reply_arrives(p); });
	} else if (q.dead) {
		tell_end(p, 0); /* given up meanwhile */
	} else {
		q.tries = 0;
		q.open = true;
		if (q.user)
			q.user->established();
		sim::after(delay(*p, 0), "ready", [p] { ready_arrives(p); });
	}
}

void request_arrives(const Ref &p)
{
	Locked l(p->qp[0]);

	if (p->qp[0].dead)
		return;
	if (!passes(*p, 0)) {
		again_later(p, 0, [p] { request_arrives(p); });
		return;
	}
	if (p->qp[1].host == state().params.deaf)
		return;

	Listener *who = listener_at(p->addr[1]);

	if (!who || sim::chance(state().params.refuse_per_1000)) {
		reject(p);
		return;
	}
	who->busy++;
	sim::spawn("accept", [p, who] {
		who->incoming(p);
		who->busy--;
	});
}

bool alive(const Pair &p)
{
	auto at = [](const Qp &q) { return q.user && !q.dead; };

	return at(p.qp[0]) || at(p.qp[1]);
}

/* Ends on host @h, with the side. */
template <typename F>
void for_ends(network::HostId h, F fn)
{
	const auto all = state().pairs;

	for (const auto &weak : all) {
		auto p = weak.lock();

		for (unsigned int side = 0; p && side < 2; side++)
			if (p->qp[side].host == h)
				fn(p, side);
	}
}

} // namespace

State &state()
{
	static auto *s = new State;
	return *s;
}

uint64_t delay(const Pair &p, unsigned int from)
{
	return network::delay(p.qp[from].host, p.qp[!from].host);
}

bool passes(const Pair &p, unsigned int from)
{
	return has_device(p.qp[!from].host) && network::passes(p.qp[from].host, p.qp[!from].host);
}

Locked::Locked(Qp &q) : q_(q)
{
	sim::wait_on(&q, [&q] { return !q.locked; });
	q.locked = true;
}

Locked::~Locked()
{
	q_.locked = false;
	sim::wake(&q_);
}

void reset(const Params &p)
{
	state() = State();
	state().params = p;
	reset_remote();
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

Ref create(const struct rds_addr &from, const struct rds_addr &to, uint32_t scope, User *user)
{
	auto &all = state().pairs;
	auto p = std::make_shared<Pair>();

	p->addr[0] = from;
	p->addr[1] = to;
	p->scope = scope;
	p->number = ++state().number;
	for (unsigned int side = 0; side < 2; side++)
		p->qp[side].host = network::host_of(p->addr[side]);
	if (!has_device(p->qp[0].host))
		return nullptr;
	p->qp[0].user = user;
	if (all.size() == all.capacity())
		std::erase_if(all, [](const auto &o) { return o.expired(); });
	all.push_back(p);
	return p;
}

void request(const Ref &p, const Data &said)
{
	p->said[0] = said;
	sim::after(delay(*p, 0), "request", [p] { request_arrives(p); });
}

bool accept(const Ref &p, const Data &said, User *user)
{
	Qp &q = p->qp[1];

	if (q.dead || !has_device(q.host))
		return false;
	q.user = user;
	q.open = true;
	p->said[1] = said;
	sim::after(delay(*p, 1), "reply", [p] { reply_arrives(p); });
	sim::after(kAcceptNs, "no answer", [p] {
		Locked l(p->qp[1]);

		if (!p->qp[1].heard)
			die(p, 1);
	});
	return true;
}

void reject(const Ref &p, const Data &said)
{
	p->said[1] = said;
	p->qp[1].closed = p->qp[1].dead = true;
	tell_end(p, 1);
}

void post_send(const Ref &p, unsigned int side, const Work &w)
{
	if (p->qp[side].dead)
		return;
	p->qp[side].posted.push_back(w);
	move(p, side);
}

void post_recv(const Ref &p, unsigned int side)
{
	p->qp[side].buffers++;
}

void destroy(const Ref &p, unsigned int side)
{
	Qp &q = p->qp[side];

	q.user = nullptr;
	die(p, side);
	q.closed = true;
	tell_end(p, side);
}

bool quiet()
{
	for (auto &weak : state().pairs) {
		auto p = weak.lock();

		for (unsigned int side = 0; p && side < 2; side++) {
			const Qp &q = p->qp[side];
			bool idle = q.posted.empty() && q.unacked.empty() && q.arrived.empty();

			if (!q.closed && !q.gone && !q.dead && !idle)
				return false;
		}
	}
	return true;
}

Ref living(uint64_t nth)
{
	for (auto &weak : state().pairs) {
		auto p = weak.lock();

		if (p && alive(*p) && !nth--)
			return p;
	}
	return nullptr;
}

unsigned int count_living()
{
	unsigned int n = 0;

	for (auto &weak : state().pairs) {
		auto p = weak.lock();

		n += p && alive(*p);
	}
	return n;
}

void fail(const Ref &p, unsigned int side)
{
	sim::after(delay(*p, side), "fault", [p, side] {
		Locked l(p->qp[side]);

		die(p, side);
	});
}

void fail_nth(unsigned int nth)
{
	state().fail_in = nth;
}

uint64_t works()
{
	return state().works;
}

void crash(network::HostId h)
{
	conceal_all(h);
	for_ends(h, [](const Ref &p, unsigned int side) {
		Locked l(p->qp[side]);

		p->qp[side].gone = true;
		die(p, side);
	});
}

void remove_device(network::HostId h, bool gone)
{
	if (!gone) {
		state().without_device.erase(h);
		return;
	}
	state().without_device.insert(h);
	conceal_all(h);
	for_ends(h, [](const Ref &p, unsigned int side) {
		Locked l(p->qp[side]);

		die(p, side);
	});
}

uint64_t not_ready()
{
	return state().not_ready;
}

bool has_device(network::HostId h)
{
	return network::is_on(h) && !state().without_device.count(h);
}

} // namespace fabric
