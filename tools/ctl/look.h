/* SPDX-License-Identifier: GPL-2.0 */
/* The commands that look and change nothing: show, path, socket, stats, top, monitor, doctor,
 * report, metrics. */
#ifndef RDSCTL_LOOK_H
#define RDSCTL_LOOK_H

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "../lib/table.h"
#include "state.h"

namespace rdstools
{

/* The version of the JSON that they print: raised when a member changes its meaning or goes. */
inline constexpr unsigned json_version = 1;

/* For all commands: one object, with the version first. */
Json document(const char *member, Json value);
/* Now, for people. */
std::string clock_text();
/* The words of a Filter, for --help. */
std::string filter_help(std::span<const Field> fields);
/* Of an option: a time that a look may be repeated after. */
CLI::Validator duration_of_a_look();

class Look
{
public:
	/* Adds the commands to @app; @json: the option of all commands. */
	Look(CLI::App &app, const bool &json);
	/* Whether one of them was given. */
	bool was_asked() const;
	/* Does it: an exit status. */
	int run();

private:
	int show();
	int path();
	int socket();
	int stats();
	int top();
	int monitor();
	int doctor();
	int report();
	int metrics();
	void add_top();
	void add_report();
	void add_metrics();
	CLI::App *add(const char *name, const char *help, int (Look::*body)());

	CLI::App &app_;
	const bool &json_;
	int (Look::*body_)() = nullptr;
	std::string colour_ = "auto";
	std::vector<std::string> words_;
	std::string interval_, sort_ = "tx", file_;
	std::uint64_t samples_ = 0; /* of stats or top, or events; 0: without end */
	bool brief_ = false, rates_ = false, zeros_ = false;
	bool peers_ = false, openmetrics_ = false; /* of metrics */
};

} // namespace rdstools

#endif
