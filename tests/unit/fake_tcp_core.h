/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fake_tcp_core.h: the few functions of core and seam that tcp_frame.cc calls, as a scripted core
 * that records what it is given.  For an executable of its own: it replaces the real ones.
 */
#ifndef FAKE_TCP_CORE_H
#define FAKE_TCP_CORE_H

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../../net/platform/platform.h"
#include "../../transports/tcp/tcp_frame.h"

struct rds_src {
	std::string bytes;
};

struct rds_payload {
	std::string bytes;
};

struct rds_msg {
	std::string header;
	uint32_t len;
	struct rds_payload payload;

	/* The operation that goes with it (fake_ib.cc). */
	struct rds_op op = {};
	uint32_t op_slots = 0;
	bool has_op = false;
	std::vector<int> op_told = {}; /* how it ended */
	unsigned int refs = 1;
};

struct rds_path {
	/* The frames that it saw, in order: 'h' + h_sport for a header, and the messages that it
	 * took. */
	std::vector<std::string> headers;
	std::vector<std::pair<std::string, std::string>> taken;
	std::vector<uint64_t> acks; /* of headers behind a message's first (fake_ib.cc) */
	int live = 0;		    /* messages that exist */
	bool begun_with_src = false;
	uint32_t begun_with = 0; /* payload bytes at hand */
	int append_error = 0;	 /* of every append, when not 0 */
	int copy_error = 0;	 /* the same of headers */
	int drops = 0;

	/* Refusals to come, counted down; headers with this source port are to be skipped, or are
	 * not RDS at all. */
	int begin_nomem = 0, append_nomem = 0, incoming_again = 0;
	int skip_port = -1, bad_port = -1;
	int refused = 0;
};

/* The one path under test. */
extern struct rds_path *fake_path;

/* A header as it lies on the wire. */
std::string fake_header(uint32_t len, uint16_t sport);

#endif
