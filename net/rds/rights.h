/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rights.h: in which role a function runs, as capabilities that the compiler checks (annotate.h).
 *
 *	kWorker		a turn of a connection's worker (conn_worker.cc)
 *	kSender		the task that has a path's token (path_xmit.cc)
 *	kReceiver	the one task that a transport lets receive for a path (recv.cc)
 *	kRcu		an RCU reader (ref.h): what it has found stays.  Any number share it
 *	kMaySleep	a task that may wait for memory: it holds no spinlock and is no RCU reader
 *
 * A right is no lock: nobody waits for it, and it costs no instruction.  Its role begins where a
 * Guard takes it, and there is written why it may: a work item never runs twice at once, the token
 * was taken under the path's lock, the system call came from a program.  Each right stands for its
 * kind: to the compiler that of another path is the same.
 */
#ifndef RDS_RIGHTS_H
#define RDS_RIGHTS_H

#include "../platform/types.h"
#include "annotate.h"

namespace rds
{

class RDS_CAPABILITY("right") Right final
{
public:
	RDS_INLINE void lock() const RDS_ACQUIRE()
	{
	}
	RDS_INLINE void unlock() const RDS_RELEASE()
	{
	}
};

inline constexpr Right kWorker, kSender, kReceiver, kRcu, kMaySleep;

} // namespace rds

/* The function may wait for memory. */
#define RDS_SLEEPS RDS_REQUIRES(::rds::kMaySleep) RDS_EXCLUDES(::rds::kRcu)
/* The function is of a turn of a connection's worker. */
#define RDS_TURN RDS_REQUIRES(::rds::kWorker) RDS_SLEEPS

#endif
