// SPDX-License-Identifier: GPL-2.0
/*
 * profiles.c: families of adapters, as their drivers in Linux 6.12 describe them
 * (drivers/infiniband/hw).  Where a limit is the firmware's, it is one that is usual.  Limits above
 * those of the adapter in software stay what they are there: strict_lower() only lowers.
 */
#include <linux/errno.h>
#include <linux/sizes.h>

#include "strict.h"

static const struct strict_profile profiles[] = {
	{.name = ""},
	{
		/* mlx5/main.c mlx5_ib_query_device(): max_send_sge of 512 byte requests, and
		 * MLX5_MAX_SGE_RD, are 30; atomic_cap by the firmware, HCA where 8 bytes are in the
		 * host's order; none masked.  wr.c handle_qpt_rc(): a kernel's atomics are
		 * -EOPNOTSUPP. */
		.name = "mlx5",
		.send_sge = 30,
		.read_sge = 30,
		.atomics_refused = EOPNOTSUPP,
	},
	{
		/* The same with a firmware that does not let atomic rights be changed: umr.h
		 * mlx5r_umr_can_reconfig(), wr.c set_reg_wr(): -EINVAL. */
		.name = "mlx5-umr",
		.send_sge = 30,
		.read_sge = 30,
		.atomics_refused = EOPNOTSUPP,
		.atomic_rights_refused = EINVAL,
	},
	{
		/* mlx4/main.c: MLX4_MAX_SGE_RD 30 and 32 entries of the firmware's;
		 * MLX4_MAX_FAST_REG_PAGES 511.  Atomics work, masked ones too. */
		.name = "mlx4",
		.send_sge = 32,
		.read_sge = 30,
		.mr_pages = 511,
		.masked_too = true,
	},
	{
		/* irdma/verbs.c irdma_query_device(): max_hw_wq_frags and max_hw_read_sges are 13
		 * (icrdma_hw.c), atomic_cap is never set in the second generation. */
		.name = "irdma-roce",
		.send_sge = 13,
		.recv_sge = 13,
		.read_sge = 13,
		.no_atomics = true,
	},
	{
		/* The same adapter; over soft-RoCE only its limits, over soft-iWARP its ways.  Of
		 * the first generation (i40iw_hw.c) a request has 3 entries, and 1 that reads. */
		.name = "irdma-iwarp",
		.send_sge = 3,
		.recv_sge = 3,
		.read_sge = 1,
		.mr_pages = 512,
		.no_atomics = true,
	},
	{
		/* bnxt_re/ib_verbs.c bnxt_re_query_device(): MAX_PBL_LVL_1_PGS 512; it says
		 * IB_ATOMIC_GLOB of masked ones too, and bnxt_re_post_send() has no such opcode.  6
		 * entries are BNXT_STATIC_MAX_SGE (qplib_fp.h). */
		.name = "bnxt_re",
		.send_sge = 6,
		.recv_sge = 6,
		.read_sge = 6,
		.mr_pages = 512,
		.masked_too = true,
		.masked_refused = EINVAL,
	},
	{
		/* qed's qed_rdma_init_devinfo(): RDMA_MAX_SGE_PER_SQ_WQE 4, of all kinds; requests
		 * of a queue by the page table of its ring, 0x7fff at most. */
		.name = "qedr",
		.send_sge = 4,
		.recv_sge = 4,
		.read_sge = 4,
	},
	{
		/* cxgb4/t4.h: T4_MAX_SEND_SGE and T4_MAX_WRITE_SGE 17, T4_MAX_RECV_SGE 4, one where
		 * it reads; T4_MAX_FR_DSGL_DEPTH 128.  No atomics. */
		.name = "cxgb4",
		.send_sge = 17,
		.recv_sge = 4,
		.read_sge = 1,
		.mr_pages = 128,
		.no_atomics = true,
	},
	{
		/* efa/efa_verbs.c: two entries, no fast registration, no RC.  Too little for us. */
		.name = "efa",
		.send_sge = 2,
		.recv_sge = 2,
		.read_sge = 1,
		.no_regions = true,
		.no_atomics = true,
	},
	{
		/* No family: as little as one that we use may have. */
		.name = "poor",
		.send_sge = 3,
		.recv_sge = 2,
		.read_sge = 1,
		.qp_wr = 64,
		.cqe = 160,
		.mr_pages = 64,
		.mrs = 64,
		.no_atomics = true,
	},
};

const struct strict_profile *strict_find_profile(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(profiles); i++)
		if (!strcmp(name, profiles[i].name))
			return &profiles[i];
	return NULL;
}

static void lower(int *limit, int to)
{
	if (to)
		*limit = min(*limit, to);
}

void strict_lower(struct ib_device *dev, const struct strict_profile *p)
{
	struct ib_device_attr *a = &dev->attrs;

	lower(&a->max_send_sge, p->send_sge);
	lower(&a->max_recv_sge, p->recv_sge);
	lower(&a->max_sge_rd, p->read_sge);
	lower(&a->max_qp_wr, p->qp_wr);
	lower(&a->max_cqe, p->cqe);
	lower(&a->max_mr, p->mrs);
	if (p->mr_pages)
		a->max_fast_reg_page_list_len = min(a->max_fast_reg_page_list_len, p->mr_pages);
	if (p->no_regions)
		a->device_cap_flags &= ~(u64)IB_DEVICE_MEM_MGT_EXTENSIONS;
	if (p->no_atomics)
		a->atomic_cap = a->masked_atomic_cap = IB_ATOMIC_NONE;
	if (p->masked_too)
		a->masked_atomic_cap = IB_ATOMIC_HCA;
}
