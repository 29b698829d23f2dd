// SPDX-License-Identifier: GPL-2.0
#include "play.h"

#include "budget.h"
#include "harms.h"
#include "rng.h"
#include "sim.h"

namespace adversary
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000, kSecond = 1000 * kMs;
constexpr uint64_t kMeasureNs = 200 * kMs;
/* Longer than any stranger may be silent in the midst of a message (kStallNs), two looks of the
 * sweep (kSweepNs) behind it; and than kKnownCalls take that are refused. */
constexpr uint64_t kSilentNs = 80 * kSecond, kGoneNs = 250 * kSecond;

void take_steps(World &w, const Plan &plan)
{
	for (const Step &s : plan.steps) {
		const Harm &h = harms[s.harm];

		sim::reseed(s.seed);
		sim::say("step %u: %s: %s", s.number, h.name, h.what);
		sim::note(s.number);
		h.fn(w);
		w.wait(s.pause_ns);
		if (!w.complaint.empty())
			return;
	}
}

void fall_silent(World &w, Budget &b, const Plan &plan)
{
	sim::reseed(plan.config.seed);
	sim::say("it falls silent");
	w.pace_ns = kSlowPaceNs;
	w.adv->go_silent();
	w.close_victims();
	w.wait(kSilentNs);
	b.look_at_silence();
	sim::say("it is gone");
	if (plan.crashes) {
		const unsigned int id = network::host_of(w.adv->names[0].addr);

		network::power(id, false);
		tube::crash(id);
		fabric::crash(id);
	} else {
		w.adv->leave();
	}
	w.wait(kGoneNs);
	b.look_at_what_is_left(plan.crashes);
}

} // namespace

Plan make_plan(uint64_t seed, unsigned int steps)
{
	sim::Rng rng(seed);
	Plan p = {.config = {.seed = seed,
			     .pairs = seed % 3 == 0,
			     .preempt_per_1000 = seed % 2 ? 30u : 0u,
			     .window = rng.chance(500) ? 3000u : 32u * 1024,
			     .paths = rng.chance(500) ? 4u : 1u,
			     .credits = rng.chance(500),
			     .b_is_smaller = rng.chance(500),
			     .max_passive = rng.chance(500) ? 4u : 64u},
		  .steps = {},
		  .crashes = rng.chance(300)};

	while (p.steps.size() < steps) {
		const auto harm = static_cast<unsigned int>(rng.below(n_harms));
		const uint64_t own = rng.next(), pause = rng.below(rng.chance(800) ? 5 : 500) * kMs;

		if (harms[harm].over == (p.config.pairs ? Over::kStreams : Over::kPairs))
			continue;
		p.steps.push_back({static_cast<unsigned int>(p.steps.size()), harm, own, pause});
	}
	return p;
}

Result play(const Plan &plan)
{
	auto world = std::make_unique<World>(plan.config);
	World &w = *world;
	Budget b(w, plan.config);
	Result r;

	sim::reseed(plan.config.seed);
	b.measure(kMeasureNs);
	w.look = [&b] { b.look(); };
	take_steps(w, plan);
	for (const Name &n : w.adv->names)
		r.frames += n.tally.frames;
	if (w.complaint.empty())
		fall_silent(w, b, plan);
	w.look = nullptr;
	r.told = b.show();
	if (w.complaint.empty())
		w.end();
	if (!w.complaint.empty() && sim::tracing)
		printf("A:\n%s", w.a->show_stats().c_str());
	r.complaint = w.complaint;
	r.honest = w.honest;
	r.virtual_ns = sim::now_ns();
	r.history = sim::history();
	if (!r.complaint.empty())
		(void)world.release(); /* nothing of it can be trusted to end */
	sim::discard();
	return r;
}

} // namespace adversary
