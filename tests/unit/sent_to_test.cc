// SPDX-License-Identifier: GPL-2.0
#include "net/rds/socket/sent_to.h"

#include "fixture.h"

namespace
{

using host::addr4;

class SentTo : public SimTest
{
protected:
	void TearDown() override
	{
		made.reset();
		SimTest::TearDown();
	}
	std::vector<unsigned int> met()
	{
		std::vector<unsigned int> out;

		all.for_each([&](const struct rds_addr &a) {
			for (unsigned int host = 1; host < 100; host++)
				if (rds::same_addr(a, addr4(host)))
					out.push_back(host);
		});
		std::sort(out.begin(), out.end());
		return out;
	}

	std::unique_ptr<rds::SentTo> made = std::make_unique<rds::SentTo>();
	rds::SentTo &all = *made;
};

TEST_F(SentTo, IsEmptyAndCompleteAtFirst)
{
	EXPECT_TRUE(all.is_complete());
	EXPECT_TRUE(met().empty());
}

TEST_F(SentTo, NotesEachOnce)
{
	for (unsigned int host : {3, 1, 3, 2, 1, 3})
		all.note(addr4(host));
	EXPECT_TRUE(all.is_complete());
	EXPECT_EQ(met(), (std::vector<unsigned int>{1, 2, 3}));
}

/* One too many, and the list says that it is not all; what was noted stays. */
TEST_F(SentTo, SaysWhenThereAreOthers)
{
	for (unsigned int host = 1; host <= rds::kMaxSentTo; host++)
		all.note(addr4(host));
	for (unsigned int host = 1; host <= rds::kMaxSentTo; host++)
		all.note(addr4(host));
	EXPECT_TRUE(all.is_complete());
	EXPECT_EQ(met().size(), rds::kMaxSentTo);
	all.note(addr4(rds::kMaxSentTo + 1));
	EXPECT_FALSE(all.is_complete());
	all.note(addr4(1));
	EXPECT_FALSE(all.is_complete());
	EXPECT_EQ(met().size(), rds::kMaxSentTo);
}

TEST_F(SentTo, SaysSoWithoutMemory)
{
	all.note(addr4(1));
	sim::fail_nth(1);
	all.note(addr4(1)); /* needs none */
	EXPECT_TRUE(all.is_complete());
	all.note(addr4(2));
	EXPECT_FALSE(all.is_complete());
	EXPECT_EQ(met(), (std::vector<unsigned int>{1}));
}

} // namespace
