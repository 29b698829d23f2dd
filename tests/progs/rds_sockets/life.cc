// SPDX-License-Identifier: GPL-2.0
/* Many sockets, many processes, many threads; what closing leaves behind. */
#include "case.h"

#include "../lib/info.h"

#include <linux/rds.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

namespace rdstest
{

namespace
{

void raiseFileLimit(rlim_t files)
{
	const rlimit limit = {files, files};

	same(sys(setrlimit(RLIMIT_NOFILE, &limit)), 0, "setrlimit, needs root");
}

void manySockets(const Place &place)
{
	const size_t count = 2000;
	std::vector<Fd> sockets;
	std::set<uint16_t> ports;

	raiseFileLimit(count + 100);
	for (size_t i = 0; i < count; ++i) {
		sockets.push_back(bindRds(place.any));
		ports.insert(localAddress(sockets.back()).port());
	}
	same(ports.size(), count, "different ports");
	for (size_t i = 0; i < count; ++i)
		same(sendText(sockets[i], std::to_string(i),
			      localAddress(sockets[(i + 1) % count])),
		     std::to_string(i).size(), "send to the next socket");
	for (size_t i = 0; i < count; ++i)
		same(take(sockets[(i + 1) % count]), std::to_string(i), "message of the neighbour");
	for (const Fd &fd : sockets)
		same(receive(fd).result, -EAGAIN, "one message each");
}

/* How many sockets are bound to an address of this family, by RDS6_INFO_SOCKETS. */
size_t countSockets()
{
	return readInfo(openRds(), RDS6_INFO_SOCKETS).count();
}

void closedSocketsAreGone(const Place &place)
{
	const size_t before = countSockets();
	std::vector<Fd> sockets;

	for (int i = 0; i < 50; ++i)
		sockets.push_back(bindRds(place.any));
	same(countSockets(), before + 50, "sockets listed");
	sockets.clear();
	want(eventually([&] { return countSockets() == before; }),
	     "closed sockets are still listed");
}

void closeWithUnread(const Place &place)
{
	for (int round = 0; round < 50; ++round) {
		Pair pair(place);

		for (int i = 0; i < 10; ++i)
			pair.send(makePayload(5000, i));
	}
}

void forks(const Place &place)
{
	Pair pair(place);
	const pid_t child = fork();

	if (child == 0) {
		/* The child has the same sockets: it reads one and answers. */
		const Received got = receive(pair.to, 100, 0);

		_exit(got.data == "to the child" && sendText(pair.to, "from the child",
							     localAddress(pair.from)) > 0
			      ? 0
			      : 1);
	}
	pair.send("to the child");
	same(take(pair.from), "from the child", "message");
	int status = -1;
	waitpid(child, &status, 0);
	same(status, 0, "status of the child");
	/* Its exit closed nothing of ours. */
	pair.send("to the parent");
	same(take(pair.to), "to the parent", "message");
}

void dups(const Place &place)
{
	Pair pair(place);
	Fd copy(dup(pair.to));

	pair.send("one");
	same(take(copy), "one", "message on the copy");
	pair.to.close();
	pair.send("two");
	same(take(copy), "two", "message after the original was closed");
	copy.close();
	same(sendText(pair.from, "three", pair.target), 5, "send to nobody");
	const Fd again = bindRds(pair.target);
	same(receive(again).result, -EAGAIN, "nothing for the new owner of the port");
}

void killedProcess(const Place &place)
{
	int pipe[2];
	uint16_t port = 0;

	same(sys(::pipe(pipe)), 0, "pipe");
	const pid_t child = fork();
	if (child == 0) {
		const Fd fd = bindRds(place.any);
		const uint16_t mine = localAddress(fd).port();

		if (write(pipe[1], &mine, sizeof(mine)) != sizeof(mine))
			_exit(1);
		receive(fd, 100, 0);
		_exit(1);
	}
	same(sys(read(pipe[0], &port, sizeof(port))), sizeof(port), "port of the child");
	const Fd sender = bindRds(place.any);
	same(sys(kill(child, SIGKILL)), 0, "kill");
	waitpid(child, nullptr, 0);
	want(eventually([&] {
		     const Fd fd = openRds();
		     const Address address = place.any.port(port);
		     return bind(fd, address.get(), address.length()) == 0;
	     }),
	     "the port of a killed process is not free");
	same(sendText(sender, "hello", place.any.port(port)), 5, "send to a dead process");
	close(pipe[0]);
	close(pipe[1]);
}

/* Threads that send to, and read from, one socket. */
class Crowd
{
public:
	explicit Crowd(const Place &place) : to_(bindRds(place.any)), target_(localAddress(to_))
	{
		setTimeout(to_, SO_RCVTIMEO, std::chrono::milliseconds(200));
		for (int i = 0; i < 4; ++i)
			senders_.push_back(bindRds(place.any));
	}

