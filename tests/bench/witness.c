// SPDX-License-Identifier: GPL-2.0
/*
 * The witness: two processes that ping each other once in a millisecond, beside a user who does his
 * worst in a loop (neighbour.c).  They go before all others whenever the kernel lets them
 * (SCHED_FIFO), so what is late is not the share of the processor that the user has, but what he
 * has the kernel do that nobody may interrupt, or that stands in the way of the witness's messages.
 */
#include <stdlib.h>
#include <time.h>
#include "perf.h"

#define PERIOD_NS 1000000
#define MOST_PINGS 8192

static uint64_t late[MOST_PINGS];
static struct timespec due;

static int64_t ns_since(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - then->tv_sec) * 1000000000ll + now.tv_nsec - then->tv_nsec;
}

/* Until ping @k is due. */
void pace_wait(long k)
{
	if (!k) {
		clock_gettime(CLOCK_MONOTONIC, &due);
		due.tv_sec++;
	}
	due.tv_nsec += PERIOD_NS;
	if (due.tv_nsec >= 1000000000) {
		due.tv_nsec -= 1000000000;
		due.tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

/* It was answered. */
void pace_note(long k)
{
	late[k % MOST_PINGS] = ns_since(&due);
}

static int ascending(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void pace_sum(long n)
{
	n = n < MOST_PINGS ? n : MOST_PINGS;
	qsort(late, n, sizeof(*late), ascending);
	sh->p50 = late[n / 2];
	sh->p99 = late[n - 1 - n / 100];
	sh->most = late[n - 1];
}
