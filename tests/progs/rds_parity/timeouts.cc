// SPDX-License-Identifier: GPL-2.0
/* Calls that end by themselves: SO_RCVTIMEO, SO_SNDTIMEO, O_NONBLOCK, MSG_DONTWAIT. */
#include "scene.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

namespace rdstest
{

namespace
{

constexpr std::chrono::milliseconds brief{100};

/* The result, and whether the time was slept. */
std::string timed(const std::function<long()> &call)
{
	const auto began = std::chrono::steady_clock::now();
	rusage before = {}, after = {};

	getrusage(RUSAGE_THREAD, &before);
	/* A call that ignores its limit is interrupted. */
	const long result = interrupted(2 * soon, call);
	getrusage(RUSAGE_THREAD, &after);
	/* One that was only kept from a processor did not switch away by itself. */
	const bool slept = after.ru_nvcsw > before.ru_nvcsw &&
			   std::chrono::steady_clock::now() - began > brief / 2;

	return (result == -EINTR ? "never" : describe(result)) + (slept ? ", slept" : ", at once");
}

void addReceive(Facts &facts)
{
	using Call = std::function<long(int)>;
	static const std::pair<const char *, Call> calls[] = {
		{"recvmsg", [](int fd) { return receive(fd, 100, 0).result; }},
		{"recvmsg DONTWAIT", [](int fd) { return receive(fd, 100, MSG_DONTWAIT).result; }},
		{"peek", [](int fd) { return receive(fd, 100, MSG_PEEK).result; }},
		{"WAITALL", [](int fd) { return receive(fd, 100, MSG_WAITALL).result; }},
		{"ERRQUEUE", [](int fd) { return receive(fd, 100, MSG_ERRQUEUE).result; }},
		{"read",
		 [](int fd) {
			 char room[10];
			 return sys(read(fd, room, sizeof(room)));
		 }},
		{"readv",
		 [](int fd) {
			 char room[10];
			 iovec vector = {room, sizeof(room)};
			 return sys(readv(fd, &vector, 1));
		 }},
		{"read of nothing", [](int fd) { return sys(read(fd, nullptr, 0)); }},
		{"recvmmsg",
		 [](int fd) {
			 mmsghdr messages[2] = {};
			 return sys(recvmmsg(fd, messages, 2, 0, nullptr));
		 }},
		{"recvmmsg of none",
		 [](int fd) { return sys(recvmmsg(fd, nullptr, 0, 0, nullptr)); }},
	};

	for (const auto &[name, function] : calls) {
		const Call call = function;

		facts.at("loop own", std::string("timeout/") + name,
			 [call](const Place &place, Out &out) {
				 const Fd fd = bindRds(place.near);

				 setTimeout(fd, SO_RCVTIMEO, brief);
				 out("SO_RCVTIMEO", timed([&] { return call(fd); }));
				 setTimeout(fd, SO_RCVTIMEO, 10 * soon);
				 fcntl(fd, F_SETFL, O_NONBLOCK);
				 out("O_NONBLOCK", timed([&] { return call(fd); }));
			 });
	}
	facts.one("timeout/unbound", [] {
		const Fd fd = openRds();

		setTimeout(fd, SO_RCVTIMEO, brief);
		return timed([&] { return receive(fd, 100, 0).result; });
	});
	facts.one("timeout/SOCK_NONBLOCK", [] {
		const Fd fd = openRds(SOCK_NONBLOCK);

		return timed([&] { return receive(fd, 100, 0).result; });
	});
}

void addSend(Facts &facts)
{
	facts.at("own own6", "timeout/send, full", [](const Place &place, Out &out) {
		Full full(place);
		const auto send = [&](int flags) {
			return timed([&] { return sendText(full.fd, "x", full.silent, flags); });
		};

		out("MSG_DONTWAIT", send(MSG_DONTWAIT));
		setTimeout(full.fd, SO_SNDTIMEO, brief);
		out("SO_SNDTIMEO", send(0));
		out("SO_SNDTIMEO, MSG_DONTWAIT", send(MSG_DONTWAIT));
		out("poll", pollEvents(full.fd));
		fcntl(full.fd, F_SETFL, O_NONBLOCK);
		out("O_NONBLOCK", send(0));
		full.cancel();
		out("then", send(0));
	});
	facts.at("own own6 tcp tcp6", "timeout/send, congested", [](const Place &place, Out &out) {
		Congested scene(place);
		const auto send = [&](int flags) {
			return timed([&] { return scene.pair.send(5, flags); });
		};

		out("MSG_DONTWAIT", send(MSG_DONTWAIT));
		setTimeout(scene.pair.from, SO_SNDTIMEO, brief);
		out("SO_SNDTIMEO", send(0));
		out("SO_SNDTIMEO, MSG_DONTWAIT", send(MSG_DONTWAIT));
		fcntl(scene.pair.from, F_SETFL, O_NONBLOCK);
		out("O_NONBLOCK", send(0));
	});
}

void addValues(Facts &facts)
{
	facts.many("timeout/values", [](Out &out) {
		const Fd fd = openRds();

		for (int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
			const std::string name = option == SO_RCVTIMEO ? "receive" : "send";
			timeval time{};
			socklen_t length = sizeof(time);

			getsockopt(fd, SOL_SOCKET, option, &time, &length);
			out(name + " default",
			    std::to_string(time.tv_sec) + "." + std::to_string(time.tv_usec));
			time = {1, 1000000};
			out(name + " 1000000 us",
			    sys(setsockopt(fd, SOL_SOCKET, option, &time, sizeof(time))));
			time = {-1, 0};
			out(name + " negative",
			    sys(setsockopt(fd, SOL_SOCKET, option, &time, sizeof(time))));
			out(name + " short", sys(setsockopt(fd, SOL_SOCKET, option, &time, 4)));
		}
	});
	facts.at("loop", "timeout/recvmmsg", [](const Place &place, Out &out) {
		Pair pair(place);
		mmsghdr messages[3] = {};
		timespec time = {0, 100000000};

		pair.send(0);
		pair.send(0);
		out("two of three", timed([&] {
			    setTimeout(pair.to, SO_RCVTIMEO, brief);
			    return sys(recvmmsg(pair.to, messages, 3, 0, &time));
		    }));
		pair.send(0);
		out("WAITFORONE", timed([&] {
			    return sys(recvmmsg(pair.to, messages, 3, MSG_WAITFORONE, nullptr));
		    }));
	});
}

} // namespace

void addTimeouts(Facts &facts)
{
	addReceive(facts);
	addSend(facts);
	addValues(facts);
}

} // namespace rdstest
