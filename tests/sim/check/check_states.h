/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_states.h: every change of a path's state is an edge of the table in path_table.h, and
 * starts where the last one ended; every event leads where the table lets it.  Every change is a
 * line of the trace (sim::say).
 */
#ifndef RDS_TESTS_CHECK_STATES_H
#define RDS_TESTS_CHECK_STATES_H

#include <string>

namespace check
{

/* Watches all paths from now on (host::on_state). */
void watch_states();
/* The first illegal change, or empty. */
const std::string &states_complaint();
/* Edges from one state to another that were taken since watch_states(), a bit for each; and those
 * that the table has. */
unsigned int edges_taken();
unsigned int edges_known();

} // namespace check
#endif
