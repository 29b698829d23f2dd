// SPDX-License-Identifier: GPL-2.0
#include "calls.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/rds.h>
#include <linux/sockios.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#ifndef SO_RESERVE_MEM
#define SO_RESERVE_MEM 73
#endif

namespace rdstest
{

namespace
{

/* Longest wait of a call that may block. */
constexpr timeval patience = {0, 20000};

/* The size of an option's value. */
size_t sizeOf(int option)
{
	switch (option) {
	case RDS_GET_MR:
		return sizeof(rds_get_mr_args);
	case RDS_GET_MR_FOR_DEST:
		return sizeof(rds_get_mr_for_dest_args);
	case RDS_FREE_MR:
		return sizeof(rds_free_mr_args);
	case RDS_CANCEL_SENT_TO:
		return sizeof(sockaddr_in);
	default:
		return sizeof(int);
	}
}

} // namespace

void Calls::look(const char *what, const void *data, size_t length)
{
	if (isPoisoned(data, length))
		wrong = std::string("old memory in ") + what;
}

/* ---- arguments ---- */

/* Memory of which all bytes are the same. */
iovec Calls::plainBytes(size_t bytes)
{
	void *at = pointer(bytes);

	if (bytes <= Memory::roomBytes && at == memory_.room(bytes))
		memset(at, plainByte, bytes);
	return {at, bytes};
}

void Calls::vectors(iovec *to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = plainBytes(often(9) ? below(3000) : length());
}

void Calls::message(msghdr &m, bool sending)
{
	size_t count = often(8) ? 1 + below(2) : below(std::size(vectors_) + 1);

	memset(&m, 0, sizeof(m));
	vectors(vectors_, count);
	m.msg_iov = often(9) ? vectors_ : static_cast<iovec *>(pointer(sizeof(vectors_)));
	m.msg_iovlen = often(9) ? count : length();
	if (often(8))
		m.msg_name = address(m.msg_namelen, false);
	if (!sending) {
		m.msg_namelen = static_cast<socklen_t>(often(9) ? 28 : length());
		m.msg_controllen = below(300);
		m.msg_control = controls_.room(m.msg_controllen);
	} else if (often(2)) {
		char room[512];
		size_t bytes = controlMessages(room, sizeof(room));

		m.msg_control = memcpy(controls_.room(bytes), room, bytes);
		m.msg_controllen = often(9) ? bytes : length();
	}
	if (!often(9))
		m.msg_control = pointer(m.msg_controllen);
}

/* ---- calls ---- */

long Calls::openSocket()
{
	const int type = often(9) ? SOCK_SEQPACKET : static_cast<int>(below(8));
	const long fd = syscall(SYS_socket, AF_RDS, type, often(9) ? 0 : next());
	socklen_t length;

	if (fd < 0)
		return fd;
	/* Twice, for the first one may fail on purpose, and then calls would wait for ever. */
	for (int option : {SO_RCVTIMEO, SO_SNDTIMEO, SO_RCVTIMEO, SO_SNDTIMEO})
		setsockopt(static_cast<int>(fd), SOL_SOCKET, option, &patience, sizeof(patience));
	/* Mostly one that can send and receive. */
	if (often(8)) {
		void *at = address(length, true);

		syscall(SYS_bind, fd, at, length);
	}
	return fd;
}

long Calls::bindOrConnect(int fd)
{
	const bool binding = often(7);
	socklen_t length;
	void *at = address(length, binding && often(8));

	return syscall(binding ? SYS_bind : SYS_connect, fd, at, length);
}

long Calls::names(int fd)
{
	auto *length = static_cast<socklen_t *>(names_.room(sizeof(socklen_t)));
	void *at = pointer(128);

	*length = static_cast<socklen_t>(this->length());

	const long result = syscall(often(5) ? SYS_getsockname : SYS_getpeername, fd, at,
				    often(9) ? length : pointer(4));
	if (!result && at == memory_.room(128))
		look("a name", at, 128);
	return result;
}

long Calls::sendMessage(int fd)
{
	msghdr m;

	message(m, true);
	return syscall(SYS_sendmsg, fd, &m, flags(true));
}

long Calls::sendMany(int fd)
{
	mmsghdr m[4];

	for (mmsghdr &one : m)
		message(one.msg_hdr, true);
	return syscall(SYS_sendmmsg, fd, m, 1 + below(4), flags(true));
}

long Calls::receiveMessage(int fd)
{
	msghdr m;

	message(m, false);
	return syscall(SYS_recvmsg, fd, &m, flags(false));
}

long Calls::receiveMany(int fd)
{
	mmsghdr m[4];
	timespec end = {0, 10000000};

	for (mmsghdr &one : m)
		message(one.msg_hdr, false);
	return syscall(SYS_recvmmsg, fd, m, 1 + below(4), flags(false), &end);
}

long Calls::setOption(int fd)
{
	constexpr int usual[] = {RDS_CANCEL_SENT_TO, RDS_RECVERR,      RDS_CONG_MONITOR,
				 RDS_ORDER,	     SO_RDS_TRANSPORT, SO_RDS_MSG_RXPATH_LATENCY,
				 SO_TIMESTAMP,	     RDS_GET_MR,       RDS_GET_MR_FOR_DEST,
				 RDS_FREE_MR,	     RDS_RECV_BATCH};
	const int name = often(9) ? oneOf(usual) : static_cast<int>(below(20));
	const size_t bytes = often(7) ? sizeOf(name) : often(7) ? 4 << below(3) : length();
	const bool few = often(5);
	socklen_t named;

	if (name == RDS_CANCEL_SENT_TO && often(8)) {
		void *at = address(named, false);

		return syscall(SYS_setsockopt, fd, SOL_RDS, name, at, often(9) ? named : 0);
	}

	auto *at = static_cast<unsigned char *>(pointer(bytes));

	/* Small numbers mean something to most options. */
	if (at == memory_.room(bytes))
		for (size_t i = 0; i < bytes && i < 64; i++)
			at[i] = static_cast<unsigned char>(i && few ? 0 : below(4));
	return syscall(SYS_setsockopt, fd, often(9) ? SOL_RDS : below(300), name, at, bytes);
}

/* A program that takes nothing, or all; RDS has no use for it. */
long Calls::attachFilter(int fd)
{
	sock_filter line = {BPF_RET | BPF_K, 0, 0, static_cast<uint32_t>(below(2) - 1)};
	sock_fprog program = {static_cast<unsigned short>(often(8) ? 1 : below(5)), &line};

	if (!often(8))
		return syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_DETACH_FILTER, &program, 4);
	return syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_ATTACH_FILTER,
		       often(9) ? &program : pointer(sizeof(program)), sizeof(program));
}

