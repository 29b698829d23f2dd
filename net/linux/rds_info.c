// SPDX-License-Identifier: GPL-2.0
/*
 * rds_info.c: getsockopt(RDS_INFO_*): snapshots of tables as arrays of packed structs.
 *
 * Success returns the size of one element, a positive number; the length of the whole goes to
 * *optlen, also with -ENOSPC.  The list is walked into kernel memory and copied out afterwards,
 * because walking holds locks: once to count, and once more when there is room.
 */
#include <linux/mm.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "glue.h"

struct rds_info_buf {
	u8 *at;
	size_t room;  /* bytes left at @at */
	size_t total; /* bytes that all elements need */
	unsigned int each;
	const struct rds_viewer *viewer;
};

struct info_source {
	unsigned int each;
	unsigned int flags; /* enum rds_table_flags */
	void (*fn)(struct net *net, struct rds_info_buf *b);
};

static struct info_source sources[RDS_INFO_LAST - RDS_INFO_FIRST + 1];
/* Readers call a source, writers come and go with their modules.  Nobody holds it for a program. */
static DECLARE_RWSEM(sources_sem);

void rds_info_add(struct rds_info_buf *b, const void *element)
{
	b->total += b->each;
	if (b->room < b->each)
		return;
	memcpy(b->at, element, b->each);
	b->at += b->each;
	b->room -= b->each;
}
EXPORT_SYMBOL_GPL(rds_info_add);

bool rds_info_is_for_admin(const struct rds_info_buf *b)
{
	return b->viewer->admin;
}
EXPORT_SYMBOL_GPL(rds_info_is_for_admin);

bool rds_info_shows(const struct rds_info_buf *b, const struct sock *sk)
{
	return rds_viewer_sees(b->viewer, sk);
}

int rds_info_register(int optname, unsigned int each, unsigned int flags,
		      void (*fn)(struct net *net, struct rds_info_buf *b))
{
	struct info_source *src;
	int err = -EEXIST;

	if (optname < RDS_INFO_FIRST || optname > RDS_INFO_LAST)
		return -EINVAL;
	src = &sources[optname - RDS_INFO_FIRST];
	down_write(&sources_sem);
	if (!src->fn) {
		*src = (struct info_source){.each = each, .flags = flags, .fn = fn};
		err = 0;
	}
	up_write(&sources_sem);
	return err;
}
EXPORT_SYMBOL_GPL(rds_info_register);

void rds_info_unregister(int optname)
{
	down_write(&sources_sem);
	sources[optname - RDS_INFO_FIRST].fn = NULL;
	up_write(&sources_sem);
}
EXPORT_SYMBOL_GPL(rds_info_unregister);

/*
 * Walks the list of a code: its size, and into @b as much as fits; *@src is what was walked.  Only
 * meanwhile is the semaphore held: copying to a program may take as long as the program likes (its
 * memory may be a file of its own making), and modules wait for who holds it, and all readers for
 * modules.
 */
static int collect(int optname, struct net *net, struct rds_info_buf *b, struct info_source *src)
{
	int err = -ENOPROTOOPT;

	down_read(&sources_sem);
	*src = sources[optname - RDS_INFO_FIRST];
	if (src->fn) {
		b->each = src->each;
		if (b->viewer->all || !(src->flags & RDS_TABLE_OF_ALL))
			src->fn(net, b);
		err = 0;
	}
	up_read(&sources_sem);
	return err;
}

/* Copies out what there is room for; *@total is what all needs. */
static int snapshot(int optname, struct net *net, const struct rds_viewer *viewer, char __user *to,
		    size_t len, size_t *total)
{
	struct rds_info_buf size = {.viewer = viewer}, b = {.viewer = viewer};
	struct info_source src;
	size_t room;
	bool whole;
	void *buf;
	int err = collect(optname, net, &size, &src);

	*total = size.total;
	whole = src.flags & RDS_TABLE_WHOLE;
	if (err)
		return err;
	if (!len || !*total || (whole && len < *total))
		return src.each;
	/* It may grow meanwhile: some more, but never more than is asked for. */
	room = min(len, *total + *total / 4 + PAGE_SIZE);
	buf = kvmalloc(room, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!buf)
		return -ENOMEM;
	b.at = buf;
	b.room = room;
	err = collect(optname, net, &b, &src) ?: src.each;
	*total = b.total;
	if (err > 0 && *total > room && len > room)
		err = -ERESTART; /* grew beyond our guess */
	else if (err > 0 && !(whole && *total > len) && copy_to_user(to, buf, b.at - (u8 *)buf))
		err = -EFAULT;
	kvfree(buf);
	return err;
}

int rds_info_getsockopt(struct sock *sk, int optname, char __user *optval, int __user *optlen,
			int len)
{
	const struct rds_viewer viewer = rds_viewer_of_call(sock_net(sk));
	size_t total = 0;
	int ret;

	if (len < 0 || len > INT_MAX - (int)PAGE_SIZE + 1 ||
	    (unsigned long)optval + len < (unsigned long)optval)
		return -EINVAL;
	do {
		ret = snapshot(optname, sock_net(sk), &viewer, optval, len, &total);
		cond_resched();
	} while (ret == -ERESTART && !fatal_signal_pending(current));
	if (ret > 0 && total > len)
		ret = -ENOSPC;
	if ((ret > 0 || ret == -ENOSPC) && put_user((int)min_t(size_t, total, INT_MAX), optlen))
		ret = -EFAULT;
	return ret;
}
