// SPDX-License-Identifier: GPL-2.0
#include "check_conns.h"

#include <cstring>

namespace check
{
namespace
{

struct Count {
	const struct rds_addr &laddr, &faddr;
	uint8_t tos;
	unsigned int n = 0;
};

void look(void *arg, const struct rds_conn_info *i)
{
	auto *c = static_cast<Count *>(arg);

	c->n += i->tos == c->tos && !memcmp(&i->laddr, &c->laddr, sizeof(i->laddr)) &&
		!memcmp(&i->faddr, &c->faddr, sizeof(i->faddr));
}

} // namespace

unsigned int connections(host::Net &net, const struct rds_addr &laddr, const struct rds_addr &faddr,
			 uint8_t tos)
{
	Count c = {laddr, faddr, tos};

	host::info_conns(net.core(), look, &c);
	return c.n;
}

} // namespace check
