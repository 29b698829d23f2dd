// SPDX-License-Identifier: GPL-2.0
#include "view.h"

#include <algorithm>
#include <map>

#include "../lib/text.h"
#include "field.h"

namespace rdstools
{

namespace
{

Cell cell(const Json &value)
{
	if (value.is_null())
		return {};
	if (value.is_number_unsigned())
		return value.get<std::uint64_t>();
	return word(value);
}

std::string path_name(const Json &path)
{
	std::string name = word(path["local"]) + " > " + word(path["remote"]);

	if (!path["scope"].is_null())
		name += " scope " + word(path["scope"]);
	return name + " tos " + word(path["tos"]) + " path " + word(path["index"]) + " " +
	       word(path["transport"]);
}

std::string microseconds_text(const Json &value)
{
	return value.is_null() ? "-" : format("%.3fms", value.get<double>() / 1000);
}

/* Ports of the peer that take nothing now, as far as they are listed. */
std::string full_ports(const Json &path)
{
	std::string list;

	for (const Json &port : path["congested-ports"])
		list += " " + port.dump();
	if (path["congested-ports"].size() < number(path["congested"]))
		list += " ...";
	return list;
}

/* Ports of the peer for which it has refused messages, as far as they are listed. */
std::string refused_ports(const Json &path)
{
	const std::uint64_t listed = path["refused-ports"].size(), all = number(path["refused"]);
	std::string list;

	for (const Json &port : path["refused-ports"])
		list += (list.empty() ? ": " : ", ") + word(port["port"]) + " for " +
			duration_text(port["refused-ms"]);
	if (listed && listed < all)
		list += format(", and %llu more", static_cast<unsigned long long>(all - listed));
	return list;
}

/* A second is long enough to be told of. */
bool is_slow(const Json &reader)
{
	return !reader.is_null() && number(reader["unread-ms"]) >= 1000;
}

std::string reader_text(const Json &reader, const Paint &paint)
{
	std::string text = word(reader["local"]) + ": port " + word(reader["local-port"]) + ", " +
			   paint.poor(duration_text(reader["unread-ms"]));

	return reader["program"].is_null() ? text : text + ", " + word(reader["program"]);
}

void print_troubles(std::ostream &out, const Json &path, const Paint &paint)
{
	if (number(path["congested"]))
		out << "    "
		    << paint.poor(format("peer's full ports %s:", word(path["congested"]).c_str()))
		    << full_ports(path) << ", for " << duration_text(path["congested-ms"]) << '\n';
	if (number(path["refused"]))
		out << "    "
		    << paint.poor(format("peer refuses messages for %s of its ports",
					 word(path["refused"]).c_str()))
		    << refused_ports(path) << '\n';
	if (path["holds"].get<bool>())
		out << "    messages wait for these ports\n";
	if (path["refuses"].get<bool>())
		out << "    this host refuses messages: a socket here does not read\n";
	if (is_slow(path["slowest-reader"]))
		out << "    slowest reader of " << reader_text(path["slowest-reader"], paint)
		    << '\n';
}

void print_path(std::ostream &out, const Json &path, const Paint &paint)
{
	out << path_name(path) << "  " << paint.state(word(path["state"])) << ' '
	    << duration_text(path["state-ms"]) << '\n';
	out << "    last reason " << word(path["last-reason"]) << "  attempts "
	    << word(path["attempts"]) << "  resets " << word(path["resets"]) << "  peer "
	    << word(path["peer"]) << '\n';
	out << "    unacked " << word(path["unacked"]) << "  oldest "
	    << duration_text(path["waits-ms"]) << "  ack " << microseconds_text(path["ack-us"])
	    << "  unsent " << bytes_text(path["unsent-bytes"]) << "  next tx "
	    << word(path["next-tx"]) << "  next rx " << word(path["next-rx"]) << '\n';
	if (!path["tx-bytes"].is_null())
		out << "    tx " << bytes_text(path["tx-bytes"]) << "  rx "
		    << bytes_text(path["rx-bytes"]) << "  rtt " << microseconds_text(path["rtt-us"])
		    << "  heard " << duration_text(path["heard-ms"]) << " ago  signed "
		    << word(path["signed"]) << '\n';
	print_troubles(out, path, paint);
}

std::map<std::string, unsigned> count_by(const Json &rows, const char *field)
{
	std::map<std::string, unsigned> found;

	for (const Json &row : rows)
		found[word(row[field])]++;
	return found;
}

std::uint64_t sum(const Json &rows, const char *field)
{
	std::uint64_t all = 0;

	for (const Json &row : rows)
		all += number(row[field]);
	return all;
}

/* Of those that have something to send, the one that has been without a connection for longest. */
const Json *longest_without(const Json &paths)
{
	const Json *worst = nullptr;

	for (const Json &path : paths)
		if (path["state"] != "up" && number(path["unacked"]) &&
		    (!worst || number(path["state-ms"]) > number((*worst)["state-ms"])))
			worst = &path;
	return worst;
}

/* Their peers' last hello was not one of ours: mainline's, or Oracle's. */
std::ptrdiff_t to_another_rds(const Json &paths)
{
	return std::ranges::count(paths, "other", [](const Json &p) { return word(p["peer"]); });
}

void print_path_counts(std::ostream &out, const Json &paths, const Paint &paint)
{
	const char *comma = "";

	out << "paths " << paths.size() << ":";
	for (const auto &[state, n] : count_by(paths, "state")) {
		out << comma << ' ' << n << ' ' << paint.state(state);
		comma = ",";
	}
	out << "; " << at_most(sum(paths, "unacked")) << " messages not acknowledged\n";
	if (const auto n = to_another_rds(paths))
		out << "    to hosts with another RDS than this: " << n << '\n';
	if (const Json *worst = longest_without(paths))
		out << "    longest without connection: " << path_name(*worst) << ", "
		    << duration_text((*worst)["state-ms"]) << ", " << word((*worst)["last-reason"])
		    << '\n';
}

bool is_counted_trouble(const Json &row)
{
	return number(row["value"]) && is_trouble(word(row["name"]));
}

Json troubles(const Json &counters)
{
	Json found = Json::object();

	for (const Json &row : counters)
		if (is_counted_trouble(row))
			found[word(row["name"])] = row["value"];
	return found;
}

/* One of the host's own, or of a peer's. */
std::string port_name(const Json &event)
{
	const bool ours = event["remote"].is_null();
	std::string text = word(event[ours ? "local" : "remote"]) + " port";

	for (const Json &port : event["congested-ports"])
		text += " " + word(port);
	return text;
}

} // namespace

bool is_trouble(const std::string &name)
{
	for (const char *part : {"drop", "refused", "bad", "no_memory", "full", "failed", "stalled",
				 "evicted", "too_many", "timeout", "error"})
		if (name.find(part) != std::string::npos)
			return true;
	return false;
}

std::string Paint::paint(const char *code, const std::string &text) const
{
	return on_ ? format("\033[%sm%s\033[0m", code, text.c_str()) : text;
}

std::string Paint::state(const std::string &text) const
{
	if (text == "up")
		return good(text);
	return text == "connecting" || text == "disconnecting" ? poor(text) : bad(text);
}

std::string duration_text(const Json &milliseconds)
{
	if (milliseconds.is_null())
		return "-";
	const std::uint64_t ms = milliseconds.get<std::uint64_t>(), s = ms / 1000;

	if (ms < 1000)
		return format("%ums", static_cast<unsigned>(ms));
	if (s < 60)
		return format("%.1fs", static_cast<double>(ms) / 1000);
	auto two = [](std::uint64_t large, char a, std::uint64_t small, char b) {
		return format("%llu%c%02llu%c", static_cast<unsigned long long>(large), a,
			      static_cast<unsigned long long>(small), b);
	};
	if (s < 3600)
		return two(s / 60, 'm', s % 60, 's');
	if (s < 86400)
		return two(s / 3600, 'h', s / 60 % 60, 'm');
	return two(s / 86400, 'd', s / 3600 % 24, 'h');
}

std::string bytes_text(const Json &bytes)
{
	constexpr const char *units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

	if (bytes.is_null())
		return "-";
	auto value = bytes.get<double>();
	if (value < 1024)
		return bytes.dump() + " B";
	std::size_t unit = 0;
	for (value /= 1024; value >= 1024 && unit + 1 < std::size(units); unit++)
		value /= 1024;
	return format("%.1f %s", value, units[unit]);
}

void print_paths(std::ostream &out, const Json &paths, const Paint &paint)
{
	for (const Json &path : paths)
		print_path(out, path, paint);
}

void print_paths_brief(std::ostream &out, const Json &paths)
{
	Table table;

	table.columns = {{"Local", "", 15},	{"Remote", "", 15}, {"Tos", "", 3},
			 {"Path", "", 4},	{"Trans", "", 5},   {"State", "", 10},
			 {"For", "", 6},	{"Unacked", "", 7}, {"Ack", "", 9},
			 {"LastReason", "", 10}};
	for (const Json &p : paths)
		table.add_row(cell(p["local"]), cell(p["remote"]), cell(p["tos"]), cell(p["index"]),
			      cell(p["transport"]), cell(p["state"]), duration_text(p["state-ms"]),
			      cell(p["unacked"]), microseconds_text(round_trip(p)),
			      cell(p["last-reason"]));
	table.print(out);
}

std::string full_text(const Json &socket)
{
	if (!socket["congested"].get<bool>())
		return "no";
	return socket["congested-ms"].is_null() ? "yes" : duration_text(socket["congested-ms"]);
}

void print_sockets(std::ostream &out, const Json &sockets)
{
	Table table;

	table.columns = {{"Local", "", 15},  {"Port", "", 5},	  {"Remote", "", 15},
			 {"Port", "", 5},    {"Trans", "", 5},	  {"Tos", "", 3},
			 {"Unacked", "", 9}, {"SndBuf", "", 9},	  {"Unread", "", 9},
			 {"For", "", 6},     {"RcvBuf", "", 9},	  {"Uid", "", 5},
			 {"Inode", "", 8},   {"Congested", "", 9}};
	for (const Json &s : sockets)
		table.add_row(cell(s["local"]), cell(s["local-port"]), cell(s["remote"]),
			      cell(s["remote-port"]), cell(s["transport"]), cell(s["tos"]),
			      cell(s["unacked"]), cell(s["sndbuf"]), cell(s["unread"]),
			      duration_text(s["unread-ms"]), cell(s["rcvbuf"]), cell(s["uid"]),
			      cell(s["inode"]), full_text(s));
	table.print(out);
}

std::string event_text(const Json &event, const Paint &paint)
{
	const bool of_port = event["index"].is_null();
	std::string text = of_port ? port_name(event) : path_name(event);

	text += "  " + paint.state(word(event["event"]));

	return event["last-reason"].is_null() ? text
					      : text + " (" + word(event["last-reason"]) + ")";
}

std::uint64_t counter(const Json &counters, const std::string &name)
{
	for (const Json &row : counters)
		if (row["name"] == name)
			return number(row["value"]);
	return 0;
}

Json summary_json(const Summary &s)
{
	Json states = Json::object();

	for (const auto &[state, n] : count_by(s.paths, "state"))
		states[state] = n;
	const Json *worst = longest_without(s.paths);
	auto seen = [&](const Json &value) { return s.refused.empty() ? value : Json(nullptr); };

	return {{"rds", s.version.empty() ? Json(nullptr) : Json(s.version)},
		{"transports", s.transports},
		{"paths", seen(states)},
		{"paths-refused", s.refused.empty() ? Json(nullptr) : Json(s.refused)},
		{"paths-to-other", seen(to_another_rds(s.paths))},
		{"unacked", seen(sum(s.paths, "unacked"))},
		{"longest-without-connection", worst ? *worst : Json(nullptr)},
		{"sockets", s.sockets.size()},
		{"unread-bytes", sum(s.sockets, "unread")},
		{"slowest-reader", s.slowest_reader},
		{"sent", counter(s.counters, "send_queued")},
		{"delivered", counter(s.counters, "recv_delivered")},
		{"troubles", troubles(s.counters)}};
}

void print_summary(std::ostream &out, const Summary &s, const Paint &paint)
{
	out << "rds " << (s.version.empty() ? "?" : s.version) << " with";
	for (const std::string &name : s.transports)
		out << ' ' << name;
	out << (s.transports.empty() ? " no transport\n" : "\n");
	if (s.refused.empty())
		print_path_counts(out, s.paths, paint);
	else
		out << "paths are not shown, and of sockets your own: " << s.refused << '\n';
	out << "sockets " << s.sockets.size() << ": " << bytes_text(sum(s.sockets, "unread"))
	    << " not read\n";
	if (is_slow(s.slowest_reader))
		out << "    slowest reader " << reader_text(s.slowest_reader, paint) << '\n';
	out << "messages " << counter(s.counters, "send_queued") << " sent, "
	    << counter(s.counters, "recv_delivered") << " received\n";
	/* Not by items(), about whose iterators gcc 12 warns falsely. */
	for (const Json &row : s.counters)
		if (is_counted_trouble(row))
			out << "    " << paint.poor(word(row["name"])) << ' ' << row["value"]
			    << '\n';
}

} // namespace rdstools
