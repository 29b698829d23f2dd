// SPDX-License-Identifier: GPL-2.0
/* getsockopt(RDS_INFO_*): sizes, probing, faults, contents; and the ioctls. */
#include "table.h"

#include "../lib/info.h"

#include <linux/rds.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <climits>
#include <cstring>

namespace rdstest
{

namespace
{

struct Code {
	const char *name;
	int code;
	int each;
};

const Code codes[] = {
	{"COUNTERS", RDS_INFO_COUNTERS, 40},
	{"CONNECTIONS", RDS_INFO_CONNECTIONS, 42},
	{"SEND_MESSAGES", RDS_INFO_SEND_MESSAGES, 26},
	{"RETRANS_MESSAGES", RDS_INFO_RETRANS_MESSAGES, 26},
	{"RECV_MESSAGES", RDS_INFO_RECV_MESSAGES, 26},
	{"SOCKETS", RDS_INFO_SOCKETS, 28},
	{"TCP_SOCKETS", RDS_INFO_TCP_SOCKETS, 41},
	{"6 CONNECTIONS", RDS6_INFO_CONNECTIONS, 65},
	{"6 SEND_MESSAGES", RDS6_INFO_SEND_MESSAGES, 50},
	{"6 RETRANS_MESSAGES", RDS6_INFO_RETRANS_MESSAGES, 50},
	{"6 RECV_MESSAGES", RDS6_INFO_RECV_MESSAGES, 50},
	{"6 SOCKETS", RDS6_INFO_SOCKETS, 52},
	{"6 TCP_SOCKETS", RDS6_INFO_TCP_SOCKETS, 64},
};

/* A socket, and others that give every list something to show. */
struct Scene {
	explicit Scene(const Env &env) : fd(bindRds(env.loop)), other(bindRds(env.loop6))
	{
		sendText(fd, "hello", localAddress(fd));
		sendText(other, "hello", localAddress(other));
		if (!env.local)
			return;
		queue = bindRds(*env.local);
		sendText(queue, "hello", env.absent.port(4000));
	}
	Fd fd, other, queue;
};

/* getsockopt with this length: "result, length" (a length only when it was changed). */
std::string getInfo(int fd, int code, void *room, socklen_t length)
{
	const long result = sys(getsockopt(fd, SOL_RDS, code, room, &length));

	return describe(result) + ", " + std::to_string(length);
}

/* The length that a probe asks for. */
socklen_t probe(int fd, int code)
{
	socklen_t length = 0;

	getsockopt(fd, SOL_RDS, code, nullptr, &length);
	return length;
}

void addEach(Table &table, const Env &env)
{
	for (const Code &one : codes) {
		const Code code = one;
		const std::string name = std::string("INFO ") + code.name + ": ";

		table.row(name + "element size", std::to_string(code.each),
			  [env, code] { return readInfo(Scene(env).fd, code.code).each; });
		table.row(name + "element size, unbound socket", std::to_string(code.each),
			  [env, code] {
				  const Scene scene(env);

				  return readInfo(openRds(), code.code).each;
			  });
		table.row(name + "probe is a multiple of it", "0", [env, code] {
			return long{probe(Scene(env).fd, code.code) % code.each};
		});
		table.row(name + "length -1", "EINVAL, " + std::to_string(UINT_MAX), [env, code] {
			char room[1];

			return getInfo(Scene(env).fd, code.code, room, static_cast<socklen_t>(-1));
		});
		table.row(name + "bad length pointer", "EFAULT", [env, code] {
			char room[1];

			return sys(getsockopt(bindRds(env.loop), SOL_RDS, code.code, room,
					      static_cast<socklen_t *>(badPointer())));
		});
	}
	for (int code : {10002, 10009, 10010})
		table.row("INFO " + std::to_string(code) + ": never there", "ENOPROTOOPT, 0",
			  [env, code] { return getInfo(bindRds(env.loop), code, nullptr, 0); });
}

void addLengths(Table &table, const Env &env)
{
	const Code tested[] = {codes[0], codes[5], codes[11], codes[4]};

	for (const Code &one : tested) {
		const Code code = one;
		const std::string name = std::string("INFO ") + code.name + ": ";

		table.row(name + "probe", "ENOSPC", [env, code] {
			socklen_t length = 0;

			return sys(getsockopt(Scene(env).fd, SOL_RDS, code.code, nullptr, &length));
		});
		table.row(name + "a byte too short", "ENOSPC and the need", [env, code] {
			const Scene scene(env);
			const socklen_t need = probe(scene.fd, code.code);
			std::string room(need, '\0');
			socklen_t length = need - 1;
			const long result =
				sys(getsockopt(scene.fd, SOL_RDS, code.code, room.data(), &length));

			return describe(result) +
			       (length == need ? " and the need" : " and another");
		});
		table.row(name + "room to spare", std::to_string(code.each) + " and the need",
			  [env, code] {
				  const Scene scene(env);
				  const socklen_t need = probe(scene.fd, code.code);
				  std::string room(need + 1000, '\0');
				  socklen_t length = room.size();
				  const long result = sys(getsockopt(scene.fd, SOL_RDS, code.code,
								     room.data(), &length));

				  return describe(result) +
					 (length == need ? " and the need" : " and another");
			  });
		table.row(name + "writes no byte past its length", "1", [env, code] {
			const Scene scene(env);
			const socklen_t need = probe(scene.fd, code.code);
			std::string room(need + 100, '\x5a');
			socklen_t length = room.size();

			getsockopt(scene.fd, SOL_RDS, code.code, room.data(), &length);
			return long{room.substr(need) == std::string(100, '\x5a')};
		});
	}
	table.row("INFO COUNTERS: length over INT_MAX less a page", "EINVAL, 2147483647", [env] {
		char room[1];

		return getInfo(bindRds(env.loop), RDS_INFO_COUNTERS, room, INT_MAX);
	});
}

/* Reads counters into a place in the middle of two pages; 1 when they come out whole. */
long readAcrossPages(int fd, size_t offset)
{
	const socklen_t need = probe(fd, RDS_INFO_COUNTERS);
	std::string room(need + 8192, '\0');
	socklen_t length = need;

	if (getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, room.data() + offset, &length) < 0)
		return -errno;
	return std::string(room.data() + offset) == "conn_reset";
}

void addBuffers(Table &table, const Env &env)
{
	table.row("INFO COUNTERS: bad pointer", "EAGAIN|EFAULT", [env] {
		const Fd fd = bindRds(env.loop);
		socklen_t length = 100000;

		return sys(getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, badPointer(), &length));
	});
	table.row("INFO COUNTERS: read-only memory", "EAGAIN|EFAULT", [env] {
		const Fd fd = bindRds(env.loop);
		void *page = mmap(nullptr, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		socklen_t length = 65536;
		const long result = sys(getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, page, &length));

		munmap(page, 65536);
		return result;
	});
	for (size_t offset : {1, 7, 4095, 4000})
		table.row("INFO COUNTERS: buffer at odd offset " + std::to_string(offset), "1",
			  [env, offset] { return readAcrossPages(bindRds(env.loop), offset); });
}

