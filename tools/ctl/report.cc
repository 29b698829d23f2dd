// SPDX-License-Identifier: GPL-2.0
#include "report.h"

#include <algorithm>
#include <functional>

#include "../lib/text.h"
#include "field.h"
#include "rates.h"
#include "report_parts.h"
#include "report_style.h"
#include "top.h"
#include "topology.h"

namespace rdstools
{

namespace
{

using Inside = Html::Inside;

/* So many bars of a chart. */
constexpr std::size_t bars_shown = 8;

std::string round_trip_text(const Json &us)
{
	return us.is_null() ? "-" : format("%.3f ms", us.get<double>() / 1000);
}

double sum_of(const Json &rows, const char *field)
{
	double all = 0;

	for (const Json &row : rows)
		all += real(row[field]);
	return all;
}

/* The hosts with most of a rate. */
std::vector<Bar> rate_bars(const std::vector<Host> &hosts, double Host::*rate)
{
	std::vector<Bar> bars;

	for (const Host &host : hosts)
		if (host.*rate > 0)
			bars.push_back({shortened(host.address, 21), host.*rate,
					rate_text(host.*rate) + "B/s"});
	std::ranges::stable_sort(bars, std::greater(), &Bar::value);
	bars.resize(std::min(bars.size(), bars_shown));
	return bars;
}

/* ---- sections ---- */

void write_tile(Html &html, const std::string &value, const std::string &what, const char *health)
{
	Inside card(html, "div", {{"class", "card"}});
	Inside text(html, "span", {{"class", "muted"}});

	html.element("b", {{"style", format("color:var(--%s)", health)}}, value);
	html.text(what);
}

void write_path_tiles(Html &html, const Report &r)
{
	const auto up = std::ranges::count(r.paths, "up", [](const Json &p) {
		return p["state"].is_string() ? p["state"].get<std::string>() : "";
	});
	const auto waiting = static_cast<std::uint64_t>(sum_of(r.paths, "unacked"));
	std::uint64_t longest = 0;

	for (const Json &path : r.paths)
		longest = std::max(longest, number(path["waits-ms"]));
	write_tile(html, format("%td / %zu", up, r.paths.size()), "paths are up", "text");
	write_tile(html, at_most(waiting),
		   longest ? "messages wait, one for " + duration_text(longest) + " or more"
			   : "messages wait",
		   longest ? "poor" : "text");
	write_tile(html, rate_text(sum_of(r.paths, "tx-bytes-rate")) + "B/s", "sent", "text");
	write_tile(html, rate_text(sum_of(r.paths, "rx-bytes-rate")) + "B/s", "received", "text");
}

void write_tiles(Html &html, const Report &r)
{
	const auto faults = std::ranges::count(r.findings, true, &Finding::fault);
	Inside tiles(html, "div", {{"class", "tiles"}});

	write_tile(html, std::to_string(faults), faults == 1 ? "fault found" : "faults found",
		   faults ? "bad" : "good");
	if (r.refused.empty())
		write_path_tiles(html, r);
	write_tile(html, std::to_string(r.sockets.size()),
		   r.refused.empty() ? "sockets" : "sockets of your own", "text");
}

void write_findings(Html &html, const Report &r)
{
	html.element("h2", {{"id", "findings"}}, "Findings");
	if (r.findings.empty()) {
		Inside card(html, "div", {{"class", "card"}});

		html.element("span", {{"class", "tag good"}}, "nothing found");
		html.text(r.refused.empty() ? " The doctor has looked, and has nothing to say."
					    : " The doctor has looked at all but paths, and has "
					      "nothing to say.");
	}
	for (const Finding &f : r.findings) {
		Inside card(html, "div",
			    {{"class", std::string("card finding") + (f.fault ? " bad" : "")}});
		{
			Inside head(html, "h3");

			html.element("span", {{"class", f.fault ? "tag bad" : "tag poor"}},
				     f.fault ? "fault" : "note");
			html.text(" " + f.what);
		}
		html.element("p", {{"class", "muted"}}, f.why);
		html.element("pre", {}, f.command);
	}
}

void write_topology(Html &html, const std::vector<Host> &hosts)
{
	html.element("h2", {{"id", "topology"}}, "Topology");
	Inside card(html, "div", {{"class", "card"}});

	if (hosts.empty())
		html.element("p", {{"class", "muted"}}, "This host speaks to no other.");
	else
		draw_topology(html, hosts);
}

std::string microseconds_text(std::uint64_t us)
{
	return us < 1000      ? format("%u us", static_cast<unsigned>(us))
	       : us < 1000000 ? format("%u ms", static_cast<unsigned>(us / 1000))
			      : format("%u s", static_cast<unsigned>(us / 1000000));
}

std::string nanoseconds_text(std::uint64_t ns)
{
	return format("%.3f ms", static_cast<double>(ns) / 1e6);
}

/* All of them as bars, and each host's as a row. */
void write_pings(Html &html, const std::vector<Pinged> &pings)
{
	Histogram all;
	std::vector<Bar> bars;
	std::vector<Row> rows;

	if (pings.empty())
		return;
	for (const Pinged &p : pings) {
		Row row = {{p.host},
			   {format("%llu of %llu", static_cast<unsigned long long>(p.answered),
				   static_cast<unsigned long long>(p.sent))}};

		all.merge(p.rtt);
		for (const double percent : {50.0, 90.0, 99.0, 100.0})
			row.push_back(
				{p.answered ? nanoseconds_text(p.rtt.percentile(percent)) : "-"});
		rows.push_back(std::move(row));
	}
	for (const Histogram::Band &band : all.bands())
		bars.push_back({"up to " + microseconds_text(
						   std::max<std::uint64_t>(1, band.up_to / 1000)),
				static_cast<double>(band.count), std::to_string(band.count)});
	write_chart(html, "Pings of RDS by their round trip, of all hosts", bars,
		    "Nobody has answered.");
	write_table(html,
		    {{"Host", "address"},
		     {"Answered", "number"},
		     {"Median", "number"},
		     {"90 %", "number"},
		     {"99 %", "number"},
		     {"Longest", "number"}},
		    rows, "");
}

void write_traffic(Html &html, const Report &r, const std::vector<Host> &hosts)
{
	std::vector<Bar> steps;

	for (const RoundTrips &step : round_trips(r.paths))
		steps.push_back({"up to " + microseconds_text(step.up_to_us),
				 static_cast<double>(step.paths), std::to_string(step.paths)});
	html.element("h2", {{"id", "traffic"}}, "Traffic and latency");
	html.element("p", {{"class", "muted"}},
		     format("Rates are of the %.1f seconds before this page was made.", r.seconds));
	{
		Inside two(html, "div", {{"class", "two"}});
		write_chart(html, "Sent, by host", rate_bars(hosts, &Host::tx),
			    "Nothing was sent.");
		write_chart(html, "Received, by host", rate_bars(hosts, &Host::rx),
			    "Nothing came.");
		write_chart(html, "Paths by the round trip of their acks, smoothed", steps,
			    "No path is up over which an ack has come.");
	}
	write_pings(html, r.pings);
}

/* Bytes of the connection so far, and messages a second. */
std::string traffic_text(const Json &bytes, const Json &rate)
{
	if (rate.is_null())
		return bytes_text(bytes);
	return (bytes.is_null() ? "" : bytes_text(bytes) + ", ") + rate_text(rate) + "/s";
}

/* Which of a pair's it is; and if the peer has another RDS, that. */
std::string path_text(const Json &p)
{
	return word(p["transport"]) + "\u00a0" + word(p["tos"]) + "/" + word(p["index"]) +
	       (word(p["peer"]) == "other" ? ", other RDS" : "");
}

void write_paths(Html &html, Json paths)
{
	std::vector<Row> rows;

	/* Those with trouble first, and of equals those that send most. */
	sort_paths(paths, "tx");
	std::stable_sort(paths.begin(), paths.end(),
			 [](const Json &a, const Json &b) { return health_of(a) < health_of(b); });
	for (const Json &p : paths)
		rows.push_back({{word(p["remote"])},
				{word(p["local"])},
				{path_text(p)},
				{word(p["state"]), health_class(health_of(p))},
				{duration_text(p["state-ms"])},
				{word(p["unacked"])},
				{duration_text(p["waits-ms"])},
				{traffic_text(p["tx-bytes"], p["tx-messages-rate"])},
				{traffic_text(p["rx-bytes"], p["rx-messages-rate"])},
				{round_trip_text(round_trip(p))},
				{word(p["attempts"]) + "/" + word(p["resets"])},
				{word(p["last-reason"])},
				{word(p["signed"])}});
	html.element("h2", {{"id", "paths"}}, "Paths");
	write_table(html,
		    {{"Remote", "address"},
		     {"Local", "address"},
		     {"Path", ""},
		     {"State", ""},
		     {"For", "number"},
		     {"Unacked", "number"},
		     {"Waits", "number"},
		     {"Sent", "number"},
		     {"Received", "number"},
		     {"Ack", "number"},
		     {"Calls/ends", "number"},
		     {"Last reason", ""},
		     {"Signed", "short"}},
		    rows, "There is none.");
}

void write_sockets(Html &html, const Json &sockets)
{
	std::vector<Row> rows;
	auto end = [](const Json &address, const Json &port) {
		return address.is_null() ? "-" : word(address) + " : " + word(port);
	};

	for (const Json &s : sockets)
		rows.push_back({{end(s["local"], s["local-port"])},
				{end(s["remote"], s["remote-port"])},
				{word(s["transport"])},
				{bytes_text(s["unacked"]) + " of " + bytes_text(s["sndbuf"])},
				{bytes_text(s["unread"]) + " of " + bytes_text(s["rcvbuf"])},
				s["congested"].get<bool>() ? TextCell{full_text(s), "poor"}
							   : TextCell{"-"},
				{word(s["uid"])},
				{word(s["program"])}});
	html.element("h2", {{"id", "sockets"}}, "Sockets");
	write_table(html,
		    {{"Local", "address"},
		     {"Remote", "address"},
		     {"Transport", ""},
		     {"Not acknowledged", "number"},
		     {"Not read", "number"},
		     {"Port", ""},
		     {"User", "number"},
		     {"Program", ""}},
		    rows, "There is none.");
}

void write_counters(Html &html, const Json &counters)
{
	std::vector<Row> troubles, all;

	for (const Json &row : counters) {
		const std::string name = word(row["name"]);

		if (!number(row["value"]))
			continue;
		Row cells = {{name}, {word(row["value"])}, {rate_text(row["rate"])}};

		(is_trouble(name) ? troubles : all).push_back(std::move(cells));
	}
	const std::vector<Head> heads = {
		{"Counter", "address"}, {"Value", "number"}, {"A second", "number"}};

	html.element("h2", {{"id", "drops"}}, "Drops and refusals");
	write_table(html, heads, troubles,
		    "Nothing was thrown away, refused, or could not be had.");
	html.element("h2", {{"id", "counters"}}, "Other counters");
	write_table(html, heads, all, "All are 0.", 0);
}

void write_machine(Html &html, const Report &r)
{
	std::vector<Row> modules, devices;

	for (const Json &m : r.modules)
		modules.push_back(
			{{word(m["name"])}, {word(m["version"])}, {word(m["parameters"])}});
	for (const Json &d : r.devices)
		devices.push_back({{word(d["name"])},
				   {word(d["kind"]) + ", " + word(d["state"])},
				   {word(d["details"])}});
	html.element("h2", {{"id", "host"}}, "Host");
	write_facts(html, r.host, "Fact", r.host.size());
	html.element("h2", {{"id", "modules"}}, "Modules");
	write_table(html, {{"Module", "address"}, {"Version", ""}, {"Parameters", "mono"}}, modules,
		    "No module of RDS is loaded.");
	html.element("h2", {{"id", "devices"}}, "Devices");
	write_table(html, {{"Device", "address"}, {"State", ""}, {"Details", ""}}, devices,
		    "There is none but loopback.");
	html.element("h2", {{"id", "settings"}}, "Settings");
	write_facts(html, r.settings, "Setting", 0);
}

/* Sections that are made from paths: empty ones would say that there is none. */
void write_what_paths_tell(Html &html, const Report &r)
{
	const std::vector<Host> hosts = hosts_of(r.paths);

	if (r.refused.empty()) {
		write_topology(html, hosts);
		write_traffic(html, r, hosts);
		write_paths(html, r.paths);
		return;
	}
	for (const auto &[id, title] :
	     {std::pair("topology", "Topology"), std::pair("traffic", "Traffic and latency"),
	      std::pair("paths", "Paths")}) {
		html.element("h2", {{"id", id}}, title);
		Inside card(html, "div", {{"class", "card"}});
		html.element("p", {{"class", "muted"}}, "Not shown: " + r.refused);
	}
}

void write_head(Html &html, const std::string &name)
{
	Inside head(html, "head");

	html.element("meta", {{"charset", "utf-8"}});
	html.element("meta",
		     {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
	html.element("meta", {{"http-equiv", "Content-Security-Policy"},
			      {"content", "default-src 'none'; style-src 'unsafe-inline'"}});
	html.element("title", {}, "RDS of " + name);
	html.style(report_style);
}

void write_header(Html &html, const Report &r, const std::string &name)
{
	Inside header(html, "header"), div(html, "div");
	std::string loaded;

	for (const Json &m : r.modules)
		loaded += (loaded.empty() ? "" : ", ") + word(m["name"]) + " " + word(m["version"]);
	html.element("h1", {}, "RDS of " + name);
	html.element("p", {{"class", "muted"}},
		     r.time + ". " + (loaded.empty() ? "No module of RDS is loaded." : loaded));
	Inside nav(html, "nav");
	for (const char *id : {"findings", "topology", "traffic", "paths", "sockets", "drops",
			       "counters", "host", "settings"})
		html.element("a", {{"href", std::string("#") + id}}, id);
}

} // namespace

void write_report(std::ostream &out, const Report &r)
{
	const std::string name = r.host.empty() ? "an unknown host" : r.host.front().second;
	Html html(out);

	write_head(html, name);
	Inside body(html, "body");
	write_header(html, r, name);
	Inside main(html, "main");
	write_tiles(html, r);
	if (!r.unknown.empty())
		html.element("p", {{"class", "card finding"}}, r.unknown);
	if (!r.refused.empty())
		html.element("p", {{"class", "card finding"}},
			     "paths are not shown, and of sockets your own: " + r.refused);
	write_findings(html, r);
	write_what_paths_tell(html, r);
	write_sockets(html, r.sockets);
	write_counters(html, r.counters);
	write_machine(html, r);
	html.element("footer", {},
		     std::string("Made by rdsctl report (pf_rds ") + version +
			     "). It has addresses, program names and settings of this host, no "
			     "message and no key.");
}

} // namespace rdstools
