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
 * A user's walks through paths' queues take turns.  A walk stands in a queue between two steps, and
 * the queue moves it on, under its lock, whenever a message comes or leaves (send_queue.h).  A user
 * may have thousands of threads that take messages back, close, or ask for tables: standing side by
 * side they would make each message of everybody else's dear.  So a queue has one walk of each user
 * at most, beside its worker's own.
 *
 * When a user is refused a connection, some of those that it has and nobody uses make room: they
 * are due, and the sweep does not wait idle_timeout_ms for them (conn_idle.cc).
 *
 * One lock for all, which is innermost; taken when a socket or a connection comes or goes.  A turn
 * is a mutex of its user, outside of all spin locks; taken for one path at a time.
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
	/* @walk is one through a path's queue, by a socket of the user's, and is done in turn.  Not
	 * where the calling program is killed before that: then only a @needed one is, which waits
	 * on.  Process. */
	template <typename F>
	void take_turn(bool needed, F walk) RDS_SLEEPS RDS_NO_TSA
	{
		if (needed)
			turn_.lock();
		else if (!turn_.lock_killable().ok())
			return;
		walk();
		turn_.unlock();
	}

	ListNode link; /* in its bucket */
	const uint32_t uid;
	uint32_t has[2] = {}; /* by Has; Users::lock_ */
	Atomic<uint32_t> due; /* connections that are to go as soon as they are idle */

private:
	Mutex<RDS_RANK_LOOK> turn_;
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
