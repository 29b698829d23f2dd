/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults of this host's RDS: what, why it matters, and the command that mends it.
 *
 * It looks at files of /proc and /sys below a root that tests can make themselves, and at what the
 * kernel tells by netlink; it changes nothing and sends nothing.
 */
#ifndef RDSCTL_DOCTOR_H
#define RDSCTL_DOCTOR_H

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "../lib/table.h"

namespace rdstools
{

struct Evidence {
	std::filesystem::path root = "/";
	/* Rows of State; nothing: they cannot be read. */
	std::optional<Json> paths, counters;
};

struct Finding {
	std::string check; /* what was looked at: "modules", "listen", "settings", ... */
	bool fault;	   /* or else something that may be meant so */
	std::string what, why, command;
};

/* Faults first; nothing: all is well as far as can be seen. */
std::vector<Finding> examine(const Evidence &evidence);

Json findings_json(const std::vector<Finding> &findings);

} // namespace rdstools

#endif