/* Mainline's counters in its order; others may stand between and after them. */
const std::vector<std::string> counterNames = {
	"conn_reset",
	"recv_drop_bad_checksum",
	"recv_drop_old_seq",
	"recv_drop_no_sock",
	"recv_drop_dead_sock",
	"recv_deliver_raced",
	"recv_delivered",
	"recv_queued",
	"recv_immediate_retry",
	"recv_delayed_retry",
	"recv_ack_required",
	"recv_rdma_bytes",
	"recv_ping",
	"send_queue_empty",
	"send_queue_full",
	"send_lock_contention",
	"send_lock_queue_raced",
	"send_immediate_retry",
	"send_delayed_retry",
	"send_drop_acked",
	"send_ack_required",
	"send_queued",
	"send_rdma",
	"send_rdma_bytes",
	"send_pong",
	"page_remainder_hit",
	"page_remainder_miss",
	"copy_to_user",
	"copy_from_user",
	"cong_update_queued",
	"cong_update_received",
	"cong_send_error",
	"cong_send_blocked",
	"recv_bytes_added_to_sock",
	"recv_bytes_freed_fromsock",
	"send_stuck_rm",
	"tcp_data_ready_calls",
	"tcp_write_space_calls",
	"tcp_sndbuf_full",
	"tcp_connect_raced",
	"tcp_listen_closed_stale",
};

