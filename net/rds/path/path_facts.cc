// SPDX-License-Identifier: GPL-2.0
/*
 * path_facts.cc: facts of a path for an administrator (rds_core.h), out of what it has anyway; but
 * each message brings the time at which it was queued.
 */
#include "path.h"

#include "../cong.h"

namespace
{

/* Frames without a number overtake messages, and few of them are there at once. */
const rds::Message *oldest(const rds::SendQueue &q)
{
	const rds::Message *m = q.front();

	for (unsigned int n = 0; m && !rds::wire::get64(m->hdr.sequence); n++)
		m = n < rds::kLookStep ? q.next(m) : nullptr;
	return m;
}

void list_full_ports(const rds::CongMap &map, struct rds_path_facts &f)
{
	f.congested_ms = map.any_ms();
	if (!map.any())
		return;
	map.for_each_set([&](uint16_t port) {
		if (f.congested < RDS_FACT_PORTS)
			f.ports[f.congested] = port;
		f.congested++;
	});
}

/* @h takes its place among those that are listed, of which there are @n: the lowest of all. */
void list_refused_port(const rds::HeldPort &h, unsigned int n, struct rds_path_facts &f)
{
	unsigned int at = n < RDS_FACT_PORTS ? n : RDS_FACT_PORTS;

	for (; at && f.refused_ports[at - 1].port > h.port; at--)
		if (at < RDS_FACT_PORTS)
			f.refused_ports[at] = f.refused_ports[at - 1];
	if (at < RDS_FACT_PORTS)
		f.refused_ports[at] = {.ms = h.refused_since.age_ms(), .port = h.port};
}

/* A path has few at a time (kMaxHeldPorts, kMaxRefusedPorts), so all are met in one hold of its
 * lock, as where it looks for those that have cleared. */
void list_refused_ports(const rds::HeldPorts &ports, struct rds_path_facts &f)
{
	if (!ports.refused())
		return;
	ports.for_each([&](const rds::HeldPort &h) {
		if (h.epoch)
			list_refused_port(h, f.refused++, f);
	});
}

/* As far as 32 bits tell. */
uint32_t narrowed(uint64_t n)
{
	constexpr uint32_t kMost = ~uint32_t{0};

	return n < kMost ? static_cast<uint32_t>(n) : kMost;
}

/* The age of @m, if it is older than what is known. */
void note_age(const rds::Message *m, struct rds_path_facts &f)
{
	if (!m)
		return;

	const uint32_t age = rds_coarse_ms() - m->order.queued_ms;

	if (age > f.waits_ms)
		f.waits_ms = age;
	f.waits = true;
}

/* The RDS at the other end: one of ours, or another, such as mainline's. */
unsigned char peer_of(bool local, const rds::Received &received)
{
	if (local)
		return RDS_FACT_PEER_OURS;
	if (received.peer() == rds::Peer::kUnknown)
		return RDS_FACT_PEER_UNKNOWN;
	return received.is_ours() ? RDS_FACT_PEER_OURS : RDS_FACT_PEER_OTHER;
}

} // namespace

void rds_path::look(struct rds_path_facts &f)
{
	const uint64_t since = since_ns.load();

	f.state = static_cast<unsigned char>(state());
	f.state_ns = since ? rds_now_ns() - since : 0;
	f.scope = conn.scope;
	list_full_ports(*conn.fcong, f);
	f.refuses = refused_any();
	f.peer = peer_of(conn.is_local(), received_);
	if (conn.trans.facts && state() == rds::PathState::kUp)
		conn.trans.facts(priv, &f.link);

	rds::Guard g(lock);

	const rds::Message *first = oldest(queue_);

	f.ack_us = delivered_.answer_us();
	if (first)
		f.unacked = queue_.next_number() - rds::wire::get64(first->hdr.sequence);
	/* On loopback a receiver may write to it just now. */
	if (!conn.is_local()) {
		note_age(first, f);
		full_ports_.for_each([&](const rds::HeldPort &h) { note_age(h.front(), f); });
	}
	f.unsent_bytes = narrowed(queue_.unsent_bytes());
	f.holds = !full_ports_.empty();
	list_refused_ports(full_ports_, f);
}
