// SPDX-License-Identifier: GPL-2.0
/* Pages of payloads are used again: which ones, in which order, how many; those that somebody else
 * has still, and those of the emergency reserve, are not. */
#include <linux/mm.h>

#include "kunit_rds.h"

#define TRIES 4	 /* pages of no use that are looked at for one */
#define ORDERS 6 /* and those below */
#define OVER 6	 /* pages more than are kept */

/* Pages of @order that may lie idle. */
static unsigned int kept(unsigned int order)
{
	return order < 3 ? 256 : 64;
}

/* A payload that is one page of @order. */
static struct rds_payload *take(struct kunit *test, unsigned int order)
{
	const u32 len = PAGE_SIZE << order;
	struct rds_payload *p = rds_test_payload(test, len);

	KUNIT_ASSERT_EQ(test, rds_payload_init(p, len, NULL, len, RDS_MAY_SLEEP), 0);
	KUNIT_ASSERT_EQ(test, (int)p->segs, 1);
	return p;
}

static struct page *page_of(const struct rds_payload *p)
{
	return rds_payload_bvecs(p)->bv_page;
}

static void take_all(struct kunit *test, struct rds_payload **p, unsigned int n, unsigned int order)
{
	while (n--)
		*p++ = take(test, order);
}

static void destroy_all(struct rds_payload **p, unsigned int n)
{
	while (n--)
		rds_payload_destroy(*p++);
}

/* Payloads that have emptied the pool, and keep it so until they go. */
static struct rds_payload **drain(struct kunit *test, unsigned int order)
{
	struct rds_payload **p = kunit_kcalloc(test, kept(order), sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	take_all(test, p, kept(order), order);
	return p;
}

/* Twice, so that the ring is passed round; more than it holds go back to the kernel. */
static void pass_round(struct kunit *test, unsigned int order)
{
	const unsigned int most = kept(order), n = most + OVER;
	struct rds_payload **drained = drain(test, order);
	struct rds_payload **p = kunit_kcalloc(test, n, sizeof(*p), GFP_KERNEL);
	struct page **was = kunit_kcalloc(test, n, sizeof(*was), GFP_KERNEL);
	unsigned int round, i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_NOT_NULL(test, was);
	take_all(test, p, n, order);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < n; i++)
			was[i] = page_of(p[i]);
		destroy_all(p, n);
		take_all(test, p, n, order);
		for (i = 0; i < most; i++)
			KUNIT_EXPECT_PTR_EQ(test, page_of(p[i]), was[i]);
		/* Some come and go, so that the ring begins elsewhere. */
		destroy_all(p, most / 3);
		take_all(test, p, most / 3, order);
	}
	destroy_all(p, n);
	destroy_all(drained, most);
}

static void the_oldest_comes_first(struct kunit *test)
{
	unsigned int order;

	for (order = 0; order < ORDERS; order++)
		pass_round(test, order);
}

/* A page that was sent without a copy is in the network's hands still. */
static void those_of_others_are_given_up(struct kunit *test)
{
	struct rds_payload *p[TRIES + 1], *q[2], **drained = drain(test, 0);
	struct page *was[TRIES + 1];
	int i;

	take_all(test, p, ARRAY_SIZE(p), 0);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		was[i] = page_of(p[i]);
	for (i = 0; i < TRIES; i++)
		get_page(was[i]);
	destroy_all(p, ARRAY_SIZE(p));
	take_all(test, q, 2, 0);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		KUNIT_EXPECT_PTR_NE(test, page_of(q[0]), was[i]);
	KUNIT_EXPECT_PTR_EQ(test, page_of(q[1]), was[TRIES]);
	for (i = 0; i < TRIES; i++) {
		KUNIT_EXPECT_EQ(test, page_count(was[i]), 1);
		put_page(was[i]);
	}
	destroy_all(q, 2);
	destroy_all(drained, kept(0));
}

static void the_reserve_gets_its_own_back(struct kunit *test)
{
	struct rds_payload *p[2], **drained = drain(test, 0);
	struct page *next;

	take_all(test, p, 2, 0);
	set_page_pfmemalloc(page_of(p[0]));
	next = page_of(p[1]);
	destroy_all(p, 2);
	p[0] = take(test, 0);
	KUNIT_EXPECT_PTR_EQ(test, page_of(p[0]), next);
	destroy_all(p, 1);
	destroy_all(drained, kept(0));
}

static struct kunit_case cases[] = {KUNIT_CASE(the_oldest_comes_first),
				    KUNIT_CASE(those_of_others_are_given_up),
				    KUNIT_CASE(the_reserve_gets_its_own_back),
				    {}};

static struct kunit_suite suite = {.name = "rds_pool", .test_cases = cases};
kunit_test_suite(suite);
