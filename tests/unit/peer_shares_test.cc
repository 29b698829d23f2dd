// SPDX-License-Identifier: GPL-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "fixture.h"
#include "net/rds/peer_shares.h"
#include "rng.h"

namespace
{

using rds::PeerShares;

constexpr uint64_t kSize = 16u << 20;

/* A spill, and a model of it: the messages that each peer has in it. */
class PeerSharesTest : public SimTest
{
protected:
	void TearDown() override
	{
		while (!in_.empty())
			give(in_.begin()->first, in_.begin()->second.size() - 1);
		EXPECT_TRUE(own_->is_empty());
		own_.reset();
		SimTest::TearDown();
	}
	static struct rds_addr addr(unsigned int peer)
	{
		return host::addr4(peer);
	}
	static uint64_t of(const std::vector<uint32_t> &messages)
	{
		uint64_t n = 0;

		for (uint32_t m : messages)
			n += m;
		return n;
	}
	PeerShares::Room room() const
	{
		return {kSize - sum_, kSize};
	}
	bool take(unsigned int peer, uint32_t bytes)
	{
		const rds::Status st = own_->take(addr(peer), 0, bytes, room());

		if (st.ok()) {
			in_[peer].push_back(bytes);
			sum_ += bytes;
		} else {
			EXPECT_TRUE(st.is(rds::err::kEnobufs));
		}
		return st.ok();
	}
	/* While @n peers have messages. */
	static uint64_t least_free(uint64_t n)
	{
		return static_cast<uint64_t>(
			kSize / std::sqrt(1. + 2. * rds::kPeerShare * static_cast<double>(n)));
	}
	/* All that the peer may have, in messages of @bytes. */
	uint64_t take_all(unsigned int peer, uint32_t bytes)
	{
		while (take(peer, bytes))
			;
		return own_->bytes_of(addr(peer), 0);
	}
	void give(unsigned int peer, size_t which)
	{
		std::vector<uint32_t> &messages = in_[peer];
		PeerShares::Share *share = own_->give(addr(peer), 0, messages[which]);

		sum_ -= messages[which];
		messages.erase(messages.begin() + static_cast<long>(which));
		EXPECT_EQ(share != nullptr, messages.empty());
		rds::destroy(share);
		if (messages.empty())
			in_.erase(peer);
	}
	void compare()
	{
		EXPECT_EQ(own_->peers(), in_.size());
		for (const auto &[peer, messages] : in_)
			ASSERT_EQ(own_->bytes_of(addr(peer), 0), of(messages)) << peer;
	}

