// SPDX-License-Identifier: GPL-2.0
#include "over_ib.h"

#include <arpa/inet.h>

#include <thread>

namespace rdstest
{

Setup setup;

namespace
{

/* The next address of the kind, for a test of its own. */
Address take(bool v6)
{
	Address &next = setup.own[v6];
	const Address taken = next;
	sockaddr *sa = next.get();

	if (v6)
		++reinterpret_cast<sockaddr_in6 *>(sa)->sin6_addr.s6_addr[15];
	else
		reinterpret_cast<sockaddr_in *>(sa)->sin_addr.s_addr +=
			htonl(1); /* stays in its last byte */
	return taken;
}

} // namespace

bool isEmpty(const Header &header)
{
	return !header.sport && !header.dport && !header.length;
}

bool isMap(const Header &header)
{
	return header.flags == flagCongBitmap;
}

bool isHello(const Header &header)
{
	return isEmpty(header) && header.find(extCapBits);
}

std::string shown(const std::string &bytes)
{
	std::string text = "length " + std::to_string(bytes.size()) + ":";
	char two[4];

	for (unsigned char byte : bytes.substr(0, 64)) {
		snprintf(two, sizeof(two), " %02x", byte);
		text += two;
	}
	return text;
}

OverIb::OverIb(bool v6) : v6(v6), host(*setup.host), own(take(v6)), peer(own, host.address(v6))
{
}

void OverIb::SetUp()
{
	host.fresh();
	before = host.counters();
}

void OverIb::TearDown()
{
	const std::string last = "the last of " + plain(own);
	Peer good(own, host.address(v6));

	EXPECT_EQ(peer.broken, 0u) << "of " << peer.frames << " frames";
	peer.hangUp();
	peer.beDeaf();

	const Peer::Answer answer = insist(good);

	ASSERT_TRUE(answer.accepted) << "the host takes no connection any more, status "
				     << answer.status << "; what it counted: " << grownAll();
	sequence += 1000;
	EXPECT_TRUE(good.send(message(header(), last)));
	reads(last);
	good.hangUp();
}

std::string OverIb::grownAll()
{
	std::string text;

	for (const auto &[name, now] : host.counters())
		if (now != before.at(name))
			text += name + " +" + std::to_string(now - before.at(name)) + " ";
	return text;
}

Peer::Answer OverIb::insist(Peer &caller, const Offer &offer)
{
	const auto end = std::chrono::steady_clock::now() + kSoon;

	for (;;) {
		const Peer::Answer answer = caller.call(caller.offer(offer));

		if (answer.accepted || std::chrono::steady_clock::now() >= end)
			return answer;
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
}

Offer OverIb::connect(const Offer &offer, const Rings &rings)
{
	const Peer::Answer answer = peer.call(peer.offer(offer), rings);

	if (!answer.accepted)
		throw std::runtime_error("the host refuses, status " +
					 std::to_string(answer.status));
	return Offer::decode(answer.data, v6);
}

Header OverIb::header(uint16_t dport, uint16_t sport)
{
	Header h;

	h.sequence = sequence++;
	h.sport = sport;
	h.dport = dport;
	return h;
}

void OverIb::reads(const std::string &payload)
{
	const auto read = host.next(v6);

	ASSERT_TRUE(read) << "nothing came; wanted " << shown(payload);
	EXPECT_TRUE(read->data == payload)
		<< shown(read->data) << "\nin place of " << shown(payload);
	EXPECT_EQ(read->from, plain(own));
}

void OverIb::deliver(const std::string &payload)
{
	ASSERT_TRUE(peer.send(message(header(), payload)));
	reads(payload);
}

void OverIb::hello(uint32_t generation)
{
	Header h;

	h.flags = flagRetransmitted;
	h.add(extGenNum, generation, 4).add(extNpaths, 1, 2).add(extSportIdx, 0, 1);
	h.add(extCapBits, 2, 4);
	ASSERT_TRUE(peer.send(frame(h)));
}

void OverIb::acknowledge(uint64_t ack, uint8_t credit)
{
	Header h;

	h.ack = ack;
	h.credit = credit;
	ASSERT_TRUE(peer.send(frame(h)));
}

std::optional<Frame> OverIb::nextMessage(Patience patience)
{
	return peer.receive([](const Frame &f) { return !isEmpty(f.header) && !isMap(f.header); },
			    patience);
}

void OverIb::endsFor(const char *counter)
{
	EXPECT_TRUE(peer.ended()) << "the connection is kept";
	EXPECT_TRUE(grows(counter)) << counter;
	EXPECT_TRUE(grows("conn_reset"));
	EXPECT_EQ(grown(counter), 1u) << counter;
	EXPECT_EQ(grown("conn_reset"), 1u);
}

void OverIb::goesOn()
{
	deliver("number " + std::to_string(++messages_));
	EXPECT_TRUE(peer.open());
	EXPECT_EQ(grown("conn_reset"), 0u);
}

} // namespace rdstest
