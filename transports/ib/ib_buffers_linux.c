// SPDX-License-Identifier: GPL-2.0
/*
 * ib_buffers_linux.c: frames in memory: what rds_ib_hw_*() do for the link.
 *
 * A frame's header lies in a page of the ring's own, its payload in the message that is sent, or in
 * a page that messages may keep.  Nothing is copied but headers.  Operations: ib_op_linux.c.
 */
#include <linux/slab.h>

#include "../../net/linux/payload.h"
#include "ib_linux.h"

/* Receive buffers got at once by a worker. */
#define RDS_IB_SPARES 64

/* Of what a ring may hold, this part more may wait for the messages that keep them. */
#define RDS_IB_LENT 4

/* Of all buffers, this part is for what rings begin with. */
#define RDS_IB_RESERVE 4

/* Receive buffers of all rings; see net.rds.ib.max_recv_allocation. */
static atomic_t rds_ib_buffers;

/* ---- headers ---- */

static u8 *rds_ib_header(const struct rds_ib_headers *h, u32 slot)
{
	return h->page[slot / RDS_IB_HEADERS_PER_PAGE].mem +
	       slot % RDS_IB_HEADERS_PER_PAGE * RDS_IB_HEADER_STRIDE;
}

static u64 rds_ib_header_dma(const struct rds_ib_headers *h, u32 slot)
{
	return h->page[slot / RDS_IB_HEADERS_PER_PAGE].dma +
	       slot % RDS_IB_HEADERS_PER_PAGE * RDS_IB_HEADER_STRIDE;
}

static int rds_ib_headers_alloc(struct ib_device *ibdev, struct rds_ib_headers *h, u32 slots,
				enum dma_data_direction way)
{
	unsigned int n = DIV_ROUND_UP(slots, RDS_IB_HEADERS_PER_PAGE);
	struct rds_ib_header_page *page;

	h->page = kcalloc(n, sizeof(*h->page), GFP_KERNEL);
	if (!h->page)
		return -ENOMEM;
	for (; h->pages < n; h->pages++) {
		page = &h->page[h->pages];
		page->mem = (u8 *)get_zeroed_page(GFP_KERNEL);
		if (!page->mem)
			return -ENOMEM;
		page->dma = ib_dma_map_single(ibdev, page->mem, PAGE_SIZE, way);
		if (ib_dma_mapping_error(ibdev, page->dma)) {
			free_page((unsigned long)page->mem);
			return -ENOMEM;
		}
	}
	return 0;
}

static void rds_ib_headers_free(struct ib_device *ibdev, struct rds_ib_headers *h,
				enum dma_data_direction way)
{
	while (h->pages) {
		h->pages--;
		ib_dma_unmap_single(ibdev, h->page[h->pages].dma, PAGE_SIZE, way);
		free_page((unsigned long)h->page[h->pages].mem);
	}
	kfree(h->page);
	h->page = NULL;
}

/* ---- sending ---- */

static struct ib_sge *rds_ib_sges(const struct rds_ib_path *tp, const struct rds_ib_tx *tx)
{
	return tp->tx_sges + (tx - tp->tx) * RDS_IB_SGES(tp->order);
}

void rds_ib_map_later(struct rds_ib_path *tp)
{
	rds_ib_count(RDS_IB_S_tx_sg_mapping_failure);
	queue_delayed_work(rds_ib_wq, &tp->refill, RDS_IB_REFILL_DELAY);
}

/* Adds @len bytes at @mem to the frame: 0, or -ENOMEM, which may pass. */
static int rds_ib_map_piece(struct rds_ib_path *tp, struct rds_ib_tx *tx, void *mem, u32 len)
{
	struct ib_device *ibdev = tp->dev->ibdev;
	u64 dma;

	if (WARN_ON_ONCE(tx->n == RDS_IB_SGES(tp->order)))
		return -EMSGSIZE;
	dma = ib_dma_map_single(ibdev, mem, len, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(ibdev, dma)) {
		rds_ib_map_later(tp);
		return -ENOMEM;
	}
	rds_ib_sges(tp, tx)[tx->n++] = (struct ib_sge){dma, len, tp->dev->pd->local_dma_lkey};
	return 0;
}

static int rds_ib_map(struct rds_ib_path *tp, struct rds_ib_tx *tx,
		      const struct rds_payload *payload, u32 off, u32 len)
{
	const struct bio_vec *bv;
	u32 piece;
	int err;

	if (rds_payload_flat(payload))
		return rds_ib_map_piece(tp, tx, rds_payload_data(payload) + off, len);
	for (bv = rds_payload_bvecs(payload); off >= bv->bv_len; bv++)
		off -= bv->bv_len;
	for (; len; len -= piece, off = 0, bv++) {
		piece = min(len, bv->bv_len - off);
		err = rds_ib_map_piece(tp, tx, page_address(bv->bv_page) + bv->bv_offset + off,
				       piece);
		if (err)
			return err;
	}
	return 0;
}

