/* SPDX-License-Identifier: GPL-2.0 */
/* Each call of the socket interface that copies from or to the caller's memory, as a table. */
#pragma once

#include "slow_page.h"

#include "../lib/socket.h"

#include <functional>
#include <string>
#include <vector>

namespace rdstest
{

/* Where the sockets of a call are. */
struct Places {
	Address loop; /* of loopback */
	Address tcp;  /* of this host, over TCP */
	Address peer; /* a host that answers nothing */
};

/* The sockets of one call; made anew for each. */
struct Scene {
	explicit Scene(const Places &places, bool overTcp);

	const Places &places;
	Fd from, to, fresh; /* bound, bound, and not bound */
	Address target;	    /* where the message is sent: @to, or over TCP the peer */
	bool overTcp;
};

/* More than 0: the size of one element. */
constexpr long kSomething = 1L << 40;

struct Call {
	std::string name;
	SlowPage::Kind kind;
	std::string bytes; /* of the slow page */
	long wanted;
	std::function<long(Scene &, char *slow)> make;
	/* Makes ready, and judges; without either there is nothing to do. */
	std::function<void(Scene &)> before = {};
	std::function<void(Scene &, const char *slow)> after = {};
	bool overTcp = false;
};

constexpr const char *kText = "said by the first";

std::vector<Call> calls(const Places &places);
void addOptions(std::vector<Call> &table, const Places &places);

/* A message of kText, with any part of it in the caller's memory. */
struct Parts {
	const void *data = nullptr, *name = nullptr, *control = nullptr;
	size_t controlLength = 0;
	iovec vector{};
	msghdr header{};

	/* Parts that are not given: the text, the scene's target, no control message. */
	msghdr *build(const Scene &scene);
};

template <typename T>
std::string bytesOf(const T &value)
{
	return {reinterpret_cast<const char *>(&value), sizeof(value)};
}

} // namespace rdstest
