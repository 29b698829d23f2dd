// SPDX-License-Identifier: GPL-2.0
#include "net/rds/wire.h"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace
{

using namespace rds::wire;

Header with_ext(std::vector<uint8_t> bytes)
{
	Header h;

	encode(h, 0, 0, 0, 0);
	bytes.resize(kExtBytes);
	memcpy(h.ext, bytes.data(), kExtBytes);
	return h;
}

std::vector<Ext> types(const Header &h, bool *bad = nullptr)
{
	std::vector<Ext> out;
	ExtReader r(h);
	ExtView e;

	while (r.next(e))
		out.push_back(e.type);
	if (bad)
		*bad = r.bad();
	return out;
}

TEST(WireGetPut, IsBigEndian)
{
	uint8_t b[8];

	put16(b, 0x1234);
	EXPECT_EQ(b[0], 0x12);
	EXPECT_EQ(get16(b), 0x1234);
	put32(b, 0x12345678);
	EXPECT_EQ(b[0], 0x12);
	EXPECT_EQ(get32(b), 0x12345678u);
	put64(b, 0x0102030405060708);
	EXPECT_EQ(b[0], 1);
	EXPECT_EQ(b[7], 8);
	EXPECT_EQ(get64(b), 0x0102030405060708u);
}

TEST(WireEncode, WritesEveryFieldAtItsPlace)
{
	Header h;

	memset(&h, 0xff, sizeof(h));
	encode(h, 0x01020304, 0x1112, 0x2122, kAckRequired);
	put64(h.sequence, 7);

	const auto *b = reinterpret_cast<const uint8_t *>(&h);
	const uint8_t want[kHeaderBytes] = {0, 0, 0, 0, 0, 0, 0, 7,    0,    0,	   0,	 0, 0,
					    0, 0, 0, 1, 2, 3, 4, 0x11, 0x12, 0x21, 0x22, 2};

	EXPECT_EQ(memcmp(b, want, sizeof(want)), 0);
}

TEST(WireDecode, ReadsBackWhatWasWritten)
{
	std::mt19937 rng(1);

	for (int i = 0; i < 1000; i++) {
		Header h;
		uint32_t len = rng();
		auto sport = static_cast<uint16_t>(rng()), dport = static_cast<uint16_t>(rng());
		auto flags = static_cast<uint8_t>(rng());

		encode(h, len, sport, dport, flags);
		put64(h.sequence, i);
		put64(h.ack, i + 1);
		h.credit = 9;

		Fields f = decode(h);

		ASSERT_EQ(f.len, len);
		ASSERT_EQ(f.sport, sport);
		ASSERT_EQ(f.dport, dport);
		ASSERT_EQ(f.flags, flags);
		ASSERT_EQ(f.seq, static_cast<uint64_t>(i));
		ASSERT_EQ(f.ack, static_cast<uint64_t>(i) + 1);
		ASSERT_EQ(f.credit, 9);
	}
}

TEST(WireExtPayloadBytes, KnowsEveryType)
{
	const int want[18] = {0, 4, 4, 8, 8, 2, 4, 4, 1, 8, 0, 0, 14, 14, 6, 8, -1, -1};

	for (uint8_t t = 0; t < 18; t++)
		EXPECT_EQ(ext_payload_bytes(t), want[t]) << int{t};
	EXPECT_EQ(ext_payload_bytes(255), -1);
}

TEST(WireExtReader, FindsNothingInAnEmptyHeader)
{
	bool bad = true;

	EXPECT_TRUE(types(with_ext({}), &bad).empty());
	EXPECT_FALSE(bad);
}

TEST(WireExtReader, WalksSeveralInOrder)
{
	bool bad = true;
	auto t = types(with_ext({5, 0, 1, 6, 1, 2, 3, 4, 8, 0}), &bad);

	EXPECT_EQ(t, (std::vector<Ext>{Ext::kNpaths, Ext::kGenNum, Ext::kSportIdx}));
	EXPECT_FALSE(bad);
}

TEST(WireExtReader, StepsOverUndefinedTypesByteByByte)
{
	bool bad = true;
	auto t = types(with_ext({11, 5, 0, 8}), &bad);

	ASSERT_EQ(t.size(), 2u);
	EXPECT_EQ(t[1], Ext::kNpaths);
	EXPECT_FALSE(bad);
}

TEST(WireExtReader, CallsAHeaderCutShortBad)
{
	bool bad = false;

	/* Three of 5 bytes, then one of 9 in 1 byte. */
	types(with_ext({6, 0, 0, 0, 0, 6, 0, 0, 0, 0, 6, 0, 0, 0, 0, 3}), &bad);
	EXPECT_TRUE(bad);
}

TEST(WireExtReader, EndsAtTypesBeyondTheLimit)
{
	bool bad = false;

	EXPECT_TRUE(types(with_ext({16, 5, 0, 1}), &bad).empty());
	EXPECT_TRUE(bad);
}

/* For any 16 bytes the walk ends, stays inside, and every view lies inside whole. */
TEST(WireExtReader, StaysInsideForAnyBytes)
{
	std::mt19937 rng(2);

	for (int i = 0; i < 200000; i++) {
		std::vector<uint8_t> bytes(kExtBytes);

		for (auto &b : bytes)
			b = static_cast<uint8_t>(i % 2 ? rng() % 20 : rng());

		Header h = with_ext(bytes);
		ExtReader r(h);
		ExtView e;
		unsigned int n = 0;

		while (r.next(e)) {
			int len = ext_payload_bytes(static_cast<uint8_t>(e.type));

			ASSERT_GE(len, 0);
			ASSERT_GT(e.data, h.ext);
			ASSERT_LE(e.data + len, h.ext + kExtBytes);
			ASSERT_LE(++n, kExtBytes);
		}
		ASSERT_FALSE(r.next(e));
	}
}

TEST(WireExtWriter, WritesPathsAndRefusesWhatDoesNotFit)
{
	Header h = with_ext({});
	ExtWriter w(h);

	for (int i = 0; i < 5; i++)
		EXPECT_TRUE(w.npaths(static_cast<uint16_t>(i + 1)));
	EXPECT_FALSE(w.npaths(9));

	ExtReader r(h);
	ExtView e;

	for (int i = 0; i < 5; i++) {
		ASSERT_TRUE(r.next(e));
		EXPECT_EQ(e.type, Ext::kNpaths);
		EXPECT_EQ(get16(e.data), i + 1);
	}
	EXPECT_FALSE(r.next(e));
	EXPECT_FALSE(r.bad());
}

/* The rules of other versions, from reference/mainline.md B.2: what each makes of our bytes. */
std::vector<int> as_seen_by(const Header &h, const std::vector<int> &known_bytes)
{
	std::vector<int> seen;

	for (unsigned int at = 0; at < kExtBytes && h.ext[at] != 0;) {
		int type = h.ext[at++];

		if (type >= 16)
			return {-1};

		int bytes = known_bytes[static_cast<size_t>(type)];

		if (bytes >= 0)
			seen.push_back(type);
		at += static_cast<unsigned int>(bytes > 0 ? bytes : 0);
	}
	return seen;
}

TEST(WireHello, IsSkippedByEveryVersion)
{
	/*			      0  1  2  3   4   5  6   7   8 ... */
	const std::vector<int> six = {0, 4, 4, 8, -1, 2, 4, -1, -1, -1, -1, -1, -1, -1, -1, -1};
	const std::vector<int> seven = {0, 4, 4, 8, 8, 2, 4, -1, 1, -1, -1, -1, -1, -1, -1, -1};
	Header h;

	for (uint32_t gen : {1u, 0x07070707u, 0xffffffffu}) {
		encode_hello(h, {gen, kCapDeliveryAck});
		EXPECT_EQ(as_seen_by(h, six), (std::vector<int>{6, 5}));
		EXPECT_EQ(as_seen_by(h, seven), (std::vector<int>{6, 5, 8}));

		Fields f = decode(h);

		/* Old to who counts, meaningless to who begins to, and for no socket. */
		EXPECT_EQ(f.flags, kRetransmitted);
		EXPECT_EQ(f.seq | f.sport | f.dport | f.len, 0u);
		EXPECT_EQ(decode_hello(h).gen, gen);
		EXPECT_EQ(decode_hello(h).caps, kCapDeliveryAck);
	}
}

TEST(WireHello, LiesOnTheWireLikeThis)
{
	const std::vector<uint8_t> ext = {
		6, 0x12, 0x34, 0x56, 0x78, 5, 0, 8, 8, 3, 7, 0, 0, 0, 2,
	};
	Header h;

	encode_hello(h, {0x12345678, kCapDeliveryAck, 8, 3});
	EXPECT_EQ(decode_hello(h).paths, 8);
	EXPECT_EQ(decode_hello(h).index, 3);
	for (size_t i = 0; i < ext.size(); i++)
		EXPECT_EQ(h.ext[i], ext[i]) << i;
	for (size_t i = ext.size(); i < kExtBytes; i++)
		EXPECT_EQ(h.ext[i], 0) << i;
	EXPECT_EQ(h.flags, 4);
}

TEST(WireRefusal, LiesOnTheWireLikeThis)
{
	const std::vector<uint8_t> refused = {13, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0};
	const std::vector<uint8_t> resume = {14, 9, 10, 11, 12, 13, 14, 0, 0};
	Header h;

	encode_refusal(h, {Ext::kRefused, 0x0d0e, 0x090a0b0c, 0x0102030405060708});
	EXPECT_TRUE(is_control(decode(h)));
	EXPECT_TRUE(is_refusal(h));
	for (size_t i = 0; i < refused.size(); i++)
		EXPECT_EQ(h.ext[i], refused[i]) << i;
	EXPECT_EQ(decode_refusal(h).number, 0x0102030405060708u);
	EXPECT_EQ(decode_refusal(h).epoch, 0x090a0b0cu);
	EXPECT_EQ(decode_refusal(h).port, 0x0d0e);
	encode_refusal(h, {Ext::kResume, 0x0d0e, 0x090a0b0c, 7});
	EXPECT_TRUE(is_control(decode(h)));
	EXPECT_TRUE(is_refusal(h));
	for (size_t i = 0; i < resume.size(); i++)
		EXPECT_EQ(h.ext[i], resume[i]) << i;
	EXPECT_EQ(decode_refusal(h).what, Ext::kResume);
	EXPECT_EQ(decode_refusal(h).epoch, 0x090a0b0cu);
	EXPECT_EQ(decode_refusal(h).port, 0x0d0e);
	EXPECT_EQ(decode_refusal(h).number, 0u);
	/* Other frames of the kind. */
	encode_hello(h, {1, kCapDeliveryAck});
	EXPECT_FALSE(is_refusal(h));
	EXPECT_EQ(decode_refusal(h).what, Ext::kNone);
	encode_control(h);
	EXPECT_EQ(decode_refusal(h).what, Ext::kNone);
}

TEST(WireChanges, LieOnTheWireLikeThis)
{
	const std::vector<uint8_t> ext = {12, 3, 5, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0};
	MapChanges c;
	Header h;

	EXPECT_TRUE(c.add(0x0102, true) && c.add(0x0304, false) && c.add(0x0506, true));
	encode_control(h);
	EXPECT_TRUE(ExtWriter(h).changes(c)) << "there is room for them";
	encode_changes(h, c);
	EXPECT_TRUE(is_control(decode(h)));
	EXPECT_TRUE(is_changes(h) && tells_of_ports(h));
	EXPECT_FALSE(is_refusal(h));
	for (size_t i = 0; i < ext.size(); i++)
		EXPECT_EQ(h.ext[i], ext[i]) << i;

	const MapChanges said = decode_changes(h);

	ASSERT_EQ(said.n, 3);
	EXPECT_TRUE(said.is_full(0) && !said.is_full(1) && said.is_full(2));
	EXPECT_TRUE(said.has(0x0102) && said.has(0x0304) && said.has(0x0506));
	EXPECT_FALSE(said.has(0));
	/* More than there is room for. */
	h.ext[1] = MapChanges::kMost;
	EXPECT_EQ(decode_changes(h).n, MapChanges::kMost);
	h.ext[1] = MapChanges::kMost + 1;
	EXPECT_EQ(decode_changes(h).n, 0);
	/* Other frames of the kind. */
	encode_hello(h, {1, kCapDeliveryAck});
	EXPECT_FALSE(tells_of_ports(h));
	EXPECT_EQ(decode_changes(h).n, 0);
	for (uint16_t port = 7; c.n < MapChanges::kMost; port++)
		EXPECT_TRUE(c.add(port, true));
	EXPECT_FALSE(c.add(99, true));
}

/* Sixteen bytes are filled and read to the last one, and not beyond. */
TEST(WireExt, TheLastByteIsUsed)
{
	rds::wire::Header h = {};
	rds::wire::ExtWriter w(h);
	rds::wire::ExtView e;
	unsigned int n = 0;

	EXPECT_TRUE(w.npaths(0x0102));
	EXPECT_TRUE(w.rdma(0x03040506));
	EXPECT_TRUE(w.rdma(0x0708090a));
	EXPECT_FALSE(w.rdma(1)) << "three bytes are left";
	EXPECT_TRUE(w.npaths(0x0b0c));
	EXPECT_FALSE(w.sport_idx(1));
	EXPECT_EQ(h.ext[15], 0x0c);

	rds::wire::ExtReader r(h);

	while (r.next(e))
		n++;
	EXPECT_EQ(n, 4u);
	EXPECT_FALSE(r.bad());
	/* One byte less, and the last is cut short. */
	h.ext[13] = static_cast<uint8_t>(rds::wire::Ext::kRdma);

	rds::wire::ExtReader cut(h);

	for (n = 0; cut.next(e);)
		n++;
	EXPECT_EQ(n, 3u);
	EXPECT_TRUE(cut.bad());
}

/* A header that nobody sends a message with; what it acknowledges does not matter. */
TEST(WireFields, AControlFrameHasNothingElse)
{
	for (unsigned int bits = 0; bits < 16; bits++) {
		rds::wire::Fields f = {};

		f.ack = 7;
		f.seq = bits & 1;
		f.sport = bits >> 1 & 1;
		f.dport = bits >> 2 & 1;
		f.flags = bits >> 3 & 1 ? 0 : +rds::wire::kRetransmitted;
		EXPECT_EQ(rds::wire::is_control(f), !bits) << bits;
	}
}

} // namespace
