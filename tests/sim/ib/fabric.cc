// SPDX-License-Identifier: GPL-2.0
#include "fabric.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "pages.h"
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
/* RDS_RDMA_* of the UAPI. */
constexpr int kRemoteError = 1, kOtherError = 4;
/* What goes out in one go. */
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
	uint64_t not_ready = 0, works = 0;
	unsigned int fail_in = 0;
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

/* What an adapter that dies may still have put into memory: the beginning of the answers that were
 * on their way. */
void land_in_part(Qp &q)
{
	for (const Work &w : q.unacked) {
		if (!w.answer || sim::chance(500))
			continue;

		const auto &bytes = w.answer->bytes();

		host::write_pages(w.request.op->pages, w.request.off,
				  static_cast<uint32_t>(sim::random_below(bytes.size() + 1)),
				  bytes.data());
	}
}

/* To error; @status: the adapter says how its oldest work request ended.  Locked. */
void die(const Ref &p, unsigned int side, int status = 0)
{
	Qp &q = p->qp[side];

	if (q.dead)
		return;
	q.dead = true;
	if (status && !q.unacked.empty()) {
		q.failed = status;
		q.failed_slot = q.unacked.front().slot;
	}
	land_in_part(q);
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

/* ---- work requests ---- */

void move(const Ref &p, unsigned int side);
void frames_arrive(const Ref &p, unsigned int side);

/* The first @n are done.  True: the next one is not, and never will be.  Locked. */
bool take_answers(const Ref &p, unsigned int side, size_t n)
{
	Qp &q = p->qp[side];

	q.due -= n;
	for (; n && !q.unacked.empty(); n--) {
		const Work &w = q.unacked.front();

		if (w.answer)
			host::write_pages(w.request.op->pages, w.request.off, w.request.len,
					  w.answer->bytes().data());
		if (w.signaled)
			q.sent.push_back(w.slot);
		q.unacked.pop_front();
	}
	raise(p, side);
	move(p, side);
	return q.refused && !q.due && !q.dead;
}

void answered(const Ref &p, unsigned int side, size_t n)
{
	bool refused;
	{
		Locked l(p->qp[side]);

		refused = take_answers(p, side, n);
		if (refused)
			die(p, side, kRemoteError);
	}
	if (refused && sim::chance(500)) {
		Locked l(p->qp[!side]);

		die(p, !side);
	}
}

/* A work request on its way, with what was read from memory for it. */
struct Packet {
	Work w;
	std::vector<unsigned char> bytes;
};

Packet packet(const Work &w)
{
	Packet k = {w, {}};
	const Request &r = w.request;

	k.bytes.resize(r.op ? (r.reads() ? 0 : r.len) : w.len);
	if (r.op && !k.bytes.empty())
		host::read_pages(r.op->pages, r.off, r.len, k.bytes.data());
	else if (!k.bytes.empty())
		rds_payload_to_mem(rds_msg_payload(w.m), w.off, w.len, k.bytes.data());
	return k;
}

bool waits_for_answers(const Qp &q, const Work &w)
{
	return w.fence && std::any_of(q.unacked.begin(), q.unacked.end(),
				      [](const Work &o) { return o.answer != nullptr; });
}

/* How many may go out in one go: a buffer for every frame, and no fence in between. */
size_t ready(const Qp &q, size_t buffers)
{
	size_t n = 0;
	bool reads = false;

	for (const Work &w : q.posted) {
		if (n == kBurst || waits_for_answers(q, w) || (w.fence && reads) ||
		    (!w.request.op && !buffers))
			break;
		buffers -= !w.request.op;
		reads |= w.request.reads();
		n++;
	}
	return n;
}

bool fails()
{
	State &s = state();

	s.works++;
	return sim::chance(s.params.error_per_1000) || (s.fail_in && !--s.fail_in);
}

/* What goes out now, read from memory.  Locked. */
std::vector<Packet> take_burst(const Ref &p, unsigned int side, bool *fault)
{
	Qp &q = p->qp[side];
	size_t n = ready(q, p->qp[!side].buffers);
	std::vector<Packet> burst;

	n = n && sim::chance(500) ? 1 + sim::random_below(n) : n;
	for (; n && !*fault; n--) {
		Work w = q.posted.front();

		*fault = fails();
		if (w.request.reads())
			w.answer = std::make_shared<Answer>();

		Packet k = packet(w);

		q.posted.pop_front();
		q.unacked.push_back(w);
		/* One with a fault may have arrived all the same, or a part of what it writes. */
		if (*fault && w.request.op)
			k.bytes.resize(sim::random_below(k.bytes.size() + 1));
		if (!*fault || sim::chance(500))
			burst.push_back(std::move(k));
	}
	return burst;
}

struct Delivered {
	bool there; /* somebody was */
	size_t n;   /* so many were carried out, ... */
	bool refused; /* ... and then one was not */
};

Delivered deliver(const Ref &p, unsigned int side, std::vector<Packet> &burst)
{
	Qp &to = p->qp[!side];
	Locked l(to);
	Delivered d = {to.open && !to.dead && !to.closed, 0, false};

	if (!d.there)
		return d;
	to.heard = true;
	for (Packet &k : burst) {
		if (k.w.request.op) {
			d.refused = !execute(to.host, k.w.request, k.bytes, k.w.answer.get());
			if (d.refused)
				break;
		} else {
			Arrival a;

			if (!to.buffers)
				sim::fail("a frame without a buffer");
			to.buffers--;
			memcpy(a.header, k.w.header, sizeof(a.header));
			a.bytes = std::move(k.bytes);
			to.arrived.push_back(std::move(a));
		}
		d.n++;
	}
	raise(p, !side);
	return d;
}

/* Nothing went out.  Locked. */
void try_again(const Ref &p, unsigned int side, bool there)
{
	Qp &q = p->qp[side];
	auto retry = [p, side] { frames_arrive(p, side); };

	if (there && waits_for_answers(q, q.posted.front()))
		return; /* they move it */
	q.moving = true;
	state().not_ready += there;
	if (there)
		sim::after(kRnrNs, "not ready", retry);
	else
		again_later(p, side, retry);
}

void frames_arrive(const Ref &p, unsigned int side)
{
	Qp &from = p->qp[side];
	std::vector<Packet> burst;
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

	const bool any = !burst.empty();
	const Delivered d = any ? deliver(p, side, burst) : Delivered{};
	Locked l(from);

	from.moving = false;
	from.refused = d.refused;
	from.due += d.n;
	if (fault) {
		die(p, side, sim::chance(500) ? kOtherError : 0);
		return;
	}
	if (d.there) {
		from.tries = 0;
		if (!from.dead)
			sim::after(delay(*p, !side), "answer",
				   [p, side, n = d.n] { answered(p, side, n); });
	} else if (any) {
		die(p, side); /* sent into the void: nobody will answer */
	} else if (!from.dead && !from.posted.empty()) {
		try_again(p, side, there);
		return;
	}
	move(p, side);
}

/* Locked. */
void move(const Ref &p, unsigned int side)
{
	Qp &q = p->qp[side];

	if (q.moving || q.refused || q.dead || !q.open || q.posted.empty() ||
	    waits_for_answers(q, q.posted.front()))
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
