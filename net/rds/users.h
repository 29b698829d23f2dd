/* SPDX-License-Identifier: GPL-2.0 */
/*
 * users.h: what each user has of a namespace that its users share: sockets, and so ports; and
 * connections that its sockets have made.
 *
 * A user is a number that the platform gives (rds_socket_init()), and is here while it has
 * anything.  Beyond what one user may have it is told EDQUOT, and everybody else goes on; whoever
 * administers the namespace may have more.  A socket counts until it is released, a connection
 * until its memory goes, whoever else may use it meanwhile.
 *
 * When a user is refused a connection, some of those that it has and nobody uses make room: they
 * are due, and the sweep does not wait idle_timeout_ms for them (conn_idle.cc).
 *
 * One lock, which is innermost; taken when a socket or a connection comes or goes.
 */
#ifndef RDS_USERS_H
#define RDS_USERS_H

#include "list.h"
#include "lock.h"
#include "result.h"
#include "rights.h"

namespace rds
{

enum class Has : uint8_t { kSockets, kConns };

struct User {
	explicit User(uint32_t uid) : uid(uid)
	{
	}

	ListNode link; /* in its bucket */
	const uint32_t uid;
	uint32_t has[2] = {}; /* by Has; Users::lock_ */
	Atomic<uint32_t> due; /* connections that are to go as soon as they are idle */
};

class Users final
{
public:
	Users() = default;
	Users(const Users &) = delete;
	Users &operator=(const Users &) = delete;
	~Users();

	/* One more of @what for @uid, which may have @most, or more where the caller administers
	 * @os.  -EDQUOT; -ENOMEM.  Process. */
	Result<User *> take(uint32_t uid, Has what, uint32_t most, struct rds_os_net *os) RDS_SLEEPS
		RDS_EXCLUDES(lock_);
	/* It is gone.  Any context. */
	void give(User &u, Has what) RDS_EXCLUDES(lock_);

	/* True: a connection of @u's that is idle is to go, one less then.  Any context. */
	static bool take_due(User &u);

	/* For who looks: a snapshot. */
	uint32_t count(uint32_t uid, Has what) RDS_EXCLUDES(lock_);

private:
	static constexpr unsigned int kBuckets = 64;

	User *find(uint32_t uid) RDS_REQUIRES(lock_);
	Result<User *> take_locked(uint32_t uid, Has what, uint32_t most, User *&spare)
		RDS_REQUIRES(lock_);

	Spinlock<RDS_RANK_USERS> lock_;
	List<User, &User::link> buckets_[kBuckets] RDS_GUARDED_BY(lock_);
};

} // namespace rds
#endif
