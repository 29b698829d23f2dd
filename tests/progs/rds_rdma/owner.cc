// SPDX-License-Identifier: GPL-2.0
/*
 * The host that owns the memory. A line of the control connection is a command and numbers; the
 * answer is "ok" and numbers, or what is wrong.
 */
#include "rdma.h"

#include "../lib/check.h"
#include "../lib/payload.h"
#include "../lib/tcp.h"

#include <poll.h>

#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>

namespace rdstest
{

namespace
{

using std::chrono::seconds;

constexpr size_t memorySize = 4 * mebibyte;

class Servant
{
public:
	explicit Servant(const RdmaOptions &options)
		: options_(options), listener_(listenTcp(options.self.port(options.controlPort))),
		  fd_(bindRds(options.self.port(options.port))), memory_(memorySize)
	{
	}

	void run()
	{
		std::cout << "ready" << std::endl;
		const Fd control = acceptTcp(listener_, options_.timeout);

		while (const auto line = readLine(control, options_.timeout)) {
			std::string answer;

			try {
				answer = "ok " + obey(*line, control);
			} catch (const std::exception &error) {
				answer = error.what();
			}
			writeLine(control, answer);
		}
	}

private:
	using Numbers = std::vector<uint64_t>;

	std::string obey(const std::string &line, int control)
	{
		std::istringstream in(line);
		std::string what;
		Numbers n;

		in >> what;
		for (uint64_t value; in >> value;)
			n.push_back(value);
		if (what == "MAP" || what == "FREE" || what == "OFFER" || what == "TELL")
			return region(what, n);
		if (what == "FILL" || what == "CHECK" || what == "PUT" || what == "GET")
			return bytes(what, n);
		if (what == "RECV" || what == "QUIET" || what == "STORM")
			return messages(what, n, control);
		throw Failed("unknown command " + what);
	}

	std::string region(const std::string &what, const Numbers &n)
	{
		uint64_t cookie = 0;
		long result;

		if (what == "MAP") {
			result = getMr(fd_, memory_.address(n.at(0)), n.at(1), n.at(2), &cookie);
		} else if (what == "FREE") {
			result = freeMr(fd_, n.at(0), n.at(1));
		} else {
			result = offer(what, n);
		}
		return std::to_string(result) + " " + std::to_string(static_cast<int64_t>(cookie));
	}

	/* A message to the other host with a region's cookie: a new one's, or one that there is. */
	long offer(const std::string &what, const Numbers &n)
	{
		const Address to = options_.peer.port(options_.port);
		Control control;

		if (what == "OFFER") {
			rds_get_mr_args args{};

			args.vec.addr = memory_.address(n.at(0));
			args.vec.bytes = n.at(1);
			args.flags = n.at(2);
			control.add(SOL_RDS, RDS_CMSG_RDMA_MAP, args);
		} else {
			control.add(SOL_RDS, RDS_CMSG_RDMA_DEST, n.at(0));
		}
		return sendBytes(fd_, "offer", 5, {.to = &to, .control = &control});
	}

	std::string bytes(const std::string &what, const Numbers &n)
	{
		char *at = memory_.at(n.at(0));
		uint64_t value = 0;

		if (what == "FILL") {
			fillPayload(at, n.at(1), n.at(2));
		} else if (what == "CHECK") {
			want(isPayload(at, n.at(1), n.at(2)), "other bytes are there");
		} else if (what == "PUT") {
			memcpy(at, &n.at(1), sizeof(uint64_t));
		} else {
			memcpy(&value, at, sizeof(value));
		}
		return std::to_string(static_cast<int64_t>(value));
	}

	std::string messages(const std::string &what, const Numbers &n, int control)
	{
		if (what == "STORM")
			return storm(control);
		const Received got =
			what == "QUIET" ? receive(fd_) : receiveSoon(fd_, 1 << 17, seconds(60));

		if (what == "QUIET") {
			same(got.result, -EAGAIN, "a message, or a notification");
			return "";
		}
		same(got.result, n.at(0), "length of the message");
		want(isPayload(got.data.data(), got.data.size(), n.at(1)), "another message");
		/* The sender's operation was fenced: it has read what was there before this. */
		if (n.size() > 2)
			fillPayload(memory_.at(n.at(2)), n.at(3), n.at(4));
		return "";
	}

	/* Reads messages that hold a number until the other host has something to say; which came,
	 * and how often. */
	std::string storm(int control)
	{
		std::map<uint64_t, int> seen;
		std::string text;

		writeLine(control, "ok ");
		while (!waitFor(control, POLLIN, std::chrono::milliseconds(0))) {
			const Received got = receiveSoon(fd_, 4096, std::chrono::milliseconds(20));
			uint64_t number;

			if (got.result == -EAGAIN)
				continue;
			same(got.result, sizeof(number), "length of the message");
			memcpy(&number, got.data.data(), sizeof(number));
			if (number & freeing)
				freeMr(fd_, number & ~freeing, RDS_RDMA_INVALIDATE);
			else
				seen[number]++;
		}
		(void)readLine(control, std::chrono::seconds(10));
		for (const auto &[number, times] : seen)
			text += std::to_string(number) + " " + std::to_string(times) + " ";
		return text;
	}

	const RdmaOptions &options_;
	Fd listener_, fd_;
	Memory memory_;
};

} // namespace

int runRdmaOwner(const RdmaOptions &options)
{
	Servant(options).run();
	return 0;
}

} // namespace rdstest
