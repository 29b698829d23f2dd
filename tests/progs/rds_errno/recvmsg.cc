// SPDX-License-Identifier: GPL-2.0
/* recvmsg() and poll(): flags, truncation, timeouts, faults, event bits. */
#include "table.h"

#include <linux/rds.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace rdstest
{

namespace
{

/* A receiver with messages waiting that it sent to itself. */
Fd holding(const Address &any, std::initializer_list<const char *> texts = {"hello"})
{
	Fd fd = bindRds(any);
	const Address self = localAddress(fd);

	for (const char *text : texts) {
		const long result = sendText(fd, text, self);

		if (result < 0)
			fail("sending to oneself", result);
		waitFor(fd, POLLIN); /* the path's worker may be carrying it */
	}
	return fd;
}

/* "5 bytes 'hello', TRUNC" */
std::string story(const Received &got)
{
	if (got.result < 0)
		return describe(got.result);
	std::string text = std::to_string(got.result) + " '" + got.data + "'";
	if (got.flags & MSG_TRUNC)
		text += ", TRUNC";
	if (got.flags & MSG_CTRUNC)
		text += ", CTRUNC";
	if (got.flags & ~(MSG_TRUNC | MSG_CTRUNC | MSG_CMSG_CLOEXEC))
		text += ", flags " + std::to_string(got.flags);
	return text;
}

void addEmpty(Table &table, const Env &env)
{
	table.row("recvmsg: unbound, MSG_DONTWAIT", "EAGAIN",
		  [] { return receive(openRds()).result; });
	table.row("recvmsg: unbound, blocking", "EINTR", [] {
		const Fd fd = openRds();

		return interrupted(std::chrono::milliseconds(200),
				   [&] { return receive(fd, 10, 0).result; });
	});
	table.row("recvmsg: unbound, SO_RCVTIMEO", "ETIMEDOUT", [] {
		const Fd fd = openRds();

		setTimeout(fd, SO_RCVTIMEO, std::chrono::milliseconds(50));
		return receive(fd, 10, 0).result;
	});
	table.row("recvmsg: nothing there", "EAGAIN",
		  [env] { return receive(bindRds(env.loop)).result; });
	table.row("recvmsg: nothing there, O_NONBLOCK", "EAGAIN",
		  [env] { return receive(bindRds(env.loop, SOCK_NONBLOCK), 10, 0).result; });
	table.row("recvmsg: nothing there, SO_RCVTIMEO", "ETIMEDOUT", [env] {
		const Fd fd = bindRds(env.loop);

		setTimeout(fd, SO_RCVTIMEO, std::chrono::milliseconds(50));
		return receive(fd, 10, 0).result;
	});
	table.row("recvmsg: nothing there, interrupted", "EINTR", [env] {
		const Fd fd = bindRds(env.loop);

		return interrupted(std::chrono::milliseconds(200),
				   [&] { return receive(fd, 10, 0).result; });
	});
	table.row("recvmsg: MSG_OOB", "0",
		  [env] { return receive(bindRds(env.loop), 10, MSG_OOB).result; });
	table.row("recvmsg: MSG_OOB takes nothing", "5 'hello'", [env] {
		const Fd fd = holding(env.loop);

		receive(fd, 10, MSG_OOB);
		return story(receive(fd));
	});
	table.row("recvmsg: MSG_ERRQUEUE", "EAGAIN",
		  [env] { return receive(bindRds(env.loop), 10, MSG_ERRQUEUE).result; });
	table.row("read: nothing there, O_NONBLOCK", "EAGAIN", [env] {
		char byte;

		return sys(read(bindRds(env.loop, SOCK_NONBLOCK), &byte, 1));
	});
}

void addData(Table &table, const Env &env)
{
	static const struct {
		const char *name;
		size_t room;
		int flags;
		const char *want;
	} rows[] = {
		{"room to spare", 100, 0, "5 'hello'"},
		{"room just enough", 5, 0, "5 'hello'"},
		{"short", 3, 0, "3 'hel', TRUNC"},
		{"no room", 0, 0, "0 '', TRUNC"},
		{"short, MSG_TRUNC", 3, MSG_TRUNC, "5 'hel', TRUNC"},
		{"no room, MSG_TRUNC", 0, MSG_TRUNC, "5 '', TRUNC"},
		{"room, MSG_TRUNC", 100, MSG_TRUNC, "5 'hello'"},
		{"MSG_PEEK", 100, MSG_PEEK, "5 'hello'"},
		{"MSG_PEEK, short", 2, MSG_PEEK, "2 'he', TRUNC"},
		{"MSG_PEEK|MSG_TRUNC, short", 2, MSG_PEEK | MSG_TRUNC, "5 'he', TRUNC"},
		{"MSG_WAITALL", 100, MSG_WAITALL, "5 'hello'"},
		{"MSG_CMSG_CLOEXEC", 100, MSG_CMSG_CLOEXEC, "5 'hello'"},
		{"MSG_NOSIGNAL", 100, MSG_NOSIGNAL, "5 'hello'"},
		{"MSG_DONTROUTE", 100, MSG_DONTROUTE, "5 'hello'"},
	};

	for (const Address &any : {env.loop, env.loop6}) {
		const std::string what = any.family() == AF_INET ? ", v4" : ", v6";

		for (const auto &one : rows) {
			const auto row = one;

			table.row(std::string("recvmsg: ") + one.name + what, one.want, [any, row] {
				return story(
					receive(holding(any), row.room, row.flags | MSG_DONTWAIT));
			});
		}
	}
	table.row("recvmsg: the rest of a short one is gone", "5 'world'", [env] {
		const Fd fd = holding(env.loop, {"hello", "world"});

		receive(fd, 2);
		return story(receive(fd));
	});
	table.row("recvmsg: what was peeked at is still there", "5 'hello'", [env] {
		const Fd fd = holding(env.loop, {"hello", "world"});

		receive(fd, 2, MSG_PEEK);
		receive(fd, 100, MSG_PEEK);
		return story(receive(fd));
	});
	table.row("recvmsg: an empty message", "0 ''",
		  [env] { return story(receive(holding(env.loop, {""}))); });
	table.row("read: a message", "5", [env] {
		char room[100];

		return sys(read(holding(env.loop), room, sizeof(room)));
	});
	table.row("recvmmsg: two of three", "2", [env] {
		const Fd fd = holding(env.loop, {"a", "b", "c"});
		mmsghdr messages[2] = {};

		return sys(recvmmsg(fd, messages, 2, MSG_DONTWAIT, nullptr));
	});
}

void addNamesOfReceive(Table &table, const Env &env)
{
	for (const Address &any : {env.loop, env.loop6}) {
		const std::string what = any.family() == AF_INET ? ", v4" : ", v6";
		const std::string want = any.family() == AF_INET ? "16" : "28";

		table.row("recvmsg: length of the name" + what, want,
			  [any] { return long{receive(holding(any)).from.length()}; });
		table.row("recvmsg: name is the sender's" + what, "1", [any] {
			const Fd fd = holding(any);

			return long{receive(fd).from == localAddress(fd)};
		});
	}
	table.row("recvmsg: name of a v4-mapped sender", "16", [] {
		return long{receive(holding(Address::parse("::ffff:127.0.0.1"))).from.length()};
	});
	table.row("recvmsg: no name wanted", "5", [env] {
		char room[10];

		return sys(recv(holding(env.loop), room, sizeof(room), MSG_DONTWAIT));
	});
	table.row("recvmsg: length of the name when nothing is there", "EAGAIN",
		  [env] { return receive(bindRds(env.loop)).result; });
}

/* recvmsg with pointers of the caller's choice. */
long receiveInto(int fd, void *data, size_t length, void *control, size_t controlLength)
{
	iovec vector = {data, length};
	msghdr message{};

	message.msg_iov = &vector;
	message.msg_iovlen = 1;
	message.msg_control = control;
	message.msg_controllen = controlLength;
	return sys(recvmsg(fd, &message, MSG_DONTWAIT));
}

void addFaults(Table &table, const Env &env)
{
	table.row("recvmsg: bad data pointer", "EFAULT",
		  [env] { return receiveInto(holding(env.loop), badPointer(), 10, nullptr, 0); });
	table.row("recvmsg: bad data pointer leaves the message", "5 'hello'", [env] {
		const Fd fd = holding(env.loop);

		receiveInto(fd, badPointer(), 10, nullptr, 0);
		return story(receive(fd));
	});
	table.row("recvmsg: bad msghdr pointer", "EFAULT", [env] {
		return sys(recvmsg(holding(env.loop), static_cast<msghdr *>(badPointer()), 0));
	});
	table.row("recvfrom: bad name pointer", "EFAULT", [env] {
		char room[10];
		socklen_t length = 16;

		return sys(recvfrom(holding(env.loop), room, sizeof(room), 0,
				    static_cast<sockaddr *>(badPointer()), &length));
	});
	table.row("recvmsg: bad control pointer", "EFAULT", [env] {
		const Fd fd = bindRds(env.loop);
		char room[10];

		setOption(fd, SOL_SOCKET, SO_TIMESTAMP, 1);
		sendText(fd, "hello", localAddress(fd));
		return receiveInto(fd, room, sizeof(room), badPointer(), 64);
	});
	table.differs("recvmsg: bad control pointer leaves the message", "EAGAIN", "5 'hello'",
		      [env] {
			      const Fd fd = bindRds(env.loop);
			      char room[10];

			      setOption(fd, SOL_SOCKET, SO_TIMESTAMP, 1);
			      sendText(fd, "hello", localAddress(fd));
			      receiveInto(fd, room, sizeof(room), badPointer(), 64);
			      return story(receive(fd));
		      });
	table.row("recvmsg: control room too small", "5 'hello', CTRUNC", [env] {
		const Fd fd = bindRds(env.loop);

		setOption(fd, SOL_SOCKET, SO_TIMESTAMP, 1);
		sendText(fd, "hello", localAddress(fd));
		return story(receive(fd, 10, MSG_DONTWAIT, 8));
	});
}

/* A socket whose first poll, which may report the congestion generation, is over. */
std::string settledEvents(const Fd &fd)
{
	pollEvents(fd);
	return pollEvents(fd);
}

void addPoll(Table &table, const Env &env)
{
	table.row("poll: unbound", "OUT+WRNORM", [] { return settledEvents(openRds()); });
	table.row("poll: bound", "OUT+WRNORM", [env] { return settledEvents(bindRds(env.loop)); });
	table.row("poll: a message", "IN+OUT+RDNORM+WRNORM",
		  [env] { return settledEvents(holding(env.loop)); });
	table.row("poll: an empty message", "IN+OUT+RDNORM+WRNORM",
		  [env] { return settledEvents(holding(env.loop, {""})); });
	table.row("poll: after MSG_PEEK", "IN+OUT+RDNORM+WRNORM", [env] {
		const Fd fd = holding(env.loop);

		receive(fd, 10, MSG_PEEK | MSG_DONTWAIT);
		return settledEvents(fd);
	});
	table.row("poll: after the message was read", "OUT+WRNORM", [env] {
		const Fd fd = holding(env.loop);

		receive(fd);
		return settledEvents(fd);
	});
	table.row("poll: monitor set, nothing there", "OUT+WRNORM", [env] {
		const Fd fd = bindRds(env.loop);

		setOption(fd, SOL_RDS, RDS_CONG_MONITOR, 1);
		return settledEvents(fd);
	});
	if (!env.local)
		return;
	table.row("poll: send queue full", "nothing", [env] {
		const Fd fd = bindRds(*env.local);

		for (int i = 0; i < 100; ++i)
			sendText(fd, std::string(16384, 'x'), env.absent.port(4000));
		return settledEvents(fd);
	});
	table.row("poll: send queue full, then cancelled", "OUT+WRNORM", [env] {
		const Fd fd = bindRds(*env.local);
		const Address to = env.absent.port(4000);

		for (int i = 0; i < 100; ++i)
			sendText(fd, std::string(16384, 'x'), to);
		setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, to.get(), to.length());
		return settledEvents(fd);
	});
}

} // namespace

void addRecvmsg(Table &table, const Env &env)
{
	addEmpty(table, env);
	addData(table, env);
	addNamesOfReceive(table, env);
	addFaults(table, env);
	addPoll(table, env);
}

} // namespace rdstest
