// SPDX-License-Identifier: GPL-2.0
#include "regions.h"

#include <map>

#include "pages.h"
#include "sim.h"
#include "verbs.h"

namespace verbs
{
namespace
{

constexpr int kNoMemory = -12, kNoDevice = -19, kTryAgain = -11;
/* So long may what was freed wait, and so many. */
constexpr uint64_t kLazyNs = 1000ull * 1000 * 1000;
constexpr size_t kMany = 8;
constexpr uint64_t kAskNs = 20 * 1000;

struct Mr {
	network::HostId host;
	uint32_t key;
	struct rds_pages *pages;
};

/* Of one host. */
struct Pool {
	unsigned int used = 0; /* with those that wait */
	std::vector<Mr *> lazy;
	bool waking = false;
};

struct State {
	std::map<network::HostId, Pool> pools;
	RegionCounts counts;
};

State &state()
{
	static auto *s = new State;
	return *s;
}

/* The adapter's own queue does such work. */
void ask()
{
	sim::sleep_for(sim::random_below(kAskNs));
}

void end(Mr *mr)
{
	fabric::conceal(mr->key);
	state().pools[mr->host].used--;
	rds_pages_unpin(mr->pages);
	rds_free(mr);
}

void flush(Pool &p)
{
	while (!p.lazy.empty()) {
		Mr *mr = p.lazy.back();

		p.lazy.pop_back();
		end(mr);
	}
}

void wait(Pool &p, network::HostId h)
{
	if (p.waking)
		return;
	p.waking = true;
	sim::after(kLazyNs, "regions", [h] {
		Pool &p = state().pools[h];

		p.waking = false;
		flush(p);
	});
}

} // namespace

int mr_get(struct rds_os_net *, const struct rds_addr *laddr, uint32_t, struct rds_pages *pages,
	   int write, uint32_t *key, uint32_t *at, void **out)
{
	network::HostId h = network::host_of(*laddr);
	Pool &p = state().pools[h];

	if (p.used >= params().max_regions)
		flush(p);
	if (p.used >= params().max_regions)
		return kTryAgain;

	auto *mr = static_cast<Mr *>(rds_alloc(sizeof(Mr), RDS_MAY_SLEEP));

	if (!mr)
		return kNoMemory;
	ask();
	if (!fabric::has_device(h)) {
		rds_free(mr);
		return kNoDevice;
	}
	*at = static_cast<uint32_t>(sim::random_below(host::kPageBytes / 8) * 8);
	*key = fabric::expose(h, pages, write, *at);
	*mr = Mr{h, *key, pages};
	p.used++;
	state().counts.made++;
	*out = mr;
	return 0;
}

void mr_free(void *priv, int now)
{
	auto *mr = static_cast<Mr *>(priv);
	Pool &p = state().pools[mr->host];

	state().counts.freed++;
	if (now) {
		ask();
		end(mr);
		return;
	}
	p.lazy.push_back(mr);
	if (p.lazy.size() >= kMany)
		flush(p);
	else
		wait(p, mr->host);
}

void mr_sync(void *, int for_device)
{
	(for_device ? state().counts.shown : state().counts.looked_at)++;
}

void mr_flush(struct rds_os_net *, const struct rds_addr *laddr, uint32_t)
{
	ask();
	flush(state().pools[network::host_of(*laddr)]);
}

unsigned int atomics(struct rds_os_net *, const struct rds_addr *laddr, uint32_t)
{
	return fabric::has_device(network::host_of(*laddr)) ? params().atomics : 0;
}

void regions_end()
{
	for (auto &[h, p] : state().pools)
		flush(p);
}

void regions_reset()
{
	state() = State();
}

const RegionCounts &region_counts()
{
	return state().counts;
}

} // namespace verbs
