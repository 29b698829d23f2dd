/* SPDX-License-Identifier: GPL-2.0 */
/*
 * link.h: a path's queue pair: messages to frames and back, acknowledgements, credits.
 *
 * Everything is guarded by the queue pair's lock (fabric::Locked).
 */
#ifndef RDS_TESTS_LINK_H
#define RDS_TESTS_LINK_H

#include "fabric.h"
#include "net/rds/wire.h"

namespace verbs
{

enum class Phase { kIdle, kAsking, kOpen, kEnded };

/* Queue pairs and requests on a host's device: it cannot go while there are any. */
unsigned int &device_users(network::HostId h);

struct Link final : fabric::User {
	explicit Link(struct rds_path *path) : path(path)
	{
	}
	void established() override;
	void completed(enum rds_ctx ctx) override;

	void begin(const fabric::Ref &p, unsigned int s, Phase ph);
	/* The queue pair was destroyed. */
	void end();
	long xmit(const struct rds_xmit &x);
	fabric::Qp &qp() const
	{
		return pair->qp[side];
	}

	struct rds_path *const path;
	fabric::Ref pair; /* changed by the path's worker alone */
	unsigned int side = 0;
	Phase phase = Phase::kIdle;
	bool paused = false; /* the core refused something */

private:
	/* A whole message with the hardware or beyond. */
	struct Unacked {
		uint64_t seq;	/* 0: the hardware's answer is enough */
		uint64_t frame; /* number of its last one */
		uint64_t end;	/* bytes accepted up to it */
	};
	/* What becomes of the message that is arriving. */
	enum class Stage { kHeader, kPayload, kDeliver };

	bool room() const;
	void post(const rds::wire::Header &h, struct rds_msg *m, uint32_t off, uint32_t len);
	void post_part(struct rds_msg *m, uint32_t off, uint32_t len, bool last);
	void send_ack();
	void ask_later();
	void ask();
	void take_answers();
	void acknowledge();
	int take(const fabric::Arrival &a, enum rds_ctx ctx);
	int step(const fabric::Arrival &a, enum rds_ctx ctx);
	int begin_message(const fabric::Arrival &a, enum rds_ctx ctx);
	int take_payload(const fabric::Arrival &a, enum rds_ctx ctx);
	int deliver();
	int refuse();

	/* Sending. */
	std::deque<Unacked> unacked_;
	std::deque<bool> ring_;		 /* frames with the hardware: true is an ack-only one */
	uint64_t accepted_ = 0;		 /* bytes */
	uint64_t posted_ = 0, done_ = 0; /* frames */
	uint64_t peer_took_ = 0;	 /* h_ack */
	unsigned int credits_ = 0;
	bool ack_out_ = false; /* at most one ack-only frame at a time */
	bool blocked_ = false;
	bool asking_ = false;

	/* Receiving. */
	Stage stage_ = Stage::kHeader;
	rds::wire::Header head_ = {}; /* of the message under way */
	bool under_way_ = false, seen_ = false;
	struct rds_msg *m_ = nullptr;
	uint32_t left_ = 0;
	uint64_t took_ = 0;	     /* number of the last message */
	unsigned int since_ack_ = 0; /* messages */
	unsigned int to_return_ = 0; /* buffers */
	bool ack_due_ = false;
};

} // namespace verbs
#endif
