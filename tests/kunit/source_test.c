// SPDX-License-Identifier: GPL-2.0
/* Payloads out of socket buffers: cut at odd places, kept by reference or copied, no memory. */
#include <linux/skbuff.h>

#include "kunit_rds.h"

#define FRONT 31 /* other bytes before ours in every buffer */

static struct sk_buff *linear_skb(const u8 *bytes, u32 n)
{
	struct sk_buff *skb = alloc_skb(FRONT + n, GFP_KERNEL);

	if (!skb)
		return NULL;
	memset(skb_put(skb, FRONT), 0xee, FRONT);
	skb_put_data(skb, bytes, n);
	return skb;
}

/* As TCP's: the bytes in pages, behind a short linear part. */
static struct sk_buff *paged_skb(const u8 *bytes, u32 n)
{
	u32 first = min(n, 5U), at, piece;
	struct sk_buff *skb = linear_skb(bytes, first);
	int i = 0;

	for (at = first; skb && at < n; at += piece) {
		struct page *page = alloc_page(GFP_KERNEL);

		if (!page) {
			kfree_skb(skb);
			return NULL;
		}
		piece = min_t(u32, n - at, PAGE_SIZE);
		memcpy(page_address(page), bytes + at, piece);
		skb_add_rx_frag(skb, i++, page, 0, piece, PAGE_SIZE);
	}
	return skb;
}

static struct sk_buff *some_skb(struct kunit *test, const u8 *bytes, u32 n, bool paged)
{
	struct sk_buff *skb = paged ? paged_skb(bytes, n) : linear_skb(bytes, n);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	return skb;
}

/* Fills a payload from buffers of @cut bytes each, as a transport does: our references go at once,
 * and it must have its own. */
static struct rds_payload *gather(struct kunit *test, const u8 *bytes, u32 len, u32 cut, bool paged)
{
	struct rds_payload *p = rds_test_payload(test, len);
	struct sk_buff *skb;
	u32 at, n;

	for (at = 0; at < len; at += n) {
		n = min(len - at, cut);
		skb = some_skb(test, bytes + at, n, paged);
		if (!at)
			KUNIT_ASSERT_EQ(test, rds_payload_init(p, len, rds_src(skb), n, RDS_ATOMIC),
					0);
		KUNIT_ASSERT_EQ(test, rds_payload_append(p, rds_src(skb), FRONT, n, RDS_ATOMIC), 0);
		consume_skb(skb);
	}
	return p;
}

static void cut_at_odd_places(struct kunit *test)
{
	static const u32 cuts[] = {137, 1448, 4096, 65000};
	u8 *bytes = rds_test_bytes(test, 1 << 20);
	int i, c, paged;

	for (i = 0; i < rds_test_lengths_n; i++)
		for (c = 0; c < ARRAY_SIZE(cuts); c++)
			for (paged = 0; paged < 2; paged++) {
				u32 len = rds_test_lengths[i];
				struct rds_payload *p;

				if (len / cuts[c] > 1000)
					continue;
				p = gather(test, bytes, len, cuts[c], paged);
				KUNIT_EXPECT_TRUE(test, rds_test_same(test, p, bytes, 0, len));
				KUNIT_EXPECT_TRUE(test,
						  rds_test_same(test, p, bytes, len / 3, len / 2));
				rds_payload_destroy(p);
			}
}

static void byte_by_byte(struct kunit *test)
{
	u8 *bytes = rds_test_bytes(test, 5000);
	struct rds_payload *p = gather(test, bytes, 5000, 1, false);

	KUNIT_EXPECT_TRUE(test, rds_test_same(test, p, bytes, 0, 5000));
	rds_payload_destroy(p);
}

/* Memory follows what came: nothing for a length that was announced, and about twice the bytes at
 * most, however they were cut up. */
static void costs_what_came(struct kunit *test)
{
	static const u32 cuts[] = {1, 100, 512, 1448, 4096};
	u8 *bytes = rds_test_bytes(test, 4096);
	struct rds_payload *p = rds_test_payload(test, 1 << 20);
	int i, c;

	for (c = 0; c < ARRAY_SIZE(cuts); c++) {
		KUNIT_ASSERT_EQ(test, rds_payload_init(p, 1 << 20, NULL, 0, RDS_ATOMIC), 0);
		KUNIT_EXPECT_EQ(test, rds_payload_truesize(p), 0);
		for (i = 0; i < 10000 && p->have + cuts[c] <= p->len; i++) {
			struct sk_buff *skb = some_skb(test, bytes, cuts[c], false);

			KUNIT_ASSERT_EQ(
				test,
				rds_payload_append(p, rds_src(skb), FRONT, cuts[c], RDS_ATOMIC), 0);
			kfree_skb(skb);
		}
		KUNIT_EXPECT_LE(test, rds_payload_truesize(p), 2 * p->have + 8192);
		rds_payload_destroy(p);
	}
}

