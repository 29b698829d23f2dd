/* SPDX-License-Identifier: GPL-2.0 */
/* stress.h: the parts of pthread_tsan and pthread_asan.  Each returns the exit status, or aborts
 * and says why. */
#ifndef RDS_PTHREAD_STRESS_H
#define RDS_PTHREAD_STRESS_H

/* hash_stress.cc */
int hash_stress();
/* wire_stress.cc */
int wire_stress(unsigned int rounds);
/* ends_stress.cc */
int ends_stress(unsigned int rounds);
/* query_stress.cc */
int query_stress(unsigned int rounds);

#endif
