/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire.h: the smallest transport that has TCP's shape, for counting: who calls whom is decided by
 * tcp_duel.cc, bytes are cut into messages by tcp_frame.cc, acks come later.  Nothing is ever lost
 * or short of room, and finding a host costs the same for any number of them.
 */
#ifndef RDS_TESTS_SCALE_WIRE_H
#define RDS_TESTS_SCALE_WIRE_H

#include "host.h"

namespace scale
{

/* Address of host @n: fd00::n. */
struct rds_addr addr_of(uint32_t n);
/* From now on @net is reached at addr_of(@n). */
void plug(uint32_t n, host::Net &net);

const struct rds_transport *wire_ops();
struct rds_module &wire_module();
/* Bytes that the core's allocator gave to the transport, not to the core, for one path. */
size_t wire_bytes();

} // namespace scale
#endif