static void header_is_copied(struct kunit *test)
{
	static const u32 at[] = {0, 4, 5, 6, 4052, 4053, 4054, 4100, 4101, 4102, 8952};
	u8 *bytes = rds_test_bytes(test, 9000), copy[48];
	struct sk_buff *skb = some_skb(test, bytes, 9000, true);
	u32 i, n;

	KUNIT_EXPECT_EQ(test, rds_src_copy(rds_src(skb), FRONT + 4090, copy, sizeof(copy)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(copy, bytes + 4090, sizeof(copy)), 0);
	KUNIT_EXPECT_EQ(test, rds_src_copy(rds_src(skb), FRONT + 8990, copy, sizeof(copy)),
			-EFAULT);
	/* The linear part ends behind 5 bytes, the first page behind 4096 more. */
	for (i = 0; i < ARRAY_SIZE(at); i++)
		for (n = 0; n <= sizeof(copy); n += 8) {
			memset(copy, 0xcc, sizeof(copy));
			KUNIT_EXPECT_EQ(test, rds_src_copy(rds_src(skb), FRONT + at[i], copy, n),
					0);
			KUNIT_EXPECT_EQ(test, memcmp(copy, bytes + at[i], n), 0);
			KUNIT_EXPECT_TRUE(test, n == sizeof(copy) || copy[n] == 0xcc);
		}
	kfree_skb(skb);
}

/* A big payload stays where it is; a small part of something big is copied. */
static void small_parts_do_not_keep_big_buffers(struct kunit *test)
{
	u8 *bytes = rds_test_bytes(test, 65536);
	struct sk_buff *skb = some_skb(test, bytes, 65536, true);
	struct rds_payload *p = rds_test_payload(test, 40000);
	struct rds_src *src = rds_src(skb);
	unsigned int refs = atomic_read(&skb_shinfo(skb)->dataref);

	KUNIT_ASSERT_EQ(test, rds_payload_init(p, 40000, src, 40000, RDS_ATOMIC), 0);
	KUNIT_EXPECT_EQ(test, rds_payload_append(p, src, FRONT, 35000, RDS_ATOMIC), 0);
	KUNIT_EXPECT_NE(test, atomic_read(&skb_shinfo(skb)->dataref), refs);
	refs = atomic_read(&skb_shinfo(skb)->dataref);
	KUNIT_EXPECT_EQ(test, rds_payload_append(p, src, FRONT + 35000, 4990, RDS_ATOMIC), 0);
	KUNIT_EXPECT_EQ(test, rds_payload_append(p, src, FRONT + 39990, 10, RDS_ATOMIC), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&skb_shinfo(skb)->dataref), refs);
	kfree_skb(skb);
	KUNIT_EXPECT_TRUE(test, rds_test_same(test, p, bytes, 0, 40000));
	KUNIT_EXPECT_GE(test, rds_payload_truesize(p), 40000);
	rds_payload_destroy(p);
}

#ifdef CONFIG_FAULT_INJECTION
/* Did the append have @nth allocations?  If one failed, nothing may have changed. */
static bool append_without(struct kunit *test, struct rds_payload *p, struct sk_buff *skb, u32 n,
			   int nth, int *failed)
{
	u32 have = p->have;
	bool reached;
	int err;

	current->fail_nth = nth;
	err = rds_payload_append(p, rds_src(skb), FRONT + have, n, RDS_ATOMIC);
	reached = !current->fail_nth;
	current->fail_nth = 0;
	KUNIT_EXPECT_TRUE(test, !err || (reached && err == -ENOMEM));
	KUNIT_EXPECT_EQ(test, p->have, err ? have : have + n);
	*failed += !!err;
	if (err)
		KUNIT_EXPECT_EQ(
			test, rds_payload_append(p, rds_src(skb), FRONT + have, n, RDS_ATOMIC), 0);
	return reached;
}
#endif

/* Big pieces are cloned, small ones copied; without memory neither is, until it is tried again. */
static void append_fails_without_memory(struct kunit *test)
{
#ifdef CONFIG_FAULT_INJECTION
	u8 *bytes = rds_test_bytes(test, 65536);
	struct sk_buff *skb = some_skb(test, bytes, 65536, true);
	struct rds_payload *p = rds_test_payload(test, 60000);
	int nth, failed = 0;

	KUNIT_ASSERT_EQ(test, rds_payload_init(p, 60000, rds_src(skb), 60000, RDS_ATOMIC), 0);
	append_without(test, p, skb, 33000, 1, &failed);
	KUNIT_EXPECT_EQ(test, failed, 1);
	for (nth = 1; append_without(test, p, skb, 100, nth, &failed) && nth < 10; nth++)
		;
	KUNIT_EXPECT_TRUE(test, rds_test_same(test, p, bytes, 0, p->have));
	kfree_skb(skb);
	rds_payload_destroy(p);
#else
	KUNIT_FAIL(test, "this kernel cannot make allocations fail");
#endif
}

static struct kunit_case cases[] = {KUNIT_CASE(cut_at_odd_places),
				    KUNIT_CASE(byte_by_byte),
				    KUNIT_CASE(costs_what_came),
				    KUNIT_CASE(header_is_copied),
				    KUNIT_CASE(small_parts_do_not_keep_big_buffers),
				    KUNIT_CASE(append_fails_without_memory),
				    {}};

static struct kunit_suite suite = {.name = "rds_source", .test_cases = cases};
kunit_test_suite(suite);
