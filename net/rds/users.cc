// SPDX-License-Identifier: GPL-2.0
#include "users.h"

#include "hash.h"

namespace rds
{

Users::~Users()
{
	Guard g(lock_);

	for (auto &b : buckets_)
		bug_on(!b.empty(), "a user has something of a namespace that is gone");
}

User *Users::find(uint32_t uid)
{
	auto &b = buckets_[hash_mix(uid) % kBuckets];
	User *u = b.front();

	while (u && u->uid != uid)
		u = b.next(u);
	return u;
}

/* @spare becomes the user, if there is none. */
Result<User *> Users::take_locked(uint32_t uid, Has what, uint32_t most, User *&spare)
{
	User *u = find(uid);

	if ((u ? u->has[static_cast<uint8_t>(what)] : 0) >= most) {
		if (u && what == Has::kConns)
			u->due.store((u->has[static_cast<uint8_t>(what)] + kDuePart - 1) /
				     kDuePart);
		return Status::fail(err::kEdquot);
	}
	if (!u) {
		if (!spare)
			return Status::fail(err::kEnomem);
		u = spare;
		spare = nullptr;
		buckets_[hash_mix(uid) % kBuckets].push_front(u);
	}
	u->has[static_cast<uint8_t>(what)]++;
	return u;
}

Result<User *> Users::take(uint32_t uid, Has what, uint32_t most, struct rds_os_net *os)
{
	Result<User *> got = Status::fail(err::kEnomem);
	User *spare = nullptr;
	{
		Guard g(lock_);

		got = take_locked(uid, what, most, spare);
	}
	if (got.status().is(err::kEdquot) && rds_caller_is_admin(os))
		most = ~0u;
	else if (!got.status().is(err::kEnomem))
		return got;
	/* It is new here, or may have more than others. */
	spare = create<User>(may_sleep(), uid);
	{
		Guard g(lock_);

		got = take_locked(uid, what, most, spare);
		if (got.ok() && most == ~0u)
			got.value()->due.store(0);
	}
	destroy(spare);
	return got;
}

void Users::give(User &u, Has what)
{
	bool gone;
	{
		Guard g(lock_);
		uint32_t &n = u.has[static_cast<uint8_t>(what)];

		if (bug_on(!n, "a user gives back what it has not"))
			return;
		n--;
		gone = !u.has[0] && !u.has[1];
		if (gone)
			buckets_[hash_mix(u.uid) % kBuckets].remove(&u);
	}
	if (gone)
		destroy(&u);
}

bool Users::take_due(User &u)
{
	uint32_t n = u.due.load();

	while (n && !u.due.compare_exchange(n, n - 1))
		;
	return n;
}

uint32_t Users::count(uint32_t uid, Has what)
{
	Guard g(lock_);
	const User *u = find(uid);

	return u ? u->has[static_cast<uint8_t>(what)] : 0;
}

} // namespace rds
