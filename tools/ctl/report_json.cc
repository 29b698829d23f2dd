// SPDX-License-Identifier: GPL-2.0
/* The report's numbers: as JSON, and those that have to be counted first. */
#include "report.h"

#include <algorithm>

#include "field.h"

namespace rdstools
{

std::vector<RoundTrips> round_trips(const Json &paths)
{
	std::vector<RoundTrips> steps;
	std::uint64_t most = 0;

	for (const Json &p : paths)
		most = std::max(most, number(round_trip(p)));
	for (std::uint64_t top = 1, next = 2;
	     most && (steps.empty() || steps.back().up_to_us < most);
	     top = next, next = std::to_string(top)[0] == '2' ? top / 2 * 5 : top * 2)
		steps.push_back({top, 0});
	for (const Json &p : paths)
		for (std::size_t at = 0; at < steps.size(); at++)
			if (!round_trip(p).is_null() &&
			    number(round_trip(p)) <= steps[at].up_to_us) {
				steps[at].paths++;
				break;
			}
	/* Steps below the fastest path say nothing. */
	while (!steps.empty() && !steps.front().paths)
		steps.erase(steps.begin());
	return steps;
}

namespace
{

Json pings_json(const std::vector<Pinged> &pings)
{
	Json rows = Json::array();

	for (const Pinged &p : pings) {
		Json row = {{"remote", p.host}, {"sent", p.sent}, {"answered", p.answered}};

		row["histogram"] = Json::array();
		for (const Histogram::Band &step : p.rtt.steps())
			row["histogram"].push_back(
				{{"to_usec", static_cast<double>(step.up_to) / 1000},
				 {"count", step.count}});
		rows.push_back(std::move(row));
	}
	return rows;
}

} // namespace

Json report_json(const Report &r)
{
	auto object = [](const Facts &facts) {
		Json json = Json::object();

		for (const auto &[key, value] : facts)
			json[key] = value;
		return json;
	};

	return {{"seconds", r.seconds},
		{"host", object(r.host)},
		{"modules", r.modules},
		{"devices", r.devices},
		{"findings", findings_json(r.findings)},
		{"paths", r.refused.empty() ? r.paths : Json(nullptr)},
		{"paths-refused", r.refused.empty() ? Json(nullptr) : Json(r.refused)},
		{"sockets", r.sockets},
		{"counters", r.counters},
		{"settings", object(r.settings)},
		{"pings", pings_json(r.pings)},
		{"unknown", r.unknown.empty() ? Json(nullptr) : Json(r.unknown)}};
}

} // namespace rdstools
