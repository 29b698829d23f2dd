// SPDX-License-Identifier: GPL-2.0
/* Memory that an adapter may use: regions, and operations to a host that there is not. */
#include "scenario.h"

#include <linux/rds.h>

#include <memory>

namespace rdstest
{

namespace
{

struct Region {
	explicit Region(size_t size) : memory(size, 'x')
	{
	}
	rds_get_mr_args args()
	{
		rds_get_mr_args a{};

		a.vec = {reinterpret_cast<uintptr_t>(memory.data()), memory.size()};
		a.cookie_addr = reinterpret_cast<uintptr_t>(&cookie);
		a.flags = RDS_RDMA_READWRITE;
		return a;
	}
	long get(int fd)
	{
		const rds_get_mr_args a = args();

		return sys(setsockopt(fd, SOL_RDS, RDS_GET_MR, &a, sizeof(a)));
	}
	long free(int fd) const
	{
		const rds_free_mr_args a = {cookie, RDS_RDMA_INVALIDATE};

		return sys(setsockopt(fd, SOL_RDS, RDS_FREE_MR, &a, sizeof(a)));
	}

	std::string memory;
	uint64_t cookie = 0;
};

using SharedRegion = std::shared_ptr<Region>;

/* A region that failed is none; another one can be had at once. */
Scenario getting(size_t size)
{
	const SharedRegion region = std::make_shared<Region>(size);

	return {.name = "RDS_GET_MR of " + std::to_string(size) + " bytes",
		.call = [=](Pair &p) { return region->get(p.from); },
		.after =
			[=](Pair &p, long result) {
				if (result == 0)
					same(region->free(p.from), 0, "RDS_FREE_MR");
				same(region->get(p.from), 0, "again");
				same(region->free(p.from), 0, "RDS_FREE_MR of that");
				same(region->free(p.from), -EINVAL, "and once more");
			}};
}

Scenario freeing()
{
	const SharedRegion region = std::make_shared<Region>(4096);

	return {.name = "RDS_FREE_MR",
		.call = [=](Pair &p) { return region->free(p.from); },
		.before = [=](Pair &p) { same(region->get(p.from), 0, "RDS_GET_MR"); },
		.after =
			[=](Pair &p, long result) {
				same(region->free(p.from), result < 0 ? 0 : -EINVAL, "again");
			}};
}

/* Nobody is there to answer, so it waits until it is taken back. */
Scenario asking(const std::string &name, const Address &nobody, const Control &control)
{
	return {.name = name,
		.call =
			[=](Pair &p) {
				return sendBytes(p.from, "", 0,
						 {.flags = MSG_DONTWAIT,
						  .to = &nobody,
						  .control = &control});
			},
		.after =
			[=](Pair &p, long) {
				same(sys(setsockopt(p.from, SOL_RDS, RDS_CANCEL_SENT_TO,
						    nobody.get(), nobody.length())),
				     0, "RDS_CANCEL_SENT_TO");
			}};
}

template <typename Args>
Control controlOf(int type, const Args &args)
{
	Control control;

	control.add(SOL_RDS, type, args);
	return control;
}

} // namespace

std::vector<Scenario> regionScenarios()
{
	static Region target(50000), map(70000);
	static rds_iovec vectors[3];
	const Address nobody = Address::parse("10.8.0.77", 4000);
	const auto at = reinterpret_cast<uintptr_t>(target.memory.data());
	rds_rdma_args rdma{};
	rds_atomic_args atomic{};

	for (size_t i = 0; i < 3; ++i)
		vectors[i] = {at + 13000 * i + 5, 12000};
	rdma.cookie = 1;
	rdma.remote_vec = {0, 36000};
	rdma.local_vec_addr = reinterpret_cast<uintptr_t>(vectors);
	rdma.nr_local = 3;
	rdma.flags = RDS_RDMA_NOTIFY_ME;
	atomic.cookie = 1;
	atomic.local_addr = (at + 7) & ~uintptr_t{7};
	rds_rdma_args write = rdma;
	write.flags |= RDS_RDMA_READWRITE;
	Scenario adding =
		asking("sendmsg that adds", nobody, controlOf(RDS_CMSG_ATOMIC_FADD, atomic));
	/* Without memory no adapter is found, so none that can add. */
	adding.anyErrno = true;
	return {getting(4096),
		getting(100000),
		freeing(),
		asking("sendmsg with RDMA_MAP", nobody, controlOf(RDS_CMSG_RDMA_MAP, map.args())),
		asking("sendmsg that reads", nobody, controlOf(RDS_CMSG_RDMA_ARGS, rdma)),
		asking("sendmsg that writes", nobody, controlOf(RDS_CMSG_RDMA_ARGS, write)),
		adding};
}

} // namespace rdstest
