/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of doctor.h's examination that have a file of their own. */
#ifndef RDSCTL_DOCTOR_CHECKS_H
#define RDSCTL_DOCTOR_CHECKS_H

#include <span>

#include "doctor.h"

namespace rdstools
{

using Findings = std::vector<Finding>;

/* A path that has something to say may take so long to be up before that is told. */
inline constexpr std::uint64_t patience_ms = 10000;

bool is_loaded(const Evidence &e, const std::string &module);
/* Of a file below the root: its first line as a number; nothing: it has none. */
std::optional<std::uint64_t> number_of(const Evidence &e, const std::string &file);

/* A counter, and what it means that it is not 0. */
struct Drop {
	const char *name;
	bool fault;
	const char *why, *command;
};

std::span<const Drop> drops();

/* Modules: ours, of one version, with a transport; and what modprobe would take in their place. */
void look_at_modules(const Evidence &e, Findings &found);
/* Drops, refusals, and things that could not be had. */
void look_at_counters(const Evidence &e, Findings &found);
/* Settings that are too small for what this host does. */
void look_at_load(const Evidence &e, Findings &found);
/* The kernel was built without what RDS needs, or with what makes it slow. */
void look_at_kernel(const Evidence &e, Findings &found);
/* Rules of a packet filter that keep peers from RDS's ports. */
void look_at_firewall(const Evidence &e, Findings &found);
/* Peers that messages wait for and cannot get to, or from which nothing comes back. */
void look_at_paths(const Evidence &e, Findings &found);
/* Segments on the way to a host are smaller than those of the device, or do not get through. */
void look_at_routes(const Evidence &e, Findings &found);
/* Devices that RDS could use, or that it cannot. */
void look_at_rdma(const Evidence &e, Findings &found);

} // namespace rdstools

#endif
