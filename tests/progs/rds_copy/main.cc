// SPDX-License-Identifier: GPL-2.0
/*
 * rds_copy: what the kernel copies from and to a process when the process' memory ends in the
 * middle of it, and what it copies out of tables into room of any length and at any address.
 *
 * A send that met a fault has sent nothing; a receive that met one has taken nothing.
 */
#include "guarded.h"

#include "../lib/check.h"
#include "../lib/command_line.h"
#include "../lib/info.h"
#include "../lib/payload.h"
#include "../lib/socket.h"
#include "../lib/tap.h"

#include <linux/rds.h>
#include <poll.h>
#include <sys/uio.h>

#include <cstring>

using namespace rdstest;

namespace
{

constexpr size_t lengths[] = {2, 100, 3584, 3585, 4096, 10000, 65536};

struct Pair {
	explicit Pair(const Address &host)
		: from(bindRds(host)), to(bindRds(host)), target(localAddress(to))
	{
	}
	Fd from, to;
	Address target;
};

/* Where memory ends: at the first byte, in between, before the last. */
std::vector<size_t> cuts(size_t length)
{
	return {0, 1, length / 3, length / 2, length - 1};
}

long sendVectors(Pair &p, std::vector<iovec> vectors)
{
	msghdr message{};

	message.msg_name = p.target.get();
	message.msg_namelen = p.target.length();
	message.msg_iov = vectors.data();
	message.msg_iovlen = vectors.size();
	return sys(sendmsg(p.from, &message, MSG_DONTWAIT));
}

void takes(Pair &p, const std::string &text)
{
	const Received got = receiveSoon(p.to, 1 << 17);

	same(got.result, text.size(), "received");
	want(got.data == text, "received other bytes");
}

void sendFault(Pair &p, const std::string &text, size_t cut)
{
	const Guarded all(text.size()), part(cut);

	memcpy(all.get(), text.data(), text.size());
	memcpy(part.get(), text.data(), cut);
	same(sendVectors(p, {{part.get(), text.size()}}), -EFAULT, "one vector");
	same(sendVectors(p, {{all.get(), cut}, {part.get() + cut, text.size() - cut}}), -EFAULT,
	     "second vector");
	same(sendVectors(p, {{all.get(), text.size()}}), text.size(), "whole");
	takes(p, text);
	same(receive(p.to).result, -EAGAIN, "nothing else was sent");
}

long receiveVectors(Pair &p, std::vector<iovec> vectors)
{
	msghdr message{};

	message.msg_iov = vectors.data();
	message.msg_iovlen = vectors.size();
	return sys(recvmsg(p.to, &message, MSG_DONTWAIT));
}

void receiveFault(Pair &p, const std::string &text, size_t cut)
{
	const Guarded all(text.size()), part(cut);

	same(sendText(p.from, text, p.target), text.size(), "send");
	want(waitFor(p.to, POLLIN), "nothing came");
	same(receiveVectors(p, {{part.get(), text.size()}}), -EFAULT, "one vector");
	same(receiveVectors(p, {{all.get(), cut}, {part.get() + cut, text.size()}}), -EFAULT,
	     "second vector");
	same(receiveVectors(p, {{all.get(), text.size()}}), text.size(), "whole");
	want(memcmp(all.get(), text.data(), text.size()) == 0, "received other bytes");
	same(receive(p.to).result, -EAGAIN, "nothing is left");
}

/* A name that ends early. */
void nameFault(Pair &p, const std::string &text, size_t)
{
	const Guarded name(p.target.length() - 1);
	iovec vector = {const_cast<char *>(text.data()), text.size()};
	msghdr message{};

	memcpy(name.get(), p.target.get(), p.target.length() - 1);
	message.msg_name = name.get();
	message.msg_namelen = p.target.length();
	message.msg_iov = &vector;
	message.msg_iovlen = 1;
	same(sys(sendmsg(p.from, &message, MSG_DONTWAIT)), -EFAULT, "sendmsg");
	same(sendText(p.from, text, p.target), text.size(), "send");
	takes(p, text);
}

/* Control messages that end early: to the kernel an error, from it as if there were less room. */
void controlFault(Pair &p, const std::string &text, size_t)
{
	const size_t whole = CMSG_SPACE(sizeof(timeval));
	iovec vector = {const_cast<char *>(text.data()), text.size()};

	setOption(p.to, SOL_SOCKET, SO_TIMESTAMP, 1);
	for (size_t there = 0; there < whole; there += 4) {
		const Guarded control(there);
		std::string room(text.size(), 0);
		iovec into = {room.data(), room.size()};
		msghdr message{};

		message.msg_control = control.get();
		message.msg_controllen = whole;
		message.msg_iov = &vector;
		message.msg_iovlen = 1;
		same(sys(sendmsg(p.from, &message, MSG_DONTWAIT)), -EFAULT, "sendmsg");
		same(sendText(p.from, text, p.target), text.size(), "send");
		want(waitFor(p.to, POLLIN), "nothing came");
		message.msg_iov = &into;
		const long result = sys(recvmsg(p.to, &message, MSG_DONTWAIT));
		if (there < CMSG_LEN(sizeof(timeval))) {
			same(result, -EFAULT, "recvmsg");
			takes(p, text);
		} else {
			same(result, text.size(), "recvmsg");
		}
	}
}

struct Answer {
	long each;
	socklen_t length;
};

Answer askInfo(int fd, int code, void *room, socklen_t length)
{
	const long each = sys(getsockopt(fd, SOL_RDS, code, room, &length));

	return {each, length};
}

/* Room of every length around the elements' borders, and nothing written behind it. */
void infoLengths(int fd, int code)
{
	const Answer need = askInfo(fd, code, nullptr, 0);
	std::vector<char> large(1 << 16);

	if (need.each == -ENOPROTOOPT || need.length == 0)
		return;
	same(need.each, -ENOSPC, "length 0");
	const Answer whole = askInfo(fd, code, large.data(), large.size());
	want(whole.each > 0 && whole.length % whole.each == 0, "not a whole number of elements");
	for (socklen_t room = 1; room <= need.length; room += std::max<long>(1, whole.each / 3)) {
		const Guarded buffer(room);
		const Answer got = askInfo(fd, code, buffer.get(), room);

		same(got.each, room < need.length ? -ENOSPC : whole.each,
		     std::to_string(room) + " of " + std::to_string(need.length) + " bytes");
		same(got.length, need.length, "length told");
	}
}

/* At every address modulo 16, and with less memory than is claimed. */
void infoAddresses(int fd, int code)
{
	const Answer need = askInfo(fd, code, nullptr, 0);

	if (need.each == -ENOPROTOOPT || need.length == 0)
		return;
	for (size_t shift = 0; shift < 16; ++shift) {
		const Guarded buffer(need.length + shift);
		const Answer got = askInfo(fd, code, buffer.get(), need.length);

		want(got.each > 0, "shift " + std::to_string(shift) + ": " + describe(got.each));
	}
	for (const size_t there : cuts(need.length)) {
		const Guarded buffer(there);

		same(askInfo(fd, code, buffer.get(), need.length).each, -EFAULT,
		     "memory ends after " + std::to_string(there));
	}
}

/* A table of several pages: all of it at once, in room that is exact and in room that is larger. */
void infoOfMany(const Address &host, int code)
{
	std::vector<Fd> many;

	for (int i = 0; i < 700; ++i)
		many.push_back(bindRds(host));
	const Answer need = askInfo(many[0], code, nullptr, 0);
	std::vector<char> large(need.length + 5 * 4096), exact(need.length);
	same(askInfo(many[0], code, exact.data(), exact.size()).length, need.length, "exact");
	for (const size_t room : {size_t(need.length), need.length + size_t(1), large.size()}) {
		const Answer got = askInfo(many[0], code, large.data(), room);

		want(got.each > 0, describe(got.each));
		same(got.length, need.length, "length told");
		want(got.length >= 700 * got.each, "some sockets are missing");
		want(memcmp(large.data(), exact.data(), exact.size()) == 0, "other sockets");
	}
}

template <typename Body>
void one(Tap &tap, const std::string &name, const Body &body)
{
	try {
		body();
		tap.ok(true, name);
	} catch (const std::exception &error) {
		tap.ok(false, name, error.what());
	}
}

using Fault = void (*)(Pair &, const std::string &, size_t);

void messages(Tap &tap, const Address &host)
{
	const std::pair<const char *, Fault> faults[] = {{"send", sendFault},
							 {"receive", receiveFault}};

	for (const auto &[what, fault] : faults)
		for (const size_t length : lengths)
			for (const size_t cut : cuts(length))
				one(tap,
				    std::string(what) + " " + std::to_string(length) +
					    " bytes, memory ends after " + std::to_string(cut) +
					    ", " + host.text(),
				    [&, fault = fault] {
					    Pair p(host);

					    fault(p, makePayload(length, length), cut);
				    });
	one(tap, "name, " + host.text(), [&] {
		Pair p(host);

		nameFault(p, "text", 0);
	});
	one(tap, "control, " + host.text(), [&] {
		Pair p(host);

		controlFault(p, "text", 0);
	});
}

void tables(Tap &tap, const Address &host)
{
	Pair p(host);

	sendText(p.from, "unread", p.target);
	for (int code = RDS_INFO_FIRST; code <= RDS_INFO_LAST; ++code) {
		/* Counters and times of TCP change by themselves, lengths do not. */
		one(tap, "info " + std::to_string(code) + ", lengths",
		    [&] { infoLengths(p.from, code); });
		one(tap, "info " + std::to_string(code) + ", addresses",
		    [&] { infoAddresses(p.from, code); });
	}
	for (const int code : {RDS_INFO_SOCKETS, RDS6_INFO_SOCKETS})
		one(tap, "info " + std::to_string(code) + ", of many",
		    [&] { infoOfMany(host, code); });
}

} // namespace

int main(int argc, char **argv)
{
	CommandLine line("Copies that end in the middle");

	return line.run(argc, argv, [] {
		Tap tap;

		for (const char *host : {"127.0.0.1", "::1"})
			messages(tap, Address::parse(host));
		tables(tap, Address::parse("127.0.0.1"));
		return tap.finish();
	});
}
