// SPDX-License-Identifier: GPL-2.0
#include "draw.h"

#include <netinet/in.h>
#include <sys/mman.h>

#include <linux/rds.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace rdstest
{

namespace
{

char *map(size_t bytes, int protection)
{
	void *at = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		throw std::runtime_error("mmap: no memory");
	return static_cast<char *>(at);
}

/* Slabs that are free or were not written, stacks by gcc and by clang, pages. */
constexpr unsigned char poisons[] = {0x6b, 0x5a, 0xfe, 0xaa, 0xcc};
constexpr size_t noAccident = 8;

} // namespace

Memory::Memory()
{
	char *at = map(roomBytes + pageBytes, PROT_READ | PROT_WRITE);

	edge_ = at + roomBytes;
	mprotect(edge_, pageBytes, PROT_NONE); /* a hole would be filled by others */
	readOnly_ = map(2 * pageBytes, PROT_READ | PROT_WRITE);
	memset(readOnly_, plainByte, pageBytes);
	mprotect(readOnly_, pageBytes, PROT_READ);
	mprotect(readOnly_ + pageBytes, pageBytes, PROT_NONE);
}

Memory::~Memory()
{
	munmap(edge_ - roomBytes, roomBytes + pageBytes);
	munmap(readOnly_, 2 * pageBytes);
}

void *Draw::pointer(size_t bytes)
{
	return often(9) ? memory_.room(std::min(bytes, Memory::roomBytes)) : badPointer();
}

void *Draw::badPointer()
{
	switch (below(7)) {
	case 0:
		return nullptr;
	case 1:
		return reinterpret_cast<void *>(1);
	case 2:
		return memory_.beyond();
	case 3:
		return memory_.readOnly();
	case 4:
		return memory_.forbidden();
	case 5: /* the kernel's half, and no address at all */
		return reinterpret_cast<void *>(0xffff888000001000ull);
	default:
		return reinterpret_cast<void *>(0x8000000000000000ull | next() >> 8);
	}
}

size_t Draw::length()
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

	return often(7) ? below(2048) : oneOf(edges);
}

void *Draw::address(socklen_t &length, bool ours)
{
	constexpr uint16_t odd[] = {0, 1, 2, 1023, 16385, 18634, 65535};
	auto *to = static_cast<sockaddr_storage *>(names_.room(sizeof(sockaddr_storage)));
	const auto &from = addresses_[below(ours ? local_ : addresses_.size())];

	*to = from;
	length = from.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
	/* The port is at the same place in both. */
	reinterpret_cast<sockaddr_in *>(to)->sin_port =
		htons(often(8) ? static_cast<uint16_t>(firstPort + below(ports)) : oneOf(odd));
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
				reinterpret_cast<char *>(to)[i] = static_cast<char>(next());
		return to;
	default:
		return pointer(sizeof(*to));
	}
}

/* The content of a control message of this type, with values that go beyond the first check; its
 * size. */
size_t Draw::control(int type, unsigned char *to)
{
	const auto put = [to](const auto &value) {
		memcpy(to, &value, sizeof(value));
		return sizeof(value);
	};
	const auto at = reinterpret_cast<uint64_t>(pointer(4096)) & (often(8) ? ~7ull : ~0ull);

	switch (type) {
	case RDS_CMSG_RDMA_ARGS: {
		rds_rdma_args a{};

		a.cookie = next();
		a.remote_vec = {0, often(8) ? below(10000) : next()};
		a.local_vec_addr = at;
		a.nr_local = often(8) ? below(4) : length();
		a.flags = below(0x80);
		return put(a);
	}
	case RDS_CMSG_RDMA_MAP: {
		rds_get_mr_args a{};

		a.vec = {at, often(8) ? 1 + below(4096) : next()};
		a.cookie_addr = at;
		a.flags = below(0x80);
		return put(a);
	}
	case RDS_CMSG_RDMA_DEST:
		return put(next());
	case RDS_CMSG_ATOMIC_FADD:
	case RDS_CMSG_ATOMIC_CSWP:
	case RDS_CMSG_MASKED_ATOMIC_FADD:
	case RDS_CMSG_MASKED_ATOMIC_CSWP: {
		rds_atomic_args a{};

		a.local_addr = at;
		a.flags = below(0x80);
		return put(a);
	}
	case RDS_CMSG_SEGMENT: {
		uint32_t lengths[4];
		const size_t count = often(6) ? 1 : below(std::size(lengths) + 1);

		for (uint32_t &one : lengths)
			one = static_cast<uint32_t>(often(9) ? 1 + below(500) : next());
		memcpy(to, lengths, sizeof(lengths));
		return count * sizeof(lengths[0]);
	}
	default: /* a cookie, a hint */
		return put(static_cast<uint32_t>(often(8) ? below(4) : next()));
	}
}

size_t Draw::controlMessages(char *to, size_t room, bool whole)
{
	constexpr int types[] = {RDS_CMSG_RDMA_ARGS,	     RDS_CMSG_RDMA_DEST,
				 RDS_CMSG_RDMA_MAP,	     RDS_CMSG_ATOMIC_FADD,
				 RDS_CMSG_ATOMIC_CSWP,	     RDS_CMSG_MASKED_ATOMIC_FADD,
				 RDS_CMSG_MASKED_ATOMIC_CSWP};
	constexpr int harmless[] = {RDS_CMSG_ORDER, RDS_CMSG_ZCOPY_COOKIE, RDS_CMSG_SEGMENT};
	unsigned char value[128] = {};
	size_t at = 0;

	for (size_t n = 1 + below(3); n; n--) {
		const int drawn = often(6)   ? oneOf(harmless)
				  : often(8) ? oneOf(types)
					     : static_cast<int>(below(20));
		const int type = whole && drawn == RDS_CMSG_SEGMENT ? RDS_CMSG_ORDER : drawn;
		const size_t natural = control(type, value);
		const size_t payload = often(9) ? natural : below(sizeof(value));
		auto *c = reinterpret_cast<cmsghdr *>(to + at);

		if (room - at < CMSG_SPACE(payload))
			break;
		memset(c, 0, CMSG_SPACE(payload));
		c->cmsg_len = often(9) ? CMSG_LEN(payload) : length();
		c->cmsg_level = often(9) ? SOL_RDS : SOL_SOCKET;
		c->cmsg_type = type;
		memcpy(CMSG_DATA(c), value, payload);
		at += CMSG_SPACE(payload);
	}
	return at;
}

int Draw::flags(bool sending)
{
	constexpr int usual[] = {0, MSG_MORE, MSG_ZEROCOPY, MSG_NOSIGNAL, MSG_EOR, MSG_DONTROUTE};
	constexpr int reading[] = {
		0,	     MSG_PEEK,	   MSG_TRUNC,	     MSG_PEEK | MSG_TRUNC,
		MSG_WAITALL, MSG_ERRQUEUE, MSG_CMSG_CLOEXEC, MSG_OOB};
	const int how = often(9) ? MSG_DONTWAIT : 0;

	if (!often(9))
		return how | static_cast<int>(next());
	return how | (sending ? oneOf(usual) : oneOf(reading));
}

bool isPoisoned(const void *data, size_t length)
{
	const auto *bytes = static_cast<const unsigned char *>(data);
	size_t run = 0;

	for (size_t i = 0; i < length; i++) {
		run = i && bytes[i] == bytes[i - 1] ? run + 1 : 1;
		if (run >= noAccident &&
		    std::count(std::begin(poisons), std::end(poisons), bytes[i]))
			return true;
	}
	return false;
}

} // namespace rdstest
