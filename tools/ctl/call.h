/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls of hosts that messages wait for and that have no connection, for the doctor: a refusal,
 * silence and an open port have different cures.
 *
 * A call ends before there is a connection of RDS: over TCP it says nothing, and over RDMA it
 * asks for a version that there is not. Sixteen hosts at most, all at a time, for 1.5 s at most
 * with each transport.
 */
#ifndef RDSCTL_CALL_H
#define RDSCTL_CALL_H

#include <cstdint>
#include <map>
#include <vector>

#include "../lib/address.h"
#include "doctor.h"

namespace rdstools
{

inline constexpr std::uint64_t call_limit_ns = 1500000000;

/* The addresses of a path, with its scope. */
struct Ends {
	Address local, remote;
};

Ends ends_of(const Json &path);

/* Hosts that paths do not get to; those that could not be called are left out. */
std::map<Callee, Called> call_hosts(const Json &paths);

struct Call {
	Callee callee;
	Ends ends;
};

/* Those of transport "infiniband": by librdmacm, where rdma_ucm is loaded and the user may. iWARP's
 * devices take no call without a queue pair, and are left out. */
void call_over_rdma(const std::vector<Call> &calls, std::map<Callee, Called> &found);

} // namespace rdstools

#endif
