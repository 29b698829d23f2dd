// SPDX-License-Identifier: GPL-2.0
#include "net/rds/list.h"

#include <random>

#include "fixture.h"

namespace
{

struct Item {
	explicit Item(int v) : v(v)
	{
	}
	int v;
	rds::ListNode link;
};
using Items = rds::List<Item, &Item::link>;

std::vector<int> values(const Items &l)
{
	std::vector<int> out;

	for (Item *i = l.front(); i; i = l.next(i))
		out.push_back(i->v);
	return out;
}

TEST(List, KeepsTheOrderOfPushes)
{
	Items l;
	Item a(1), b(2), c(3);

	EXPECT_TRUE(l.empty());
	EXPECT_EQ(l.front(), nullptr);
	EXPECT_EQ(l.back(), nullptr);
	l.push_back(&b);
	EXPECT_EQ(l.back(), &b);
	l.push_back(&c);
	EXPECT_EQ(l.back(), &c);
	l.push_front(&a);
	EXPECT_EQ(values(l), (std::vector<int>{1, 2, 3}));
	l.remove(&b);
	EXPECT_FALSE(b.link.linked());
	EXPECT_EQ(values(l), (std::vector<int>{1, 3}));
	EXPECT_EQ(l.pop_front(), &a);
	EXPECT_EQ(l.pop_front(), &c);
	EXPECT_EQ(l.pop_front(), nullptr);
}

TEST(List, InsertsBeforeAPositionOrAtTheEnd)
{
	Items l;
	Item a(1), b(2), c(3);

	l.insert_before(nullptr, &b);
	l.insert_before(&b, &a);
	l.insert_before(nullptr, &c);
	EXPECT_EQ(values(l), (std::vector<int>{1, 2, 3}));
}

TEST(List, SplicesInOrder)
{
	Items l, m;
	Item a(1), b(2), c(3);

	l.splice_back(m);
	EXPECT_TRUE(l.empty());
	l.push_back(&a);
	m.push_back(&b);
	m.push_back(&c);
	l.splice_back(m);
	EXPECT_TRUE(m.empty());
	EXPECT_EQ(values(l), (std::vector<int>{1, 2, 3}));
}

/* Against a std::vector as the model. */
TEST(List, BehavesLikeAVector)
{
	std::mt19937 rng(3);
	std::vector<Item> pool;
	std::vector<int> model;
	Items l;

	for (int i = 0; i < 32; i++)
		pool.emplace_back(i);
	for (int step = 0; step < 20000; step++) {
		Item &it = pool[rng() % pool.size()];
		auto at = std::find(model.begin(), model.end(), it.v);

		if (it.link.linked()) {
			ASSERT_NE(at, model.end());
			l.remove(&it);
			model.erase(at);
		} else if (rng() % 2) {
			l.push_back(&it);
			model.push_back(it.v);
		} else {
			l.push_front(&it);
			model.insert(model.begin(), it.v);
		}
		ASSERT_EQ(values(l), model);
	}
}

TEST(RefCount, TellsTheLastOne)
{
	rds::RefCount r(1);

	EXPECT_TRUE(r.only_one());
	r.get();
	EXPECT_FALSE(r.only_one());
	EXPECT_FALSE(r.put());
	EXPECT_TRUE(r.get_unless_zero());
	EXPECT_FALSE(r.put());
	EXPECT_TRUE(r.put());
	EXPECT_FALSE(r.get_unless_zero());
}

class Create : public SimTest
{
};

TEST_F(Create, GivesNothingWithoutMemory)
{
	sim::fail_nth(1);
	EXPECT_EQ(rds::create<Item>(RDS_MAY_SLEEP, 5), nullptr);

	Item *i = rds::create<Item>(RDS_MAY_SLEEP, 5);

	ASSERT_NE(i, nullptr);
	EXPECT_EQ(i->v, 5);
	rds::destroy(i);
	rds::destroy(static_cast<Item *>(nullptr));
}

} // namespace
