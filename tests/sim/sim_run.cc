// SPDX-License-Identifier: GPL-2.0
/*
 * sim_run: stories from seeds.
 *
 *	sim_run --seed S [--seeds N] [--steps N] [--verbose]
 *
 * Runs N seeds from S on; the first failing one ends the run with its number.  SIM_TRACE=1 prints
 * every change of a path's state.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "check_states.h"
#include "scenario.h"

namespace
{

struct Args {
	uint64_t seed = 1;
	uint64_t seeds = 1;
	unsigned int steps = 60;
	bool verbose = false;
};

bool parse(int argc, char **argv, Args &a)
{
	for (int i = 1; i < argc; i++) {
		bool more = i + 1 < argc;

		if (!strcmp(argv[i], "--seed") && more)
			a.seed = strtoull(argv[++i], nullptr, 0);
		else if (!strcmp(argv[i], "--seeds") && more)
			a.seeds = strtoull(argv[++i], nullptr, 0);
		else if (!strcmp(argv[i], "--steps") && more)
			a.steps = static_cast<unsigned int>(strtoul(argv[++i], nullptr, 0));
		else if (!strcmp(argv[i], "--verbose"))
			a.verbose = true;
		else
			return false;
	}
	return true;
}

using ull = unsigned long long;

void print(uint64_t seed, const scenario::Result &r)
{
	printf("seed %llu: %s: sent %llu received %llu lost %llu cuts %llu failed allocations "
	       "%llu\n",
	       static_cast<ull>(seed), r.setup.c_str(), static_cast<ull>(r.sent),
	       static_cast<ull>(r.received), static_cast<ull>(r.lost), static_cast<ull>(r.cuts),
	       static_cast<ull>(r.failed_allocs));
}

} // namespace

int main(int argc, char **argv)
{
	Args a;
	scenario::Result sum;
	unsigned int all_edges = (1u << check::edges_known()) - 1;

	if (!parse(argc, argv, a)) {
		fprintf(stderr, "usage: %s --seed S [--seeds N] [--steps N] [--verbose]\n",
			argv[0]);
		return 2;
	}
	for (uint64_t seed = a.seed; seed < a.seed + a.seeds; seed++) {
		scenario::Result r = scenario::run(seed, a.steps);

		if (a.verbose || !r.complaint.empty())
			print(seed, r);
		if (!r.complaint.empty()) {
			printf("seed %llu FAILED: %s\nagain with: sim_run --seed %llu --steps %u\n",
			       static_cast<ull>(seed), r.complaint.c_str(), static_cast<ull>(seed),
			       a.steps);
			return 1;
		}
		sum.received += r.received;
		sum.lost += r.lost;
		sum.cuts += r.cuts;
		sum.edges |= r.edges;
	}
	printf("%llu seeds passed: %llu messages received, %llu lost in %llu cuts; state edges "
	       "taken: %x of %x; %.0f messages a second\n",
	       static_cast<ull>(a.seeds), static_cast<ull>(sum.received),
	       static_cast<ull>(sum.lost), static_cast<ull>(sum.cuts), sum.edges, all_edges,
	       static_cast<double>(sum.received) * CLOCKS_PER_SEC /
		       static_cast<double>(clock() + 1));
	/* Many stories together visit every edge of the state table. */
	if (a.seeds >= 100 && sum.edges != all_edges) {
		printf("FAILED: some edges of the state table were never taken\n");
		return 1;
	}
	return 0;
}
