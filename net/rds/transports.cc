// SPDX-License-Identifier: GPL-2.0
/*
 * transports.cc: the registry of transports.
 */
#include "transports.h"

#include "hash.h"
#include "lock.h"
#include "rds_core.h"

namespace rds
{
namespace
{

/* The transports that are registered, by type. */
struct Registry {
	Mutex<RDS_RANK_REGISTRY> lock;
	Atomic<unsigned int> stamp{1};
	const struct rds_transport *types[kTransCount] RDS_GUARDED_BY(lock) = {};
};

constinit Registry *registry = nullptr;

constexpr const char *kModules[kTransCount] = {"rds_rdma", nullptr, "rds_tcp", "rds_loop"};

const struct rds_transport *lookup(unsigned int type)
{
	Guard g(registry->lock);
	const struct rds_transport *t = registry->types[type];

	return t && !rds_module_get(t->owner) ? t : nullptr;
}

/* Pinned, loaded if it is not there. */
const struct rds_transport *lookup_or_load(unsigned int type)
{
	const struct rds_transport *t = lookup(type);

	if (t || !kModules[type])
		return t;
	/* Loopback opens no port of the host, so it is there for everybody who wants it. */
	rds_module_request(kModules[type], type == kTransLoop);
	return lookup(type);
}

} // namespace

bool is_loopback(const struct rds_addr &addr)
{
	uint8_t b[16];

	__builtin_memcpy(b, &addr, sizeof(b));

	bool zeros = true;

	for (int i = 0; i < 10; i++)
		zeros = zeros && !b[i];
	if (zeros && b[10] == 0xff && b[11] == 0xff)
		return b[12] == 127;
	return zeros && !b[10] && !b[11] && !b[12] && !b[13] && !b[14] && b[15] == 1;
}

Status transport_serves(struct rds_os_net *os, const struct rds_transport &t,
			const struct rds_addr &addr, uint32_t scope)
{
	int answer = t.laddr_check(os, &addr, scope);

	return answer < 0 ? Status(answer) : Status();
}

Status address_is_here(struct rds_os_net *os, const struct rds_addr &addr, uint32_t scope)
{
	Status here = Status::fail(err::kEaddrnotavail);

	for (unsigned int type = 0; type < kTransLoop && !here.ok(); type++) {
		const struct rds_transport *t = lookup(type);

		if (!t)
			continue;

		const Status st = transport_serves(os, *t, addr, scope);

		if (!st.is(err::kEaddrnotavail))
			here = st;
		rds_module_put(t->owner);
	}
	return here;
}

Result<const struct rds_transport *>
transport_for_laddr(struct rds_os_net *os, const struct rds_addr &addr, uint32_t scope)
{
	if (is_loopback(addr)) {
		const struct rds_transport *t = lookup_or_load(kTransLoop);

		if (t)
			return t;
		return Status::fail(err::kEaddrnotavail);
	}
	for (unsigned int type = 0; type < kTransLoop; type++) {
		const struct rds_transport *t = lookup(type);

		if (!t)
			continue;

		int answer = t->laddr_check(os, &addr, scope);

		if (!answer)
			return t;
		rds_module_put(t->owner);
		if (answer < 0 && answer != -err::kEaddrnotavail)
			return Status(answer);
	}
	return Status::fail(err::kEaddrnotavail);
}

Result<const struct rds_transport *> transport_by_type(unsigned int type)
{
	const struct rds_transport *t = type < kTransLoop ? lookup_or_load(type) : nullptr;

	if (!t)
		return Status::fail(err::kEnoprotoopt);
	return t;
}

Result<const struct rds_transport *> transport_for(struct rds_os_net *os,
						   const struct rds_transport &t,
						   const struct rds_addr &laddr,
						   const struct rds_addr &faddr, uint32_t scope)
{
	Status local = Status::fail(err::kEaddrnotavail);

	/* Its own address is local also while its device is away: nobody would answer. */
	if (t.caps & RDS_CAP_PREFER_LOOP)
		local = is_loopback(faddr) || same_addr(laddr, faddr)
				? Status()
				: transport_serves(os, t, faddr, scope);
	if (local.is(err::kEaddrnotavail))
		return rds_module_get(t.owner)
			       ? Result<const struct rds_transport *>(Status::fail(err::kEnetdown))
			       : &t;

	if (!local.ok())
		return local;

	const struct rds_transport *loop = lookup_or_load(kTransLoop);

	if (!loop)
		return Status::fail(err::kEnetunreach);
	return loop;
}

Status transport_reaches(struct rds_os_net *os, const struct rds_transport &t,
			 const struct rds_addr &laddr, const struct rds_addr &faddr, uint32_t scope)
{
	if (!(t.caps & RDS_CAP_SHARED_CONG) || same_addr(laddr, faddr))
		return Status();

	auto here = transport_for_laddr(os, faddr, scope);

	if (here.ok())
		rds_module_put(here.value()->owner);
	return here.status();
}

Status transports_begin()
{
	registry = create<Registry>(may_sleep());
	return registry ? Status() : Status::fail(err::kEnomem);
}

void transports_end()
{
	destroy(registry);
	registry = nullptr;
}

void transport_forget(const struct rds_transport &t)
{
	Guard g(registry->lock);

	registry->types[t.type] = nullptr;
	registry->stamp.fetch_add(2);
}

} // namespace rds

using namespace rds;

extern "C" {

int rds_transport_register(const struct rds_transport *t)
{
	Guard g(registry->lock);

	if (t->type >= kTransCount || registry->types[t->type])
		return -err::kEexist;
	registry->types[t->type] = t;
	registry->stamp.fetch_add(2);
	return 0;
}

unsigned int rds_transports_stamp(void)
{
	return registry->stamp.load(); /* odd */
}

void rds_transport_stats(struct rds_os_net *os,
			 void (*fn)(void *arg, const char *name, uint64_t value), void *arg)
{
	constexpr unsigned int kMaxStats = 64;

	for (unsigned int type = 0; type < kTransCount; type++) {
		const struct rds_transport *t = lookup(type);
		uint64_t v[kMaxStats] = {};

		if (!t)
			continue;
		if (t->stats && t->n_stats <= kMaxStats) {
			t->stats(os, v);
			for (unsigned int i = 0; i < t->n_stats; i++)
				fn(arg, t->stat_names[i], v[i]);
		}
		rds_module_put(t->owner);
	}
}

} // extern "C"
