// SPDX-License-Identifier: GPL-2.0
/*
 * path_at_once.cc: a message whose receiver is on this host, and before which nothing is queued.
 *
 * It gets the next number and is in the receiver's queue before the path's lock is given up, so no
 * message overtakes it, and it was never on the path's queue, nor with the transport: there is
 * nothing to acknowledge, to drop, to cancel or to send again.  That is loopback's ordinary case.
 *
 * The queue has all that is not so simple (docs/decisions/050-at-once.md): a path that is not
 * up, messages before this one, a transmitter at work, ports that are full, a connection that ends.
 */
#include "path.h"

bool rds_path::deliver_at_once(rds::Message &m, rds::Socket &to, rds::Arrival &how)
{
	rds::Guard g(lock);

	if (!open_ || sending_ || !queue_.empty() || !full_ports_.empty() ||
	    RDS_UNLIKELY(conn.life.is_ending()))
		return false;

	rds::Guard receiver(rds::kReceiver); /* at the other end: the token is nobody's */
	rds_path &end = *other_end_;
	const uint64_t number = queue_.next_number();

	rds::wire::put64(m.hdr.sequence, number);
	m.saddr = conn.laddr;
	m.scope = conn.local_scope();
	if (!rds::arrive(to, m, how))
		return false;
	/* From here on @m is its reader's. */
	(void)queue_.skip_number();
	(void)end.received_.add(number, false); /* nobody on this host is told */
	if (RDS_UNLIKELY(!end.reached.load()))
		end.reached.store(true);
	return true;
}
