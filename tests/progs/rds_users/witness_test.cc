// SPDX-License-Identifier: GPL-2.0
/* The witness over UDP, whose messages are taken away, repeated and changed: it tells. */
#include "witness.h"

#include "../lib/check.h"

#include <gtest/gtest.h>

#include <linux/filter.h>

#include <cstring>

using namespace rdstest;

namespace
{

constexpr uint32_t bound = 3;

Fd bindUdp()
{
	const Address any = Address::parse("127.0.0.1");
	Fd fd(socket(AF_INET, SOCK_DGRAM, 0));

	EXPECT_EQ(bind(fd, any.get(), any.length()), 0);
	return fd;
}

class WitnessTest : public testing::Test
{
protected:
	Fd here = bindUdp(), there = bindUdp();
	const int hereFd = here, thereFd = there;
	const Address to = localAddress(thereFd);
	Witness witness{std::move(here), std::move(there), bound};

	void losesAll(bool on)
	{
		sock_filter none = {BPF_RET | BPF_K, 0, 0, 0};
		const sock_fprog program = {1, &none};

		setsockopt(thereFd, SOL_SOCKET, on ? SO_ATTACH_FILTER : SO_DETACH_FILTER, &program,
			   sizeof(program));
	}
	void turns(uint32_t from, uint32_t to)
	{
		for (uint32_t now = from; now < to; now++)
			witness.turn(now);
	}
};

TEST_F(WitnessTest, IsContentWithAllInOrder)
{
	witness.meet();
	turns(1, 100);
	witness.finish();
	EXPECT_EQ(witness.count(), 200u);
	EXPECT_EQ(witness.slowest(), 0u);
}

TEST_F(WitnessTest, MissesALostMessageWhenTheNextComes)
{
	turns(1, 10);
	losesAll(true);
	witness.turn(10);
	losesAll(false);
	EXPECT_THROW(witness.turn(11), Failed);
}

TEST_F(WitnessTest, WaitsNoLongerThanItsBound)
{
	losesAll(true);
	turns(1, 1 + bound + 1);
	EXPECT_THROW(witness.turn(1 + bound + 1), Failed);
}

TEST_F(WitnessTest, MissesTheLastMessage)
{
	turns(1, 10);
	losesAll(true);
	witness.turn(10);
	EXPECT_THROW(witness.finish(std::chrono::milliseconds(50)), Failed);
}

/* A message that is read in the midst, and sent again behind itself. */
TEST_F(WitnessTest, SeesWhatComesTwiceAndWhatIsNotItsOwn)
{
	char text[4000];
	struct Head {
		uint64_t magic, number;
	} head;

	witness.turn(1);
	witness.turn(2);
	ASSERT_EQ(sendText(hereFd, "somebody else", to), 13);
	EXPECT_THROW(witness.turn(3), Failed);

	const ssize_t length = recv(thereFd, text, sizeof(text), MSG_DONTWAIT);

	ASSERT_GT(length, static_cast<ssize_t>(sizeof(head)));
	memcpy(&head, text, sizeof(head));
	EXPECT_EQ(head.number, 2u); /* of turn 3: it comes again, after it has come */
	ASSERT_EQ(sendBytes(hereFd, text, length, {.to = &to}), length);
	ASSERT_EQ(sendBytes(hereFd, text, length, {.to = &to}), length);
	EXPECT_THROW(witness.finish(), Failed);
}

} // namespace
