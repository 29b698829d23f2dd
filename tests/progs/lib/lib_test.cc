// SPDX-License-Identifier: GPL-2.0
/* The helpers that the test programs believe in. */
#include "address.h"
#include "control.h"
#include "payload.h"
#include "wire.h"

#include <gtest/gtest.h>

#include <set>

using namespace rdstest;

TEST(payload, depends_on_seed_length_and_place)
{
	const std::string bytes = makePayload(1001, 7);

	EXPECT_TRUE(isPayload(bytes.data(), bytes.size(), 7));
	EXPECT_FALSE(isPayload(bytes.data(), bytes.size(), 8));
	EXPECT_EQ(makePayload(1000, 7), bytes.substr(0, 1000));
	EXPECT_NE(makePayload(8, 7), bytes.substr(8, 8));
	EXPECT_TRUE(isPayload(nullptr, 0, 7));
}

TEST(payload, every_changed_byte_is_noticed)
{
	const std::string good = makePayload(67, 3);

	for (size_t at = 0; at < good.size(); ++at) {
		std::string bad = good;

		bad[at] ^= 0x10;
		EXPECT_FALSE(isPayload(bad.data(), bad.size(), 3)) << at;
	}
}

TEST(payload, checksum_notices_moved_and_missing_bytes)
{
	std::set<uint64_t> sums;

	for (const char *text : {"", "a", "b", "ab", "ba", "aab", "aba"})
		sums.insert(checksum(text, std::strlen(text)));
	EXPECT_EQ(sums.size(), 7u);
	EXPECT_EQ(checksum("", 0), 0xcbf29ce484222325u);  /* the basis of FNV-1a */
	EXPECT_EQ(checksum("a", 1), 0xaf63dc4c8601ec8cu); /* its published test vector */
}

TEST(wire, header_has_every_field_at_its_offset)
{
	Header header;

	header.sequence = 0x0102030405060708;
	header.ack = 0x1112131415161718;
	header.length = 0x21222324;
	header.sport = 0x3132;
	header.dport = 0x4142;
	header.flags = 0x51;
	header.credit = 0x61;
	header.checksum = 0x7172;
	header.exthdr[0] = 0x81;
	header.exthdr[15] = 0x91;
	const std::string bytes = header.encode();
	ASSERT_EQ(bytes.size(), headerSize);
	EXPECT_EQ(bytes.substr(0, 8), std::string("\x01\x02\x03\x04\x05\x06\x07\x08"));
	EXPECT_EQ(bytes.substr(8, 8), std::string("\x11\x12\x13\x14\x15\x16\x17\x18"));
	EXPECT_EQ(bytes.substr(16, 10), std::string("\x21\x22\x23\x24\x31\x32\x41\x42\x51\x61"));
	EXPECT_EQ(bytes.substr(26, 4), std::string(4, '\0'));
	EXPECT_EQ(bytes.substr(30, 3), std::string("\x71\x72\x81"));
	EXPECT_EQ(bytes.back(), '\x91');
	EXPECT_EQ(Header::decode(bytes.data()).encode(), bytes);
}

TEST(wire, exthdrs_are_packed)
{
	Header header;

	header.add(extNpaths, 8, 2).add(extGenNum, 0x01020304, 4).add(extSportIdx, 0, 1);
	EXPECT_EQ(header.find(extNpaths), 8u);
	EXPECT_EQ(header.find(extGenNum), 0x01020304u);
	EXPECT_EQ(header.find(extSportIdx), 0u);
	EXPECT_EQ(header.find(extRdma), std::nullopt);
	EXPECT_EQ(header.exthdr[0], 5);
	EXPECT_EQ(header.exthdr[3], 6);
	EXPECT_EQ(header.exthdr[8], 8);
	EXPECT_THROW(header.add(extRdmaDest, 0, 8), std::length_error);
	EXPECT_EQ(header.text(), "seq 0 len 0 0->0 NPATHS=8 GEN_NUM=16909060 SPORT_IDX=0");
}

TEST(wire, unknown_and_cut_off_exthdrs_end_the_list)
{
	Header header;

	header.exthdr[0] = 200;
	EXPECT_EQ(header.exthdrs().size(), 1u);
	header.exthdr.fill(0);
	header.exthdr[0] = extGenNum;
	header.exthdr[5] = extRdmaDest;
	header.exthdr[14] = extGenNum; /* one byte of its four is there */
	EXPECT_EQ(header.exthdrs().size(), 3u);
	EXPECT_EQ(header.exthdrs().back().second, 0u);
}

TEST(wire, checksum_is_the_internet_checksum)
{
	Header header;

	EXPECT_EQ(headerChecksum(header.encode()), 0xffff);
	header.sequence = 1;
	header.sport = 0xffff;
	header.checksum = headerChecksum(header.encode());
	/* With the checksum in place the sum is all ones. */
	EXPECT_EQ(headerChecksum(header.encode()), 0);
}

TEST(wire, parser_cuts_a_stream_anywhere)
{
	Header one, two;
	one.length = 5;
	two.sequence = 2;
	const std::string stream = one.encode() + "hello" + two.encode();

	for (size_t step = 1; step <= stream.size(); ++step) {
		FrameParser parser;
		std::vector<std::string> payloads;

		for (size_t at = 0; at < stream.size(); at += step) {
			parser.feed(stream.substr(at, step));
			while (const auto frame = parser.next())
				payloads.push_back(frame->payload);
		}
		EXPECT_EQ(payloads, (std::vector<std::string>{"hello", ""})) << step;
		EXPECT_EQ(parser.pending(), 0u);
	}
}

TEST(address, is_parsed_and_printed)
{
	EXPECT_EQ(Address::parse("10.9.0.1", 4000).text(), "AF_INET 10.9.0.1:4000");
	EXPECT_EQ(Address::parse("fd00:9::1", 65535).text(), "AF_INET6 [fd00:9::1]:65535");
	EXPECT_EQ(Address::parse("10.9.0.1").length(), sizeof(sockaddr_in));
	EXPECT_EQ(Address::parse("fe80::1%3").length(), sizeof(sockaddr_in6));
	EXPECT_THROW(Address::parse("10.9.0"), std::invalid_argument);
	EXPECT_THROW(Address::parse(""), std::invalid_argument);
}

TEST(control, messages_are_found_again)
{
	const Control control = Control().add(1, 2, uint32_t{3}).add(4, 5, uint64_t{6});
	std::string bytes(static_cast<const char *>(control.data()), control.size());
	msghdr message{};

	message.msg_control = bytes.data();
	message.msg_controllen = bytes.size();
	const std::vector<ControlMessage> found = parseControl(message);
	ASSERT_EQ(found.size(), 2u);
	EXPECT_EQ(found[0].as<uint32_t>(), 3u);
	EXPECT_EQ(found[1].level, 4);
	EXPECT_EQ(found[1].type, 5);
	EXPECT_EQ(found[1].as<uint64_t>(), 6u);
	EXPECT_EQ(found[0].as<uint64_t>(), 0u); /* too short for that */
}
