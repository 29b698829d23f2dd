/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of all tests: the host, and a peer with an address of its own, so that the host knows
 * nothing of it yet.  At the end of each the next connection must be as good as any, and what comes
 * over it the only thing that the host's application reads.
 */
#pragma once

#include "peer.h"

#include <gtest/gtest.h>

namespace rdstest
{

/* Where everything is; the first of the addresses that tests may take. */
struct Setup {
	std::unique_ptr<Host> host;
	Address own[2]; /* IPv4 and IPv6 */
};
extern Setup setup;

class OverIb : public ::testing::Test
{
protected:
	explicit OverIb(bool v6 = false);
	void SetUp() override;
	void TearDown() override;

	/* Calls with an offer and is accepted; what the host offers. */
	Offer connect(const Offer &offer = {}, const Rings &rings = {});

	/* The same until it is accepted: a host that calls at this moment wants its own. */
	Peer::Answer insist(Peer &caller, const Offer &offer = {});

	/* A message for the host's application, and a number for it. */
	Header header(uint16_t dport = Host::port, uint16_t sport = 9);

	/* Sends a message; the application must read it. */
	void deliver(const std::string &payload);
	void reads(const std::string &payload);

	/* Says that it acknowledges by number and what generation these have, as a peer of ours. */
	void hello(uint32_t generation);

	/* Acknowledges in an empty frame. */
	void acknowledge(uint64_t ack, uint8_t credit = 0);

	/* To a peer that has called and says nothing the host says hello, and no more. */
	void speak()
	{
		acknowledge(0);
	}

	/* The next frame of a message; maps and empty frames are passed over. */
	std::optional<Frame> nextMessage(Patience patience = kSoon);

	/* The connection ends, and the host counts why, once. */
	void endsFor(const char *counter);

	/* It does not: a message gets through. */
	void goesOn();

	bool grows(const std::string &name, uint64_t least = 1)
	{
		return host.grows(before, name, least);
	}
	uint64_t grown(const std::string &name)
	{
		return host.counters().at(name) - before.at(name);
	}
	/* All that did, for a failure's text. */
	std::string grownAll();

	const bool v6;
	Host &host;
	const Address own;
	Peer peer;
	uint64_t sequence = 1;
	Host::Counters before;

private:
	unsigned messages_ = 0;
};

bool isEmpty(const Header &header);
bool isMap(const Header &header);
bool isHello(const Header &header);

/* "length 5: 68656c6c6f" for a failure's text. */
std::string shown(const std::string &bytes);

} // namespace rdstest
