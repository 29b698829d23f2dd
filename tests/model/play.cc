// SPDX-License-Identifier: GPL-2.0
#include "play.h"

#include <cstring>

#include "check_states.h"
#include "chooser.h"
#include "look.h"
#include "rng.h"
#include "sim.h"
#include "stream.h"
#include "traffic.h"

namespace play
{
namespace
{

/* Ports of which the first is on path 0 and the second on path 1, where there are two. */
constexpr uint16_t kPorts[] = {100, 101};
constexpr uint64_t kDarkNs = 8ull * 1000 * 1000 * 1000;

void must(int ret, const char *what)
{
	if (ret)
		sim::fail(what);
}

/* The side of @p that the host at @a is. */
unsigned int side_of(const tube::Tube &p, const struct rds_addr &a)
{
	return memcmp(&p.addr[0], &a, sizeof(a)) ? 1 : 0;
}

} // namespace

std::string show(const Step &s)
{
	static const char *const names[] = {"sends",	      "ends its connections",
					    "fans out",	      "ends",
					    "crashes",	      "boots",
					    "connection cut", "connection cut at one end",
					    "packet lost",    "the link is dark",
					    "no memory"};

	return "host " + std::to_string(s.host) + ": " + names[static_cast<unsigned int>(s.verb)] +
	       " " + std::to_string(s.arg);
}

World::World(const Play &p) : play_(p)
{
	stream::Params net;

	check::watch_states();
	must(rds_core_init(), "the core does not start");
	net.paths = p.paths;
	net.delay_min_ns = net.delay_max_ns;
	stream::reset(net);
	must(rds_transport_register(rds_loop_init(&loop_module_)), "no loopback");
	must(rds_transport_register(stream::ops()), "no stream");
	for (unsigned int i = 0; i < 2; i++) {
		hosts_[i].addr = host::addr4(1 + i);
		boot(hosts_[i]);
	}
}

World::~World()
{
	auto idle = [this] { return !hosts_[0].busy && !hosts_[1].busy; };

	sim::run_until(idle, kDarkNs * 10);
	for (Host &h : hosts_)
		if (h.net && !h.ends)
			end(h);
	sim::run_until(idle, kDarkNs * 10);
	rds_transport_unregister(stream::ops());
	rds_transport_unregister(rds_loop_init(&loop_module_));
	rds_core_exit();
	sim::run_ready();
}

void World::boot(Host &h)
{
	auto me = static_cast<uint32_t>(&h - hosts_);

	sim::fail_nth(0);
	h.net = std::make_unique<host::Net>(std::vector<struct rds_addr>{h.addr});
	rds_net_tunables(h.net->core())->idle_timeout_ms = play_.idle_ms;
	for (unsigned int i = 0; i < kFlows; i++) {
		h.sockets[i] = std::make_unique<host::Socket>(*h.net);
		must(h.sockets[i]->bind(host::endpoint(h.addr, kPorts[i])), "bind");
		/* It knows nothing of what an earlier life got. */
		order_.forget(!me * kFlows + i);
	}
	h.life++;
	h.ends = false;
	stream::listen(*h.net, {h.addr});
	network::power(network::host_of(h.addr), true);
}

void World::end(Host &h)
{
	h.ends = true;
	run(h, [&h] {
		for (auto &s : h.sockets)
			s.reset();
		stream::stop_listening(*h.net);
		h.net.reset();
	});
}

void World::crash(Host &h)
{
	network::power(network::host_of(h.addr), false);
	tube::crash(network::host_of(h.addr));
	end(h);
}

void World::run(Host &h, std::function<void()> fn)
{
	h.busy++;
	sim::spawn("act", [&h, fn = std::move(fn)] {
		fn();
		h.busy--;
	});
}

void World::send(unsigned int host, unsigned int which)
{
	uint32_t flow = host * kFlows + which, number = sent_[flow];
	auto data = traffic::make(flow, number, traffic::kMinBytes);

	order_.sent(flow, number);
	sent_[flow]++;
	if (!hosts_[host].sockets[which]->send(host::endpoint(hosts_[!host].addr, kPorts[which]),
					       data))
		return;
	/* No memory, or the end has come. */
	order_.not_sent(flow, number);
	sent_[flow]--;
}

bool World::perform(const Step &s)
{
	Host &h = hosts_[s.host];
	tube::Ref p = tube::living(0);

	switch (s.verb) {
	case Verb::kSend:
		if (lives(h))
			run(h, [this, s] { send(s.host, s.arg); });
		return lives(h);
	case Verb::kAdmin:
		if (lives(h))
			run(h, [&h] { rds_transport_net_reset(h.net->core(), stream::ops()); });
		return lives(h);
	case Verb::kFan:
		return lives(h) && look::fan_out(*h.net);
	case Verb::kEnd:
	case Verb::kCrash:
		somebody_ended_ = true;
		if (lives(h))
			s.verb == Verb::kEnd ? end(h) : crash(h);
		return true;
	case Verb::kBoot:
		if (h.net)
			return false;
		stream::set_paths(s.arg);
		boot(h);
		return true;
	case Verb::kCut:
		if (p)
			tube::cut(p);
		return !!p;
	case Verb::kHalf:
		if (p)
			tube::cut_one_end(p, side_of(*p, h.addr));
		return !!p;
	case Verb::kLose:
		network::lose_next();
		return true;
	case Verb::kDark:
		network::cut(0, 1, true);
		network::cut(1, 0, true);
		sim::after(kDarkNs, "alarm", [] { network::heal(); });
		return true;
	case Verb::kNoMemory:
		sim::fail_nth(1);
		return true;
	}
	return false;
}

void World::read()
{
	for (Host &h : hosts_)
		for (auto &s : h.sockets)
			while (auto m = s && lives(h) ? s->recv() : std::nullopt) {
				auto name = traffic::read(m->data);

				if (!name) {
					order_.complain("a message is not what was sent");
					continue;
				}
				order_.received(name->flow, name->number, h.life);
				last_[name->flow] = name->number + 1;
			}
}

bool World::delivered() const
{
	for (const Host &h : hosts_)
		if (!lives(h) || traffic::unacked(*h.net))
			return false;
	/* Messages for an application that ended are lost, not those sent afterwards. */
	for (unsigned int i = 0; i < 2 * kFlows; i++)
		if ((!somebody_ended_ || finishing_) && last_[i] != sent_[i])
			return false;
	return somebody_ended_ || order_.complete();
}

bool World::collected() const
{
	for (const Host &h : hosts_)
		if (lives(h) && look::connections(*h.net))
			return false;
	return true;
}

void World::send_all()
{
	finishing_ = true;
	for (unsigned int i = 0; i < 2 * kFlows; i++)
		send(i / kFlows, i % kFlows);
}

uint64_t World::digest() const
{
	uint64_t h = sim::digest() + tube::digest() * 3;

	for (const Host &host : hosts_)
		h = sim::mix(h + (lives(host) ? look::digest(*host.net) : 1 + host.ends) +
			     host.busy);
	for (unsigned int i = 0; i < 2 * kFlows; i++)
		h = sim::mix(h + sent_[i] * 16 + last_[i]);
	return h;
}

std::string World::name(const void *work) const
{
	for (const Host &h : hosts_) {
		std::string found = h.net ? look::name(*h.net, work) : "";

		if (!found.empty())
			return found + " of host " + std::to_string(&h - hosts_);
	}
	return "work";
}

std::string World::complaint() const
{
	return !order_.complaint().empty() ? order_.complaint() : check::states_complaint();
}

} // namespace play
