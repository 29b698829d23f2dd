// SPDX-License-Identifier: GPL-2.0
#include "top.h"

#include <algorithm>
#include <sstream>

#include "../lib/screen.h"
#include "../lib/text.h"
#include "field.h"

namespace rdstools
{

namespace
{

/* A path that has waited so long is shown in colour. */
constexpr std::uint64_t long_wait_ms = 1000;
/* Sockets have so much of a screen at most: one part of so many. */
constexpr std::size_t sockets_part = 3;

double sum_of(const Json &rows, const char *field)
{
	double all = 0;

	for (const Json &row : rows)
		if (row[field].is_number())
			all += row[field].get<double>();
	return all;
}

Cell cell_of(const Json &value)
{
	if (value.is_null())
		return {};
	return value.is_string() ? printable(value.get<std::string>()) : value.dump();
}

std::string up_or_not(const Json &paths)
{
	const auto up =
		std::ranges::count_if(paths, [](const Json &p) { return p["state"] == "up"; });

	return format("%zu path%s, %td up", paths.size(), paths.size() == 1 ? "" : "s", up);
}

std::string longest_wait(const Json &paths)
{
	const Json *worst = nullptr;

	for (const Json &path : paths)
		if (path["waits-ms"].is_number() &&
		    (!worst || path["waits-ms"] > (*worst)["waits-ms"]))
			worst = &path;
	if (!worst)
		return "nobody waits";
	return "longest wait " + duration_text((*worst)["waits-ms"]) + " for " +
	       (*worst)["remote"].get<std::string>();
}

std::vector<std::string> lines_of(const Table &table)
{
	std::ostringstream text;
	std::vector<std::string> lines;
	std::string line;

	table.print(text);
	std::istringstream in(text.str());
	while (std::getline(in, line))
		lines.push_back(line);
	return lines;
}

Table paths_table(const Json &paths)
{
	Table table;

	table.columns = {{"Remote", "", 15},	{"Local", "", 15},  {"Tos", "", 3},
			 {"Path", "", 4},	{"Trans", "", 5},   {"State", "", 5},
			 {"TxB/s", "", 6},	{"TxMsg/s", "", 7}, {"RxB/s", "", 6},
			 {"RxMsg/s", "", 7},	{"Unacked", "", 7}, {"Waits", "", 6},
			 {"LastReason", "", 10}};
	for (const Json &p : paths)
		table.add_row(cell_of(p["remote"]), cell_of(p["local"]), cell_of(p["tos"]),
			      cell_of(p["index"]), cell_of(p["transport"]), cell_of(p["state"]),
			      rate_text(p["tx-bytes-rate"]), rate_text(p["tx-messages-rate"]),
			      rate_text(p["rx-bytes-rate"]), rate_text(p["rx-messages-rate"]),
			      cell_of(p["unacked"]), duration_text(p["waits-ms"]),
			      cell_of(p["last-reason"]));
	return table;
}

Table sockets_table(const Json &sockets)
{
	Table table;

	table.columns = {{"Local", "", 15},  {"Port", "", 5},	   {"Remote", "", 15},
			 {"Port", "", 5},    {"Unacked", "", 9},   {"Unread", "", 9},
			 {"For", "", 6},     {"Congested", "", 9}, {"Uid", "", 5},
			 {"Program", "", 16}};
	for (const Json &s : sockets)
		table.add_row(cell_of(s["local"]), cell_of(s["local-port"]), cell_of(s["remote"]),
			      cell_of(s["remote-port"]), bytes_text(s["unacked"]),
			      bytes_text(s["unread"]), duration_text(s["unread-ms"]), full_text(s),
			      cell_of(s["uid"]), cell_of(s["program"]));
	return table;
}

std::vector<std::string> head_lines(const Top &top)
{
	const Json &paths = top.paths;

	if (!top.refused.empty())
		return {top.time +
			"  paths are not shown, and of sockets your own: " + top.refused};
	return {format("%s  %s, %s not acknowledged, %s", top.time.c_str(),
		       up_or_not(paths).c_str(),
		       at_most(static_cast<std::uint64_t>(sum_of(paths, "unacked"))).c_str(),
		       longest_wait(paths).c_str()),
		format("sent %sB/s %s/s  received %sB/s %s/s",
		       rate_text(sum_of(paths, "tx-bytes-rate")).c_str(),
		       rate_text(sum_of(paths, "tx-messages-rate")).c_str(),
		       rate_text(sum_of(paths, "rx-bytes-rate")).c_str(),
		       rate_text(sum_of(paths, "rx-messages-rate")).c_str())};
}

/* The line of a path, red where messages wait and it is not up, yellow where they wait for long. */
std::string painted(const Json &path, const std::string &line, const Paint &paint)
{
	if (path["waits-ms"].is_null())
		return line;
	if (path["state"] != "up")
		return paint.bad(line);
	return path["waits-ms"] >= long_wait_ms ? paint.poor(line) : line;
}

} // namespace

Json busy_sockets(const Json &sockets)
{
	Json busy = Json::array();
	auto fill = [](const Json &row) {
		return std::max(row["unacked"].is_number() ? row["unacked"].get<std::uint64_t>()
							   : 0,
				row["unread"].is_number() ? row["unread"].get<std::uint64_t>() : 0);
	};

	std::ranges::copy_if(sockets, std::back_inserter(busy), fill);
	std::stable_sort(busy.begin(), busy.end(),
			 [&](const Json &a, const Json &b) { return fill(a) > fill(b); });
	return busy;
}

std::string rate_text(const Json &rate)
{
	constexpr const char *letters[] = {"k", "M", "G", "T", "P", "E"};

	if (rate.is_null())
		return "-";
	auto value = rate.get<double>();
	if (value < 999.5)
		return format("%.0f", value);
	std::size_t letter = 0;
	/* 999.95 is "1.0" of the next letter. */
	for (value /= 1000; value >= 999.95 && letter + 1 < std::size(letters); letter++)
		value /= 1000;
	return format("%.1f%s", value, letters[letter]);
}

std::vector<std::string> top_lines(const Top &top, const Paint &paint, std::size_t width,
				   std::size_t height)
{
	const Json &paths = top.paths;
	std::vector<std::string> rows, below = lines_of(sockets_table(top.sockets)), lines;
	auto fit = [&](const std::string &line) { return width ? line.substr(0, width) : line; };

	if (top.refused.empty())
		rows = lines_of(paths_table(paths));
	for (const std::string &line : head_lines(top))
		lines.push_back(fit(line));
	if (top.sockets.empty())
		below.clear();
	else if (height)
		below.resize(
			std::min(below.size(), std::max<std::size_t>(2, height / sockets_part)));
	const std::size_t most =
		height ? height - std::min(height, lines.size() + below.size() + !below.empty())
		       : rows.size();

	for (std::size_t at = 0; at < std::min(most, rows.size()); at++)
		lines.push_back(at ? painted(paths[at - 1], fit(rows[at]), paint) : fit(rows[at]));
	if (!below.empty())
		lines.emplace_back();
	for (const std::string &line : below)
		lines.push_back(fit(line));
	if (height && lines.size() > height)
		lines.resize(height);
	return lines;
}

Json top_json(const Top &top, double seconds)
{
	const bool seen = top.refused.empty();

	return {{"seconds", seconds},
		{"paths", seen ? top.paths : Json(nullptr)},
		{"paths-refused", seen ? Json(nullptr) : Json(top.refused)},
		{"sockets", top.sockets}};
}

} // namespace rdstools
