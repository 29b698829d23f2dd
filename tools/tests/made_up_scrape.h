/* SPDX-License-Identifier: GPL-2.0 */
/* Looks of rdsctl metrics at hosts that never were. */
#ifndef RDSTOOLS_TESTS_MADE_UP_SCRAPE_H
#define RDSTOOLS_TESTS_MADE_UP_SCRAPE_H

#include <string>

#include "../ctl/metrics.h"
#include "made_up.h"

namespace rdstools::made_up
{

/* All counters, each of another value, and as many hosts, one in ten of which is not reached. */
inline Scrape scrape(unsigned peers)
{
	Scrape s;
	std::uint64_t value = 0;

	s.up = true;
	s.modules = Json::array(
		{{{"name", "rds"}, {"version", "5.0"}}, {{"name", "rds_tcp"}, {"version", "5.0"}}});
	s.counters = Json::array();
	for (const CounterText &known : counter_texts())
		s.counters->push_back({{"name", known.name}, {"value", value++}});
	s.paths = Json::array();
	for (unsigned at = 0; at < peers; at++) {
		Json p = path("10." + std::to_string(at / 62500) + "." +
				      std::to_string(at / 250 % 250) + "." +
				      std::to_string(at % 250 + 1),
			      {{"unsent-bytes", 100u}});

		if (at % 10 == 9)
			p.update(Json{{"state", "connecting"},
				      {"unacked", 2u},
				      {"waits-ms", 1000u + at}});
		s.paths->push_back(std::move(p));
	}
	s.sockets = Json::array({socket(4096, 0), socket(0, 70000)});
	(*s.sockets)[1]["congested"] = true;
	(*s.sockets)[1]["unread-ms"] = 2500u;
	return s;
}

/* Every text that comes from somewhere is hostile. */
inline Scrape hostile_scrape()
{
	Scrape s = scrape(2);

	s.modules.push_back({{"name", nasty}, {"version", "a\\b\"c\nd} 1\n"}});
	(*s.paths)[0]["remote"] = std::string(nasty) + "\"} 1\nrds_up 0\n# TYPE rds_up counter";
	(*s.paths)[1]["state"] = nasty;
	s.counters->push_back({{"name", nasty}, {"value", 1u}});
	s.counters->push_back({{"name", "conn reset"}, {"value", 2u}});
	s.counters->push_back({{"name", "conn\nreset"}, {"value", 3u}});
	/* The names of others. */
	s.counters->push_back({{"name", "up"}, {"value", 4u}});
	s.counters->push_back({{"name", "conn_reset"}, {"value", 5u}});
	return s;
}

} // namespace rdstools::made_up

#endif
