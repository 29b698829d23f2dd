// SPDX-License-Identifier: GPL-2.0
/*
 * aged.cc: built with -fno-access-control, for nobody but a test may set these counters.
 */
#include "aged.h"

#include <set>

#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"
#include "rng.h"
#include "transports/ib/ib_link.h"

namespace aged
{
namespace
{

struct State {
	bool on = false;
	sim::Rng rng;
	uint64_t base = 0;	  /* where this story's numbers of 64 bits end their old life */
	uint64_t bytes = 0;	  /* the same of byte offsets */
	std::set<uint32_t> given; /* numbers of 32 bits: two generations may not be the same */
	uint32_t last_number = 0; /* of 32 bits, that is: 2^31 or 2^32 less 1 */
};

State &state()
{
	static auto *s = new State;
	return *s;
}

/* @number, which is odd as generations are, or the next below it that nobody has. */
uint32_t unique(uint32_t number)
{
	number |= 1;
	while (!state().given.insert(number).second)
		number -= 2;
	return number;
}

/* A little before @end: it is passed soon. */
uint64_t before(uint64_t end, uint64_t most)
{
	return end - state().rng.below(most);
}

} // namespace

void begin(uint64_t seed)
{
	constexpr uint64_t kEnds[] = {1ull << 31, 1ull << 32, 1ull << 32, 1ull << 63};
	State &s = state();

	s = State();
	s.on = true;
	s.rng = sim::Rng(seed, ~0xa9edull);
	s.base = kEnds[s.rng.below(4)];
	s.bytes = kEnds[s.rng.below(4)];
	s.last_number = s.rng.chance(300) ? 0x7fffffffu : 0xffffffffu;
}

void end()
{
	state() = State();
}

bool on()
{
	return state().on;
}

void age(host::Net &net)
{
	if (on() && net.core())
		net.core()->conns.gen_.store((1ull << 32) - 3);
}

void age(struct rds_path *path)
{
	State &s = state();
	rds_conn &c = path->conn;

	if (!s.on)
		return;
	/* Before the first change: a version that went back could be one that a peer knows.  Behind
	 * its end it is 0 again, and the map has had bits. */
	for (rds::CongMap *map : {c.lcong, c.fcong})
		if (!map->version_.load() && !map->bits_.load())
			map->version_.store(static_cast<uint32_t>(before(1ull << 32, 20)));
	if (!path->index) {
		const_cast<uint32_t &>(c.gen) = unique(~0u);
	}

	uint64_t first = before(s.base, 200);

	/* Never a number that a connection before this one may have used. */
	if (first < path->queue_.next_number_.load())
		return;
	const_cast<uint64_t &>(path->delivered_.first_) = first;
	path->queue_.next_number_.store(first);
	path->delivered_.up_to_.store(first - 1);
	path->dial_.attempts_.store(~0u - 2);
	path->resets.store(~0u - 2);
}

uint64_t age_stream(struct rds_path *path)
{
	if (!on())
		return 0;
	path->queue_.tx_off_ = path->queue_.acked_off_ = before(state().bytes, 5000);
	return path->queue_.tx_off_;
}

void age(struct rds_ib_link &l)
{
	if (!on())
		return;
	l.posted = l.done = static_cast<uint32_t>(before(1ull << 32, 3ull * l.p.send_wr));
	l.offered = l.arrived = l.taken =
		static_cast<uint32_t>(before(1ull << 32, 3ull * l.p.recv_wr));
}

uint64_t first_number()
{
	return on() ? before(state().base, 200) : 1;
}

uint32_t first_byte()
{
	return on() ? static_cast<uint32_t>(before(1ull << 32, 5000)) : 0;
}

uint32_t draw(uint32_t drawn)
{
	return on() && drawn & 1 ? unique(state().last_number - (drawn >> 1) % 100) : drawn;
}

} // namespace aged
