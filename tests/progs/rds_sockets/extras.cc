// SPDX-License-Identifier: GPL-2.0
/* Control messages with data, type of service, cancelling, zero copy. */
#include "case.h"

#include "../lib/info.h"

#include <linux/rds.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <linux/sockios.h>

#include <chrono>
#include <cstring>
#include <set>

namespace rdstest
{

namespace
{

long long micros(const timeval &time)
{
	return time.tv_sec * 1000000LL + time.tv_usec;
}

timeval now()
{
	timeval time;

	gettimeofday(&time, nullptr);
	return time;
}

void timestamp(const Place &place)
{
	Pair pair(place);

	same(setOption(pair.to, SOL_SOCKET, SO_TIMESTAMP, 1), 0, "SO_TIMESTAMP");
	const timeval before = now();
	pair.send("hello");
	want(waitFor(pair.to, POLLIN), "no message");
	const Received got = receive(pair.to);
	const timeval after = now();
	const ControlMessage *message = got.find(SOL_SOCKET, SO_TIMESTAMP);

	want(message, "no timestamp");
	same(message->data.size(), sizeof(timeval), "size of the timestamp");
	const timeval stamp = message->as<timeval>();
	want(micros(before) <= micros(stamp) && micros(stamp) <= micros(after),
	     "the timestamp is not between send and receive");
	setOption(pair.to, SOL_SOCKET, SO_TIMESTAMP, 0);
	pair.send("hello");
	want(!receiveSoon(pair.to).find(SOL_SOCKET, SO_TIMESTAMP), "a timestamp that nobody wants");
}

void timestampNew(const Place &place)
{
	constexpr int stampNew = 63; /* SO_TIMESTAMP_NEW */
	Pair pair(place);

	same(setOption(pair.to, SOL_SOCKET, stampNew, 1), 0, "SO_TIMESTAMP_NEW");
	pair.send("hello");
	const Received got = receiveSoon(pair.to);
	const ControlMessage *message = got.find(SOL_SOCKET, stampNew);
	want(message, "no timestamp");
	same(message->data.size(), 16, "size of the timestamp");
}

void timestampAtRdsLevel(const Place &place)
{
	Pair pair(place);

	same(setOption(pair.to, SOL_RDS, SO_TIMESTAMP, 1), 0, "SO_TIMESTAMP at SOL_RDS");
	pair.send("hello");
	want(receiveSoon(pair.to).find(SOL_SOCKET, SO_TIMESTAMP), "no timestamp");
}

/* A name has nothing but family, address and port: flow, scope and what fills up are 0. */
void wholeNames(const Place &place)
{
	Pair pair(place);
	const auto whole = [](const Address &name, const Address &wanted) {
		return name.length() == wanted.length() &&
		       !memcmp(name.get(), wanted.get(), wanted.length());
	};
	const Address from = place.any.port(localAddress(pair.from).port());

	want(whole(localAddress(pair.from), from), "getsockname says more");
	pair.send("hello");
	want(whole(receiveSoon(pair.to).from, from), "recvmsg says more of the sender");
}

int64_t nanoseconds()
{
	return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

constexpr int64_t unread = 5000000; /* ns that a traced message waits for its reader */

/* The trace that comes with a message after asking for these points, and how long all took. */
rds_cmsg_rx_trace traceFor(const Place &place, const rds_rx_trace_so &wanted, int64_t &took)
{
	Pair pair(place);

	same(sys(setsockopt(pair.to, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &wanted, sizeof(wanted))),
	     0, "RXPATH_LATENCY");
	const int64_t began = nanoseconds();
	pair.send("hello");
	want(waitFor(pair.to, POLLIN), "nothing came");
	for (const int64_t there = nanoseconds(); nanoseconds() < there + unread;)
		;
	const Received got = receiveSoon(pair.to);
	took = nanoseconds() - began;
	const ControlMessage *message = got.find(SOL_RDS, RDS_CMSG_RXPATH_LATENCY);
	want(message, "no trace");
	same(message->data.size(), sizeof(rds_cmsg_rx_trace), "size of the trace");
	return message->as<rds_cmsg_rx_trace>();
}

void rxTrace(const Place &place)
{
	int64_t took;
	const rds_cmsg_rx_trace all = traceFor(place, {3, {0, 1, 2}}, took);
	same(all.rx_traces, 3, "points");
	for (int i = 0; i < 3; ++i) {
		same(all.rx_trace_pos[i], i, "position");
		/* Mainline's loopback counts from the boot. Clocks of two CPUs may differ a little.
		 */
		const auto span = static_cast<int64_t>(all.rx_trace[i]);
		want(!place.ours || (span > -unread && span < took), "longer than all took");
	}
	want(!place.ours || static_cast<int64_t>(all.rx_trace[2]) > unread / 2,
	     "it was not read at once");
	const rds_cmsg_rx_trace one = traceFor(place, {1, {2, 0, 0}}, took);
	want(!place.ours || static_cast<int64_t>(one.rx_trace[0]) > unread / 2,
	     "of one point alone");
	same(one.rx_traces, 1, "points");
	same(one.rx_trace_pos[0], 2, "position");
}

void rxTraceOff(const Place &place)
{
	Pair pair(place);

	pair.send("hello");
	want(receiveSoon(pair.to).control.empty(), "control messages that nobody wants");
}

void typeOfService(const Place &place)
{
	const Fd fd = bindRds(place.any);
	rds_tos_t tos = 7;

	same(sys(ioctl(fd, SIOCRDSSETTOS, &tos)), 0, "SIOCRDSSETTOS");
	tos = 9;
	same(sys(ioctl(fd, SIOCRDSGETTOS, &tos)), 0, "SIOCRDSGETTOS");
	same(tos, 0, "TCP has one service");
	/* It still sends. */
	const Fd to = bindRds(place.any);
	same(sendText(fd, "hello", localAddress(to)), 5, "send");
	same(take(to), "hello", "message");
}

/* Lengths of what this socket has queued, by RDS6_INFO_SEND_MESSAGES and _RETRANS_. */
std::multiset<uint32_t> queuedLengths(int fd)
{
	const uint16_t port = localAddress(fd).port();
	std::multiset<uint32_t> lengths;

	for (int code : {RDS6_INFO_SEND_MESSAGES, RDS6_INFO_RETRANS_MESSAGES}) {
		for (const rds6_info_message &entry : readInfo(fd, code).as<rds6_info_message>()) {
			if (ntohs(entry.lport) == port)
				lengths.insert(entry.len);
		}
	}
	return lengths;
}

long cancel(int fd, const Address &to)
{
	return sys(setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, to.get(), to.length()));
}

void cancels(const Place &place)
{
	const Fd fd = bindRds(place.any), other = bindRds(place.any);
	using Lengths = std::multiset<uint32_t>;

	for (uint16_t port : {4001, 4002, 4003})
		sendText(fd, std::string(port - 4000, 'x'), place.absent.port(port));
	sendText(other, "other", place.absent.port(4001));
	want(queuedLengths(fd) == Lengths{1, 2, 3}, "not everything is queued");
	same(cancel(fd, place.absent.port(4009)), 0, "cancel of nothing");
	want(queuedLengths(fd) == Lengths{1, 2, 3}, "cancelled by a wrong port");
	same(cancel(fd, place.any.port(4001)), 0, "cancel of another address");
	want(queuedLengths(fd) == Lengths{1, 2, 3}, "cancelled by a wrong address");
	same(cancel(fd, place.absent.port(4002)), 0, "cancel");
	want(queuedLengths(fd) == Lengths{1, 3}, "the cancelled one is not gone, or too many are");
	same(cancel(fd, place.absent.port(4001)), 0, "cancel");
	want(queuedLengths(fd) == Lengths{3}, "the cancelled one is not gone");
	want(queuedLengths(other) == Lengths{5}, "cancelled another socket's message");
}

void cancelsAll(const Place &place)
{
	const Fd fd = bindRds(place.any), other = bindRds(place.any);

	for (uint16_t port : {4001, 4002, 4003})
		sendText(fd, "hello", place.absent.port(port));
	sendText(other, "other", place.absent.port(4001));
	same(sys(setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, nullptr, 0)), 0, "cancel everything");
	want(queuedLengths(fd).empty(), "something is left");
	same(queuedLengths(other).size(), 1, "another socket's messages");
}

void closeCancels(const Place &place)
{
	Fd fd = bindRds(place.any);
	const uint16_t port = localAddress(fd).port();
	const Fd probe = openRds();
	const auto listed = [&] {
		for (int code : {RDS6_INFO_SEND_MESSAGES, RDS6_INFO_RETRANS_MESSAGES}) {
			for (const auto &entry : readInfo(probe, code).as<rds6_info_message>()) {
				if (ntohs(entry.lport) == port)
					return true;
			}
		}
		return false;
	};

	sendText(fd, "hello", place.absent.port(4000));
	want(listed(), "the message is not queued");
	fd.close();
	want(eventually([&] { return !listed(); }), "the message outlives its socket");
}

/* One message without copying; its cookie must come back, and the bytes must arrive. */
void zerocopy(const Place &place)
{
	const Fd fd = bindRds(place.any);
	std::string payload = makePayload(40000, 3);
	std::multiset<uint32_t> wanted, seen;

	same(setOption(fd, SOL_SOCKET, SO_ZEROCOPY, 1), 0, "SO_ZEROCOPY");
	for (uint32_t cookie = 1; cookie <= 20; ++cookie) {
		const Control control = Control().add(SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, cookie);
		const Address to = place.remote.port(9);
		long result;

		want(eventually([&] {
			     result = sendBytes(fd, payload.data(), payload.size(),
						{.flags = MSG_ZEROCOPY | MSG_DONTWAIT,
						 .to = &to,
						 .control = &control});
			     return result != -EAGAIN;
		     }),
		     "the send queue does not drain");
		same(result, payload.size(), "sendmsg with MSG_ZEROCOPY");
		wanted.insert(cookie);
	}
	const bool all = eventually([&] {
		const Received got = receive(fd);

		if (const ControlMessage *message = got.find(SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION)) {
			same(message->data.size(), sizeof(rds_zcopy_cookies),
			     "size of the completion");
			const auto cookies = message->as<rds_zcopy_cookies>();

			want(cookies.num <= RDS_MAX_ZCOOKIES, "too many cookies at once");
			seen.insert(cookies.cookies, cookies.cookies + cookies.num);
		}
		return seen.size() >= wanted.size();
	});
	want(all, "only " + std::to_string(seen.size()) + " of 20 completions came");
	want(seen == wanted, "other cookies than those that were sent");
}

/* "messages held, span" as RDS_RECV_QUERY tells them; @peer: of that one. */
std::string held(int fd, const Address *peer = nullptr)
{
	rds_recv_query q = {};
	socklen_t length = sizeof(q);

	q.want = RDS_RECV_QUERY_NBUFS | RDS_RECV_QUERY_SPAN;
	if (peer)
		memcpy(&q.peer, peer->get(), peer->length());
	same(sys(getsockopt(fd, SOL_RDS, RDS_RECV_QUERY, &q, &length)), 0, "RDS_RECV_QUERY");
	same(length, sizeof(q), "its length");
	return std::to_string(q.nbufs_allocated) + ", " + std::to_string(q.bufs_alloc_span);
}

void recvQuery(const Place &place)
{
	const Pair pair(place);
	Fd other = bindRds(place.any);
	const Address from = localAddress(pair.from), another = localAddress(other);
	const Address host = from.port(0);

	want(held(pair.to) == "0, 0", "something is held of nobody");
	for (const char *text : {"one", "two", "three"})
		same(sendText(pair.from, text, pair.target), strlen(text), "send");
	same(sendText(other, "four", pair.target), 4, "send");
	want(eventually([&] { return held(pair.to) == "4, 4"; }), "not all is held");
	want(held(pair.to, &from) == "3, 3", "of one peer: " + held(pair.to, &from));
	want(held(pair.to, &another) == "1, 1", "of the other: " + held(pair.to, &another));
	want(held(pair.to, &host) == "4, 4", "of all ports: " + held(pair.to, &host));
	same(receive(pair.to, 100, MSG_PEEK | MSG_DONTWAIT).result, 3, "a look at the first");
	want(held(pair.to) == "4, 4", "a message that was looked at is held no more");
	for (int left = 3; left >= 0; left--) {
		same(pollEvents(pair.to).find("IN") != std::string::npos, true, "readable");
		take(pair.to);
		const std::string both = std::to_string(left) + ", " + std::to_string(left);
		want(held(pair.to) == both, held(pair.to) + " are held, not " + both);
	}
}

} // namespace

void addExtras(Cases &cases)
{
	cases.add("SO_TIMESTAMP", Where::anywhere, timestamp);
	cases.add("SO_TIMESTAMP_NEW", Where::anywhere, timestampNew);
	cases.add("SO_TIMESTAMP at level SOL_RDS", Where::anywhere, timestampAtRdsLevel);
	cases.add("names have no more than they say", Where::anywhere, wholeNames);
	cases.add("RXPATH_LATENCY", Where::anywhere, rxTrace);
	cases.add("no control messages by default", Where::anywhere, rxTraceOff);
	cases.add("type of service", Where::tcp, typeOfService);
	cases.add("cancel by destination", Where::tcp, cancels);
	cases.addOurs("cancel everything", Where::tcp, cancelsAll);
	cases.add("close cancels", Where::tcp, closeCancels);
	cases.addOurs("receive query", Where::anywhere, recvQuery);
	cases.add("zero copy", Where::remote, zerocopy);
}

} // namespace rdstest
