// SPDX-License-Identifier: GPL-2.0
/*
 * rds_info.c: getsockopt(RDS_INFO_*): snapshots of tables as arrays of packed structs.
 *
 * Success returns the size of one element, a positive number; the length of the whole goes to
 * *optlen, also with -ENOSPC.  The list is walked into kernel memory and copied out afterwards,
 * because walking holds locks: once to count, and once more when there is room.
 *
 * Rows are kept in pages, each of them a piece for itself: a table may be as large as it likes, and
 * the kernel maps and copies a large piece without asking whether others are to run.
 */
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/nospec.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "glue.h"

struct info_page {
	struct list_head link;
	u8 rows[PAGE_SIZE - sizeof(struct list_head)];
};

struct rds_info_buf {
	struct info_page *page; /* of those that follow each other */
	size_t filled;		/* bytes of it */
	size_t room;		/* bytes left, in all of them */
	size_t total;		/* bytes that all elements need */
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
	if (b->filled + b->each > sizeof(b->page->rows)) {
		b->page = list_next_entry(b->page, link);
		b->filled = 0;
	}
	memcpy(b->page->rows + b->filled, element, b->each);
	b->filled += b->each;
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

struct rds_socket *rds_info_asks(const struct rds_info_buf *b)
{
	return b->viewer->asks;
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

/* A table's rows, to be copied out once the sources are let go. */
struct snapshot {
	unsigned int each;
	size_t total; /* bytes that all elements need */
	size_t bytes; /* of them are in @pages */
	struct list_head pages;
};

/* Bytes of rows that a page has. */
static size_t page_room(const struct snapshot *s)
{
	return rounddown(sizeof(((struct info_page *)NULL)->rows), s->each);
}

/* Pages for @room bytes of rows: 0, or -ENOMEM. */
static int make_room(struct snapshot *s, size_t room)
{
	struct info_page *page;
	size_t at;

	for (at = 0; at < room; at += page_room(s)) {
		page = fatal_signal_pending(current)
			       ? NULL
			       : (void *)__get_free_page(GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		if (!page)
			return -ENOMEM;
		list_add(&page->link, &s->pages);
		cond_resched();
	}
	return 0;
}

static void give_room(struct snapshot *s)
{
	struct info_page *page, *next;

	list_for_each_entry_safe(page, next, &s->pages, link) {
		free_page((unsigned long)page);
		cond_resched();
	}
}

/* 0, or -EFAULT. */
static int copy_out(const struct snapshot *s, char __user *to)
{
	const struct info_page *page;
	size_t at = 0, n;

	list_for_each_entry(page, &s->pages, link) {
		n = min(s->bytes - at, page_room(s));
		if (copy_to_user(to + at, page->rows, n))
			return -EFAULT;
		at += n;
		cond_resched();
	}
	return 0;
}

/* Walks the list: its size, and into @room bytes of @s as much as fits. */
static size_t collect(const struct info_source *src, struct net *net,
		      const struct rds_viewer *viewer, struct snapshot *s, size_t room)
{
	struct rds_info_buf b = {
		.page = list_first_entry_or_null(&s->pages, struct info_page, link),
		.room = room,
		.each = src->each,
		.viewer = viewer};

	if (viewer->all || !(src->flags & RDS_TABLE_OF_ALL))
		src->fn(net, &b);
	return b.total;
}

/* 0, and @s; -ERESTART: the list grew beyond our guess.  Under sources_sem. */
static int take(const struct info_source *src, struct net *net, const struct rds_viewer *viewer,
		size_t len, struct snapshot *s)
{
	const bool whole = src->flags & RDS_TABLE_WHOLE;
	size_t room;

	s->each = src->each;
	s->total = collect(src, net, viewer, s, 0);
	if (!len || !s->total || (whole && len < s->total))
		return 0;
	/* It may grow meanwhile: some more, but never more than is asked for. */
	room = rounddown(min(len, s->total + s->total / 4 + PAGE_SIZE), s->each);
	if (make_room(s, room))
		return -ENOMEM;
	s->total = collect(src, net, viewer, s, room);
	if (s->total > room && len - room >= s->each)
		return -ERESTART;
	if (!(whole && s->total > len))
		s->bytes = min(s->total, room);
	return 0;
}

/* Copying takes as long as the caller's memory likes, and a writer of the sources that waits keeps
 * every reader out: so none of them is held up by it. */
static int snapshot(int optname, struct net *net, const struct rds_viewer *viewer, char __user *to,
		    size_t len, struct snapshot *s)
{
	const struct info_source *src =
		&sources[array_index_nospec(optname - RDS_INFO_FIRST, ARRAY_SIZE(sources))];
	int err = -ENOPROTOOPT;

	INIT_LIST_HEAD(&s->pages);
	down_read(&sources_sem);
	if (src->fn)
		err = take(src, net, viewer, len, s);
	up_read(&sources_sem);
	if (!err)
		err = copy_out(s, to);
	give_room(s);
	return err;
}

int rds_info_getsockopt(struct sock *sk, int optname, char __user *optval, int __user *optlen,
			int len)
{
	struct rds_viewer viewer = rds_viewer_of_call(sock_net(sk));
	struct snapshot s;
	int ret;

	if (len < 0 || len > INT_MAX - (int)PAGE_SIZE + 1 ||
	    (unsigned long)optval + len < (unsigned long)optval)
		return -EINVAL;
	viewer.asks = rds_core(sk);
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
