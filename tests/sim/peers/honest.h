/* SPDX-License-Identifier: GPL-2.0 */
/*
 * honest.h: a host that is not our core and keeps the protocol's promises: mainline's, over byte
 * streams (mainline.h) or queue pairs (paired.h), or an old release of ours, over either.
 */
#ifndef RDS_TESTS_HONEST_H
#define RDS_TESTS_HONEST_H

#include <functional>

#include "host.h"

namespace peer
{

/* Mainline's of 6.x or 7.x; or ours as of 1c1cce6, without what came after: it says hello,
 * acknowledges by number and keeps what the other's RDS has not, and says all of its own at once
 * to whoever calls. */
enum class Version { k6, k7, kOld };

class Honest
{
public:
	Honest(const struct rds_addr &addr, Version v) : addr(addr), version(v)
	{
	}
	virtual ~Honest() = default;
	Honest(const Honest &) = delete;
	Honest &operator=(const Honest &) = delete;

	/* ---- its applications ---- */
	/* Would sendmsg take a message now? */
	virtual bool may_send(const struct rds_endpoint &to) = 0;
	/* In a task. */
	virtual void send(const struct rds_endpoint &to, uint16_t sport,
			  const host::Bytes &data) = 0;
	/* Not connected, and nothing makes it connect: a full port would stay full for ever, for
	 * it forgets nothing.  A ping helps. */
	virtual bool is_lost(const struct rds_addr &a) = 0;
	virtual void ping(const struct rds_addr &a) = 0;
	std::function<void(const struct rds_endpoint &from, uint16_t dport, const host::Bytes &)>
		on_message;
	/* A reader that does not read, and goes on. */
	virtual void congest(uint16_t port, bool on) = 0;

	/* ---- its administrator, and fate; outside of tasks ---- */
	/* Ends all connections: a sysctl was written. */
	virtual void drop_all() = 0;
	/* Reads late. */
	void set_slow(bool on)
	{
		slow_ = on;
	}
	/* Nothing is queued, or was not acknowledged. */
	virtual bool idle() const = 0;
	/* Whom it has asked on a connection that still stands has answered. */
	virtual bool answered() const = 0;
	virtual std::string show() const = 0;

	const struct rds_addr addr;
	const Version version;

protected:
	bool slow_ = false;
};

} // namespace peer
#endif
