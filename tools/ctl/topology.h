/* SPDX-License-Identifier: GPL-2.0 */
/* Hosts that this one speaks to, as a drawing. */
#ifndef RDSCTL_TOPOLOGY_H
#define RDSCTL_TOPOLOGY_H

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "../lib/table.h"
#include "html.h"

namespace rdstools
{

/* How it goes with a path, or with all of a host's together; the worst first. */
enum class Health { bad, poor, good, idle };

const char *health_class(Health health);
/* By a row of PathRates: bad is one that messages wait for and that is not up. */
Health health_of(const Json &path);

struct Host {
	std::string address;
	std::set<std::string> locals; /* addresses of ours that speak to it */
	unsigned paths = 0, up = 0;
	std::uint64_t unacked = 0, waits_ms = 0;
	double tx = 0, rx = 0; /* bytes a second */
	Health health = Health::idle;
};

/* Of rows of PathRates: those with trouble first, then those with most traffic. */
std::vector<Host> hosts_of(const Json &paths);

/* Hosts up to so many have a box each, others a square. */
inline constexpr std::size_t topology_boxes = 16;

/* An address, or other ASCII, of at most @most characters: without those in its middle. */
std::string shortened(const std::string &text, std::size_t most);

void draw_topology(Html &html, const std::vector<Host> &hosts);

} // namespace rdstools

#endif
