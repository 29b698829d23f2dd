// SPDX-License-Identifier: GPL-2.0
#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include "../info/sections.h"
#include "../lib/error.h"
#include "../lib/info.h"

using namespace rdstools;

namespace
{

/* A kernel whose table has `count` elements and gains `grow` with every call. */
struct FakeKernel {
	std::size_t each;
	std::size_t count;
	std::size_t grow = 0;
	int calls = 0;

	int operator()(void *buffer, socklen_t *size)
	{
		std::size_t total = each * count;
		calls++;
		count += grow;
		if (*size < total) {
			*size = static_cast<socklen_t>(total);
			errno = ENOSPC;
			return -1;
		}
		if (total)
			std::memset(buffer, 0x5a, total);
		*size = static_cast<socklen_t>(total);
		return static_cast<int>(each);
	}
};

} // namespace

TEST(Info, probes_with_nothing_then_fetches)
{
	FakeKernel kernel{40, 3};
	auto block = fetch_info(std::ref(kernel), "x");

	ASSERT_TRUE(block);
	EXPECT_EQ(block->each, 40u);
	EXPECT_EQ(block->count(), 3u);
	EXPECT_EQ(block->bytes.size(), 120u);
	EXPECT_EQ(kernel.calls, 2);
}

TEST(Info, knows_an_empty_table)
{
	FakeKernel kernel{28, 0};
	auto block = fetch_info(std::ref(kernel), "x");

	ASSERT_TRUE(block);
	EXPECT_EQ(block->each, 28u);
	EXPECT_EQ(block->count(), 0u);
}

TEST(Info, catches_up_with_a_table_that_grows)
{
	FakeKernel kernel{42, 10, 50};
	auto block = fetch_info(std::ref(kernel), "x");

	ASSERT_TRUE(block);
	EXPECT_GT(block->count(), 10u);
	EXPECT_EQ(block->bytes.back(), std::byte{0x5a});
}

TEST(Info, gives_up_on_a_table_that_never_fits)
{
	int calls = 0;
	auto never = [&](void *, socklen_t *size) {
		calls++;
		*size = 100;
		errno = ENOSPC;
		return -1;
	};

	EXPECT_THROW(fetch_info(never, "x"), Error);
	EXPECT_LT(calls, 100);
}

TEST(Info, allocates_nothing_absurd)
{
	auto liar = [](void *, socklen_t *size) {
		*size = UINT32_MAX;
		errno = ENOSPC;
		return -1;
	};

	EXPECT_THROW(fetch_info(liar, "x"), Error);
}

TEST(Info, tells_not_offered_from_failed)
{
	auto answer = [](int code) {
		return [code](void *, socklen_t *) {
			errno = code;
			return -1;
		};
	};

	EXPECT_FALSE(fetch_info(answer(ENOPROTOOPT), "x"));
	EXPECT_THROW(fetch_info(answer(EINVAL), "x"), Error);
}

TEST(Info, reads_shorter_and_longer_elements)
{
	struct Known {
		std::uint32_t a;
		std::uint32_t b;
	};
	InfoBlock block;

	block.each = 4;
	block.bytes.assign(8, std::byte{1});
	auto shorter = records<Known>(block);
	ASSERT_EQ(shorter.size(), 2u);
	EXPECT_EQ(shorter[1].a, 0x01010101u);
	EXPECT_EQ(shorter[1].b, 0u);
	block.each = 12;
	block.bytes.assign(24, std::byte{2});
	auto longer = records<Known>(block);
	ASSERT_EQ(longer.size(), 2u);
	EXPECT_EQ(longer[1].b, 0x02020202u);
}

TEST(Sections, are_shown_in_the_given_order)
{
	auto chosen = [](const char *words) {
		CLI::App app;
		std::vector<const Section *> sections;
		std::string letters;

		add_sections(app, sections);
		app.parse(words);
		for (const Section *section : sections)
			letters += section->letter;
		return letters;
	};

	EXPECT_EQ(chosen("-nc"), "nc");
	EXPECT_EQ(chosen("-cn"), "cn");
	EXPECT_EQ(chosen("--tcp -k --counters"), "Tkc");
	EXPECT_EQ(chosen("-n -c -n"), "nc") << "each once";
	EXPECT_EQ(chosen(""), "");
}
