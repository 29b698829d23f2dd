// SPDX-License-Identifier: GPL-2.0
/* Of socket buffers pieces are kept or copied: the bounds, to the byte, and the memory it costs. */
#include <linux/skbuff.h>

#include "kunit_rds.h"

#define BIG 16384U /* from here on half of the buffer's bytes is enough */

/* Buffers lend their bytes: nobody reads what is in them here, but copies are compared. */
static struct sk_buff *some_skb(struct kunit *test, const u8 *bytes, u32 n)
{
	struct sk_buff *skb = alloc_skb(n, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_data(skb, bytes, n);
	return skb;
}

/* The fewest bytes of @skb that are half of what is kept with them. */
static u32 half_of(const struct sk_buff *skb)
{
	return (skb->truesize + sizeof(*skb)) / 2;
}

/* A payload that takes what comes. */
static struct rds_payload *taker(struct kunit *test, u32 len)
{
	struct rds_payload *p = rds_test_payload(test, len);

	KUNIT_ASSERT_EQ(test, rds_payload_init(p, len, NULL, 0, RDS_ATOMIC), 0);
	KUNIT_EXPECT_EQ(test, (int)p->kind, (int)RDS_PAYLOAD_SKBS);
	return p;
}

static void append(struct kunit *test, struct rds_payload *p, struct sk_buff *skb, u32 off, u32 n)
{
	rds_test_no_reclaim(true);
	KUNIT_EXPECT_EQ(test, rds_payload_append(p, rds_src(skb), off, n, RDS_ATOMIC), 0);
	rds_test_no_reclaim(false);
}

/* Is a piece of @n bytes of @skb kept, and not copied?  It costs all of the buffer then: the others
 * that have it may be read sooner. */
static bool is_kept(struct kunit *test, struct sk_buff *skb, u32 n)
{
	struct rds_payload *p = taker(test, 1 << 20);
	int refs = atomic_read(&skb_shinfo(skb)->dataref);
	bool kept;

	append(test, p, skb, 0, n);
	kept = atomic_read(&skb_shinfo(skb)->dataref) != refs;
	KUNIT_EXPECT_EQ(test, rds_payload_truesize(p),
			kept ? skb->truesize + (u32)sizeof(*skb) : p->tail->truesize);
	rds_payload_destroy(p);
	KUNIT_EXPECT_EQ(test, atomic_read(&skb_shinfo(skb)->dataref), refs);
	return kept;
}

static void half_of_the_buffer_is_kept(struct kunit *test)
{
	u8 *bytes = rds_test_bytes(test, 12000);
	struct sk_buff *skb = some_skb(test, bytes, 12000);
	u32 half = half_of(skb);

	KUNIT_ASSERT_LT(test, half, 12000);
	KUNIT_EXPECT_FALSE(test, is_kept(test, skb, half - 1));
	KUNIT_EXPECT_TRUE(test, is_kept(test, skb, half));
	kfree_skb(skb);
}

static void half_of_many_bytes_is_kept(struct kunit *test)
{
	u8 *bytes = rds_test_bytes(test, 40000);
	struct sk_buff *skb = some_skb(test, bytes, 40000);

	KUNIT_ASSERT_GT(test, half_of(skb), 20000);
	KUNIT_EXPECT_FALSE(test, is_kept(test, skb, BIG));
	KUNIT_EXPECT_FALSE(test, is_kept(test, skb, 19999));
	KUNIT_EXPECT_TRUE(test, is_kept(test, skb, 20000));
	skb_trim(skb, 2 * BIG);
	KUNIT_EXPECT_FALSE(test, is_kept(test, skb, BIG - 1));
	KUNIT_EXPECT_TRUE(test, is_kept(test, skb, BIG));
	kfree_skb(skb);
}

/* 16 KiB of 64 KiB pay for what they pin, and that is not the 64 KiB. */
static void a_quarter_of_a_buffer_pins_none_of_it(struct kunit *test)
{
	u8 *bytes = rds_test_bytes(test, 65536);
	struct sk_buff *skb = some_skb(test, bytes, 65536);
	struct rds_payload *p = taker(test, 65536);
	int i, refs = atomic_read(&skb_shinfo(skb)->dataref);

	KUNIT_EXPECT_FALSE(test, is_kept(test, skb, BIG));
	for (i = 0; i < 4; i++)
		append(test, p, skb, i * BIG, BIG);
	KUNIT_EXPECT_EQ(test, atomic_read(&skb_shinfo(skb)->dataref), refs);
	kfree_skb(skb);
	KUNIT_EXPECT_TRUE(test, rds_test_same(test, p, bytes, 0, 65536));
	KUNIT_EXPECT_GE(test, rds_payload_truesize(p), 65536);
	KUNIT_EXPECT_LE(test, rds_payload_truesize(p), 2 * 65536 + 8192);
	rds_payload_destroy(p);
}

/* No copy needs more than eight pages in a row. */
static void big_copies_lie_in_pieces(struct kunit *test)
{
	u8 *bytes = rds_test_bytes(test, 200000);
	struct sk_buff *skb = some_skb(test, bytes, 200000), *own;
	struct rds_payload *p = taker(test, 90000);

	append(test, p, skb, 0, 90000);
	for (own = p->head; own; own = own->next)
		KUNIT_EXPECT_LE(test, skb_end_offset(own), 32768);
	kfree_skb(skb);
	KUNIT_EXPECT_TRUE(test, rds_test_same(test, p, bytes, 0, 90000));
	rds_payload_destroy(p);
}

/* The kind of a payload of @len bytes of which @soon are there in @skb. */
static int kind_of(struct kunit *test, u32 len, struct sk_buff *skb, u32 soon)
{
	struct rds_payload *p = rds_test_payload(test, len);
	int kind;

	rds_test_no_reclaim(true);
	KUNIT_ASSERT_EQ(test, rds_payload_init(p, len, skb ? rds_src(skb) : NULL, soon, RDS_ATOMIC),
			0);
	rds_test_no_reclaim(false);
	kind = p->kind;
	rds_payload_destroy(p);
	return kind;
}

/* Pages of its own get what is here for the most part and not worth keeping. */
static void where_a_payload_will_lie(struct kunit *test)
{
	u8 *bytes = rds_test_bytes(test, 12000);
	struct sk_buff *skb = some_skb(test, bytes, 12000);
	u32 half = half_of(skb);

	KUNIT_EXPECT_EQ(test, kind_of(test, RDS_PAYLOAD_FLAT_MAX, skb, 0), (int)RDS_PAYLOAD_FLAT);
	KUNIT_EXPECT_EQ(test, kind_of(test, 10000, NULL, 4999), (int)RDS_PAYLOAD_SKBS);
	KUNIT_EXPECT_EQ(test, kind_of(test, 10000, NULL, 5000), (int)RDS_PAYLOAD_PAGES);
	KUNIT_EXPECT_EQ(test, kind_of(test, half - 1, skb, half - 1), (int)RDS_PAYLOAD_PAGES);
	KUNIT_EXPECT_EQ(test, kind_of(test, half, skb, half), (int)RDS_PAYLOAD_SKBS);
	/* Of what is announced no more than the buffer has. */
	KUNIT_EXPECT_EQ(test, kind_of(test, 2 * BIG, skb, 2 * BIG), (int)RDS_PAYLOAD_SKBS);
	skb_trim(skb, half - 1);
	KUNIT_EXPECT_EQ(test, kind_of(test, 2 * BIG, skb, 2 * BIG), (int)RDS_PAYLOAD_PAGES);
	kfree_skb(skb);
}

/* Pages that another namespace's program may write to: in the buffer itself, and in one of its
 * list. */
static void bytes_that_may_change_are_copied(struct kunit *test)
{
	u8 *bytes = rds_test_bytes(test, BIG);
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_COMP, get_order(BIG));
	struct sk_buff *skb = some_skb(test, bytes, 1), *list;

