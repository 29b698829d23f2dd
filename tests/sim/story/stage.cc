// SPDX-License-Identifier: GPL-2.0
#include "stage.h"

#include <algorithm>

#include "crowd.h"
#include "foreign.h"
#include "liar.h"
#include "paired_liar.h"
#include "transports/loop/loop.h"

namespace story
{
namespace
{

/* In 2026. */
constexpr uint64_t kSomeDayNs = 1780000000ull * 1000 * 1000 * 1000;
/* The judge that is told of bytes that were acknowledged and not read. */
Watch *listening;

void closed(const struct rds_addr &self, const struct rds_addr &peer, tube::Left left)
{
	unsigned int me = network::host_of(self), you = network::host_of(peer);

	sim::say("host %u gives a connection with host %u up%s", me, you,
		 left == tube::Left::kNothing ? ""
		 : left == tube::Left::kUnread
			 ? ", with bytes that it had not read"
			 : ", with bytes that it had not read before a reset");
	if (listening)
		listening->loss.closed(me, you, left);
}

/* Liars of one kind, and crowds, speak over streams. */
std::vector<const Carrier *> carriers(const Setup &s)
{
	if (!s.verbs)
		return {&streams()};
	if (!s.any(Kind::kLiar) && !s.any(Kind::kCrowd))
		return {&queue_pairs()};
	return {&queue_pairs(), &streams()};
}

} // namespace

Stage::Stage(const Plan &plan)
	: watch(plan.setup.hosts, plan.setup.slots), plan_(plan), setup_(plan.setup),
	  carriers_(carriers(plan.setup)), carrier_(*carriers_[0])
{
	listening = &watch;
	if (setup_.strict)
		watch.loss.set_strict();
	set_date(kSomeDayNs);
	stream::on_closed = verbs::on_closed = closed;
	if (rds_core_init())
		sim::fail("rds_core_init");
	loop_ = rds_loop_init(&loop_module_);
	start_transports();
	for (unsigned int i = 0; i < setup_.hosts; i++) {
		nodes.push_back(make_node(i));
		if (plan.there[i])
			nodes.back()->boot();
	}
	for (unsigned int i = 0; i < setup_.hosts; i++)
		if (!plan.there[i])
			nodes[i].reset();
}

Stage::~Stage()
{
	listening = nullptr;
}

std::unique_ptr<Node> Stage::make_honest(unsigned int id, peer::Version v)
{
	/* Of those that might count buffers every other one does. */
	bool counts = setup_.ib.credits && (setup_.seed >> id & 1);

	return std::make_unique<HonestNode>(id, setup_.addrs[id], watch, v, setup_.verbs, counts);
}

std::unique_ptr<Node> Stage::make_trouble(unsigned int id, Kind kind)
{
	const std::vector<uint16_t> ports = {kFirstPort, 2, uint16_t{kFirstPort + 1}};
	const struct rds_addr &addr = setup_.addrs[id];
	std::vector<struct rds_addr> ours;

	for (unsigned int i = 0; i < setup_.hosts; i++)
		if (setup_.kind(i) == Kind::kOurs)
			ours.push_back(setup_.addrs[i]);

	const size_t n = ours.size();

	switch (kind) {
	case Kind::kCrowd:
		return std::make_unique<LiarNode>(
			id, addr, watch,
			[=, this] {
				return std::make_unique<peer::Crowd>(addr, setup_.crowd, ours,
								     ports);
			},
			0, n * setup_.crowd);
	case Kind::kPairedLiar:
		return std::make_unique<LiarNode>(
			id, addr, watch,
			[=] { return std::make_unique<peer::PairedLiar>(addr, ours, ports); },
			n * peer::PairedLiar::kTos, 0);
	default:
		return std::make_unique<LiarNode>(
			id, addr, watch,
			[=] { return std::make_unique<peer::Liar>(addr, ours, ports); }, n, 0);
	}
}

std::unique_ptr<Node> Stage::make_node(unsigned int id)
{
	const Kind kind = setup_.kind(id);

	switch (kind) {
	case Kind::kOurs:
		break;
	case Kind::k6:
		return make_honest(id, peer::Version::k6);
	case Kind::k7:
		return make_honest(id, peer::Version::k7);
	case Kind::kOld:
		return make_honest(id, peer::Version::kOld);
	case Kind::kLiar:
	case Kind::kPairedLiar:
	case Kind::kCrowd:
		return make_trouble(id, kind);
	}
	return std::make_unique<CoreNode>(id, setup_.addrs[id], watch, carriers_, setup_.crowd);
}

void Stage::start_transports()
{
	bool failed = rds_transport_register(loop_);

	for (const Carrier *c : carriers_)
		failed = failed || rds_transport_register(c->ops());
	if (failed)
		sim::fail("rds_transport_register");
}

void Stage::stop_transports()
{
	for (const Carrier *c : carriers_)
		rds_transport_unregister(c->ops());
	rds_transport_unregister(loop_);
	verbs::regions_end();
}

App *Stage::app(unsigned int slot)
{
	CoreNode *n = core(watch.host_of(slot));

	return n ? n->app(slot % watch.slots_per_host) : nullptr;
}

void Stage::act(const Step &s)
{
	sim::say("step %u: %s", s.number, name_of(s.act));
	sim::note(s.number);
	if (!app_act(s))
		fault_act(s);
}

void Stage::act_later()
{
	for (size_t i = 0; i < later_.size();) {
		if (later_[i].at > sim::now_ns()) {
			i++;
			continue;
		}
		if (later_[i].device)
			carrier_.unplug(later_[i].host, false);
		else
			nodes[later_[i].host]->boot();
		later_.erase(later_.begin() + static_cast<long>(i));
	}
}

void Stage::calm()
{
	sim::say("peace");
	peace_ = true;
	sim::options().fail_per_1000 = 0;
	sim::options().signals_per_1000 = 0;
	sim::fail_nth(0);
	for (const Carrier *c : carriers_)
		c->calm();
	network::heal();
	for (Later &l : later_)
		l.at = 0;
	act_later();
	for (unsigned int slot = 0; slot < watch.n_slots; slot++)
		if (App *a = app(slot))
			a->calm();
	for (auto &n : nodes)
		if (n)
			n->calm();
}

/* Nobody reads what was sent to empty slots. */
void Stage::excuse_absent()
{
	for (unsigned int slot = 0; slot < watch.n_slots; slot++)
		if (!has(slot))
			watch.excuse_to(slot);
}

void Stage::look_at_memory()
{
	/* 16 bytes name a message. */
	check::Memory::Limit limit(setup_.max_bytes + 16);

	for (auto &n : nodes)
		if (n)
			n->allow(limit);
	watch.memory.look(host::usage().bytes, limit);
}

uint64_t Stage::longest_way_ns() const
{
	constexpr uint64_t kRoundNs = 500 * 1000;
	size_t window = std::min(setup_.net.send_window, setup_.net.recv_window);

	return setup_.max_bytes / window * kRoundNs * setup_.max_count * watch.n_slots;
}

bool Stage::served()
{
	return std::all_of(nodes.begin(), nodes.end(),
			   [](const auto &n) { return !n || n->served(); });
}

bool Stage::idle()
{
	for (auto &n : nodes)
		if (n && !n->idle())
			return false;
	return watch.rdma.complete() && std::all_of(carriers_.begin(), carriers_.end(),
						    [](const Carrier *c) { return c->quiet(); });
}

std::string Stage::show()
{
	std::string out;

	for (auto &n : nodes)
		if (n)
			out += n->show();
	return out;
}

void Stage::print_counters()
{
	for (size_t i = 0; i < nodes.size(); i++)
		if (CoreNode *n = core(i))
			printf("host %u:\n%s", n->id, n->net().show_stats().c_str());
}

void Stage::end()
{
	watch.at_rest = true;
	for (auto &n : nodes)
		if (n)
			n->leave();
	nodes.clear();
	/* An operation that goes without a message is queued all the same. */
	watch.counters.rest(setup_.kinds.empty() && !setup_.rdma, !watch.reborn);
	stop_transports();
	rds_core_exit();
	sim::run_ready();

	std::string left = sim::leftovers();

	if (host::pinned_bytes())
		left += std::to_string(host::pinned_bytes()) + " bytes of programs pinned; ";

	if (!left.empty())
		watch.complain("left over: " + left);
	for (const Carrier *c : carriers_)
		if (loop_module_.refs.load() || c->module().refs.load())
			watch.complain("left over: references on a transport's module");
}

} // namespace story
