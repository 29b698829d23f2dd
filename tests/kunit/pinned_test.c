// SPDX-License-Identifier: GPL-2.0
/* Payloads in a program's own pages (MSG_ZEROCOPY): their parts, and what takes them out of the
 * program's hands. */
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kunit_rds.h"

#define MOST 32	 /* pages */
#define IDLE 262 /* payloads of a page, more than may lie idle */

struct pinned {
	struct rds_payload *p;
	struct page *page[MOST];
	unsigned int n;
	u8 *bytes;
};

/* Pages with the @len bytes of the payload, of which the first begins @off into its page. */
static struct pinned *pin(struct kunit *test, u32 len, u32 off)
{
	struct pinned *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	u32 at, n;

	KUNIT_ASSERT_NOT_NULL(test, a);
	a->bytes = rds_test_bytes(test, len);
	a->p = rds_test_payload(test, len);
	*a->p = (struct rds_payload){.len = len, .have = len, .kind = RDS_PAYLOAD_PINNED};
	a->p->bv = kvmalloc_array(MOST, sizeof(*a->p->bv), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, a->p->bv);
	for (at = 0; at < len; at += n, off = 0) {
		struct page *page = alloc_page(GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, page);
		n = min_t(u32, len - at, PAGE_SIZE - off);
		memcpy(page_address(page) + off, a->bytes + at, n);
		get_page(page);
		a->page[a->n++] = page;
		a->p->bv[a->p->segs++] =
			(struct bio_vec){.bv_page = page, .bv_offset = off, .bv_len = n};
	}
	return a;
}

/* The program's pages are its own again, and nobody else's. */
static void done(struct kunit *test, struct pinned *a)
{
	unsigned int i;

	for (i = 0; i < a->n; i++) {
		KUNIT_EXPECT_EQ(test, page_count(a->page[i]), 1);
		put_page(a->page[i]);
	}
}

static const struct {
	u32 len, off;
} places[] = {{1, 4095},
	      {100, 0},
	      {RDS_PAYLOAD_FLAT_MAX, 4000},
	      {RDS_PAYLOAD_FLAT_MAX + 1, 700},
	      {4096, 0},
	      {4096, 1},
	      {40000, 4090},
	      {65536, 100},
	      {100000, 4095}};

static void parts_of_it(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		struct pinned *a = pin(test, places[i].len, places[i].off);
		u32 len = places[i].len;

		KUNIT_EXPECT_TRUE(test, rds_test_same(test, a->p, a->bytes, 0, len));
		KUNIT_EXPECT_TRUE(test,
				  rds_test_same(test, a->p, a->bytes, len / 2, len - len / 2));
		KUNIT_EXPECT_TRUE(test, rds_test_same(test, a->p, a->bytes, len - 1, 1));
		rds_payload_destroy(a->p);
		done(test, a);
	}
}

/* A copy takes its place, which the program cannot change any more. */
static void a_copy_of_its_own(struct kunit *test)
{
	int i, j;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		struct pinned *a = pin(test, places[i].len, places[i].off);
		u32 len = places[i].len;

		KUNIT_EXPECT_EQ(test, rds_payload_unpin(a->p), 0);
		KUNIT_EXPECT_EQ(test, (int)a->p->kind,
				len <= RDS_PAYLOAD_FLAT_MAX ? (int)RDS_PAYLOAD_FLAT
							    : (int)RDS_PAYLOAD_PAGES);
		KUNIT_EXPECT_EQ(test, a->p->have, len);
		for (j = 0; j < a->n; j++)
			memset(page_address(a->page[j]), 0xee, PAGE_SIZE);
		KUNIT_EXPECT_TRUE(test, rds_test_same(test, a->p, a->bytes, 0, len));
		done(test, a);
		rds_payload_destroy(a->p);
	}
}

/* Without memory for the copy it stays as it is. */
static void no_memory_for_a_copy(struct kunit *test)
{
#ifdef CONFIG_FAULT_INJECTION
	struct rds_payload **held = kunit_kcalloc(test, IDLE, sizeof(*held), GFP_KERNEL);
	struct pinned *a = pin(test, 4096, 100);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, held);
	/* No page lies in the pool. */
	for (i = 0; i < IDLE; i++) {
		held[i] = rds_test_payload(test, 4096);
		KUNIT_ASSERT_EQ(test, rds_payload_init(held[i], 4096, NULL, 4096, RDS_MAY_SLEEP),
				0);
	}
	current->fail_nth = 1;
	KUNIT_EXPECT_EQ(test, rds_payload_unpin(a->p), -ENOMEM);
	KUNIT_EXPECT_EQ(test, current->fail_nth, 0);
	current->fail_nth = 0;
	KUNIT_EXPECT_EQ(test, (int)a->p->kind, (int)RDS_PAYLOAD_PINNED);
	KUNIT_EXPECT_EQ(test, (int)a->p->segs, 2);
	KUNIT_EXPECT_TRUE(test, rds_test_same(test, a->p, a->bytes, 0, 4096));
	rds_payload_destroy(a->p);
	done(test, a);
	for (i = 0; i < IDLE; i++)
		rds_payload_destroy(held[i]);
#else
	KUNIT_FAIL(test, "this kernel cannot make allocations fail");
#endif
}

/* One that did not fit into kmalloc's memory goes later than what is done in an RCU section. */
static void a_large_table(struct kunit *test)
{
	struct bio_vec *large = vmalloc(MOST * sizeof(*large));
	struct pinned *a = pin(test, 40000, 4090);

	KUNIT_ASSERT_NOT_NULL(test, large);
	memcpy(large, a->p->bv, a->p->segs * sizeof(*large));
	kvfree(a->p->bv);
	a->p->bv = large;
	rcu_read_lock();
	rds_payload_destroy(a->p);
	KUNIT_EXPECT_NOT_NULL(test, vmalloc_to_page(large));
	rcu_read_unlock();
	done(test, a);
}

static struct kunit_case cases[] = {KUNIT_CASE(parts_of_it),
				    KUNIT_CASE(a_large_table),
				    KUNIT_CASE(a_copy_of_its_own),
				    KUNIT_CASE(no_memory_for_a_copy),
				    {}};

static struct kunit_suite suite = {.name = "rds_pinned", .test_cases = cases};
kunit_test_suite(suite);
