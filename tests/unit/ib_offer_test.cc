// SPDX-License-Identifier: GPL-2.0
/*
 * ib_offer_test.cc: private data byte by byte, and the rules of versions.
 */
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "transports/ib/ib_offer.h"

namespace
{

using Bytes = std::vector<unsigned char>;

struct rds_addr addr(const Bytes &b)
{
	struct rds_addr a;
	Bytes all = b;

	if (b.size() == 4) {
		all = Bytes(10, 0);
		all.insert(all.end(), 2, 0xff);
		all.insert(all.end(), b.begin(), b.end());
	}
	memcpy(&a, all.data(), sizeof(a));
	return a;
}

const Bytes kV4[] = {{10, 0, 0, 1}, {10, 0, 0, 2}};
const Bytes kV6[] = {{0xfd, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
		     {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};
/* Behind the addresses: 4.1, minors, TOS, ack, credit; the last four bytes are our own. */
const Bytes kRest = {4, 1, 0, 3, 5, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 4, 0, 9, 8, 7, 0x59};
constexpr uint32_t kSecret = 0x090807;

struct rds_ib_offer offer(const Bytes &from, const Bytes &to)
{
	return {.saddr = addr(from),
		.daddr = addr(to),
		.ack_seq = 0x0102030405060708,
		.credit = 1024,
		.minors = 3,
		.major = 4,
		.minor = 1,
		.tos = 5,
		.can = RDS_IB_CAN_END,
		.buffers = 5,
		.order = 2,
		.secret = kSecret};
}

Bytes operator+(Bytes a, const Bytes &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

Bytes encoded(const struct rds_ib_offer &o)
{
	unsigned char out[RDS_IB_OFFER_BYTES_V6];

	return Bytes(out, out + rds_ib_offer_encode(&o, out));
}

int decode(const Bytes &b, bool v6, struct rds_ib_offer *o)
{
	return rds_ib_offer_decode(b.data(), static_cast<unsigned int>(b.size()), v6, o);
}

void expect_same(const struct rds_ib_offer &a, const struct rds_ib_offer &b)
{
	EXPECT_FALSE(memcmp(&a.saddr, &b.saddr, sizeof(a.saddr)));
	EXPECT_FALSE(memcmp(&a.daddr, &b.daddr, sizeof(a.daddr)));
	EXPECT_EQ(a.ack_seq, b.ack_seq);
	EXPECT_EQ(a.credit, b.credit);
	EXPECT_EQ(a.minors, b.minors);
	EXPECT_EQ(a.major, b.major);
	EXPECT_EQ(a.minor, b.minor);
	EXPECT_EQ(a.tos, b.tos);
	EXPECT_EQ(a.can, b.can);
	EXPECT_EQ(a.buffers, b.buffers);
	EXPECT_EQ(a.order, b.order);
	EXPECT_EQ(a.secret, b.secret);
}

TEST(IbOffer, LiesOnTheWireAsMainlines)
{
	EXPECT_EQ(encoded(offer(kV4[0], kV4[1])), kV4[0] + kV4[1] + kRest);
	EXPECT_EQ(encoded(offer(kV6[0], kV6[1])), kV6[0] + kV6[1] + kRest);
}

TEST(IbOffer, IsReadAsItWasWritten)
{
	for (bool v6 : {false, true}) {
		const auto o = v6 ? offer(kV6[0], kV6[1]) : offer(kV4[0], kV4[1]);
		struct rds_ib_offer back = {};

		EXPECT_EQ(decode(encoded(o), v6, &back), 0);
		expect_same(back, o);
		/* Padded, as some adapters hand it over. */
		EXPECT_EQ(decode(encoded(o) + Bytes(100, 0), v6, &back), 0);
		expect_same(back, o);

		auto older = o;

		older.major = 3;
		EXPECT_EQ(decode(encoded(older), v6, &back), 0);
		expect_same(back, older);
	}
}

/* Each host of ours counts its buffers, unasked; in mainline's field it counts where both say so.
 */
TEST(IbOffer, BuffersAreCountedWhereBothSaySo)
{
	struct rds_ib_offer o = {};

	for (int named : {0, 1})
		EXPECT_EQ(rds_ib_offer_counted(&o, named), 0u);
	o.buffers = 5;
	for (int named : {0, 1})
		EXPECT_EQ(rds_ib_offer_counted(&o, named), 32u);
	o.credit = 33;
	EXPECT_EQ(rds_ib_offer_counted(&o, 0), 32u);
	EXPECT_EQ(rds_ib_offer_counted(&o, 1), 33u);
	o.buffers = 0;
	EXPECT_EQ(rds_ib_offer_counted(&o, 0), 0u);
	EXPECT_EQ(rds_ib_offer_counted(&o, 1), 33u);
}

/* Padding that is not zero is no word of large buffers, nor of any. */
TEST(IbOffer, AllOnesAreUsualBuffers)
{
	Bytes b = encoded(offer(kV4[0], kV4[1]));
	struct rds_ib_offer o = {};

	b.back() = 0xff;
	ASSERT_EQ(decode(b, false, &o), 0);
	EXPECT_EQ(o.order, 0);
	EXPECT_EQ(o.buffers, 0);
	for (uint8_t order : {0, 1, 2}) {
		b.back() = static_cast<uint8_t>(order << 2);
		ASSERT_EQ(decode(b, false, &o), 0);
		EXPECT_EQ(o.order, order);
		EXPECT_EQ(o.can, 0);
	}
}

TEST(IbOffer, NoneOrTooShortOrVersion0IsFourPointNothing)
{
	for (bool v6 : {false, true}) {
		const auto o = v6 ? offer(kV6[0], kV6[1]) : offer(kV4[0], kV4[1]);
		Bytes whole = encoded(o), zeros(196, 0), no_version = whole;
		std::vector<Bytes> all = {zeros};

		no_version[v6 ? 32 : 8] = 0;
		all.push_back(no_version);
		for (size_t n = 0; n < whole.size(); n++)
			all.emplace_back(whole.begin(), whole.begin() + static_cast<long>(n));
		for (const Bytes &b : all) {
			struct rds_ib_offer got = o;

			EXPECT_EQ(decode(b, v6, &got), 0);
			expect_same(got, {o.saddr, o.daddr, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0});
			EXPECT_EQ(rds_ib_offer_agree(&got), 0);
			EXPECT_EQ(got.minor, 0);
		}

		struct rds_ib_offer got = o;

		EXPECT_EQ(rds_ib_offer_decode(nullptr, 0, v6, &got), 0);
		EXPECT_EQ(got.major, 4);
	}
}

/* A host that cannot be, or of the other family: not a word of it is used. */
TEST(IbOffer, AddressesOfNobodyAreRefused)
{
	const Bytes bad4[] = {{0, 0, 0, 0}, {224, 0, 0, 1}, {255, 255, 255, 255}};
	const Bytes mapped = Bytes(10, 0) + Bytes{0xff, 0xff, 10, 0, 0, 1};
	const Bytes bad6[] = {Bytes(16, 0), Bytes{0xff, 2} + Bytes(14, 0), mapped};

	for (const Bytes &bad : bad4)
		for (const Bytes &b : {bad + kV4[1] + kRest, kV4[0] + bad + kRest}) {
			struct rds_ib_offer o = offer(kV4[1], kV4[0]);

			EXPECT_EQ(decode(b, false, &o), -EINVAL);
			expect_same(o, offer(kV4[1], kV4[0]));
		}
	for (const Bytes &bad : bad6)
		for (const Bytes &b : {bad + kV6[1] + kRest, kV6[0] + bad + kRest}) {
			struct rds_ib_offer o = {};

			EXPECT_EQ(decode(b, true, &o), -EINVAL);
		}
}

/* The very first and last that a host may have, and either half of one alone. */
TEST(IbOffer, AddressesOfSomebodyAreTaken)
{
	const Bytes good4[] = {{1, 0, 0, 0}, {223, 255, 255, 255}};
	const Bytes good6[] = {Bytes(15, 0) + Bytes{1}, Bytes(7, 0) + Bytes{1} + Bytes(8, 0),
			       Bytes{0xfe} + Bytes(15, 0xff), Bytes{0xfd} + Bytes(15, 0)};

	for (const Bytes &good : good4)
		for (const Bytes &b : {good + kV4[1] + kRest, kV4[0] + good + kRest}) {
			struct rds_ib_offer o = {};

			EXPECT_EQ(decode(b, false, &o), 0);
			EXPECT_EQ(o.minor, 1);
		}
	for (const Bytes &good : good6)
		for (const Bytes &b : {good + kV6[1] + kRest, kV6[0] + good + kRest}) {
			struct rds_ib_offer o = {};

			EXPECT_EQ(decode(b, true, &o), 0);
			EXPECT_EQ(o.minor, 1);
		}
}

TEST(IbOffer, AgreesOnWhatBothSpeak)
{
	const struct {
		uint8_t major, minor;
		uint16_t minors;
		int agreed; /* minor version, or -1 */
	} all[] = {
		{3, 1, 0x0003, 1},  {3, 1, 0x0000, 1},	{3, 0, 0x0003, -1}, {3, 2, 0x0004, -1},
		{4, 0, 0x0001, 0},  {4, 1, 0x0003, 1},	{4, 1, 0x0002, 1},  {4, 9, 0x0203, 1},
		{4, 2, 0x0005, 0},  {4, 1, 0x0000, -1}, {4, 2, 0x0004, -1}, {5, 1, 0x0003, -1},
		{2, 1, 0x0003, -1}, {1, 0, 0x0001, -1},
	};

	for (const auto &c : all) {
		struct rds_ib_offer o = {};

		o.major = c.major;
		o.minor = c.minor;
		o.minors = c.minors;
		EXPECT_EQ(rds_ib_offer_agree(&o), c.agreed < 0 ? -EPROTO : 0)
			<< int{c.major} << '.' << int{c.minor} << ' ' << c.minors;
		EXPECT_EQ(o.major, c.major);
		EXPECT_EQ(int{o.minor}, c.agreed < 0 ? int{c.minor} : c.agreed);
		EXPECT_EQ(o.minors, c.agreed < 0 ? c.minors : 3) << "ours, not the peer's";
	}
}

TEST(IbOffer, TakesAnswersInWhatItSpeaks)
{
	for (unsigned int version = 0; version < 0x10000; version++) {
		struct rds_ib_offer o = {};
		bool spoken = version == 0x0301 || version == 0x0400 || version == 0x0401;

		o.major = static_cast<uint8_t>(version >> 8);
		o.minor = static_cast<uint8_t>(version);
		EXPECT_EQ(rds_ib_offer_accepted(&o), spoken ? 0 : -EPROTO) << version;
	}
}

TEST(IbOffer, ProposesTheNewerFirstAndTheOlderWithoutTos)
{
	struct rds_ib_offer o = {};

	EXPECT_TRUE(rds_ib_offer_propose(&o, 0));
	EXPECT_EQ(o.major, 4);
	EXPECT_EQ(o.minor, 1);
	EXPECT_EQ(o.minors, 3);
	EXPECT_TRUE(rds_ib_offer_propose(&o, 1));
	EXPECT_EQ(o.major, 3);
	EXPECT_EQ(o.minor, 1);
	EXPECT_FALSE(rds_ib_offer_propose(&o, 2));
	o.tos = 1;
	EXPECT_TRUE(rds_ib_offer_propose(&o, 0));
	EXPECT_FALSE(rds_ib_offer_propose(&o, 1));
}

/* The secret of the last connection, and no other, says that this one is over: whoever calls
 * without, or has called first, is not let in on its word. */
TEST(IbOffer, OnlyTheOtherEndProvesThatAConnectionIsOver)
{
	struct rds_ib_proof p = {};

	rds_ib_proof_begin(&p, 0x1234567);
	EXPECT_FALSE(rds_ib_proof_show(&p, 0)) << "it shows none";
	EXPECT_TRUE(rds_ib_proof_admits(&p, 0)) << "the core has asked";
	EXPECT_FALSE(p.shown);
	EXPECT_EQ(rds_ib_proof_show(&p, 0x234567), 1) << "24 bits";
	EXPECT_EQ(p.shown, 1);
	EXPECT_FALSE(rds_ib_proof_show(&p, 0)) << "somebody else, who takes its place";
	EXPECT_FALSE(rds_ib_proof_admits(&p, 0));
	EXPECT_FALSE(p.shown) << "and the next one is asked about again";
	EXPECT_TRUE(rds_ib_proof_admits(&p, 0));
	EXPECT_TRUE(rds_ib_proof_show(&p, 0x234567));
	EXPECT_TRUE(rds_ib_proof_admits(&p, 1));
	EXPECT_TRUE(rds_ib_proof_show(&p, 0x234567));
	rds_ib_proof_begin(&p, 7);
	EXPECT_FALSE(p.shown) << "the next connection is not over";
}

/* One wrong guess, and the connection is asked whatever else is shown, until the next one. */
TEST(IbOffer, NobodyGuessesTwice)
{
	struct rds_ib_proof p = {};

	EXPECT_FALSE(rds_ib_proof_show(&p, 0)) << "there was none before";
	rds_ib_proof_begin(&p, 5);
	EXPECT_FALSE(rds_ib_proof_show(&p, 6));
	for (uint32_t next : {5, 0, 1})
		EXPECT_FALSE(rds_ib_proof_show(&p, next)) << next;
	EXPECT_FALSE(p.shown);
	rds_ib_proof_begin(&p, 8);
	EXPECT_TRUE(rds_ib_proof_show(&p, 8));
}

/* Of two hosts that call each other exactly one goes on, and both know which. */
TEST(IbOffer, TheSmallerAddressKeepsItsCall)
{
	/* Ascending.  An IPv4 address counts as the IPv6 address that stands for it. */
	const Bytes all[] = {Bytes(15, 0) + Bytes{2}, {1, 0, 0, 9},   {10, 0, 0, 1}, {10, 0, 0, 2},
			     {10, 0, 1, 0},	      {200, 0, 0, 1}, kV6[0],	     kV6[1]};

	for (size_t i = 0; i < std::size(all); i++)
		for (size_t j = 0; j < std::size(all); j++) {
			const struct rds_addr self = addr(all[i]), peer = addr(all[j]);

			EXPECT_EQ(rds_ib_keeps_call(&self, &peer, 0), i < j) << i << ' ' << j;
		}
}

/* ... but not when it was waited for in vain: neither would ever get through. */
TEST(IbOffer, ACallCountsForASecond)
{
	const struct rds_addr small = addr({10, 0, 0, 1}), large = addr({10, 0, 0, 2});
	const unsigned long long second = 1000000000;

	EXPECT_TRUE(rds_ib_keeps_call(&small, &large, second - 1));
	EXPECT_FALSE(rds_ib_keeps_call(&small, &large, second));
	EXPECT_FALSE(rds_ib_keeps_call(&small, &large, ~0ull));
	EXPECT_FALSE(rds_ib_keeps_call(&large, &small, 0));
}

} // namespace
