/* SPDX-License-Identifier: GPL-2.0 */
/*
 * traffic.h: messages that can be recognised, and applications that send and receive them.
 *
 * A message names its flow and its number and fills the rest with bytes that follow from both, so
 * that loss, duplication, order and corruption are all seen at the receiver (check_order.h).
 */
#ifndef RDS_TESTS_TRAFFIC_H
#define RDS_TESTS_TRAFFIC_H

#include "check_order.h"
#include "host.h"

namespace traffic
{

/* The smallest message that names itself. */
constexpr size_t kMinBytes = 16;

/* @size bytes, at least kMinBytes, into @b. */
void fill(host::Bytes &b, uint32_t flow, uint32_t number, size_t size);
host::Bytes make(uint32_t flow, uint32_t number, size_t size);

struct Name {
	uint32_t flow, number;
};
/* Nothing when a byte is not as make() wrote it. */
std::optional<Name> read(const host::Bytes &data);

/* One flow from a socket to a port.  Runs in a task. */
struct Sender {
	host::Socket *from;
	struct rds_endpoint to;
	uint32_t flow;
	check::Order *order;
	const bool *stop; /* gives up when true */
	uint32_t sent = 0;
	uint32_t no_memory = 0;

	/* Sends @count messages of @min..@max bytes; waits where sendmsg would.  False: stopped. */
	bool send(uint32_t count, size_t min, size_t max);
};

/* Reads whatever comes to @at into @order until *@stop.  In a task. */
void receive(host::Socket &at, check::Order &order, const bool &stop);
/* As receive(), but only what is there now: number of messages. */
unsigned int drain(host::Socket &at, check::Order &order, uint32_t receiver = 0);

/* Messages queued in @net and not acknowledged. */
unsigned int unacked(host::Net &net);

} // namespace traffic
#endif
