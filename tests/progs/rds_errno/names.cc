// SPDX-License-Identifier: GPL-2.0
/* socket(), bind(), connect(), getsockname(), getpeername(), and the calls RDS has not. */
#include "table.h"

#include <linux/rds.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rdstest
{

namespace
{

long bindTo(int fd, const Address &address)
{
	return sys(bind(fd, address.get(), address.length()));
}

long connectTo(int fd, const Address &address)
{
	return sys(connect(fd, address.get(), address.length()));
}

long openAs(int type, int protocol)
{
	const Fd fd(socket(PF_RDS, type, protocol));

	return fd < 0 ? -errno : 0;
}

/* The answer of getsockname or getpeername: "AF_INET 127.0.0.1:0, length 16", or an errno. */
std::string nameOf(int fd, int (*call)(int, sockaddr *, socklen_t *), socklen_t room = 128)
{
	Address name = Address().length(room);

	if (call(fd, name.get(), name.lengthPtr()) < 0)
		return describe(-errno);
	return name.text() + ", length " + std::to_string(name.length());
}

struct AddressRow {
	const char *name;
	Address address;
	const char *bind;
	const char *connect;
};

/* Addresses that are refused whatever is configured, by bind() and by connect(). */
std::vector<AddressRow> badAddresses(const Env &env)
{
	const Address v4 = env.loop.port(4000);
	const Address v6 = env.loop6.port(4000);

	return {
		{"length 0", v4.length(0), "EINVAL", "EINVAL"},
		{"length 1", v4.length(1), "EINVAL", "EINVAL"},
		{"AF_INET, length 2", v4.length(2), "EINVAL", "EINVAL"},
		{"AF_INET, length 15", v4.length(15), "EINVAL", "EINVAL"},
		{"AF_INET6, length 16", v6.length(16), "EINVAL", "EINVAL"},
		{"AF_INET6, length 27", v6.length(27), "EINVAL", "EINVAL"},
		{"length 129", v4.length(129), "EINVAL", "EINVAL"},
		{"length -1", v4.length(static_cast<socklen_t>(-1)), "EINVAL", "EINVAL"},
		{"AF_UNSPEC", v4.family(AF_UNSPEC), "EINVAL", "EAFNOSUPPORT"},
		{"AF_UNIX", v4.family(AF_UNIX), "EINVAL", "EAFNOSUPPORT"},
		{"AF_RDS", v4.family(AF_RDS), "EINVAL", "EAFNOSUPPORT"},
		{"0.0.0.0", Address::parse("0.0.0.0", 4000), "EINVAL", "EDESTADDRREQ"},
		{"255.255.255.255", Address::parse("255.255.255.255", 4000), "EINVAL", "EINVAL"},
		{"224.0.0.1", Address::parse("224.0.0.1", 4000), "EINVAL", "EINVAL"},
		{"::", Address::parse("::", 4000), "EINVAL", "EPROTOTYPE"},
		{"ff02::1", Address::parse("ff02::1", 4000), "EINVAL", "EPROTOTYPE"},
		{"::ffff:0.0.0.0", Address::parse("::ffff:0.0.0.0", 4000), "EINVAL", "EPROTOTYPE"},
		{"::ffff:224.0.0.1", Address::parse("::ffff:224.0.0.1", 4000), "EINVAL",
		 "EPROTOTYPE"},
		{"::ffff:255.255.255.255", Address::parse("::ffff:255.255.255.255", 4000), "EINVAL",
		 "EPROTOTYPE"},
		{"fe80::1 without scope", Address::parse("fe80::1", 4000), "EINVAL", "EINVAL"},
	};
}

void addSocket(Table &table)
{
	table.row("socket: SEQPACKET", "0", [] { return openAs(SOCK_SEQPACKET, 0); });
	table.row("socket: SEQPACKET|NONBLOCK|CLOEXEC", "0",
		  [] { return openAs(SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
	for (int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_RDM})
		table.row("socket: type " + std::to_string(type), "ESOCKTNOSUPPORT",
			  [type] { return openAs(type, 0); });
	for (int protocol : {1, 6, 276, -1})
		table.row("socket: protocol " + std::to_string(protocol), "ESOCKTNOSUPPORT",
			  [protocol] { return openAs(SOCK_SEQPACKET, protocol); });
}

void addBadAddresses(Table &table, const Env &env)
{
	for (const AddressRow &bad : badAddresses(env)) {
		table.row(std::string("bind: ") + bad.name, bad.bind,
			  [bad] { return bindTo(openRds(), bad.address); });
		table.row(std::string("connect: ") + bad.name, bad.connect,
			  [bad] { return connectTo(openRds(), bad.address); });
		table.row(std::string("bind: after refused ") + bad.name, "0", [bad, env] {
			const Fd fd = openRds();

			bindTo(fd, bad.address);
			return bindTo(fd, env.loop);
		});
	}
	using NameCall = int (*)(int, const sockaddr *, socklen_t);
	for (const NameCall call : {NameCall{bind}, NameCall{connect}}) {
		const std::string name = call == NameCall{bind} ? "bind" : "connect";

		table.row(name + ": bad pointer", "EFAULT", [call] {
			return sys(
				call(openRds(), static_cast<const sockaddr *>(badPointer()), 16));
		});
		table.row(name + ": no pointer", "EFAULT",
			  [call] { return sys(call(openRds(), nullptr, 16)); });
	}
}

void addBindPorts(Table &table, const Env &env)
{
	for (const Address &any : {env.loop, env.loop6}) {
		const std::string what = any.family() == AF_INET ? "v4" : "v6";

		table.row("bind: port 1, " + what, "EINVAL",
			  [any] { return bindTo(openRds(), any.port(1)); });
		table.row("bind: port 2, " + what, "0",
			  [any] { return bindTo(openRds(), any.port(2)); });
		table.row("bind: port 65535, " + what, "0",
			  [any] { return bindTo(openRds(), any.port(65535)); });
		table.row("bind: port 0 gives one above 1, " + what, "1",
			  [any] { return long{localAddress(bindRds(any)).port() > 1}; });
		table.row("bind: twice, same address, " + what, "EINVAL", [any] {
			const Fd fd = bindRds(any);

			return bindTo(fd, localAddress(fd));
		});
		table.row("bind: twice, other port, " + what, "EINVAL",
			  [any] { return bindTo(bindRds(any), any); });
		table.row("bind: port in use, " + what, "EADDRINUSE", [any] {
			const Fd fd = bindRds(any);
			return bindTo(openRds(), localAddress(fd));
		});
		table.row("bind: port in use, SO_REUSEADDR, " + what, "EADDRINUSE", [any] {
			const Fd first = bindRds(any), second = openRds();

			setOption(second, SOL_SOCKET, SO_REUSEADDR, 1);
			return bindTo(second, localAddress(first));
		});
		table.row("bind: port free again after close, " + what, "0", [any] {
			Fd first = bindRds(any);
			const Address address = localAddress(first);

			first.close();
			return bindTo(openRds(), address);
		});
	}
	table.row("bind: same port, other address", "0", [env] {
		const Fd fd = bindRds(env.loop);

		return bindTo(openRds(), Address::parse("127.0.0.2", localAddress(fd).port()));
	});
	table.row("bind: v4 is taken by v4-mapped", "EADDRINUSE", [env] {
		const Fd fd = bindRds(Address::parse("::ffff:127.0.0.1"));

		return bindTo(openRds(), localAddress(fd));
	});
	table.row("bind: length 128", "0",
		  [env] { return bindTo(openRds(), env.loop.length(128)); });
}

void addBindTransport(Table &table, const Env &env)
{
	for (const Address &absent : {env.absent, env.absent6}) {
		const std::string what = absent.family() == AF_INET ? "v4" : "v6";

		table.row("bind: address of no device, " + what, "EADDRNOTAVAIL",
			  [absent] { return bindTo(openRds(), absent); });
		table.row("bind: address of no device, transport preset, " + what, "ENOPROTOOPT",
			  [absent] {
				  const Fd fd = openRds();
				  setOption(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP);
				  return bindTo(fd, absent);
			  });
		table.row("bind: good one after EADDRNOTAVAIL, " + what, "0", [absent, env] {
			const Fd fd = openRds();
			bindTo(fd, absent);
			return bindTo(fd, env.loop);
		});
		table.row("bind: ENOPROTOOPT keeps the preset transport, " + what, "tcp", [absent] {
			const Fd fd = openRds();
			setOption(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP);
			bindTo(fd, absent);
			return transportName(fd);
		});
	}
	table.differs("bind: EADDRINUSE keeps the preset transport", "none", "tcp", [env] {
		const Fd first = bindRds(env.loop), second = openRds();

		setOption(second, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP);
		bindTo(second, localAddress(first));
		return transportName(second);
	});
	table.row("bind: failed one leaves no transport", "none", [env] {
		const Fd first = bindRds(env.loop), second = openRds();

		bindTo(second, localAddress(first));
		return transportName(second);
	});
	table.row("bind: 127.0.0.1 with transport TCP preset", "0", [env] {
		const Fd fd = openRds();

		setOption(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP);
		return bindTo(fd, env.loop);
	});
	table.row("bind: link-local of another scope than connected", "EINVAL", [] {
		const Fd fd = openRds();

		connectTo(fd, Address::parse("fe80::1", 4000).scope(1));
		return bindTo(fd, Address::parse("fe80::2").scope(2));
	});
	if (!env.linkLocal)
		return;
	const Address mine = *env.linkLocal;
	table.row("bind: link-local", "0", [mine] { return bindTo(openRds(), mine); });
	table.row("connect: link-local of another scope than bound", "EINVAL", [mine] {
		return connectTo(bindRds(mine), Address::parse("fe80::1", 4000).scope(1));
	});
	table.row("connect: link-local from an address without scope", "0", [env] {
		return connectTo(bindRds(env.loop6), Address::parse("fe80::1", 4000).scope(1));
	});
	table.row("sendmsg: to another scope than bound", "EINVAL", [mine] {
		return sendText(bindRds(mine), "x", Address::parse("fe80::1", 4000).scope(1));
	});
}

void addConnect(Table &table, const Env &env)
{
	table.row("connect: unbound", "0",
		  [env] { return connectTo(openRds(), env.loop.port(4000)); });
	table.row("connect: again, elsewhere", "AF_INET 127.0.0.2:4001, length 16", [env] {
		const Fd fd = bindRds(env.loop);

		connectTo(fd, env.loop.port(4000));
		connectTo(fd, Address::parse("127.0.0.2", 4001));
		return nameOf(fd, getpeername);
	});
	table.row("connect: a refused one changes nothing", "AF_INET 127.0.0.1:4000, length 16",
		  [env] {
			  const Fd fd = bindRds(env.loop);

			  connectTo(fd, env.loop.port(4000));
			  connectTo(fd, Address::parse("0.0.0.0", 4001));
			  return nameOf(fd, getpeername);
		  });
	table.row("connect: v6 from a v4 socket", "0",
		  [env] { return connectTo(bindRds(env.loop), env.loop6.port(4000)); });
}

void addGetNames(Table &table, const Env &env)
{
	table.row("getpeername: unconnected", "ENOTCONN",
		  [env] { return nameOf(bindRds(env.loop), getpeername); });
	table.row("getpeername: v6", "AF_INET6 [::1]:4000, length 28", [env] {
		const Fd fd = openRds();

		connectTo(fd, env.loop6.port(4000));
		return nameOf(fd, getpeername);
	});
	table.row("getsockname: unbound", "AF_UNSPEC, length 16",
		  [] { return nameOf(openRds(), getsockname); });
	table.row("getsockname: unbound, connected", "AF_INET 0.0.0.0:0, length 16", [env] {
		const Fd fd = openRds();

		connectTo(fd, env.loop.port(4000));
		return nameOf(fd, getsockname);
	});
	table.row("getsockname: unbound, connected, v6", "AF_INET6 [::]:0, length 28", [env] {
		const Fd fd = openRds();

		connectTo(fd, env.loop6.port(4000));
		return nameOf(fd, getsockname);
	});
	table.row("getsockname: v4", "AF_INET 127.0.0.1:14001, length 16",
		  [env] { return nameOf(bindRds(env.loop.port(14001)), getsockname); });
	table.row("getsockname: v6", "AF_INET6 [::1]:14002, length 28",
		  [env] { return nameOf(bindRds(env.loop6.port(14002)), getsockname); });
	table.row("getsockname: bound as v4-mapped", "AF_INET 127.0.0.1:14003, length 16", [] {
		return nameOf(bindRds(Address::parse("::ffff:127.0.0.1", 14003)), getsockname);
	});
	table.row("getsockname: room for 4 bytes", "AF_INET 0.0.0.0:14004, length 16",
		  [env] { return nameOf(bindRds(env.loop.port(14004)), getsockname, 4); });
	table.row("getsockname: bad pointer", "EFAULT", [env] {
		socklen_t length = 16;

		return sys(getsockname(bindRds(env.loop), static_cast<sockaddr *>(badPointer()),
				       &length));
	});
}

void addUnsupported(Table &table, const Env &env)
{
	table.row("listen", "EOPNOTSUPP", [env] { return sys(listen(bindRds(env.loop), 1)); });
	table.row("accept", "EOPNOTSUPP",
		  [env] { return sys(accept(bindRds(env.loop), nullptr, nullptr)); });
	for (int how : {SHUT_RD, SHUT_WR, SHUT_RDWR})
		table.row("shutdown: " + std::to_string(how), "EOPNOTSUPP",
			  [env, how] { return sys(shutdown(bindRds(env.loop), how)); });
	table.row("socketpair", "EOPNOTSUPP", [] {
		int pair[2];

		return sys(socketpair(PF_RDS, SOCK_SEQPACKET, 0, pair));
	});
	table.row("mmap", "ENODEV", [env] {
		const Fd fd = bindRds(env.loop);

		return mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED
			       ? long{-errno}
			       : 0L;
	});
}

} // namespace

void addNames(Table &table, const Env &env)
{
	addSocket(table);
	addBadAddresses(table, env);
	addBindPorts(table, env);
	addBindTransport(table, env);
	addConnect(table, env);
	addGetNames(table, env);
	addUnsupported(table, env);
}

} // namespace rdstest
