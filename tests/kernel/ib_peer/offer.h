/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The private data that hosts exchange while they connect, put together by hand from docs/wire.md:
 * two addresses of 4 or 16 bytes, then
 *
 * offset 0 u8 major, 1 u8 minor, 2 be16 minor versions, 4 u8 tos, 5 u8 padding[3], 8 be64 ack,
 * 16 be32 credits, 20 u8 padding[3], 23 u8 bits
 */
#pragma once

#include "../../progs/lib/address.h"

#include <cstdint>
#include <string>

namespace rdstest
{

constexpr size_t kOfferSizeV4 = 32;
constexpr size_t kOfferSizeV6 = 56;

struct Offer {
	uint8_t major = 4, minor = 1;
	uint16_t minors = 3;
	uint8_t tos = 0;
	uint64_t ack = 0;
	uint32_t credits = 0;
	uint8_t can = 0;     /* bit 0: ends in order, bit 1: answers heartbeats */
	uint8_t order = 0;   /* buffers have 4096 bytes << this */
	uint8_t buffers = 0; /* 2 to the power of this are counted; 0: none */

	/* Only decoded. */
	std::string from = {}, to = {};

	std::string encode(const Address &from, const Address &to) const;

	/* Throws when it is too short. */
	static Offer decode(const std::string &data, bool v6);

	std::string version() const
	{
		return std::to_string(major) + "." + std::to_string(minor);
	}
};

/* The bytes of an address as they lie there. */
std::string rawAddress(const Address &address);

/* "10.9.0.1", "fd00:9::1" */
std::string plain(const Address &address);

/* An integer as the wire has it. */
std::string bigEndian(uint64_t value, size_t bytes);

} // namespace rdstest
