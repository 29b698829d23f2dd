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

#include "socket.h"

namespace rds
{

class BindTable final
{
public:
	Status init()
	{
		return table_.init();
	}
	/* Any context, RCU reader. */
	Socket *find(const struct rds_addr &addr, uint32_t scope, uint16_t port,
		     uint32_t seed) const;
	/* Enters @s as @ep; port 0: a free one is picked, from a random start on, and written
	 * back.  -EADDRINUSE.  Process. */
	Status add(Socket &s, struct rds_endpoint &ep, uint32_t seed);
	void remove(Socket &s)
	{
		table_.remove(&s);
	}
	/* RCU reader. */
	template <typename F>
	void for_each(F fn) const
	{
		table_.for_each(fn);
	}
	uint32_t count() const
	{
		return table_.count();
	}

private:
	bool claim(Socket &s, const struct rds_endpoint &ep, uint32_t seed);

	HashTable<Socket, &Socket::bind_node> table_;
};

} // namespace rds
#endif
