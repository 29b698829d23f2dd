/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fuzz.h: what all fuzzers share.
 *
 * An input is two things: bytes that the code under test reads (taken from its front, as libFuzzer
 * mutates them best) and decisions of the harness (taken from its back by FuzzedDataProvider).  It
 * must not matter what was run before: everything, the scheduler's seed too, follows from the
 * input.
 */
#ifndef RDS_TESTS_FUZZ_H
#define RDS_TESTS_FUZZ_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

namespace fuzz
{

/* A broken promise of the product: libFuzzer keeps the input and prints the stack. */
inline void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz: not true: %s\n", what);
	abort();
}

} // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
