// SPDX-License-Identifier: GPL-2.0
/* Settings that are too small for what this host does. */
#include "doctor_checks.h"

#include <algorithm>

#include "field.h"
#include "view.h"

namespace rdstools
{

namespace
{

/* So much of what a user may have is nearly all of it, in percent. */
constexpr std::uint64_t nearly_all = 90;
/* A buffer that is so full, in percent, has no room for the next message perhaps. */
constexpr std::uint64_t nearly_full = 75;
/* So many sockets are no single program's matter. */
constexpr unsigned many_sockets = 8;

/* Null: it is not there. */
Json field(const Json &row, const char *name)
{
	return row.contains(name) ? row[name] : Json();
}

/* No row tells whether only the peer wants a connection: all together are as many at least. */
void look_at_passive(const Evidence &e, Findings &found)
{
	const auto most = number_of(e, "proc/sys/net/rds/max_passive_connections");

	if (!most || !*most || !e.paths || !e.counters)
		return;
	const std::uint64_t refused = counter(*e.counters, "conn_passive_refused"),
			    evicted = counter(*e.counters, "conn_evicted");
	const auto there =
		static_cast<std::uint64_t>(std::ranges::count_if(*e.paths, [](const Json &path) {
			return field(path, "index") == 0 && field(path, "transport") != "loopback";
		}));

	if ((refused || evicted) && there >= *most)
		found.push_back(
			{"settings", false,
			 "net.rds.max_passive_connections is " + std::to_string(*most) +
				 ", and there are " + std::to_string(there) + " connections",
			 std::to_string(refused) + " calls of peers were refused, and " +
				 std::to_string(evicted) +
				 " connections ended to make room, or for they were mute",
			 "sysctl -w net.rds.max_passive_connections=" + std::to_string(2 * there)});
}

/* The setting is not for administrators, and root is left out as one. */
void look_at_users(const Evidence &e, Findings &found)
{
	const auto most = number_of(e, "proc/sys/net/rds/max_user_sockets");
	std::map<std::uint64_t, std::uint64_t> owned;

	if (!most || !*most || !e.sockets)
		return;
	for (const Json &socket : *e.sockets)
		if (const Json uid = field(socket, "uid"); uid.is_number() && uid != 0)
			owned[uid.get<std::uint64_t>()]++;
	for (const auto &[uid, n] : owned)
		if (n * 100 >= *most * nearly_all)
			found.push_back({"settings", false,
					 "user " + std::to_string(uid) + " has " +
						 std::to_string(n) +
						 " sockets, and net.rds.max_user_sockets is " +
						 std::to_string(*most),
					 "beyond that socket() fails with EDQUOT",
					 "sysctl -w net.rds.max_user_sockets=" +
						 std::to_string(2 * *most)});
}

/* Buffers of one kind that programs have made as large as they may, and that are full. */
struct Buffers {
	const char *setting, *size, *fill, *option, *why;
};

constexpr Buffers buffers[] = {
	{"wmem_max", "sndbuf", "unacked", "SO_SNDBUF",
	 "senders wait until their peers have what was sent: with more room they wait less often"},
	{"rmem_max", "rcvbuf", "unread", "SO_RCVBUF",
	 "peers wait for these readers: more room helps with bursts, not with readers that are too "
	 "slow"},
};

/* Rows have the size as programs ask for it: half of what getsockopt() says. */
void look_at_buffers(const Evidence &e, Findings &found)
{
	for (const Buffers &b : buffers) {
		const auto most = number_of(e, std::string("proc/sys/net/core/") + b.setting);
		const auto full = [&](const Json &socket) {
			return number(field(socket, b.size)) == *most &&
			       number(field(socket, b.fill)) * 100 >= *most * nearly_full;
		};

		if (!most || !*most || !e.sockets)
			continue;
		const auto n = std::ranges::count_if(*e.sockets, full);

		if (n >= many_sockets)
			found.push_back(
				{"settings", false,
				 std::to_string(n) + " sockets have a full buffer, and its " +
					 b.option + " is as large as net.core." + b.setting +
					 " lets it be, " + std::to_string(*most),
				 b.why,
				 std::string("sysctl -w net.core.") + b.setting + "=" +
					 std::to_string(4 * *most)});
	}
}

} // namespace

void look_at_load(const Evidence &e, Findings &found)
{
	look_at_passive(e, found);
	look_at_users(e, found);
	look_at_buffers(e, found);
}

} // namespace rdstools
