/* SPDX-License-Identifier: GPL-2.0 */
/*
 * turns.h: what every event did that a path took, held against the table
 * (net/rds/path/path_table.h).
 */
#ifndef RDS_TESTS_TURNS_H
#define RDS_TESTS_TURNS_H

#include <string>

#include "net/rds/path/path.h"

namespace check
{

constexpr unsigned int kStates = 4; /* in which an event may find a path: all but kDead */

/* One event, as it was seen. */
struct Turn {
	const struct rds_path *path;
	unsigned int event, from, to;
};

const char *state_name(unsigned int state);
/* "kDown --want--> kConnecting" */
std::string show(const Turn &t);
/* It stayed where it was, or went where the table lets it. */
bool legal(const Turn &t);
/* The states to which @event may lead from @from, a bit for each. */
unsigned int may_lead(unsigned int event, unsigned int from);

/* Calls @fn for every event from now on. */
void watch_turns(void (*fn)(const Turn &t));

} // namespace check
#endif
