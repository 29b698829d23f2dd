/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dma_watch.h: on debug kernels every C file of rds_rdma.ko begins with this
 * (transports/ib/Kbuild).
 *
 * An adapter in software reads and writes memory where it lies, so it makes no difference there
 * whether that was mapped for it, for which direction, and whose turn it is.  Here the functions of
 * the DMA interface keep account of it, as an IOMMU would: work requests name nothing but memory
 * that is mapped, headers go to and fro between processor and adapter, nothing is unmapped that is
 * not mapped, and nothing is left when the adapter goes.  A mapping without memory for the account
 * fails, so that failures of mappings are tried where those of allocations are; and with the
 * parameter dma_fail_every each n'th.
 *
 * With the parameter dma_bounce the adapter has a copy of what is mapped, in pages that are given
 * back with the mapping: bytes that are not given to and fro, or too late, are wrong then, and
 * KASAN tells of an adapter that uses what is not mapped any more.
 */
#ifndef RDS_DMA_WATCH_H
#define RDS_DMA_WATCH_H

#define ib_dma_mapping_error plain_ib_dma_mapping_error
#define ib_dma_map_single plain_ib_dma_map_single
#define ib_dma_unmap_single plain_ib_dma_unmap_single
#define ib_dma_map_page plain_ib_dma_map_page
#define ib_dma_unmap_page plain_ib_dma_unmap_page
#define ib_dma_map_sgtable_attrs plain_ib_dma_map_sgtable_attrs
#define ib_dma_unmap_sgtable_attrs plain_ib_dma_unmap_sgtable_attrs
#define ib_dma_sync_single_for_cpu plain_ib_dma_sync_single_for_cpu
#define ib_dma_sync_single_for_device plain_ib_dma_sync_single_for_device
#define ib_uses_virt_dma plain_ib_uses_virt_dma
#define ib_post_send plain_ib_post_send
#define ib_post_recv plain_ib_post_recv
#define ib_dealloc_pd plain_ib_dealloc_pd
#include <linux/dma-mapping.h>
#include <linux/swiotlb.h>
#include <rdma/ib_verbs.h>
#undef ib_dma_mapping_error
#undef ib_dma_map_single
#undef ib_dma_unmap_single
#undef ib_dma_map_page
#undef ib_dma_unmap_page
#undef ib_dma_map_sgtable_attrs
#undef ib_dma_unmap_sgtable_attrs
#undef ib_dma_sync_single_for_cpu
#undef ib_dma_sync_single_for_device
#undef ib_uses_virt_dma
#undef ib_post_send
#undef ib_post_recv
#undef ib_dealloc_pd

#undef ib_alloc_pd
#define ib_alloc_pd(dev, flags) dma_watch_alloc_pd(dev, flags)

#undef dma_sync_sgtable_for_cpu
#undef dma_sync_sgtable_for_device
#define ib_uses_virt_dma(dev) dma_watch_uses_virt_dma(dev)
#define is_swiotlb_force_bounce(dma) (dma_bounces() > 1)
#define dma_sync_sgtable_for_cpu(dma, sgt, dir) dma_watch_sync(sgt, dir, false)
#define dma_sync_sgtable_for_device(dma, sgt, dir) dma_watch_sync(sgt, dir, true)

bool dma_watch_uses_virt_dma(struct ib_device *dev);
unsigned int dma_bounces(void);
void dma_watch_sync(struct sg_table *sgt, enum dma_data_direction dir, bool for_device);
struct ib_pd *dma_watch_alloc_pd(struct ib_device *dev, unsigned int flags);
int ib_dma_mapping_error(struct ib_device *dev, u64 addr);
u64 ib_dma_map_single(struct ib_device *dev, void *mem, size_t len, enum dma_data_direction dir);
void ib_dma_unmap_single(struct ib_device *dev, u64 addr, size_t len, enum dma_data_direction dir);
u64 ib_dma_map_page(struct ib_device *dev, struct page *page, unsigned long off, size_t len,
		    enum dma_data_direction dir);
void ib_dma_unmap_page(struct ib_device *dev, u64 addr, size_t len, enum dma_data_direction dir);
int ib_dma_map_sgtable_attrs(struct ib_device *dev, struct sg_table *sgt,
			     enum dma_data_direction dir, unsigned long attrs);
void ib_dma_unmap_sgtable_attrs(struct ib_device *dev, struct sg_table *sgt,
				enum dma_data_direction dir, unsigned long attrs);
void ib_dma_sync_single_for_cpu(struct ib_device *dev, u64 addr, size_t len,
				enum dma_data_direction dir);
void ib_dma_sync_single_for_device(struct ib_device *dev, u64 addr, size_t len,
				   enum dma_data_direction dir);
int ib_post_send(struct ib_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int ib_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
void ib_dealloc_pd(struct ib_pd *pd);

#endif
