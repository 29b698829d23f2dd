// SPDX-License-Identifier: GPL-2.0
/*
 * hash_stress.cc: readers of the hash table while it grows and others insert and remove.
 *
 * An entry that stays in the table is found every time, whatever happens around it; a removed one
 * is freed after a grace period, and ThreadSanitizer sees whoever still reads it.
 */
#include "stress.h"

#include <cstdio>
#include <thread>
#include <vector>

#include "net/rds/hash.h"
#include "platform_pthread.h"

namespace
{

constexpr uint32_t kStay = 64;	   /* these are never removed */
constexpr uint32_t kEach = 6000;   /* inserted by each writer */
constexpr uint32_t kWindow = 2500; /* how many of them live at a time: the table has to grow */
constexpr unsigned int kWriters = 2;
constexpr unsigned int kReaders = 2;

struct Item {
	rds::HashNode node;
	uint32_t key;
	uint32_t check;
	struct rds_rcu_head rcu;

	explicit Item(uint32_t key) : key(key), check(~key)
	{
	}
};

using Table = rds::HashTable<Item, &Item::node>;

/* Few different ones, so that chains are long and keys collide in the whole hash. */
uint32_t hash_of(uint32_t key)
{
	return rds::hash_mix(key / 2);
}

Item *find(const Table &t, uint32_t key)
{
	return t.find(hash_of(key), [&](const Item &i) { return i.key == key; });
}

Item *insert(Table &t, uint32_t key)
{
	auto *i = rds::create<Item>(RDS_MAY_SLEEP, key);

	if (t.insert(hash_of(key), i, [&](const Item &o) { return o.key == key; }))
		pt::fail("a new key is in the table already");
	return i;
}

void free_item(struct rds_rcu_head *h)
{
	rds::destroy(rds::container_of(h, &Item::rcu));
}

void remove(Table &t, Item *i)
{
	if (!t.remove(i))
		pt::fail("an object is not in the table");
	if (t.remove(i))
		pt::fail("an object is removed twice");
	rds_rcu_defer(&i->rcu, free_item);
}

void write(Table &t, uint32_t first)
{
	std::vector<Item *> mine(kWindow);

	for (uint32_t n = 0; n < kEach; n++) {
		Item *&slot = mine[n % kWindow];

		if (slot)
			remove(t, slot);
		slot = insert(t, first + n);
		if (n % 64 == 0 && insert(t, first + kEach + n)) {
			rds::RcuReader rcu;

			if (find(t, first + n) != slot)
				pt::fail("an object that was just inserted is not found");
		}
	}
	for (Item *i : mine)
		remove(t, i);
	for (uint32_t n = 0; n < kEach; n += 64) {
		Item *i;
		{
			rds::RcuReader rcu;
			i = find(t, first + kEach + n);
		}
		remove(t, i);
	}
}

void read(const Table &t, const std::atomic<bool> &over)
{
	do {
		for (uint32_t key = 0; key < kStay; key++) {
			rds::RcuReader rcu;
			Item *i = find(t, key);

			if (!i || i->check != ~key)
				pt::fail("an object that stays is not found");
			/* One that comes and goes: whole, when it is there. */
			i = find(t, 1000 + rds_random() % kEach);
			if (i && i->check != ~i->key)
				pt::fail("an object is damaged");
		}
		rds::RcuReader rcu;
		uint32_t seen = 0;

		t.for_each([&](const Item &i) { seen += i.key < kStay; });
		if (seen != kStay)
			pt::fail("a walk misses objects that stay");
	} while (!over);
}

} // namespace

int hash_stress()
{
	pt::start(1);
	{
		Table t;
		std::vector<Item *> stay;
		std::vector<std::thread> readers, writers;
		std::atomic<bool> over = false;

		if (!t.init().ok())
			pt::fail("no memory");

		uint32_t buckets = t.buckets();

		for (uint32_t key = 0; key < kStay; key++)
			stay.push_back(insert(t, key));
		for (unsigned int i = 0; i < kReaders; i++)
			readers.emplace_back([&] { read(t, over); });
		for (unsigned int i = 0; i < kWriters; i++)
			writers.emplace_back([&, i] { write(t, 1000 + i * 100000); });
		for (std::thread &w : writers)
			w.join();
		over = true;
		for (std::thread &r : readers)
			r.join();
		for (Item *i : stay)
			remove(t, i);
		printf("%u buckets became %u\n", buckets, t.buckets());
		if (t.count() || t.buckets() <= buckets)
			pt::fail("the table has objects left, or never grew");
	}
	rds_rcu_barrier();

	std::string left = pt::stop();

	if (!left.empty())
		pt::fail(left.c_str());
	return 0;
}
