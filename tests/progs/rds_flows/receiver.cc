// SPDX-License-Identifier: GPL-2.0
#include "flows.h"

#include "../lib/tcp.h"

#include <poll.h>
#include <sys/epoll.h>

#include <cstring>
#include <iostream>
#include <optional>

namespace rdstest
{

namespace
{

using Clock = std::chrono::steady_clock;

/*
 * Quiet for this long after the sender's queues are empty: what is missing is lost, and nothing
 * comes for the second time.
 */
constexpr std::chrono::seconds quiet{3};

/* The messages of one flow that came. */
struct Flow {
	std::vector<bool> seen;
	uint64_t first = 0; /* number of the first message that came */
	uint64_t highest = 0;
	uint64_t distinct = 0;
	bool any = false;
	Address from;
};

struct Totals {
	uint64_t delivered = 0, duplicates = 0, reordered = 0, corrupted = 0, strangers = 0,
		 bytes = 0;
	uint64_t late = 0;	/* were not there yet when the sender held them for delivered */
	uint64_t unnoticed = 0; /* lay there, and epoll had not told */
};

class Receiver
{
public:
	explicit Receiver(const FlowOptions &options);
	int run();

private:
	enum : uint64_t { listenerKey = 1 << 20, connectionKey };

	void watch(int fd, uint64_t key);
	void dispatch(uint64_t key);
	uint64_t readFlow(uint32_t flow);
	void account(uint32_t flow, const Received &got);
	void readControl();
	void settle();
	void sweep();
	void answer(const std::string &found);
	bool complete() const;
	nlohmann::json result() const;
	void reportFlow(uint32_t flow, nlohmann::json &result) const;

	const FlowOptions &options_;
	Fd epoll_, listener_, connection_;
	std::vector<Fd> sockets_;
	std::vector<Flow> flows_;
	Totals totals_;
	nlohmann::json told_;			/* the sender's report; null until DONE */
	bool settled_ = false;			/* all that was delivered at DONE has been read */
	Clock::time_point lastMessage_;		/* or DONE */
	std::optional<Clock::time_point> came_; /* the last message before DONE */
	Clock::duration longestGap_{};		/* between two of these */
};

Receiver::Receiver(const FlowOptions &options)
	: options_(options), epoll_(epoll_create1(EPOLL_CLOEXEC)),
	  listener_(listenTcp(options.self.port(options.controlPort))), flows_(options.flows)
{
	watch(listener_, listenerKey);
	for (uint32_t flow = 0; flow < options.flows; ++flow) {
		const auto port = static_cast<uint16_t>(options.basePort + flow);

		sockets_.push_back(bindRds(options.self.port(port), SOCK_NONBLOCK));
		if (options.receiveBuffer)
			setOption(sockets_.back(), SOL_SOCKET, SO_RCVBUF,
				  static_cast<int>(options.receiveBuffer));
		watch(sockets_.back(), flow);
	}
}

void Receiver::watch(int fd, uint64_t key)
{
	epoll_event event{};

	event.events = EPOLLIN;
	event.data.u64 = key;
	if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) < 0)
		fail("epoll_ctl", sys(-1));
}

void Receiver::account(uint32_t flow, const Received &got)
{
	Flow &state = flows_[flow];
	FlowHeader header{};

	std::memcpy(&header, got.data.data(), std::min(got.data.size(), sizeof(header)));
	if (header.magic != flowMagic || header.flow != flow ||
	    !FlowMessage(options_, flow, header.number).equals(got.data)) {
		++totals_.corrupted;
		return;
	}
	if (!state.any) {
		state.from = got.from;
		state.first = header.number;
	} else if (!(state.from == got.from)) {
		++totals_.strangers;
	}
	if (header.number >= state.seen.size())
		state.seen.resize(header.number + 1000);
	if (state.seen[header.number]) {
		++totals_.duplicates;
		return;
	}
	totals_.reordered += state.any && header.number < state.highest;
	state.seen[header.number] = true;
	state.highest = std::max(state.highest, header.number);
	state.any = true;
	++state.distinct;
	++totals_.delivered;
	/* A sender that gave up waiting has not said that all was there. */
	totals_.late += settled_ && told_.at("unacknowledged") == 0;
	totals_.bytes += got.data.size();
}

/* Reads what is there, but not for ever; how much it was. */
uint64_t Receiver::readFlow(uint32_t flow)
{
	for (uint64_t count = 0;; ++count) {
		const Received got =
			receive(sockets_[flow], std::max(options_.maxPayload, options_.length) +
							sizeof(FlowHeader) + 1);

		if (got.result == -EAGAIN || got.result == -ENOMEM)
			return count;
		if (got.result < 0)
			fail("recvmsg", got.result);
		lastMessage_ = Clock::now();
		if (told_.is_null()) {
			longestGap_ =
				std::max(longestGap_, lastMessage_ - came_.value_or(lastMessage_));
			came_ = lastMessage_;
		}
		account(flow, got);
		if (count == 15)
			return count + 1;
	}
}

