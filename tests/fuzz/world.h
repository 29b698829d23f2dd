/* SPDX-License-Identifier: GPL-2.0 */
/*
 * world.h: what the fuzzers of the core stand on: a fresh simulated world for every input, checked
 * at the end.
 */
#ifndef RDS_TESTS_FUZZ_WORLD_H
#define RDS_TESTS_FUZZ_WORLD_H

#include "fuzz.h"
#include "host.h"
#include "sim.h"
#include "transports/loop/loop.h"

namespace fuzz
{

/* The core with loopback and @transport; what is left over at the end is a finding. */
class World final
{
public:
	World(uint64_t seed, const struct rds_transport *transport,
	      unsigned int preempt_per_1000 = 0)
		: transport_(transport)
	{
		sim::reset(sim::Options{.seed = seed, .preempt_per_1000 = preempt_per_1000});
		must(!rds_core_init(), "the core starts");
		must(!rds_transport_register(rds_loop_init(&loop_module_)), "loopback registers");
		must(!rds_transport_register(transport_), "the transport registers");
	}
	~World()
	{
		calm();
		rds_transport_unregister(transport_);
		rds_transport_unregister(rds_loop_init(&loop_module_));
		rds_core_exit();
		sim::run_ready();

		std::string left = sim::leftovers();

		if (!left.empty())
			sim::fail(left.c_str());
		must(!loop_module_.refs.load(), "no reference on loopback is left");
	}
	World(const World &) = delete;
	World &operator=(const World &) = delete;

	/* No more injected faults. */
	static void calm()
	{
		sim::fail_nth(0);
		sim::options().fail_per_1000 = 0;
	}

private:
	const struct rds_transport *transport_;
	struct rds_module loop_module_;
};

} // namespace fuzz
#endif
