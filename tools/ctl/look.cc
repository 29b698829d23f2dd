// SPDX-License-Identifier: GPL-2.0
#include "look.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iostream>

#include "../lib/cli.h"
#include "../lib/text.h"
#include "doctor.h"
#include "evidence.h"
#include "filter.h"
#include "host.h"
#include "owners.h"
#include "rates.h"
#include "readers.h"
#include "view.h"

namespace rdstools
{

std::string filter_help(std::span<const Field> fields)
{
	std::string help = "[show]";

	for (const Field &field : fields)
		help += std::string(" [") + field.name + " VALUE]";
	return help;
}

Json document(const char *member, Json value)
{
	return {{"version", json_version}, {member, std::move(value)}};
}

std::string clock_text()
{
	char text[32];
	std::time_t now = std::time(nullptr);

	std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", std::localtime(&now));
	return text;
}

CLI::Validator duration_of_a_look()
{
	return checked_by(
		[](const std::string &text) {
			if (parse_duration(text) < 1000000)
				throw Error("at least 1ms");
		},
		"");
}

namespace
{

void print(const Json &root)
{
	std::cout << root.dump(1, '\t') << '\n';
}

/* ---- stats ---- */

/* Of a watch each is an object on a line of its own. */
void print_counters(const Table &table, bool json, bool watched)
{
	if (json) {
		Json root = document("counters", table.json());

		if (watched)
			root["time"] = std::time(nullptr);
		std::cout << root.dump(watched ? -1 : 1, '\t') << '\n';
	} else {
		if (watched)
			std::cout << "=== " << clock_text() << '\n';
		table.print(std::cout);
	}
	flush_output();
}

} // namespace

Look::Look(CLI::App &app, const bool &json) : app_(app), json_(json)
{
	app.add_option("-c,--color", colour_, "colours: auto (of a terminal), always or never")
		->type_name("WHEN")
		->check(CLI::IsMember({"auto", "always", "never"}));
	add("show", "a summary of one screen", &Look::show);

	CLI::App *path =
		add("path", "paths: their state, and all that is known of it", &Look::path);
	path->add_option("words", words_, filter_help(path_fields()));
	path->add_flag("-b,--brief", brief_, "a line for each");
	path->alias("paths");

	CLI::App *socket = add("socket", "sockets: of other users for administrators only, perhaps",
			       &Look::socket);
	socket->add_option("words", words_, filter_help(socket_fields()));
	socket->alias("sockets");

	CLI::App *stats = add("stats", "counters, by name", &Look::stats);
	stats->add_option("patterns", words_, "names; * stands for any letters");
	CLI::Option *watch = stats->add_option("-w,--watch", interval_, "again every SECONDS")
				     ->type_name("SECONDS")
				     ->check(duration_of_a_look());
	stats->add_option("--samples", samples_, "with --watch: end after N")
		->type_name("N")
		->needs(watch);
	stats->add_flag("-r,--rates", rates_, "with --watch: growth a second, too")->needs(watch);
	stats->add_flag("-z,--zeros", zeros_, "those that are 0, too");

	add_top();
	CLI::App *monitor = add(
		"monitor", "paths that come up, end, or cannot, and ports that fill, as it happens",
		&Look::monitor);
	monitor->add_option("words", words_, filter_help(news_fields()));
	monitor->add_option("--count", samples_, "end after so many")->check(CLI::PositiveNumber);
	add_report();
	add_metrics();
	add("doctor", "what is wrong, why it matters, and the command that mends it",
	    &Look::doctor);
}

CLI::App *Look::add(const char *name, const char *help, int (Look::*body)())
{
	CLI::App *command = app_.add_subcommand(name, help);

	/* Options of all commands may stand behind the command, too. */
	command->fallthrough();
	command->callback([this, body] { body_ = body; });
	return command;
}

bool Look::was_asked() const
{
	return body_;
}

int Look::run()
{
	return (this->*body_)();
}

int Look::show()
{
	State state;
	const Json modules = module_rows("/");
	Owners owners;
	std::string refused;
	const Json paths = state.paths_or_null(refused);
	Summary s = {"", {}, paths, state.sockets(), state.counters(), nullptr, refused};

	for (const Json &m : modules)
		if (m["name"] == "rds" && m["version"] != "?")
			s.version = m["version"].get<std::string>();
		else if (m["name"] != "rds")
			s.transports.push_back(m["name"].get<std::string>());
	s.slowest_reader = Readers(s.sockets, owners).slowest();
	if (json_)
		print(document("summary", summary_json(s)));
	else
		print_summary(std::cout, s, Paint(wants_colour(colour_)));
	return exit_ok;
}

int Look::path()
{
	const Filter filter(words_, path_fields());
	State state;
	Owners owners;
	const Readers readers(state.sockets(), owners);
	const Json paths = readers.with(filter.of(state.paths()));

	if (json_)
		print(document("paths", paths));
	else if (brief_)
		print_paths_brief(std::cout, paths);
	else
		print_paths(std::cout, paths, Paint(wants_colour(colour_)));
	return exit_ok;
}

int Look::socket()
{
	const Filter filter(words_, socket_fields());
	const Json sockets = filter.of(State().sockets());

	if (json_)
		print(document("sockets", sockets));
	else
		print_sockets(std::cout, sockets);
	return exit_ok;
}

int Look::stats()
{
	State state;
	Json before = state.counters();

	if (interval_.empty()) {
		print_counters(counters_table(before, words_, zeros_), json_, false);
		return exit_ok;
	}
	const std::uint64_t each = parse_duration(interval_);
	std::uint64_t then = now_ns(), next = then;

	catch_stop_signals();
	print_counters(counters_table(before, words_, zeros_), json_, true);
	for (std::uint64_t done = 1; !samples_ || done < samples_; done++) {
		next += each;
		if (!sleep_until(next))
			break;
		const std::uint64_t when = now_ns();
		Json now = state.counters();
		const double seconds = static_cast<double>(when - then) / 1e9;

		print_counters(counters_table(rates_ ? counter_rates(before, now, seconds) : now,
					      words_, zeros_),
			       json_, true);
		before = std::move(now);
		then = when;
		next = std::max(next, when); /* after a suspend, go on from here */
	}
	return exit_ok;
}

/* A first line tells that it has begun. One that was too slow for some is told so, and goes on. */
int Look::monitor()
{
	const Filter filter(words_, news_fields());
	const Paint paint(wants_colour(colour_));
	State state;
	std::uint64_t seen = 0;

	state.subscribe();
	if (!json_)
		std::cout << "Time Path Event\n";
	flush_output();
	while (!samples_ || seen < samples_) {
		const bool whole = state.events([&](const Json &event) {
			if (!filter.shows(event) || (samples_ && seen++ >= samples_))
				return;
			if (json_) {
				Json root = document("event", event);

				root["time"] = std::time(nullptr);
				std::cout << root.dump() << '\n';
			} else {
				std::cout << clock_text() << ' ' << event_text(event, paint)
					  << '\n';
			}
		});

		if (!whole && json_)
			std::cout << document("lost", true).dump() << '\n';
		else if (!whole)
			std::cout << clock_text() << " events were lost\n";
		flush_output();
	}
	return exit_ok;
}

int Look::doctor()
{
	const Evidence evidence = gather();
	const std::vector<Finding> found = examine(evidence);
	const Paint paint(wants_colour(colour_));

	if (json_)
		print(document("findings", findings_json(found)));
	for (const Finding &f : found)
		if (!json_)
			std::cout << (f.fault ? paint.bad("fault") : paint.poor("note")) << ": "
				  << f.what << "\n    why it matters: " << f.why
				  << "\n    to mend it, or see more: " << f.command << '\n';
	if (found.empty() && !json_)
		std::cout << "nothing found"
			  << (evidence.paths ? "\n" : "; paths could not be looked at\n");
	return std::ranges::any_of(found, &Finding::fault) ? exit_failed : exit_ok;
}

} // namespace rdstools
