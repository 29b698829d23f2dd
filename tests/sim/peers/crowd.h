/* SPDX-License-Identifier: GPL-2.0 */
/*
 * crowd.h: one story from one seed in which hosts of our core meet others: mainline's, and liars.
 *
 * Everybody who is honest sends to everybody else who is, while connections are cut and end in
 * order, readers stop and go on, and liars lie.  Then there is peace: everything comes to rest,
 * arrived once, in order and unchanged; where nothing was cut and nobody of 6.x had to forget,
 * nothing is missing; memory stayed bounded; and one more message goes each way.
 */
#ifndef RDS_TESTS_CROWD_H
#define RDS_TESTS_CROWD_H

#include <cstdint>
#include <string>

namespace crowd
{

struct Setup {
	uint64_t seed = 1;
	unsigned int cores = 2;
	unsigned int sixes = 0, sevens = 0, liars = 0;
	bool cuts = true, ends = true;
	unsigned int steps = 60;
};

/* Drawn from the seed. */
Setup draw(uint64_t seed);

struct Result {
	std::string complaint; /* empty: all is well */
	uint64_t received = 0, lost = 0, lies = 0, maps = 0, probes = 0, retransmitted = 0;
	uint64_t peak_bytes = 0;
};
Result play(const Setup &s);
std::string words(const Setup &s);

} // namespace crowd
#endif
