/* SPDX-License-Identifier: GPL-2.0 */
/*
 * recv.h: from the transport to the socket.
 *
 * rds_recv_begin() looks at a header before anything is allocated for it, rds_recv_incoming() takes
 * the whole message.  Both are called by one caller at a time per path, in softirq or process
 * context.  Nothing from the wire is asserted on: what is wrong is counted by name and dropped, or
 * resets the path (docs/wire.md, "Bad input").
 */
#ifndef RDS_RECV_H
#define RDS_RECV_H

#include "path/path.h"

namespace rds
{

/* True when the message had arrived before.  A peer of mainline's that was restarted counts from 1
 * again and does not tell: there only what is sent again can be old. */
RDS_INLINE bool is_duplicate(const Path &p, const wire::Fields &f)
{
	return f.seq && f.seq < p.next_rx_seq() &&
	       (f.flags & wire::kRetransmitted || p.peer_has_gen());
}

/* Looks through the extension headers of an ordinary message. */
void note_extensions(Path &p, const wire::Header &h);
/* A message to port 0 or from port 0 to the probe port.  True: it was the kernel's, all done. */
bool consume_control(Path &p, const wire::Header &h, const wire::Fields &f);

} // namespace rds
#endif
