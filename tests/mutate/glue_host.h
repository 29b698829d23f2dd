/* SPDX-License-Identifier: GPL-2.0 */
/*
 * glue_host.h: what glue.py writes into a copy of the glue: is mutant @id the one of these modules?
 * It is written into the file of rds.ko, behind the magic, before that is loaded. @seen says which
 * were asked for since then; readers have it from a parameter of rds.ko.
 */
#pragma once

struct rds_glue_mutant {
	char magic[28];
	volatile unsigned int id;
	volatile unsigned char seen[8192];
};
extern struct rds_glue_mutant rds_glue_mutant;

static inline __attribute__((always_inline)) _Bool rds_mut(unsigned int id)
{
	rds_glue_mutant.seen[id] = 1;
	return __builtin_expect(rds_glue_mutant.id == id, 0);
}