void Receiver::readControl()
{
	const std::string line = readLine(connection_, std::chrono::seconds(2)).value_or("");

	if (line == "HELLO") {
		writeLine(connection_, "READY");
		connection_.close();
	} else if (line.rfind("DONE ", 0) == 0) {
		if (told_.is_null())
			lastMessage_ = Clock::now();
		told_ = nlohmann::json::parse(line.substr(5));
		/* The connection stays open for the answer, but there is no more to read. */
		epoll_ctl(epoll_, EPOLL_CTL_DEL, connection_, nullptr);
	} else {
		connection_.close();
	}
}

void Receiver::dispatch(uint64_t key)
{
	if (key == listenerKey) {
		connection_ = acceptTcp(listener_, std::chrono::seconds(1));
		watch(connection_, connectionKey);
	} else if (key == connectionKey) {
		readControl();
	} else {
		readFlow(static_cast<uint32_t>(key));
	}
}

/* After DONE: what epoll tells of at once was delivered before. */
void Receiver::settle()
{
	epoll_event events[64];
	int count;

	while ((count = epoll_wait(epoll_, events, 64, 0)) > 0) {
		for (int i = 0; i < count; ++i)
			dispatch(events[i].data.u64);
	}
	settled_ = true;
}

/* At the end: what is there all the same is what nobody was woken for. */
void Receiver::sweep()
{
	settle();

	const uint64_t late = totals_.late;

	for (uint32_t flow = 0; flow < options_.flows; ++flow) {
		while (const uint64_t count = readFlow(flow))
			totals_.unnoticed += count;
	}
	totals_.late = late; /* these may have been there all the time */
}

bool Receiver::complete() const
{
	return settled_ && Clock::now() - lastMessage_ > quiet;
}

void Receiver::reportFlow(uint32_t flow, nlohmann::json &result) const
{
	const Flow &state = flows_[flow];
	const uint64_t sent = told_.at("sent").at(flow);
	const uint64_t start = !options_.fromFirst ? 0 : state.any ? state.first : sent;
	const uint64_t lost = sent - start - std::min(sent - start, state.distinct);
	uint64_t lostBytes = 0;

	for (uint64_t number = start; lost && number < sent; ++number) {
		if (number >= state.seen.size() || !state.seen[number])
			lostBytes += sizeof(FlowHeader) +
				     FlowMessage(options_, flow, number).payloadLength();
	}
	const bool wrongPort = state.any && state.from.port() != told_.at("ports").at(flow);

	result["sent"] = result["sent"].get<uint64_t>() + sent;
	result["before_first"] = result["before_first"].get<uint64_t>() + start;
	result["lost"] = result["lost"].get<uint64_t>() + lost;
	result["lost_bytes"] = result["lost_bytes"].get<uint64_t>() + lostBytes;
	result["strangers"] = result["strangers"].get<uint64_t>() + wrongPort;
	if (lost)
		result["flows_with_loss"].push_back(flow);
}

nlohmann::json Receiver::result() const
{
	nlohmann::json result = {
		{"flows", options_.flows},
		{"sent", 0},
		{"before_first", 0},
		{"delivered", totals_.delivered},
		{"lost", 0},
		{"lost_bytes", 0},
		{"duplicates", totals_.duplicates},
		{"reordered", totals_.reordered},
		{"corrupted", totals_.corrupted},
		{"strangers", totals_.strangers},
		{"late", totals_.late},
		{"unnoticed", totals_.unnoticed},
		{"longest_gap", std::chrono::duration<double>(longestGap_).count()},
		{"bytes", totals_.bytes},
		{"flows_with_loss", nlohmann::json::array()}};

	for (uint32_t flow = 0; flow < options_.flows; ++flow)
		reportFlow(flow, result);
	for (const char *key : {"seconds", "no_room", "congested", "timed_out", "unacknowledged"})
		result[key] = told_.at(key);
	result["clean"] = result["lost"] == 0 && result["duplicates"] == 0 &&
			  result["reordered"] == 0 && result["corrupted"] == 0 &&
			  result["strangers"] == 0 && result["unacknowledged"] == 0;
	return result;
}

/*
 * The answer may be lost with the connection. The sender closes when it has it; as long as it asks
 * again it is answered again.
 */
void Receiver::answer(const std::string &found)
{
	for (;;) {
		writeLine(connection_, found);
		if (!readLine(connection_, std::chrono::seconds(5)) &&
		    !waitFor(listener_, POLLIN, std::chrono::seconds(1)))
			break;
		connection_ = acceptTcp(listener_, std::chrono::seconds(1));
	}
}

int Receiver::run()
{
	const auto end = Clock::now() + options_.timeout;

	std::cerr << "ready" << std::endl;
	while (!complete()) {
		epoll_event events[64];
		const bool forever = options_.forever && told_.is_null();
		const int count = epoll_wait(epoll_, events, 64, forever ? -1 : 100);

		for (int i = 0; i < count; ++i)
			dispatch(events[i].data.u64);
		if (!told_.is_null() && !settled_)
			settle();
		if (told_.is_null() && Clock::now() > end)
			fail("the sender has not finished", -ETIMEDOUT);
	}
	sweep();

	const nlohmann::json found = result();

	std::cout << found.dump() << std::endl;
	answer(found.dump());
	return found["clean"] || options_.reportOnly ? 0 : 1;
}

} // namespace

int runFlowReceiver(const FlowOptions &options)
{
	return Receiver(options).run();
}

} // namespace rdstest
