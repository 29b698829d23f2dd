// SPDX-License-Identifier: GPL-2.0
/* Payloads in memory of their own: every length, every part, no memory. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "kunit_rds.h"

const u32 rds_test_lengths[] = {1,
				2,
				47,
				3583,
				RDS_PAYLOAD_FLAT_MAX,
				RDS_PAYLOAD_FLAT_MAX + 1,
				4095,
				4096,
				4097,
				8191,
				8192,
				32767,
				32768,
				32769,
				65536,
				100000,
				131073,
				1048575,
				1 << 20};
const size_t rds_test_lengths_n = ARRAY_SIZE(rds_test_lengths);

static void free_big(struct kunit_resource *res)
{
	kvfree(res->data);
}

static void *test_memory(struct kunit *test, size_t size)
{
	void *p = kvmalloc(size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_NOT_NULL(test, kunit_alloc_resource(test, NULL, free_big, GFP_KERNEL, p));
	return p;
}

u8 *rds_test_bytes(struct kunit *test, u32 len)
{
	u8 *p = test_memory(test, len);
	u32 i, x = 12345;

	for (i = 0; i < len; i++) {
		x = x * 1103515245 + 12345;
		p[i] = x >> 16;
	}
	return p;
}

/* Exactly what the core reserves: one byte more and KASAN tells. */
struct rds_payload *rds_test_payload(struct kunit *test, u32 len)
{
	struct rds_payload *p = kunit_kmalloc(test, rds_payload_footprint(len), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	memset(p, 0xa5, rds_payload_footprint(len));
	return p;
}

bool rds_test_same(struct kunit *test, const struct rds_payload *p, const u8 *bytes, u32 off, u32 n)
{
	u8 *copy = test_memory(test, n);

	memset(copy, 0xa5, n);
	KUNIT_EXPECT_EQ(test, rds_payload_to_mem(p, off, n, copy), 0);
	return !memcmp(copy, bytes + off, n);
}

/* One piece for small ones; else entries for pages of 32 KiB, and of half, a quarter, an eighth. */
static u32 footprint_of(u32 len)
{
	u32 flat = RDS_PAYLOAD_FLAT_OFFSET + len;

	if (len > RDS_PAYLOAD_FLAT_MAX)
		return sizeof(struct rds_payload) + (len / 32768 + 4) * sizeof(struct bio_vec);
	return flat > sizeof(struct rds_payload) ? flat : sizeof(struct rds_payload);
}

static void footprint(struct kunit *test)
{
	int i;

	KUNIT_EXPECT_EQ(test, rds_payload_footprint(0), 0);
	for (i = 0; i < rds_test_lengths_n; i++) {
		u32 len = rds_test_lengths[i];

		KUNIT_EXPECT_EQ(test, rds_payload_footprint(len), footprint_of(len));
	}
}

static void check_parts(struct kunit *test, const struct rds_payload *p, const u8 *bytes, u32 len)
{
	u32 cuts[] = {0, 1, len / 3, len / 2, len - 1, min(len, 4095U), min(len, 32768U)};
	int i;

	KUNIT_EXPECT_TRUE(test, rds_test_same(test, p, bytes, 0, len));
	for (i = 0; i < ARRAY_SIZE(cuts); i++) {
		if (cuts[i] >= len)
			continue;
		KUNIT_EXPECT_TRUE(test, rds_test_same(test, p, bytes, cuts[i], len - cuts[i]));
		KUNIT_EXPECT_TRUE(test, rds_test_same(test, p, bytes, cuts[i], 1));
	}
}

/* Twice: the second time the pages come out of the pool, with other bytes in them. */
static void from_memory_and_back(struct kunit *test)
{
	u8 *bytes = rds_test_bytes(test, (1 << 20) + 1);
	int i, round;

	for (i = 0; i < rds_test_lengths_n; i++) {
		u32 len = rds_test_lengths[i];
		struct rds_payload *p = rds_test_payload(test, len);

		for (round = 0; round < 2; round++) {
			enum rds_ctx ctx = round ? RDS_ATOMIC : RDS_MAY_SLEEP;

			KUNIT_ASSERT_EQ(test, rds_payload_init(p, len, NULL, len, ctx), 0);
			rds_payload_from_mem(p, bytes + round);
			check_parts(test, p, bytes + round, len);
			rds_payload_destroy(p);
		}
	}
}

static void memory_is_accounted(struct kunit *test)
{
	int i;

	for (i = 0; i < rds_test_lengths_n; i++) {
		u32 len = rds_test_lengths[i], size;
		struct rds_payload *p = rds_test_payload(test, len);

		KUNIT_ASSERT_EQ(test, rds_payload_init(p, len, NULL, len, RDS_MAY_SLEEP), 0);
		size = rds_payload_truesize(p);
		KUNIT_EXPECT_EQ(test, rds_payload_memory(len), rds_payload_footprint(len) + size);
		if (len <= RDS_PAYLOAD_FLAT_MAX) {
			KUNIT_EXPECT_EQ(test, size, 0);
		} else {
			KUNIT_EXPECT_GE(test, size, len);
			KUNIT_EXPECT_LT(test, size, len + PAGE_SIZE);
		}
		rds_payload_destroy(p);
	}
}

static void only_pinned_ones_are_unpinned(struct kunit *test)
{
	u8 *bytes = rds_test_bytes(test, 10000);
	struct rds_payload *p = rds_test_payload(test, 10000);

	KUNIT_ASSERT_EQ(test, rds_payload_init(p, 10000, NULL, 10000, RDS_MAY_SLEEP), 0);
	rds_payload_from_mem(p, bytes);
	KUNIT_EXPECT_EQ(test, rds_payload_unpin(p), 0);
	KUNIT_EXPECT_TRUE(test, rds_test_same(test, p, bytes, 0, 10000));
	rds_payload_destroy(p);
}

#define MOST 320 /* payloads at a time */

/* Lengths, what the failure of one allocation means: there are smaller pages (0), or not; and how
 * many payloads take all pages of theirs that may lie idle. */
static const struct hunger {
	const char *name;
	u32 len;
	int err;
	int idle;
} hungers[] = {{"a mebibyte", 1 << 20, 0, 8}, {"a page", 4096, -ENOMEM, 256}};

static void describe(const struct hunger *h, char *to)
{
	strscpy(to, h->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(hunger, hungers, describe);

#ifdef CONFIG_FAULT_INJECTION
/* A payload whose @nth allocation fails, or NULL; *@reached: there were so many. */
static struct rds_payload *without(struct kunit *test, const struct hunger *h, int nth,
				   bool *reached)
{
	struct rds_payload *p = rds_test_payload(test, h->len);
	int err;

	current->fail_nth = nth;
	err = rds_payload_init(p, h->len, NULL, h->len, RDS_ATOMIC);
	*reached = !current->fail_nth;
	current->fail_nth = 0;
	KUNIT_EXPECT_EQ(test, err, *reached ? h->err : 0);
	return err ? NULL : p;
}
#endif

/* Each allocation fails once: the payload is whole or there is none.  The debug file system must
 * have told fail_page_alloc to consider single pages and atomic allocations. */
static void every_allocation_fails_once(struct kunit *test)
{
#ifdef CONFIG_FAULT_INJECTION
	const struct hunger *h = test->param_value;
	u8 *bytes = rds_test_bytes(test, h->len);
	struct rds_payload **kept = kunit_kcalloc(test, MOST, sizeof(*kept), GFP_KERNEL);
	bool reached = true;
	int i, n;

	KUNIT_ASSERT_NOT_NULL(test, kept);
	/* Nothing is given back before the end: the pool has to stay empty. */
	for (n = 0; n < h->idle; n++) {
		kept[n] = rds_test_payload(test, h->len);
		KUNIT_ASSERT_EQ(test,
				rds_payload_init(kept[n], h->len, NULL, h->len, RDS_MAY_SLEEP), 0);
	}
	for (i = 1; reached && n < MOST; i++, n++) {
		kept[n] = without(test, h, i, &reached);
		if (!kept[n])
			continue;
		rds_payload_from_mem(kept[n], bytes);
		KUNIT_EXPECT_TRUE(test, rds_test_same(test, kept[n], bytes, 0, h->len));
	}
	KUNIT_EXPECT_FALSE(test, reached);
	KUNIT_EXPECT_GE(test, i, 3);
	while (n--)
		if (kept[n])
			rds_payload_destroy(kept[n]);
#else
	KUNIT_FAIL(test, "this kernel cannot make allocations fail");
#endif
}

static struct kunit_case cases[] = {
	KUNIT_CASE(footprint),
	KUNIT_CASE(from_memory_and_back),
	KUNIT_CASE(memory_is_accounted),
	KUNIT_CASE(only_pinned_ones_are_unpinned),
	KUNIT_CASE_PARAM(every_allocation_fails_once, hunger_gen_params),
	{}};

static struct kunit_suite suite = {.name = "rds_payload", .test_cases = cases};
kunit_test_suite(suite);
