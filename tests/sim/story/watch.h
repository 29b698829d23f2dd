/* SPDX-License-Identifier: GPL-2.0 */
/*
 * watch.h: everything that watches one story, and what the watchers have to be told.
 *
 * Sockets sit in slots: a slot is a port of a host, numbered over all hosts, and the same in every
 * run of a plan.  A socket bound there is an instance, numbered in the order of binding.
 */
#ifndef RDS_TESTS_WATCH_H
#define RDS_TESTS_WATCH_H

#include "area.h"
#include "check_counters.h"
#include "check_date.h"
#include "check_loss.h"
#include "check_memory.h"
#include "check_order.h"
#include "check_rdma.h"
#include "sim.h"

namespace story
{

constexpr uint16_t kFirstPort = 1000;

struct Watch {
	Watch(unsigned int n_hosts, unsigned int slots_per_host);

	/* A flow from the socket in slot @from to slot @to. */
	uint32_t new_flow(unsigned int from, unsigned int to);
	/* The one for messages without bytes: the same for all instances in @from. */
	uint32_t empty_flow(unsigned int from, unsigned int to) const
	{
		return from * n_slots + to;
	}
	unsigned int host_of(unsigned int slot) const
	{
		return slot / slots_per_host;
	}
	unsigned int slot_at(const struct rds_endpoint &at) const;
	uint16_t port_of(unsigned int slot) const
	{
		return static_cast<uint16_t>(kFirstPort + slot % slots_per_host);
	}
	/* @host comes up, or its modules: it knows nothing of what it had read. */
	void booted(unsigned int host);
	/* Messages under way to @slot, or from it, may be lost: its socket closes or is new. */
	void excuse_to(unsigned int slot);
	void excuse_from(unsigned int slot);
	void excuse_pair(unsigned int from_slot, unsigned int to_slot);

	/* The socket in @slot, @instance, got @data from @from. */
	void received(unsigned int slot, uint32_t instance, const struct rds_endpoint &from,
		      const host::Bytes &data);
	/* Messages that it sends, and those queued for it, are not judged. */
	void add_liar(unsigned int host);
	bool is_liar(const struct rds_addr &a) const;

	/* Told of every numbered message that comes. */
	std::function<void(uint32_t flow, uint32_t number)> on_received;

	void complain(const std::string &what);
	/* At rest: what operations have done to memory. */
	void rest_rdma();
	/* The first complaint of anybody, or empty. */
	std::string verdict() const;

	const unsigned int slots_per_host, n_slots;
	check::Order order;
	check::Order last; /* at peace: flows from flows.size() on */
	check::Loss loss;
	check::Memory memory;
	check::Counters counters;
	check::Date date;
	check::Rdma rdma;
	Areas areas;
	std::map<std::pair<uint32_t, uint32_t>, uint64_t> tokens; /* by flow and number */
	uint32_t next_instance = 1;
	uint64_t sent = 0, cancels = 0;
	bool at_rest = false; /* what was sent has come, and was read */
	bool reborn = false;  /* a host booted again, or its modules */

	struct Flow {
		unsigned int from, to; /* slots */
	};
	std::vector<Flow> flows; /* by number; empty_flow()s first */

private:
	std::vector<bool> liars_; /* by host */
	std::string complaint_;
};

} // namespace story
#endif
