// SPDX-License-Identifier: GPL-2.0
#include "user.h"

#include "../lib/check.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

namespace rdstest
{

namespace
{

void writeFile(const std::string &path, const std::string &text)
{
	const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));

	same(fd < 0 ? sys(fd) : sys(::write(fd, text.data(), text.size())),
	     static_cast<long>(text.size()), "write " + path);
}

void rootOfOwn(const User &user)
{
	const int what = CLONE_NEWUSER | (user.container() ? CLONE_NEWNET : 0);

	same(sys(unshare(what)), 0, "unshare");
	writeFile("/proc/self/setgroups", "deny");
	writeFile("/proc/self/uid_map", "0 " + std::to_string(user.uid) + " 1");
	writeFile("/proc/self/gid_map", "0 " + std::to_string(user.uid) + " 1");
	if (user.container())
		loopbackUp();
}

/* Nothing of a message: the other end gets the file, and that is all. */
msghdr fileMessage(iovec &piece, char *room, size_t length)
{
	static char byte;
	msghdr m{};

	piece = {&byte, 1};
	m.msg_iov = &piece;
	m.msg_iovlen = 1;
	m.msg_control = memset(room, 0, length);
	m.msg_controllen = length;
	return m;
}

} // namespace

void become(const User &user)
{
	const rlimit pages = {kLockedPages * Memory::pageBytes, kLockedPages * Memory::pageBytes};

	setrlimit(RLIMIT_MEMLOCK, &pages);
	same(sys(setgroups(0, nullptr)), 0, "setgroups");
	same(sys(setresgid(user.uid, user.uid, user.uid)), 0, "setresgid");
	same(sys(setresuid(user.uid, user.uid, user.uid)), 0, "setresuid");
	prctl(PR_SET_DUMPABLE, 1); /* its own files in /proc are its own again */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (user.place != User::Host)
		rootOfOwn(user);
}

/* The other thread has memory of its own; the socket is a duplicate, which is closed in the midst
 * of it all now and then. */
long UserProcess::race(Slot &slot)
{
	using Call = long (Calls::*)(int);
	constexpr Call calls[] = {
		&Calls::sendMessage, &Calls::receiveMessage, &Calls::receiveMessage,
		&Calls::setOption,   &Calls::getOption,	     &Calls::bindOrConnect,
		&Calls::wait,	     &Calls::query,	     &Calls::setSocketOption};
	const int fd = dup(slot.fd);
	const bool closing = often(3);
	const Call mine = oneOf(calls), other = oneOf(calls);
	Calls theirs(next(), addresses_, local_);
	std::thread thread([&] {
		for (int i = 0; i < 4; i++)
			(theirs.*other)(fd);
	});

	if (fd >= 0 && closing)
		::close(fd);
	for (int i = 0; i < 3 && !closing; i++)
		(this->*mine)(fd);
	thread.join();
	if (fd >= 0 && !closing)
		::close(fd);
	if (!theirs.wrong.empty())
		wrong = theirs.wrong;
	return 0;
}

/* A process that shares all sockets; waited for, once it was told to end if it has to be. */
long UserProcess::child(const std::function<void()> &what, bool kill)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		what();
		_exit(0);
	}
	if (pid < 0)
		return -1;
	if (kill) {
		usleep(static_cast<useconds_t>(below(4000)));
		::kill(pid, SIGKILL);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

/* In the midst of a call that waits for ever, on a socket of its own: nobody else shall wait so. */
long UserProcess::killed(Slot &slot)
{
	const bool sending = often(5), polling = often(2);

	return child(
		[&] {
			const Fd fd(socket(PF_RDS, SOCK_SEQPACKET, 0));
			iovec piece = {lent_.data(), lent_.size()};
			pollfd forever = {fd, 0, 0};
			msghdr m{};

			m.msg_iov = &piece;
			m.msg_iovlen = 1;
			if (bind(fd, slot.at.port(0).get(), slot.at.length()) < 0)
				return;
			if (polling)
				poll(&forever, 1, -1);
			if (sending)
				nameSomebody(slot, m);
			while (syscall(sending ? SYS_sendmsg : SYS_recvmsg, int{fd}, &m, 0) >= 0)
				;
		},
		true);
}

long UserProcess::forked(Slot &slot)
{
	const bool kill = often(3);

	return child(
		[&] {
			for (int i = 0; i < 5; i++) {
				receiveMessage(slot.fd);
				sendMessage(slot.fd);
			}
		},
		kill);
}

/* To whoever takes it: it may be somebody else's, from another namespace. */
long UserProcess::pass(Slot &slot)
{
	alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))];
	iovec piece;
	msghdr m = fileMessage(piece, room, sizeof(room));
	const int fd = slot.fd;

	*CMSG_FIRSTHDR(&m) = {CMSG_LEN(sizeof(fd)), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(fd));
	return sendmsg(ties_.basket[0], &m, MSG_DONTWAIT);
}

long UserProcess::take(Slot &slot)
{
	alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))];
	iovec piece;
	msghdr m = fileMessage(piece, room, sizeof(room));
	int fd = -1;

	if (recvmsg(ties_.basket[1], &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return -1;
	if (CMSG_FIRSTHDR(&m) && CMSG_FIRSTHDR(&m)->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return takeInto(slot, fd);
}

/* Of the old one some sockets stay, so it does, too, until they are closed. */
long UserProcess::beginAnew(Slot &)
{
	if (user_.place != User::Alone || !often(5))
		return 0;
	if (unshare(CLONE_NEWNET) < 0)
		return -1;
	loopbackUp();
	netlink_.close();
	for (Slot &slot : slots_)
		if (often(6))
			slot.fd.close();
	return 0;
}

} // namespace rdstest
