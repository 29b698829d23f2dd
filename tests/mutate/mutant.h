/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The question that gen.py writes into a copy of the core: is mutant @id the one of this run?  A
 * run knows which it asked for.
 */
#pragma once

extern "C" unsigned int rds_mutant;
extern "C" unsigned char rds_mutant_seen[];

__attribute__((always_inline)) inline bool rds_mut(unsigned int id)
{
	rds_mutant_seen[id] = 1;
	return __builtin_expect(rds_mutant == id, 0);
}
