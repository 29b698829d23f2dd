// SPDX-License-Identifier: GPL-2.0
#include "network.h"

#include <cstring>
#include <map>

#include "sim.h"

namespace network
{
namespace
{

struct Link {
	bool cut = false;
	unsigned int slow = 1;
};

struct Host {
	std::vector<struct rds_addr> addrs;
	bool on = true;
};

struct State {
	Params params;
	std::vector<Host> hosts;
	std::map<std::pair<HostId, HostId>, Link> links; /* those that are not whole and quick */
	unsigned int losses = 0;
};

State &state()
{
	static auto *s = new State;
	return *s;
}

const Link *find(HostId a, HostId b)
{
	auto it = state().links.find({a, b});

	return it == state().links.end() ? nullptr : &it->second;
}

} // namespace

void reset(const Params &p)
{
	state() = State();
	state().params = p;
}

HostId add_host(const std::vector<struct rds_addr> &addrs)
{
	state().hosts.push_back(Host{addrs});
	return static_cast<HostId>(state().hosts.size() - 1);
}

void add_addr(HostId h, const struct rds_addr &a)
{
	auto &addrs = state().hosts[h].addrs;

	for (const auto &own : addrs)
		if (!memcmp(&own, &a, sizeof(a)))
			return;
	addrs.push_back(a);
}

HostId host_of(const struct rds_addr &a)
{
	for (size_t i = 0; i < state().hosts.size(); i++)
		for (const auto &own : state().hosts[i].addrs)
			if (!memcmp(&own, &a, sizeof(a)))
				return static_cast<HostId>(i);
	return kNobody;
}

void power(HostId h, bool on)
{
	state().hosts[h].on = on;
}

bool is_on(HostId h)
{
	return h < state().hosts.size() && state().hosts[h].on;
}

void cut(HostId a, HostId b, bool on)
{
	state().links[{a, b}].cut = on;
}

void slow(HostId a, HostId b, unsigned int factor)
{
	state().links[{a, b}].slow = factor;
}

void heal()
{
	state().links.clear();
}

void lose_next()
{
	state().losses++;
}

bool passes(HostId a, HostId b)
{
	const Link *l = state().links.empty() ? nullptr : find(a, b);

	if (state().losses) {
		state().losses--;
		return false;
	}
	return is_on(b) && !(l && l->cut);
}

uint64_t delay(HostId a, HostId b)
{
	const Params &p = state().params;
	const Link *l = state().links.empty() ? nullptr : find(a, b);
	uint64_t ns = p.delay_min_ns + sim::random_below(p.delay_max_ns - p.delay_min_ns + 1);

	return l ? ns * l->slow : ns;
}

} // namespace network