/* The first entry is the header, which stays mapped. */
static void rds_ib_unmap(struct rds_ib_path *tp, struct rds_ib_tx *tx)
{
	const struct ib_sge *sge = rds_ib_sges(tp, tx);

	for (; tx->n > 1; tx->n--)
		ib_dma_unmap_single(tp->dev->ibdev, sge[tx->n - 1].addr, sge[tx->n - 1].length,
				    DMA_TO_DEVICE);
	tx->n = 0;
}

int rds_ib_hw_send(void *hw, uint32_t slot, const unsigned char *header, struct rds_msg *m,
		   uint32_t off, uint32_t len, unsigned int flags)
{
	struct rds_ib_path *tp = hw;
	struct rds_ib_tx *tx = &tp->tx[slot];
	struct ib_device *ibdev = tp->dev->ibdev;
	u64 dma = rds_ib_header_dma(&tp->tx_headers, slot);
	struct ib_send_wr wr = {
		.wr_id = slot,
		.sg_list = rds_ib_sges(tp, tx),
		.opcode = IB_WR_SEND,
		.send_flags = (flags & RDS_IB_SIGNALED ? IB_SEND_SIGNALED : 0) |
			      (flags & RDS_IB_SOLICITED ? IB_SEND_SOLICITED : 0) |
			      (flags & RDS_IB_FENCE ? IB_SEND_FENCE : 0),
	};
	int err = 0;

	ib_dma_sync_single_for_cpu(ibdev, dma, RDS_HEADER_BYTES, DMA_TO_DEVICE);
	memcpy(rds_ib_header(&tp->tx_headers, slot), header, RDS_HEADER_BYTES);
	ib_dma_sync_single_for_device(ibdev, dma, RDS_HEADER_BYTES, DMA_TO_DEVICE);
	*wr.sg_list = (struct ib_sge){dma, RDS_HEADER_BYTES, tp->dev->pd->local_dma_lkey};
	tx->n = 1;
	if (len)
		err = rds_ib_map(tp, tx, rds_msg_payload(m), off, len);
	if (!err) {
		wr.num_sge = tx->n;
		/* The adapter's word is no mapping that may be tried again, whatever it is. */
		err = ib_post_send(tp->id->qp, &wr, NULL) ? -EIO : 0;
	}
	if (err) {
		rds_ib_unmap(tp, tx);
		return err;
	}
	if (m)
		rds_msg_get(m);
	tx->m = m;
	return 0;
}

void rds_ib_hw_sent(void *hw, uint32_t slot)
{
	struct rds_ib_path *tp = hw;
	struct rds_ib_tx *tx = &tp->tx[slot];

	if (tx->kind != RDS_IB_SLOT_FRAME) {
		rds_ib_op_sent(tp, tx);
		return;
	}
	rds_ib_unmap(tp, tx);
	if (tx->m)
		rds_msg_put(tx->m);
	tx->m = NULL;
}

/* ---- receiving ---- */

/* Memory of a buffer for frames of @frame bytes, as max_recv_allocation counts it. */
static u32 rds_ib_units(u32 frame)
{
	return (PAGE_SIZE << get_order(frame)) / RDS_IB_FRAME;
}

static struct page *rds_ib_buffer_page(const struct sk_buff *skb)
{
	return skb_frag_page(&skb_shinfo(skb)->frags[0]);
}

static struct sk_buff *rds_ib_buffer_get(const struct rds_ib_path *tp, gfp_t gfp)
{
	const u32 frame = READ_ONCE(tp->link.frame), units = rds_ib_units(frame);
	const unsigned int order = get_order(frame);
	struct sk_buff *skb = NULL;
	struct page *page;

	if ((u32)atomic_add_return(units, &rds_ib_buffers) >
	    READ_ONCE(rds_ib_max_recv_allocation)) {
		rds_ib_count(RDS_IB_S_rx_alloc_limit);
		goto none;
	}
	/* With room for the clone that a message takes. */
	skb = alloc_skb_fclone(0, gfp | __GFP_NOWARN);
	page = skb ? alloc_pages(gfp | __GFP_COMP | __GFP_NOWARN, order) : NULL;
	if (!page) {
		rds_ib_count(RDS_IB_S_rx_alloc_failed);
		goto none;
	}
	skb_add_rx_frag(skb, 0, page, 0, frame, PAGE_SIZE << order);
	return skb;
none:
	kfree_skb(skb);
	atomic_sub(units, &rds_ib_buffers);
	return NULL;
}

