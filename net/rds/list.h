/* SPDX-License-Identifier: GPL-2.0 */
/*
 * list.h: intrusive doubly linked list.  An object is on at most one list per node; what being on
 * the list means for its lifetime is said where the list is declared.
 */
#ifndef RDS_LIST_H
#define RDS_LIST_H

#include "bug.h"
#include "ref.h"

namespace rds
{

struct ListNode {
	ListNode *next = nullptr; /* nullptr: on no list */
	ListNode *prev = nullptr;

	RDS_INLINE bool linked() const
	{
		return next != nullptr;
	}
};

template <typename T, ListNode T::*M>
class List final
{
public:
	List()
	{
		reset();
	}
	List(const List &) = delete;
	List &operator=(const List &) = delete;

	RDS_INLINE bool empty() const
	{
		return head_.next == &head_;
	}
	RDS_INLINE T *front() const
	{
		return empty() ? nullptr : item(head_.next);
	}
	RDS_INLINE T *back() const
	{
		return empty() ? nullptr : item(head_.prev);
	}
	/* The one after @t, nullptr at the end. */
	RDS_INLINE T *next(const T *t) const
	{
		return (t->*M).next == &head_ ? nullptr : item((t->*M).next);
	}
	RDS_INLINE void push_back(T *t)
	{
		insert(&(t->*M), head_.prev, &head_);
	}
	RDS_INLINE void push_front(T *t)
	{
		insert(&(t->*M), &head_, head_.next);
	}
	/* Before @pos; at the end when @pos is nullptr. */
	RDS_INLINE void insert_before(T *pos, T *t)
	{
		ListNode *at = pos ? &(pos->*M) : &head_;

		insert(&(t->*M), at->prev, at);
	}
	RDS_INLINE void remove(T *t)
	{
		ListNode *n = &(t->*M);

		if (bug_on_hot(!n->linked(), "what is on no list is taken off one"))
			return;
		n->prev->next = n->next;
		n->next->prev = n->prev;
		n->next = n->prev = nullptr;
	}
	RDS_INLINE T *pop_front()
	{
		T *t = front();

		if (t)
			remove(t);
		return t;
	}
	/* Takes everything from @other, in order, behind what is here. */
	RDS_INLINE void splice_back(List &other)
	{
		if (other.empty())
			return;
		other.head_.next->prev = head_.prev;
		head_.prev->next = other.head_.next;
		other.head_.prev->next = &head_;
		head_.prev = other.head_.prev;
		other.reset();
	}

private:
	static RDS_INLINE T *item(ListNode *n)
	{
		return container_of(n, M);
	}
	static RDS_INLINE void insert(ListNode *n, ListNode *prev, ListNode *next)
	{
		if (bug_on_hot(n->linked(), "what is on a list is put on one"))
			return;
		n->next = next;
		n->prev = prev;
		prev->next = n;
		next->prev = n;
	}
	RDS_INLINE void reset()
	{
		head_.next = head_.prev = &head_;
	}

	mutable ListNode head_;
};

} // namespace rds
#endif
