// SPDX-License-Identifier: GPL-2.0
/* Several threads wait for one socket: how many of them one message, or some room, wakes. */
#include "scene.h"

#include <linux/rds.h>
#include <sys/epoll.h>

#include <algorithm>

namespace rdstest
{

namespace
{

constexpr int crowd = 3;

using Threads = std::vector<std::unique_ptr<Blocked>>;

Threads makeThreads(const std::function<long(int)> &call)
{
	Threads threads;

	for (int i = 0; i < crowd; ++i)
		threads.push_back(std::make_unique<Blocked>([call, i] { return call(i); }));
	return threads;
}

int countDone(const Threads &threads)
{
	return std::count_if(threads.begin(), threads.end(),
			     [](const auto &thread) { return thread->done(); });
}

/* How many end: at least those wanted, and whoever else within a moment. */
long endSoon(const Threads &threads, int wanted)
{
	eventually([&] { return countDone(threads) >= wanted; }, soon);
	eventually([&] { return countDone(threads) > wanted; }, std::chrono::milliseconds(300));
	return countDone(threads);
}

void addReaders(Facts &facts)
{
	facts.at("loop own tcp", "waiters/recv", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		const Threads threads = makeThreads([&](int) {
			char room[100];

			return sys(recv(pair.to, room, sizeof(room), 0));
		});
		pair.send();
		out("of 3 by one message", endSoon(threads, 1));
		pair.send();
		pair.send();
		out("of 3 by three messages", endSoon(threads, 3));
	});
	facts.at("loop own tcp", "waiters/poll", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		const Threads threads = makeThreads([&](int) {
			pollfd entry = {pair.to, POLLIN, 0};

			return sys(poll(&entry, 1, 8000));
		});
		pair.send();
		out("of 3 by one message", endSoon(threads, 3));
	});
}

long waitOne(int epoll)
{
	epoll_event event{};

	return sys(epoll_wait(epoll, &event, 1, 8000));
}

/* Each thread has an epoll of its own with the same socket. */
void ownEpolls(const Place &place, Out &out, unsigned int mode)
{
	Pair pair(place);
	std::vector<Fd> epolls;

	pair.warm();
	for (int i = 0; i < crowd; ++i) {
		epoll_event event{};

		event.events = EPOLLIN | mode;
		epolls.emplace_back(epoll_create1(0));
		epoll_ctl(epolls.back(), EPOLL_CTL_ADD, pair.to, &event);
	}
	const Threads threads = makeThreads([&](int i) { return waitOne(epolls[i]); });
	pair.send();
	out("of 3 by one message", endSoon(threads, mode & EPOLLEXCLUSIVE ? 1 : 3));
	pair.send();
	out("of 3 by one more, unread", endSoon(threads, 3));
	readAll(pair.to);
	pair.send();
	pair.send();
	pair.send();
	out("of 3 by three more", endSoon(threads, 3) > 1 ? "several" : "one");
}

/* All threads in one epoll. */
void sharedEpoll(const Place &place, Out &out, unsigned int mode)
{
	Pair pair(place);
	epoll_event event{};
	const Fd epoll(epoll_create1(0));

	pair.warm();
	event.events = EPOLLIN | mode;
	epoll_ctl(epoll, EPOLL_CTL_ADD, pair.to, &event);
	const Threads threads = makeThreads([&](int) { return waitOne(epoll); });
	pair.send();
	const long woken = endSoon(threads, 1);
	/* A level that stays is passed on to the next thread. */
	out("of 3 by one message", mode ? describe(woken) : woken ? "some" : "none");
}

void addEpolls(Facts &facts)
{
	static const std::pair<const char *, unsigned int> modes[] = {
		{"level", 0},
		{"edge", EPOLLET},
		{"exclusive", EPOLLEXCLUSIVE},
		{"exclusive edge", EPOLLEXCLUSIVE | EPOLLET},
	};

	for (const auto &[name, mode] : modes) {
		const unsigned int how = mode;

		facts.at("loop tcp", std::string("waiters/epolls/") + name,
			 [how](const Place &place, Out &out) { ownEpolls(place, out, how); });
		if (!(mode & EPOLLEXCLUSIVE))
			facts.at("loop tcp", std::string("waiters/shared epoll/") + name,
				 [how](const Place &place, Out &out) {
					 sharedEpoll(place, out, how);
				 });
	}
}

void addWriters(Facts &facts)
{
	facts.at("own own6", "waiters/send, full", [](const Place &place, Out &out) {
		Full full(place);
		const Threads threads = makeThreads([&](int) {
			return sendText(full.fd, std::string(1000, 'x'), full.silent, 0);
		});

		full.cancel();
		out("of 3 by cancel", endSoon(threads, 3));
	});
	facts.at("own own6", "waiters/poll, full", [](const Place &place, Out &out) {
		Full full(place);
		const Threads threads = makeThreads([&](int) {
			pollfd entry = {full.fd, POLLOUT, 0};

			return sys(poll(&entry, 1, 8000));
		});

		full.cancel();
		out("of 3 by cancel", endSoon(threads, 3));
	});
	facts.at("own tcp tcp6", "waiters/send, congested", [](const Place &place, Out &out) {
		Congested scene(place);
		const Threads threads = makeThreads([&](int) { return scene.pair.send(10, 0); });

		scene.drain();
		out("of 3 by reading", endSoon(threads, 3));
		out("messages", readAll(scene.pair.to) >= 0 ? "read" : "none");
	});
	/* Three sockets, each with a sender of its own, and one full receiver. */
	facts.at("own tcp", "waiters/sockets, congested", [](const Place &place, Out &out) {
		Congested scene(place);
		std::vector<Fd> sockets;

		for (int i = 0; i < crowd; ++i)
			sockets.push_back(bindRds(place.near));
		const Threads threads = makeThreads([&](int i) {
			return sendText(sockets[i], "waited", scene.pair.target, 0);
		});
		out("asleep", crowd - countDone(threads));
		scene.pair.to.close();
		out("of 3 by close", endSoon(threads, 3));
	});
	/* One message does not wake those who wait for room, nor the other way round. */
	facts.at("own", "waiters/reader and writer", [](const Place &place, Out &out) {
		Full full(place);
		Blocked reader([&] { return receive(full.fd, 100, 0).result; });
		Blocked writer([&] { return sendText(full.fd, "room", full.silent, 0); });

		Fd other = bindRds(place.near);
		sendText(other, "hello", localAddress(full.fd));
		out("reader by message", reader.end());
		out("writer by message", writer.end(std::chrono::milliseconds(300)));
		full.cancel();
		out("writer by cancel", writer.end());
	});
}

} // namespace

void addWaiters(Facts &facts)
{
	addReaders(facts);
	addEpolls(facts);
	addWriters(facts);
}

} // namespace rdstest
