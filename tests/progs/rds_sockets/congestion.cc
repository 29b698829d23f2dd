// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion between two sockets of one host. Sockets of a device's address mark their port
 * congested as the wire protocol says; loopback's need our modules' flow control (mainline's
 * loopback takes everything until there is no memory left).
 */
#include "case.h"

#include "../lib/sleeper.h"

#include <linux/rds.h>

#include <cstdio>
#include <cstring>

namespace rdstest
{

namespace
{

using std::chrono::milliseconds;

/* Sends until ENOBUFS; returns how many messages were taken. */
int fill(Pair &pair, size_t length, int limit = 100000)
{
	for (int sent = 0; sent < limit; ++sent) {
		const long result = sendText(pair.from, makePayload(length, sent), pair.target);

		if (result == -ENOBUFS)
			return sent;
		same(result, length, "send");
	}
	throw Failed("never ENOBUFS in " + std::to_string(limit) + " messages");
}

/* Reads what fill() sent and checks it. */
void drain(Pair &pair, size_t length, int count)
{
	for (int i = 0; i < count; ++i)
		want(take(pair.to, length) == makePayload(length, i),
		     "message " + std::to_string(i) + " is wrong");
	same(receive(pair.to).result, -EAGAIN, "messages that were refused must not come");
}

/* Waits until the port takes messages again. */
void sendSoon(Pair &pair, const std::string &text)
{
	want(eventually([&] { return sendText(pair.from, text, pair.target) >= 0; }),
	     "the port stays congested");
	same(take(pair.to), text, "message after congestion");
}

void fillsAndDrains(const Place &place)
{
	Pair pair(place);

	for (int round = 0; round < 3; ++round) {
		const int sent = fill(pair, 4000);

		want(sent >= 20, "congested after " + std::to_string(sent) + " messages");
		want(sent <= 1000, "congested only after " + std::to_string(sent) + " messages");
		drain(pair, 4000, sent);
		sendSoon(pair, "again");
	}
}

void otherPortsAreFree(const Place &place)
{
	Pair pair(place);
	const Fd other = bindRds(place.any);

	fill(pair, 8000);
	same(sendText(pair.from, "hello", localAddress(other)), 5, "send to another port");
	same(take(other), "hello", "message");
}

/*
 * Ours must be silent until something changes. Mainline also reports congestion that has
 * nothing to do with the port (maps of other hosts, whenever one of their eight paths comes
 * up), and a look with poll() in between makes it forget to wake the next one.
 */
void silentSoFar(const Place &place, const Fd &fd)
{
	if (!place.ours)
		return;
	pollEvents(fd); /* what happened before may count once */
	want(!waitFor(fd, POLLIN, milliseconds(0)), "readable although nothing changed");
}

void pollTellsWithoutMonitor(const Place &place)
{
	Pair pair(place);
	const int sent = fill(pair, 4000);

	silentSoFar(place, pair.from);
	drain(pair, 4000, sent);
	want(waitFor(pair.from, POLLIN), "poll is not told that congestion is over");
	sendSoon(pair, "again");
}

/* Reads notifications until one has the bit of the port. */
void notified(Pair &pair)
{
	uint64_t seen = 0;
	const bool told = eventually([&] {
		waitFor(pair.from, POLLIN, milliseconds(1000));
		const Received got = receive(pair.from);
		const ControlMessage *message = got.find(SOL_RDS, RDS_CMSG_CONG_UPDATE);

		if (got.result == -EAGAIN)
			return false;
		same(got.result, 0, "recvmsg of the notification");
		want(message, "no RDS_CMSG_CONG_UPDATE");
		same(message->data.size(), sizeof(uint64_t), "size of the mask");
		seen |= message->as<uint64_t>();
		return (seen & RDS_CONG_MONITOR_MASK(pair.target.port())) != 0;
	});

	want(told, seen ? "the bit of the port is never in the mask" : "no notification");
}

void monitorTells(const Place &place)
{
	Pair pair(place);

	same(setOption(pair.from, SOL_RDS, RDS_CONG_MONITOR, 1), 0, "CONG_MONITOR");
	const int sent = fill(pair, 4000);
	silentSoFar(place, pair.from);
	drain(pair, 4000, sent);
	want(waitFor(pair.from, POLLIN), "poll is not told that congestion is over");
	notified(pair);
	silentSoFar(place, pair.from);
	sendSoon(pair, "again");
}

void notificationBeforeData(const Place &place)
{
	Pair pair(place);

	setOption(pair.from, SOL_RDS, RDS_CONG_MONITOR, 1);
	const int sent = fill(pair, 4000);
	drain(pair, 4000, sent);
	/* There is no data yet: what makes it readable is a notification. */
	want(waitFor(pair.from, POLLIN), "poll is not told that congestion is over");
	sendText(pair.to, "data", localAddress(pair.from));
	Received got = receiveSoon(pair.from);
	want(got.find(SOL_RDS, RDS_CMSG_CONG_UPDATE), "the data comes before the notification");
	while (got.find(SOL_RDS, RDS_CMSG_CONG_UPDATE))
		got = receiveSoon(pair.from); /* mainline may tell more than once */
	same(got.data, "data", "then the data");
}

void maskSelectsPorts(const Place &place)
{
	Pair pair(place);
	const uint64_t others = ~RDS_CONG_MONITOR_MASK(pair.target.port());

	/* Ports that the mask leaves out are not reported, unless ENOBUFS adds them. */
	same(sys(setsockopt(pair.from, SOL_RDS, RDS_CONG_MONITOR, &others, sizeof(others))), 0,
	     "CONG_MONITOR with a mask");
	uint64_t mask = 0;
	socklen_t length = sizeof(mask);
	same(sys(getsockopt(pair.from, SOL_RDS, RDS_CONG_MONITOR, &mask, &length)), 0, "get");
	want(mask == others, "the mask reads back differently");
}

void drainWakesSender(const Place &place)
{
	Pair pair(place);
	const int sent = fill(pair, 4000);
	Sleeper sleeper([&] { return sendText(pair.from, "waited", pair.target, 0); });

	for (int i = 0; i < sent; ++i)
		take(pair.to);
	same(sleeper.result(), 6, "the blocked send");
	same(take(pair.to), "waited", "message");
}

void closeWakesSender(const Place &place)
{
	Pair pair(place);

	fill(pair, 4000);
	Sleeper sleeper([&] { return sendText(pair.from, "waited", pair.target, 0); });
	pair.to.close();
	same(sleeper.result(), 6, "the blocked send");
}

void signalEndsWait(const Place &place)
{
	Pair pair(place);

	fill(pair, 4000);
	Sleeper::handleSignal(0);
	Sleeper sleeper([&] { return sendText(pair.from, "waited", pair.target, 0); });
	sleeper.signal();
	same(sleeper.result(), -EINTR, "the blocked send");
}

void timeoutEndsWait(const Place &place)
{
	Pair pair(place);

	fill(pair, 4000);
	setTimeout(pair.from, SO_SNDTIMEO, milliseconds(100));
	same(interrupted(std::chrono::seconds(5),
			 [&] { return sendText(pair.from, "x", pair.target, 0); }),
	     -ETIMEDOUT, "blocking send to a congested port");
}

/* Memory that nothing can take back: MemTotal - MemAvailable, in KiB. */
long usedMemory()
{
	FILE *file = std::fopen("/proc/meminfo", "r");
	long total = 0, available = 0;
	char line[128];

	while (file && std::fgets(line, sizeof(line), file)) {
		std::sscanf(line, "MemTotal: %ld", &total);
		std::sscanf(line, "MemAvailable: %ld", &available);
	}
	if (file)
		std::fclose(file);
	return total - available;
}

/* Floods a socket that nobody reads; the kernel must stop that long before the limit. */
void flood(const Place &place, size_t length, int limit)
{
	Pair pair(place);
	const long before = usedMemory();
	const std::string payload = makePayload(length, 1);
	int sent = 0;
	long result;

	do
		result = sendText(pair.from, payload, pair.target);
	while (result >= 0 && ++sent < limit);
	want(result == -ENOBUFS || result == -EAGAIN,
	     "after " + std::to_string(sent) + " messages: " + describe(result));
	const long grown = usedMemory() - before;
	want(grown < 32 * 1024, "memory grew by " + std::to_string(grown) + " KiB");
	for (int i = 0; i < sent; ++i)
		want(take(pair.to, length) == payload,
		     "message " + std::to_string(i) + " is wrong");
	same(receive(pair.to).result, -EAGAIN, "no more than what was accepted");
	sendSoon(pair, "again");
}

void floodEmpty(const Place &place)
{
	flood(place, 0, 1000000);
}

void floodSmall(const Place &place)
{
	flood(place, 64, 1000000);
}

void floodBig(const Place &place)
{
	flood(place, 100000, 10000);
}

void floodItself(const Place &place)
{
	const Fd fd = bindRds(place.any);
	const Address self = localAddress(fd);
	int sent = 0;
	long result;

	do
		result = sendText(fd, "myself", self);
	while (result >= 0 && ++sent < 1000000);
	want(result == -ENOBUFS || result == -EAGAIN, "flooding oneself: " + describe(result));
	for (int i = 0; i < sent; ++i)
		same(take(fd), "myself", "message");
	want(eventually([&] { return sendText(fd, "myself", self) >= 0; }), "stays congested");
}

void floodByMany(const Place &place)
{
	Pair pair(place);
	const long before = usedMemory();
	long accepted = 0;

	for (int i = 0; i < 200; ++i) {
		const Fd fd = bindRds(place.any);
		int sent = 0;

		while (sent < 100000 && sendText(fd, std::string(100, 'x'), pair.target) >= 0)
			++sent;
		want(sent < 100000, "sender " + std::to_string(i) + " is never refused");
		accepted += sent;
	}
	const long grown = usedMemory() - before;
	want(grown < 64 * 1024, "memory grew by " + std::to_string(grown) + " KiB");
	for (long i = 0; i < accepted; ++i) {
		/* Messages of closed senders may have been cancelled, but none may be broken. */
		const Received got = receive(pair.to);

		if (got.result == -EAGAIN)
			break;
		same(got.result, 100, "message");
	}
}

void slowReader(const Place &place)
{
	Pair pair(place);
	int received = 0;
	const int total = 3000;
	std::thread sender([&] {
		for (int i = 0; i < total; ++i)
			sendText(pair.from, std::to_string(i) + std::string(1000, '.'), pair.target,
				 0);
	});

	while (received < total) {
		/* In bursts, so that the queue runs full again and again. */
		if (received % 500 == 0)
			std::this_thread::sleep_for(milliseconds(20));
		const std::string text = take(pair.to);
		if (text != std::to_string(received) + std::string(1000, '.'))
			break;
		++received;
	}
	/* A sender that still waits finds room when the socket is closed. */
	pair.to.close();
	sender.join();
	same(received, total, "messages in order");
}

} // namespace

void addCongestion(Cases &cases)
{
	cases.add("congestion: fills and drains", Where::tcp, fillsAndDrains);
	cases.add("congestion: other ports are free", Where::tcp, otherPortsAreFree);
	cases.add("congestion: poll tells when it is over", Where::tcp, pollTellsWithoutMonitor);
	cases.add("congestion: the monitor tells when it is over", Where::tcp, monitorTells);
	cases.add("congestion: notification before data", Where::tcp, notificationBeforeData);
	cases.add("congestion: reading wakes a blocked sender", Where::tcp, drainWakesSender);
	cases.add("congestion: closing wakes a blocked sender", Where::tcp, closeWakesSender);
	cases.add("congestion: a signal ends the wait", Where::tcp, signalEndsWait);
	cases.add("congestion: slow reader, blocking sender", Where::tcp, slowReader);
	cases.addOurs("congestion: SO_SNDTIMEO ends the wait", Where::tcp, timeoutEndsWait);
	cases.addOurs("congestion: monitor mask", Where::anywhere, maskSelectsPorts);
	cases.addOurs("flow control: empty messages", Where::anywhere, floodEmpty);
	cases.addOurs("flow control: small messages", Where::anywhere, floodSmall);
	cases.addOurs("flow control: big messages", Where::anywhere, floodBig);
	cases.addOurs("flow control: flooding oneself", Where::anywhere, floodItself);
	cases.addOurs("flow control: 200 senders", Where::anywhere, floodByMany);
	cases.addOurs("flow control: slow reader, blocking sender", Where::anywhere, slowReader);
}

} // namespace rdstest
