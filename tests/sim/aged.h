/* SPDX-License-Identifier: GPL-2.0 */
/*
 * aged.h: objects of the core as they are after very long use: their counters begin near the end
 * of 31, 32 or 63 bits.
 *
 * The simulated transports call in here when an object is fresh, and both ends of it agree: a
 * path's numbers when it is made, its byte offsets when a connection begins, a link's ring
 * positions before it has posted anything, versions of congestion maps, generations.  Off, as in
 * every test that does not turn it on, none of this changes anything.
 */
#ifndef RDS_TESTS_AGED_H
#define RDS_TESTS_AGED_H

#include <cstdint>

#include "host.h"

struct rds_ib_link;

namespace aged
{

/* From here on, drawn from @seed. */
void begin(uint64_t seed);
void end();
bool on();

/* The namespace has come up. */
void age(host::Net &net);
/* The path was made, and nobody else knows it yet. */
void age(struct rds_path *path);
/* A connection of the path begins, nothing of it was sent: so many bytes have gone before. */
uint64_t age_stream(struct rds_path *path);
/* The link is prepared, and has posted nothing. */
void age(struct rds_ib_link &link);
/* A host's first number, or 1. */
uint64_t first_number();
/* The number that TCP gives a connection's first byte. */
uint32_t first_byte();
/* The number that the core draws: now and then near the end, for numbers that begin anywhere. */
uint32_t draw(uint32_t drawn);

} // namespace aged
#endif
