// SPDX-License-Identifier: GPL-2.0
#include "draw.h"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

using namespace rdstest;

namespace
{

std::vector<sockaddr_storage> loopback()
{
	sockaddr_storage one{};

	one.ss_family = AF_INET;
	reinterpret_cast<sockaddr_in *>(&one)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return {one};
}

/* A hole beyond the room would be filled by the next who maps a page. */
TEST(Memory, NobodyFillsWhatIsBeyond)
{
	Memory memory;
	int ends[2];

	for (int i = 0; i < 64; i++)
		mmap(nullptr, Memory::pageBytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(pipe(ends), 0);
	for (const void *bad : {memory.beyond(), memory.forbidden()})
		EXPECT_EQ(write(ends[1], bad, 1), -1);
	for (const void *good : {memory.room(10), memory.readOnly()})
		EXPECT_EQ(write(ends[1], good, 10), 10);
	EXPECT_EQ(read(ends[0], memory.readOnly(), 1), -1);
}

/* It may be sent, and the receiver is to know it. */
TEST(Memory, WhatCanOnlyBeReadIsPlain)
{
	const Memory memory;

	EXPECT_EQ(std::string(static_cast<const char *>(memory.readOnly()), Memory::pageBytes),
		  std::string(Memory::pageBytes, Memory::plainByte));
}

TEST(Draw, TheSameSeedDrawsTheSame)
{
	Draw first(7, loopback(), 1), second(8, loopback(), 1);
	char one[512], two[512];

	second.reseed(7);
	for (int i = 0; i < 200; i++) {
		const size_t length = first.controlMessages(one, sizeof(one));

		ASSERT_EQ(second.controlMessages(two, sizeof(two)), length);
		ASSERT_EQ(first.length(), second.length());
		ASSERT_EQ(first.flags(true), second.flags(true));
	}
}

struct OpenDraw : Draw {
	using Draw::Draw;

	void *names() const
	{
		return names_.room(sizeof(sockaddr_storage));
	}
};

TEST(Draw, MostAddressesAreGood)
{
	OpenDraw draw(1, loopback(), 1);
	int good = 0;

	for (int i = 0; i < 1000; i++) {
		socklen_t length;
		const auto *name = static_cast<sockaddr_in *>(draw.address(length, true));

		good += name == draw.names() && length == sizeof(sockaddr_in) &&
			name->sin_family == AF_INET;
	}
	EXPECT_GT(good, 700);
	EXPECT_LT(good, 1000);
}

TEST(Draw, ControlMessagesFit)
{
	Draw draw(1, loopback(), 1);
	std::vector<char> room(600, 'x');

	for (size_t most = 0; most < 512; most++) {
		EXPECT_LE(draw.controlMessages(room.data(), most), most);
		EXPECT_EQ(std::string(room.data() + most, 8), "xxxxxxxx");
	}
}

TEST(Poison, IsSeenFromEightBytesOn)
{
	for (const char byte : {'\x6b', '\x5a', '\xfe', '\xaa', '\xcc'}) {
		std::string text = "before" + std::string(7, byte) + "after";

		EXPECT_FALSE(isPoisoned(text.data(), text.size()));
		text.insert(8, 1, byte);
		EXPECT_TRUE(isPoisoned(text.data(), text.size()));
	}
	EXPECT_FALSE(isPoisoned(std::string(100, '\0').data(), 100));
	EXPECT_FALSE(isPoisoned(nullptr, 0));
}

} // namespace
