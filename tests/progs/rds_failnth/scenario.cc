// SPDX-License-Identifier: GPL-2.0
#include "scenario.h"

#include "../lib/info.h"
#include "../lib/netns.h"
#include "../lib/payload.h"

#include <fcntl.h>
#include <linux/rds.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdstest
{

using namespace std::chrono_literals;

namespace
{

void sendAll(Pair &p, const std::string &text)
{
	same(eventually([&] { return sendText(p.from, text, p.target) >= 0; }), true, "send");
}

void takes(Pair &p, const std::string &text)
{
	const Received got = receiveSoon(p.to, 1 << 20);

	same(got.result, text.size(), "received");
	want(got.data == text, "received other bytes");
}

/* A send that failed has sent nothing, and the socket goes on working. */
Scenario sending(size_t length)
{
	const std::string text = makePayload(length, length);

	return {.name = "sendmsg of " + std::to_string(length) + " bytes",
		.call = [=](Pair &p) { return sendText(p.from, text, p.target); },
		.after =
			[=](Pair &p, long result) {
				if (result >= 0)
					takes(p, text);
				sendAll(p, "after");
				takes(p, "after");
			}};
}

/*
 * A receive that failed leaves the message for the next; only the sender's name is copied after it
 * was taken off, as with any protocol.
 */
Scenario receiving(size_t length)
{
	const std::string text = makePayload(length, length);

	return {.name = "recvmsg of " + std::to_string(length) + " bytes",
		.call =
			[=](Pair &p) {
				Received got = receive(p.to, length, MSG_DONTWAIT);
				p.got = got.data;
				return got.result;
			},
		.before =
			[=](Pair &p) {
				setOption(p.to, SOL_SOCKET, SO_TIMESTAMP, 1);
				sendAll(p, text);
				want(waitFor(p.to, POLLIN), "nothing came");
			},
		.after =
			[=](Pair &p, long result) {
				if (result >= 0)
					want(p.got == text, "received other bytes");
				else if (result != -EFAULT || waitFor(p.to, POLLIN, 0ms))
					takes(p, text);
			}};
}

/* The first message to a host makes a connection. There is nobody at these addresses. */
Scenario contacting(const Site &site)
{
	return {.name = "sendmsg to a new host", .call = [=](Pair &p) {
			const bool v4 = site.here.family() == AF_INET;
			const std::string host = std::to_string(p.round + 100);

			return sendText(
				p.from, "new",
				Address::parse(v4 ? "10.8.0." + host : "fd00:8::" + host, 4000));
		}};
}

Scenario zerocopy()
{
	const std::string text = makePayload(60000, 7);

	return {.name = "sendmsg with MSG_ZEROCOPY",
		.call =
			[=](Pair &p) {
				Control control;

				control.add(SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, uint32_t{7});
				return sendBytes(p.from, text.data(), text.size(),
						 {.flags = MSG_DONTWAIT | MSG_ZEROCOPY,
						  .to = &p.target,
						  .control = &control});
			},
		.before =
			[](Pair &p) {
				same(setOption(p.from, SOL_SOCKET, SO_ZEROCOPY, 1), 0,
				     "SO_ZEROCOPY");
			},
		.after =
			[=](Pair &p, long result) {
				if (result >= 0)
					takes(p, text);
				sendAll(p, "after");
				takes(p, "after");
			}};
}

Scenario option(const std::string &name, int number, int value)
{
	return {.name = "setsockopt " + name,
		.call = [=](Pair &p) { return setOption(p.from, SOL_RDS, number, value); }};
}

Scenario info(int code)
{
	return {.name = "getsockopt " + std::to_string(code), .call = [=](Pair &p) {
			static char room[1 << 16];
			socklen_t length = sizeof(room);

			return sys(getsockopt(p.from, SOL_RDS, code, room, &length));
		}};
}

Scenario cancelling()
{
	return {.name = "setsockopt RDS_CANCEL_SENT_TO", .call = [](Pair &p) {
			return sys(setsockopt(p.from, SOL_RDS, RDS_CANCEL_SENT_TO, p.target.get(),
					      p.target.length()));
		}};
}

Scenario polling()
{
	return {.name = "epoll", .call = [](Pair &p) {
			const Fd set(epoll_create1(EPOLL_CLOEXEC));
			epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data = {}};

			if (set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, p.from, &event) < 0)
				return long{-errno};
			return sys(epoll_wait(set, &event, 1, 0));
		}};
}

void addOpening(std::vector<Scenario> &list, const Site &site)
{
	list.push_back({.name = "socket",
			.call = [](Pair &) { return sys(Fd(socket(PF_RDS, SOCK_SEQPACKET, 0))); }});
	list.push_back({.name = "socket and bind", .call = [=](Pair &) {
				const Fd fd(socket(PF_RDS, SOCK_SEQPACKET, 0));

				return fd < 0 ? sys(fd)
					      : sys(bind(fd, site.here.get(), site.here.length()));
			}});
	list.push_back({.name = "connect", .call = [](Pair &p) {
				return sys(connect(p.from, p.target.get(), p.target.length()));
			}});
}

} // namespace

Pair Site::pair(int round) const
{
	Pair p = {
		.from = bindRds(here), .to = Fd(), .target = Address(), .got = "", .round = round};

	if (netns.empty())
		p.to = bindRds(there);
	else
		inNetns(netns, [&] { p.to = bindRds(there); });
	p.target = localAddress(p.to);
	return p;
}

std::vector<Scenario> socketScenarios(const Site &site)
{
	std::vector<Scenario> list;

	addOpening(list, site);
	for (const size_t length : {1, 3000, 20000, 100000})
		list.push_back(sending(length));
	for (const size_t length : {1, 3000, 20000, 100000})
		list.push_back(receiving(length));
	if (!site.netns.empty()) {
		list.push_back(contacting(site));
		list.push_back(zerocopy());
	}
	list.push_back(option("RDS_CONG_MONITOR", RDS_CONG_MONITOR, 1));
	list.push_back(option("RDS_RECVERR", RDS_RECVERR, 1));
	list.push_back(cancelling());
	for (int code = RDS_INFO_FIRST; code <= RDS_INFO_LAST; ++code)
		list.push_back(info(code));
	list.push_back(polling());
	return list;
}

/* In a thread of its own the caller keeps its namespace; so the thread is the one that fails. */
Scenario namespaceScenario()
{
	return {.name = "unshare(CLONE_NEWNET)",
		.call = [](Pair &) { return sys(unshare(CLONE_NEWNET)); },
		.after =
			[](Pair &, long result) {
				if (result < 0)
					return;
				want(openRds() >= 0, "no socket in the new namespace");
			},
		.anyErrno = true};
}

Scenario moduleScenario(const std::string &path)
{
	const size_t slash = path.rfind('/') + 1;
	const std::string name = path.substr(slash, path.rfind(".ko") - slash);

	return {.name = "finit_module " + name,
		.call =
			[=](Pair &) {
				const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));

				return file < 0 ? sys(file)
						: sys(syscall(SYS_finit_module, int{file}, "", 0));
			},
		.after =
			[=](Pair &, long result) {
				if (result == 0)
					same(sys(syscall(SYS_delete_module, name.c_str(), 0)), 0,
					     "delete_module");
			},
		.anyErrno = true};
}

} // namespace rdstest
