/* SPDX-License-Identifier: GPL-2.0 */
/* Hosts that never were, for tests of what is written about them. */
#ifndef RDSTOOLS_TESTS_MADE_UP_H
#define RDSTOOLS_TESTS_MADE_UP_H

#include <string>

#include "../ctl/report.h"
#include "../ctl/state.h"

namespace rdstools::made_up
{

inline Json row(std::span<const Field> fields)
{
	Json row = Json::object();

	for (const Field &field : fields)
		row[field.name] = field.kind == Kind::flag ? Json(false) : Json(nullptr);
	return row;
}

/* A row of PathRates, up, of which nothing more is known than @known. */
inline Json path(const std::string &remote, const Json &known = Json::object())
{
	Json path = row(path_fields());

	for (const char *rate :
	     {"tx-messages-rate", "rx-messages-rate", "tx-bytes-rate", "rx-bytes-rate", "waits-ms"})
		path[rate] = nullptr;
	path.update(Json{{"local", "10.9.0.1"},
			 {"remote", remote},
			 {"tos", 0u},
			 {"index", 0u},
			 {"transport", "tcp"},
			 {"state", "up"},
			 {"state-ms", 3725000u},
			 {"last-reason", "-"},
			 {"peer", "pf-rds"},
			 {"attempts", 1u},
			 {"resets", 0u},
			 {"unacked", 0u}});
	path.update(known);
	return path;
}

/* A row of Owners. */
inline Json socket(unsigned unacked, unsigned unread)
{
	Json socket = row(socket_fields());

	socket.update(Json{{"local", "10.9.0.1"},
			   {"local-port", 4000u},
			   {"transport", "tcp"},
			   {"sndbuf", 212992u},
			   {"rcvbuf", 212992u},
			   {"uid", 0u},
			   {"unacked", unacked},
			   {"unread", unread},
			   {"program", nullptr}});
	return socket;
}

inline Report host(const std::string &name)
{
	Report r;

	r.time = "2026-11-26 03:12:44";
	r.seconds = 1;
	r.host = {{"Host", name},
		  {"System", "Debian GNU/Linux 12 (bookworm)"},
		  {"Kernel", "6.1.0-56-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.174-1"},
		  {"Processors", "16"},
		  {"Memory", "62.7 GiB, 41.0 GiB of it available"},
		  {"Booted", "12d03h ago"}};
	return r;
}

/* Nothing is loaded. */
inline Report none()
{
	Report r = host("db-none");

	r.unknown = "rds is not loaded: modprobe rds_tcp";
	r.findings = {{"modules", true, "rds is not loaded",
		       "no program of this host can open an RDS socket, and no peer reaches it",
		       "modprobe rds_tcp"}};
	return r;
}

inline void load(Report &r)
{
	r.modules = Json::array(
		{{{"name", "rds"}, {"version", "5.0"}, {"parameters", "autoload=N"}},
		 {{"name", "rds_tcp"}, {"version", "5.0"}, {"parameters", "max_paths=8"}}});
	r.devices = Json::array({{{"name", "eth0"},
				  {"kind", "network"},
				  {"state", "up"},
				  {"details", "MTU 9000, 25000 Mbit/s"}}});
	r.settings = {{"net.rds.ping_enable", "1"}, {"net.ipv4.tcp_rmem", "4096 131072 6291456"}};
	r.counters = Json::array({{{"name", "send_queued"}, {"value", 123456u}, {"rate", 1200.0}},
				  {{"name", "recv_delivered"}, {"value", 654321u}, {"rate", 800.0}},
				  {{"name", "recv_drop_no_sock"}, {"value", 17u}, {"rate", 0.0}}});
}

/* One path, and nothing wrong. */
inline Report one()
{
	Report r = host("db-01");

	load(r);
	r.paths = Json::array({path("10.9.0.2", {{"tx-bytes-rate", 12345678.0},
						 {"rx-bytes-rate", 2345678.0},
						 {"tx-messages-rate", 1200.0},
						 {"rx-messages-rate", 800.0},
						 {"tx-bytes", 9876543210u},
						 {"rx-bytes", 123456789u},
						 {"rtt-us", 180u},
						 {"signed", "tcp-md5"}})});
	r.sockets = Json::array({socket(4096, 0)});
	r.sockets[0]["program"] = "dbwriter(4711)";
	return r;
}

/* A user's, who may not see paths. */
inline Report restricted()
{
	Report r = one();

	r.paths = Json::array();
	r.refused = "net.rds.info_restrict is set";
	return r;
}

/* Pings of a host, the @n-th times as far away as the first. */
inline Pinged pinged(const std::string &host, unsigned n)
{
	Pinged p = {host, 100, 99, {}};

	for (std::uint64_t i = 0; i < 99; i++)
		p.rtt.add((120000 + i * i * 800) * (n + 1));
	return p;
}

/* @n paths of many kinds, to IPv4 and IPv6. */
inline Report many(unsigned n)
{
	Report r = host("db-many");

	load(r);
	for (unsigned at = 0; at < n; at++) {
		const std::string remote = at % 9 == 4 ? "fd00:1234:5678:9abc:def0:1234:5678:" +
								 std::to_string(1000 + at)
						       : "10.7." + std::to_string(at / 250) + "." +
								 std::to_string(at % 250 + 1);
		Json p = path(remote, {{"tx-bytes-rate", 1e7 / (at + 1)},
				       {"rx-bytes-rate", 3e6 / (at + 1)},
				       {"tx-messages-rate", 900.0},
				       {"rtt-us", 90 + at * at}});

		if (at % 9 == 4)
			p["local"] = "fd00:1234:5678:9abc:def0:1234:5678:1";
		if (at % 20 == 3)
			p["peer"] = "other";
		if (at % 20 == 7)
			p.update(Json{{"state", "connecting"},
				      {"unacked", 40u + at},
				      {"waits-ms", 1000u},
				      {"last-reason", "connect failed"},
				      {"rtt-us", nullptr},
				      {"tx-bytes-rate", nullptr},
				      {"rx-bytes-rate", nullptr}});
		else if (at % 20 == 9)
			p.update(Json{{"unacked", 7u}, {"waits-ms", 1000u}, {"congested", 1u}});
		else if (at % 20 == 11)
			p.update(Json{{"state", "down"},
				      {"tx-bytes-rate", nullptr},
				      {"rx-bytes-rate", nullptr},
				      {"rtt-us", nullptr}});
		r.paths.push_back(std::move(p));
	}
	for (unsigned at = 0; at < 5; at++)
		r.pings.push_back(pinged(r.paths[at]["remote"].get<std::string>(), at));
	r.pings.push_back({"10.7.0.8", 100, 0, {}});
	for (unsigned at = 0; at < 30; at++)
		r.sockets.push_back(socket(at * 1000, at % 3 ? 0 : 500000));
	r.findings = {
		{"paths", true,
		 "10.7.0.8 has not been reached for 1m12s (connecting, last: connect failed)",
		 "nobody answers on TCP port 16385 there: the host is down, has no rds_tcp, or a "
		 "filter is between",
		 "nc -vz -w 3 10.7.0.8 16385"},
		{"counters", false, "recv_drop_no_sock is 17",
		 "messages came for ports that no socket here has", "rdsctl socket"}};
	return r;
}

inline constexpr const char *nasty = "<script>alert(1)</script>\"'><img src=x "
				     "onerror=alert(2)>&amp;]]>\x01\xff\xc0\xaf\xed\xa0\x80"
				     "\xe2\x80\xae"
				     "end";

/* Every text that comes from somewhere is hostile. */
inline Report hostile()
{
	Report r = host(nasty);

	load(r);
	for (auto &[key, value] : r.host)
		value = nasty;
	r.time = nasty;
	r.unknown = nasty;
	r.paths = Json::array({path(nasty, {{"local", nasty},
					    {"last-reason", nasty},
					    {"state", nasty},
					    {"transport", nasty},
					    {"peer", nasty},
					    {"signed", nasty},
					    {"unacked", 3u}})});
	for (unsigned at = 0; at < 30; at++)
		r.paths.push_back(path(nasty + std::to_string(at), {{"tx-bytes-rate", 5.0}}));
	r.sockets = Json::array({socket(1, 2)});
	r.sockets[0]["program"] = r.sockets[0]["local"] = nasty;
	r.counters.push_back({{"name", nasty}, {"value", 1u}, {"rate", nullptr}});
	r.settings.emplace_back(nasty, nasty);
	r.modules.push_back({{"name", nasty}, {"version", nasty}, {"parameters", nasty}});
	r.devices.push_back(
		{{"name", nasty}, {"kind", nasty}, {"state", nasty}, {"details", nasty}});
	r.pings = {pinged(nasty, 1)};
	r.findings = {{nasty, true, nasty, nasty, nasty}};
	return r;
}

} // namespace rdstools::made_up

#endif