long Calls::setSocketOption(int fd)
{
	constexpr int names[] = {SO_SNDBUF,	 SO_RCVBUF,	 SO_ZEROCOPY,	 SO_TIMESTAMP,
				 SO_REUSEADDR,	 SO_PRIORITY,	 SO_MARK,	 SO_BUSY_POLL,
				 SO_RESERVE_MEM, SO_RCVBUFFORCE, SO_SNDBUFFORCE, SO_TIMESTAMPING,
				 SO_RCVLOWAT,	 SO_PASSCRED,	 SO_PEEK_OFF,	 SO_TIMESTAMPNS,
				 SO_LINGER,	 SO_ZEROCOPY,	 SO_ZEROCOPY,	 SO_BINDTODEVICE,
				 SO_RCVTIMEO,	 SO_SNDTIMEO};
	constexpr int edges[] = {0, 1, -1, 2304, 0x7fffffff};
	const int name = oneOf(names);
	int value[2] = {often(7) ? static_cast<int>(below(100000)) : oneOf(edges), 0};

	if (name == SO_RCVTIMEO || name == SO_SNDTIMEO) {
		const timeval soon = {0, static_cast<suseconds_t>(1 + below(patience.tv_usec))};

		return syscall(SYS_setsockopt, fd, SOL_SOCKET, name, &soon,
			       often(9) ? sizeof(soon) : length());
	}
	if (name == SO_ZEROCOPY)
		value[0] = often(8);
	return syscall(SYS_setsockopt, fd, SOL_SOCKET, name, value,
		       name == SO_LINGER ? sizeof(value) : sizeof(value[0]));
}

long Calls::getOption(int fd)
{
	constexpr int usual[] = {RDS_RECVERR,	   RDS_CONG_MONITOR, RDS_ORDER,
				 SO_RDS_TRANSPORT, RDS_RECV_QUERY,   SO_RDS_MSG_RXPATH_LATENCY,
				 RDS_RECV_BATCH};
	auto *length = static_cast<int *>(names_.room(sizeof(int)));
	const int name = often(6)   ? static_cast<int>(RDS_INFO_FIRST + below(20))
			 : often(7) ? oneOf(usual)
				    : static_cast<int>(below(80));
	const auto room = often(5) ? below(Memory::roomBytes) : this->length();
	void *at = pointer(room);

	*length = static_cast<int>(room);

	const long result = syscall(SYS_getsockopt, fd, often(9) ? SOL_RDS : SOL_SOCKET, name, at,
				    often(9) ? length : pointer(4));
	if (result >= 0 && *length >= 0 && at == memory_.room(room))
		look("an option", at, std::min<size_t>(*length, room));
	return result;
}

/* The only call of which more than an answer is wanted: it must make sense. */
long Calls::query(int fd)
{
	rds_recv_query q = {};
	socklen_t length = sizeof(q);

	q.want = RDS_RECV_QUERY_NBUFS | RDS_RECV_QUERY_SPAN;
	if (often(4))
		memcpy(&q.peer, &addresses_[below(addresses_.size())], sizeof(q.peer));

	const long result = getsockopt(fd, SOL_RDS, RDS_RECV_QUERY, &q, &length);

	if (!result &&
	    (q.bufs_alloc_span < q.nbufs_allocated || !q.bufs_alloc_span != !q.nbufs_allocated))
		wrong = "RDS_RECV_QUERY: " + std::to_string(q.nbufs_allocated) +
			" messages, span " + std::to_string(q.bufs_alloc_span);
	return result;
}

long Calls::ioctls(int fd)
{
	constexpr unsigned long names[] = {SIOCRDSSETTOS, SIOCRDSGETTOS,  SIOCINQ,
					   SIOCOUTQ,	  SIOCGSTAMP_OLD, SIOCPROTOPRIVATE + 2};

	return syscall(SYS_ioctl, fd, often(9) ? oneOf(names) : next() >> 32, pointer(8));
}

long Calls::wait(int fd)
{
	pollfd p = {fd, static_cast<short>(next()), 0};

	return syscall(SYS_poll, &p, 1, below(3));
}

long Calls::others(int fd)
{
	switch (below(6)) {
	case 0:
		return syscall(SYS_listen, fd, 5);
	case 1:
		return syscall(SYS_accept4, fd, nullptr, nullptr, SOCK_NONBLOCK);
	case 2:
		return syscall(SYS_shutdown, fd, below(4));
	case 3:
		return syscall(SYS_write, fd, plainBytes(100).iov_base, below(100));
	case 4:
		return syscall(SYS_read, fd, pointer(100), below(100));
	default:
		return syscall(SYS_mmap, nullptr, Memory::pageBytes, PROT_READ, MAP_SHARED, fd, 0);
	}
}

} // namespace rdstest
