// SPDX-License-Identifier: GPL-2.0
/*
 * conn_addrs.cc: addresses come to this host and leave it while connections to them are there.
 *
 * An address of this host is reached over loopback, and any other over the transport of the socket
 * that sends.  When an address moves from one host to another, the connections to it lead astray:
 * over loopback to a host that has it no longer, where nobody reads, or over a transport back to
 * this host, which calls itself in vain.  No sender finds such a connection: the next message makes
 * another one, the right way.  Messages that are queued on it stay there, and it ends as any does.
 * When the address comes back it is found again, so between two hosts there are never two of one
 * kind.
 *
 * A task that changes addresses may be in a softirq, and a transport may have to sleep to know its
 * own: so a work item asks, for each connection.  An address of IPv6 becomes the host's some time
 * after it was told of, when nobody else has claimed it, and nothing tells of that moment: so all
 * are looked at every kAddrsAgainNs until kAddrsSettleNs have passed, those as well that are made
 * meanwhile, with an older answer.  A namespace without connections has nothing to look at.
 */
#include "conn_table.h"

namespace rds
{
namespace
{

/* Is there another way to its far end than this one?  As it was, if that cannot be told. */
bool leads_astray(const Conn &c) RDS_SLEEPS
{
	Status here = Status::fail(err::kEaddrnotavail);

	if (is_loopback(c.faddr) || same_addr(c.laddr, c.faddr))
		return false;
	if (c.is_local())
		here = address_is_here(c.net.os, c.faddr, c.scope);
	else if (c.trans.caps & RDS_CAP_PREFER_LOOP)
		here = transport_serves(c.net.os, c.trans, c.faddr, c.scope);
	if (!here.ok() && !here.is(err::kEaddrnotavail))
		return c.astray.load();
	return here.ok() != c.is_local();
}

} // namespace

void ConnTable::addrs_changed()
{
	addrs_settle_.store(rds_now_ns() + kAddrsSettleNs);
	/* Then we look at the table; make() looks here when its connection is in that. */
	full_fence();
	if (table_.count())
		rds_work_queue(&addrs_work_, net_->os);
}

void ConnTable::addrs_timer_fn(struct rds_timer *t)
{
	ConnTable *table = container_of(t, &ConnTable::addrs_timer_);

	rds_work_queue(&table->addrs_work_, table->net_->os);
}

void ConnTable::addrs_fn(struct rds_work *w)
{
	Guard sleeps(kMaySleep);

	container_of(w, &ConnTable::addrs_work_)->look_at_addrs();
}

void ConnTable::look_at_addrs()
{
	bool moved = false;

	if (swept_.load() || !table_.count())
		return;
	if (rds_now_ns() < addrs_settle_.load())
		rds_timer_arm(&addrs_timer_, kAddrsAgainNs);
	for (uint64_t pos = 0; pos < kWalkEnd; let_others_run())
		pos = visit(pos, [&](Conn &c) RDS_SLEEPS {
			const bool astray = leads_astray(c);

			moved = c.astray.exchange(astray) != astray || moved;
		});
	/* Sockets that remember one look it up again. */
	if (moved)
		outdate();
}

} // namespace rds

extern "C" void rds_net_addrs_changed(struct rds_net *net)
{
	net->conns.addrs_changed();
}
