/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_conns.h: two addresses have a connection of their own for each TOS that is used between
 * them, as rds-info shows it.  One that the sweep has found idle is collected although it was used
 * at the last moment: the next message has another.
 */
#ifndef RDS_TESTS_CHECK_CONNS_H
#define RDS_TESTS_CHECK_CONNS_H

#include <cstdint>

#include "host.h"

namespace check
{

/* The connections of @laddr with @faddr and @tos. */
unsigned int connections(host::Net &net, const struct rds_addr &laddr, const struct rds_addr &faddr,
			 uint8_t tos);

} // namespace check
#endif
