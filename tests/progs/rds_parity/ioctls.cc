// SPDX-License-Identifier: GPL-2.0
/* ioctls by number, the variants of socket(2), what the socket tells of itself. */
#include "scene.h"

#include <linux/netlink.h>
#include <linux/rds.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace rdstest
{

namespace
{

/* The numbers that answer without a device's name; others are told by their errno only. */
const std::pair<const char *, unsigned long> numbers[] = {
	{"FIONREAD", FIONREAD},
	{"SIOCOUTQ", SIOCOUTQ},
	{"SIOCOUTQNSD", 0x894B},
	{"SIOCATMARK", SIOCATMARK},
	{"FIONBIO", FIONBIO},
	{"FIOASYNC", FIOASYNC},
	{"FIOGETOWN", FIOGETOWN},
	{"SIOCGPGRP", SIOCGPGRP},
	{"FIONCLEX", FIONCLEX},
	{"FIOCLEX", FIOCLEX},
	{"FIOQSIZE", FIOQSIZE},
	{"SIOCGSTAMP", 0x8906},
	{"SIOCGSTAMPNS", 0x8907},
	{"SIOCGIFCONF", SIOCGIFCONF},
	{"SIOCGIFNAME", SIOCGIFNAME},
	{"SIOCGIFINDEX", SIOCGIFINDEX},
	{"SIOCADDRT", SIOCADDRT},
	{"SIOCGARP", SIOCGARP},
	{"SIOCGSKNS", 0x894C},
	{"SIOCRDSSETTOS", SIOCRDSSETTOS},
	{"SIOCRDSGETTOS", SIOCRDSGETTOS},
};

void addNumbers(Facts &facts)
{
	facts.at("loop own tcp", "ioctl", [](const Place &place, Out &out) {
		for (const auto &[name, number] : numbers) {
			Pair pair(place);
			alignas(8) char room[256] = {};
			const std::string what = name;

			pair.warm();
			pair.send(7);
			waitFor(pair.to, POLLIN, soon);
			const auto told = [number](long got) {
				return number == 0x894C && got >= 0 ? "a descriptor"
								    : describe(got);
			};

			out(what, told(sys(ioctl(pair.to, number, room))));
			out(what + " without room", told(sys(ioctl(pair.to, number, nullptr))));
		}
		for (unsigned long number = SIOCPROTOPRIVATE; number < SIOCPROTOPRIVATE + 16;
		     ++number) {
			char room[64] = {};

			out("private " + std::to_string(number - SIOCPROTOPRIVATE),
			    sys(ioctl(bindRds(place.near), number, room)));
		}
	});
	facts.at("loop own tcp", "ioctl/TOS", [](const Place &place, Out &out) {
		Pair pair(place);
		unsigned char tos = 0;

		for (int value : {0, 1, 3, 8, 255}) {
			const Fd fd = bindRds(place.near);
			const std::string name = std::to_string(value);

			tos = value;
			out(name + " set", sys(ioctl(fd, SIOCRDSSETTOS, &tos)));
			tos = 77;
			out(name + " get", sys(ioctl(fd, SIOCRDSGETTOS, &tos)));
			out(name + " is", static_cast<long>(tos));
			tos = 2;
			out(name + " set again", sys(ioctl(fd, SIOCRDSSETTOS, &tos)));
			out(name + " send", sendText(fd, "x", pair.target));
			out(name + " arrives", receiveSoon(pair.to, 100, soon).result);
			out(name + " set after a send", sys(ioctl(fd, SIOCRDSSETTOS, &tos)));
		}
		tos = 1;
		out("unbound set", sys(ioctl(openRds(), SIOCRDSSETTOS, &tos)));
		out("unbound get", sys(ioctl(openRds(), SIOCRDSGETTOS, &tos)));
	});
}

void addSockets(Facts &facts)
{
	facts.many("socket", [](Out &out) {
		static const std::pair<const char *, int> types[] = {
			{"0", 0},
			{"STREAM", SOCK_STREAM},
			{"DGRAM", SOCK_DGRAM},
			{"RAW", SOCK_RAW},
			{"RDM", SOCK_RDM},
			{"SEQPACKET", SOCK_SEQPACKET},
			{"DCCP", SOCK_DCCP},
			{"PACKET", SOCK_PACKET},
			{"11", 11},
		};

		for (const auto &[name, type] : types) {
			for (int protocol : {0, 1, 6, 21, -1}) {
				const Fd fd(socket(PF_RDS, type, protocol));

				out(std::string(name) + " " + std::to_string(protocol),
				    fd < 0 ? describe(-errno) : "a socket");
			}
		}
		for (int flag : {04000, 02000000, 0x10, 0x100, 0x1000}) {
			const Fd fd(socket(PF_RDS, SOCK_SEQPACKET | flag, 0));

			out("flag " + std::to_string(flag), fd < 0 ? describe(-errno) : "a socket");
		}
		int ends[2];
		out("socketpair", sys(socketpair(PF_RDS, SOCK_SEQPACKET, 0, ends)));
	});
	facts.at("loop own", "socket/itself", [](const Place &place, Out &out) {
		const Fd fd = bindRds(place.near);

		for (const auto &[name, option] : {std::pair{"SO_TYPE", SO_TYPE},
						   {"SO_DOMAIN", SO_DOMAIN},
						   {"SO_PROTOCOL", SO_PROTOCOL},
						   {"SO_ACCEPTCONN", SO_ACCEPTCONN}})
			out(name, getOption(fd, SOL_SOCKET, option));
	});
}

/* SO_MEMINFO's numbers where nothing is queued, and with an unread message. */
void addMemory(Facts &facts)
{
	facts.at("loop own", "socket/SO_MEMINFO", [](const Place &place, Out &out) {
		static const char *const names[] = {"rmem",   "rcvbuf",	 "wmem",
						    "sndbuf", "fwd",	 "wmem queued",
						    "optmem", "backlog", "drops"};
		Pair pair(place);

		for (const std::string state : {"idle, ", "unread, "}) {
			unsigned int numbers[9] = {};
			socklen_t length = sizeof(numbers);

			out(state + "result",
			    sys(getsockopt(pair.to, SOL_SOCKET, 55, numbers, &length)));
			for (int i = 0; i < 9; ++i)
				out(state + names[i], static_cast<long>(numbers[i]));
			pair.send(1000);
			waitFor(pair.to, POLLIN, soon);
		}
	});
	facts.at("loop", "socket/fdinfo", [](const Place &place, Out &out) {
		const Fd fd = bindRds(place.near);
		std::ifstream file("/proc/self/fdinfo/" + std::to_string(fd));
		std::string line, names;

		while (std::getline(file, line))
			names += line.substr(0, line.find(':')) + " ";
		out("lines", names);
		char target[100] = {};
		const std::string path = "/proc/self/fd/" + std::to_string(fd);
		readlink(path.c_str(), target, sizeof(target) - 1);
		out("link", std::string(target).substr(0, 8));
	});
}

/* ss asks by sock_diag: nobody answers for this family. */
void addDiag(Facts &facts)
{
	facts.many("socket/sock_diag", [](Out &out) {
		struct {
			nlmsghdr header;
			sock_diag_req request;
		} message{};
		char answer[1024] = {};
		const Fd fd(socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG));

		message.header.nlmsg_len = sizeof(message);
		message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
		message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
		message.request.sdiag_family = PF_RDS;
		out("send", sys(send(fd, &message, sizeof(message), 0)) > 0 ? "sent" : "refused");
		const long got = sys(recv(fd, answer, sizeof(answer), MSG_DONTWAIT));
		const nlmsghdr *header = reinterpret_cast<nlmsghdr *>(answer);
		const nlmsgerr *error = reinterpret_cast<nlmsgerr *>(NLMSG_DATA(header));

		if (got < 0)
			out("answer", got);
		else
			out("answer", header->nlmsg_type == NLMSG_ERROR
					      ? describe(error->error)
					      : "type " + std::to_string(header->nlmsg_type));
	});
}

} // namespace

void addIoctls(Facts &facts)
{
	addNumbers(facts);
	addSockets(facts);
	addMemory(facts);
	addDiag(facts);
}

} // namespace rdstest
