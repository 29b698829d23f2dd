/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A ping is an empty message to port 0, which the peer's kernel answers with an empty message
 * to the sender's port. Nothing in the answer says which ping it belongs to, so each of the
 * eight sockets has at most one ping under way: the answer is known by the socket it reaches.
 * Eight sockets also means eight local ports, so that all paths of a multipath peer are tried.
 */
#ifndef RDSTOOLS_PING_PINGER_H
#define RDSTOOLS_PING_PINGER_H

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "../lib/address.h"
#include "../lib/socket.h"
#include "../lib/stats.h"

namespace rdstools
{

struct PingOptions {
	Address dest;
	Address source;
	std::uint64_t count = 0; /* 0: until stopped */
	std::uint64_t interval_ns = 1000000000;
	std::uint64_t timeout_ns = 5000000000;
	std::uint8_t tos = 0;
};

struct PingSummary {
	std::uint64_t sent = 0;
	std::uint64_t received = 0;
	std::uint64_t lost = 0; /* timed out, or still unanswered when stopped */
	std::uint64_t elapsed_ns = 0;
	Histogram rtt; /* ns */
	/* From the time at which each was due, and those that were due and not sent, because eight
	 * others were under way. */
	Histogram corrected;
};

/* Pings that were due each @interval_ns after the one that was due at @due and is sent @now; the
 * last of them is not missed, for it is sent next. */
std::uint64_t missed(std::uint64_t interval_ns, std::uint64_t due, std::uint64_t now);

class Pinger
{
public:
	/* Called for every answer, and with no round trip time for every timeout. */
	using Report =
		std::function<void(std::uint64_t number, std::optional<std::uint64_t> rtt_ns)>;

	using Tick = std::function<void(const PingSummary &so_far)>;

	/* @tick is called now and then. */
	Pinger(const PingOptions &options, Report report, Tick tick = {});
	PingSummary run();

private:
	struct Slot {
		std::optional<RdsSocket> socket;
		bool waiting = false;
		std::uint64_t number = 0;
		std::uint64_t sent_at = 0;
		std::uint64_t due = 0;	  /* sent_at, or before */
		std::uint64_t missed = 0; /* pings that were due after it, and were not sent */
	};

	void open(Slot &slot);
	Slot *free_slot();
	void send_due(std::uint64_t now);
	void expire(std::uint64_t now);
	void answered(Slot &slot);
	void wait(std::uint64_t now);
	bool finished() const;
	bool more_to_send() const;

	PingOptions options_;
	Report report_;
	Tick tick_;
	PingSummary summary_;
	std::array<Slot, 8> slots_;
	std::size_t next_slot_ = 0;
	std::uint64_t due_ = 0;	      /* when the next one ought to be sent */
	std::uint64_t next_send_ = 0; /* when that is tried */
};

} // namespace rdstools

#endif
