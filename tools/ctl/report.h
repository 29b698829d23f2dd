/* SPDX-License-Identifier: GPL-2.0 */
/* rdsctl report: what is known of this host's RDS, as one page that needs nothing else. */
#ifndef RDSCTL_REPORT_H
#define RDSCTL_REPORT_H

#include <ostream>
#include <string>
#include <vector>

#include "../lib/stats.h"
#include "doctor.h"
#include "host.h"

namespace rdstools
{

/* A host that was pinged, if that was asked for. */
struct Pinged {
	std::string host;
	std::uint64_t sent = 0, answered = 0;
	Histogram rtt; /* ns */
};

struct Report {
	std::string time;
	double seconds = 0; /* between the two dumps that rates are of */
	Facts host;
	Json modules = Json::array(), devices = Json::array();
	std::vector<Finding> findings;
	Json paths = Json::array();    /* of PathRates */
	Json sockets = Json::array();  /* of Owners */
	Json counters = Json::array(); /* of counter_rates() */
	Facts settings;
	std::vector<Pinged> pings;
	std::string unknown; /* why paths or sockets are not known; empty: they are */
	/* Why the user may not see paths, of which there are none then, and of sockets his own. */
	std::string refused;
};

void write_report(std::ostream &out, const Report &report);
Json report_json(const Report &report);

/* Paths by their round_trip(): a row for each step of 1, 2, 5, 10, ... microseconds. */
struct RoundTrips {
	std::uint64_t up_to_us = 0;
	unsigned paths = 0;
};
std::vector<RoundTrips> round_trips(const Json &paths);

} // namespace rdstools

#endif
