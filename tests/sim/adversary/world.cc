// SPDX-License-Identifier: GPL-2.0
#include "world.h"

#include <algorithm>

#include "aged.h"
#include "check_states.h"
#include "sim.h"
#include "transports/loop/loop.h"

namespace adversary
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
/* An honest message takes no longer.  Without the adversary it is less than 0.2 ms. */
constexpr uint64_t kWayNs = 5 * kMs;
/* The host has looked at all that was said by then, unless it has no room for it. */
constexpr uint64_t kTakenNs = 50 * kMs;
/* Slices of time after which budgets are looked at; longer where little happens. */
constexpr uint64_t kLookNs = 20 * kMs;
/* All that is under way has come by then. */
constexpr uint64_t kRestNs = 2000 * kMs;
constexpr size_t kMaxBytes = 2000;
constexpr uint32_t kBuffers = 64 * 1024, kSmallBuffers = 4096, kSendBuffer = 16 * 1024;
/* Of connections with peers of ours. */
constexpr unsigned int kIdleMs = 2000;

void begin(const Config &c)
{
	sim::Options opt;
	stream::Params net;
	verbs::Params ib;

	opt.seed = c.seed;
	opt.preempt_per_1000 = c.preempt_per_1000;
	net.paths = c.paths;
	net.send_window = net.recv_window = c.window;
	ib.credits = c.credits;
	sim::reset(opt);
	aged::end();
	stream::reset(net);
	verbs::reset(ib);
	check::watch_states();
}

} // namespace

World::World(const Config &c)
	: a_addr(host::addr4(50)), b_addr(host::addr4(c.b_is_smaller ? 40 : 60)), pace_ns(kPaceNs),
	  carrier_(c.pairs ? story::queue_pairs() : story::streams())
{
	begin(c);
	if (rds_core_init())
		sim::fail("rds_core_init");
	loop_ = rds_loop_init(&loop_module_);
	if (rds_transport_register(loop_) || rds_transport_register(carrier_.ops()))
		sim::fail("rds_transport_register");
	network::add_host({a_addr});
	network::add_host({b_addr});
	a = std::make_unique<host::Net>(std::vector<struct rds_addr>{a_addr});
	b = std::make_unique<host::Net>(std::vector<struct rds_addr>{b_addr});
	rds_net_tunables(a->core())->idle_timeout_ms = kIdleMs;
	rds_net_tunables(a->core())->max_passive = c.max_passive;
	carrier_.listen(*a, a_addr);
	carrier_.listen(*b, b_addr);
	adv = std::make_unique<Adversary>(c.pairs, a_addr, c.names);

	host::Socket *a1 = open(*a, a_addr, kHonestPort, kBuffers);
	host::Socket *a2 = open(*a, a_addr, kLocalPort, kBuffers);
	host::Socket *b1 = open(*b, b_addr, kHonestPort, kBuffers);

	flows_ = {{a1, b1, host::endpoint(b_addr, kHonestPort)},
		  {b1, a1, host::endpoint(a_addr, kHonestPort)},
		  {a1, a2, host::endpoint(a_addr, kLocalPort)},
		  {a2, a1, host::endpoint(a_addr, kHonestPort)}};
	for (uint32_t i = 0; i < flows_.size(); i++)
		start("honest", [this, i] { speak(flows_[i], i); });
	for (host::Socket *s : {a1, a2, b1})
		start("reader", [this, s] { listen(*s); });

	open(*a, a_addr, kFullPort, kSmallBuffers);

	host::Socket *slow = open(*a, a_addr, kSlowPort, kSmallBuffers);
	host::Socket *sends = open(*a, a_addr, kSendingPort, kSmallBuffers);

	sends->sock().sndbuf = kSendBuffer;
	start("slow reader", [this, slow] { read_slowly(*slow); });
	start("sender", [this, sends] { send_to_adversary(*sends); });
}

World::~World() = default;

host::Socket *World::open(host::Net &net, const struct rds_addr &addr, uint16_t port,
			  uint32_t buffers)
{
	auto s = std::make_unique<host::Socket>(net);

	s->sock().rcvbuf = buffers;
	s->sock().sndbuf = buffers;
	if (s->bind(host::endpoint(addr, port)))
		sim::fail("bind");

	auto &all = port < kFullPort ? sockets_ : victims_;

	all.push_back(std::move(s));
	return all.back().get();
}

void World::start(const char *what, std::function<void()> fn)
{
	running_++;
	sim::spawn(what, [this, fn] {
		fn();
		running_--;
	});
}

void World::complain(const std::string &what)
{
	if (complaint.empty())
		complaint = what;
}

/* ---- programs ---- */