int rds_ib_hw_may_grow(void *hw, uint32_t more)
{
	const struct rds_ib_path *tp = hw;
	u64 units = (u64)more * rds_ib_units(READ_ONCE(tp->link.frame));
	u32 most = READ_ONCE(rds_ib_max_recv_allocation);

	return atomic_read(&rds_ib_buffers) + units <= most - most / RDS_IB_RESERVE;
}

static void rds_ib_buffer_put(struct sk_buff *skb)
{
	atomic_sub(rds_ib_units(page_size(rds_ib_buffer_page(skb))), &rds_ib_buffers);
	consume_skb(skb);
}

/* The first of those that messages keep a clone of, if its message is gone: as good as new. */
static struct sk_buff *rds_ib_buffer_back(struct rds_ib_path *tp)
{
	struct sk_buff *skb = skb_peek(&tp->lent);

	if (!skb || skb_cloned(skb))
		return NULL;
	__skb_unlink(skb, &tp->lent);
	return skb;
}

void rds_ib_spares(struct rds_ib_path *tp)
{
	/* As good as the moment is: the link may be at it. */
	u32 has = READ_ONCE(tp->link.offered) - READ_ONCE(tp->link.taken);
	u32 lacks = READ_ONCE(tp->link.depth) - has;
	struct sk_buff *skb;

	while (skb_queue_len_lockless(&tp->spare) < min_t(u32, lacks, RDS_IB_SPARES)) {
		skb = rds_ib_buffer_get(tp, GFP_KERNEL);
		if (!skb)
			break;
		skb_queue_tail(&tp->spare, skb);
	}
}

void rds_ib_trim(struct rds_ib_path *tp)
{
	struct sk_buff *skb;

	while ((skb = rds_ib_buffer_back(tp)) || (skb = skb_dequeue(&tp->spare)))
		rds_ib_buffer_put(skb);
}

static void rds_ib_rx_unmap(struct rds_ib_path *tp, struct rds_ib_rx *rx)
{
	if (rx->mapped)
		ib_dma_unmap_page(tp->dev->ibdev, rx->dma, rx->mapped, DMA_FROM_DEVICE);
	rx->mapped = 0;
}

static int rds_ib_rx_post(struct rds_ib_path *tp, u32 slot)
{
	struct rds_ib_rx *rx = &tp->rx[slot];
	u64 header = rds_ib_header_dma(&tp->rx_headers, slot);
	u32 lkey = tp->dev->pd->local_dma_lkey;
	struct ib_sge sge[] = {{header, RDS_HEADER_BYTES, lkey}, {rx->dma, rx->mapped, lkey}};
	struct ib_recv_wr wr = {
		.wr_id = RDS_IB_WR_RECV | slot, .sg_list = sge, .num_sge = ARRAY_SIZE(sge)};

	ib_dma_sync_single_for_device(tp->dev->ibdev, header, RDS_HEADER_BYTES, DMA_FROM_DEVICE);
	/* As in rds_ib_hw_send(). */
	return ib_post_recv(tp->id->qp, &wr, NULL) ? -EIO : 0;
}

int rds_ib_hw_offer(void *hw, uint32_t slot, enum rds_ctx ctx)
{
	struct rds_ib_path *tp = hw;
	struct rds_ib_rx *rx = &tp->rx[slot];
	struct ib_device *ibdev = tp->dev->ibdev;
	const u32 frame = tp->link.frame;
	int err;

	if (!rx->skb) /* or it was not to be mapped */
		rx->skb = rds_ib_buffer_back(tp);
	if (!rx->skb)
		rx->skb = skb_dequeue(&tp->spare);
	if (!rx->skb)
		rx->skb = rds_ib_buffer_get(tp, ctx == RDS_MAY_SLEEP ? GFP_KERNEL : GFP_ATOMIC);
	if (rx->skb)
		rx->dma = ib_dma_map_page(ibdev, rds_ib_buffer_page(rx->skb), 0, frame,
					  DMA_FROM_DEVICE);
	if (!rx->skb || ib_dma_mapping_error(ibdev, rx->dma)) {
		queue_delayed_work(rds_ib_wq, &tp->refill, RDS_IB_REFILL_DELAY);
		return -ENOMEM;
	}
	rx->mapped = frame;
	err = rds_ib_rx_post(tp, slot);
	if (err)
		rds_ib_rx_unmap(tp, rx);
	return err;
}

