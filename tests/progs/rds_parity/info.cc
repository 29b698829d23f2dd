// SPDX-License-Identifier: GPL-2.0
/*
 * The tables of getsockopt(RDS_INFO_*), field by field: only rows of the item's own sockets and
 * addresses are told, ports by the name of their role, sequence numbers by how they follow.
 */
#include "scene.h"

#include "../lib/info.h"

#include <linux/rds.h>
#include <arpa/inet.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

namespace rdstest
{

namespace
{

/* Addresses and ports that have a role. */
class Roles
{
public:
	void add(const std::string &name, uint16_t port)
	{
		ports_.emplace_back(port, name);
	}
	std::string port(__be16 number) const
	{
		for (const auto &[port, name] : ports_) {
			if (port == ntohs(number))
				return name;
		}
		return number ? "unknown" : "0";
	}
	bool knows(__be16 number) const
	{
		return number && port(number) != "unknown";
	}

private:
	std::vector<std::pair<uint16_t, std::string>> ports_;
};

std::string address(__be32 number)
{
	char text[INET_ADDRSTRLEN];

	return inet_ntop(AF_INET, &number, text, sizeof(text));
}

std::string address(const in6_addr &number)
{
	char text[INET6_ADDRSTRLEN];

	return inet_ntop(AF_INET6, &number, text, sizeof(text));
}

template <typename Row>
void tellMessages(Out &out, int fd, int code, const std::string &table, const Roles &roles)
{
	uint64_t before = 0;
	int n = 0;

	for (const Row &row : readInfo(fd, code).as<Row>()) {
		const auto lport = row.lport, fport = row.fport;
		const uint64_t seq = row.seq;

		if (!roles.knows(lport) && !roles.knows(fport))
			continue;
		const std::string name = table + " " + std::to_string(n);

		out(name + " local", address(row.laddr) + " " + roles.port(lport));
		out(name + " foreign", address(row.faddr) + " " + roles.port(fport));
		out(name + " length", static_cast<long>(row.len));
		out(name + " flags", static_cast<long>(row.flags));
		out(name + " tos", static_cast<long>(row.tos));
		out(name + " sequence", !n		    ? (seq ? "a number" : "0")
					: seq == before + 1 ? "the next"
							    : "another");
		before = seq;
		n++;
	}
	out(table + " rows", n);
}

/* All tables of messages, in both families. */
void tellAllMessages(Out &out, int fd, const Roles &roles)
{
	static const struct {
		const char *name;
		int code, code6;
	} tables[] = {
		{"SEND", RDS_INFO_SEND_MESSAGES, RDS6_INFO_SEND_MESSAGES},
		{"RETRANS", RDS_INFO_RETRANS_MESSAGES, RDS6_INFO_RETRANS_MESSAGES},
		{"RECV", RDS_INFO_RECV_MESSAGES, RDS6_INFO_RECV_MESSAGES},
	};

	for (const auto &table : tables) {
		tellMessages<rds_info_message>(out, fd, table.code, table.name, roles);
		tellMessages<rds6_info_message>(out, fd, table.code6, std::string(table.name) + "6",
						roles);
	}
}

bool hasRow(int fd, int code, const Roles &roles)
{
	const auto rows = readInfo(fd, code).as<rds6_info_message>();

	return std::any_of(rows.begin(), rows.end(),
			   [&](const auto &row) { return roles.knows(row.lport); });
}

void addMessages(Facts &facts)
{
	facts.at("own own6", "info/unsent", [](const Place &place, Out &out) {
		Pair pair(place);
		Roles roles;

		roles.add("sender", pair.source.port());
		roles.add("4000", 4000);
		sendText(pair.from, "one", place.silent.port(4000));
		sendText(pair.from, "number two", place.silent.port(4000));
		sendText(pair.from, "", place.silent.port(4000));
		tellAllMessages(out, pair.to, roles);
	});
	facts.at("loop loop6 own own6 tcp tcp6", "info/unread", [](const Place &place, Out &out) {
		Pair pair(place);
		Roles roles;

		roles.add("sender", pair.source.port());
		roles.add("receiver", pair.target.port());
		pair.warm();
		pair.send(3);
		pair.send(10);
		pair.send(0);
		eventually([&] { return hasRow(pair.to, RDS6_INFO_RECV_MESSAGES, roles); }, soon);
		/* All three, and acknowledged: what is told of them is at rest then. */
		usleep(300000);
		tellAllMessages(out, pair.to, roles);
		out("sender's RETRANS",
		    hasRow(pair.from, RDS6_INFO_RETRANS_MESSAGES, roles) ? "has them" : "empty");
		readAll(pair.to);
		out("read",
		    hasRow(pair.to, RDS6_INFO_RECV_MESSAGES, roles) ? "still there" : "gone");
	});
}

/* Whether it is down or just being connected is luck. */
std::string connectionFlags(unsigned int flags)
{
	const bool up = flags & RDS_INFO_CONNECTION_FLAG_CONNECTED;

	return up ? std::to_string(flags) : "not up";
}

/* Is it of the place's two addresses, as they stand in tables of either family? */
bool between(const Place &place, const std::string &one, const std::string &other)
{
	const auto bare = [](std::string text) {
		const std::string mapped = "::ffff:";
		const std::string found = Address::parse(text).text();

		return text.rfind(mapped, 0) == 0
			       ? Address::parse(text.substr(mapped.size())).text()
			       : found;
	};
	const std::string near = place.near.port(0).text(), far = place.far.port(0).text();

	return (bare(one) == near && bare(other) == far) ||
	       (bare(one) == far && bare(other) == near);
}

template <typename Row>
void tellConnections(Out &out, int fd, int code, const std::string &table, const Place &place)
{
	std::vector<std::string> lines;

	for (const Row &row : readInfo(fd, code).as<Row>()) {
		char name[TRANSNAMSIZ + 1] = {};
		const uint64_t tx = row.next_tx_seq, rx = row.next_rx_seq;

		if (!between(place, address(row.laddr), address(row.faddr)))
			continue;
		std::memcpy(name, row.transport, TRANSNAMSIZ);
		lines.push_back(address(row.laddr) + " " + address(row.faddr) + " " + name +
				" flags " + connectionFlags(row.flags) + " tx " +
				(tx > 1 ? "counts" : std::to_string(tx)) + " rx " +
				(rx > 0 ? "counts" : "0"));
		if constexpr (sizeof(Row) == sizeof(rds_info_connection))
			lines.back() += " tos " + std::to_string(row.tos);
	}
	std::sort(lines.begin(), lines.end());
	int n = 0;
	for (const std::string &line : lines) {
		out(table + " " + std::to_string(n++), line);
	}
	out(table + " rows", lines.size());
}

void addConnections(Facts &facts)
{
	facts.at("loop loop6 own own6 tcp tcp6", "info/connections",
		 [](const Place &place, Out &out) {
			 Pair pair(place);

			 pair.warm();
			 usleep(300000);
			 tellConnections<rds_info_connection>(out, pair.from, RDS_INFO_CONNECTIONS,
							      "near", place);
			 tellConnections<rds6_info_connection>(
				 out, pair.from, RDS6_INFO_CONNECTIONS, "near6", place);
			 tellConnections<rds_info_connection>(out, pair.to, RDS_INFO_CONNECTIONS,
							      "far", place);
			 tellConnections<rds6_info_connection>(out, pair.to, RDS6_INFO_CONNECTIONS,
							       "far6", place);
		 });
	facts.at("own own6", "info/connection that is not up", [](const Place &place, Out &out) {
		const Fd fd = bindRds(place.near);
		Place silent = place;

		silent.far = place.silent;
		sendText(fd, "x", place.silent.port(4000));
		usleep(100000);
		tellConnections<rds_info_connection>(out, fd, RDS_INFO_CONNECTIONS, "table",
						     silent);
		tellConnections<rds6_info_connection>(out, fd, RDS6_INFO_CONNECTIONS, "table6",
						      silent);
	});
}

template <typename Row>
void tellTcp(Out &out, int fd, int code, const std::string &table, const Place &place)
{
	int n = 0;
	std::vector<std::string> lines;

	for (const Row &row : readInfo(fd, code).as<Row>()) {
		const auto lport = ntohs(row.local_port), pport = ntohs(row.peer_port);
		if (!between(place, address(row.local_addr), address(row.peer_addr)))
			continue;
		const uint64_t header = row.hdr_rem, data = row.data_rem;
		const uint32_t nxt = row.last_sent_nxt, una = row.last_expected_una,
			       seen = row.last_seen_una;
		std::string line = address(row.local_addr) + " " + address(row.peer_addr);

		line += lport == 16385 || pport == 16385 ? " well-known" : " other ports";
		line += " header " + std::to_string(header) + " data " + std::to_string(data);
		line += seen == una || seen == una + 1 || seen == nxt ? " all acknowledged"
								      : " not all acknowledged";
		lines.push_back(line);
	}
	std::sort(lines.begin(), lines.end());
	lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
	for (const std::string &line : lines)
		out(table + " kind " + std::to_string(n++), line);
}

void addTcp(Facts &facts)
{
	facts.at("tcp tcp6", "info/TCP", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		usleep(300000);
		tellTcp<rds_info_tcp_socket>(out, pair.from, RDS_INFO_TCP_SOCKETS, "near", place);
		tellTcp<rds6_info_tcp_socket>(out, pair.from, RDS6_INFO_TCP_SOCKETS, "near6",
					      place);
		tellTcp<rds_info_tcp_socket>(out, pair.to, RDS_INFO_TCP_SOCKETS, "far", place);
		tellTcp<rds6_info_tcp_socket>(out, pair.to, RDS6_INFO_TCP_SOCKETS, "far6", place);
	});
}

uint64_t inode(int fd)
{
	struct stat status {
	};

	fstat(fd, &status);
	return status.st_ino;
}

template <typename Row>
void tellSocket(Out &out, int fd, int code, const std::string &table, const Roles &roles)
{
	int n = 0;

	for (const Row &row : readInfo(fd, code).as<Row>()) {
		const auto bound = row.bound_port, connected = row.connected_port;
		const uint64_t inum = row.inum;

		if (inum != inode(fd))
			continue;
		out(table + " bound", address(row.bound_addr) + " " + roles.port(bound));
		out(table + " connected",
		    address(row.connected_addr) + " " + roles.port(connected));
		out(table + " sndbuf", static_cast<long>(row.sndbuf));
		out(table + " rcvbuf", static_cast<long>(row.rcvbuf));
		n++;
	}
	out(table + " rows", n);
}

void addSocketsTable(Facts &facts)
{
	facts.at("loop loop6 own own6", "info/sockets", [](const Place &place, Out &out) {
		for (int state = 0; state < 4; ++state) {
			static const char *const names[] = {"unbound", "connected", "bound",
							    "bound and connected"};
			const Fd fd = state & 2 ? bindRds(place.near) : openRds();
			const Address peer = place.silent.port(4000);
			Roles roles;

			if (state & 2)
				roles.add("own", localAddress(fd).port());
			roles.add("4000", 4000);
			if (state & 1)
				connect(fd, peer.get(), peer.length());
			setOption(fd, SOL_SOCKET, SO_SNDBUF, 20000);
			setOption(fd, SOL_SOCKET, SO_RCVBUF, 30000);
			const std::string name = names[state];
			tellSocket<rds_info_socket>(out, fd, RDS_INFO_SOCKETS, name, roles);
			tellSocket<rds6_info_socket>(out, fd, RDS6_INFO_SOCKETS, name + " 6",
						     roles);
		}
	});
	facts.at("loop", "info/counter", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		for (const auto &[name, value] : readCounters(pair.from))
			out(name, "present");
	});
	facts.at("loop own tcp", "info/counted", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		usleep(300000);
		auto before = readCounterMap(pair.from);
		for (int i = 0; i < 10; ++i)
			pair.send(100);
		eventually([&] { return readAll(pair.to) == 10; }, soon);
		usleep(300000);
		const auto after = readCounterMap(pair.from);
		/* Not conn_reset: mainline counts other places' in it, which still call the silent.
		 */
		for (const char *name :
		     {"send_queued", "recv_queued", "recv_delivered", "copy_from_user",
		      "copy_to_user", "recv_drop_no_sock", "recv_drop_old_seq", "cong_send_blocked",
		      "cong_send_error", "send_queue_full", "send_rdma", "recv_ping", "send_pong",
		      "recv_bytes_added_to_sock", "recv_bytes_removed_from_sock",
		      "recv_bytes_freed_fromsock"})
			out(name, after.count(name) ? std::to_string(after.at(name) - before[name])
						    : "absent");
	});
}

} // namespace

void addInfo(Facts &facts)
{
	addMessages(facts);
	addConnections(facts);
	addTcp(facts);
	addSocketsTable(facts);
}

} // namespace rdstest