void World::speak(Flow &f, uint32_t id)
{
	while (!stop_) {
		sim::sleep_for(pace_ns / 2 + sim::random_below(pace_ns));

		const host::Bytes data =
			traffic::make(id, f.number, 16 + sim::random_below(kMaxBytes));
		int ret;

		order_.sent(id, f.number);
		f.under_way[f.number] = sim::now_ns();
		while ((ret = f.from->send(f.to, data)) == -11 || ret == -105)
			sim::sleep_for(kMs);
		if (ret)
			complain("honest: a send failed with " + std::to_string(ret));
		f.number++;
	}
}

void World::listen(host::Socket &s)
{
	for (;;) {
		sim::wait_until([&] { return stop_ || s.readable(); });
		if (stop_)
			return;
		while (auto m = s.recv()) {
			auto name = traffic::read(m->data);

			if (adv->name_of(m->info.from.addr))
				continue;
			if (!name || name->flow >= flows_.size()) {
				complain("honest: a message that nobody honest has sent");
				continue;
			}

			Flow &f = flows_[name->flow];

			order_.received(name->flow, name->number);
			worst_ns = std::max(worst_ns, sim::now_ns() - f.under_way[name->number]);
			f.under_way.erase(name->number);
			honest++;
		}
	}
}

void World::pause(uint64_t ns)
{
	sim::sleep_for(ns * pace_ns / kPaceNs);
}

/* Its port fills and clears all the time. */
void World::read_slowly(host::Socket &s)
{
	while (!stop_victims_) {
		pause(kMs + sim::random_below(kMs));
		while (s.recv())
			;
	}
}

/* Never waits: what it cannot send it leaves. */
void World::send_to_adversary(host::Socket &s)
{
	for (uint32_t n = 0; !stop_victims_; n++) {
		pause(kMs + sim::random_below(4 * kMs));

		const Name &to = adv->names[n % 2];

		if (!s.send(host::endpoint(to.addr, kSentToPort),
			    traffic::make(100, n, 16 + sim::random_below(600))))
			sent_to_it++;
		while (s.recv())
			;
	}
}

/* ---- what must hold ---- */

void World::look_at_flows()
{
	for (const Flow &f : flows_) {
		uint64_t since = f.under_way.empty() ? sim::now_ns() : f.under_way.begin()->second;

		worst_ns = std::max(worst_ns, sim::now_ns() - since);
	}
	if (worst_ns > kWayNs)
		complain("honest: a message took more than " + std::to_string(kWayNs / kMs) +
			 " ms beside the adversary");
	if (!order_.complaint().empty())
		complain("honest: " + order_.complaint());
}

void World::wait(uint64_t ns)
{
	const uint64_t look_ns = std::max(kLookNs, 5 * pace_ns);

	for (uint64_t end = sim::now_ns() + ns; sim::now_ns() < end;) {
		const uint64_t slice = std::min(look_ns, end - sim::now_ns());

		sim::run_for(slice);
		paced_ns += slice * kPaceNs / pace_ns;
		look_at_flows();
		if (look)
			look();
	}
}

void World::counts(enum rds_stat id, uint64_t n, Talk &t, const std::function<void()> &fn)
{
	const uint64_t before = a->stat(id);

	fn();
	sim::run_until([&] { return t.is_over() || t.is_taken(); }, kTakenNs);
	if (!t.is_taken() || !t.is_open() || t.confused || t.flooded)
		return;
	sim::run_for(kMs);
	if (t.is_open() && a->stat(id) - before < n)
		complain("counter: " + std::string(rds_stat_name(id)) + " says " +
			 std::to_string(a->stat(id) - before) + " of " + std::to_string(n));
}

void World::close_victims()
{
	stop_victims_ = true;
	sim::run_for(20 * kMs * pace_ns / kPaceNs);
	victims_.clear();
}

void World::end()
{
	stop_ = true;
	if (!sim::run_until([this] { return !running_; }, kRestNs))
		complain("rest: a program waits for ever");
	/* The readers may have left before the last messages. */
	sim::run_for(kRestNs);
	for (auto &s : sockets_)
		while (auto m = s->recv())
			if (auto name = traffic::read(m->data);
			    name && !adv->name_of(m->info.from.addr))
				order_.received(name->flow, name->number);
	if (!order_.complaint().empty() || !order_.complete())
		complain("honest: " + std::to_string(order_.lost()) + " messages are missing; " +
			 order_.complaint());
	if (!complaint.empty())
		return; /* nothing of it can be trusted to end */
	sockets_.clear();
	for (auto *net : {&a, &b}) {
		carrier_.stop_listening(**net);
		rds_transport_net_exit((*net)->core(), carrier_.ops());
		net->reset();
	}
	rds_transport_unregister(carrier_.ops());
	rds_transport_unregister(loop_);
	verbs::regions_end();
	rds_core_exit();
	adv.reset();
	sim::run_ready();
	if (std::string left = sim::leftovers(); !left.empty())
		complain("left over: " + left);
}

} // namespace adversary
