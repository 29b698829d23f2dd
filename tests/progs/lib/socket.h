/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include "address.h"
#include "control.h"
#include "result.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace rdstest
{

/* Owns a file descriptor; converts to int so that system calls take it as it is. */
class Fd
{
public:
	explicit Fd(int fd = -1) : fd_(fd)
	{
	}
	Fd(Fd &&other) noexcept : fd_(other.release())
	{
	}
	Fd &operator=(Fd &&other) noexcept;
	~Fd()
	{
		close();
	}
	operator int() const
	{
		return fd_;
	}
	int release();
	void close();

private:
	int fd_;
};

/*
 * The kernel picks from all ports of RDS, and so would take, now and then, one that another program
 * of the same test is going to name. Tests name ports below this one, and have others picked above.
 */
constexpr uint16_t kFirstPickedPort = 32768;

/*
 * socket(PF_RDS, SOCK_SEQPACKET | flags, 0), or one bound to an address, whose port is picked from
 * kFirstPickedPort up where it names none; throw when refused.
 */
Fd openRds(int flags = 0);
Fd bindRds(const Address &address, int flags = 0);

/* Where a socket is bound. */
Address localAddress(int fd);

/* setsockopt/getsockopt of an int; the result as sys() gives it, or -errno. */
long setOption(int fd, int level, int option, int value);
long getOption(int fd, int level, int option);
long setTimeout(int fd, int option, std::chrono::milliseconds timeout);

/* The transport of a socket as SO_RDS_TRANSPORT reads it; RDS_TRANS_NONE is "none". */
std::string transportName(int fd);

/* sendmsg of a buffer with optional destination, flags and control messages. */
struct Send {
	int flags = MSG_DONTWAIT;
	const Address *to = nullptr;
	const Control *control = nullptr;
};
long sendBytes(int fd, const void *data, size_t length, const Send &how = {});
long sendText(int fd, const std::string &text, const Address &to, int flags = MSG_DONTWAIT);

/* The result of one recvmsg. */
struct Received {
	long result = 0; /* as sys() gives it */
	int flags = 0;	 /* msg_flags */
	Address from;
	std::string data;
	std::vector<ControlMessage> control;

	const ControlMessage *find(int level, int type) const;
};
Received receive(int fd, size_t room = 4096, int flags = MSG_DONTWAIT, size_t controlRoom = 1024);

/*
 * Waits for something to receive; -EAGAIN when nothing came in time. Poll alone is not enough
 * for that: it also reports once that congestion of some port has changed.
 */
Received receiveSoon(int fd, size_t room = 4096,
		     std::chrono::milliseconds timeout = std::chrono::seconds(10));

/* The events that poll() reports at once for a socket, as "IN+OUT+RDNORM+WRNORM". */
std::string pollEvents(int fd);

/* Waits until poll() reports one of the events; false when the time is over. */
bool waitFor(int fd, short events, std::chrono::milliseconds timeout = std::chrono::seconds(10));

/* Calls the condition again and again until it holds; false when the time is over. */
bool eventually(const std::function<bool()> &condition,
		std::chrono::milliseconds timeout = std::chrono::seconds(10));

/*
 * Runs a call that may block, with a signal that interrupts it when the time is over (then
 * it ends with EINTR, as nothing is restarted).
 */
long interrupted(std::chrono::milliseconds timeout, const std::function<long()> &call);

} // namespace rdstest
