/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A kernel of one thread in place of the real one, for sockets of PF_RDS: the system calls of
 * <rds/socket.hpp> end here (they are defined in made_up_kernel.cc, before libc's). It answers as a
 * test has told it to, and writes down what it was asked. Descriptors of others go to the real one.
 */
#ifndef TESTS_CXX_MADE_UP_KERNEL_H
#define TESTS_CXX_MADE_UP_KERNEL_H

#include <rds/socket.hpp>

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace made_up
{

/* A control message as bytes. */
inline std::string control(int type, std::string_view payload, int level = SOL_RDS)
{
	std::string made(CMSG_SPACE(payload.size()), '\0');
	cmsghdr head = {};

	head.cmsg_level = level;
	head.cmsg_type = type;
	head.cmsg_len = CMSG_LEN(payload.size());
	std::memcpy(made.data(), &head, sizeof(head));
	payload.copy(made.data() + CMSG_LEN(0), payload.size());
	return made;
}

/* The bytes of numbers or structures. */
template <class... T>
std::string raw(const T &...parts)
{
	return (std::string(reinterpret_cast<const char *>(&parts), sizeof(parts)) + ...);
}

inline std::string text(std::span<const std::byte> data)
{
	return {reinterpret_cast<const char *>(data.data()), data.size()};
}

inline std::span<const std::byte> bytes(std::string_view text)
{
	return std::as_bytes(std::span(text));
}

/* An answer to recvmsg(2); what does not fit is cut, as the kernel cuts it. */
struct Answer {
	std::string data;
	std::string sender; /* as Endpoint::parse() takes it; empty: a notice */
	std::string control;
	int error = 0;
};

struct Sent {
	std::string data, to;
	std::string control;
	int flags;
};

struct Kernel {
	std::deque<Answer> answers; /* to recvmsg(2), EAGAIN after them */
	std::deque<long> takes;	    /* of sendmsg(2): bytes, or an errno below 0; then all */
	std::vector<Sent> sent;
	std::vector<int> receive_flags;	    /* of each recvmsg(2) */
	std::map<int, std::string> options; /* of SOL_RDS, as they were set, or are read */
	std::vector<int> refused;	    /* options that it does not know: ENOPROTOOPT */
	std::vector<int> set;		    /* options in the order in which they were set */
	std::vector<int> opened, closed;
	std::string asked; /* the value that the last getsockopt(2) came with */
	std::string bound;
	int open_error = 0, bind_error = 0;
	int ask_error = 0, set_error = 0; /* of the next getsockopt(2), setsockopt(2) */
};

/* A fresh one for each test; see the fixture. */
extern Kernel kernel;

} // namespace made_up

#endif
