// SPDX-License-Identifier: GPL-2.0
/* epoll: level, edge, one-shot, exclusive, nested; readers and writers. */
#include "scene.h"

#include <linux/rds.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace rdstest
{

namespace
{

constexpr int brief = 100; /* ms: an event that is there is told at once */

/* An epoll with one socket. */
struct Watch {
	Watch(int fd, unsigned int events) : epoll(epoll_create1(0)), watched(fd)
	{
		result = control(EPOLL_CTL_ADD, events);
	}
	long control(int what, unsigned int events)
	{
		epoll_event event{};

		event.events = events;
		return sys(epoll_ctl(epoll, what, watched, &event));
	}
	/* The events that are told now, or soon. */
	std::string now(int timeout = brief)
	{
		epoll_event event{};
		const long got = sys(epoll_wait(epoll, &event, 1, timeout));

		return got == 1 ? eventNames(event.events & 0xffff) : got ? describe(got) : "never";
	}
	std::string later()
	{
		return now(soon.count());
	}
	Fd epoll;
	int watched;
	long result;
};

constexpr unsigned int reads = EPOLLIN | EPOLLRDNORM, writes = EPOLLOUT | EPOLLWRNORM;

void readers(const Place &place, Out &out, unsigned int mode)
{
	Pair pair(place);

	pair.warm();
	Watch watch(pair.to, reads | mode);
	out("add", watch.result);
	out("idle", watch.now());
	pair.send();
	out("first message", watch.later());
	out("asked again", watch.now());
	pair.send();
	out("second message", watch.now(300));
	receive(pair.to);
	out("one read", watch.now());
	receive(pair.to);
	out("both read", watch.now());
	pair.send();
	out("third message", watch.now(300));
	readAll(pair.to);
	out("modified, empty", watch.control(EPOLL_CTL_MOD, reads | mode));
	out("then", watch.now());
	pair.send();
	out("fourth message", watch.later());
	out("modified, message", watch.control(EPOLL_CTL_MOD, reads | mode));
	out("then told", watch.now());
	out("deleted", watch.control(EPOLL_CTL_DEL, 0));
	out("then silent", watch.now());
}

void addReaders(Facts &facts)
{
	static const std::pair<const char *, unsigned int> modes[] = {
		{"level", 0},
		{"edge", EPOLLET},
		{"one-shot", EPOLLONESHOT},
		{"edge one-shot", EPOLLET | EPOLLONESHOT},
		{"exclusive", EPOLLEXCLUSIVE},
		{"exclusive edge", EPOLLEXCLUSIVE | EPOLLET},
		{"wakeup", EPOLLWAKEUP},
	};

	for (const auto &[name, mode] : modes) {
		const unsigned int how = mode;

		facts.at("loop own tcp", std::string("epoll/reader/") + name,
			 [how](const Place &place, Out &out) { readers(place, out, how); });
	}
}

/* A queue that is full, has room, and is full again. */
void writers(const Place &place, Out &out, unsigned int mode)
{
	Full full(place);
	Watch watch(full.fd, writes | mode);

	out("add", watch.result);
	out("full", watch.now());
	full.cancel();
	out("cancelled", watch.later());
	out("asked again", watch.now());
	while (sendText(full.fd, std::string(1000, 'x'), full.silent) > 0)
		;
	out("full again", watch.now());
	full.cancel();
	out("cancelled again", watch.later());
}

/*
 * Fills the queue towards a reader, again and again, and waits for the edge each time: how
 * often it came. The reader reads everything when the writer has met EAGAIN.
 */
std::string edges(const Place &place, int rounds, unsigned int mode)
{
	Pair pair(place);
	int woken = 0;

	pair.warm();
	setOption(pair.from, SOL_SOCKET, SO_SNDBUF, 8192);
	Watch watch(pair.from, writes | mode);
	for (int round = 0; round < rounds; ++round) {
		while (pair.send(1000) > 0)
			readAll(pair.to);
		if (watch.now(soon.count()) == "never")
			return std::to_string(woken) + ", then never";
		readAll(pair.to);
		woken++;
	}
	return std::to_string(woken);
}

void addWriters(Facts &facts)
{
	for (unsigned int mode : {0u, static_cast<unsigned int>(EPOLLET)}) {
		const std::string name = mode ? "edge" : "level";

		facts.at("own own6", "epoll/writer/" + name,
			 [mode](const Place &place, Out &out) { writers(place, out, mode); });
		facts.at("tcp tcp6", "epoll/woken of 20/" + name,
			 [mode](const Place &place, Out &out) { out.say(edges(place, 20, mode)); });
	}
	facts.at("own", "epoll/writer/one-shot",
		 [](const Place &place, Out &out) { writers(place, out, EPOLLONESHOT); });
	facts.at("loop own", "epoll/both/edge", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		Watch watch(pair.to, EPOLLIN | EPOLLOUT | EPOLLET);
		out("added", watch.now());
		out("asked again", watch.now());
		pair.send();
		out("message", watch.later());
		pair.reply();
		out("sent itself", watch.now());
	});
}

void addOthers(Facts &facts)
{
	facts.at("loop", "epoll/nested", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		Watch inner(pair.to, reads);
		Watch outer(inner.epoll, EPOLLIN | EPOLLET);
		out("idle", outer.now());
		pair.send();
		out("message", outer.later());
		out("asked again", outer.now());
		out("inner", inner.now());
	});
	facts.at("loop", "epoll/two", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		Watch first(pair.to, reads | EPOLLET), second(pair.to, reads);
		pair.send();
		out("first", first.later());
		out("second", second.later());
	});
	facts.at("loop", "epoll/closed", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		Watch watch(pair.to, reads);
		Fd copy(dup(pair.to));
		pair.send();
		pair.to.close();
		out("a copy is open", watch.later());
		copy.close();
		out("closed", watch.now());
	});
	facts.at("loop", "epoll/wrong", [](const Place &place, Out &out) {
		Pair pair(place);
		Watch watch(pair.to, EPOLLIN | EPOLLEXCLUSIVE);

		out("modify exclusive", watch.control(EPOLL_CTL_MOD, EPOLLIN));
		out("add twice", watch.control(EPOLL_CTL_ADD, EPOLLIN));
		out("exclusive one-shot",
		    Watch(pair.from, EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT).result);
	});
}

} // namespace

void addEpoll(Facts &facts)
{
	addReaders(facts);
	addWriters(facts);
	addOthers(facts);
}

} // namespace rdstest
