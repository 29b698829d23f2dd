// SPDX-License-Identifier: GPL-2.0
#include "metrics.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "field.h"
#include "state.h"

namespace rdstools
{

namespace
{

/* From the comments beside the counters: counter_texts.cmake. */
constexpr CounterText texts[] = {
#include "counter_texts.inc"
};

std::string help_of(const std::string &counter)
{
	std::string help = "Counter " + counter + " of rds-info -c";

	for (const CounterText &known : texts)
		if (counter == known.name && *known.text)
			return help + ": " + known.text + ".";
	return help + ".";
}

Family &gauge(std::vector<Family> &out, const char *name, const char *help)
{
	out.push_back({name, MetricType::gauge, help});
	return out.back();
}

/* By the specification's words, so that each is there also while nothing is in that state. */
Family &add_states(Family &family, const std::map<std::string, std::uint64_t> &found)
{
	std::uint64_t others = 0;
	std::set<std::string> known;

	for (const Field &field : path_fields()) {
		if (field.attr != RDS_PATH_A_STATE)
			continue;
		for (const char *state : field.choices) {
			const auto at = found.find(state);

			known.insert(state);
			family.add(at == found.end() ? 0 : at->second, {{"state", state}});
		}
	}
	for (const auto &[state, n] : found)
		others += known.contains(state) ? 0 : n;
	return family.add(others, {{"state", "other"}});
}

/* Which host a path leads to. */
std::string peer_of(const Json &path)
{
	std::string peer = word(path["remote"]);

	if (path["scope"].is_number())
		peer += "%" + path["scope"].dump();
	return peer;
}

bool is_waited_for(const Json &path)
{
	return path["state"] != "up" && number(path["unacked"]);
}

/* All paths of a host, or of several. */
struct Sum {
	std::uint64_t up = 0, unacked = 0, unsent = 0, oldest_ms = 0, ack_us = 0, congested = 0;

