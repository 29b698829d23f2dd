// SPDX-License-Identifier: GPL-2.0
/* All calls that a descriptor of a socket can be given to. */
#include "scene.h"

#include <linux/rds.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

namespace rdstest
{

namespace
{

/* A sender that is connected to its receiver. */
struct Connected : Pair {
	explicit Connected(const Place &place) : Pair(place)
	{
		warm();
		connect(from, target.get(), target.length());
	}
	/* The length of what arrives next, or an errno. */
	long arrives()
	{
		return receiveSoon(to, 100, std::chrono::milliseconds(500)).result;
	}
};

char text[] = "hello, world";
iovec twoParts[2] = {{text, 5}, {text + 5, 7}};

Fd memoryFile()
{
	Fd fd(memfd_create("parity", 0));

	if (write(fd, text, sizeof(text)) < 0)
		fail("write", sys(-1));
	return fd;
}

/* Each takes the socket of a connected pair; the second fact is what arrives. */
const std::pair<const char *, std::function<long(Pair &)>> senders[] = {
	{"write", [](Pair &p) { return sys(write(p.from, text, 5)); }},
	{"write of nothing", [](Pair &p) { return sys(write(p.from, text, 0)); }},
	{"writev", [](Pair &p) { return sys(writev(p.from, twoParts, 2)); }},
	{"writev of none", [](Pair &p) { return sys(writev(p.from, twoParts, 0)); }},
	{"pwrite", [](Pair &p) { return sys(pwrite(p.from, text, 5, 0)); }},
	{"pwritev2", [](Pair &p) { return sys(pwritev2(p.from, twoParts, 2, -1, 0)); }},
	{"pwritev2 NOWAIT",
	 [](Pair &p) { return sys(pwritev2(p.from, twoParts, 2, -1, RWF_NOWAIT)); }},
	{"send", [](Pair &p) { return sys(send(p.from, text, 5, 0)); }},
	{"send of nothing", [](Pair &p) { return sys(send(p.from, nullptr, 0, 0)); }},
	{"send NOSIGNAL", [](Pair &p) { return sys(send(p.from, text, 5, MSG_NOSIGNAL)); }},
	{"sendto, no name", [](Pair &p) { return sys(sendto(p.from, text, 5, 0, nullptr, 0)); }},
	{"sendto, no name, 16",
	 [](Pair &p) { return sys(sendto(p.from, text, 5, 0, nullptr, 16)); }},
	{"sendto, name, 0",
	 [](Pair &p) { return sys(sendto(p.from, text, 5, 0, p.target.get(), 0)); }},
	{"sendto, name, 128",
	 [](Pair &p) { return sys(sendto(p.from, text, 5, 0, p.target.get(), 128)); }},
	{"sendto, name, 129",
	 [](Pair &p) { return sys(sendto(p.from, text, 5, 0, p.target.get(), 129)); }},
	{"sendfile", [](Pair &p) { return sys(sendfile(p.from, memoryFile(), nullptr, 5)); }},
	{"splice",
	 [](Pair &p) {
		 int ends[2];

		 if (pipe(ends) < 0 || write(ends[1], text, 5) < 0)
			 return -1L;
		 return sys(splice(ends[0], nullptr, p.from, nullptr, 5, 0));
	 }},
	{"copy_file_range",
	 [](Pair &p) {
		 return sys(copy_file_range(memoryFile(), nullptr, p.from, nullptr, 5, 0));
	 }},
};

const std::pair<const char *, std::function<long(Pair &)>> receivers[] = {
	{"read", [](Pair &p) { return sys(read(p.to, std::string(20, ' ').data(), 20)); }},
	{"read of 2", [](Pair &p) { return sys(read(p.to, std::string(20, ' ').data(), 2)); }},
	{"read of nothing", [](Pair &p) { return sys(read(p.to, nullptr, 0)); }},
	{"readv",
	 [](Pair &p) {
		 char room[20];
		 iovec parts[2] = {{room, 2}, {room + 2, 18}};
		 return sys(readv(p.to, parts, 2));
	 }},
	{"readv of none", [](Pair &p) { return sys(readv(p.to, twoParts, 0)); }},
	{"pread", [](Pair &p) { return sys(pread(p.to, std::string(20, ' ').data(), 20, 0)); }},
	{"recv", [](Pair &p) { return sys(recv(p.to, std::string(20, ' ').data(), 20, 0)); }},
	{"recv of nothing", [](Pair &p) { return sys(recv(p.to, nullptr, 0, 0)); }},
	{"recvfrom, no length",
	 [](Pair &p) {
		 sockaddr_storage name;
		 char room[20];
		 return sys(
			 recvfrom(p.to, room, 20, 0, reinterpret_cast<sockaddr *>(&name), nullptr));
	 }},
	{"recvfrom, length 2",
	 [](Pair &p) {
		 sockaddr_storage name;
		 socklen_t length = 2;
		 char room[20];
		 const long got = sys(
			 recvfrom(p.to, room, 20, 0, reinterpret_cast<sockaddr *>(&name), &length));
		 return got < 0 ? got : got * 1000 + static_cast<long>(length);
	 }},
	{"preadv2 NOWAIT",
	 [](Pair &p) {
		 char room[20];
		 iovec part = {room, 20};
		 return sys(preadv2(p.to, &part, 1, -1, RWF_NOWAIT));
	 }},
	{"splice",
	 [](Pair &p) {
		 int ends[2];
		 if (pipe(ends) < 0)
			 return -1L;
		 return sys(splice(p.to, nullptr, ends[1], nullptr, 20, SPLICE_F_NONBLOCK));
	 }},
	{"sendfile from it", [](Pair &p) { return sys(sendfile(memoryFile(), p.to, nullptr, 5)); }},
	{"tee",
	 [](Pair &p) {
		 int ends[2];
		 return pipe(ends) < 0 ? -1L : sys(tee(p.to, ends[1], 5, 0));
	 }},
};

void addTransfers(Facts &facts)
{
	for (const auto &[name, function] : senders) {
		const auto call = function;

		facts.at("loop tcp", std::string("calls/send/") + name,
			 [call](const Place &place, Out &out) {
				 Connected pair(place);

				 out("returns", call(pair));
				 out("arrives", pair.arrives());
			 });
	}
	for (const auto &[name, function] : receivers) {
		const auto call = function;

		facts.at("loop tcp", std::string("calls/receive/") + name,
			 [call](const Place &place, Out &out) {
				 Connected pair(place);

				 pair.send(12);
				 waitFor(pair.to, POLLIN, soon);
				 out("returns", call(pair));
				 out("left", readAll(pair.to));
			 });
	}
}

/* Three messages to the target; the middle one is wrong in the way of `how`. */
std::string sendThree(Pair &pair, int how, int flags)
{
	mmsghdr messages[3] = {};
	iovec part = {text, 5};

	for (mmsghdr &message : messages) {
		message.msg_hdr.msg_iov = &part;
		message.msg_hdr.msg_iovlen = 1;
		message.msg_hdr.msg_name = pair.target.get();
		message.msg_hdr.msg_namelen = pair.target.length();
	}
	if (how == 1)
		messages[1].msg_hdr.msg_namelen = 3;
	if (how == 2)
		messages[1].msg_hdr.msg_iovlen = 0;
	if (how == 3)
		messages[0].msg_hdr.msg_namelen = 3;
	const long sent = sys(sendmmsg(pair.from, messages, 3, flags));
	std::string lengths;

	for (const mmsghdr &message : messages)
		lengths += " " + std::to_string(message.msg_len);
	return describe(sent) + ", lengths" + lengths;
}

void addMany(Facts &facts)
{
	facts.at("loop tcp", "calls/sendmmsg", [](const Place &place, Out &out) {
		static const char *const names[] = {"three", "second wrong", "second empty",
						    "first wrong"};

		for (int how = 0; how < 4; ++how) {
			Connected pair(place);

			out(names[how], sendThree(pair, how, 0));
			eventually([&] { return waitFor(pair.to, POLLIN, soon); }, soon);
			std::string read;
			for (int i = 0; i < 4; ++i)
				read += describe(pair.arrives()) + " ";
			out(std::string(names[how]) + ", arrive", read);
		}
	});
	facts.at("loop tcp", "calls/recvmmsg", [](const Place &place, Out &out) {
		Connected pair(place);
		char rooms[4][20];
		iovec parts[4];
		mmsghdr messages[4] = {};

		for (int i = 0; i < 4; ++i) {
			parts[i] = {rooms[i], 20};
			messages[i].msg_hdr.msg_iov = &parts[i];
			messages[i].msg_hdr.msg_iovlen = 1;
		}
		pair.send(1);
		pair.send(30);
		pair.send(3);
		eventually([&] { return receive(pair.to, 1, MSG_PEEK | MSG_DONTWAIT).result > 0; });
		usleep(200000);
		out("of three", sys(recvmmsg(pair.to, messages, 4, MSG_DONTWAIT, nullptr)));
		for (int i = 0; i < 3; ++i)
			out("message " + std::to_string(i),
			    std::to_string(messages[i].msg_len) + " flags " +
				    std::to_string(messages[i].msg_hdr.msg_flags));
		out("of none", sys(recvmmsg(pair.to, messages, 4, MSG_DONTWAIT, nullptr)));
	});
}

void addNames(Facts &facts)
{
	facts.at("loop own tcp", "calls/names", [](const Place &place, Out &out) {
		const Fd fd = openRds();
		Address name, peer;
		const auto told = [&](const std::string &when) {
			name = peer = Address();
			const long got = sys(getsockname(fd, name.get(), name.lengthPtr()));

			out(when + ", name", got < 0 ? describe(got)
						     : name.port(0).text() + " length " +
							       std::to_string(name.length()));
			const long there = sys(getpeername(fd, peer.get(), peer.lengthPtr()));
			out(when + ", peer",
			    there < 0 ? describe(there)
				      : peer.text() + " length " + std::to_string(peer.length()));
		};
		const Address first = place.far.port(4001), second = place.far.port(4002);

		told("new");
		out("connect", sys(connect(fd, first.get(), first.length())));
		told("connected");
		out("bind", sys(bind(fd, place.near.get(), place.near.length())));
		told("bound");
		out("connect again", sys(connect(fd, second.get(), second.length())));
		told("connected again");
		out("connect to nothing",
		    sys(connect(fd, second.family(AF_UNSPEC).get(), second.length())));
		told("at last");
	});
	facts.at("loop tcp", "calls/others", [](const Place &place, Out &out) {
		Connected pair(place);
		struct stat status {
		};

		out("listen", sys(listen(pair.from, 1)));
		out("accept", sys(accept(pair.from, nullptr, nullptr)));
		out("accept4", sys(accept4(pair.from, nullptr, nullptr, SOCK_NONBLOCK)));
		for (int how : {0, 1, 2, 7})
			out("shutdown " + std::to_string(how), sys(shutdown(pair.from, how)));
		out("send after shutdown", pair.send());
		out("lseek", sys(lseek(pair.from, 0, SEEK_SET)));
		out("fsync", sys(fsync(pair.from)));
		out("ftruncate", sys(ftruncate(pair.from, 0)));
		out("fallocate", sys(fallocate(pair.from, 0, 0, 10)));
		out("fchmod", sys(fchmod(pair.from, 0600)));
		out("sockatmark", sys(sockatmark(pair.from)));
		out("isfdtype", sys(isfdtype(pair.from, S_IFSOCK)));
		out("mmap", mmap(nullptr, 4096, PROT_READ, MAP_SHARED, pair.from, 0) == MAP_FAILED
				    ? describe(-errno)
				    : "mapped");
		fstat(pair.from, &status);
		out("mode", std::to_string(status.st_mode & 0777) +
				    (S_ISSOCK(status.st_mode) ? " socket" : " other"));
		out("size", status.st_size);
		out("F_GETFL", sys(fcntl(pair.from, F_GETFL)));
		out("F_SETLEASE", sys(fcntl(pair.from, F_SETLEASE, F_RDLCK)));
		out("F_GETPIPE_SZ", sys(fcntl(pair.from, F_GETPIPE_SZ)));
	});
}

} // namespace

void addCalls(Facts &facts)
{
	addTransfers(facts);
	addMany(facts);
	addNames(facts);
}

} // namespace rdstest
