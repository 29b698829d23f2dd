// SPDX-License-Identifier: GPL-2.0
#include "story.h"

#include "aged.h"

#include "check_states.h"
#include "stage.h"
#include "traffic.h"

namespace story
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
/* Everything that is still to come has come by then: back-off, time-outs, keepalive, all of them
 * many times. */
constexpr uint64_t kPatienceNs = 600 * 1000 * kMs;
/* Links that were cut have come together again by then: twice the longest back-off that stories
 * set, and the two keepalives after which a dead connection is known to be dead. */
constexpr uint64_t kRecoveryNs = (2 * 2000 + 2 * 5000 + 1000) * kMs;

/* Lets the world go on until @done, which is asked from time to time only: at chosen moments, for
 * what happens every 20 ms looks the same at each multiple of them. */
template <typename F>
bool wait_for(F done)
{
	uint64_t end = sim::now_ns() + kPatienceNs;

	for (uint64_t slice = kMs / 8; sim::now_ns() < end;
	     slice = std::min(slice * 2, 100 * kMs)) {
		if (done())
			return true;
		sim::run_for(slice / 2 + sim::random_below(slice));
	}
	return done();
}

/* How long it took until everybody was served. */
uint64_t rest(Stage &st)
{
	uint64_t began = sim::now_ns(), took = 0;
	auto idle = [&] {
		st.look_at_memory();
		return st.idle();
	};
	if (wait_for([&] { return st.served(); }))
		took = sim::now_ns() - began;

	/* Twice: what is acknowledged may still be in a window, or in a reader's hands. */
	bool done = wait_for(idle);
	sim::run_for(50 * kMs);
	done = done && wait_for(idle);
	if (took > kRecoveryNs + st.longest_way_ns())
		st.watch.complain("liveness: it took " + std::to_string(took / kMs) +
				  " ms of peace until everybody was served");
	if (!done)
		st.watch.complain("rest: something waits for ever:" + st.show());
	return took;
}

std::vector<Voice> all_voices(Stage &st)
{
	std::vector<Voice> voices;

	for (auto &n : st.nodes) {
		if (!n || !n->up())
			continue;
		n->settle();
		for (Voice &v : n->voices())
			voices.push_back(std::move(v));
	}
	return voices;
}

/* A dead connection may still stand for what its peer said last, that a port is full: a sender
 * waits until it is told. */
void say(Stage &st, const Voice &from, const Voice &to, const host::Bytes &data)
{
	int ret = -105;
	bool over = false;

	sim::spawn("speaker", [&] {
		ret = from.send(to.at, data);
		over = true;
	});
	if (!wait_for([&] { return over; }) || ret)
		st.watch.complain("rest: at peace a send from " + host::show(from.at.addr) +
				  " port " + std::to_string(from.at.port) + " failed with " +
				  std::to_string(ret));
}

/* A connection with a host of mainline's that lived before may have to end once more before both
 * ends mean the same life of it.  A loss by that is watch.loss's to judge; messages sent when all
 * of it has come to rest must arrive. */
void greet_plain(Stage &st, const std::vector<Voice> &voices)
{
	for (const Voice &from : voices) {
		for (const Voice &to : voices) {
			if (from.ours == to.ours)
				continue;
			uint32_t flow = st.watch.new_flow(st.watch.slot_at(from.at),
							  st.watch.slot_at(to.at));

			st.watch.order.sent(flow, 0);
			st.watch.loss.sent(flow, 0);
			say(st, from, to, traffic::make(flow, 0, 100));
		}
	}
	rest(st);
	st.watch.loss.rest();
}

/* From every socket to every other one more message, and all arrive. */
void prove_alive(Stage &st)
{
	const std::vector<Voice> voices = all_voices(st);
	check::Order &last = st.watch.last;

	greet_plain(st, voices);

	uint32_t flow = static_cast<uint32_t>(st.watch.flows.size());

	for (const Voice &from : voices) {
		for (const Voice &to : voices) {
			if (!from.ours && !to.ours)
				continue;
			last.sent(flow, 0);
			say(st, from, to, traffic::make(flow, 0, 100));
			flow++;
		}
	}
	if (!wait_for([&] { return last.complete(); }))
		st.watch.complain("rest: " + std::to_string(last.lost()) +
				  " messages did not arrive at peace:" + st.show());
}

void take_steps(Stage &st, const Plan &plan)
{
	/* Most sockets are there from the beginning. */
	st.open_most();
	for (const Step &s : plan.steps) {
		sim::reseed(s.seed);
		st.act_later();
		st.act(s);
		sim::run_for(s.pause_ns);
		st.look_at_memory();
		if (!st.watch.verdict().empty())
			return;
	}
}

} // namespace

void begin(const Setup &s)
{
	sim::Options opt;

	opt.seed = s.seed;
	opt.preempt_per_1000 = s.preempt_per_1000;
	opt.signals_per_1000 = s.signals_per_1000;
	sim::reset(opt);
	if (s.wrap)
		aged::begin(s.seed);
	else
		aged::end();
	stream::reset(s.net);
	verbs::reset(s.ib);
	check::watch_states();
}

Result finish(std::unique_ptr<Stage> stage)
{
	Stage &st = *stage;
	Result r;

	st.calm();
	r.recovery_ns = rest(st);
	r.lost = st.watch.order.lost();
	r.received = st.watch.order.received_count();
	st.excuse_absent();
	st.watch.loss.rest();
	prove_alive(st);
	st.watch.rest_rdma();
	r.sent = st.watch.sent;
	r.cuts = stream::cuts() + verbs::cuts();
	r.cancels = st.watch.cancels;
	r.ops = st.watch.rdma.sent();
	r.overtaken = st.watch.order.overtaken();
	r.ops_done = st.watch.rdma.count(check::kSuccess);
	r.failed_allocs = sim::failed_allocs();
	r.peak_bytes = st.watch.memory.peak();
	if (sim::tracing)
		st.print_counters();
	if (st.watch.verdict().empty())
		st.end();
	r.complaint = st.watch.verdict();
	if (!r.complaint.empty())
		stage.release(); /* nothing of it can be trusted to end */
	r.edges = check::edges_taken();
	r.history = sim::history();
	r.virtual_ns = sim::now_ns();
	sim::discard();
	aged::end();
	return r;
}

Result play(const Plan &plan)
{
	begin(plan.setup);

	auto stage = std::make_unique<Stage>(plan);

	take_steps(*stage, plan);
	sim::reseed(plan.setup.seed);
	return finish(std::move(stage));
}

} // namespace story
