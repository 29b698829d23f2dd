/* SPDX-License-Identifier: GPL-2.0 */
/* rdsctl top as text: who sends most, who waits longest. */
#ifndef RDSCTL_TOP_H
#define RDSCTL_TOP_H

#include <ostream>
#include <string>
#include <vector>

#include "owners.h"
#include "view.h"

namespace rdstools
{

/* One look at the host. */
struct Top {
	std::string time;
	Json paths;   /* of PathRates, sorted, the first of them first */
	Json sockets; /* of Owners: those in which something waits, the fullest first */
	/* Why this user may not see paths, nor sockets of others; or empty. */
	std::string refused = {};
};

/* Rows of State::sockets() in which something waits to be acknowledged or read; the fullest first.
 */
Json busy_sockets(const Json &sockets);

/* "1.2M": with the letter of a power of a thousand; "-": not known. */
std::string rate_text(const Json &rate);

/* Lines, a summary first. @width columns (0: all that it takes), @height of them (0: all). */
std::vector<std::string> top_lines(const Top &top, const Paint &paint, std::size_t width,
				   std::size_t height);

Json top_json(const Top &top, double seconds);

} // namespace rdstools

#endif
