// SPDX-License-Identifier: GPL-2.0
/* rds-info: what the RDS modules know, as tables, as JSON, once or again and again. */
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <iostream>
#include <map>

#include "../lib/cli.h"
#include "../lib/error.h"
#include "../lib/text.h"
#include "sections.h"

using namespace rdstools;

namespace
{

struct Options {
	std::vector<const Section *> chosen;
	SectionOptions section;
	bool asked = false; /* sections were named */
	bool json = false;
	std::uint64_t watch_ns = 0;
	std::uint64_t samples = 0; /* 0: without end */
};

/* Tables of one moment; a missing entry was not offered by the kernel. */
struct Sample {
	std::uint64_t when = 0;
	std::map<const Section *, Table> tables;
};

Sample collect(const RdsSocket &socket, const Options &options)
{
	Sample sample;

	sample.when = now_ns();
	for (const Section *section : options.chosen) {
		Table table;
		if (section->collect(socket, options.section, table))
			sample.tables.emplace(section, std::move(table));
	}
	return sample;
}

/* The same sample with rate columns; the first one of a watch has none to compare with. */
Sample with_rates(const Sample &now, const Sample &before)
{
	Sample rated = now;
	double seconds = static_cast<double>(now.when - before.when) / 1e9;

	for (auto &[section, table] : rated.tables) {
		auto last = before.tables.find(section);
		if (!section->rates.empty())
			add_rates(table, last == before.tables.end() ? Table() : last->second,
				  seconds, section->identity, section->rates);
	}
	return rated;
}

void print_text(const Sample &sample, const Options &options)
{
	for (const Section *section : options.chosen) {
		auto found = sample.tables.find(section);
		/* Not offered matters only to somebody who asked for just that. */
		if (found == sample.tables.end()) {
			if (options.asked)
				std::cout << '\n'
					  << section->title
					  << ": not offered by the loaded modules\n";
			continue;
		}
		std::cout << '\n' << section->title << ":\n";
		found->second.print(std::cout);
	}
}

void print_json(const Sample &sample, const Options &options)
{
	Json root = Json::object();

	if (options.watch_ns)
		root["time_ns"] = sample.when;
	for (const Section *section : options.chosen) {
		auto found = sample.tables.find(section);
		root[section->key] =
			found == sample.tables.end() ? Json(nullptr) : found->second.json();
	}
	/* A watch gives one object per line, for line-wise readers. */
	std::cout << root.dump(options.watch_ns ? -1 : 1, '\t') << '\n';
}

void print_sample(const Sample &sample, const Options &options)
{
	if (options.json) {
		print_json(sample, options);
	} else {
		if (options.watch_ns && isatty(STDOUT_FILENO))
			std::cout << "\033[H\033[2J";
		if (options.watch_ns) {
			char text[64];
			std::time_t now = std::time(nullptr);
			std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S",
				      std::localtime(&now));
			std::cout << "=== " << text << '\n';
		}
		print_text(sample, options);
	}
	flush_output();
}

int watch(const RdsSocket &socket, const Options &options)
{
	catch_stop_signals();
	Sample before = collect(socket, options);
	print_sample(before, options);
	std::uint64_t next = before.when;

	for (std::uint64_t done = 1; !options.samples || done < options.samples; done++) {
		next += options.watch_ns;
		if (!sleep_until(next))
			break;
		Sample now = collect(socket, options);
		print_sample(with_rates(now, before), options);
		before = std::move(now);
		/* After a suspend or a slow terminal go on from here instead of catching up. */
		next = std::max(next, before.when);
	}
	return exit_ok;
}

int run(Options &options)
{
	RdsSocket socket;

	/* Nothing named: everything there is, IPv6 included. */
	if (!options.asked) {
		for (const Section &section : sections())
			options.chosen.push_back(&section);
		options.section.ipv6 = true;
	}
	if (options.watch_ns)
		return watch(socket, options);
	print_sample(collect(socket, options), options);
	return exit_ok;
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app("Show the counters, sockets, connections and queues of RDS. Without a section "
		     "option everything is shown.",
		     "rds-info");
	Options options;
	std::string interval;

	add_sections(app, options.chosen);
	app.add_flag("-a,--all", options.section.ipv6, "IPv6 too (IPv4 only otherwise)");
	app.add_flag("-v,--verbose", options.section.verbose, "more columns");
	app.add_flag("--json", options.json, "print JSON");
	auto *watch_option =
		app.add_option("--watch", interval,
			       "sample every SECONDS and show rates per second")
			->type_name("SECONDS")
			->check(checked_by(
				[](const std::string &text) {
					if (parse_duration(text) < 1000000)
						throw Error("the interval must be at least 1ms");
				},
				""));
	app.add_option("--samples", options.samples, "with --watch: end after N samples")
		->type_name("N")
		->needs(watch_option);
	return run_tool(app, argc, argv, [&] {
		options.asked = !options.chosen.empty();
		if (!interval.empty())
			options.watch_ns = parse_duration(interval);
		return run(options);
	});
}
