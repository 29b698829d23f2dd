/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bug.h: what the core promises itself, and whether it holds.
 *
 * A promise is about our own code alone: what a peer sends or a program asks is an error to be
 * answered and counted, never a bug.  One that does not hold is told once (rds_bug()): a warning in
 * the kernel's log, which fails every test there is.  The caller goes on as harmlessly as it can; a
 * path drops its connection (rds_path::bug()).
 *
 * Here belongs a compare or two, on in every build.  On the way of every message it is on where the
 * platform has time for it (RDS_CHECKS_ALL: debug kernels, the simulator).  Walks are for the
 * simulator's checkers.
 */
#ifndef RDS_BUG_H
#define RDS_BUG_H

#include "../platform/platform.h"
#include "annotate.h"

namespace rds
{

/* Returns @broken, as the kernel's WARN_ON() does.  @what: a literal, which tells them apart. */
RDS_INLINE bool bug_on(bool broken, const char *what)
{
	if (RDS_UNLIKELY(broken))
		rds_bug(what);
	return broken;
}
/* @broken is made up in every build: an atomic that only this looks at stands behind
 * `RDS_CHECKS_ALL &&`. */
RDS_INLINE bool bug_on_hot(bool broken, const char *what)
{
	return RDS_CHECKS_ALL && bug_on(broken, what);
}

} // namespace rds
#endif
