/* SPDX-License-Identifier: GPL-2.0 */
/*
 * host.h: what the two user-space platforms (tests/sim, tests/pthread) share: the seam's plain
 * data.
 *
 * Payloads are byte arrays, a system call's memory is a buffer that may fault at a chosen byte, a
 * namespace is a name with addresses, a socket's storage carries buffer sizes and wake counters in
 * front of the core's part.  Everything that depends on how code runs (locks, RCU, work, time) is
 * in platform_sim.cc and platform_pthread.cc.
 */
#ifndef RDS_TESTS_HOST_H
#define RDS_TESTS_HOST_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net/platform/platform.h"
#include "net/rds/rds_core.h"
#include "net/rds/stats.h"
#include "net/rds/transport.h"

/* ---- the opaque structures of the seam ---- */

struct rds_stats {
	std::atomic<uint64_t> v[RDS_STAT_COUNT] = {};
};

/* References held by sockets and calls inside; @dying: rds_module_get() fails. */
struct rds_module {
	std::atomic<int> refs = 0;
	std::atomic<bool> dying = false;
};

/* Memory of a system call.  Bytes from @fault_at on cannot be read or written. */
struct rds_uio {
	unsigned char *base = nullptr;
	size_t len = 0;
	size_t off = 0;
	size_t fault_at = SIZE_MAX;
};

/* Received bytes that are not a message yet. */
struct rds_src {
	const unsigned char *data = nullptr;
	size_t len = 0;
	bool unreadable = false; /* a payload that it is appended to keeps it, and cannot be read */
};

/* Up to kInlineBytes lie behind the structure, more in an allocation of their own, so that both
 * ways of losing memory are seen. */
struct rds_payload {
	uint32_t len;
	uint32_t have;
	uint32_t room; /* bytes at @bytes, when they are not @small */
	unsigned char *bytes;
	uint8_t pinned;
	uint8_t unreadable;
	alignas(8) unsigned char small[];
};

namespace host
{

constexpr uint32_t kInlineBytes = 256;

/* Seen by rds_socket_wake() and friends; the core's storage follows directly. */
struct Sock {
	std::atomic<uint32_t> sndbuf = 64 * 1024; /* payload bytes, already halved */
	std::atomic<uint32_t> rcvbuf = 64 * 1024;
	std::atomic<bool> stamps = false;
	std::atomic<uint32_t> woken_read = 0;
	std::atomic<uint32_t> woken_write = 0;
	std::atomic<uint32_t> woken_cong = 0;
	std::atomic<uint32_t> woken = 0;   /* any of them: what sleepers watch */
	std::atomic<uint64_t> charged = 0; /* by rds_socket_pay() */
	std::atomic<uint32_t> charges = 0; /* calls that may not wait */
	std::atomic<bool> poor = false;	   /* they are refused all */
	std::atomic<bool> gone = false;
	struct rds_rcu_head rcu;
	/* Linux's part before the core's storage: struct rds_sock of its glue (tests/sim/glue).
	 */
	static constexpr size_t kLinuxBytes = 96;
	alignas(16) unsigned char linux_sock[kLinuxBytes] = {};

	struct rds_socket *core()
	{
		return reinterpret_cast<struct rds_socket *>(this + 1);
	}
	static Sock *of(const struct rds_socket *s)
	{
		return reinterpret_cast<Sock *>(const_cast<struct rds_socket *>(s)) - 1;
	}
};
static_assert(sizeof(Sock) % 8 == 0);

/* Wakeups of a socket until some moment.  As with poll(2) and epoll, who waits for one kind does
 * not hear of others. */
struct News {
	explicit News(const Sock &s)
		: read(s.woken_read.load()), write(s.woken_write.load()), cong(s.woken_cong.load())
	{
	}
	/* Has there been one of the kinds @what (RDS_WAKE_*) since then? */
	bool came(const Sock &s, unsigned int what) const
	{
		return (what & RDS_WAKE_READ && s.woken_read.load() != read) ||
		       (what & RDS_WAKE_WRITE && s.woken_write.load() != write) ||
		       (what & RDS_WAKE_CONG && s.woken_cong.load() != cong);
	}

	uint32_t read, write, cong;
};

/* Counts a wakeup of @s (the platforms' rds_socket_wake() checks its caller first). */
void count_wake(struct rds_socket *s, unsigned int what);
/* The time of day, as sockets stamp it, is this plus rds_now_ns().  May change at any time. */
extern std::atomic<uint64_t> date;
/* Called after the counters of a Sock were raised (the thread build wakes sleepers with it). */
extern void (*on_wake)(Sock *s);
/* As the glue's: looks for sleepers.  Before anything else that is a barrier. */
extern void (*wake_sleepers)(struct rds_socket *s, unsigned int what);
/* Called when somebody asks for the limit of a send queue, with its amounts in hand: the simulator
 * may give the processor to another there. */
extern void (*on_limit)();
/* Called for every state change of a path. */
extern void (*on_state)(const struct rds_path *p, unsigned int from, unsigned int to,
			unsigned int why);
/* Called when a path has taken an event (enum rds_path_event) that found it in state @from. */
extern void (*on_event)(const struct rds_path *p, unsigned int event, unsigned int from);
/* Called for what tracing is told: a message that is thrown away, news of a port. */
extern void (*on_drop)(const struct rds_path *p, unsigned int why, uint64_t seq, uint32_t len,
		       uint16_t sport, uint16_t dport);
extern void (*on_cong)(int ours, const struct rds_addr *addr, unsigned int port,
		       enum rds_cong_news news);
/* Called when the core asks for a transport by name. */
extern void (*on_module_request)(const char *name, int for_all);

/* Number of rds_bug() calls, and what the last one said. */
extern std::atomic<unsigned int> bugs;
extern std::atomic<const char *> last_bug;
extern std::atomic<unsigned int> logged;

/* ---- small helpers for tests ---- */

/* 10.0.0.@n as RDS keeps it. */
struct rds_addr addr4(unsigned int n);
/* fd00::@n */
struct rds_addr addr6(unsigned int n);
struct rds_endpoint endpoint(const struct rds_addr &a, uint16_t port, uint32_t scope = 0);
std::string show(const struct rds_addr &a);

/* recv_spill_bytes of every namespace here: little, so that it is reached. */
constexpr unsigned int kSpillBytes = 256 * 1024;

/* A namespace: the core's half, its counters and its local addresses. */
class Net final
{
public:
	explicit Net(std::vector<struct rds_addr> local);
	~Net();
	Net(const Net &) = delete;
	Net &operator=(const Net &) = delete;

