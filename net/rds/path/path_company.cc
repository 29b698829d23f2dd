// SPDX-License-Identifier: GPL-2.0
/*
 * path_company.cc: small messages of a stream wait for company (coalesce.h), and who passes them.
 *
 * An answer, or the next question, waits behind nobody's stream: it is queued before those that
 * wait, which go on waiting.  Messages of one socket to another stay in order, for it passes none
 * of its own sender's.
 */
#include "path.h"

/* @m is queued before those that wait, which get other numbers by that.  False: it is not, for
 * somebody may know those: full ports (path_hold.cc), the gate of further paths (path_fan.cc), or
 * flows of sockets with ordering hints (order.h), which may have begun since they were queued. */
bool rds_path::overtake_locked(rds::Message &m)
{
	if (!full_ports_.empty() || (!index && conn.fan.is_gated()) || m.flow())
		return false;
	return queue_.overtake(&m, [](const rds::Message &waits) {
		return !waits.sock || !rds::sender_has_flows(*waits.sock);
	});
}

/* Queues @m.  True: it waits.  @may_wait: else its sender would transmit it now. */
bool rds_path::queue_locked(rds::Message &m, bool more, bool may_wait)
{
	/* The token's holder leaves those that wait. */
	const bool asks = conn.trans.caps & RDS_CAP_COALESCE && (may_wait || queue_.holds_any());
	rds::Hold hold = rds::Hold::kNone;

	if (asks && m.sock)
		hold = coalesce_.ask(more, queue_.unsent_bytes() + rds::wire::kHeaderBytes + m.len,
				     next_rx_seq());

	/* Its sender has read since it was asked last; or it is a pong. */
	const bool passes =
		hold == rds::Hold::kNone ? !m.sock : !more && rds::sender_converses(*m.sock);

	if (asks && passes && overtake_locked(m))
		return false;
	queue_.append(&m);
	if (hold == rds::Hold::kNone || passes) {
		if (asks)
			end_hold_locked();
		return false;
	}
	queue_.hold(&m);
	if (hold == rds::Hold::kBegin)
		hold_timer_.arm(coalesce_.window());
	conn.net.count(RDS_S_send_held);
	return true;
}

/* All that wait may go. */
void rds_path::end_hold_locked()
{
	coalesce_.end();
	queue_.release();
}

void rds_path::hold_over()
{
	kick();
}
