// SPDX-License-Identifier: GPL-2.0
#include "bind.h"

namespace rds
{
namespace
{

RDS_INLINE uint32_t hash_endpoint(const struct rds_addr &addr, uint16_t port, const HashKey &key)
{
	return hash_addr(addr, port, key);
}

} // namespace

Bound *BindTable::look_up(const struct rds_addr &addr, uint32_t scope, uint16_t port,
			  const HashKey &key) const
{
	return table_.find(hash_endpoint(addr, port, key), [&](const Bound &s) {
		return s.bound.port == port && same_addr(s.bound.addr, addr) &&
		       s.bound.scope == scope;
	});
}

/* True when @ep was free and is now @s's. */
bool BindTable::claim(Bound &s, const struct rds_endpoint &ep, const HashKey &key)
{
	/* Written before it is published; nobody reads it of an unbound socket. */
	s.bound = ep;
	return !table_.insert(hash_endpoint(ep.addr, ep.port, key), &s, [&](const Bound &o) {
		return o.bound.port == ep.port && same_addr(o.bound.addr, ep.addr) &&
		       o.bound.scope == ep.scope;
	});
}

Status BindTable::add(Bound &s, struct rds_endpoint &ep, const HashKey &key, uint32_t least)
{
	if (ep.port)
		return claim(s, ep, key) ? Status() : Status::fail(err::kEaddrinuse);

	const uint32_t first = least > kFirstPort ? least : kFirstPort, ports = 65536 - first;
	const uint32_t start = rds_random() % ports;

	for (uint32_t i = 0; i < ports; i++) {
		struct rds_endpoint tried = ep;

		tried.port = static_cast<uint16_t>(first + (start + i) % ports);
		if (claim(s, tried, key)) {
			ep = tried;
			return Status();
		}
	}
	return Status::fail(err::kEaddrinuse);
}

} // namespace rds
