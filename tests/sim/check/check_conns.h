/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_conns.h: two addresses have a connection of their own for each TOS that is used between
 * them, as rds-info shows it.
 */
#ifndef RDS_TESTS_CHECK_CONNS_H
#define RDS_TESTS_CHECK_CONNS_H

#include <string>

#include "host.h"

namespace check
{

/* Something was just sent from @laddr to @faddr with @tos: what is wrong, or empty. */
std::string connection_of(host::Net &net, const struct rds_addr &laddr,
			  const struct rds_addr &faddr, uint8_t tos);

} // namespace check
#endif
