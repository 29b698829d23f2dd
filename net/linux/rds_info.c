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
/* Readers call a source, writers come and go with their modules. */
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

/* Walks the list: its size, and into @room bytes at @at as much as fits. */
static size_t collect(const struct info_source *src, struct net *net,
		      const struct rds_viewer *viewer, void *at, size_t room)
{
	struct rds_info_buf b = {.at = at, .room = room, .each = src->each, .viewer = viewer};

	if (viewer->all || !(src->flags & RDS_TABLE_OF_ALL))
		src->fn(net, &b);
	return b.total;
}

/* A table's rows, to be copied out once the sources are let go. */
struct snapshot {
	unsigned int each;
	size_t total; /* bytes that all elements need */
	size_t bytes; /* of them are in @buf */
	void *buf;
};

/* 0, and @s; -ERESTART: the list grew beyond our guess.  Under sources_sem. */
static int take(const struct info_source *src, struct net *net, const struct rds_viewer *viewer,
		size_t len, struct snapshot *s)
{
	const bool whole = src->flags & RDS_TABLE_WHOLE;
	size_t room;

	s->each = src->each;
	s->total = collect(src, net, viewer, NULL, 0);
	if (!len || !s->total || (whole && len < s->total))
		return 0;
	/* It may grow meanwhile: some more, but never more than is asked for. */
	room = min(len, s->total + s->total / 4 + PAGE_SIZE);
	s->buf = kvmalloc(room, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!s->buf)
		return -ENOMEM;
	s->total = collect(src, net, viewer, s->buf, room);
	if (s->total > room && len > room)
		return -ERESTART;
	if (!(whole && s->total > len))
		s->bytes = min(s->total, rounddown(room, s->each));
	return 0;
}

/* Copying takes as long as the caller's memory likes, and a writer of the sources that waits keeps
 * every reader out: so none of them is held up by it. */
static int snapshot(int optname, struct net *net, const struct rds_viewer *viewer, char __user *to,
		    size_t len, struct snapshot *s)
{
	const struct info_source *src = &sources[optname - RDS_INFO_FIRST];
	int err = -ENOPROTOOPT;

	down_read(&sources_sem);
	if (src->fn)
		err = take(src, net, viewer, len, s);
	up_read(&sources_sem);
	if (!err && copy_to_user(to, s->buf, s->bytes))
		err = -EFAULT;
	kvfree(s->buf);
	return err;
}

int rds_info_getsockopt(struct sock *sk, int optname, char __user *optval, int __user *optlen,
			int len)
{
	const struct rds_viewer viewer = rds_viewer_of_call(sock_net(sk));
	struct snapshot s;
	int ret;

	if (len < 0 || len > INT_MAX - (int)PAGE_SIZE + 1 ||
	    (unsigned long)optval + len < (unsigned long)optval)
		return -EINVAL;
	do {
		s = (struct snapshot){};
		ret = snapshot(optname, sock_net(sk), &viewer, optval, len, &s);
		cond_resched();
	} while (ret == -ERESTART && !fatal_signal_pending(current));
	if (ret)
		return ret;
	if (put_user((int)min_t(size_t, s.total, INT_MAX), optlen))
		return -EFAULT;
	return s.total > len ? -ENOSPC : s.each;
}
