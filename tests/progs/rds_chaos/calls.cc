// SPDX-License-Identifier: GPL-2.0
/*
 * Arguments are mostly good, or nothing would get beyond the first check; each is bad now and then.
 * System calls are made by number: the C library must not look at the pointers first.
 */
#include "chaos.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <linux/errqueue.h>
#include <linux/rds.h>
#include <linux/sockios.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace chaos
{

namespace
{

constexpr long pageBytes = 4096;

/* Longest wait of a call that may block. */
constexpr timeval patience = {0, 20000};

void *map(size_t bytes, int protection)
{
	void *at = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		throw std::runtime_error("mmap: no memory");
	return at;
}

} // namespace

Memory::Memory()
{
	char *at = static_cast<char *>(map(roomBytes + pageBytes, PROT_READ | PROT_WRITE));

	edge_ = at + roomBytes;
	munmap(edge_, pageBytes);
	readOnly_ = static_cast<char *>(map(pageBytes, PROT_READ));
}

const Caller::Kind Caller::kinds[] = {
	{"socket", 4, &Caller::openSocket},
	{"close", 2, &Caller::closeSocket},
	{"bind, connect", 8, &Caller::bindOrConnect},
	{"names", 3, &Caller::names},
	{"sendmsg", 30, &Caller::sendMessage},
	{"sendmmsg", 4, &Caller::sendMany},
	{"recvmsg", 25, &Caller::receiveMessage},
	{"recvmmsg", 3, &Caller::receiveMany},
	{"setsockopt", 12, &Caller::setOption},
	{"setsockopt SOL_SOCKET", 4, &Caller::setSocketOption},
	{"getsockopt", 8, &Caller::getOption},
	{"ioctl", 3, &Caller::control},
	{"poll", 4, &Caller::wait},
	{"others", 4, &Caller::others},
	{"RDS_RECV_QUERY", 4, &Caller::query},
};

Caller::Caller(Shared &shared, uint64_t seed) : shared_(shared), random_(seed)
{
}

void Caller::step()
{
	unsigned int total = 0;

	for (const Kind &kind : kinds)
		total += kind.weight;

	uint64_t drawn = below(total);
	const Kind *kind = kinds;

	for (; drawn >= kind->weight; ++kind)
		drawn -= kind->weight;
	doing = kind->name;

	int fd = shared_.fds[below(slots)];
	long result = fd < 0 ? openSocket(fd) : (this->*kind->make)(fd);
	Tally &tally = calls[fd < 0 ? "socket" : kind->name];

	++tally.made;
	tally.succeeded += result >= 0;
	++answers[result < 0 ? errno : 0];
	++count;
}

/* ---- arguments ---- */

/* Mostly room for @bytes, else an address that is bad in one of the known ways. */
void *Caller::pointer(size_t bytes)
{
	if (often(9))
		return memory_.room(std::min(bytes, Memory::roomBytes));
	switch (below(6)) {
	case 0:
		return nullptr;
	case 1:
		return reinterpret_cast<void *>(1);
	case 2:
		return memory_.unmapped();
	case 3:
		return memory_.readOnly();
	case 4: /* the kernel's half, and no address at all */
		return reinterpret_cast<void *>(0xffff888000001000ull);
	default:
		return reinterpret_cast<void *>(0x8000000000000000ull | random_() >> 8);
	}
}

size_t Caller::length()
{
	constexpr size_t edges[] = {0,
				    1,
				    3,
				    4,
				    7,
				    8,
				    15,
				    16,
				    27,
				    28,
				    32,
				    47,
				    48,
				    128,
				    1024,
				    4096,
				    65536,
				    1 << 20,
				    (1 << 20) + 1,
				    0x7fffffff,
				    0xffffffff};

	return often(7) ? below(2048) : edges[below(std::size(edges))];
}

/* One of the first @among addresses and of few ports, so that messages meet receivers; seldom
 * something else. */
void *Caller::address(socklen_t &length, size_t among)
{
	auto *to = static_cast<sockaddr_storage *>(names_.room(sizeof(sockaddr_storage)));
	const auto &from = shared_.addresses[below(among)];

	*to = from;
	length = from.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
	/* The port is at the same place in both. */
	reinterpret_cast<sockaddr_in *>(to)->sin_port =
		htons(often(8) ? 4000 + below(6) : below(65536));
	if (often(9))
		return to;
	switch (below(4)) {
	case 0:
		to->ss_family = static_cast<sa_family_t>(below(50));
		return to;
	case 1:
		length = static_cast<socklen_t>(this->length());
		return to;
	case 2:
		for (size_t i = 0; i < sizeof(*to); i++)
			if (!below(8))
				reinterpret_cast<char *>(to)[i] = static_cast<char>(random_());
		return to;
	default:
		return pointer(sizeof(*to));
	}
}

/* A few control messages at @to: bytes they take. */
size_t Caller::controlMessages(char *to, size_t room)
{
	constexpr size_t sizes[] = {
		0, 4, 8, sizeof(rds_rdma_args), sizeof(rds_get_mr_args), sizeof(rds_atomic_args),
		40};
	size_t at = 0;

	for (size_t n = 1 + below(3); n; n--) {
		size_t payload = often(8) ? sizes[below(std::size(sizes))] : below(64);
		auto *c = reinterpret_cast<cmsghdr *>(to + at);

		if (room - at < CMSG_SPACE(payload))
			break;
		c->cmsg_len = often(9) ? CMSG_LEN(payload) : length();
		c->cmsg_level = often(9) ? SOL_RDS : SOL_SOCKET;
		c->cmsg_type = static_cast<int>(often(5) ? RDS_CMSG_ZCOPY_COOKIE : below(16));
		for (size_t i = 0; i < payload; i++)
			CMSG_DATA(c)
		[i] = static_cast<unsigned char>(often(5) ? below(3) : random_());
		at += CMSG_SPACE(payload);
	}
	return at;
}

void Caller::vectors(iovec *to, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t bytes = often(9) ? below(3000) : length();

		to[i] = {pointer(bytes), bytes};
	}
}

