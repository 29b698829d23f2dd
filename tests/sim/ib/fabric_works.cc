// SPDX-License-Identifier: GPL-2.0
/* Work requests: from one queue pair to the other, and their answers. */
#include <algorithm>
#include <cstring>

#include "fabric_parts.h"
#include "pages.h"

namespace fabric
{
namespace
{

/* A frame that finds no buffer is tried again after this. */
constexpr uint64_t kRnrNs = 320 * 1000;
/* RDS_RDMA_* of the UAPI. */
constexpr int kRemoteError = 1, kOtherError = 4;
/* The packets that go out in one go. */
constexpr size_t kBurst = 16;

void frames_arrive(const Ref &p, unsigned int side);

/* A dying adapter may still have put data into memory: the beginning of the answers that were
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

	if (w.raw) {
		k.bytes = *w.raw;
		return k;
	}
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

/* The packets that go out now, read from memory.  Locked. */
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
	bool there;   /* somebody was */
	size_t n;     /* so many were carried out, ... */
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
	bool wakes = !to.sleeps;
	for (Packet &k : burst) {
		wakes |= k.w.solicited;
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
	if (wakes) {
		to.woken = true;
		raise(p, !side);
	}
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

} // namespace

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

void die(const Ref &p, unsigned int side, int status)
{
	Qp &q = p->qp[side];

	if (q.dead)
		return;
	q.dead = q.woken = true;
	if (status && !q.unacked.empty()) {
		q.failed = status;
		q.failed_slot = q.unacked.front().slot;
	}
	land_in_part(q);
	q.unacked.clear();
	q.posted.clear();
	raise(p, side);
}

void move(const Ref &p, unsigned int side)
{
	Qp &q = p->qp[side];

	if (q.moving || q.refused || q.dead || !q.open || q.posted.empty() ||
	    waits_for_answers(q, q.posted.front()))
		return;
	q.moving = true;
	sim::after(delay(*p, side), "frames", [p, side] { frames_arrive(p, side); });
}

} // namespace fabric
