// SPDX-License-Identifier: GPL-2.0
/* rds-ping: is the RDS of another host alive, and how far away is it. */
#include <iostream>

#include "../lib/cli.h"
#include "../lib/error.h"
#include "../lib/table.h"
#include "../lib/text.h"
#include "pinger.h"

using namespace rdstools;

namespace
{

/* The names of JSON members: p99.9 is p999. */
struct Percent {
	double value;
	const char *name, *key;
};

constexpr Percent percents[] = {{50, "p50", "p50"},	 {90, "p90", "p90"},
				{95, "p95", "p95"},	 {99, "p99", "p99"},
				{99.9, "p99.9", "p999"}, {99.99, "p99.99", "p9999"}};

double usec(double ns)
{
	return ns / 1000;
}

void print_reply(std::uint64_t number, std::optional<std::uint64_t> rtt_ns)
{
	if (rtt_ns)
		std::cout << format("%4llu: %llu usec\n", static_cast<unsigned long long>(number),
				    static_cast<unsigned long long>((*rtt_ns + 500) / 1000));
	else
		std::cout << format("%4llu: no answer\n", static_cast<unsigned long long>(number));
	flush_output();
}

double loss_percent(const PingSummary &s)
{
	return s.sent ? 100.0 * static_cast<double>(s.lost) / static_cast<double>(s.sent) : 0;
}

std::string percents_text(const Histogram &rtt)
{
	std::string text;

	for (const Percent &p : percents)
		text += format(" %s %.1f", p.name,
			       usec(static_cast<double>(rtt.percentile(p.value))));
	return text;
}

void print_text(const PingOptions &options, const PingSummary &s, bool histogram)
{
	std::cout << format("--- %s rds-ping statistics ---\n", options.dest.host().c_str());
	std::cout << format("%llu sent, %llu answered, %llu lost (%.1f%%), time %.0f ms\n",
			    static_cast<unsigned long long>(s.sent),
			    static_cast<unsigned long long>(s.received),
			    static_cast<unsigned long long>(s.lost), loss_percent(s),
			    static_cast<double>(s.elapsed_ns) / 1e6);
	if (!s.received)
		return;
	std::cout << format("rtt min/avg/max = %.1f/%.1f/%.1f usec;",
			    usec(static_cast<double>(s.rtt.min())), usec(s.rtt.mean()),
			    usec(static_cast<double>(s.rtt.max())))
		  << percents_text(s.rtt) << '\n';
	/* Where none came late it says the same. */
	if (s.corrected.count() > s.received ||
	    s.corrected.percentile(99) > 2 * s.rtt.percentile(99))
		std::cout << "since each was due, also those not sent:"
			  << percents_text(s.corrected) << '\n';
	if (histogram)
		print_bands(std::cout, s.rtt);
}

Json percents_json(const Histogram &rtt)
{
	Json json = {{"min", usec(static_cast<double>(rtt.min()))},
		     {"avg", usec(rtt.mean())},
		     {"max", usec(static_cast<double>(rtt.max()))}};

	for (const Percent &p : percents)
		json[p.key] = usec(static_cast<double>(rtt.percentile(p.value)));
	return json;
}

void print_json(const PingOptions &options, const PingSummary &s)
{
	Json root = {{"destination", options.dest.host()},
		     {"source", options.source.host()},
		     {"tos", options.tos},
		     {"sent", s.sent},
		     {"answered", s.received},
		     {"lost", s.lost},
		     {"loss_percent", loss_percent(s)},
		     {"elapsed_ms", static_cast<double>(s.elapsed_ns) / 1e6}};

	root["rtt_usec"] = nullptr;
	root["corrected_usec"] = nullptr;
	if (s.received) {
		root["rtt_usec"] = percents_json(s.rtt);
		root["corrected_usec"] = percents_json(s.corrected);
	}
	root["histogram"] = Json::array();
	for (const Histogram::Band &step : s.rtt.steps())
		root["histogram"].push_back({{"to_usec", usec(static_cast<double>(step.up_to))},
					     {"count", step.count}});
	std::cout << root.dump(1, '\t') << '\n';
}

struct CommandLine {
	std::string dest;
	std::string source;
	std::string interval = "1";
	std::string timeout = "5";
	unsigned tos = 0;
	bool json = false;
	bool quiet = false;
	bool histogram = false;
	PingOptions options;
};

void declare(CLI::App &app, CommandLine &line)
{
	CLI::Validator duration =
		checked_by([](const std::string &text) { parse_duration(text); }, "");

	app.add_option("destination", line.dest,
		       "host or address (IPv6 link-local: ADDRESS%DEVICE)")
		->required();
	app.add_option("-c,--count", line.options.count, "end after N pings")
		->type_name("N")
		->check(checked_by(
			[](const std::string &text) {
				if (parse_size(text) == 0)
					throw Error("the count must be at least 1");
			},
			""));
	app.add_option("-i,--interval", line.interval,
		       "time between pings: seconds, or with ms, us")
		->type_name("TIME")
		->check(duration)
		->capture_default_str();
	app.add_option("-I,--source", line.source, "local address to send from")
		->type_name("ADDRESS");
	app.add_option("-Q,--tos", line.tos, "type of service, 0 to 255")
		->type_name("TOS")
		->check(CLI::Range(0, 255));
	app.add_option("-w,--timeout", line.timeout, "time after which a ping counts as lost")
		->type_name("TIME")
		->check(duration)
		->capture_default_str();
	app.add_flag("-q,--quiet", line.quiet, "no line per ping");
	app.add_flag("--histogram", line.histogram, "at the end, round trip times as bars");
	app.add_flag("--json", line.json, "print only a summary, as JSON");
}

std::string so_far(const PingOptions &options, const PingSummary &s)
{
	std::string text = format("%llu", static_cast<unsigned long long>(s.sent));

	if (options.count)
		text += format(" of %llu", static_cast<unsigned long long>(options.count));
	return text + format(" sent, %llu answered, %llu lost, p50 %.1f usec",
			     static_cast<unsigned long long>(s.received),
			     static_cast<unsigned long long>(s.lost),
			     usec(static_cast<double>(s.rtt.percentile(50))));
}

int run(CommandLine &line)
{
	PingOptions &options = line.options;

	options.dest = parse_address(line.dest);
	/* Before anything else, so that a missing module is told first. */
	RdsSocket();
	options.source =
		line.source.empty() ? source_for(options.dest) : parse_address(line.source);
	if (options.source.family() != options.dest.family())
		throw Error("source and destination must both be IPv4 or both be IPv6");
	options.interval_ns = parse_duration(line.interval);
	options.timeout_ns = parse_duration(line.timeout);
	options.tos = static_cast<std::uint8_t>(line.tos);
	if (!options.timeout_ns)
		throw Error("the timeout must not be zero");
	catch_stop_signals();

	std::optional<Progress> progress(line.json || line.quiet);
	Pinger pinger(
		options,
		[&](std::uint64_t number, std::optional<std::uint64_t> rtt_ns) {
			if (!line.json && !line.quiet)
				print_reply(number, rtt_ns);
		},
		[&](const PingSummary &s) { progress->say([&] { return so_far(options, s); }); });
	PingSummary summary = pinger.run();
	progress.reset();
	if (line.json)
		print_json(options, summary);
	else
		print_text(options, summary, line.histogram);
	return summary.received ? exit_ok : exit_failed;
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app("Send RDS pings and show the round trip times. Exit status 0: at least one "
		     "ping was answered; 1: none; 2: usage or environment.",
		     "rds-ping");
	CommandLine line;

	declare(app, line);
	return run_tool(app, argc, argv, [&] { return run(line); });
}
