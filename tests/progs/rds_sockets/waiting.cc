// SPDX-License-Identifier: GPL-2.0
/* Waiting for messages: poll, epoll, select, timeouts, signals. */
#include "case.h"

#include "../lib/sleeper.h"

#include <poll.h>
#include <pthread.h>
#include <linux/rds.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

namespace rdstest
{

namespace
{

using std::chrono::milliseconds;

void wakesRecv(const Place &place)
{
	Pair pair(place);
	Sleeper sleeper([&] { return receive(pair.to, 100, 0).result; });

	pair.send("hello");
	same(sleeper.result(), 5, "recvmsg");
}

void wakesPoll(const Place &place)
{
	Pair pair(place);

	pollEvents(pair.to);
	Sleeper sleeper([&] { return long{waitFor(pair.to, POLLIN, milliseconds(20000))}; });
	pair.send("");
	same(sleeper.result(), 1, "poll");
}

void epollLevel(const Place &place)
{
	Pair pair(place);
	const Fd epoll(epoll_create1(0));
	epoll_event event{}, got{};

	pollEvents(pair.to);
	event.events = EPOLLIN;
	event.data.u64 = 4711;
	epoll_ctl(epoll, EPOLL_CTL_ADD, pair.to, &event);
	epoll_wait(epoll, &got, 1, 0); /* the congestion generation may count once */
	same(epoll_wait(epoll, &got, 1, 0), 0, "epoll of an empty socket");
	pair.send("one");
	pair.send("two");
	for (int i = 0; i < 2; ++i) {
		same(epoll_wait(epoll, &got, 1, 10000), 1, "epoll with a message");
		same(got.data.u64, 4711, "epoll's data");
		want(got.events & EPOLLIN, "EPOLLIN is not set");
		take(pair.to);
	}
	same(epoll_wait(epoll, &got, 1, 0), 0, "epoll of a drained socket");
}

void epollEdge(const Place &place)
{
	Pair pair(place);
	const Fd epoll(epoll_create1(0));
	epoll_event event{}, got{};

	pollEvents(pair.to);
	event.events = EPOLLIN | EPOLLRDNORM | EPOLLET;
	epoll_ctl(epoll, EPOLL_CTL_ADD, pair.to, &event);
	epoll_wait(epoll, &got, 1, 0);
	for (int i = 0; i < 5; ++i) {
		pair.send(std::to_string(i));
		same(epoll_wait(epoll, &got, 1, 10000), 1, "an edge for a message");
		same(take(pair.to), std::to_string(i), "message");
		same(epoll_wait(epoll, &got, 1, 0), 0, "an edge for nothing");
	}
}

void selects(const Place &place)
{
	Pair pair(place);
	fd_set readable, writable;
	timeval timeout = {10, 0};

	pollEvents(pair.to);
	pair.send("hello");
	FD_ZERO(&readable);
	FD_ZERO(&writable);
	FD_SET(pair.to, &readable);
	FD_SET(pair.to, &writable);
	same(select(pair.to + 1, &readable, &writable, nullptr, &timeout), 2, "select");
	want(FD_ISSET(pair.to, &readable), "select: not readable");
	want(FD_ISSET(pair.to, &writable), "select: not writable");
}

/* By the ticks in which the kernel counts timeouts: where one comes late, both are late. */
milliseconds ticked()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return milliseconds(now.tv_sec * 1000 + now.tv_nsec / 1'000'000);
}

void receiveTimeout(const Place &place)
{
	const Fd fd = bindRds(place.any);

	setTimeout(fd, SO_RCVTIMEO, milliseconds(1000));

	const milliseconds began = ticked();

	same(receive(fd, 100, 0).result, -ETIMEDOUT, "recvmsg");
	want(ticked() - began >= milliseconds(990), "it waited for less");
	/* MSG_DONTWAIT goes before the timeout. */
	same(receive(fd, 100, MSG_DONTWAIT).result, -EAGAIN, "recvmsg, MSG_DONTWAIT");
}

void sendTimeout(const Place &place)
{
	const Fd fd = bindRds(place.any);
	const std::string payload(32768, 'x');
	const Address to = place.absent.port(4000);

	while (sendText(fd, payload, to) >= 0)
		;
	same(sendText(fd, payload, to), -EAGAIN, "the queue is full");
	want(!waitFor(fd, POLLOUT, milliseconds(0)), "a full queue is not writable");
	same(sys(setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, to.get(), to.length())), 0, "cancel");
	want(waitFor(fd, POLLOUT, milliseconds(0)), "an emptied queue is writable");
}

void wakesSender(const Place &place)
{
	const Fd fd = bindRds(place.any);
	const std::string payload(32768, 'x');
	const Address to = place.absent.port(4000);

	while (sendText(fd, payload, to) >= 0)
		;
	Sleeper sleeper([&] { return sendText(fd, payload, to, 0); });
	same(sys(setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, to.get(), to.length())), 0, "cancel");
	same(sleeper.result(), payload.size(), "the blocked send");
}

void signalInterrupts(const Place &place)
{
	const Fd fd = bindRds(place.any);

	Sleeper::handleSignal(0);
	Sleeper sleeper([&] { return receive(fd, 100, 0).result; });
	sleeper.signal();
	same(sleeper.result(), -EINTR, "recvmsg");
}

void signalRestarts(const Place &place)
{
	Pair pair(place);

	Sleeper::handleSignal(SA_RESTART);
	Sleeper sleeper([&] { return receive(pair.to, 100, 0).result; });
	for (int i = 0; i < 3; ++i)
		sleeper.signal();
	pair.send("hello");
	same(sleeper.result(), 5, "recvmsg");
}

void closeWhileBlocked(const Place &place)
{
	Pair pair(place);
	const int fd = pair.to.release();
	Sleeper sleeper([&] { return receive(fd, 100, 0).result; });

	/* As with other sockets the file lives until the call is over. */
	close(fd);
	pair.send("hello");
	same(sleeper.result(), 5, "recvmsg on a closed descriptor");
	want(eventually([&] {
		     const Fd again = openRds();
		     return bind(again, pair.target.get(), pair.target.length()) == 0;
	     }),
	     "the port is not free again");
}

} // namespace

void addWaiting(Cases &cases)
{
	cases.add("a message wakes recvmsg", Where::anywhere, wakesRecv);
	cases.add("an empty message wakes poll", Where::anywhere, wakesPoll);
	cases.add("epoll, level", Where::anywhere, epollLevel);
	cases.add("epoll, edge", Where::anywhere, epollEdge);
	cases.add("select", Where::anywhere, selects);
	cases.add("SO_RCVTIMEO", Where::anywhere, receiveTimeout);
	cases.add("full send queue and POLLOUT", Where::tcp, sendTimeout);
	cases.addOurs("room wakes a blocked sender", Where::tcp, wakesSender);
	cases.add("a signal interrupts recvmsg", Where::anywhere, signalInterrupts);
	cases.add("a signal restarts recvmsg", Where::anywhere, signalRestarts);
	cases.add("close while blocked", Where::anywhere, closeWhileBlocked);
}

} // namespace rdstest
