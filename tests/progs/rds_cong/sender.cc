// SPDX-License-Identifier: GPL-2.0
#include "cong.h"

#include "../lib/check.h"
#include "../lib/payload.h"
#include "../lib/sleeper.h"
#include "../lib/tap.h"
#include "../lib/tcp.h"

#include <linux/rds.h>
#include <poll.h>

#include <memory>

namespace rdstest
{

namespace
{

using std::chrono::milliseconds;

class Sender
{
public:
	explicit Sender(const CongOptions &options)
		: options_(options),
		  control_(connectTcp(options.peer.port(options.controlPort), options.timeout)),
		  to_(options.peer.port(options.port))
	{
		restart();
	}

	int run();

private:
	/* A new socket, and a new one at the reader: numbers start again, nothing is queued. */
	void restart();
	std::string ask(const std::string &command);
	long trySend(int fd, int flags = MSG_DONTWAIT);
	void fill();
	void readAll();
	void silentSoFar();

	void fills();
	void otherPort();
	void pollTells();
	void monitorTells();
	void blockedSenderWakes();
	void allBlockedSendersWake();
	void closeFrees();
	void signalEndsWait();
	void timeoutEndsWait();
	void slowButSteady();

	const CongOptions &options_;
	Fd control_, fd_;
	Address to_;
	uint64_t next_ = 0; /* number of the next message */
	uint64_t read_ = 0; /* so many the reader has read */
};

void Sender::restart()
{
	fd_ = bindRds(options_.self);
	ask("CLOSE");
	ask("OPEN");
	next_ = read_ = 0;
	/*
	 * Waits until the port is free, which is told by another connection than the reader's
	 * answer; and until mainline has all its paths, or its messages overtake each other.
	 */
	same(interrupted(std::chrono::seconds(20), [this] { return trySend(fd_, 0); }),
	     options_.length, "first message");
	readAll();
}

std::string Sender::ask(const std::string &command)
{
	want(writeLine(control_, command), "the control connection is closed");
	const std::string answer =
		readLine(control_, std::chrono::seconds(60)).value_or("no answer from the reader");
	if (answer.rfind("ok", 0) != 0)
		throw Failed("reader, " + command + ": " + answer);
	return answer;
}

long Sender::trySend(int fd, int flags)
{
	const long result = sendText(fd, makePayload(options_.length, next_), to_, flags);

	if (result >= 0)
		++next_;
	return result;
}

/* Sends until the port is congested. */
void Sender::fill()
{
	for (int i = 0; i < 5000; ++i) {
		const long result = trySend(fd_);

		if (result == -ENOBUFS)
			return;
		if (result == -EAGAIN) /* the send queue is full: acknowledgements come */
			want(waitFor(fd_, POLLOUT), "the send queue does not drain");
		else
			same(result, options_.length, "send");
	}
	throw Failed("never ENOBUFS, after " + std::to_string(next_) + " messages");
}

void Sender::readAll()
{
	ask("READ " + std::to_string(next_ - read_));
	read_ = next_;
}

/*
 * Mainline is not: maps come whenever one of its eight paths comes up. And a look with poll()
 * in between makes it forget to wake the next one.
 */
void Sender::silentSoFar()
{
	if (!options_.ours)
		return;
	pollEvents(fd_); /* what happened before may count once */
	want(!waitFor(fd_, POLLIN, milliseconds(0)), "readable although nothing changed");
}

void Sender::fills()
{
	for (int round = 0; round < 3; ++round) {
		fill();
		want(next_ - read_ >= 20, "congested after few messages");
		readAll();
		want(eventually([this] { return trySend(fd_) >= 0; }), "stays congested");
		readAll();
	}
}

void Sender::otherPort()
{
	fill();
	const Address second = options_.peer.port(static_cast<uint16_t>(options_.port + 1));
	want(eventually([&] { return sendText(fd_, "second", second) == 6; }),
	     "no message to another port");
	ask("READ2");
	readAll();
}

void Sender::pollTells()
{
	fill();
	silentSoFar();
	readAll();
	want(waitFor(fd_, POLLIN), "poll is not told");
	want(eventually([this] { return trySend(fd_) >= 0; }), "stays congested");
	readAll();
}

void Sender::monitorTells()
{
	setOption(fd_, SOL_RDS, RDS_CONG_MONITOR, 1);
	fill();
	silentSoFar();
	readAll();
	want(waitFor(fd_, POLLIN), "poll is not told");
	uint64_t seen = 0;
	const bool told = eventually([&] {
		const Received got = receiveSoon(fd_);
		const ControlMessage *message = got.find(SOL_RDS, RDS_CMSG_CONG_UPDATE);

		same(got.result, 0, "recvmsg of the notification");
		want(message && message->data.size() == 8, "no RDS_CMSG_CONG_UPDATE");
		seen |= message->as<uint64_t>();
		return (seen & RDS_CONG_MONITOR_MASK(options_.port)) != 0;
	});
	want(told, "the bit of the port is never set");
	want(eventually([this] { return trySend(fd_) >= 0; }), "stays congested");
	readAll();
}

void Sender::blockedSenderWakes()
{
	fill();
	Sleeper sleeper([this] { return trySend(fd_, 0); });
	const uint64_t before = next_;

	ask("READ " + std::to_string(before - read_));
	read_ = before;
	same(sleeper.result(), options_.length, "the blocked send");
	readAll();
}

void Sender::allBlockedSendersWake()
{
	std::vector<Fd> sockets;
	std::vector<std::unique_ptr<Sleeper>> sleepers;

	fill();
	for (int i = 0; i < 5; ++i)
		sockets.push_back(bindRds(options_.self));
	for (const Fd &fd : sockets)
		sleepers.push_back(std::make_unique<Sleeper>([this, &fd] {
			return sendText(fd, makePayload(options_.length, 0), to_, 0);
		}));
	readAll();
	for (auto &sleeper : sleepers)
		same(sleeper->result(), options_.length, "a blocked send");
	/* Messages of the five are not in the reader's order: it starts anew. */
	restart();
}

void Sender::closeFrees()
{
	fill();
	Sleeper sleeper([this] { return trySend(fd_, 0); });

	ask("CLOSE");
	same(sleeper.result(), options_.length, "send to a closed port");
	same(trySend(fd_), options_.length, "another one");
	ask("OPEN");
	restart();
}

void Sender::signalEndsWait()
{
	fill();
	Sleeper::handleSignal(0);
	{
		Sleeper sleeper([this] { return trySend(fd_, 0); });

		sleeper.signal();
		same(sleeper.result(), -EINTR, "the blocked send");
	}
	readAll();
}

void Sender::timeoutEndsWait()
{
	fill();
	setTimeout(fd_, SO_SNDTIMEO, milliseconds(200));
	same(interrupted(std::chrono::seconds(10), [this] { return trySend(fd_, 0); }), -ETIMEDOUT,
	     "blocking send to a congested port");
	readAll();
}

/*
 * A blocking sender and a reader that reads in bursts: nothing is lost, all in order.  Mainline's
 * sender is not asked: once in fifty times it sleeps on though its reader has read everything.
 */
void Sender::slowButSteady()
{
	constexpr uint64_t total = 400;
	const uint64_t start = next_;
	Sleeper sending([this] {
		long result = 0;

		for (uint64_t i = 0; i < total && result >= 0; ++i)
			result = trySend(fd_, 0);
		return result;
	});

	for (uint64_t left = total; left; left -= 50)
		ask("READ 50");
	same(sending.result(), options_.length, "blocking send");
	same(next_ - start, total, "messages sent");
	read_ = next_;
}

int Sender::run()
{
	using Step = void (Sender::*)();
	static const struct {
		const char *name;
		Step step;
		bool oursOnly;
	} steps[] = {
		{"a slow reader ends in ENOBUFS, reading ends that", &Sender::fills, false},
		{"another port of the host is free", &Sender::otherPort, false},
		{"poll tells that there is room", &Sender::pollTells, false},
		{"the monitor tells that there is room", &Sender::monitorTells, false},
		{"reading wakes a blocked sender", &Sender::blockedSenderWakes, false},
		{"reading wakes all blocked senders", &Sender::allBlockedSendersWake, false},
		{"closing the port frees the senders", &Sender::closeFrees, false},
		{"a signal ends the wait", &Sender::signalEndsWait, false},
		{"SO_SNDTIMEO ends the wait", &Sender::timeoutEndsWait, true},
		{"a reader in bursts, a blocking sender", &Sender::slowButSteady, true},
	};
	Tap tap;

	for (const auto &[name, step, oursOnly] : steps) {
		if (oursOnly && !options_.ours)
			continue;
		try {
			(this->*step)();
			tap.ok(true, name);
			restart();
		} catch (const std::exception &error) {
			tap.ok(false, name, error.what());
			break; /* the state of the reader is unknown now */
		}
	}
	return tap.finish();
}

} // namespace

int runCongSender(const CongOptions &options)
{
	return Sender(options).run();
}

} // namespace rdstest
