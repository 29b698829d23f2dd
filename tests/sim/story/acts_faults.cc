// SPDX-License-Identifier: GPL-2.0
/* The faults. */
#include <algorithm>

#include "stage.h"

namespace story
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;

} // namespace

void Stage::link(sim::Rng &r)
{
	unsigned int a = static_cast<unsigned int>(r.below(setup_.hosts));
	unsigned int b = static_cast<unsigned int>(r.below(setup_.hosts));
	bool down = r.chance(600);

	sim::say("link %u -> %u is %s", a, b, down ? "cut" : "whole");
	network::cut(a, b, down);
	if (r.chance(500))
		network::cut(b, a, down);
}

void Stage::isolate(sim::Rng &r)
{
	unsigned int a = static_cast<unsigned int>(r.below(setup_.hosts));
	bool down = r.chance(600);

	sim::say("host %u is %s", a, down ? "cut off" : "back");
	for (unsigned int b = 0; b < setup_.hosts; b++) {
		network::cut(a, b, down);
		network::cut(b, a, down);
	}
}

void Stage::go_down(sim::Rng &r, bool crash)
{
	unsigned int id = static_cast<unsigned int>(r.below(setup_.hosts));
	Node *n = nodes[id].get();
	uint64_t pause = r.chance(500)
				 ? r.below(kMs)
				 : r.below(setup_.pace_ns ? 10 * setup_.pace_ns : 10000 * kMs);

	if (!n || !n->up())
		return;
	if (crash)
		n->crash();
	else
		n->leave();
	later_.push_back(Later{sim::now_ns() + pause, id, false});
}

/* Its device is pulled out; a little later it is back. */
void Stage::unplug(sim::Rng &r)
{
	unsigned int id = static_cast<unsigned int>(r.below(setup_.hosts));

	if (!carrier_.serves(id))
		return;
	carrier_.unplug(id, true);
	later_.push_back(Later{sim::now_ns() + r.below(3000 * kMs), id, true});
}

/* Cut and whole again, until peace or the end of it. */
void Stage::flap_on(std::shared_ptr<Flap> f)
{
	if (peace_)
		return;
	f->down = !f->down && sim::now_ns() < f->until;
	network::cut(f->from, f->to, f->down);
	network::cut(f->to, f->from, f->down);
	if (!f->down && sim::now_ns() >= f->until)
		return;
	sim::after(
		f->every, "flap",
		[this, f, life = std::weak_ptr<char>(life_)] {
			if (!life.expired())
				flap_on(f);
		},
		sim::Context::kHardirq);
}

void Stage::flap(sim::Rng &r)
{
	Flap f = {};

	f.from = static_cast<unsigned int>(r.below(setup_.hosts));
	f.to = static_cast<unsigned int>(r.below(setup_.hosts));
	f.every = setup_.pace_ns / 50 + r.below(setup_.pace_ns);
	f.until = sim::now_ns() + r.below(20 * setup_.pace_ns);
	sim::say("link %u - %u flaps every %llu us", f.from, f.to,
		 static_cast<unsigned long long>(f.every / 1000));
	flap_on(std::make_shared<Flap>(f));
}

/* No allocation succeeds for 1 to 60 s, or for some steps of a story that is over before. */
void Stage::famine(sim::Rng &r)
{
	uint64_t ns = std::min(1000 * kMs + r.below(59000 * kMs), r.below(10 * setup_.pace_ns));

	sim::say("no memory for %llu us", static_cast<unsigned long long>(ns / 1000));
	sim::options().fail_per_1000 = 1000;
	sim::after(
		ns, "memory", [] { sim::options().fail_per_1000 = 0; }, sim::Context::kHardirq);
}

void Stage::tune(sim::Rng &r)
{
	CoreNode *n = core(r.next());

	if (!n)
		return;

	struct rds_tunables *t = rds_net_tunables(n->net().core());

	t->reconnect_max_ms = 1 + static_cast<unsigned int>(r.below(2000));
	t->reconnect_min_ms = 1 + static_cast<unsigned int>(r.below(t->reconnect_max_ms));
	/* Mainline's are owed an answer to their probes. */
	t->ping_enable = r.chance(500) || setup_.any(Kind::k6) || setup_.any(Kind::k7);
	/* So short that connections end, and are collected, while others wait. */
	t->idle_timeout_ms = r.chance(500) ? 1 + static_cast<unsigned int>(r.below(50)) : 300000;
	if (paths_change_)
		t->idle_timeout_ms = 300000;
	collects_ = collects_ || t->idle_timeout_ms < 300000;
	/* None: whatever is beyond a full queue is refused. */
	t->recv_spill_bytes = r.chance(300) ? 0 : host::kSpillBytes;
	sim::say("host %u: reconnects after %u to %u ms, idle after %u, spill %u", n->id,
		 t->reconnect_min_ms, t->reconnect_max_ms, t->idle_timeout_ms, t->recv_spill_bytes);
}

