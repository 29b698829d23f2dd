// SPDX-License-Identifier: GPL-2.0
#include "witness.h"

#include "../lib/check.h"

#include <poll.h>

#include <algorithm>
#include <cstring>

namespace rdstest
{

namespace
{

struct Head {
	uint64_t magic, number;
};
constexpr uint64_t magic = 0x7353654e74695731;
constexpr size_t longest = 3000;

size_t lengthOf(uint64_t number)
{
	return sizeof(Head) + number * 37 % (longest - sizeof(Head));
}

} // namespace

Witness::Witness(Fd here, Fd there, uint32_t bound)
	: here_(std::move(here)), there_(std::move(there)), bound_(bound)
{
	ways_[0] = {.from = here_, .to = there_, .target = localAddress(there_), .turns = {}};
	ways_[1] = {.from = there_, .to = here_, .target = localAddress(here_), .turns = {}};
}

void Witness::send(Way &way, uint32_t now)
{
	const Head head = {magic, way.sent};
	std::string text(lengthOf(way.sent), static_cast<char>(way.sent));

	memcpy(text.data(), &head, sizeof(head));

	const long result = sendText(way.from, text, way.target);
	if (result == -EAGAIN)
		return;
	same(result, static_cast<long>(text.size()), "the witness sends");
	++way.sent;
	way.turns.push_back(now);
}

void Witness::receiveAll(Way &way, uint32_t now)
{
	for (;;) {
		const Received got = receive(way.to, longest);
		Head head{};

		if (got.result == -EAGAIN)
			break;
		want(got.result >= static_cast<long>(sizeof(head)),
		     "the witness receives " + describe(got.result));
		memcpy(&head, got.data.data(), sizeof(head));
		want(head.magic == magic && head.number == way.received &&
			     got.data.size() == lengthOf(head.number) &&
			     got.data.find_first_not_of(static_cast<char>(head.number),
							sizeof(head)) == std::string::npos,
		     "the witness receives message " + std::to_string(head.number) + " of " +
			     std::to_string(got.result) + " bytes in place of " +
			     std::to_string(way.received));
		++way.received;
		slowest_ = std::max(slowest_, now - way.turns.front());
		way.turns.pop_front();
	}
	if (!way.turns.empty())
		want(now - way.turns.front() <= bound_,
		     "the witness waits for message " + std::to_string(way.received) +
			     " since turn " + std::to_string(way.turns.front()));
}

void Witness::turn(uint32_t now)
{
	for (Way &way : ways_) {
		send(way, now);
		receiveAll(way, now);
	}
}

void Witness::meet()
{
	for (Way &way : ways_) {
		send(way, 0);
		want(waitFor(way.to, POLLIN, std::chrono::seconds(60)), "the witness never meets");
		receiveAll(way, 0);
	}
}

void Witness::finish(std::chrono::milliseconds patience)
{
	for (Way &way : ways_) {
		const bool all = eventually(
			[&] {
				receiveAll(way, way.turns.empty() ? 0 : way.turns.back());
				return way.turns.empty();
			},
			patience);
		want(all, "the witness lost message " + std::to_string(way.received) + " of " +
				  std::to_string(way.sent));
	}
}

} // namespace rdstest
