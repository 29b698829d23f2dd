/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls on one RDS socket with drawn arguments. They are made by number: the C library must
 * not look at the pointers first. Each returns as a system call does: -1 and errno.
 */
#pragma once

#include "draw.h"

#include <string>

namespace rdstest
{

class Calls : public Draw
{
public:
	using Draw::Draw;

	/* A socket whose calls end soon, mostly bound to an address of this host. */
	long openSocket();
	long bindOrConnect(int fd);
	long names(int fd);
	long sendMessage(int fd);
	long sendMany(int fd);
	long receiveMessage(int fd);
	long receiveMany(int fd);
	long setOption(int fd);
	long setSocketOption(int fd);
	long attachFilter(int fd);
	long getOption(int fd);
	long query(int fd);
	long ioctls(int fd);
	long wait(int fd);
	/* listen, accept, shutdown, read, write, mmap: mostly no calls for RDS. */
	long others(int fd);

	/* All that these calls send. */
	static constexpr char plainByte = Memory::plainByte;

	/* An answer that no call may give; empty while there was none. */
	std::string wrong;

protected:
	/* Old memory in what the kernel wrote is wrong. */
	void look(const char *what, const void *data, size_t length);
	iovec plainBytes(size_t bytes);
	void vectors(iovec *to, size_t count);
	void message(msghdr &m, bool sending);

	iovec vectors_[8];
};

} // namespace rdstest
