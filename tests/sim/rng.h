/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rng.h: a stream of random numbers of one's own (splitmix64): what draws from it changes nothing
 * for anybody else.
 */
#ifndef RDS_TESTS_RNG_H
#define RDS_TESTS_RNG_H

#include <cstdint>

namespace sim
{

inline uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

class Rng final
{
public:
	explicit Rng(uint64_t seed = 0)
		: state_(seed * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull)
	{
	}
	/* Another stream for each @which. */
	Rng(uint64_t seed, uint64_t which) : Rng(mix(seed) ^ mix(which + 0x5851f42d4c957f2dull))
	{
	}
	uint64_t next()
	{
		return mix(state_ += 0x9e3779b97f4a7c15ull);
	}
	/* 0 .. n - 1 */
	uint64_t below(uint64_t n)
	{
		using Wide = unsigned __int128;

		return n > 1 ? static_cast<uint64_t>((static_cast<Wide>(next()) * n) >> 64) : 0;
	}
	bool chance(unsigned int per_1000)
	{
		return per_1000 && below(1000) < per_1000;
	}

private:
	uint64_t state_;
};

} // namespace sim
#endif
