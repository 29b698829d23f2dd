// SPDX-License-Identifier: GPL-2.0
#include "flows.h"

#include "../lib/info.h"
#include "../lib/tcp.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <iostream>
#include <map>
#include <thread>

namespace rdstest
{

namespace
{

using Clock = std::chrono::steady_clock;

/* Outlives the Sender, because the thread that sets it does. */
std::atomic<bool> inputEnded = false;

class Sender
{
public:
	explicit Sender(const FlowOptions &options)
		: options_(options), sent_(options.flows), waits_(options.flows)
	{
		for (uint32_t flow = 0; flow < options.flows; ++flow) {
			sockets_.push_back(bindRds(options.self));
			if (!options.forever)
				setTimeout(sockets_.back(), SO_SNDTIMEO, std::chrono::seconds(2));
		}
	}
	int run();

private:
	Fd control();
	void sendAll();
	bool more(uint64_t number) const;
	void blockingFlow(uint32_t flow);
	bool trySend(uint32_t flow, int flags);
	void pace(uint64_t count) const;
	void waitForRoom();
	size_t queued() const;
	bool drain() const;
	nlohmann::json report(bool drained) const;

	const FlowOptions &options_;
	std::vector<Fd> sockets_;
	std::vector<std::atomic<uint64_t>> sent_; /* messages taken by the kernel, per flow */
	std::vector<short> waits_; /* for which event of poll(), per flow that has to wait */
	std::atomic<uint64_t> total_ = 0;
	std::atomic<uint64_t> noRoom_ = 0, congested_ = 0, timedOut_ = 0;
	std::atomic<int> error_ = 0;
	Clock::time_point start_;
};

Fd Sender::control()
{
	return connectTcp(options_.peer.port(options_.controlPort), options_.timeout);
}

bool Sender::more(uint64_t number) const
{
	const std::chrono::duration<double> passed = Clock::now() - start_;

	if (options_.messages && number >= options_.messages)
		return false;
	if (error_ || inputEnded || passed > options_.timeout)
		return false;
	return !options_.seconds || passed.count() < options_.seconds;
}

/* The test that runs us closes our standard input to say that it is enough. */
void watchInput()
{
	std::thread([] {
		char room[100];

		while (read(STDIN_FILENO, room, sizeof(room)) > 0)
			;
		inputEnded = true;
	}).detach();
}

/* Sends the next message of a flow; false when it has to wait. */
bool Sender::trySend(uint32_t flow, int flags)
{
	const std::string bytes = FlowMessage(options_, flow, sent_[flow]).bytes();
	const Address to = options_.peer.port(static_cast<uint16_t>(options_.basePort + flow));
	const long result =
		sendBytes(sockets_[flow], bytes.data(), bytes.size(), {.flags = flags, .to = &to});

	waits_[flow] = POLLOUT;
	switch (-result) {
	case EAGAIN:
	case ENOMEM:
		++noRoom_;
		return false;
	case ENOBUFS:
		++congested_;
		/* The socket's own queue has room, so POLLOUT would be there at once. */
		waits_[flow] = POLLIN;
		return false;
	case ETIMEDOUT:
		++timedOut_;
		return false;
	case EINTR:
		return false;
	}
	if (result < 0) {
		error_ = static_cast<int>(-result);
		return false;
	}
	++sent_[flow];
	++total_;
	return true;
}

/* Keeps to the wanted rate. */
void Sender::pace(uint64_t count) const
{
	if (options_.rate > 0)
		std::this_thread::sleep_until(
			start_ + std::chrono::duration_cast<Clock::duration>(
					 std::chrono::duration<double>(count / options_.rate)));
}

/* Until a full queue has room, or a congested port is free, of any flow. */
void Sender::waitForRoom()
{
	std::vector<pollfd> entries;
	constexpr short either = POLLIN | POLLOUT;

	for (uint32_t flow = 0; flow < options_.flows; ++flow) {
		if (more(sent_[flow]))
			entries.push_back(
				{sockets_[flow], options_.forever ? waits_[flow] : either, 0});
	}
	if (entries.empty())
		return;
	poll(entries.data(), entries.size(), options_.forever ? -1 : 20);
	/* A message may be larger than the room that POLLOUT told of: do not spin. */
	std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Sender::blockingFlow(uint32_t flow)
{
	while (more(sent_[flow])) {
		pace(total_);
		trySend(flow, 0);
	}
}

void Sender::sendAll()
{
	if (options_.blocking) {
		std::vector<std::thread> threads;

		for (uint32_t flow = 0; flow < options_.flows; ++flow)
			threads.emplace_back([this, flow] { blockingFlow(flow); });
		for (std::thread &thread : threads)
			thread.join();
		return;
	}
	for (bool working = true; working;) {
		bool progress = false;

		working = false;
		for (uint32_t flow = 0; flow < options_.flows; ++flow) {
			if (!more(sent_[flow]))
				continue;
			working = true;
			pace(total_);
			progress |= trySend(flow, MSG_DONTWAIT);
		}
		if (working && !progress)
			waitForRoom();
	}
}

/* Messages of ours that the kernel still keeps, because the peer has not acknowledged them. */
size_t Sender::queued() const
{
	std::map<uint16_t, bool> mine;
	size_t count = 0;

	for (const Fd &fd : sockets_)
		mine[localAddress(fd).port()] = true;
	/* A message may go from one queue to the other, or back, between two looks. */
	for (int code :
	     {RDS6_INFO_SEND_MESSAGES, RDS6_INFO_RETRANS_MESSAGES, RDS6_INFO_SEND_MESSAGES}) {
		for (const auto &entry : readInfo(sockets_[0], code).as<rds6_info_message>())
			count += mine.count(ntohs(entry.lport));
	}
	return count;
}

/* Waits as long as acknowledgements come: --drain without any is the end. */
bool Sender::drain() const
{
	size_t left = queued();

	while (left && eventually([&] { return queued() < left; }, options_.drain))
		left = queued();
	return !left;
}

nlohmann::json Sender::report(bool drained) const
{
	const std::chrono::duration<double> passed = Clock::now() - start_;
	nlohmann::json report;

	for (uint32_t flow = 0; flow < options_.flows; ++flow) {
		report["sent"].push_back(sent_[flow].load());
		report["ports"].push_back(localAddress(sockets_[flow]).port());
	}
	report["seconds"] = passed.count();
	report["no_room"] = noRoom_.load();
	report["congested"] = congested_.load();
	report["timed_out"] = timedOut_.load();
	report["unacknowledged"] = drained ? 0 : queued();
	return report;
}

int Sender::run()
{
	{
		const Fd connection = control();

		if (!writeLine(connection, "HELLO") ||
		    readLine(connection, options_.timeout) != "READY")
			fail("the receiver does not answer", -EPROTO);
	}
	std::cout << "sending" << std::endl;
	start_ = Clock::now();
	if (options_.untilEof)
		watchInput();
	sendAll();
	if (error_)
		fail("send", -error_);
	const bool drained = drain();
	const nlohmann::json told = report(drained);

	/* The connection may be cut while we wait for the answer: ask again. */
	std::string answer;
	const bool answered = eventually(
		[&] {
			const Fd connection = control();

			if (!writeLine(connection, "DONE " + told.dump()))
				return false;
			answer = readLine(connection, options_.timeout).value_or("");
			return !answer.empty();
		},
		options_.timeout);
	if (!answered)
		fail("no result from the receiver", -ETIMEDOUT);
	std::cout << answer << std::endl;
	return nlohmann::json::parse(answer).value("clean", false) || options_.reportOnly ? 0 : 1;
}

} // namespace

int runFlowSender(const FlowOptions &options)
{
	return Sender(options).run();
}

} // namespace rdstest
