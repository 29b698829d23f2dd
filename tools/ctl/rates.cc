// SPDX-License-Identifier: GPL-2.0
#include "rates.h"

#include <fnmatch.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "field.h"

namespace rdstools
{

namespace
{

/* A value that is not known comes after all that are. */
double sort_key(const Json &value)
{
	return value.is_number() ? value.get<double>() : -1;
}

/* The one field of a path whose growth tells of another. */
struct Grows {
	const char *rate, *field;
	bool of_connection; /* begins anew with each of the path's connections */
};

constexpr Grows grows[] = {{"tx-messages-rate", "next-tx", false},
			   {"rx-messages-rate", "next-rx", false},
			   {"tx-bytes-rate", "tx-bytes", true},
			   {"rx-bytes-rate", "rx-bytes", true}};

Json rate(const Json &before, const Json &now, double seconds)
{
	if (!before.is_number() || !now.is_number() || number(now) < number(before) || seconds <= 0)
		return nullptr;
	return static_cast<double>(number(now) - number(before)) / seconds;
}

/* Whether a path that was collected, and came back, has the numbers of another. */
bool is_another(const Json &before, const Json &now)
{
	return number(now["attempts"]) < number(before["attempts"]) ||
	       number(now["resets"]) < number(before["resets"]) ||
	       number(now["next-tx"]) < number(before["next-tx"]);
}

/* The number of the oldest message that is not acknowledged. */
std::uint64_t oldest(const Json &row)
{
	return number(row["next-tx"]) - number(row["unacked"]);
}

} // namespace

std::string path_identity(const Json &row)
{
	std::string all;

	for (const char *field : {"local", "remote", "scope", "tos", "index", "transport"})
		all += row[field].dump() + ' ';
	return all;
}

Json PathRates::of(const Json &paths, std::uint64_t now_ns)
{
	const double seconds = static_cast<double>(now_ns - before_ns_) / 1e9;
	std::map<std::string, Seen> now;
	Json rows = Json::array();

	for (const Json &path : paths) {
		const std::string name = path_identity(path);
		auto last = before_.find(name);
		const bool known = last != before_.end() && !is_another(last->second.row, path);
		const bool same_connection =
			known && path["state"] == "up" && last->second.row["state"] == "up" &&
			number(path["resets"]) == number(last->second.row["resets"]);
		Json row = path;
		Seen seen = {path, number(path["unacked"]) ? now_ns : 0};

		for (const Grows &g : grows)
			row[g.rate] =
				known && (same_connection || !g.of_connection)
					? rate(last->second.row[g.field], path[g.field], seconds)
					: Json(nullptr);
		if (seen.waits_since && known && last->second.waits_since &&
		    oldest(path) == oldest(last->second.row))
			seen.waits_since = last->second.waits_since;
		if (row["waits-ms"].is_null())
			row["waits-ms"] = seen.waits_since
						  ? Json((now_ns - seen.waits_since) / 1000000)
						  : Json(nullptr);
		rows.push_back(std::move(row));
		now[name] = std::move(seen);
	}
	before_ = std::move(now);
	before_ns_ = now_ns;
	return rows;
}

Json counter_rates(const Json &before, const Json &now, double seconds)
{
	std::map<std::string, Json> old;
	Json rows = Json::array();

	for (const Json &row : before)
		old[row["name"].get<std::string>()] = row["value"];
	for (const Json &row : now) {
		auto last = old.find(row["name"].get<std::string>());
		Json grown = row;

		grown["rate"] = last == old.end() ? Json(nullptr)
						  : rate(last->second, row["value"], seconds);
		rows.push_back(std::move(grown));
	}
	return rows;
}

Table counters_table(const Json &rows, const std::vector<std::string> &patterns, bool zeros)
{
	Table table;

	table.columns = {{"Counter", "name", 34}, {"Value", "value", 16}};
	if (!rows.empty() && rows[0].contains("rate"))
		table.columns.push_back({"PerSecond", "rate", 12});
	for (const Json &row : rows) {
		const std::string name = row["name"].get<std::string>();
		const std::uint64_t value = row["value"].get<std::uint64_t>();
		const bool fits = patterns.empty() ||
				  std::ranges::any_of(patterns, [&](const std::string &pattern) {
					  return !fnmatch(pattern.c_str(), name.c_str(), 0);
				  });

		if (!fits || (!value && !zeros))
			continue;
		table.add_row(name, value);
		if (table.columns.size() > 2) {
			Cell rate;

			if (row["rate"].is_number())
				rate = row["rate"].get<double>();
			table.rows.back().push_back(std::move(rate));
		}
	}
	return table;
}

void sort_paths(Json &rows, const std::string &by)
{
	auto key = [&](const Json &row) {
		const double tx = sort_key(row["tx-bytes-rate"]);
		const double sent = sort_key(row["tx-messages-rate"]);
		const double rx = sort_key(row["rx-bytes-rate"]);
		const double received = sort_key(row["rx-messages-rate"]);

		if (by == "waits")
			return std::tuple(sort_key(row["waits-ms"]), sort_key(row["unacked"]));
		if (by == "unacked")
			return std::tuple(sort_key(row["unacked"]), sort_key(row["waits-ms"]));
		if (by == "messages")
			return std::tuple(sent + received, tx);
		if (by == "rx")
			return std::tuple(rx, received);
		return std::tuple(tx, sent);
	};

	std::stable_sort(rows.begin(), rows.end(),
			 [&](const Json &a, const Json &b) { return key(a) > key(b); });
}

} // namespace rdstools
