// SPDX-License-Identifier: GPL-2.0
/* Data that go in come out: order, sizes, peeking, truncation, scattered buffers, names. */
#include "case.h"

#include <sys/uio.h>
#include <unistd.h>

namespace rdstest
{

namespace
{

void order(const Place &place)
{
	Pair pair(place);
	int received = 0;

	for (int sent = 0; sent < 2000; ++sent) {
		pair.send("message " + std::to_string(sent));
		if (sent % 50 != 49)
			continue;
		while (received <= sent)
			same(take(pair.to), "message " + std::to_string(received++), "order");
	}
	same(receive(pair.to).result, -EAGAIN, "one message too many");
}

void twoSenders(const Place &place)
{
	Pair pair(place);
	const Fd second = bindRds(place.any);
	int next[2] = {};

	for (int i = 0; i < 200; ++i) {
		pair.send(std::to_string(i));
		sendText(second, std::to_string(i), pair.target);
		for (int k = 0; k < 2; ++k) {
			const Received got = receiveSoon(pair.to);
			const int who = got.from == localAddress(second);

			same(got.data, std::to_string(next[who]++), "order of a sender");
		}
	}
	same(next[0], 200, "messages of the first sender");
	same(next[1], 200, "messages of the second sender");
}

void sizes(const Place &place)
{
	Pair pair(place);

	for (size_t length : {0,     1,	    2,	   7,	  8,	 47,	48,    49,     63,    64,
			      4047,  4048,  4049,  4095,  4096,	 4097,	8191,  8192,   8193,  16384,
			      32767, 32768, 65487, 65488, 65535, 65536, 65537, 100000, 106496}) {
		pair.send(makePayload(length, length));
		const std::string got = take(pair.to, 106496);

		same(got.size(), length, "length");
		want(isPayload(got.data(), length, length),
		     "payload of " + std::to_string(length) + " bytes is corrupted");
	}
}

void oneMebibyte(const Place &place)
{
	Pair pair(place);
	const size_t length = 1 << 20;

	same(setOption(pair.from, SOL_SOCKET, SO_SNDBUFFORCE, 4 << 20), 0, "SO_SNDBUFFORCE");
	same(setOption(pair.to, SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20), 0, "SO_RCVBUFFORCE");
	for (uint64_t seed = 1; seed <= 3; ++seed) {
		pair.send(makePayload(length, seed));
		const std::string got = take(pair.to, length);

		same(got.size(), length, "length");
		want(isPayload(got.data(), length, seed), "payload is corrupted");
	}
}

void emptyMessages(const Place &place)
{
	Pair pair(place);

	for (const char *text : {"", "a", "", "", "b", ""})
		pair.send(text);
	for (const char *text : {"", "a", "", "", "b", ""})
		same(take(pair.to), text, "message");
	same(receive(pair.to).result, -EAGAIN, "nothing is left");
}

void peek(const Place &place)
{
	Pair pair(place);

	pair.send("first");
	pair.send("second");
	want(waitFor(pair.to, POLLIN), "nothing came");
	for (int i = 0; i < 3; ++i) {
		const Received got = receive(pair.to, 100, MSG_PEEK | MSG_DONTWAIT);

		same(got.data, "first", "peeked");
		want(got.from == localAddress(pair.from), "peeked name is " + got.from.text());
	}
	same(receive(pair.to, 3, MSG_PEEK | MSG_DONTWAIT).data, "fir", "peeked, short");
	same(take(pair.to), "first", "read after peeking");
	want(waitFor(pair.to, POLLIN), "the second did not come");
	same(receive(pair.to, 100, MSG_PEEK | MSG_DONTWAIT).data, "second", "peeked");
	same(take(pair.to), "second", "read after peeking");
}

void truncation(const Place &place)
{
	Pair pair(place);

	pair.send(makePayload(50000, 1));
	pair.send("next");
	want(waitFor(pair.to, POLLIN), "nothing came");
	const Received got = receive(pair.to, 1000, MSG_TRUNC | MSG_DONTWAIT);
	same(got.result, 50000, "MSG_TRUNC gives the full length");
	want(got.flags & MSG_TRUNC, "MSG_TRUNC is not set in msg_flags");
	want(isPayload(got.data.data(), 1000, 1), "the part that was read is wrong");
	same(take(pair.to), "next", "the rest is gone");
}

/* Vectors of odd lengths, empty ones among them, that cover a buffer of this length. */
std::vector<iovec> scatter(std::string &bytes, Random &random)
{
	std::vector<iovec> vectors;
	size_t at = 0;

	while (at < bytes.size() && vectors.size() < 1000) {
		const size_t length = std::min(bytes.size() - at, random.below(300));

		vectors.push_back({bytes.data() + at, length});
		at += length;
	}
	vectors.push_back({bytes.data() + at, bytes.size() - at});
	return vectors;
}

void vectors(const Place &place)
{
	Pair pair(place);
	Random random(5);

	for (size_t length : {1, 300, 4097, 65536}) {
		std::string out = makePayload(length, 77), in(length, '\0');
		std::vector<iovec> outVectors = scatter(out, random),
				   inVectors = scatter(in, random);
		msghdr message{};

		message.msg_name = pair.target.get();
		message.msg_namelen = pair.target.length();
		message.msg_iov = outVectors.data();
		message.msg_iovlen = outVectors.size();
		same(sys(sendmsg(pair.from, &message, 0)), length, "sendmsg of vectors");
		want(waitFor(pair.to, POLLIN), "no message");
		same(sys(readv(pair.to, inVectors.data(), inVectors.size())), length, "readv");
		want(in == out, "bytes of " + std::to_string(length) + " are mixed up");
	}
}

void connected(const Place &place)
{
	Pair pair(place);
	const Fd stranger = bindRds(place.any);

	same(sys(connect(pair.from, pair.target.get(), pair.target.length())), 0, "connect");
	same(sys(send(pair.from, "hello", 5, 0)), 5, "send without a name");
	same(take(pair.to), "hello", "message");
	/* Unlike UDP, a connected socket takes messages from everybody. */
	sendText(stranger, "from a stranger", localAddress(pair.from));
	same(take(pair.from), "from a stranger", "message");
	same(sendText(pair.from, "elsewhere", localAddress(stranger)), 9, "send with a name");
	same(take(stranger), "elsewhere", "message");
}

void toItself(const Place &place)
{
	const Fd fd = bindRds(place.any);
	const Address self = localAddress(fd);

	for (int i = 0; i < 20; ++i)
		sendText(fd, std::to_string(i), self);
	for (int i = 0; i < 20; ++i)
		same(take(fd), std::to_string(i), "message");
}

void betweenAddresses(const Place &place)
{
	/* Loopback and device sockets of one host reach each other. */
	Place loop = place;
	loop.any = Address::parse(place.any.family() == AF_INET ? "127.0.0.1" : "::1");
	Pair there(place);
	const Fd back = bindRds(loop.any);

	same(sendText(there.from, "to loopback", localAddress(back)), 11, "send");
	same(take(back), "to loopback", "message");
}

void mapped(const Place &place)
{
	if (place.any.family() != AF_INET)
		return;
	Pair pair(place);
	const std::string text = place.any.text(); /* "AF_INET 10.9.0.1:0" */
	const size_t start = text.find(' ') + 1;
	const std::string host = text.substr(start, text.rfind(':') - start);
	const Address to = Address::parse("::ffff:" + host, pair.target.port());

	same(sendText(pair.from, "hello", to), 5, "send to a v4-mapped address");
	const Received got = receiveSoon(pair.to);
	same(got.data, "hello", "message");
	want(got.from == localAddress(pair.from), "sender is " + got.from.text());
}

void newSocketSamePort(const Place &place)
{
	Pair pair(place);

	pair.send("for the old one");
	pair.to.close();
	pair.to = bindRds(pair.target);
	same(receive(pair.to).result, -EAGAIN, "a new socket is empty");
	pair.send("for the new one");
	same(take(pair.to), "for the new one", "message");
}

void write2(const Place &place)
{
	Pair pair(place);

	same(sys(connect(pair.from, pair.target.get(), pair.target.length())), 0, "connect");
	same(sys(write(pair.from, "written", 7)), 7, "write");
	same(take(pair.to), "written", "message");
	for (int i = 0; i < 10; ++i)
		same(sendText(pair.from, std::to_string(i), pair.target, MSG_MORE | MSG_NOSIGNAL),
		     1, "send with MSG_MORE");
	for (int i = 0; i < 10; ++i)
		same(take(pair.to), std::to_string(i), "message after MSG_MORE");
}

void batches(const Place &place)
{
	Pair pair(place);
	std::vector<std::string> texts;
	std::vector<iovec> vectors;
	std::vector<mmsghdr> messages(100);

	for (int i = 0; i < 100; ++i)
		texts.push_back(makePayload(i * 5, i));
	for (std::string &text : texts)
		vectors.push_back({text.data(), text.size()});
	for (size_t i = 0; i < messages.size(); ++i) {
		messages[i].msg_hdr.msg_name = pair.target.get();
		messages[i].msg_hdr.msg_namelen = pair.target.length();
		messages[i].msg_hdr.msg_iov = &vectors[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	same(sys(sendmmsg(pair.from, messages.data(), messages.size(), 0)), 100, "sendmmsg");
	for (size_t i = 0; i < messages.size(); ++i) {
		same(messages[i].msg_len, texts[i].size(), "msg_len");
		same(take(pair.to), texts[i], "message");
	}
}

} // namespace

void addData(Cases &cases)
{
	cases.add("messages keep their order", Where::anywhere, order);
	cases.add("messages of two senders keep their order", Where::anywhere, twoSenders);
	cases.add("sizes from 0 to the default limit", Where::anywhere, sizes);
	cases.add("1 MiB messages", Where::anywhere, oneMebibyte);
	cases.add("empty messages", Where::anywhere, emptyMessages);
	cases.add("peek", Where::anywhere, peek);
	cases.add("truncation", Where::anywhere, truncation);
	cases.add("scattered buffers", Where::anywhere, vectors);
	cases.add("connected sockets", Where::anywhere, connected);
	cases.add("a socket sends to itself", Where::anywhere, toItself);
	cases.add("from a device's address to loopback", Where::tcp, betweenAddresses);
	cases.add("to a v4-mapped address", Where::anywhere, mapped);
	cases.add("a new socket on the same port", Where::anywhere, newSocketSamePort);
	cases.addOurs("write and MSG_MORE", Where::anywhere, write2);
	cases.addOurs("sendmmsg", Where::anywhere, batches);
}

} // namespace rdstest
