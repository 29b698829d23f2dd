// SPDX-License-Identifier: GPL-2.0
#include "trouble.h"

#include <algorithm>

#include "sim.h"

namespace peer
{

Trouble::Trouble(std::vector<struct rds_addr> victims, std::vector<uint16_t> ports)
	: victims_(std::move(victims)), ports_(std::move(ports))
{
}

void Trouble::soon(uint64_t ns, const char *what, std::function<void()> fn)
{
	sim::after(
		sim::random_below(ns), what,
		[fn, life = std::weak_ptr<char>(life_)] {
			if (life.lock())
				fn();
		},
		sim::Context::kProcess);
}

void Trouble::no_more()
{
	life_ = nullptr;
}

const struct rds_addr &Trouble::victim() const
{
	return victims_[sim::random_below(victims_.size())];
}

uint16_t Trouble::good_port() const
{
	return ports_[sim::random_below(ports_.size())];
}

uint16_t Trouble::port() const
{
	return sim::chance(900) ? good_port() : static_cast<uint16_t>(sim::random());
}

host::Bytes noise(size_t n)
{
	host::Bytes b(n);

	for (auto &c : b)
		c = static_cast<unsigned char>(sim::random());
	return b;
}

uint64_t odd_number(uint64_t near)
{
	switch (sim::random_below(5)) {
	case 0:
		return 0;
	case 1:
		return ~0ull;
	case 2:
		return sim::random();
	case 3:
		return near + sim::random_below(100);
	default:
		return near - std::min<uint64_t>(near, sim::random_below(100));
	}
}

} // namespace peer
