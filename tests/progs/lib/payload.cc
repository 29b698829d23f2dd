// SPDX-License-Identifier: GPL-2.0
#include "payload.h"

#include <algorithm>
#include <cstring>

namespace rdstest
{

uint64_t Random::next()
{
	uint64_t mixed = state_ += 0x9e3779b97f4a7c15;

	mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
	return mixed ^ (mixed >> 31);
}

void fillPayload(void *data, size_t length, uint64_t seed)
{
	char *bytes = static_cast<char *>(data);
	Random random(seed);

	for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
		const uint64_t value = random.next();

		std::memcpy(bytes + at, &value, std::min(length - at, sizeof(value)));
	}
}

std::string makePayload(size_t length, uint64_t seed)
{
	std::string bytes(length, '\0');

	fillPayload(bytes.data(), length, seed);
	return bytes;
}

bool isPayload(const void *data, size_t length, uint64_t seed)
{
	const char *bytes = static_cast<const char *>(data);
	Random random(seed);

	for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
		const uint64_t value = random.next();

		if (std::memcmp(bytes + at, &value, std::min(length - at, sizeof(value))) != 0)
			return false;
	}
	return true;
}

uint64_t checksum(const void *data, size_t length)
{
	const unsigned char *bytes = static_cast<const unsigned char *>(data);
	uint64_t sum = 0xcbf29ce484222325;

	for (size_t i = 0; i < length; ++i)
		sum = (sum ^ bytes[i]) * 0x100000001b3;
	return sum;
}

} // namespace rdstest
