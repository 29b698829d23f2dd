/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers of one host for those who watch many: rdsctl metrics.
 *
 * The number of time series does not depend on who calls: without peers a few hundred, with
 * them five more for each of most_peers, and for the rest together.
 */
#ifndef RDSCTL_METRICS_H
#define RDSCTL_METRICS_H

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "../lib/table.h"
#include "exposition.h"

namespace rdstools
{

/* A look at RDS. A table that this user may not see is nothing. */
struct Scrape {
	bool up = false; /* the RDS of this network namespace has answered */
	Json modules = Json::array();
	std::optional<Json> paths, sockets, counters;
};

inline constexpr std::size_t most_peers = 256;

/* @peers: also what is known of each peer. */
std::vector<Family> metrics_of(const Scrape &scrape, bool peers);

/* A counter of the modules, and what its comment in the sources says; empty: there is none. */
struct CounterText {
	const char *name, *text;
};
std::span<const CounterText> counter_texts();

} // namespace rdstools

#endif
