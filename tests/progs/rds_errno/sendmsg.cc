// SPDX-License-Identifier: GPL-2.0
/* sendmsg() and its relatives: flags, names, order of the checks, sizes, full queues. */
#include "table.h"

#include <linux/rds.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#ifndef MSG_BATCH
#define MSG_BATCH 0x40000
#endif

namespace rdstest
{

namespace
{

constexpr size_t maxMessage = 1 << 20;

/* A socket bound to the address and one to send to, ready for a transfer. */
struct Pair {
	explicit Pair(const Address &any)
		: from(bindRds(any)), to(bindRds(any)), target(localAddress(to))
	{
	}
	long send(size_t length, const Send &how)
	{
		const std::string payload(length, 'x');

		return sendBytes(from, payload.data(), length, how);
	}
	long send(size_t length, int flags = MSG_DONTWAIT)
	{
		return send(length, {.flags = flags, .to = &target});
	}
	Fd from, to;
	Address target;
};

long sendTo(int fd, const Address &to, size_t length = 1, int flags = MSG_DONTWAIT)
{
	return sendText(fd, std::string(length, 'x'), to, flags);
}

/* sendmmsg of two messages to one place; what it returns. */
long sendTwo(int fd, const Address &to, unsigned int count)
{
	char byte = 'x';
	iovec vector = {&byte, 1};
	mmsghdr messages[2] = {};

	for (mmsghdr &message : messages) {
		message.msg_hdr.msg_iov = &vector;
		message.msg_hdr.msg_iovlen = 1;
		message.msg_hdr.msg_name = const_cast<sockaddr *>(to.get());
		message.msg_hdr.msg_namelen = to.length();
	}
	return sys(sendmmsg(fd, messages, count, MSG_DONTWAIT));
}

void addFlags(Table &table, const Env &env)
{
	static const struct {
		const char *name;
		int flag;
		const char *mainline, *ours;
	} flags[] = {
		{"none", 0, "5", "5"},
		{"MSG_DONTWAIT", MSG_DONTWAIT, "5", "5"},
		{"MSG_NOSIGNAL", MSG_NOSIGNAL, "EOPNOTSUPP", "5"},
		{"MSG_MORE", MSG_MORE, "EOPNOTSUPP", "5"},
		{"MSG_EOR", MSG_EOR, "EOPNOTSUPP", "5"},
		{"MSG_BATCH", MSG_BATCH, "EOPNOTSUPP", "5"},
		{"MSG_OOB", MSG_OOB, "EOPNOTSUPP", "EOPNOTSUPP"},
		{"MSG_DONTROUTE", MSG_DONTROUTE, "EOPNOTSUPP", "EOPNOTSUPP"},
		{"MSG_PEEK", MSG_PEEK, "EOPNOTSUPP", "EOPNOTSUPP"},
		{"MSG_TRUNC", MSG_TRUNC, "EOPNOTSUPP", "EOPNOTSUPP"},
		{"MSG_CTRUNC", MSG_CTRUNC, "EOPNOTSUPP", "EOPNOTSUPP"},
		{"MSG_WAITALL", MSG_WAITALL, "EOPNOTSUPP", "EOPNOTSUPP"},
		{"MSG_CONFIRM", MSG_CONFIRM, "EOPNOTSUPP", "EOPNOTSUPP"},
		{"MSG_ERRQUEUE", MSG_ERRQUEUE, "EOPNOTSUPP", "EOPNOTSUPP"},
		{"MSG_FASTOPEN", MSG_FASTOPEN, "EOPNOTSUPP", "EOPNOTSUPP"},
		{"MSG_SYN", MSG_SYN, "EOPNOTSUPP", "EOPNOTSUPP"},
	};

	for (const auto &one : flags) {
		const int flag = one.flag;

		table.differs(std::string("sendmsg: flag ") + one.name, one.mainline, one.ours,
			      [env, flag] {
				      Pair pair(env.loop);
				      return pair.send(5, flag);
			      });
	}
	table.row("sendmsg: bad flag before bad name, unbound", "EOPNOTSUPP",
		  [env] { return sendTo(openRds(), env.loop.length(3), 1, MSG_OOB); });
}

void addCalls(Table &table, const Env &env)
{
	table.differs("write: connected", "EOPNOTSUPP", "5", [env] {
		Pair pair(env.loop);

		connect(pair.from, pair.target.get(), pair.target.length());
		return sys(write(pair.from, "hello", 5));
	});
	table.differs("writev: connected", "EOPNOTSUPP", "5", [env] {
		Pair pair(env.loop);
		char text[] = "hello";
		iovec vector[2] = {{text, 2}, {text + 2, 3}};

		connect(pair.from, pair.target.get(), pair.target.length());
		return sys(writev(pair.from, vector, 2));
	});
	table.differs("write: unconnected", "EOPNOTSUPP", "ENOTCONN",
		      [env] { return sys(write(bindRds(env.loop), "hello", 5)); });
	table.row("send: connected", "5", [env] {
		Pair pair(env.loop);

		connect(pair.from, pair.target.get(), pair.target.length());
		return sys(send(pair.from, "hello", 5, 0));
	});
	table.row("sendmmsg: one message", "1", [env] {
		Pair pair(env.loop);
		return sendTwo(pair.from, pair.target, 1);
	});
	table.differs("sendmmsg: two messages", "EOPNOTSUPP", "2", [env] {
		Pair pair(env.loop);
		return sendTwo(pair.from, pair.target, 2);
	});
}

void addNamesOfSend(Table &table, const Env &env)
{
	const Address v4 = env.loop.port(4000), v6 = env.loop6.port(4000);
	const std::pair<const char *, Address> bad[] = {
		{"AF_INET, length 1", v4.length(1)},
		{"AF_INET, length 15", v4.length(15)},
		{"AF_INET6, length 16", v6.length(16)},
		{"AF_INET6, length 27", v6.length(27)},
		{"AF_UNSPEC", v4.family(AF_UNSPEC)},
		{"AF_UNIX", v4.family(AF_UNIX)},
		{"0.0.0.0", Address::parse("0.0.0.0", 4000)},
		{"255.255.255.255", Address::parse("255.255.255.255", 4000)},
		{"224.0.0.1", Address::parse("224.0.0.1", 4000)},
		{"::", Address::parse("::", 4000)},
		{"ff02::1", Address::parse("ff02::1", 4000)},
		{"::ffff:0.0.0.0", Address::parse("::ffff:0.0.0.0", 4000)},
		{"::ffff:224.0.0.1", Address::parse("::ffff:224.0.0.1", 4000)},
		{"fe80::1 without scope", Address::parse("fe80::1", 4000)},
	};

	for (const auto &[name, address] : bad) {
		const Address to = address;

		table.row(std::string("sendmsg: to ") + name, "EINVAL",
			  [env, to] { return sendTo(bindRds(env.loop), to); });
		table.row(std::string("sendmsg: unbound, to ") + name, "EINVAL",
			  [to] { return sendTo(openRds(), to); });
	}
	table.row("sendmsg: length 129 of name", "1", /* the core cuts it to 128 */
		  [env] {
			  Pair pair(env.loop);
			  return sendTo(pair.from, pair.target.length(129));
		  });
	table.row("sendmsg: unbound", "ENOTCONN", [v4] { return sendTo(openRds(), v4); });
	table.row("sendmsg: unbound but connected", "ENOTCONN", [v4] {
		const Fd fd = openRds();

		connect(fd, v4.get(), v4.length());
		return sendBytes(fd, "x", 1);
	});
	table.row("sendmsg: bound, no destination", "ENOTCONN",
		  [env] { return sendBytes(bindRds(env.loop), "x", 1); });
	table.row("sendmsg: to v6 from v4", "EOPNOTSUPP",
		  [env, v6] { return sendTo(bindRds(env.loop), v6); });
	table.row("sendmsg: to v4 from v6", "EOPNOTSUPP",
		  [env, v4] { return sendTo(bindRds(env.loop6), v4); });
	table.row("sendmsg: to a v4-mapped address from v4", "1", [env] {
		Pair pair(env.loop);

		return sendTo(pair.from, Address::parse("::ffff:127.0.0.1", pair.target.port()));
	});
	/* None of this host's: but it is not the scope that is refused. */
	table.differs(
		"sendmsg: to some scope from an address without", "1", "EADDRNOTAVAIL", [env] {
			return sendTo(bindRds(env.loop6), Address::parse("fe80::1", 4000).scope(1));
		});
	table.differs("sendmsg: from loopback to another host", "1", "EADDRNOTAVAIL",
		      [env] { return sendTo(bindRds(env.loop), env.absent.port(4000)); });
	table.row("sendmsg: unconnected name overrides connected", "1", [env] {
		Pair pair(env.loop);
		const Address other = env.loop.port(4000);

		connect(pair.from, other.get(), other.length());
		pair.send(1);
		return receiveSoon(pair.to).result;
	});
}

void addSizes(Table &table, const Env &env)
{
	for (const Address &any : {env.loop, env.loop6}) {
		const std::string what = any.family() == AF_INET ? ", v4" : ", v6";

		for (long length : {0L, 1L, 4096L, 65536L, 106496L})
			table.row("sendmsg: " + std::to_string(length) + " bytes" + what,
				  std::to_string(length), [any, length] {
					  Pair pair(any);
					  return pair.send(length);
				  });
		table.row("sendmsg: 106497 bytes, over sndbuf/2" + what, "EMSGSIZE", [any] {
			Pair pair(any);
			return pair.send(106497);
		});
	}
	table.row("sendmsg: 1 MiB with room", "1048576", [env] {
		Pair pair(env.loop);

		setOption(pair.from, SOL_SOCKET, SO_SNDBUFFORCE, 2 * maxMessage);
		return pair.send(maxMessage);
	});
	table.row("sendmsg: 1 MiB and a byte with room", "EMSGSIZE", [env] {
		Pair pair(env.loop);

		setOption(pair.from, SOL_SOCKET, SO_SNDBUFFORCE, 4 * maxMessage);
		return pair.send(maxMessage + 1);
	});
	table.row("sendmsg: too long, unbound", "ENOTCONN",
		  [env] { return sendTo(openRds(), env.loop.port(4000), 200000); });
	table.row("sendmsg: to a port of nobody", "1",
		  [env] { return sendTo(bindRds(env.loop), env.loop.port(9)); });
	table.row("sendmsg: to port 0, a ping", "1",
		  [env] { return sendTo(bindRds(env.loop), env.loop.port(0)); });
	table.row("sendmsg: SO_SNDBUF 16384 is doubled", "16384", [env] {
		Pair pair(env.loop);

		setOption(pair.from, SOL_SOCKET, SO_SNDBUF, 16384);
		return pair.send(16384);
	});
	table.row("sendmsg: SO_SNDBUF 16384 and a byte more", "EMSGSIZE", [env] {
		Pair pair(env.loop);

		setOption(pair.from, SOL_SOCKET, SO_SNDBUF, 16384);
		return pair.send(16385);
	});
}

void addPointers(Table &table, const Env &env)
{
	table.row("sendmsg: bad data pointer", "EFAULT", [env] {
		Pair pair(env.loop);

		return sendBytes(pair.from, badPointer(), 100, {.to = &pair.target});
	});
	table.row("sendmsg: bad data pointer, nothing arrives", "EAGAIN", [env] {
		Pair pair(env.loop);

		sendBytes(pair.from, badPointer(), 100, {.to = &pair.target});
		return receive(pair.to).result;
	});
	table.row("sendmsg: bad data pointer, length 0", "0", [env] {
		Pair pair(env.loop);

		return sendBytes(pair.from, badPointer(), 0, {.to = &pair.target});
	});
	table.row("sendto: bad name pointer", "EFAULT", [env] {
		return sys(sendto(bindRds(env.loop), "x", 1, 0,
				  static_cast<sockaddr *>(badPointer()), 16));
	});
	table.row("sendmsg: bad msghdr pointer", "EFAULT", [env] {
		return sys(sendmsg(bindRds(env.loop), static_cast<msghdr *>(badPointer()), 0));
	});
	table.row("sendmsg: bad control pointer", "EFAULT", [env] {
		Pair pair(env.loop);
		msghdr message{};

		message.msg_name = pair.target.get();
		message.msg_namelen = pair.target.length();
		message.msg_control = badPointer();
		message.msg_controllen = 64;
		return sys(sendmsg(pair.from, &message, 0));
	});
	table.row("sendmsg: 1025 vectors", "EMSGSIZE", [env] {
		Pair pair(env.loop);
		std::vector<iovec> vectors(1025);
		msghdr message{};

		message.msg_name = pair.target.get();
		message.msg_namelen = pair.target.length();
		message.msg_iov = vectors.data();
		message.msg_iovlen = vectors.size();
		return sys(sendmsg(pair.from, &message, 0));
	});
}

void addZerocopy(Table &table, const Env &env)
{
	table.row("sendmsg: MSG_ZEROCOPY on loopback", "EOPNOTSUPP", [env] {
		Pair pair(env.loop);

		setOption(pair.from, SOL_SOCKET, SO_ZEROCOPY, 1);
		return pair.send(4096, MSG_ZEROCOPY);
	});
	table.row("sendmsg: MSG_ZEROCOPY without SO_ZEROCOPY and cookie", "EINVAL", [env] {
		Pair pair(env.loop);
		return pair.send(4096, MSG_ZEROCOPY);
	});
	if (!env.local)
		return;
	const Address local = *env.local, absent = env.absent;
	table.row("sendmsg: MSG_ZEROCOPY over TCP without cookie", "EINVAL", [local, absent] {
		const Fd fd = bindRds(local);

		setOption(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
		return sendTo(fd, absent.port(4000), 4096, MSG_ZEROCOPY | MSG_DONTWAIT);
	});
	for (size_t length : {size_t{0}, size_t{4096}})
		table.row("sendmsg: MSG_ZEROCOPY over TCP, " + std::to_string(length) + " bytes",
			  length ? "4096" : "EINVAL", [local, absent, length] {
				  const Fd fd = bindRds(local);
				  const Control control = Control().add(
					  SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, uint32_t{7});
				  const Address to = absent.port(4000);
				  const std::string payload(length, 'z');

				  setOption(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
				  return sendBytes(fd, payload.data(), length,
						   {.flags = MSG_ZEROCOPY | MSG_DONTWAIT,
						    .to = &to,
						    .control = &control});
			  });
	table.row("sendmsg: MSG_ZEROCOPY over TCP, bad data pointer", "EFAULT", [local, absent] {
		const Fd fd = bindRds(local);
		const Control control = Control().add(SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, uint32_t{7});
		const Address to = absent.port(4000);

		setOption(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
		return sendBytes(
			fd, badPointer(), 8192,
			{.flags = MSG_ZEROCOPY | MSG_DONTWAIT, .to = &to, .control = &control});
	});
}

/* Fills a socket's send queue with messages for a host that is not there. */
Fd fullSender(const Env &env, size_t each = 16384)
{
	Fd fd = bindRds(*env.local);

	for (int i = 0; i < 1000; ++i) {
		const long result = sendTo(fd, env.absent.port(4000), each);

		if (result == -EAGAIN)
			return fd;
		if (result < 0)
			fail("filling the send queue", result);
	}
	fail("the send queue is never full", 0);
}

void addFullQueue(Table &table, const Env &env)
{
	if (!env.local)
		return;
	table.row("sendmsg: queue full, MSG_DONTWAIT", "EAGAIN",
		  [env] { return sendTo(fullSender(env), env.absent.port(4000)); });
	table.row("sendmsg: queue full, O_NONBLOCK", "EAGAIN", [env] {
		const Fd fd = fullSender(env);
		int on = 1;

		ioctl(fd, FIONBIO, &on);
		return sendTo(fd, env.absent.port(4000), 1, 0);
	});
	table.row("sendmsg: queue full, interrupted", "EINTR", [env] {
		const Fd fd = fullSender(env);

		return interrupted(std::chrono::milliseconds(300),
				   [&] { return sendTo(fd, env.absent.port(4000), 1, 0); });
	});
	table.row("sendmsg: queue full, SO_SNDTIMEO", "ETIMEDOUT", [env] {
		long result = -EINTR;

		/*
		 * Before a peer has answered how many paths it takes, mainline's blocking
		 * senders wait for that without a timeout if the hash of their port is not 0.
		 * The hash has a secret: try a few ports.
		 */
		for (int i = 0; i < 40 && result == -EINTR; ++i) {
			const Fd fd = fullSender(env);

			setTimeout(fd, SO_SNDTIMEO, std::chrono::milliseconds(200));
			result = interrupted(std::chrono::milliseconds(700), [&] {
				return sendTo(fd, env.absent.port(4000), 1, 0);
			});
		}
		return result;
	});
	table.row("sendmsg: queue full, no room for length 0 either", "EAGAIN",
		  [env] { return sendTo(fullSender(env), env.absent.port(4000), 0); });
	table.row("sendmsg: the last one may overshoot", "1", [env] {
		const Fd fd = bindRds(*env.local);
		const Address to = env.absent.port(4000);

		return long{sendTo(fd, to, 106495) == 106495 && sendTo(fd, to, 106496) == 106496 &&
			    sendTo(fd, to, 1) == -EAGAIN};
	});
	table.row("sendmsg: room again after cancel", "1", [env] {
		const Fd fd = fullSender(env);
		const Address to = env.absent.port(4000);

		setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, to.get(), to.length());
		return sendTo(fd, to);
	});
}

} // namespace

void addSendmsg(Table &table, const Env &env)
{
	addFlags(table, env);
	addCalls(table, env);
	addNamesOfSend(table, env);
	addSizes(table, env);
	addPointers(table, env);
	addZerocopy(table, env);
	addFullQueue(table, env);
}

} // namespace rdstest
