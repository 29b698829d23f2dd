/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A task: one process, one RDS socket, a flow to every task of the other side. It never blocks
 * in a send: a full queue waits for POLLOUT; a congested destination waits for the wakeup that
 * rds(7) promises, as POLLIN or as a congestion update, while the other flows go on.
 */
#ifndef RDSTOOLS_STRESS_WORKER_H
#define RDSTOOLS_STRESS_WORKER_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flow.h"
#include "message.h"
#include "plan.h"
#include "rdma.h"
#include "shared.h"

namespace rdstools
{

class Worker
{
public:
	Worker(const Plan &plan, const Ends &ends, unsigned index, RdsSocket &socket,
	       SharedMemory &shared, bool asks, bool trace);
	/* Until Phase::stop. Throws Error at the first thing that is wrong. */
	void run();

private:
	enum class Sent { yes, queue_full, congested };
	/* How much one round receives or sends before it looks at the other direction again. */
	static constexpr unsigned batch = 64;

	void receive_some();
	void take(const Received &got);
	void take_request(Flow &flow, unsigned peer, const Message &message);
	void take_ack(Flow &flow, unsigned peer, const Message &message);
	void take_update(std::uint64_t mask);
	void take_notices(const Received &got);
	void free_region(unsigned peer, std::uint64_t sequence);
	bool send_acks();
	bool send_requests();
	Message make(Op op, unsigned peer, std::uint64_t sequence, std::size_t size) const;
	void write(const Message &message, std::span<std::byte> whole) const;
	Sent transmit(Op op, unsigned peer, std::uint64_t sequence, std::size_t size);
	unsigned send_request(unsigned peer, unsigned left);
	unsigned send_run(unsigned peer, unsigned most);
	Sent settle(int err, unsigned peer);
	void count_sent(Op op, unsigned peer, std::uint64_t first, std::size_t count,
			std::size_t size);
	int hand_over(const Message &message, unsigned peer, std::span<const std::byte> whole);
	void check_registration(int err, std::uint64_t now);
	void wait(bool idle);
	void clear_congestion(bool by_timer);
	void publish(Phase phase);
	[[noreturn]] void wrong(unsigned peer, const std::string &what) const;
	Address peer_address(unsigned peer) const;

	const Plan plan_;
	const Ends ends_;
	const unsigned index_;
	RdsSocket &socket_;
	SharedMemory &shared_;
	TaskState &state_;
	const bool asks_; /* sends requests, not acks alone */
	const bool trace_;

	Address local_;
	std::vector<Address> peers_;
	std::vector<Flow> flows_;
	Pattern pattern_;
	std::vector<std::byte> out_;
	std::vector<std::byte> in_;
	unsigned first_ = 0; /* where the next round over the flows starts */
	std::optional<RdmaTask> rdma_;
	bool queue_full_ = false;
	std::uint64_t refused_since_ = 0; /* RDMA: nothing was taken since then; 0: the last was */
	int refused_ = 0;		  /* the errno of that */
	unsigned congested_ = 0;	  /* number of flows with Flow::congested */
	std::uint64_t congested_since_ = 0;
	bool by_timer_ = false; /* the flows were un-congested by our timer */
};

} // namespace rdstools

#endif
