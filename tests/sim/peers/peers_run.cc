// SPDX-License-Identifier: GPL-2.0
/* peers_run [--seed S] [--seeds N]: N stories of crowd.h from seed S on. */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "crowd.h"
#include "sim.h"

namespace
{

uint64_t seed = 1;

void say_seed(const char *)
{
	fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed));
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t seeds = 1, failed = 0;
	crowd::Result all;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], nullptr, 10);
		else if (!strcmp(argv[i], "--seeds"))
			seeds = strtoull(argv[i + 1], nullptr, 10);
	}
	sim::tracing = getenv("SIM_TRACE") != nullptr;
	sim::on_fail = say_seed;
	for (uint64_t n = seeds; n; n--, seed++) {
		crowd::Setup s = crowd::draw(seed);
		crowd::Result r = crowd::play(s);

		all.received += r.received;
		all.lost += r.lost;
		all.lies += r.lies;
		all.maps += r.maps;
		all.probes += r.probes;
		all.retransmitted += r.retransmitted;
		if (r.complaint.empty())
			continue;
		failed++;
		printf("seed %llu (%s): %s\n", static_cast<unsigned long long>(seed),
		       crowd::words(s).c_str(), r.complaint.c_str());
		sim::discard();
	}
	printf("%llu stories, %llu failed; %llu messages received, %llu lost with cut connections, "
	       "%llu lies, %llu maps, %llu probes answered, %llu retransmitted\n",
	       static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(failed),
	       static_cast<unsigned long long>(all.received),
	       static_cast<unsigned long long>(all.lost), static_cast<unsigned long long>(all.lies),
	       static_cast<unsigned long long>(all.maps),
	       static_cast<unsigned long long>(all.probes),
	       static_cast<unsigned long long>(all.retransmitted));
	return failed != 0;
}
