// SPDX-License-Identifier: GPL-2.0
#include <algorithm>
#include <deque>

#include "fixture.h"
#include "net/rds/gen_counts.h"
#include "rng.h"

namespace
{

using rds::GenCount;
using rds::GenCounts;

/* Generations come by turns: those that were met last are known, each with its count. */
TEST(GenCountsTest, TheLastOnesAreKnown)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		sim::Rng rng(seed);
		GenCounts counts;
		std::deque<GenCount> model;
		GenCount now = {0, 0};

		for (int i = 0; i < 200; i++) {
			const auto gen = static_cast<uint32_t>(rng.below(7));
			uint64_t known = 0;

			if (gen == now.gen)
				continue;

			auto at = std::find_if(model.begin(), model.end(),
					       [&](const GenCount &c) { return c.gen == gen; });

			if (at != model.end()) {
				known = at->next;
				model.erase(at);
			}
			if (now.gen)
				model.push_front(now);
			if (model.size() > GenCounts::kPlaces)
				model.pop_back();
			ASSERT_EQ(counts.change(now, gen), known) << seed;
			now = {known + 1 + rng.below(9), gen};
			for (unsigned int k = 0; k < GenCounts::kPlaces; k++)
				ASSERT_EQ(counts.of[k].gen, k < model.size() ? model[k].gen : 0)
					<< seed;
			for (uint32_t other = 0; other < 7; other++)
				ASSERT_EQ(counts.has(other), std::any_of(model.begin(), model.end(),
									 [&](const GenCount &c) {
										 return c.gen ==
											other;
									 }));
			ASSERT_EQ(counts.any(), !model.empty());
		}
	}
}

TEST(GenCountsTest, TheFirstLeaves)
{
	GenCounts counts = {{{3, 1}, {4, 2}, {5, 3}}};

	for (uint32_t gen = 1; gen <= 3; gen++) {
		const GenCount first = counts.take_first();

		EXPECT_EQ(first.gen, gen);
		EXPECT_EQ(first.next, gen + 2);
	}
	EXPECT_FALSE(counts.any());
	EXPECT_EQ(counts.take_first().gen, 0u);
}

} // namespace
