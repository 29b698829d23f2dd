// SPDX-License-Identifier: GPL-2.0
/* rdsctl report: all that can be seen of this host, twice, into one file. */
#include "look.h"

#include <ctime>
#include <iostream>
#include <set>
#include <sstream>

#include "../lib/cli.h"
#include "../ping/pinger.h"
#include "../lib/text.h"
#include "evidence.h"
#include "owners.h"
#include "rates.h"
#include "report.h"
#include "whole_file.h"

namespace rdstools
{

namespace
{

/* Paths, sockets and counters, and what grew within @interval. */
void look_twice(Report &report, std::uint64_t interval)
{
	try {
		State state;
		PathRates rates;
		const Json before = state.counters();
		const std::uint64_t then = now_ns();

		rates.of(state.paths_or_null(report.refused), then);
		catch_stop_signals();
		sleep_until(then + interval);

		const std::uint64_t now = now_ns();

		report.seconds = static_cast<double>(now - then) / 1e9;
		report.counters = counter_rates(before, state.counters(), report.seconds);
		report.sockets = Owners().of(state.sockets());
		report.paths = rates.of(state.paths_or_null(report.refused), now);
	} catch (const Error &error) {
		report.unknown = error.what();
	}
}

/* Hosts that are pinged at most: one that does not answer takes as long as the limit. */
constexpr std::size_t most_pinged = 32;
constexpr std::uint64_t ping_interval_ns = 10000000, ping_limit_ns = 5000000000;

/* Hosts that a path to is up, one after the other, each @count times. */
void ping_hosts(Report &report, std::uint64_t count)
{
	std::set<std::string> done;

	for (const Json &path : report.paths) {
		const std::string remote = path["remote"].get<std::string>();
		PingOptions options = {numeric_address(remote),
				       numeric_address(path["local"].get<std::string>()),
				       count,
				       ping_interval_ns,
				       ping_limit_ns,
				       path["tos"].get<std::uint8_t>()};

		if (path["scope"].is_number()) {
			options.dest.set_scope(path["scope"].get<std::uint32_t>());
			options.source.set_scope(path["scope"].get<std::uint32_t>());
		}
		if (path["state"] != "up" || done.size() >= most_pinged || stopped() ||
		    !done.insert(remote).second)
			continue;
		try {
			const PingSummary s = Pinger(options, [](std::uint64_t, auto) {}).run();

			report.pings.push_back({remote, s.sent, s.received, s.rtt});
		} catch (const Error &) {
			/* Its address has gone from here: the path's rows tell. */
			report.pings.push_back({remote, 0, 0, {}});
		}
	}
}

/* The default name: rds-HOST-TIME.html. */
std::string file_name(const Facts &host)
{
	std::string name = "rds-";
	char text[32];
	const std::time_t now = std::time(nullptr);

	for (const char c : host.front().second)
		name += std::isalnum(static_cast<unsigned char>(c)) || c == '.' ? c : '-';
	std::strftime(text, sizeof(text), "-%Y%m%d-%H%M%S.html", std::localtime(&now));
	return name + text;
}

} // namespace

void Look::add_report()
{
	CLI::App *report = add("report", "all of this as one HTML file, to be sent to somebody",
			       &Look::report);

	report->add_option("file", file_, "its name (rds-HOST-TIME.html); -: standard output");
	report->add_option("-i,--interval", interval_,
			   "between the two looks that rates are of (1)")
		->type_name("SECONDS")
		->check(duration_of_a_look());
	report->add_option("--ping", samples_,
			   "also ping each host N times, and show how long it took")
		->type_name("N")
		->check(CLI::Range(1, 10000));
}

int Look::report()
{
	Report report;

	report.time = clock_text();
	report.host = host_facts("/");
	report.modules = module_rows("/");
	report.devices = device_rows("/");
	report.settings = settings("/");
	look_twice(report, parse_duration(interval_.empty() ? "1" : interval_));
	if (samples_)
		ping_hosts(report, samples_);
	report.findings = examine(gather());

	std::ostringstream text;

	if (json_)
		text << document("report", report_json(report))
				.dump(1, '\t', false, Json::error_handler_t::replace)
		     << '\n';
	else
		write_report(text, report);
	if (file_ == "-" || (json_ && file_.empty())) {
		std::cout << text.str();
		return exit_ok;
	}
	const std::string name = file_.empty() ? file_name(report.host) : file_;

	/* Others than its owner need not read it. */
	write_file(name, text.str(), 0600);
	std::cout << name << '\n';
	return exit_ok;
}

} // namespace rdstools
