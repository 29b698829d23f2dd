/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bind.h: BindTable, (address, scope, port) -> Socket, of one namespace.
 *
 * find() runs for every received message, in softirq, under RCU: the socket it returns is valid
 * inside that RCU section (its memory goes a grace period after release), and rds_socket::deliver()
 * says whether it is still open.
 */
#ifndef RDS_BIND_H
#define RDS_BIND_H

#include "../hash.h"
#include "../message.h"

namespace rds
{

/* The table's part of a socket (socket.h). */
struct Bound {
	HashNode bind_node;
	struct rds_endpoint bound = {};
};

class BindTable final
{
public:
	Status init() RDS_SLEEPS
	{
		return table_.init();
	}
	/* Any context, RCU reader.  Defined where a Socket is whole, as walk() (socket.h). */
	Socket *find(const struct rds_addr &addr, uint32_t scope, uint16_t port,
		     const HashKey &key) const RDS_READS(kRcu);
	/* Enters @s as @ep; port 0: a free one that is not below @least (at most 65535) is picked,
	 * from a random start on, and written back.  -EADDRINUSE.  Process. */
	Status add(Bound &s, struct rds_endpoint &ep, const HashKey &key,
		   uint32_t least) RDS_SLEEPS;
	void remove(Bound &s)
	{
		bug_on(!table_.remove(&s), "a socket is taken out of a table that has it not");
	}
	/* In steps, as HashTable::walk().  RCU reader. */
	template <typename F>
	uint64_t walk(uint64_t pos, F fn) const RDS_READS(kRcu);
	uint32_t count() const
	{
		return table_.count();
	}

private:
	Bound *look_up(const struct rds_addr &addr, uint32_t scope, uint16_t port,
		       const HashKey &key) const;
	bool claim(Bound &s, const struct rds_endpoint &ep, const HashKey &key) RDS_SLEEPS;

	HashTable<Bound, &Bound::bind_node> table_;
};

} // namespace rds
#endif