	struct rds_net *core() const
	{
		return core_;
	}
	uint64_t stat(enum rds_stat id) const
	{
		return stats_.v[id].load();
	}
	bool is_local(const struct rds_addr &a) const;
	/* An address comes to this host, or goes to another. */
	void add(const struct rds_addr &a);
	void remove(const struct rds_addr &a);
	/* ... and the core is not told. */
	void add_quietly(const struct rds_addr &a);
	void remove_quietly(const struct rds_addr &a);
	static Net *of(struct rds_os_net *os)
	{
		return reinterpret_cast<Net *>(os);
	}
	struct rds_os_net *os()
	{
		return reinterpret_cast<struct rds_os_net *>(this);
	}
	/* Its programs administer it (rds_caller_is_admin()). */
	std::atomic<bool> admin = true;
	/* Counters that are not zero, one a line. */
	std::string show_stats() const;

private:
	struct rds_stats stats_;
	std::vector<struct rds_addr> local_;
	struct rds_net *core_;
};

/* laddr_check() of the user-space transports: 0 or -EADDRNOTAVAIL. */
int laddr_is_local(struct rds_os_net *os, const struct rds_addr *addr, uint32_t scope);

using Bytes = std::vector<unsigned char>;

/* One message as an application got it. */
struct Received {
	struct rds_recv_info info;
	Bytes data;
};

/* An application's socket: what af_rds.c does, without waiting. */
class Socket final
{
public:
	explicit Socket(Net &net, uint32_t uid = 0);
	~Socket()
	{
		close();
	}
	/* 0, or what socket(2) would say: then nothing else may be called. */
	int opened;
	Socket(const Socket &) = delete;
	Socket &operator=(const Socket &) = delete;

	/* All return 0 or -errno. */
	int bind(const struct rds_endpoint &ep)
	{
		return rds_socket_bind(core(), &ep);
	}
	int connect(const struct rds_endpoint &to)
	{
		return rds_socket_connect(core(), &to);
	}
	int send(const struct rds_endpoint &to, std::span<const unsigned char> data,
		 bool more = false, uint32_t order = 0);
	/* With the caller's pages, which come back as @cookie. */
	int send_zcopy(const struct rds_endpoint &to, std::span<const unsigned char> data,
		       uint32_t cookie, uint32_t order = 0);
	/* With an operation, and the cookie of memory that the receiver is told of; either may be
	 * missing. */
	int send_rdma(const struct rds_endpoint &to, std::span<const unsigned char> data,
		      const struct rds_op_args *op, uint64_t cookie = 0);
	/* How operations ended, since the last call. */
	std::vector<struct rds_notice> notices();
	/* The oldest message, or nothing. */
	std::optional<Received> recv();
	/* Releases; the storage goes after a grace period.  Nothing else may be called then. */
	void close();

	struct rds_socket *core() const
	{
		return sock_->core();
	}
	Sock &sock() const
	{
		return *sock_;
	}
	bool readable() const
	{
		return rds_socket_readable(core());
	}

private:
	int send_made(const struct rds_endpoint &to, struct rds_msg *m, bool more,
		      uint32_t order = 0);

	Sock *sock_;
};

/* Whole snapshots: every step of rds_info_*(). */
inline void info_conns(struct rds_net *net, void (*fn)(void *arg, const struct rds_conn_info *i),
		       void *arg)
{
	for (uint64_t pos = 0; pos != RDS_INFO_END;)
		pos = rds_info_conns(net, pos, fn, arg);
}
inline void info_paths(struct rds_net *net, void (*fn)(void *arg, const struct rds_path_info *i),
		       void *arg)
{
	for (uint64_t pos = 0; pos != RDS_INFO_END;)
		pos = rds_info_paths(net, pos, fn, arg);
}
inline void info_messages(struct rds_net *net, enum rds_info_queue q,
			  void (*fn)(void *arg, const struct rds_msg_info *i), void *arg,
			  struct rds_socket *asks = nullptr)
{
	for (uint64_t pos = 0; pos != RDS_INFO_END;)
		pos = rds_info_messages(net, q, asks, pos, fn, arg);
}
/* How many @q has. */
inline unsigned int count_messages(struct rds_net *net, enum rds_info_queue q)
{
	unsigned int n = 0;

	info_messages(
		net, q,
		[](void *arg, const struct rds_msg_info *) { ++*static_cast<unsigned int *>(arg); },
		&n);
	return n;
}
inline void info_sockets(struct rds_net *net,
			 void (*fn)(void *arg, const struct rds_socket_info *i), void *arg)
{
	for (uint64_t pos = 0; pos != RDS_INFO_END;)
		pos = rds_info_sockets(net, pos, fn, arg);
}

/* Bytes in use by the core, and number of allocations (either platform). */
struct Usage {
	size_t bytes;
	size_t blocks;
};
Usage usage();

} // namespace host
#endif
