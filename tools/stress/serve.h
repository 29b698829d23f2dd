/* SPDX-License-Identifier: GPL-2.0 */
/* The side that listens: for one test, or with --serve for one after another. */
#ifndef RDSTOOLS_STRESS_SERVE_H
#define RDSTOOLS_STRESS_SERVE_H

#include "session.h"

namespace rdstools
{

/* How long a call of another host may take to be answered by its kernel. */
inline constexpr std::uint64_t connect_patience = 10000000000;

/* The passive side of the first test that begins; its exit status. */
int run_passive(const LocalOptions &options);

/*
 * Tests and requests (measure.h), one at a time, until a signal comes. None of them ends this:
 * neither a test that fails nor a caller that makes no sense.
 */
int serve(const LocalOptions &options);

} // namespace rdstools

#endif
