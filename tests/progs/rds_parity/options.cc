// SPDX-License-Identifier: GPL-2.0
/* Options of all levels by number: reading with rooms of several sizes, and setting an int. */
#include "scene.h"

#include <linux/rds.h>

#include <cstring>
#include <set>

namespace rdstest
{

namespace
{

/*
 * Of SOL_SOCKET, by value: SO_INCOMING_CPU (49), SO_MEMINFO (55), SO_INCOMING_NAPI_ID (56),
 * SO_COOKIE (57), SO_NETNS_COOKIE (71) depend on the machine or on luck; only their answer and
 * length are told.
 */
const std::set<int> lucky = {49, 55, 56, 57, 71};

/* "0 length 4 value 212992", an errno and the length if it is another now. */
std::string got(int fd, int level, int option, socklen_t room, bool value)
{
	char bytes[256] = {};
	socklen_t length = room;
	const long result = sys(getsockopt(fd, level, option, bytes, &length));
	std::string text = describe(result);
	int number = 0;

	if (result < 0)
		return length == room ? text : text + " length " + std::to_string(length);
	text += " length " + std::to_string(length);
	if (!value || length > 16 || !length)
		return text;
	text += " value";
	for (socklen_t at = 0; at < length; at += sizeof(number)) {
		number = 0;
		std::memcpy(&number, bytes + at, std::min<size_t>(sizeof(number), length - at));
		text += " " + std::to_string(number);
	}
	return text;
}

std::string optionName(const std::string &level, int option)
{
	char text[40];

	std::snprintf(text, sizeof(text), "%s %02d", level.c_str(), option);
	return text;
}

void addSocketLevel(Facts &facts)
{
	for (int option = 1; option <= 80; ++option) {
		const bool value = !lucky.count(option);

		facts.at("loop own", "options/" + optionName("SOL_SOCKET", option),
			 [option, value](const Place &place, Out &out) {
				 const Fd fd = bindRds(place.near);

				 for (socklen_t room : {0, 1, 4, 8, 16, 64})
					 out("get " + std::to_string(room),
					     got(fd, SOL_SOCKET, option, room, value));
				 for (int number : {0, 1, -1, 5000}) {
					 const std::string name = "set " + std::to_string(number);

					 out(name, setOption(fd, SOL_SOCKET, option, number));
					 out(name + ", get", got(fd, SOL_SOCKET, option, 4, value));
				 }
				 out("set 1 byte", sys(setsockopt(fd, SOL_SOCKET, option, "", 1)));
				 out("set 8 bytes",
				     sys(setsockopt(fd, SOL_SOCKET, option, "\0\0\0\0\0\0\0", 8)));
				 /* The socket still works. */
				 setOption(fd, SOL_SOCKET, SO_RCVBUF, 20000);
				 setOption(fd, SOL_SOCKET, SO_SNDBUF, 20000);
				 out("send", sendText(fd, "x", localAddress(fd)));
				 out("receive", receiveSoon(fd, 100, soon).result);
			 });
	}
}

void rdsOption(const Place &place, Out &out, int option)
{
	for (bool bound : {false, true}) {
		const Fd fd = bound ? bindRds(place.near) : openRds();
		const std::string state = bound ? "bound, " : "unbound, ";

		for (socklen_t room : {0, 1, 4, 8, 16})
			out(state + "get " + std::to_string(room),
			    got(fd, SOL_RDS, option, room, true));
		for (int number : {0, 1, 2, -1})
			out(state + "set " + std::to_string(number),
			    setOption(fd, SOL_RDS, option, number));
		for (socklen_t length : {0, 1, 3, 8, 16, 28, 32, 128, 160})
			out(state + "set zeros " + std::to_string(length),
			    sys(setsockopt(fd, SOL_RDS, option, std::string(200, 0).data(),
					   length)));
		out(state + "set from nowhere", sys(setsockopt(fd, SOL_RDS, option, nullptr, 4)));
	}
}

void addRdsLevel(Facts &facts)
{
	for (int option = 0; option <= 70; ++option)
		facts.at("loop own", "options/" + optionName("SOL_RDS", option),
			 [option](const Place &place, Out &out) { rdsOption(place, out, option); });
	facts.many("options/SOL_RDS tables", [](Out &out) {
		const Fd fd = openRds();

		for (int option = 9990; option <= 10030; ++option) {
			const std::string name = std::to_string(option);

			/* Its contents are luck. */
			const long got = getOption(fd, SOL_RDS, option);
			out(name + ", get", got >= 0 || got == -ENOSPC ? "a table" : describe(got));
			out(name + ", set", setOption(fd, SOL_RDS, option, 1));
		}
	});
}

void addOtherLevels(Facts &facts)
{
	for (int level :
	     {0, 6, 17, 41, 58, 132, 255, 263, 270, 271, 275, 277, 282, 284, -1, 65535}) {
		facts.at("loop own", "options/level " + std::to_string(level),
			 [level](const Place &place, Out &out) {
				 const Fd fd = bindRds(place.near);

				 for (int option : {0, 1, 2, 8, 11, 20, 29, 49, 63}) {
					 const std::string name = std::to_string(option);

					 out(name + ", get", got(fd, level, option, 4, true));
					 out(name + ", set", setOption(fd, level, option, 1));
				 }
			 });
	}
	facts.many("options/lengths", [](Out &out) {
		const Fd fd = openRds();
		int value = 0;

		for (int level : {SOL_SOCKET, SOL_RDS}) {
			const int option = level == SOL_SOCKET ? SO_RCVBUF : RDS_RECVERR;
			const std::string name = level == SOL_SOCKET ? "SOL_SOCKET" : "SOL_RDS";
			socklen_t length = -1;

			out(name + ", get -1", sys(getsockopt(fd, level, option, &value, &length)));
			out(name + ", get, no length",
			    sys(getsockopt(fd, level, option, &value, nullptr)));
			length = 4;
			out(name + ", get, no room",
			    sys(getsockopt(fd, level, option, nullptr, &length)));
			out(name + ", set -1", sys(setsockopt(fd, level, option, &value, -1)));
			out(name + ", set, no value",
			    sys(setsockopt(fd, level, option, nullptr, 4)));
		}
	});
}

/* The changes that some options make to a receiver's messages. */
void addEffects(Facts &facts)
{
	static const std::pair<const char *, int> stamps[] = {
		{"SO_TIMESTAMP_OLD", 29},   {"SO_TIMESTAMPNS_OLD", 35}, {"SO_TIMESTAMPING_OLD", 37},
		{"SO_RXQ_OVFL", 40},	    {"SO_WIFI_STATUS", 41},	{"SO_TIMESTAMP_NEW", 63},
		{"SO_TIMESTAMPNS_NEW", 64}, {"SO_PASSCRED", 16},	{"SO_PASSSEC", 34},
		{"SO_RCVMARK", 75},	    {"SO_ZEROCOPY", 60},	{"SO_BROADCAST", 6},
		{"SO_KEEPALIVE", 9},	    {"SO_DONTROUTE", 5},	{"SO_LINGER", 13},
		{"SO_PEEK_OFF", 42},	    {"SO_BUSY_POLL", 46},
	};

	for (int level : {SOL_SOCKET, SOL_RDS}) {
		for (const auto &[name, option] : stamps) {
			const int number = option;

			facts.at("loop own tcp",
				 std::string("options/effect, ") +
					 (level == SOL_RDS ? "SOL_RDS " : "SOL_SOCKET ") + name,
				 [level, number](const Place &place, Out &out) {
					 Pair pair(place);

					 pair.warm();
					 out("set", setOption(pair.to, level, number, 1));
					 pair.send();
					 const Received got = receiveSoon(pair.to, 100, soon);
					 out("message", got.result);
					 std::string types;
					 for (const ControlMessage &one : got.control)
						 types += std::to_string(one.level) + "/" +
							  std::to_string(one.type) + " of " +
							  std::to_string(one.data.size()) + " ";
					 out("control", types.empty() ? "none" : types);
				 });
		}
	}
}

} // namespace

void addOptions(Facts &facts)
{
	addSocketLevel(facts);
	addRdsLevel(facts);
	addOtherLevels(facts);
	addEffects(facts);
}

} // namespace rdstest