	static constexpr rds::HashKey kSecret = {{5, 6}};
	std::unique_ptr<PeerShares> own_ = std::make_unique<PeerShares>(kSecret);
	PeerShares &spill = *own_;
	std::map<unsigned int, std::vector<uint32_t>> in_;
	uint64_t sum_ = 0;
};

TEST_F(PeerSharesTest, OneAloneHasHalf)
{
	const uint64_t has = take_all(7, 1000);

	EXPECT_LE(has, kSize / 2);
	EXPECT_GT(has + 1000, kSize / 2 - 1000);
}

/* To the byte, at every border of the rule. */
TEST_F(PeerSharesTest, TheRule)
{
	EXPECT_TRUE(PeerShares::allows({100, 100}, 0, 50)) << "4 * 50^3 / 100^2";
	EXPECT_FALSE(PeerShares::allows({100, 100}, 0, 51));
	EXPECT_TRUE(PeerShares::allows({100, 100}, 10, 47)) << "4 * 53^3 / 100^2 is 59";
	EXPECT_FALSE(PeerShares::allows({100, 100}, 10, 48)) << "4 * 52^3 / 100^2 is 56";
	EXPECT_TRUE(PeerShares::allows({50, 100}, 0, 15));
	EXPECT_FALSE(PeerShares::allows({50, 100}, 0, 16));
	EXPECT_TRUE(PeerShares::allows({51, 100}, 49, 1));
	EXPECT_FALSE(PeerShares::allows({51, 100}, 50, 1));
	EXPECT_FALSE(PeerShares::allows({0, 100}, 0, 1));
	EXPECT_FALSE(PeerShares::allows({0, 0}, 0, 1)) << "there is none";
	EXPECT_FALSE(PeerShares::allows({10, 100}, 0, 11)) << "more than there is";
	EXPECT_TRUE(PeerShares::allows({kSize, kSize}, 0, kSize / 2));
	EXPECT_FALSE(PeerShares::allows({kSize, kSize}, 0, kSize / 2 + 1));
	EXPECT_FALSE(PeerShares::allows({kSize, kSize}, 4 * kSize, 1)) << "it had been larger";
}

/* One after the other takes all that it may. */
TEST_F(PeerSharesTest, ANewcomerIsServedBehindHundreds)
{
	for (unsigned int n = 1; n <= 400; n++) {
		EXPECT_GT(take_all(n, 250), 0u) << n;
		ASSERT_GE(room().free, least_free(n)) << n;
		ASSERT_TRUE(n > 10 || PeerShares::allows(room(), 0, 64 * 1024)) << n;
		ASSERT_TRUE(n > 70 || PeerShares::allows(room(), 0, 4096)) << n;
	}
	EXPECT_TRUE(take(2000, 300)) << "a small message";
	EXPECT_FALSE(take(1, 250));
	EXPECT_EQ(spill.peers(), 401u);
	compare();
}

TEST_F(PeerSharesTest, WhatIsReadIsFreeForAll)
{
	take_all(1, 1000);
	take_all(2, 1000);
	EXPECT_FALSE(take(2, 1000));
	for (int i = 0; i < 5000; i++)
		give(1, 0);
	EXPECT_TRUE(take(2, 1000)) << "more is free";
	EXPECT_TRUE(take(1, 1000));
}

/* Neither the scope nor a byte of the address is left out, nor do those of one bucket share. */
TEST_F(PeerSharesTest, PeersAreKnownExactly)
{
	const struct rds_addr a = addr(9);
	const PeerShares::Room all = {kSize, kSize};

	ASSERT_TRUE(spill.take(a, 3, 100, all).ok());
	EXPECT_EQ(spill.bytes_of(a, 3), 100u);
	EXPECT_EQ(spill.bytes_of(a, 4), 0u);
	for (unsigned int word = 0; word < 2; word++) {
		struct rds_addr other = a;

		other.w[word] ^= 1ull << 40;
		EXPECT_EQ(spill.bytes_of(other, 3), 0u) << word;
	}
	ASSERT_TRUE(spill.take(a, 4, 70, all).ok());
	EXPECT_EQ(spill.peers(), 2u);
	rds::destroy(spill.give(a, 3, 100));
	EXPECT_EQ(spill.bytes_of(a, 3), 0u);
	EXPECT_EQ(spill.bytes_of(a, 4), 70u);
	rds::destroy(spill.give(a, 4, 70));
	for (unsigned int n = 0; n < 4 * rds::kPeerShareBuckets; n++)
		ASSERT_TRUE(take(n, n + 1));
	compare();
	for (uint32_t scope = 1; scope <= 4 * rds::kPeerShareBuckets; scope++)
		ASSERT_TRUE(spill.take(a, scope, scope, all).ok());
	for (uint32_t scope = 1; scope <= 4 * rds::kPeerShareBuckets; scope++) {
		EXPECT_EQ(spill.bytes_of(a, scope), scope);
		rds::destroy(spill.give(a, scope, scope));
	}
}

TEST_F(PeerSharesTest, WithoutMemoryNothingIsTaken)
{
	sim::fail_nth(1);
	EXPECT_TRUE(spill.take(addr(1), 0, 100, room()).is(rds::err::kEnomem));
	sim::fail_nth(0);
	EXPECT_TRUE(spill.is_empty());
	EXPECT_TRUE(take(1, 100));
	sim::fail_nth(1);
	EXPECT_TRUE(take(1, 100)) << "its share is there";
	sim::fail_nth(0);
}

/* In random histories the sums are the model's, nobody has more than half, and with n peers in
 * it so much is free that a newcomer's message has its place. */
TEST_F(PeerSharesTest, WhateverComesAndGoes)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		sim::Rng r(seed);
		const unsigned int peers = 1 + static_cast<unsigned int>(r.below(60));
		const uint32_t longest = 1u << r.below(21);

		for (int i = 0; i < 4000; i++) {
			const auto peer = static_cast<unsigned int>(r.below(peers));

			if (r.chance(700)) {
				take(peer, 1 + static_cast<uint32_t>(r.below(longest)));
			} else if (in_.count(peer)) {
				give(peer, r.below(in_[peer].size()));
			}
			ASSERT_LE(sum_, kSize);
			ASSERT_LE(spill.bytes_of(addr(peer), 0), kSize / 2);

			const uint64_t least = least_free(in_.size());

			ASSERT_GE(room().free, least);

			const auto fits = static_cast<uint32_t>(
				std::min(least / 8, 2 * least * least / kSize * least / kSize));

			ASSERT_TRUE(take(9999, fits)) << "a newcomer";
			give(9999, 0);
		}
		compare();
	}
}

} // namespace
