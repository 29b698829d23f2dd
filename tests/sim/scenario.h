/* SPDX-License-Identifier: GPL-2.0 */
/*
 * scenario.h: one random story from one seed: hosts, sockets, traffic, faults; then peace, and the
 * checks.
 *
 * While the story runs, applications send random sizes to random sockets, some read slowly, sockets
 * close and open, sends are taken back, connections are cut or reset, allocations fail.  Then the
 * faults end, and everything has to come to rest: every queue empty, every sender alive, what
 * arrived arrived once, in order and unchanged; without cuts nothing is missing; nothing leaks.
 */
#ifndef RDS_TESTS_SCENARIO_H
#define RDS_TESTS_SCENARIO_H

#include <cstdint>
#include <string>

namespace scenario
{

struct Result {
	std::string complaint; /* empty: all is well */
	std::string setup;     /* what the seed chose, in words */
	uint64_t sent = 0, received = 0, lost = 0;
	uint64_t cuts = 0, failed_allocs = 0;
	unsigned int edges = 0; /* of the state table, as a mask */
};

/* @steps: faults and socket operations before peace. */
Result run(uint64_t seed, unsigned int steps);

} // namespace scenario
#endif
