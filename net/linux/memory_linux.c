// SPDX-License-Identifier: GPL-2.0
/*
 * memory_linux.c: the seam's memory on Linux (platform.h): kmalloc, and caches of what there is
 * much of.  kfree() takes what comes from any of them.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "glue.h"
#include "platform_linux.h"

/*
 * Messages have caches of their own, with a constructor that does nothing: objects with one are the
 * only ones that init_on_alloc (Debian's default) does not clear each time they are taken.
 */
static struct {
	const char *name;
	unsigned int size;
	struct kmem_cache *cache;
} rds_msg_caches[] = {
	{.name = "rds_msg_256", .size = 256},	{.name = "rds_msg_512", .size = 512},
	{.name = "rds_msg_1024", .size = 1024}, {.name = "rds_msg_2048", .size = 2048},
	{.name = "rds_msg_4096", .size = 4096},
};

static void rds_msg_is_made_later(void *msg)
{
}

/* kmalloc would round a path up to 1024 bytes and a connection up to 512. */
static struct kmem_cache *rds_object_caches[RDS_OBJECTS];

static int init_object_caches(void)
{
	static const char *const names[RDS_OBJECTS] = {
		[RDS_OBJECT_CONN] = "rds_conn",
		[RDS_OBJECT_PATH] = "rds_path",
	};
	unsigned int i;

	for (i = 0; i < RDS_OBJECTS; i++) {
		rds_object_caches[i] =
			kmem_cache_create(names[i], rds_core_size(i), 0, SLAB_HWCACHE_ALIGN, NULL);
		if (!rds_object_caches[i])
			return -ENOMEM;
	}
	return 0;
}

/* Programs' bytes are copied into and out of any part of one behind the header. */
static int init_msg_caches(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rds_msg_caches); i++) {
		unsigned int size = rds_msg_caches[i].size;

		rds_msg_caches[i].cache = kmem_cache_create_usercopy(rds_msg_caches[i].name, size,
								     0, SLAB_HWCACHE_ALIGN, 0, size,
								     rds_msg_is_made_later);
		if (!rds_msg_caches[i].cache)
			return -ENOMEM;
	}
	return 0;
}

void rds_memory_exit(void)
{
	unsigned int i;

	for (i = 0; i < RDS_OBJECTS; i++)
		kmem_cache_destroy(rds_object_caches[i]);
	for (i = 0; i < ARRAY_SIZE(rds_msg_caches); i++)
		kmem_cache_destroy(rds_msg_caches[i].cache);
}

int rds_memory_init(void)
{
	int err = init_msg_caches();

	if (!err)
		err = init_object_caches();
	if (err)
		rds_memory_exit();
	return err;
}

static gfp_t of_context(enum rds_ctx ctx)
{
	return ctx == RDS_MAY_SLEEP ? GFP_KERNEL : GFP_ATOMIC | __GFP_NOWARN;
}

void *rds_alloc(size_t size, enum rds_ctx ctx)
{
	/* The cgroup of the program whose call this is pays; a worker or a softirq has none. */
	gfp_t gfp = __GFP_ACCOUNT | of_context(ctx);

	/* Buckets of big tables do not fit the slab allocator. */
	if (size > PAGE_SIZE * 2 && ctx == RDS_MAY_SLEEP)
		return kvmalloc(size, gfp);
	return kmalloc(size, gfp);
}

void *rds_alloc_msg(size_t size, enum rds_ctx ctx)
{
	unsigned int i = size <= 256 ? 0 : ilog2(size - 1) - 7;

	if (WARN_ON_ONCE(i >= ARRAY_SIZE(rds_msg_caches)))
		return NULL;
	return kmem_cache_alloc(rds_msg_caches[i].cache, of_context(ctx));
}

void *rds_alloc_object(enum rds_object what, enum rds_ctx ctx)
{
	return kmem_cache_alloc(rds_object_caches[what], __GFP_ACCOUNT | of_context(ctx));
}

void rds_free_many(size_t n, void **p)
{
	kfree_bulk(n, p);
}

void rds_free(void *p)
{
	kvfree(p);
}
