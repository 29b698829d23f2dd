// SPDX-License-Identifier: GPL-2.0
#include "fabric.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "sim.h"

namespace fabric
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
/* A frame that finds no buffer is tried again after this ... */
constexpr uint64_t kRnrNs = 320 * 1000;
/* ... and what gets no answer at all after this, so often. */
constexpr uint64_t kResendNs = 100 * kMs;
constexpr unsigned int kMaxTries = 4;
/* Who accepted, and hears nothing, gives up. */
constexpr uint64_t kAcceptNs = 2000 * kMs;
/* Frames that go out in one go. */
constexpr size_t kBurst = 16;

struct Listening {
	struct rds_addr addr;
	Listener *listener;
};

struct State {
	Params params;
	std::vector<Listening> listeners;
	std::vector<std::weak_ptr<Pair>> pairs;
	std::set<network::HostId> without_device;
	uint32_t number = 0;
	uint64_t not_ready = 0;
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

uint64_t delay(const Pair &p, unsigned int from)
{
	return network::delay(p.qp[from].host, p.qp[!from].host);
}

bool passes(const Pair &p, unsigned int from)
{
	return has_device(p.qp[!from].host) && network::passes(p.qp[from].host, p.qp[!from].host);
}

/* The user looks at its completions, in a moment.  Locked. */
void raise(const Ref &p, unsigned int side)
{
	Qp &q = p->qp[side];

	if (q.raised || !q.user)
		return;
	q.raised = true;
	sim::after(sim::random_below(2000), "completion", [p, side] {
		Qp &q = p->qp[side];
		Locked l(q);

		q.raised = false;
		if (q.user)
			q.user->completed(RDS_ATOMIC);
	});
}

/* To error.  Locked. */
void die(const Ref &p, unsigned int side)
{
	Qp &q = p->qp[side];

	if (q.dead)
		return;
	q.dead = true;
	q.unacked.clear();
	q.posted.clear();
	raise(p, side);
}

/* Nothing came back for what @side sent: @again, unless that was the last try.  Locked. */
template <typename F>
void again_later(const Ref &p, unsigned int side, F again)
{
	Qp &q = p->qp[side];

	if (q.tries++ < kMaxTries)
		sim::after(kResendNs, "again", again);
	else
		die(p, side);
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

/* ---- frames ---- */

void move(const Ref &p, unsigned int side);

void answered(const Ref &p, unsigned int side, size_t n)
{
	Qp &q = p->qp[side];
	Locked l(q);

	for (; n && !q.unacked.empty(); n--) {
		if (q.unacked.front().signaled)
			q.sent.push_back(q.unacked.front().slot);
		q.unacked.pop_front();
	}
	raise(p, side);
}

/* What goes out now, read from memory.  Locked. */
std::vector<Arrival> take_burst(const Ref &p, unsigned int side, bool *fault)
{
	Qp &q = p->qp[side];
	size_t n = std::min<size_t>({q.posted.size(), p->qp[!side].buffers, kBurst});
	std::vector<Arrival> burst;

	n = n && sim::chance(500) ? 1 + sim::random_below(n) : n;
	for (; n && !*fault; n--) {
		const Frame f = q.posted.front();
		Arrival a;

		*fault = sim::chance(state().params.error_per_1000);
		memcpy(a.header, f.header, sizeof(a.header));
		a.bytes.resize(f.len);
		if (f.len)
			rds_payload_to_mem(rds_msg_payload(f.m), f.off, f.len, a.bytes.data());
		q.posted.pop_front();
		q.unacked.push_back(f);
		/* A frame with a fault may have arrived all the same. */
		if (!*fault || sim::chance(500))
			burst.push_back(std::move(a));
	}
	return burst;
}

/* False: there is nobody. */
bool deliver(const Ref &p, unsigned int side, std::vector<Arrival> &burst)
{
	Qp &to = p->qp[!side];
	Locked l(to);

	if (!to.open || to.dead || to.closed)
		return false;
	to.heard = true;
	for (Arrival &a : burst) {
		if (!to.buffers)
			sim::fail("a frame without a buffer");
		to.buffers--;
		to.arrived.push_back(std::move(a));
	}
	raise(p, !side);
	return true;
}

void frames_arrive(const Ref &p, unsigned int side)
{
	Qp &from = p->qp[side];
	std::vector<Arrival> burst;
	bool fault = false, there;

	there = passes(*p, side) && p->qp[!side].open && !p->qp[!side].dead;
	{
		Locked l(from);

		if (from.dead) {
			from.moving = false;
			return;
		}
		if (there)
			burst = take_burst(p, side, &fault);
	}

	size_t n = burst.size();
	bool taken = n && deliver(p, side, burst);
	Locked l(from);

	from.moving = false;
	if (fault) {
		die(p, side);
		return;
	}
	if (taken) {
		from.tries = 0;
		if (!from.dead)
			sim::after(delay(*p, !side), "answer",
				   [p, side, n] { answered(p, side, n); });
	} else if (n) {
		die(p, side); /* sent into the void: nobody will answer */
	} else if (!from.dead && !from.posted.empty()) {
		auto retry = [p, side] { frames_arrive(p, side); };

		from.moving = true;
		state().not_ready += there;
		if (there)
			sim::after(kRnrNs, "not ready", retry);
		else
			again_later(p, side, retry);
		return;
	}
	move(p, side);
}

/* Locked. */
void move(const Ref &p, unsigned int side)
{
	Qp &q = p->qp[side];

	if (q.moving || q.dead || !q.open || q.posted.empty())
		return;
	q.moving = true;
	sim::after(delay(*p, side), "frames", [p, side] { frames_arrive(p, side); });
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

void post_send(const Ref &p, unsigned int side, const Frame &f)
{
	if (p->qp[side].dead)
		return;
	p->qp[side].posted.push_back(f);
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

void crash(network::HostId h)
{
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
