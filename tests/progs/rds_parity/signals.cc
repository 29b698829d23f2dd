// SPDX-License-Identifier: GPL-2.0
/* Signals that meet a call that sleeps, with and without SA_RESTART; and SIGIO. */
#include "scene.h"

#include <linux/rds.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace rdstest
{

namespace
{

/* How a call takes a signal: its errno, or "restarted" and what it returned when it was let go. */
std::string interruptedBy(int flags, const std::function<long()> &call,
			  const std::function<void()> &release)
{
	Sleeper::handleSignal(flags);
	Blocked sleeper(call);

	sleeper.signal();
	const std::string early = sleeper.end(std::chrono::milliseconds(300));

	if (early != "never")
		return early;
	release();
	return "restarted, " + sleeper.end();
}

using Scene = std::function<std::string(int flags, bool timeout)>;

/* The call with and without SA_RESTART, and with a time limit that is far. */
void tell(Out &out, const Scene &scene)
{
	for (int flags : {0, SA_RESTART}) {
		for (bool timeout : {false, true}) {
			const std::string name = std::string(flags ? "SA_RESTART" : "plain") +
						 (timeout ? ", time limit" : "");

			out(name, scene(flags, timeout));
		}
	}
}

void limitTime(int fd)
{
	setTimeout(fd, SO_RCVTIMEO, std::chrono::seconds(20));
	setTimeout(fd, SO_SNDTIMEO, std::chrono::seconds(20));
}

void addSleeping(Facts &facts)
{
	using Call = std::function<long(int)>;
	static const std::pair<const char *, Call> calls[] = {
		{"recvmsg", [](int fd) { return receive(fd, 100, 0).result; }},
		{"peek", [](int fd) { return receive(fd, 100, MSG_PEEK).result; }},
		{"read",
		 [](int fd) {
			 char room[10];
			 return sys(read(fd, room, sizeof(room)));
		 }},
		{"recvmmsg",
		 [](int fd) {
			 mmsghdr messages[2] = {};
			 return sys(recvmmsg(fd, messages, 2, MSG_WAITFORONE, nullptr));
		 }},
		{"poll",
		 [](int fd) {
			 pollfd entry = {fd, POLLIN, 0};
			 return sys(poll(&entry, 1, -1));
		 }},
	};

	for (const auto &[name, function] : calls) {
		const Call call = function;

		facts.at("loop tcp", std::string("signal/") + name,
			 [call](const Place &place, Out &out) {
				 tell(out, [&](int flags, bool timeout) {
					 Pair pair(place);

					 pair.warm();
					 if (timeout)
						 limitTime(pair.to);
					 return interruptedBy(
						 flags, [&] { return call(pair.to); },
						 [&] { pair.send(); });
				 });
			 });
	}
	facts.at("own own6", "signal/send, full", [](const Place &place, Out &out) {
		tell(out, [&](int flags, bool timeout) {
			Full full(place);

			if (timeout)
				limitTime(full.fd);
			return interruptedBy(
				flags, [&] { return sendText(full.fd, "x", full.silent, 0); },
				[&] { full.cancel(); });
		});
	});
	facts.at("own tcp", "signal/send, congested", [](const Place &place, Out &out) {
		tell(out, [&](int flags, bool timeout) {
			Congested scene(place);

			if (timeout)
				limitTime(scene.pair.from);
			return interruptedBy(
				flags, [&] { return scene.pair.send(5, 0); },
				[&] { scene.drain(); });
		});
	});
	facts.at("own", "signal/refused message", [](const Place &place, Out &out) {
		Full full(place);

		Sleeper::handleSignal(0);
		Blocked sleeper([&] { return sendText(full.fd, "lost", full.silent, 0); });
		sleeper.signal();
		out("send", sleeper.end());
		full.cancel();
		int room = 0;
		while (sendText(full.fd, std::string(1000, 'x'), full.silent) > 0)
			room++;
		out("room as before", room == full.accepted ? "yes" : "no");
	});
}

std::atomic<int> ioCount, ioBand, ioFd;

void onIo(int, siginfo_t *info, void *)
{
	ioBand |= info->si_band;
	ioFd = info->si_fd;
	ioCount++;
}

void listenForIo(int fd, int number, bool ask)
{
	struct sigaction action {
	};

	ioCount = ioBand = 0;
	ioFd = -1;
	action.sa_sigaction = onIo;
	action.sa_flags = SA_SIGINFO | SA_RESTART;
	sigaction(SIGIO, &action, nullptr);
	sigaction(SIGRTMIN, &action, nullptr);
	fcntl(fd, F_SETOWN, getpid());
	if (number)
		fcntl(fd, F_SETSIG, number);
	if (ask)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
}

std::string ioCame(int fd)
{
	eventually([&] { return ioCount > 0; }, soon);
	if (!ioCount)
		return "never";
	return "came, band " + eventNames(ioBand) +
	       (ioFd == fd   ? ", fd"
		: ioFd == -1 ? ""
			     : ", no fd");
}

void addIo(Facts &facts)
{
	for (int real : {0, 1}) {
		const std::string name = real ? "F_SETSIG" : "SIGIO";

		facts.at("loop own tcp", "signal/readable, " + name,
			 [real](const Place &place, Out &out) {
				 Pair pair(place);

				 pair.warm();
				 listenForIo(pair.to, real ? SIGRTMIN : 0, true);
				 pair.send();
				 out("first", ioCame(pair.to));
				 readAll(pair.to);
				 ioCount = 0;
				 pair.send();
				 out("second", ioCame(pair.to));
				 ioCount = 0;
				 pair.send();
				 out("unread before", ioCame(pair.to));
			 });
		facts.at("own", "signal/writable, " + name, [real](const Place &place, Out &out) {
			Full full(place);

			listenForIo(full.fd, real ? SIGRTMIN : 0, true);
			sendText(full.fd, "x", full.silent);
			full.cancel();
			out("after EAGAIN", ioCame(full.fd));
		});
	}
	facts.at("own tcp", "signal/congestion clears", [](const Place &place, Out &out) {
		Congested scene(place, true);

		listenForIo(scene.pair.from, SIGRTMIN, true);
		scene.pair.send();
		scene.drain();
		out.say(ioCame(scene.pair.from));
	});
	facts.at("loop", "signal/owner", [](const Place &place, Out &out) {
		Pair pair(place);
		int on = 1, pid = getpid(), owner = 0;

		out("F_GETOWN unset", sys(fcntl(pair.to, F_GETOWN)));
		out("FIOSETOWN", sys(ioctl(pair.to, FIOSETOWN, &pid)));
		out("SIOCGPGRP", sys(ioctl(pair.to, SIOCGPGRP, &owner)));
		out("owner", owner == pid ? "this process" : "another");
		listenForIo(pair.to, SIGRTMIN, false);
		pair.send();
		out("not asked for", ioCame(pair.to));
		readAll(pair.to);
		out("FIOASYNC", sys(ioctl(pair.to, FIOASYNC, &on)));
		out("O_ASYNC", fcntl(pair.to, F_GETFL) & O_ASYNC ? "set" : "not set");
		pair.send();
		out("asked for", ioCame(pair.to));
	});
}

} // namespace

void addSignals(Facts &facts)
{
	addSleeping(facts);
	addIo(facts);
}

} // namespace rdstest
