/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rdstest
{

/* A small, fast, seeded generator (splitmix64): the same numbers everywhere. */
class Random
{
public:
	explicit Random(uint64_t seed) : state_(seed)
	{
	}
	uint64_t next();
	uint64_t below(uint64_t limit)
	{
		return limit ? next() % limit : 0;
	}

private:
	uint64_t state_;
};

/* Fills memory with bytes that depend on the seed and the place. */
void fillPayload(void *data, size_t length, uint64_t seed);
std::string makePayload(size_t length, uint64_t seed);

/* Do these bytes equal makePayload(length, seed)? */
bool isPayload(const void *data, size_t length, uint64_t seed);

/* A 64-bit checksum that notices changed, moved and missing bytes (FNV-1a). */
uint64_t checksum(const void *data, size_t length);

} // namespace rdstest
