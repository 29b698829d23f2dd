/* SPDX-License-Identifier: GPL-2.0 */
/*
 * play.h: a seed's plan of harms, and how it goes.
 */
#ifndef RDS_TESTS_ADVERSARY_PLAY_H
#define RDS_TESTS_ADVERSARY_PLAY_H

#include <string>
#include <vector>

#include "world.h"

namespace adversary
{

/* A step draws from a stream of its own: one can be left out, and the others stay what they are. */
struct Step {
	unsigned int number;
	unsigned int harm; /* of harms[] */
	uint64_t seed;
	uint64_t pause_ns;
};

struct Plan {
	Config config;
	std::vector<Step> steps;
	bool crashes; /* at the end it loses power, else it leaves */
};
Plan make_plan(uint64_t seed, unsigned int steps);

struct Result {
	std::string complaint; /* empty: all is well */
	std::string told;      /* parts of the budgets that were needed */
	uint64_t history = 0, frames = 0, honest = 0, virtual_ns = 0;
};
Result play(const Plan &plan);

} // namespace adversary
#endif
