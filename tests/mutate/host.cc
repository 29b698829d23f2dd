// SPDX-License-Identifier: GPL-2.0
/*
 * Linked into every test of the build with mutants: RDS_MUTANT=id chooses one, and the ids that a
 * run reached are written to the file that RDS_MUTANT_SEEN names.
 */
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

#include "mutant.h"

namespace
{

constexpr unsigned int kMost = 65536; /* gen.py makes no more */

/* The simulator plays in children of its own: what they reach is this process's as well. */
void share_with_children()
{
	if (mmap(rds_mutant_seen, kMost, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort();
}

void report()
{
	const char *name = getenv("RDS_MUTANT_SEEN");
	FILE *f = name ? fopen(name, "w") : nullptr;

	if (!f)
		return;
	for (unsigned int id = 0; id < kMost; id++)
		if (rds_mutant_seen[id])
			fprintf(f, "%u\n", id);
	fclose(f);
}

/* Before the constructors of the core and its tests. */
__attribute__((constructor(101))) void choose()
{
	const char *id = getenv("RDS_MUTANT");

	if (id)
		rds_mutant = static_cast<unsigned int>(strtoul(id, nullptr, 10));
	if (getenv("RDS_MUTANT_SEEN")) {
		share_with_children();
		atexit(report);
	}
}

} // namespace

extern "C" {
unsigned int rds_mutant;			     /* none is 0 */
alignas(65536) unsigned char rds_mutant_seen[kMost]; /* whole pages */
}