	KUNIT_ASSERT_NOT_NULL(test, page);
	memcpy(page_address(page), bytes, BIG);
	skb_add_rx_frag(skb, 0, page, 0, BIG, BIG);
	KUNIT_EXPECT_TRUE(test, is_kept(test, skb, BIG));
	KUNIT_EXPECT_EQ(test, kind_of(test, BIG, skb, BIG), (int)RDS_PAYLOAD_SKBS);
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	KUNIT_EXPECT_FALSE(test, is_kept(test, skb, BIG));
	KUNIT_EXPECT_EQ(test, kind_of(test, BIG, skb, BIG), (int)RDS_PAYLOAD_PAGES);
	list = some_skb(test, bytes, 1);
	skb_shinfo(list)->frag_list = skb;
	list->len += skb->len;
	list->data_len += skb->len;
	KUNIT_EXPECT_FALSE(test, is_kept(test, list, BIG));
	skb_shinfo(skb)->flags &= ~SKBFL_SHARED_FRAG;
	KUNIT_EXPECT_TRUE(test, is_kept(test, list, BIG));
	kfree_skb(list);
}

/* Small pieces fill one buffer to its end before the next one is begun. */
static void copies_fill_their_buffers(struct kunit *test)
{
	u8 *bytes = rds_test_bytes(test, 8000);
	struct sk_buff *skb = some_skb(test, bytes, 8000), *first;
	struct rds_payload *p = taker(test, 8000);
	u32 cost, room;

	append(test, p, skb, 0, 1);
	first = p->tail;
	cost = rds_payload_truesize(p);
	KUNIT_EXPECT_EQ(test, cost, first->truesize);
	room = skb_tailroom(first);
	KUNIT_ASSERT_GE(test, room, 2047);
	KUNIT_ASSERT_LT(test, room, 4000);
	append(test, p, skb, 1, room - 5);
	KUNIT_EXPECT_PTR_EQ(test, p->tail, first);
	KUNIT_EXPECT_EQ(test, rds_payload_truesize(p), cost);
	append(test, p, skb, room - 4, 15);
	KUNIT_EXPECT_EQ(test, skb_tailroom(first), 0);
	KUNIT_EXPECT_PTR_EQ(test, first->next, p->tail);
	KUNIT_EXPECT_EQ(test, p->tail->len, 10);
	KUNIT_EXPECT_EQ(test, rds_payload_truesize(p), cost + p->tail->truesize);
	append(test, p, skb, room + 11, 3000);
	KUNIT_EXPECT_TRUE(test, rds_test_same(test, p, bytes, 0, p->have));
	kfree_skb(skb);
	rds_payload_destroy(p);
}

