/* SPDX-License-Identifier: GPL-2.0 */
/*
 * story.h: plays a plan, and judges it.
 *
 * While the steps are taken, applications talk and things go wrong.  Then there is peace, and
 * everything has to come to rest: every queue empty, every sender done, what was accepted arrived
 * once, in order and unchanged, and nothing of it is missing without an excuse; every byte and page
 * that was lent is back; from every socket one more message reaches every other; and at the end
 * nothing is left over.
 */
#ifndef RDS_TESTS_STORY_H
#define RDS_TESTS_STORY_H

#include <memory>

#include "plan.h"

namespace story
{

struct Result {
	std::string complaint; /* empty: all is well */
	uint64_t sent = 0, received = 0, lost = 0;
	uint64_t cuts = 0, failed_allocs = 0, cancels = 0;
	uint64_t ops = 0, ops_done = 0; /* on others' memory; told that they are done */
	uint64_t overtaken = 0;		/* messages, by later ones */
	size_t peak_bytes = 0;		/* of the core's memory */
	unsigned int edges = 0;		/* of the state table, as a mask */
	uint64_t history = 0;		/* digest of everything that happened */
	uint64_t virtual_ns = 0;
	uint64_t recovery_ns = 0; /* from peace until all was at rest */
};

Result play(const Plan &plan);

/* The parts of it, for stories that are not made from a seed: a new world, and (after a Stage was
 * made and used) peace and the verdict. */
class Stage;
void begin(const Setup &s);
Result finish(std::unique_ptr<Stage> stage);

} // namespace story
#endif
