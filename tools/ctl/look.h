/* SPDX-License-Identifier: GPL-2.0 */
/* The commands that look and change nothing: show, path, socket, stats, monitor, doctor. */
#ifndef RDSCTL_LOOK_H
#define RDSCTL_LOOK_H

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace rdstools
{

/* The version of the JSON that they print: raised when a member changes its meaning or goes. */
inline constexpr unsigned json_version = 1;

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
	int monitor();
	int doctor();
	CLI::App *add(const char *name, const char *help, int (Look::*body)());

	CLI::App &app_;
	const bool &json_;
	int (Look::*body_)() = nullptr;
	std::string colour_ = "auto";
	std::vector<std::string> words_;
	std::string interval_;
	std::uint64_t samples_ = 0; /* of stats, or events; 0: without end */
	bool brief_ = false, rates_ = false, zeros_ = false;
};

} // namespace rdstools

#endif