	void add(const Json &path)
	{
		up += path["state"] == "up";
		unacked += number(path["unacked"]);
		unsent += number(path["unsent-bytes"]);
		oldest_ms = std::max(oldest_ms, number(path["waits-ms"]));
		ack_us = std::max(ack_us, number(round_trip(path)));
		/* Each path of a host has the same map of its ports. */
		congested = std::max(congested, number(path["congested"]));
	}
	/* One of another host. */
	void add(const Sum &other)
	{
		up += other.up;
		unacked += other.unacked;
		unsent += other.unsent;
		oldest_ms = std::max(oldest_ms, other.oldest_ms);
		ack_us = std::max(ack_us, other.ack_us);
		congested += other.congested;
	}
};

using Peers = std::map<std::string, Sum>;

Peers peers_of(const Json &paths)
{
	Peers peers;

	for (const Json &path : paths)
		peers[peer_of(path)].add(path);
	return peers;
}

void add_paths(std::vector<Family> &out, const Json &paths, const Sum &all)
{
	std::map<std::string, std::uint64_t> connections, states;
	std::uint64_t waited_for = 0;

	for (const Json &path : paths) {
		states[word(path["state"])]++;
		if (number(path["index"]) == 0)
			connections[word(path["state"])]++;
		waited_for += is_waited_for(path);
	}
	add_states(gauge(out, "rds_connections",
			 "Connections to peers, by the state of their first path."),
		   connections);
	add_states(gauge(out, "rds_paths", "Paths of all connections, by their state."), states);
	gauge(out, "rds_paths_waited_for", "Paths that are not up though messages wait for them.")
		.add(waited_for);
	gauge(out, "rds_unacknowledged_messages",
	      "Messages at most that are queued, and that no peer has acknowledged.")
		.add(all.unacked);
	gauge(out, "rds_oldest_unacknowledged_message_age_seconds",
	      "For how long the oldest of them has waited; 0: none waits.")
		.add_seconds(all.oldest_ms);
	gauge(out, "rds_ack_round_trip_seconds",
	      "In which a message is acknowledged, smoothed, on the slowest path; 0: not known.")
		.add_microseconds(all.ack_us);
	gauge(out, "rds_unsent_bytes",
	      "Header and payload that is queued, and that no transport has taken.")
		.add(all.unsent);
}

void add_peers(std::vector<Family> &out, const Peers &peers)
{
	std::vector<std::pair<std::string, Sum>> rows(peers.begin(), peers.end());
	const auto order = [](const auto &row) {
		return std::tuple(~row.second.unacked, row.first);
	};

	/* Those that messages wait for come first; else by name, so that the same ones stay. */
	std::ranges::sort(rows, {}, order);
	if (rows.size() > most_peers) {
		Sum rest;

		for (std::size_t at = most_peers; at < rows.size(); at++)
			rest.add(rows[at].second);
		rows.resize(most_peers);
		rows.emplace_back("other", rest);
	}
	Family up = {"rds_peer_paths_up", MetricType::gauge, "Paths to this peer that are up."},
	       unacked = {"rds_peer_unacknowledged_messages", MetricType::gauge,
			  "Messages at most that are queued, and that this peer has not "
			  "acknowledged."},
	       oldest = {"rds_peer_oldest_unacknowledged_message_age_seconds", MetricType::gauge,
			 "For how long the oldest of them has waited; 0: none waits."},
	       ack = {"rds_peer_ack_round_trip_seconds", MetricType::gauge,
		      "In which this peer acknowledges a message, smoothed, on the slowest of "
		      "its paths; 0: not known."},
	       unsent = {"rds_peer_unsent_bytes", MetricType::gauge,
			 "Header and payload for this peer that no transport has taken."},
	       congested = {"rds_peer_congested_ports", MetricType::gauge,
			    "Ports of this peer that are full."};

	for (const auto &[name, sum] : rows) {
		up.add(sum.up, {{"peer", name}});
		unacked.add(sum.unacked, {{"peer", name}});
		oldest.add_seconds(sum.oldest_ms, {{"peer", name}});
		ack.add_microseconds(sum.ack_us, {{"peer", name}});
		unsent.add(sum.unsent, {{"peer", name}});
		congested.add(sum.congested, {{"peer", name}});
	}
	for (Family *family : {&up, &unacked, &oldest, &ack, &unsent, &congested})
		out.push_back(std::move(*family));
}

/* Answers how many of them have a full port. */
std::uint64_t add_sockets(std::vector<Family> &out, const Json &sockets)
{
	std::uint64_t unacked = 0, unread = 0, oldest_ms = 0, congested = 0;

	for (const Json &socket : sockets) {
		unacked += number(socket["unacked"]);
		unread += number(socket["unread"]);
		oldest_ms = std::max(oldest_ms, number(socket["unread-ms"]));
		congested += socket["congested"] == true;
	}
	gauge(out, "rds_sockets", "RDS sockets that are open.").add(sockets.size());
	gauge(out, "rds_send_queue_bytes",
	      "Payload in all sockets' send queues, which no peer has acknowledged.")
		.add(unacked);
	gauge(out, "rds_receive_queue_bytes",
	      "Payload in all sockets' receive queues, which nobody has read.")
		.add(unread);
	gauge(out, "rds_oldest_unread_message_age_seconds",
	      "For how long the oldest message has been there that nobody has read; 0: there is "
	      "none.")
		.add_seconds(oldest_ms);
	return congested;
}

/* A name that two would have is the first one's. */
void add_counters(std::vector<Family> &out, const Json &counters)
{
	std::set<std::string> taken;

	for (const Family &family : out)
		taken.insert(family.name);
	for (const Json &row : counters) {
		const std::string counter = word(row["name"]);
		const std::string name = "rds_" + legal_name(counter);

		if (taken.insert(name).second)
			out.push_back(Family{name, MetricType::counter, help_of(counter)}.add(
				number(row["value"])));
	}
}

} // namespace

std::vector<Family> metrics_of(const Scrape &scrape, bool peers)
{
	std::vector<Family> out;
	Family congested = {"rds_congested_ports", MetricType::gauge,
			    "Ports that are full: local ones, of sockets that do not read; and of "
			    "peers, which take nothing."};
	Family modules = {"rds_module", MetricType::info, "Modules of RDS that are loaded."};

	gauge(out, "rds_up",
	      "1: the RDS of this network namespace has answered; 0: rds is not loaded, "
	      "or is not PF_RDS's.")
		.add(scrape.up);
	gauge(out, "rds_metrics_complete",
	      "0: some of it is not here, for who asked may not see it, or nothing "
	      "answered.")
		.add(scrape.paths && scrape.sockets && scrape.counters);
	for (const Json &module : scrape.modules)
		modules.add(1, {{"module", word(module["name"])},
				{"version", word(module["version"])}});
	out.push_back(std::move(modules));
	if (scrape.sockets)
		congested.add(add_sockets(out, *scrape.sockets), {{"side", "local"}});
	if (scrape.paths) {
		const Peers all = peers_of(*scrape.paths);
		Sum sum;

		for (const auto &[peer, of_peer] : all)
			sum.add(of_peer);
		congested.add(sum.congested, {{"side", "peer"}});
		add_paths(out, *scrape.paths, sum);
		if (peers)
			add_peers(out, all);
	}
	out.push_back(std::move(congested));
	if (scrape.counters)
		add_counters(out, *scrape.counters);
	return out;
}

std::span<const CounterText> counter_texts()
{
	return texts;
}

} // namespace rdstools
