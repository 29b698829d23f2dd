// SPDX-License-Identifier: GPL-2.0
/* poll and select: the events of each state of a socket, by all masks, and what wakes them. */
#include "scene.h"

#include <linux/rds.h>
#include <signal.h>
#include <sys/select.h>

namespace rdstest
{

namespace
{

constexpr short allEvents =
	POLLIN | POLLOUT | POLLRDNORM | POLLRDBAND | POLLWRNORM | POLLWRBAND | POLLPRI | POLLRDHUP;

/* The sets of select that hold the socket, "read+write". */
std::string selected(int fd)
{
	fd_set sets[3];
	timeval none{};
	std::string text;

	for (fd_set &set : sets) {
		FD_ZERO(&set);
		FD_SET(fd, &set);
	}
	const long got = sys(select(fd + 1, &sets[0], &sets[1], &sets[2], &none));

	for (int i = 0; got > 0 && i < 3; ++i) {
		static const char *const names[] = {"read", "write", "except"};

		if (FD_ISSET(fd, &sets[i]))
			text += (text.empty() ? "" : "+") + std::string(names[i]);
	}
	return got > 0 ? text : describe(got);
}

void tell(Out &out, const std::string &state, int fd)
{
	out(state, pollEvents(fd));
	out(state + "/select", selected(fd));
}

void addStates(Facts &facts)
{
	facts.many("poll/unbound", [](Out &out) { tell(out, "state", openRds()); });
	facts.at("loop loop6 own own6 tcp tcp6", "poll/states", [](const Place &place, Out &out) {
		Pair pair(place);

		tell(out, "bound", pair.from);
		connect(pair.from, pair.target.get(), pair.target.length());
		tell(out, "connected", pair.from);
		pair.warm();
		tell(out, "after a message", pair.from);
		pair.send();
		out("waited for", polled(pair.to, POLLIN));
		tell(out, "message waits", pair.to);
		receive(pair.to);
		tell(out, "read", pair.to);
		pair.send(0);
		out("empty waited for", polled(pair.to, POLLIN));
		tell(out, "empty message waits", pair.to);
		receive(pair.to, 100, MSG_PEEK | MSG_DONTWAIT);
		tell(out, "peeked", pair.to);
		pair.to.close();
		tell(out, "peer closed", pair.from);
	});
	facts.at("own own6", "poll/full", [](const Place &place, Out &out) {
		Full full(place);

		tell(out, "full", full.fd);
		sendText(full.fd, "own", localAddress(full.fd));
		tell(out, "full, own message", full.fd);
		full.cancel();
		tell(out, "cancelled", full.fd);
		setOption(full.fd, SOL_RDS, RDS_CONG_MONITOR, 1);
		tell(out, "monitor", full.fd);
		setOption(full.fd, SOL_SOCKET, SO_ZEROCOPY, 1);
		tell(out, "zerocopy", full.fd);
	});
}

void addMasks(Facts &facts)
{
	facts.at("loop", "poll/mask", [](const Place &place, Out &out) {
		for (int message = 0; message < 2; ++message) {
			Pair pair(place);

			pair.warm();
			if (message)
				pair.send();
			for (short event :
			     {POLLIN, POLLPRI, POLLOUT, POLLERR, POLLHUP, POLLNVAL, POLLRDNORM,
			      POLLRDBAND, POLLWRNORM, POLLWRBAND, POLLRDHUP, 0}) {
				const auto none = std::chrono::milliseconds(0);

				out((message ? "message/" : "idle/") +
					    eventNames(static_cast<unsigned short>(event)),
				    polled(pair.to, event, none));
			}
		}
	});
}

/* A poll that sleeps for one event, and then a message comes. */
void addWakes(Facts &facts)
{
	facts.at("loop own tcp tcp6", "poll/woken by a message", [](const Place &place, Out &out) {
		for (short event : {POLLIN, POLLRDNORM, POLLPRI, POLLRDBAND, POLLRDHUP, 0}) {
			Pair pair(place);

			pair.warm();
			Blocked sleeper([&] {
				pollfd entry = {pair.to, event, 0};

				poll(&entry, 1, 2 * soon.count());
				return static_cast<long>(entry.revents);
			});
			pair.send();
			out(eventNames(static_cast<unsigned short>(event)), sleeper.end());
		}
	});
	facts.at("own own6", "poll/woken by cancel", [](const Place &place, Out &out) {
		for (short event : {POLLOUT, POLLWRNORM, POLLWRBAND}) {
			Full full(place);
			Blocked sleeper([&] {
				pollfd entry = {full.fd, event, 0};

				poll(&entry, 1, 2 * soon.count());
				return static_cast<long>(entry.revents);
			});

			full.cancel();
			out(eventNames(static_cast<unsigned short>(event)), sleeper.end());
		}
	});
	facts.at("loop tcp", "poll/other calls", [](const Place &place, Out &out) {
		Pair pair(place);
		const timespec brief = {0, 20000000};
		sigset_t none;
		pollfd two[2] = {{pair.to, POLLIN, 0}, {pair.from, allEvents, 0}};

		pair.warm();
		sigemptyset(&none);
		two[1].events = POLLIN;
		out("ppoll, nothing", sys(ppoll(two, 2, &brief, &none)));
		out("poll, 20 ms", sys(poll(two, 2, 20)));
		pair.send();
		eventually([&] { return poll(two, 1, 0) == 1; }, soon);
		out("poll of two", sys(poll(two, 2, 20)));
		two[0].fd = two[1].fd = pair.to;
		out("the same twice", sys(poll(two, 2, 20)));
		two[0].fd = -1;
		out("poll of one and -1", sys(poll(two, 2, 20)));
		two[0].fd = 999;
		out("poll of one and none", sys(poll(two, 2, 20)));
		out("of none", eventNames(static_cast<unsigned short>(two[0].revents)));
	});
}

} // namespace

void addPoll(Facts &facts)
{
	addStates(facts);
	addMasks(facts);
	addWakes(facts);
}

} // namespace rdstest
