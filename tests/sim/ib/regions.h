/* SPDX-License-Identifier: GPL-2.0 */
/*
 * regions.h: memory regions as the simulated adapter's driver keeps them: made at once, taken away
 * at once or when it is worth while, and gone for peers with their device.
 */
#ifndef RDS_TESTS_REGIONS_H
#define RDS_TESTS_REGIONS_H

#include "net/rds/transport.h"

namespace verbs
{

/* ops->mr_*() and ops->atomics(). */
int mr_get(struct rds_os_net *os, const struct rds_addr *laddr, uint32_t scope,
	   struct rds_pages *pages, int write, uint32_t *key, uint32_t *at, void **mr);
void mr_free(void *mr, int now);
void mr_sync(void *mr, int for_device);
void mr_flush(struct rds_os_net *os, const struct rds_addr *laddr, uint32_t scope);
unsigned int atomics(struct rds_os_net *os, const struct rds_addr *laddr, uint32_t scope);

/* Forgets all. */
void regions_reset();

} // namespace verbs
#endif
