/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fake_ib.h: an adapter for ib_link.cc that keeps what is posted, and, beside fake_tcp_core.h, the
 * few more functions of the core that a link calls.
 */
#ifndef FAKE_IB_H
#define FAKE_IB_H

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "../../transports/ib/ib_link.h"
#include "fake_tcp_core.h"

namespace fake_ib
{

struct Sent {
	uint32_t slot;
	std::string header, payload;
	unsigned int flags;
	struct rds_msg *op = nullptr; /* a piece of its operation, and no frame; ... */
	bool op_last = false;	      /* ... the last one */
	bool signaled() const
	{
		return flags & RDS_IB_SIGNALED;
	}
	/* From port 0 to port 0, no flags, and nothing in it. */
	bool empty() const;
	uint64_t ack() const;
	unsigned int credit() const
	{
		return static_cast<unsigned char>(header[25]);
	}
};

/* One end: a link, its adapter, and what the core was told. */
struct End {
	explicit End(struct rds_path *path);
	~End();

	/* Sizes, buffers, connection. */
	void up(uint32_t send_wr, uint32_t recv_wr, uint32_t peer_credits = 0);
	/* As ops->xmit; frames go to @sent. */
	long xmit(const std::vector<struct rds_msg *> &msgs, uint32_t off = 0, bool more = false);
	/* Posted up to now, as text: a frame is '.', one with a completion 's', fenced '|' before
	 * it; pieces of an operation are 'o', the last one 'O'. */
	std::string story() const;
	/* Completes all up to the last signaled one of what is out; how many were given back. */
	size_t complete();
	/* Where what is posted next has to go. */
	uint32_t next_slot() const
	{
		return (begin + static_cast<uint32_t>(sent.size())) % params.send_wr;
	}
	/* Empty, or which of the link's counts is not what was posted, is out, and came. */
	std::string miscounted() const;
	/* A frame comes into the next buffer, and is looked at. */
	void arrive(const std::string &header, const std::string &payload = "");
	/* The same without a look. */
	void fill(const std::string &header, const std::string &payload = "");

	struct rds_ib_link link;
	struct rds_ib_link_params params = {};
	/* Where ring positions begin: as if that many had gone before. */
	uint32_t begin = 0;

	std::vector<Sent> sent;	      /* all that was posted */
	std::deque<Sent> out;	      /* with the adapter */
	std::deque<uint32_t> buffers; /* slots offered and not filled */
	struct Buffer {
		bool offered = false;
		std::string header;
		struct rds_src src;
	};
	std::vector<Buffer> rx;
	uint32_t claimed = 0;	 /* buffers that the peer was told of by our offer */
	uint64_t given_back = 0; /* send slots */
	std::array<unsigned int, RDS_IB_LINK_STAT_COUNT> counts = {};
	int send_error = 0, op_error = 0, offer_error = 0; /* what posting says; -ENOMEM of a frame:
							    * of one with payload */
	unsigned int sends_before = 0;			   /* frames that pass before send_error */
	size_t most_buffers = SIZE_MAX;			   /* there is memory for */
	uint32_t first_buffers = UINT32_MAX;		   /* before anything has come */
	uint32_t may_grow = UINT32_MAX;			   /* by so many at a time then */
	std::vector<enum rds_drop_reason> drops;
	unsigned int writable = 0, later = 0, drained = 0;
	unsigned int asked_of = 0; /* times that a worker was to answer the peer */
};

/* A message with header and pattern, with a number; the test's own. */
struct rds_msg *message(uint32_t len, uint16_t sport, uint64_t ack = 0);
/* The same with an operation. */
struct rds_msg *with_op(struct rds_msg *m, uint32_t slots);
std::string pattern(uint32_t len, uint16_t seed);
/* @m as frames on the wire. */
std::vector<std::pair<std::string, std::string>> frames(const struct rds_msg &m);

} // namespace fake_ib
#endif
