/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reach.h: private members, for those who watch the core and must not change it.  The language lets
 * an explicit instantiation name them.
 *
 *	RDS_REACH(events, &rds_path::events_)	object.*reach(events()) is the member from here on
 */
#ifndef RDS_TESTS_REACH_H
#define RDS_TESTS_REACH_H

template <typename Tag, auto kMember>
struct Reach {
	friend constexpr auto reach(Tag)
	{
		return kMember;
	}
};

#define RDS_REACH(tag, member)                                                                     \
	struct tag {                                                                               \
		friend constexpr auto reach(tag);                                                  \
	};                                                                                         \
	template struct Reach<tag, member>;

#endif