void rds_ib_filled(struct rds_ib_path *tp, u32 slot, u32 bytes)
{
	struct rds_ib_rx *rx = &tp->rx[slot];
	u32 payload = bytes > RDS_HEADER_BYTES ? bytes - RDS_HEADER_BYTES : 0;

	rds_ib_rx_unmap(tp, rx);
	ib_dma_sync_single_for_cpu(tp->dev->ibdev, rds_ib_header_dma(&tp->rx_headers, slot),
				   RDS_HEADER_BYTES, DMA_FROM_DEVICE);
	rx->bytes = bytes;
	skb_frag_size_set(&skb_shinfo(rx->skb)->frags[0], payload);
	rx->skb->len = rx->skb->data_len = payload;
}

const unsigned char *rds_ib_hw_frame(void *hw, uint32_t slot, struct rds_src **src, uint32_t *len)
{
	struct rds_ib_path *tp = hw;
	struct rds_ib_rx *rx = &tp->rx[slot];

	if (rx->bytes < RDS_HEADER_BYTES)
		return NULL;
	*src = rds_src(rx->skb);
	*len = rx->skb->len;
	return rds_ib_header(&tp->rx_headers, slot);
}

/* Is it of the size that is posted?  Those were larger that were before the peer had said that it
 * has smaller ones. */
static bool rds_ib_fits(const struct rds_ib_path *tp, const struct sk_buff *skb)
{
	return page_size(rds_ib_buffer_page(skb)) == PAGE_SIZE << get_order(tp->link.frame);
}

/* May a ring remember buffers that messages keep?  Not so many, and none where they are few.  For
 * all that one look takes others are got only then. */
static bool rds_ib_may_lend(struct rds_ib_path *tp)
{
	return skb_queue_len(&tp->lent) < tp->recv_wr / RDS_IB_LENT &&
	       rds_ib_hw_may_grow(tp, RDS_IB_BATCH);
}

/*
 * A buffer that no message keeps is the next to be posted, in whatever slot: slots go round, and
 * there are more of them than buffers.  One that a message keeps, when that was read, which happens
 * in the order of arrival more or less.
 */
void rds_ib_hw_taken(void *hw, uint32_t slot)
{
	struct rds_ib_path *tp = hw;
	struct sk_buff *skb = tp->rx[slot].skb;
	const bool fits = rds_ib_fits(tp, skb);

	tp->rx[slot].skb = NULL;
	if (fits && !skb_cloned(skb))
		__skb_queue_head(&tp->lent, skb);
	else if (fits && rds_ib_may_lend(tp))
		__skb_queue_tail(&tp->lent, skb);
	else
		rds_ib_buffer_put(skb);
}

/* ---- the rings ---- */

int rds_ib_rings_alloc(struct rds_ib_path *tp)
{
	struct ib_device *ibdev = tp->dev->ibdev;
	int err;

	tp->tx = kvcalloc(tp->send_wr, sizeof(*tp->tx), GFP_KERNEL);
	tp->tx_sges =
		kvcalloc(tp->send_wr, RDS_IB_SGES(tp->order) * sizeof(*tp->tx_sges), GFP_KERNEL);
	tp->rx = kvcalloc(tp->recv_wr, sizeof(*tp->rx), GFP_KERNEL);
	tp->op_wrs = kmalloc(sizeof(*tp->op_wrs), GFP_KERNEL);
	if (!tp->tx || !tp->tx_sges || !tp->rx || !tp->op_wrs)
		return -ENOMEM;
	err = rds_ib_headers_alloc(ibdev, &tp->tx_headers, tp->send_wr, DMA_TO_DEVICE);
	if (err)
		return err;
	return rds_ib_headers_alloc(ibdev, &tp->rx_headers, tp->recv_wr, DMA_FROM_DEVICE);
}

void rds_ib_rings_free(struct rds_ib_path *tp)
{
	struct ib_device *ibdev = tp->dev->ibdev;
	struct sk_buff *skb;
	u32 i;

	/* An operation that was begun, but not to its end, nobody gave back. */
	for (i = 0; tp->tx && i < tp->send_wr; i++)
		rds_ib_hw_sent(tp, i);
	for (i = 0; tp->rx && i < tp->recv_wr; i++) {
		rds_ib_rx_unmap(tp, &tp->rx[i]);
		if (tp->rx[i].skb)
			rds_ib_buffer_put(tp->rx[i].skb);
	}
	while ((skb = skb_dequeue(&tp->spare)) || (skb = __skb_dequeue(&tp->lent)))
		rds_ib_buffer_put(skb);
	rds_ib_headers_free(ibdev, &tp->tx_headers, DMA_TO_DEVICE);
	rds_ib_headers_free(ibdev, &tp->rx_headers, DMA_FROM_DEVICE);
	kvfree(tp->tx);
	kvfree(tp->tx_sges);
	kvfree(tp->rx);
	kfree(tp->op_wrs);
	tp->op_wrs = NULL;
	tp->tx = NULL;
	tp->tx_sges = NULL;
	tp->rx = NULL;
}
