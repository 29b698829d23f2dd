/* SPDX-License-Identifier: GPL-2.0 */
/* The host whose module is tested: its application and its counters, through rds_host.py there. */
#pragma once

#include "../../progs/lib/address.h"
#include "../../progs/lib/socket.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace rdstest
{

using Patience = std::chrono::milliseconds;

/* For what must come; a guest is slow, and a busy machine makes it slower. */
constexpr Patience kSoon = std::chrono::seconds(20);

/* The contents of the application's n-th message of a send(): rds_host.py's pattern(). */
std::string pattern(size_t n, size_t length);

class Host
{
public:
	static constexpr uint16_t port = 4000; /* where its application listens */

	struct Message {
		std::string data, from;
		uint16_t port = 0;
	};
	struct Sent {
		size_t count = 0;
		int error = 0; /* errno of the one after them; 0: all were taken */
	};
	using Counters = std::map<std::string, uint64_t>;

	Host(const Address &v4, const Address &v6);

	const Address &address(bool v6) const
	{
		return v6 ? v6_ : v4_;
	}

	/* Other sockets: nothing that a test left in them is seen by the next one. */
	void fresh();
	Counters counters();

	/* Waits until a counter has grown since then; false when the time is over. */
	bool grows(const Counters &since, const std::string &name, uint64_t least = 1,
		   Patience patience = kSoon);

	/* Sets a file of /proc/sys/net/rds; what it held before. */
	std::string set(const std::string &file, const std::string &value);

	/* Messages of pattern(0, length), pattern(1, length) ... without waiting. */
	Sent send(const Address &to, size_t count, size_t length, uint8_t tos = 0);

	/* Registers memory that peers may write; the cookie. */
	uint64_t region(size_t length);

	/* The next message that the application reads, if one comes. */
	std::optional<Message> next(bool v6 = false, Patience patience = kSoon);

private:
	nlohmann::json ask(nlohmann::json what);

	Address v4_, v6_;
	Fd control_;
	std::string pending_; /* of an answer */
};

/* A setting of the host's, put back at the end. */
class Setting
{
public:
	Setting(Host &host, const std::string &file, const std::string &value)
		: host_(host), file_(file), before_(host.set(file, value))
	{
	}
	~Setting()
	{
		host_.set(file_, before_);
	}
	Setting(const Setting &) = delete;
	Setting &operator=(const Setting &) = delete;

private:
	Host &host_;
	std::string file_, before_;
};

} // namespace rdstest
