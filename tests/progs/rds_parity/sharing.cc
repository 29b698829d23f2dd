// SPDX-License-Identifier: GPL-2.0
/* One socket in several hands: dup, fork, SCM_RIGHTS, /proc, exec, and closing one of them. */
#include "scene.h"

#include <linux/rds.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace rdstest
{

namespace
{

/* The result of the call in a child process, which is waited for. */
std::string inChild(const std::function<long()> &call)
{
	long *result = static_cast<long *>(mmap(nullptr, sizeof(long), PROT_READ | PROT_WRITE,
						MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	const pid_t child = fork();
	int status = 0;

	if (child == 0) {
		*result = call();
		_exit(0);
	}
	if (!eventually([&] { return waitpid(child, &status, WNOHANG) == child; }, 4 * soon))
		return "never";
	return describe(*result);
}

long received(int fd)
{
	return receiveSoon(fd, 100, soon).result;
}

void addCopies(Facts &facts)
{
	facts.at("loop own tcp", "sharing/dup", [](const Place &place, Out &out) {
		Pair pair(place);
		Fd copy(dup(pair.to)), sender(dup(pair.from));

		pair.warm();
		pair.send(3);
		out("read by the copy", received(copy));
		out("sent by the copy", sendText(sender, "copied", pair.target));
		out("read", received(pair.to));
		pair.to.close();
		pair.send(7);
		out("one closed, read", received(copy));
		out("name", localAddress(copy) == pair.target ? "the same" : "another");
		const Fd second = openRds();
		const Address again = pair.target;
		out("bind while open",
		    place.netns >= 0 ? "-"
				     : describe(sys(bind(second, again.get(), again.length()))));
		copy.close();
		out("bind after both",
		    place.netns >= 0 ? "-"
				     : describe(sys(bind(second, again.get(), again.length()))));
	});
	facts.at("loop", "sharing/flags", [](const Place &place, Out &out) {
		Pair pair(place);
		Fd copy(dup(pair.to));

		fcntl(copy, F_SETFL, O_NONBLOCK);
		out("O_NONBLOCK of a copy", receive(pair.to, 100, 0).result);
		setOption(copy, SOL_SOCKET, SO_RCVBUF, 20000);
		out("SO_RCVBUF of a copy", getOption(pair.to, SOL_SOCKET, SO_RCVBUF));
		out("FD_CLOEXEC", fcntl(openRds(SOCK_CLOEXEC), F_GETFD));
		out("dup2 over itself", sys(dup2(pair.to, pair.to)) == pair.to ? "it" : "another");
		Fd over = bindRds(place.near);
		dup2(pair.to, over);
		out("dup2 over another", localAddress(over) == pair.target ? "it" : "another");
		const std::string path = "/proc/self/fd/" + std::to_string(pair.to);
		out("opened by /proc", sys(open(path.c_str(), O_RDWR)));
	});
}

void addClosing(Facts &facts)
{
	/* A call that sleeps holds the socket; closing the number wakes nobody. */
	facts.at("loop own tcp", "sharing/closed while it sleeps",
		 [](const Place &place, Out &out) {
			 Pair pair(place);

			 pair.warm();
			 const int number = pair.to;
			 Blocked reader([number] { return receive(number, 100, 0).result; });
			 pair.to.close();
			 out("reader", reader.end(std::chrono::milliseconds(300)));
			 out("send", pair.send());
			 out("then reader", reader.end());
		 });
	facts.at("own", "sharing/sender closed while it sleeps", [](const Place &place, Out &out) {
		Full full(place);
		const int number = full.fd;
		Blocked sender(
			[number, full = full.silent] { return sendText(number, "x", full, 0); });
		Fd copy(dup(full.fd));

		full.fd.close();
		out("sender", sender.end(std::chrono::milliseconds(300)));
		setsockopt(copy, SOL_RDS, RDS_CANCEL_SENT_TO, full.silent.get(),
			   full.silent.length());
		out("cancelled", sender.end());
	});
	facts.at("loop", "sharing/poll while it is closed", [](const Place &place, Out &out) {
		Pair pair(place);
		pair.warm();
		const int number = pair.to;
		Blocked poller([number] {
			pollfd entry = {number, POLLIN, 0};
			return sys(poll(&entry, 1, 1000));
		});

		pair.to.close();
		pair.send();
		out("poll", poller.end());
	});
}

void addForks(Facts &facts)
{
	facts.at("loop own tcp", "sharing/fork", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		out("child sends", inChild([&] { return pair.send(3); }));
		out("parent reads", received(pair.to));
		pair.send(4);
		out("child reads", inChild([&] { return received(pair.to); }));
		out("child closes", inChild([&] {
			    pair.to.close();
			    pair.from.close();
			    return 0L;
		    }));
		pair.send(5);
		out("then parent reads", received(pair.to));
		out("child sends and ends at once", inChild([&] {
			    pair.send(6);
			    pair.send(7);
			    return 0L;
		    }));
		out("parent reads first", received(pair.to));
		out("parent reads second", received(pair.to));
	});
	facts.at("loop own tcp", "sharing/child's own socket", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		out("child", inChild([&] {
			    const Fd own = bindRds(place.near);
			    return sendText(own, "bye", pair.target);
		    }));
		/* Close may take back what is not acknowledged. */
		const Received got = receiveSoon(pair.to, 100, soon);
		out("parent", place.netns >= 0 ? "-" : describe(got.result));
	});
	facts.at("loop own tcp", "sharing/two processes read", [](const Place &place, Out &out) {
		Pair pair(place);
		int mine = 0;

		pair.warm();
		for (int i = 0; i < 10; ++i)
			pair.send(i + 1);
		eventually([&] { return waitFor(pair.to, POLLIN, soon); });
		for (int i = 0; i < 5; ++i)
			mine += received(pair.to) == i + 1;
		out("first five", mine);
		out("child's five", inChild([&] {
			    long good = 0;
			    for (int i = 5; i < 10; ++i)
				    good += received(pair.to) == i + 1;
			    return good;
		    }));
	});
}

long passFd(int over, int fd)
{
	const Control control = Control().add(SOL_SOCKET, SCM_RIGHTS, fd);

	return sendBytes(over, "f", 1, {.control = &control});
}

void addRights(Facts &facts)
{
	facts.at("loop own", "sharing/SCM_RIGHTS", [](const Place &place, Out &out) {
		Pair pair(place);
		int ends[2];

		socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
		out("pass", passFd(ends[0], pair.to));
		pair.to.close();
		out("send while in flight", pair.send(6));
		const Received got = receive(ends[1]);
		const ControlMessage *rights = got.find(SOL_SOCKET, SCM_RIGHTS);
		Fd passed(rights ? rights->as<int>() : -1);
		out("read from it", received(passed));
		out("name", localAddress(passed) == pair.target ? "the same" : "another");
	});
	facts.at("loop own", "sharing/over RDS", [](const Place &place, Out &out) {
		Pair pair(place);
		const int fd = pair.to;
		const Control rights = Control().add(SOL_SOCKET, SCM_RIGHTS, fd);
		const ucred identity = {getpid(), getuid(), getgid()};
		const Control credentials = Control().add(SOL_SOCKET, SCM_CREDENTIALS, identity);

		out("SCM_RIGHTS",
		    sendBytes(pair.from, "f", 1, {.to = &pair.target, .control = &rights}));
		Received got = receiveSoon(pair.to, 100, soon);
		out("arrives", got.result);
		out("with control messages", got.control.size());
		setOption(pair.to, SOL_SOCKET, SO_PASSCRED, 1);
		out("SCM_CREDENTIALS",
		    sendBytes(pair.from, "c", 1, {.to = &pair.target, .control = &credentials}));
		got = receiveSoon(pair.to, 100, soon);
		out("arrives too", got.result);
		out("with credentials", got.control.size());
	});
	facts.at("loop own tcp", "sharing/order of closing", [](const Place &place, Out &out) {
		Pair pair(place);

		pair.warm();
		for (int i = 0; i < 3; ++i)
			pair.send(i + 1);
		pair.to.close();
		out("send to the closed", pair.send());
		Pair next(place);
		out("to another", next.send(9));
		out("read", received(next.to));
	});
}

} // namespace

void addSharing(Facts &facts)
{
	addCopies(facts);
	addClosing(facts);
	addForks(facts);
	addRights(facts);
}

} // namespace rdstest
