/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xmit_token.h: what a sender gets from a path beside a place for its message: perhaps the right to
 * transmit (path.h, "Token").
 */
#ifndef RDS_XMIT_TOKEN_H
#define RDS_XMIT_TOKEN_H

#include "send_queue.h"

struct rds_path;

namespace rds
{

/* The duty of enqueue()'s caller once it has left the RCU section. */
enum class Queued {
	kDone,	   /* nothing: someone else will transmit */
	kTransmit, /* the caller holds the token: pin the connection and call transmit(batch) */
	kMoved,	   /* not queued: another path carries it, one to be made perhaps */
};

/* The right to transmit, of a caller of enqueue(), and its first batch. */
struct XmitToken {
	XmitToken() /* or the compiler would clear the batch, too */
	{
	}
	struct rds_path *path = nullptr; /* nullptr: somebody else has it */
	Batch batch;
};

} // namespace rds
#endif
