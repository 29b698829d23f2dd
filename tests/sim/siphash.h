/* SPDX-License-Identifier: GPL-2.0 */
/* siphash.h: SipHash-2-4 of whole words, which the kernel has as siphash(). */
#ifndef SIM_SIPHASH_H
#define SIM_SIPHASH_H

#include <bit>
#include <cstdint>

namespace sip
{

struct State {
	uint64_t v[4];

	void rounds(unsigned int n)
	{
		while (n--) {
			v[0] += v[1];
			v[2] += v[3];
			v[1] = std::rotl(v[1], 13) ^ v[0];
			v[3] = std::rotl(v[3], 16) ^ v[2];
			v[0] = std::rotl(v[0], 32);
			v[2] += v[1];
			v[0] += v[3];
			v[1] = std::rotl(v[1], 17) ^ v[2];
			v[3] = std::rotl(v[3], 21) ^ v[0];
			v[2] = std::rotl(v[2], 32);
		}
	}
	void take(uint64_t word)
	{
		v[3] ^= word;
		rounds(2);
		v[0] ^= word;
	}
};

inline uint64_t hash(const uint64_t key[2], const uint64_t *words, unsigned int n)
{
	State s = {{key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull,
		    key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull}};

	for (unsigned int i = 0; i < n; i++)
		s.take(words[i]);
	s.take(uint64_t{n} * 8 << 56);
	s.v[2] ^= 0xff;
	s.rounds(4);
	return s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
}

} // namespace sip

#endif