/* The bytes of @skb again and again, @cut at a time. */
static void fill(struct kunit *test, struct rds_payload *p, struct sk_buff *skb, u32 cut)
{
	while (p->have < p->len) {
		u32 at = p->have % skb->len;
		u32 n = min3(cut, p->len - p->have, skb->len - at);

		KUNIT_ASSERT_EQ(test, rds_payload_append(p, rds_src(skb), at, n, RDS_ATOMIC), 0);
	}
}

static void pages_are_filled(struct kunit *test)
{
	static const u32 cuts[] = {137, 4096, 5000, 65000};
	u8 *bytes = rds_test_bytes(test, 1 << 20);
	struct sk_buff *skb = some_skb(test, bytes, 100000);
	int i, c;
	u32 at;

	for (at = 100000; at < 1 << 20; at++)
		bytes[at] = bytes[at - 100000];
	for (i = 0; i < rds_test_lengths_n; i++)
		for (c = 0; c < ARRAY_SIZE(cuts); c++) {
			u32 len = rds_test_lengths[i];
			struct rds_payload *p = rds_test_payload(test, len);

			KUNIT_ASSERT_EQ(test, rds_payload_init(p, len, NULL, len, RDS_MAY_SLEEP),
					0);
			fill(test, p, skb, cuts[c]);
			KUNIT_EXPECT_TRUE(test, rds_test_same(test, p, bytes, 0, len));
			rds_payload_destroy(p);
		}
	kfree_skb(skb);
}

/* A buffer that ends too early: nothing was added, and nothing is left over. */
static void bytes_that_are_not_there(struct kunit *test)
{
	static const struct {
		u32 len, soon, before, wanted;
	} rows[] = {{3000, 3000, 10, 100},    /* flat */
		    {9000, 9000, 5000, 3000}, /* pages */
		    {9000, 0, 10, 100},	      /* a copy into a new buffer, */
		    {9000, 0, 3000, 1500},    /* and into two */
		    {9000, 0, 0, 100}};
	u8 *bytes = rds_test_bytes(test, 9000);
	struct sk_buff *skb = some_skb(test, bytes, 9000);
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rds_payload *p = rds_test_payload(test, rows[i].len);
		u32 cost;

		KUNIT_ASSERT_EQ(
			test, rds_payload_init(p, rows[i].len, NULL, rows[i].soon, RDS_ATOMIC), 0);
		if (rows[i].before)
			append(test, p, skb, 0, rows[i].before);
		cost = rds_payload_truesize(p);
		KUNIT_EXPECT_EQ(test,
				rds_payload_append(p, rds_src(skb), 9000 - rows[i].wanted / 2,
						   rows[i].wanted, RDS_ATOMIC),
				-EFAULT);
		KUNIT_EXPECT_EQ(test, p->have, rows[i].before);
		KUNIT_EXPECT_EQ(test, rds_payload_truesize(p), cost);
		append(test, p, skb, rows[i].before, rows[i].wanted);
		KUNIT_EXPECT_TRUE(test, rds_test_same(test, p, bytes, 0, p->have));
		rds_payload_destroy(p);
	}
	kfree_skb(skb);
}

static struct kunit_case cases[] = {KUNIT_CASE(half_of_the_buffer_is_kept),
				    KUNIT_CASE(half_of_many_bytes_is_kept),
				    KUNIT_CASE(a_quarter_of_a_buffer_pins_none_of_it),
				    KUNIT_CASE(big_copies_lie_in_pieces),
				    KUNIT_CASE(where_a_payload_will_lie),
				    KUNIT_CASE(bytes_that_may_change_are_copied),
				    KUNIT_CASE(copies_fill_their_buffers),
				    KUNIT_CASE(pages_are_filled),
				    KUNIT_CASE(bytes_that_are_not_there),
				    {}};

static struct kunit_suite suite = {.name = "rds_kept", .test_cases = cases};
kunit_test_suite(suite);
