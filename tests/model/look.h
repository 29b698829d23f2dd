/* SPDX-License-Identifier: GPL-2.0 */
/*
 * look.h: what the state of a host consists of, as far as two histories that agree in it need not
 * both be gone on with.
 *
 * Of every connection and path all that decides what happens next; no addresses of memory, no
 * moments.  Two states that differ only in what is left out here are taken for one: the search may
 * then miss what follows from the other, and never finds what is not there.
 */
#ifndef RDS_TESTS_LOOK_H
#define RDS_TESTS_LOOK_H

#include <string>

#include "host.h"

namespace look
{

uint64_t digest(const host::Net &net);
/* The path of 0, 1 that @work is the worker of, as "path 1", or the item's other name. */
std::string name(const host::Net &net, const void *work);
/* Connections in the table. */
unsigned int connections(const host::Net &net);
/* As if path 0 of the first connection had found no room for long enough.  False: there is none,
 * it may not use more, or does already. */
bool fan_out(const host::Net &net);

} // namespace look
#endif
