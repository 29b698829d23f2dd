/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hooks.h: the compiler's atomics, as the processor of store_buffer.h would run them.
 *
 * The build includes it before everything else (-include), so that the core's sources are the
 * kernel's own: between any two loads, stores, exchanges and fences another task may run, and a
 * store may be seen late.  read_once() and write_once() of ref.h are not of them: what they write
 * is read plainly elsewhere.
 */
#ifndef RDS_TESTS_BETWEEN_HOOKS_H
#define RDS_TESTS_BETWEEN_HOOKS_H

/* The libraries of the tests keep their atomics: their headers come first. */
#if __STDC_HOSTED__
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
#endif
#include <stddef.h>
#include <stdint.h>

namespace sim::between
{

enum class Op { kExchange, kAdd, kSub, kOr, kAnd };

uint64_t load(const void *at, unsigned int bytes, int order);
void store(void *at, unsigned int bytes, uint64_t v, int order);
/* The value before. */
uint64_t modify(void *at, unsigned int bytes, Op op, uint64_t v);
bool compare_exchange(void *at, unsigned int bytes, uint64_t *expected, uint64_t desired);
void fence(int order);

template <typename T>
uint64_t word(T v)
{
	uint64_t w = 0;

	static_assert(sizeof(T) <= sizeof(w));
	__builtin_memcpy(&w, &v, sizeof(v));
	return w;
}

template <typename T>
T value(uint64_t w)
{
	T v;

	__builtin_memcpy(&v, &w, sizeof(v));
	return v;
}

template <typename T>
T load_n(const T *at, int order)
{
	return value<T>(load(at, sizeof(T), order));
}

template <typename T, typename V>
void store_n(T *at, V v, int order)
{
	store(at, sizeof(T), word(static_cast<T>(v)), order);
}

template <typename T, typename V>
T modify_n(T *at, Op op, V v)
{
	return value<T>(modify(at, sizeof(T), op, word(static_cast<T>(v))));
}

template <typename T, typename V>
bool compare_exchange_n(T *at, T *expected, V desired)
{
	uint64_t e = word(*expected);
	bool done = compare_exchange(at, sizeof(T), &e, word(static_cast<T>(desired)));

	*expected = value<T>(e);
	return done;
}

} // namespace sim::between

#define __atomic_load_n(at, order) ::sim::between::load_n(at, order)
#define __atomic_store_n(at, v, order) ::sim::between::store_n(at, v, order)
#define __atomic_exchange_n(at, v, order)                                                          \
	::sim::between::modify_n(at, ::sim::between::Op::kExchange, v)
#define __atomic_fetch_add(at, v, order) ::sim::between::modify_n(at, ::sim::between::Op::kAdd, v)
#define __atomic_fetch_sub(at, v, order) ::sim::between::modify_n(at, ::sim::between::Op::kSub, v)
#define __atomic_fetch_or(at, v, order) ::sim::between::modify_n(at, ::sim::between::Op::kOr, v)
#define __atomic_fetch_and(at, v, order) ::sim::between::modify_n(at, ::sim::between::Op::kAnd, v)
#define __atomic_compare_exchange_n(at, expected, desired, weak, good, bad)                        \
	::sim::between::compare_exchange_n(at, expected, desired)
#define __atomic_thread_fence(order) ::sim::between::fence(order)

#endif