std::string missingCounter(int fd)
{
	const auto counters = readCounters(fd);
	auto at = counters.begin();

	for (const std::string &name : counterNames) {
		at = std::find_if(at, counters.end(),
				  [&](const auto &counter) { return counter.first == name; });
		if (at == counters.end())
			return name + " is missing or out of order";
	}
	return "all there, in order";
}

/* The entry in the list of sockets of one with this inode-independent name. */
std::string socketEntry(int fd)
{
	const Address name = localAddress(fd);

	for (const rds_info_socket &entry : readInfo(fd, RDS_INFO_SOCKETS).as<rds_info_socket>()) {
		if (ntohs(entry.bound_port) != name.port())
			continue;
		return "sndbuf " + std::to_string(entry.sndbuf) + ", rcvbuf " +
		       std::to_string(entry.rcvbuf) + ", to port " +
		       std::to_string(ntohs(entry.connected_port)) + (entry.inum ? ", inode" : "");
	}
	return "not listed";
}

/* The first queued message to a port in a list: "5 bytes, seq 1". */
std::string messageEntry(int fd, int code, uint16_t port)
{
	for (const rds_info_message &entry : readInfo(fd, code).as<rds_info_message>()) {
		if (ntohs(entry.fport) == port || ntohs(entry.lport) == port)
			return std::to_string(entry.len) + " bytes, flags " +
			       std::to_string(entry.flags) + ", tos " + std::to_string(entry.tos);
	}
	return "not listed";
}

/* Of the one message that waits for @port: is local its reader's, and foreign its sender's? */
template <typename Entry, typename Same>
std::string whose(int code, const Fd &reader, const Fd &sender, Same same)
{
	const Address local = localAddress(reader), foreign = localAddress(sender);

	for (const Entry &entry : readInfo(reader, code).as<Entry>()) {
		const auto is = [&](const auto &addr, uint16_t port, const Address &a) {
			return ntohs(port) == a.port() && same(addr, a.get());
		};

		if (is(entry.laddr, entry.lport, local) && is(entry.faddr, entry.fport, foreign))
			return "the reader's, the sender's";
		if (is(entry.laddr, entry.lport, foreign) && is(entry.faddr, entry.fport, local))
			return "the sender's, the reader's";
	}
	return "not listed";
}

void addWhose(Table &table, const Env &env)
{
	table.row("INFO RECV_MESSAGES: local, foreign", "the reader's, the sender's", [env] {
		const Fd reader = bindRds(env.loop), sender = bindRds(env.loop);

		sendText(sender, "hello", localAddress(reader));
		return whose<rds_info_message>(
			RDS_INFO_RECV_MESSAGES, reader, sender,
			[](uint32_t addr, const sockaddr *is) {
				return addr ==
				       reinterpret_cast<const sockaddr_in *>(is)->sin_addr.s_addr;
			});
	});
	table.row("INFO 6 RECV_MESSAGES: local, foreign", "the reader's, the sender's", [env] {
		const Fd reader = bindRds(env.loop6), sender = bindRds(env.loop6);

		sendText(sender, "hello", localAddress(reader));
		return whose<rds6_info_message>(
			RDS6_INFO_RECV_MESSAGES, reader, sender,
			[](const in6_addr &addr, const sockaddr *is) {
				return !memcmp(
					&addr,
					&reinterpret_cast<const sockaddr_in6 *>(is)->sin6_addr,
					sizeof(addr));
			});
	});
}

