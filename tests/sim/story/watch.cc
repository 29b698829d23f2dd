// SPDX-License-Identifier: GPL-2.0
#include "watch.h"

#include "check_states.h"
#include "network.h"
#include "traffic.h"

namespace story
{

Watch::Watch(unsigned int n_hosts, unsigned int slots_per_host)
	: slots_per_host(slots_per_host), n_slots(n_hosts * slots_per_host)
{
	for (unsigned int from = 0; from < n_slots; from++)
		for (unsigned int to = 0; to < n_slots; to++)
			flows.push_back(Flow{from, to});
}

uint32_t Watch::new_flow(unsigned int from, unsigned int to)
{
	uint32_t id = static_cast<uint32_t>(flows.size());

	flows.push_back(Flow{from, to});
	loss.flow(id, host_of(from), host_of(to));
	return id;
}

unsigned int Watch::slot_at(const struct rds_endpoint &at) const
{
	return network::host_of(at.addr) * slots_per_host + at.port - kFirstPort;
}

void Watch::booted(unsigned int host)
{
	/* The first time is before there are flows of sockets. */
	reborn = reborn || next_instance > 1;
	loss.booted(host);
	for (uint32_t i = 0; i < flows.size(); i++)
		if (host_of(flows[i].to) == host)
			order.forget(i);
}

void Watch::excuse_to(unsigned int slot)
{
	for (uint32_t i = n_slots * n_slots; i < flows.size(); i++)
		if (flows[i].to == slot)
			loss.excuse(i);
	rdma.excuse_to(slot);
}

void Watch::excuse_from(unsigned int slot)
{
	for (uint32_t i = n_slots * n_slots; i < flows.size(); i++)
		if (flows[i].from == slot)
			loss.excuse(i);
	rdma.excuse_from(slot);
}

void Watch::excuse_pair(unsigned int from_slot, unsigned int to_slot)
{
	for (uint32_t i = n_slots * n_slots; i < flows.size(); i++)
		if (flows[i].from == from_slot && flows[i].to == to_slot)
			loss.excuse(i);
	rdma.excuse_pair(from_slot, to_slot);
}

void Watch::add_liar(unsigned int host)
{
	liars_.resize(n_slots / slots_per_host);
	liars_[host] = true;
}

bool Watch::is_liar(const struct rds_addr &a) const
{
	return !liars_.empty() && liars_[network::host_of(a)];
}

void Watch::received(unsigned int slot, uint32_t instance, const struct rds_endpoint &from,
		     const host::Bytes &data)
{
	unsigned int host = network::host_of(from.addr);
	auto name = traffic::read(data);

	if (is_liar(from.addr))
		return;
	if (data.empty()) {
		order.received_empty(empty_flow(slot_at(from), slot), instance);
		loss.received_empty(empty_flow(slot_at(from), slot));
		return;
	}
	if (!name) {
		complain("content: socket " + std::to_string(instance) + " in slot " +
			 std::to_string(slot) + " got a corrupt message of " +
			 std::to_string(data.size()) + " bytes");
		return;
	}
	if (name->flow >= flows.size()) {
		last.received(name->flow, name->number);
		return;
	}

	const Flow &f = flows[name->flow];

	if (f.to != slot || port_of(f.from) != from.port || host_of(f.from) != host)
		complain("content: socket " + std::to_string(instance) + " in slot " +
			 std::to_string(slot) + " got a message for another, or of another");
	order.received(name->flow, name->number, instance);
	if (on_received)
		on_received(name->flow, name->number);
	loss.received(name->flow, name->number);
	if (auto it = tokens.find({name->flow, name->number}); it != tokens.end()) {
		sim::say("message %u of flow %u came, behind operation %llx", name->number,
			 name->flow, static_cast<unsigned long long>(it->second));
		rdma.delivered(it->second);
	}
}

void Watch::rest_rdma()
{
	rdma.rest();
	for (auto &[cookie, a] : areas)
		complain(a->complaint());
}

void Watch::complain(const std::string &what)
{
	if (complaint_.empty())
		complaint_ = what;
}

std::string Watch::verdict() const
{
	for (const std::string *s : {&complaint_, &order.complaint(), &last.complaint(),
				     &loss.complaint(), &memory.complaint(), &counters.complaint(),
				     &rdma.complaint(), &check::states_complaint()})
		if (!s->empty())
			return *s;
	return "";
}

} // namespace story
