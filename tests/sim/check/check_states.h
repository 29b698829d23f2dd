/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_states.h: every change of a path's state is an edge of the table in path.h, and starts
 * where the last one ended; every turn of its worker is one of the table in turns.h.  Every change
 * is a line of the trace (sim::say).
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
/* Edges of the table that were taken since watch_states(), as a bit mask. */
unsigned int edges_taken();
unsigned int edges_known();

} // namespace check
#endif
