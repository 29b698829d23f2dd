// SPDX-License-Identifier: GPL-2.0
/* rdsctl top: two dumps, what grew between them, and again. */
#include "look.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <optional>

#include "../lib/cli.h"
#include "../lib/text.h"
#include "filter.h"
#include "owners.h"
#include "rates.h"
#include "top.h"

namespace rdstools
{

namespace
{

/* A terminal that is drawn anew each time, in place of what it shows. */
class Screen
{
public:
	Screen()
	{
		std::cout << "\033[?25l\033[H\033[2J";
	}
	~Screen()
	{
		std::cout << "\033[?25h" << std::flush;
	}
	Screen(const Screen &) = delete;
	Screen &operator=(const Screen &) = delete;

	/* A line less than it has, so that nothing moves. */
	void draw(const Top &top, const Paint &paint)
	{
		winsize size = {};

		if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row)
			size = {24, 80, 0, 0};
		std::cout << "\033[H";
		for (const std::string &line :
		     top_lines(top, paint, size.ws_col, std::max<std::size_t>(4, size.ws_row) - 1))
			std::cout << line << "\033[K\n";
		std::cout << "\033[J";
	}
};

/* As lines, with an empty one behind them. */
void print_look(const Top &look, const Paint &paint)
{
	for (const std::string &line : top_lines(look, paint, 0, 0))
		std::cout << line << '\n';
	std::cout << '\n';
}

} // namespace

void Look::add_top()
{
	CLI::App *top =
		add("top", "who sends most, and who waits longest, again and again", &Look::top);

	top->add_option("words", words_, filter_help(path_fields()));
	top->add_option("-i,--interval", interval_, "between two looks (1)")
		->type_name("SECONDS")
		->check(duration_of_a_look());
	top->add_option("-s,--sort", sort_,
			"by bytes sent or received, messages, those that wait, or for how long")
		->check(CLI::IsMember({"tx", "rx", "messages", "unacked", "waits"}))
		->capture_default_str();
	top->add_option("--count", samples_, "end after so many")->check(CLI::PositiveNumber);
}

/* One look takes two dumps, so the first one comes after a first interval. */
int Look::top()
{
	const Filter filter(words_, path_fields());
	const std::uint64_t each = parse_duration(interval_.empty() ? "1" : interval_);
	const bool redraws = !json_ && isatty(STDOUT_FILENO);
	const Paint paint(wants_colour(colour_));
	State state;
	PathRates rates;
	Owners owners;
	std::optional<Screen> screen;
	std::string refused;
	std::uint64_t then = now_ns(), next = then;

	catch_stop_signals();
	rates.of(state.paths_or_null(refused), then);
	if (redraws)
		screen.emplace();
	for (std::uint64_t done = 0; !samples_ || done < samples_; done++) {
		next += each;
		if (!sleep_until(next))
			break;
		const Json paths = state.paths_or_null(refused);
		const std::uint64_t when = now_ns();
		Top look = {clock_text(), filter.of(rates.of(paths, when)),
			    owners.of(busy_sockets(state.sockets())), refused};

		sort_paths(look.paths, sort_);
		if (screen) {
			screen->draw(look, paint);
		} else if (json_) {
			Json root = document(
				"top", top_json(look, static_cast<double>(when - then) / 1e9));

			root["time"] = std::time(nullptr);
			std::cout << root.dump() << '\n';
		} else {
			print_look(look, paint);
		}
		flush_output();
		then = when;
		next = std::max(next, when);
	}
	return exit_ok;
}

} // namespace rdstools
