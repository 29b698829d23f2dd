// SPDX-License-Identifier: GPL-2.0
/* The acts of applications. */
#include <algorithm>

#include "stage.h"

namespace story
{

Habits Stage::habits(sim::Rng &r) const
{
	Habits h;

	h.sndbuf = 500 + static_cast<uint32_t>(r.below(setup_.max_buffer));
	h.rcvbuf = 500 + static_cast<uint32_t>(r.below(setup_.max_buffer));
	h.event_loop = r.chance(400);
	h.monitor = r.chance(300);
	h.pause_ns =
		r.chance(150) ? 1 + r.below(std::max<uint64_t>(200 * 1000, setup_.pace_ns)) : 0;
	h.faulty_reads = r.chance(100);
	h.stamps = r.chance(300);
	h.tos = static_cast<uint8_t>(r.chance(400) ? r.below(4) : 0);
	h.recverr = setup_.rdma && r.chance(400);
	h.edge = r.chance(400);
	if (setup_.batches) {
		/* A copy: what else is drawn stays what it is. */
		sim::Rng own = r;

		h.batch = own.chance(500) ? 2 + own.below(8) : 1;
	}
	return h;
}

Job Stage::job(unsigned int to, uint32_t count, sim::Rng &r)
{
	Job j;

	j.to = to;
	j.at = nodes[watch.host_of(to)]->at(to % watch.slots_per_host);
	j.count = count;
	j.min = 16;
	j.max = j.min + static_cast<uint32_t>(r.below(setup_.max_bytes));
	j.more_per_1000 = r.chance(300) ? 300 : 0;
	j.empty_per_1000 = r.chance(200) ? 100 : 0;
	j.zcopy_per_1000 = r.chance(100) ? 200 : 0;
	j.rng = sim::Rng(r.next());
	if (setup_.hints) {
		/* A copy: what else is drawn stays what it is. */
		sim::Rng own = j.rng;

		j.unordered_per_1000 = static_cast<unsigned int>(own.below(1001));
		j.half_per_1000 = static_cast<unsigned int>(own.below(1001 - j.unordered_per_1000));
	}
	return j;
}

bool Stage::flow(unsigned int from, unsigned int to, uint32_t count, sim::Rng &r)
{
	Node *n = node_of(from), *peer = node_of(to);

	/* One end is ours. */
	if (!has(from) || !peer || (!n->core() && !peer->core()))
		return false;
	/* A message to nobody is lost: rarely worth it. */
	if (!has(to) && (!r.chance(100) || watch.is_liar(peer->addr)))
		return false;
	return n->send(from % watch.slots_per_host, job(to, count, r));
}

/* From one socket to each of the others, in turns as the scheduler likes it. */
void Stage::fan_out(sim::Rng &r)
{
	unsigned int from = static_cast<unsigned int>(r.below(watch.n_slots));
	uint32_t count = 1 + static_cast<uint32_t>(r.below(setup_.max_count / 4 + 1));
	uint64_t seed = r.next();

	for (unsigned int to = 0; to < watch.n_slots; to++) {
		sim::Rng same(seed);

		if (to != from)
			flow(from, to, count, same);
	}
}

void Stage::cancel(sim::Rng &r)
{
	unsigned int from = static_cast<unsigned int>(r.below(watch.n_slots));
	unsigned int to = static_cast<unsigned int>(r.below(watch.n_slots));
	App *a = app(from);

	if (!a || !node_of(to))
		return;

	struct rds_endpoint at = node_of(to)->at(to % watch.slots_per_host);

	sim::say("%s takes back %s", a->who().c_str(), host::show(at.addr).c_str());
	a->cancel(r.chance(700) ? &at : nullptr, to);
}

/* Between two hosts of ours: on one, and to others, there is no RDMA. */
void Stage::expose(unsigned int from, unsigned int to, sim::Rng &r)
{
	App *a = app(from), *b = app(to);

	if (a && b && watch.host_of(from) != watch.host_of(to))
		a->expose(to, b->at, sim::Rng(r.next()));
}

bool Stage::rdma_act(const Step &s)
{
	sim::Rng r(s.seed);
	unsigned int from = static_cast<unsigned int>(r.below(watch.n_slots));
	unsigned int to = static_cast<unsigned int>(r.below(watch.n_slots));
	App *a = app(from);

	switch (s.act) {
	case Act::kExpose:
		expose(from, to, r);
		return true;
	case Act::kOperate:
		if (a)
			a->operate(1 + static_cast<uint32_t>(r.below(setup_.max_count)),
				   sim::Rng(r.next()));
		return true;
	case Act::kUnmap:
		if (a)
			a->unmap(r);
		return true;
	default:
		return false;
	}
}

void Stage::open(sim::Rng &r)
{
	unsigned int slot = static_cast<unsigned int>(r.below(watch.n_slots));

	if (CoreNode *n = core(watch.host_of(slot)))
		n->open(slot % watch.slots_per_host, habits(r));
}

void Stage::open_most()
{
	for (unsigned int slot = 0; slot < watch.n_slots; slot++) {
		sim::Rng r(setup_.seed, ~uint64_t{slot});
		CoreNode *n = core(watch.host_of(slot));

		if (n && r.chance(800))
			n->open(slot % watch.slots_per_host, habits(r));
	}
}

bool Stage::app_act(const Step &s)
{
	sim::Rng r(s.seed);
	unsigned int from = static_cast<unsigned int>(r.below(watch.n_slots));
	unsigned int to = static_cast<unsigned int>(r.below(watch.n_slots));

	switch (s.act) {
	case Act::kOpen:
		open(r);
		return true;
	case Act::kClose:
		if (CoreNode *n = core(watch.host_of(from)))
			n->close(from % watch.slots_per_host);
		return true;
	case Act::kFlow:
		flow(from, to, 1 + static_cast<uint32_t>(r.below(setup_.max_count)), r);
		return true;
	case Act::kFanOut:
		fan_out(r);
		return true;
	case Act::kStuck:
		if (has(from))
			node_of(from)->set_stuck(from % watch.slots_per_host, r.chance(500));
		return true;
	case Act::kHabits:
		if (has(from))
			node_of(from)->set_habits(from % watch.slots_per_host, habits(r));
		return true;
	case Act::kCancel:
		cancel(r);
		return true;
	default:
		return rdma_act(s);
	}
}

} // namespace story