	void run()
	{
		std::vector<std::thread> threads;

		for (int i = 0; i < 4; ++i)
			threads.emplace_back([this, i] { sender(i, senders_[i]); });
		for (int i = 0; i < 3; ++i)
			threads.emplace_back([this] { reader(); });
		for (std::thread &thread : threads)
			thread.join();
		same(problem_, "", "threads");
		same(seen_.size(), 4 * each, "different messages read");
		same(read_, 4 * each, "messages read");
	}

private:
	static constexpr int each = 1500;

	void sender(int who, int fd)
	{
		for (int i = 0; i < each; ++i) {
			/* Never more than a few on the way: mainline's loopback has no limit. */
			while (sent_ - read_ > 100 && !hopeless_)
				std::this_thread::yield();
			const std::string text = std::to_string(who) + "/" + std::to_string(i);
			long result;
			do
				if ((result = sendText(fd, text, target_)) < 0)
					refusal_ = result;
			while ((result == -ENOBUFS || result == -EAGAIN) && !hopeless_);
			if (result < 0)
				complain("send: " + describe(result));
			++sent_;
		}
		++finished_;
	}

	void reader()
	{
		int silent = 0, before = 0;

		for (;;) {
			const Received got = receive(to_, 100, 0);

			if (got.result >= 0) {
				const std::lock_guard<std::mutex> lock(mutex_);

				++read_;
				if (!seen_.insert(got.data).second)
					problem_ = "read twice: " + got.data;
				continue;
			}
			if (got.result != -ETIMEDOUT)
				complain("recvmsg: " + describe(got.result));
			/* 20 s in which no reader got anything. */
			silent = read_ == before ? silent + 1 : 0;
			before = read_;
			if (silent > 100)
				complain("messages are missing: " + std::to_string(sent_) +
					 " sent, " + std::to_string(read_) + " read, " +
					 std::to_string(finished_) +
					 " senders finished, last refusal " + describe(refusal_));
			if (finished_ == 4 && read_ >= 4 * each)
				return;
			if (hopeless_)
				return;
		}
	}

	void complain(const std::string &text)
	{
		const std::lock_guard<std::mutex> lock(mutex_);

		problem_ = text;
		hopeless_ = true;
	}

	Fd to_;
	/* Open to the end: close() may take back what another thread has not sent yet. */
	std::vector<Fd> senders_;
	Address target_;
	std::mutex mutex_;
	std::set<std::string> seen_;
	std::string problem_;
	std::atomic<int> sent_ = 0, read_ = 0, finished_ = 0;
	std::atomic<bool> hopeless_ = false;
	std::atomic<long> refusal_ = 0;
};

void crowd(const Place &place)
{
	Crowd(place).run();
}

void bindRace(const Place &place)
{
	const Fd first = bindRds(place.any);
	const Address port =
		localAddress(first).port() < 60000 ? place.any.port(61234) : place.any.port(51234);
	std::atomic<int> winners = 0;
	std::vector<std::thread> threads;
	std::vector<Fd> sockets;

	for (int i = 0; i < 8; ++i)
		sockets.push_back(openRds());
	for (const Fd &fd : sockets)
		threads.emplace_back([&winners, &fd, &port] {
			if (bind(fd, port.get(), port.length()) == 0)
				++winners;
		});
	for (std::thread &thread : threads)
		thread.join();
	same(winners, 1, "sockets that got the port");
}

} // namespace

void allPorts(const Place &place)
{
	std::vector<Fd> sockets;

	raiseFileLimit(70000);
	for (int i = 2; i <= 65535; ++i) {
		sockets.push_back(openRds());
		same(sys(bind(sockets.back(), place.any.get(), place.any.length())), 0,
		     "one of all");
	}
	const Fd extra = openRds();
	same(sys(bind(extra, place.any.get(), place.any.length())), -EADDRINUSE, "one more");
	const uint16_t port = localAddress(sockets[1000]).port();
	sockets[1000].close();
	same(sys(bind(extra, place.any.get(), place.any.length())), 0, "when one was closed");
	same(localAddress(extra).port(), port, "the only free port");
}

void addLife(Cases &cases)
{
	cases.add("many sockets", Where::anywhere, manySockets);
	cases.add("closed sockets are gone", Where::anywhere, closedSocketsAreGone);
	cases.add("close with unread messages", Where::anywhere, closeWithUnread);
	cases.add("fork", Where::anywhere, forks);
	cases.add("dup", Where::anywhere, dups);
	cases.add("a killed process", Where::anywhere, killedProcess);
	cases.add("four senders, three readers, one socket", Where::anywhere, crowd);
	cases.add("eight threads bind one port", Where::anywhere, bindRace);
}

} // namespace rdstest
