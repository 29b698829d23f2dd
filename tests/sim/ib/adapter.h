/* SPDX-License-Identifier: GPL-2.0 */
/*
 * adapter.h: a path's queue pair: rds_ib_hw_*(), and what the adapter's driver and rdma_cm do
 * beside the link (transports/ib/ib_link.h).
 *
 * Everything is guarded by the queue pair's lock (fabric::Locked).
 */
#ifndef RDS_TESTS_ADAPTER_H
#define RDS_TESTS_ADAPTER_H

#include <array>

#include "fabric.h"
#include "transports/ib/ib_link.h"
#include "transports/ib/ib_offer.h"

namespace verbs
{

enum class Phase { kIdle, kAsking, kAnswering, kOpen };

/* Queue pairs and requests on a host's device: it cannot go while there are any. */
unsigned int &device_users(network::HostId h);
/* The counters of all links together. */
extern std::array<uint64_t, RDS_IB_LINK_STAT_COUNT> counts;

struct Adapter final : fabric::User {
	explicit Adapter(struct rds_path *path);
	void established() override;
	void completed(enum rds_ctx ctx) override;

	/* With a queue pair that has buffers; false without memory for any. */
	bool begin(const fabric::Ref &p, unsigned int s, Phase ph);
	/* Our own offer in the version of @o. */
	fabric::Data say(struct rds_ib_offer o);
	void hear(const struct rds_ib_offer &o);
	/* The queue pair was destroyed. */
	void end();
	long xmit(const struct rds_xmit &x);
	void recv_retry();
	/* @slot is with the hardware from now on. */
	void use(uint32_t slot);
	fabric::Qp &qp() const
	{
		return pair->qp[side];
	}

	struct rds_path *const path;
	fabric::Ref pair; /* changed by the path's worker alone */
	unsigned int side = 0;
	Phase phase = Phase::kIdle;
	uint64_t called_ns = 0; /* when it asked last */
	bool heard = false;	/* a frame, on this queue pair */
	struct rds_ib_proof proof = {};
	struct rds_ib_link link;
	struct Tx {
		struct rds_msg *m =
			nullptr; /* with a reference, of an operation in its last slot */
		bool op = false, last = false, used = false;
	};
	std::vector<Tx> tx; /* by slot: what is with the hardware */
	struct Buffer {
		fabric::Arrival frame;
		struct rds_src src;
	};
	std::vector<Buffer> rx; /* by slot */

private:
	void up();
	void beat();
	void doubt();

	bool doubting = false;
	unsigned int unanswered = 0; /* looks in a row at which a heartbeat was */
};

/* Reads the private data of @p's side @from; false: nonsense, or no version that we speak. */
bool decode(const fabric::Pair &p, unsigned int from, struct rds_ib_offer *o);

} // namespace verbs
#endif
