// SPDX-License-Identifier: GPL-2.0
/*
 * ib_sysctl_linux.c: net.rds.ib.*, in the first namespace: adapters belong to none.
 *
 * A value that is written holds for connections to come; those of peers that do not answer, or
 * take nothing, for all that there are: they are ours alone.  The other ranges are mainline's;
 * rings and frames take the next lower power of two, rings no more than the adapter has and no less
 * than 4, or for what is sent than the largest operation takes (rds_ib_ring()).
 */
#include <linux/mm.h>

#include "ib_linux.h"

unsigned int rds_ib_max_send_wr = 256;
unsigned int rds_ib_max_recv_wr = 1024;
unsigned int rds_ib_max_unsignaled_wr = 16;
unsigned int rds_ib_max_recv_allocation;
unsigned int rds_ib_flow_control;
unsigned int rds_ib_frame_bytes = RDS_IB_FRAME << RDS_IB_MOST_ORDER;
unsigned int rds_ib_heartbeat_interval_secs = 10;
unsigned int rds_ib_heartbeat_timeout_secs = 10;
unsigned int rds_ib_slow_peer_secs;

static struct ctl_table_header *rds_ib_sysctl;

static unsigned int rds_ib_one = 1, rds_ib_most_unsignaled = 64;
static unsigned int rds_ib_minute = 60, rds_ib_ten_minutes = 600, rds_ib_day = 86400;
static unsigned int rds_ib_least_frame = RDS_IB_FRAME;
static unsigned int rds_ib_most_frame = RDS_IB_FRAME << RDS_IB_MOST_ORDER;

#define RDS_IB_NUMBER(name, least, most)                                                           \
	{                                                                                          \
		.procname = #name, .data = &rds_ib_##name, .maxlen = sizeof(int), .mode = 0644,    \
		.proc_handler = proc_douintvec_minmax, .extra1 = least, .extra2 = most             \
	}

static struct ctl_table rds_ib_table[] = {
	RDS_IB_NUMBER(max_send_wr, &rds_ib_one, NULL),
	RDS_IB_NUMBER(max_recv_wr, &rds_ib_one, NULL),
	RDS_IB_NUMBER(max_unsignaled_wr, &rds_ib_one, &rds_ib_most_unsignaled),
	RDS_IB_NUMBER(max_recv_allocation, NULL, NULL),
	RDS_IB_NUMBER(flow_control, NULL, &rds_ib_one),
	RDS_IB_NUMBER(frame_bytes, &rds_ib_least_frame, &rds_ib_most_frame),
	RDS_IB_NUMBER(heartbeat_interval_secs, &rds_ib_one, &rds_ib_ten_minutes),
	RDS_IB_NUMBER(heartbeat_timeout_secs, NULL, &rds_ib_minute),
	RDS_IB_NUMBER(slow_peer_secs, NULL, &rds_ib_day),
	{}};

int rds_ib_sysctl_start(void)
{
	/* A third of all memory, as in mainline. */
	rds_ib_max_recv_allocation =
		min_t(u64, (u64)totalram_pages() * PAGE_SIZE / RDS_IB_FRAME / 3, UINT_MAX);
	rds_ib_sysctl = rds_register_sysctl(&init_net, "net/rds/ib", rds_ib_table,
					    ARRAY_SIZE(rds_ib_table) - 1);
	return rds_ib_sysctl ? 0 : -ENOMEM;
}

void rds_ib_sysctl_stop(void)
{
	unregister_net_sysctl_table(rds_ib_sysctl);
}
