// SPDX-License-Identifier: GPL-2.0
/*
 * ib_proof_linux.c: a path's rds_ib_proof (ib_offer.h), under the path's lock.
 *
 * Without it a peer that has left a connection, and cannot say so, waits until the host that it
 * calls has asked in vain over that connection: a second (docs/decisions/023-takeover.md).
 */
#include <linux/random.h>

#include "ib_linux.h"

void rds_ib_have_secret(struct rds_ib_path *tp, u32 secret)
{
	spin_lock_bh(&tp->lock);
	rds_ib_proof_begin(&tp->proof, secret);
	spin_unlock_bh(&tp->lock);
}

u32 rds_ib_new_secret(struct rds_ib_path *tp)
{
	u32 secret = get_random_u32() >> 8;

	rds_ib_have_secret(tp, secret);
	return secret;
}

bool rds_ib_proves(struct rds_ib_path *tp, const struct rds_ib_call *call)
{
	bool proves;

	spin_lock_bh(&tp->lock);
	proves = rds_ib_proof_show(&tp->proof, call->offer.secret);
	spin_unlock_bh(&tp->lock);
	return proves;
}

bool rds_ib_admits(struct rds_ib_path *tp, const struct rds_ib_call *call)
{
	bool admits;

	spin_lock_bh(&tp->lock);
	admits = rds_ib_proof_admits(&tp->proof, call->proven);
	spin_unlock_bh(&tp->lock);
	return admits;
}

int rds_ib_ended(const void *priv)
{
	const struct rds_ib_path *tp = priv;

	return READ_ONCE(tp->proof.shown);
}
