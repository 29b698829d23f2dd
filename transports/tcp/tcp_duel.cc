// SPDX-License-Identifier: GPL-2.0
#include "tcp_duel.h"

namespace
{

/* Network byte order, so comparing bytes compares numbers. */
int order(const struct rds_addr *a, const struct rds_addr *b)
{
	return __builtin_memcmp(a, b, sizeof(*a));
}

} // namespace

extern "C" {

int rds_tcp_is_caller(const struct rds_addr *laddr, const struct rds_addr *faddr)
{
	return order(laddr, faddr) < 0;
}

int rds_tcp_may_connect(const struct rds_addr *laddr, const struct rds_addr *faddr)
{
	return order(laddr, faddr) != 0;
}

enum rds_tcp_meaning rds_tcp_accepted_is(const struct rds_addr *laddr, const struct rds_addr *faddr)
{
	int o = order(laddr, faddr);

	if (o == 0)
		return RDS_TCP_REFUSE;
	return o > 0 ? RDS_TCP_USE : RDS_TCP_KNOCK;
}

enum rds_tcp_meaning rds_tcp_established_is(const struct rds_addr *laddr,
					    const struct rds_addr *faddr)
{
	int o = order(laddr, faddr);

	if (o == 0)
		return RDS_TCP_REFUSE;
	return o < 0 ? RDS_TCP_USE : RDS_TCP_KNOCK;
}

unsigned int rds_tcp_path_of_port(uint16_t sport)
{
	return sport % RDS_TCP_MAX_PATHS;
}

uint16_t rds_tcp_port_for(unsigned int paths, unsigned int index, uint16_t low, uint16_t high,
			  uint32_t attempt)
{
	constexpr uint32_t kStep = RDS_TCP_MAX_PATHS;
	uint32_t first = low + (index + kStep - low % kStep) % kStep;

	if (paths < 2 || index >= kStep || first > high)
		return 0;
	return static_cast<uint16_t>(first + attempt % ((high - first) / kStep + 1) * kStep);
}

} // extern "C"
