/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rds_cong: congestion between two hosts. The reader reads only when it is told to, so the
 * sender runs into a full queue, ENOBUFS, and finds out how it learns that there is room again.
 *
 * Commands over a TCP connection, a line each, answered by a line that begins with "ok":
 *
 *	READ n		read n messages and check their payloads and order
 *	READ2		read one message from the second port
 *	COUNT		how many messages the first port has waiting
 *	CLOSE		close the first port
 *	OPEN		bind it again
 */
#pragma once

#include "../lib/socket.h"

#include <chrono>
#include <string>

namespace rdstest
{

struct CongOptions {
	Address self, peer;
	uint16_t controlPort = 4101;
	uint16_t port = 6000; /* the second port is the next one */
	size_t length = 4000; /* of a message */
	bool ours = true;
	std::chrono::seconds timeout{120};
};

int runCongReader(const CongOptions &options);
int runCongSender(const CongOptions &options);

} // namespace rdstest