/* A module's parameter: whoever boots from now on has it.  Hosts share it here, and one that has
 * not booted would have it for connections that it makes again: so none may be collected. */
void Stage::tune_paths(sim::Rng &r)
{
	if (setup_.net.paths < 2 || !r.chance(500))
		return;

	const unsigned int paths = 1u << r.below(4);

	if (collects_)
		return;
	paths_change_ = true;
	stream::set_paths(paths);
}

/* Waits are not measured by this clock. */
void Stage::set_date(uint64_t date)
{
	uint64_t ahead = date - sim::now_ns();

	sim::say("the time of day is %llu ns", static_cast<unsigned long long>(date));
	host::date = ahead;
	watch.date.set(sim::now_ns(), ahead);
}

void Stage::reset(Node &n, bool network)
{
	if (network)
		n.reset();
	else if (CoreNode *c = n.core())
		rds_transport_net_reset(c->net().core(), loop_);
}

/* rmmod and modprobe: possible only while no socket is bound. */
void Stage::reload()
{
	unsigned int fail = sim::options().fail_per_1000;

	auto each_core = [this](auto fn) {
		for (size_t i = 0; i < nodes.size(); i++)
			if (CoreNode *n = core(i))
				fn(*n);
	};

	each_core([this](CoreNode &n) {
		for (unsigned int slot = 0; slot < watch.slots_per_host; slot++)
			n.close(slot);
	});
	sim::run_until([this] { return !carrier_.module().refs.load(); }, 1000 * kMs);
	if (carrier_.module().refs.load()) {
		watch.complain("left over: references on the transport without a socket");
		return;
	}
	for (const Carrier *c : carriers_) {
		c->module().dying = true;
		each_core([c](CoreNode &n) { c->stop_listening(n.net()); });
	}
	stop_transports();
	sim::run_for(kMs);
	for (const Carrier *c : carriers_)
		c->module().dying = false;
	sim::options().fail_per_1000 = 0;
	start_transports();
	for (const Carrier *c : carriers_)
		each_core([c](CoreNode &n) { c->listen(n.net(), n.addr); });
	/* To their peers it is as if they had booted. */
	each_core([this](CoreNode &n) { watch.booted(n.id); });
	sim::options().fail_per_1000 = fail;
}

void Stage::fault_act(const Step &s)
{
	sim::Rng r(s.seed);

	switch (s.act) {
	case Act::kCut:
	case Act::kHalf:
		carrier_.cut_one(s.act == Act::kHalf);
		break;
	case Act::kLink:
		link(r);
		break;
	case Act::kSlow:
		network::slow(static_cast<unsigned int>(r.below(setup_.hosts)),
			      static_cast<unsigned int>(r.below(setup_.hosts)),
			      r.chance(600) ? 1 + static_cast<unsigned int>(r.below(1000)) : 1);
		break;
	case Act::kIsolate:
		isolate(r);
		break;
	case Act::kRefuse:
		refusing_ = !refusing_;
		carrier_.refuse(refusing_ ? 100 + static_cast<unsigned int>(r.below(900)) : 0);
		break;
	case Act::kCrash:
	case Act::kLeave:
		go_down(r, s.act == Act::kCrash);
		tune_paths(r);
		break;
	case Act::kReset:
		if (Node *n = nodes[r.below(nodes.size())].get(); n && n->up())
			reset(*n, r.chance(800));
		break;
	case Act::kFlap:
		flap(r);
		break;
	case Act::kFamine:
		famine(r);
		break;
	case Act::kUnplug:
		unplug(r);
		break;
	case Act::kTune:
		tune(r);
		break;
	case Act::kReload:
		reload();
		break;
	case Act::kFailNth:
		sim::fail_nth(1 + static_cast<unsigned int>(r.below(50)));
		break;
	case Act::kFail:
		sim::options().fail_per_1000 =
			r.chance(600) ? 1 + static_cast<unsigned int>(r.below(60)) : 0;
		break;
	case Act::kJump:
		sim::jump(r.chance(500) ? r.below(100 * kMs) : r.below(100000 * kMs));
		break;
	case Act::kDate:
		set_date(r.chance(500) ? r.next() : sim::now_ns() + host::date - r.below(kMs));
		break;
	default:
		break;
	}
}

} // namespace story