int Caller::flags(bool sending)
{
	constexpr int usual[] = {0, MSG_MORE, MSG_ZEROCOPY, MSG_NOSIGNAL, MSG_EOR};
	constexpr int reading[] = {0, MSG_PEEK, MSG_TRUNC, MSG_WAITALL, MSG_ERRQUEUE, MSG_OOB};
	int how = often(9) ? MSG_DONTWAIT : 0;

	if (!often(9))
		return how | static_cast<int>(random_());
	return how |
	       (sending ? usual[below(std::size(usual))] : reading[below(std::size(reading))]);
}

void Caller::message(msghdr &m, bool sending)
{
	size_t count = often(8) ? 1 + below(2) : below(std::size(vectors_) + 1);

	memset(&m, 0, sizeof(m));
	vectors(vectors_, count);
	m.msg_iov = often(9) ? vectors_ : static_cast<iovec *>(pointer(sizeof(vectors_)));
	m.msg_iovlen = often(9) ? count : length();
	if (often(8))
		m.msg_name = address(m.msg_namelen, shared_.addresses.size());
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

long Caller::openSocket(int)
{
	int type = often(9) ? SOCK_SEQPACKET : static_cast<int>(below(8));
	long fd = syscall(SYS_socket, AF_RDS, type, often(9) ? 0 : random_());

	if (fd < 0)
		return fd;
	/* A call that blocks ends soon. */
	for (int option : {SO_RCVTIMEO, SO_SNDTIMEO})
		setsockopt(static_cast<int>(fd), SOL_SOCKET, option, &patience, sizeof(patience));

	socklen_t length;

	/* Mostly one that can send and receive. */
	if (often(8)) {
		void *at = address(length, shared_.local);

		syscall(SYS_bind, fd, at, length);
	}

	int old = shared_.fds[below(slots)].exchange(static_cast<int>(fd));

	if (old >= 0)
		::close(old);
	return fd;
}

long Caller::closeSocket(int)
{
	int fd = shared_.fds[below(slots)].exchange(-1);

	return fd < 0 ? 0 : ::close(fd);
}

long Caller::bindOrConnect(int fd)
{
	socklen_t length;
	void *at = address(length, shared_.addresses.size());

	return syscall(often(7) ? SYS_bind : SYS_connect, fd, at, length);
}

long Caller::names(int fd)
{
	auto *length = static_cast<socklen_t *>(names_.room(sizeof(socklen_t)));

	*length = static_cast<socklen_t>(this->length());
	return syscall(often(5) ? SYS_getsockname : SYS_getpeername, fd, pointer(128),
		       often(9) ? length : pointer(4));
}

long Caller::sendMessage(int fd)
{
	msghdr m;

	message(m, true);
	return syscall(SYS_sendmsg, fd, &m, flags(true));
}

long Caller::sendMany(int fd)
{
	mmsghdr m[4];

	for (mmsghdr &one : m)
		message(one.msg_hdr, true);
	return syscall(SYS_sendmmsg, fd, m, 1 + below(4), flags(true));
}

long Caller::receiveMessage(int fd)
{
	msghdr m;

	message(m, false);
	return syscall(SYS_recvmsg, fd, &m, flags(false));
}

long Caller::receiveMany(int fd)
{
	mmsghdr m[4];
	timespec end = {0, 10000000};

	for (mmsghdr &one : m)
		message(one.msg_hdr, false);
	return syscall(SYS_recvmmsg, fd, m, 1 + below(4), flags(false), &end);
}

long Caller::setOption(int fd)
{
	constexpr int usual[] = {RDS_CANCEL_SENT_TO,
				 RDS_RECVERR,
				 RDS_CONG_MONITOR,
				 SO_RDS_TRANSPORT,
				 SO_RDS_MSG_RXPATH_LATENCY,
				 SO_TIMESTAMP,
				 RDS_GET_MR,
				 RDS_GET_MR_FOR_DEST,
				 RDS_FREE_MR};
	int name = static_cast<int>(often(9) ? usual[below(std::size(usual))] : below(20));
	size_t bytes = often(7) ? 4 << below(3) : length();
	socklen_t named;

	if (name == RDS_CANCEL_SENT_TO && often(8)) {
		void *at = address(named, shared_.addresses.size());

		return syscall(SYS_setsockopt, fd, SOL_RDS, name, at, often(9) ? named : 0);
	}

	auto *at = static_cast<unsigned char *>(pointer(bytes));

	/* Small numbers mean something to most options. */
	if (at == memory_.room(bytes))
		for (size_t i = 0; i < bytes && i < 64; i++)
			at[i] = static_cast<unsigned char>(below(4));
	return syscall(SYS_setsockopt, fd, often(9) ? SOL_RDS : below(300), name, at, bytes);
}

long Caller::setSocketOption(int fd)
{
	constexpr int names[] = {SO_SNDBUF,    SO_RCVBUF,   SO_ZEROCOPY, SO_TIMESTAMP,
				 SO_REUSEADDR, SO_PRIORITY, SO_MARK,	 SO_BUSY_POLL};
	int value = static_cast<int>(below(100000));

	return syscall(SYS_setsockopt, fd, SOL_SOCKET, names[below(std::size(names))], &value,
		       sizeof(value));
}

long Caller::getOption(int fd)
{
	auto *length = static_cast<int *>(names_.room(sizeof(int)));
	int name = static_cast<int>(often(7) ? RDS_INFO_FIRST + below(20) : below(20));

	*length = static_cast<int>(often(5) ? below(Memory::roomBytes) : this->length());
	return syscall(SYS_getsockopt, fd, often(9) ? SOL_RDS : SOL_SOCKET, name,
		       pointer(static_cast<size_t>(*length)), often(9) ? length : pointer(4));
}

/* The only call of which more than an answer is wanted: it must make sense. */
long Caller::query(int fd)
{
	rds_recv_query q = {};
	socklen_t length = sizeof(q);

	q.want = RDS_RECV_QUERY_NBUFS | RDS_RECV_QUERY_SPAN;
	if (often(4))
		memcpy(&q.peer, &shared_.addresses[below(shared_.addresses.size())],
		       sizeof(q.peer));

	const long result = getsockopt(fd, SOL_RDS, RDS_RECV_QUERY, &q, &length);

	if (!result &&
	    (q.bufs_alloc_span < q.nbufs_allocated || !q.bufs_alloc_span != !q.nbufs_allocated)) {
		fprintf(stderr, "RDS_RECV_QUERY: %u messages, span %u\n", q.nbufs_allocated,
			q.bufs_alloc_span);
		abort();
	}
	return result;
}

long Caller::control(int fd)
{
	constexpr unsigned long names[] = {SIOCRDSSETTOS, SIOCRDSGETTOS,  SIOCINQ,
					   SIOCOUTQ,	  SIOCGSTAMP_OLD, SIOCPROTOPRIVATE + 2};

	return syscall(SYS_ioctl, fd, often(9) ? names[below(std::size(names))] : random_() >> 32,
		       pointer(8));
}

long Caller::wait(int fd)
{
	pollfd p = {fd, static_cast<short>(random_()), 0};

	return syscall(SYS_poll, &p, 1, below(3));
}

long Caller::others(int fd)
{
	switch (below(6)) {
	case 0:
		return syscall(SYS_listen, fd, 5);
	case 1:
		return syscall(SYS_accept4, fd, nullptr, nullptr, SOCK_NONBLOCK);
	case 2:
		return syscall(SYS_shutdown, fd, below(4));
	case 3:
		return syscall(SYS_write, fd, pointer(100), below(100));
	case 4:
		return syscall(SYS_read, fd, pointer(100), below(100));
	default:
		return syscall(SYS_mmap, nullptr, pageBytes, PROT_READ, MAP_SHARED, fd, 0);
	}
}

} // namespace chaos
