/* SPDX-License-Identifier: GPL-2.0 */
/* Rows of State as text for people. */
#ifndef RDSCTL_VIEW_H
#define RDSCTL_VIEW_H

#include <ostream>
#include <string>

#include "../lib/screen.h"
#include "../lib/table.h"

namespace rdstools
{

/* Text with or without colours. */
class Paint
{
public:
	explicit Paint(bool on) : on_(on)
	{
	}
	std::string good(const std::string &text) const
	{
		return paint("32", text);
	}
	std::string poor(const std::string &text) const
	{
		return paint("33", text);
	}
	std::string bad(const std::string &text) const
	{
		return paint("31", text);
	}
	/* A path's state, or news of one. */
	std::string state(const std::string &word) const;

private:
	std::string paint(const char *code, const std::string &text) const;

	bool on_;
};

/* "850ms", "12.3s", "3m12s", "2h05m", "4d03h"; "-": not known. */
std::string duration_text(const Json &milliseconds);
/* "17 B", "1.2 KiB"; "-": not known. */
std::string bytes_text(const Json &bytes);

/* How long the port of a socket has been full; "no"; "yes": an rds.ko that does not say since when.
 */
std::string full_text(const Json &socket);

/* A paragraph for each path, of Readers::with(). */
void print_paths(std::ostream &out, const Json &paths, const Paint &paint);
/* A line for each. */
void print_paths_brief(std::ostream &out, const Json &paths);
void print_sockets(std::ostream &out, const Json &sockets);
/* One event. */
std::string event_text(const Json &event, const Paint &paint);

/* As much as a screen has room for. */
struct Summary {
	std::string version; /* of rds.ko; empty: not known */
	std::vector<std::string> transports;
	Json paths, sockets, counters;
	Json slowest_reader; /* Readers::slowest() */
	/* Why this user may not see paths, which are null then, nor sockets of others; or empty. */
	std::string refused = {};
};
void print_summary(std::ostream &out, const Summary &s, const Paint &paint);
Json summary_json(const Summary &s);

/* Whether a counter of this name says that something was thrown away, refused, or could not be had.
 */
bool is_trouble(const std::string &counter);
/* The value of a counter; 0: there is none of this name. */
std::uint64_t counter(const Json &counters, const std::string &name);

} // namespace rdstools

#endif
