// SPDX-License-Identifier: GPL-2.0
#include "cli.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <iostream>

#include "error.h"
#include "text.h"

namespace rdstools
{

namespace
{

volatile std::sig_atomic_t stop_flag;

void note_stop(int)
{
	stop_flag = 1;
}

int parse_and_run(CLI::App &app, int argc, char **argv, const std::function<int()> &body)
{
	try {
		app.parse(argc, argv);
	} catch (const CLI::ParseError &error) {
		return app.exit(error) == 0 ? exit_ok : exit_usage;
	}
	return body();
}

} // namespace

void flush_output()
{
	if (!std::cout.flush())
		throw Error("cannot write the output");
}

int run_tool(CLI::App &app, int argc, char **argv, const std::function<int()> &body)
{
	app.set_version_flag("--version", app.get_name() + " (pf_rds) " + version);
	app.get_formatter()->column_width(34);
	try {
		const int status = parse_and_run(app, argc, argv, body);

		flush_output();
		return status;
	} catch (const std::exception &error) {
		std::cout.flush();
		std::cerr << app.get_name() << ": " << error.what() << '\n';
		return exit_usage;
	}
}

Progress::Progress(bool silent) : on_(silent && isatty(STDERR_FILENO))
{
}

Progress::~Progress()
{
	if (said_)
		std::cerr << "\r\033[K" << std::flush;
}

void Progress::say(const std::function<std::string()> &text)
{
	constexpr std::uint64_t second = 1000000000;
	const std::uint64_t now = on_ ? now_ns() : 0;

	if (!on_ || now < next_)
		return;
	next_ = now + second;
	said_ = true;
	std::cerr << '\r' << text() << "\033[K" << std::flush;
}

void catch_stop_signals()
{
	struct sigaction action = {};

	/* No SA_RESTART: a sleeping poll() must notice. */
	action.sa_handler = note_stop;
	sigaction(SIGINT, &action, nullptr);
	sigaction(SIGTERM, &action, nullptr);
	/* A reader of our output that went away: flush_output() tells, and we end in order. */
	signal(SIGPIPE, SIG_IGN);
}

void ignore_stop_signals()
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
}

bool stopped()
{
	return stop_flag;
}

bool sleep_until(std::uint64_t deadline)
{
	const timespec ts = {static_cast<std::time_t>(deadline / 1000000000u),
			     static_cast<long>(deadline % 1000000000u)};

	while (!stopped())
		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr) != EINTR)
			return true;
	return false;
}

} // namespace rdstools
