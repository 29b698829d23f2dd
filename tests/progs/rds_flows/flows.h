/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rds_flows: many flows of messages from one host to another, every message accounted for.
 *
 * A flow is one socket at the sender and one at the receiver. Each message says which flow and
 * which number it is; its length and payload follow from these and the seed, so the receiver
 * knows every byte beforehand. The account of messages sent comes over a TCP connection at the end:
 *
 *	sender -> receiver	HELLO			(once, before the first message)
 *	receiver -> sender	READY
 *	sender -> receiver	DONE and a report as JSON	(a new connection)
 *	receiver -> sender	the result as JSON
 *
 * Before DONE the sender waits until nothing is queued in its kernel any more, so that what has
 * not arrived soon after is lost and not merely late. The receiver reads on for a while all the
 * same: a message that comes twice may come last. The connections are opened anew, with patience,
 * because links are cut and hosts restarted while the program runs.
 *
 * With --forever no wait for RDS has a time limit, so that a wake-up that is missed stays missed:
 * sends block without SO_SNDTIMEO, or poll() waits for room or for a change of congestion, and the
 * receiver's epoll waits for what comes.
 */
#pragma once

#include "../lib/payload.h"
#include "../lib/socket.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace rdstest
{

struct FlowOptions {
	Address self, peer; /* without ports */
	uint16_t controlPort = 4100;
	uint16_t basePort = 5000; /* flow i goes to this port + i */
	uint32_t flows = 64;
	uint64_t seed = 1;
	uint32_t maxPayload = 65536;
	uint32_t length = 0;		   /* of every message; 0: mixed */
	std::chrono::seconds timeout{120}; /* of the whole run */
	bool forever = false;		   /* waits for RDS have no time limit */

	/* The sender's. */
	uint64_t messages = 100; /* of each flow; 0: no limit but the time */
	double seconds = 0;	 /* 0: no limit but the number */
	double rate = 0;	 /* messages a second over all flows; 0: as fast as it goes */
	bool untilEof = false;	 /* until standard input ends */
	bool blocking = false;
	std::chrono::seconds drain{30}; /* the wait ends when none comes for so long */

	/* The receiver's. */
	bool fromFirst = false;	    /* count from the first message seen, not from 0 */
	bool reportOnly = false;    /* exit status 0 whatever was lost */
	uint32_t receiveBuffer = 0; /* SO_RCVBUF of its sockets; 0: as it is */
};

/* In front of every payload. */
struct FlowHeader {
	uint32_t magic;
	uint32_t flow;
	uint64_t number;
	uint32_t length; /* of the payload */
	uint32_t reserved;
	uint64_t check; /* checksum of the fields above and the seed */
};

/* A message of a flow. */
class FlowMessage
{
public:
	FlowMessage(const FlowOptions &options, uint32_t flow, uint64_t number);
	uint32_t payloadLength() const
	{
		return length_;
	}
	std::string bytes() const;

	/* Is this that message, to the last byte? */
	bool equals(const std::string &bytes) const;

private:
	FlowHeader header() const;

	uint64_t seed_;
	uint32_t flow_;
	uint64_t number_;
	uint32_t length_;
};

constexpr uint32_t flowMagic = 0x52445346;

/* Both print JSON and return the exit status. */
int runFlowSender(const FlowOptions &options);
int runFlowReceiver(const FlowOptions &options);

} // namespace rdstest
