/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the three command lines: one way to parse, one way to fail, one stop flag. */
#ifndef RDSTOOLS_CLI_H
#define RDSTOOLS_CLI_H

#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

namespace rdstools
{

/* Exit statuses common to the tools. */
enum ExitStatus { exit_ok = 0, exit_failed = 1, exit_usage = 2, exit_peer = 3 };

/* Turns a parser that throws into a CLI11 validator, so that a bad value is a usage error. */
inline CLI::Validator checked_by(std::function<void(const std::string &)> parse, std::string name)
{
	return CLI::Validator(
		[parse = std::move(parse)](std::string &text) -> std::string {
			try {
				parse(text);
				return {};
			} catch (const std::exception &error) {
				return error.what();
			}
		},
		std::move(name));
}

/*
 * Throws Error if the output cannot be written: its reader has gone, or there is no room. To be
 * called for each line of a loop, which would not end else; run_tool() does it at the end.
 */
void flush_output();

/*
 * Parses, then runs body. Usage and environment errors end with status 2 and one line on
 * stderr that starts with the tool's name; so does output that cannot be written.
 */
int run_tool(CLI::App &app, int argc, char **argv, const std::function<int()> &body);

/*
 * How far a long run is, on a line of standard error that each report writes over: only where that
 * is a terminal, and nothing else is written to one meanwhile.
 */
class Progress
{
public:
	/* @silent: the tool prints nothing while it runs. */
	explicit Progress(bool silent);
	~Progress();
	Progress(const Progress &) = delete;
	Progress &operator=(const Progress &) = delete;

	/* A second after the last one at the earliest. */
	void say(const std::function<std::string()> &text);

private:
	bool on_, said_ = false;
	std::uint64_t next_ = 0;
};

/* SIGINT and SIGTERM set stopped() and interrupt poll(); further calls do nothing. */
void catch_stop_signals();
/* Of a process whose parent ends it in order: a terminal, timeout(1) or systemd signals both. */
void ignore_stop_signals();
bool stopped();
/* Until @deadline of CLOCK_MONOTONIC, in nanoseconds.  False: a signal asked us to stop. */
bool sleep_until(std::uint64_t deadline);

} // namespace rdstools

#endif