void addContents(Table &table, const Env &env)
{
	table.row("INFO COUNTERS: names", "all there, in order",
		  [env] { return missingCounter(bindRds(env.loop)); });
	table.row("INFO SOCKETS: an entry", "sndbuf 106496, rcvbuf 106496, to port 4000, inode",
		  [env] {
			  const Fd fd = bindRds(env.loop);
			  const Address to = env.loop.port(4000);

			  connect(fd, to.get(), to.length());
			  return socketEntry(fd);
		  });
	table.row("INFO SOCKETS: a v6 socket is not in the v4 list", "not listed",
		  [env] { return socketEntry(bindRds(env.loop6)); });
	table.row("INFO RECV_MESSAGES: a message", "5 bytes, flags 0, tos 0", [env] {
		const Fd fd = bindRds(env.loop);
		const Address self = localAddress(fd);

		sendText(fd, "hello", self);
		return messageEntry(fd, RDS_INFO_RECV_MESSAGES, self.port());
	});
	table.row("INFO RECV_MESSAGES: gone when read", "not listed", [env] {
		const Fd fd = bindRds(env.loop);
		const Address self = localAddress(fd);

		sendText(fd, "hello", self);
		receive(fd);
		return messageEntry(fd, RDS_INFO_RECV_MESSAGES, self.port());
	});
	if (!env.local)
		return;
	table.row("INFO SEND_MESSAGES: a message for an absent host", "5 bytes, flags 0, tos 0",
		  [env] {
			  const Fd fd = bindRds(*env.local);

			  sendText(fd, "hello", env.absent.port(4000));
			  return messageEntry(fd, RDS_INFO_SEND_MESSAGES, localAddress(fd).port());
		  });
	table.row("INFO SEND_MESSAGES: gone when cancelled", "not listed", [env] {
		const Fd fd = bindRds(*env.local);
		const Address to = env.absent.port(4000);

		sendText(fd, "hello", to);
		setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, to.get(), to.length());
		return messageEntry(fd, RDS_INFO_SEND_MESSAGES, localAddress(fd).port());
	});
}

void addIoctls(Table &table, const Env &env)
{
	const auto tos = [](int fd, unsigned long request, uint8_t value) {
		const long result = sys(ioctl(fd, request, &value));

		return describe(result) + ", tos " + std::to_string(value);
	};

	table.row("ioctl: SETTOS, unbound", "ENOTTY, tos 5",
		  [tos] { return tos(openRds(), SIOCRDSSETTOS, 5); });
	table.row("ioctl: SETTOS, loopback", "ENOTTY, tos 5",
		  [env, tos] { return tos(bindRds(env.loop), SIOCRDSSETTOS, 5); });
	table.row("ioctl: GETTOS, unbound", "0, tos 0",
		  [tos] { return tos(openRds(), SIOCRDSGETTOS, 5); });
	table.row("ioctl: GETTOS, bad pointer", "EFAULT",
		  [] { return sys(ioctl(openRds(), SIOCRDSGETTOS, badPointer())); });
	for (unsigned long request :
	     {(unsigned long)FIONREAD, (unsigned long)SIOCOUTQ, (unsigned long)SIOCATMARK,
	      (unsigned long)SIOCRDSGETTOS + 1, (unsigned long)SIOCRDSGETTOS + 2})
		table.row("ioctl: " + std::to_string(request), "ENOTTY", [env, request] {
			long value = 0;

			return sys(ioctl(bindRds(env.loop), request, &value));
		});
	if (!env.local)
		return;
	const Address local = *env.local;
	table.row("ioctl: SETTOS, TCP, becomes 0", "0, tos 0", [local, tos] {
		const Fd fd = bindRds(local);

		tos(fd, SIOCRDSSETTOS, 5);
		return tos(fd, SIOCRDSGETTOS, 9);
	});
	table.row("ioctl: SETTOS, TCP, twice", "0, tos 6", [local, tos] {
		const Fd fd = bindRds(local);

		tos(fd, SIOCRDSSETTOS, 5);
		return tos(fd, SIOCRDSSETTOS, 6);
	});
	table.row("ioctl: SETTOS, TCP, bad pointer", "EFAULT",
		  [local] { return sys(ioctl(bindRds(local), SIOCRDSSETTOS, badPointer())); });
	table.row("ioctl: SETTOS, TCP, after a message was sent", "EINVAL, tos 5",
		  [env, local, tos] {
			  const Fd fd = bindRds(local);

			  sendText(fd, "hello", env.absent.port(4000));
			  return tos(fd, SIOCRDSSETTOS, 5);
		  });
}

} // namespace

void addInfo(Table &table, const Env &env)
{
	addEach(table, env);
	addLengths(table, env);
	addBuffers(table, env);
	addContents(table, env);
	addWhose(table, env);
	addIoctls(table, env);
}

} // namespace rdstest
