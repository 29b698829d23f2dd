/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Growth of paths and counters from one dump to the next.
 *
 * A path of loopback does not tell how old its oldest message is; whoever looks twice sees that it
 * is the same one still, and so for how long it has waited at least.
 */
#ifndef RDSCTL_RATES_H
#define RDSCTL_RATES_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../lib/table.h"

namespace rdstools
{

class PathRates
{
public:
	/*
	 * Rows of State::paths(), dumped at @now_ns, with more members:
	 *  - tx-messages-rate, rx-messages-rate, tx-bytes-rate, rx-bytes-rate: growth a second
	 *    since the dump before; null: not known, or the path or its connection is new since;
	 *  - waits-ms, where the path does not tell it: for so long at least the oldest message
	 *    that is not acknowledged has been that one; null: none waits.
	 */
	Json of(const Json &paths, std::uint64_t now_ns);

private:
	struct Seen {
		Json row;
		std::uint64_t waits_since = 0; /* 0: nothing waits */
	};

	std::map<std::string, Seen> before_;
	std::uint64_t before_ns_ = 0;
};

/* Which path a row is of. */
std::string path_identity(const Json &row);

/* Growth of each counter between two dumps: rows of now with a member rate, in the order of @now.
 */
Json counter_rates(const Json &before, const Json &now, double seconds);

/*
 * Counters of a name that one of @patterns fits, or all, with a value unless @zeros are wanted; and
 * a column of rates, where counter_rates() has seen the rows. Rates come first: a counter that was
 * 0 before has one.
 */
Table counters_table(const Json &rows, const std::vector<std::string> &patterns, bool zeros);

/* The name of what rows are sorted by: "tx", "rx", "messages" (both ways), "unacked", "waits". */
void sort_paths(Json &rows, const std::string &by);

} // namespace rdstools

#endif
