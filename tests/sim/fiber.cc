// SPDX-License-Identifier: GPL-2.0
/* Its longjmp() goes to another stack, which the fortified one takes for a mistake. */
#undef _FORTIFY_SOURCE
#include "fiber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIM_ASAN 1
#endif
#endif
#ifdef SIM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace sim
{
namespace
{

constexpr size_t kStackBytes = 256 * 1024;
constexpr size_t kGuardBytes = 4096;

void start_switch([[maybe_unused]] void **save, [[maybe_unused]] const void *bottom,
		  [[maybe_unused]] size_t bytes)
{
#ifdef SIM_ASAN
	__sanitizer_start_switch_fiber(save, bottom, bytes);
#endif
}

void finish_switch([[maybe_unused]] void *saved, [[maybe_unused]] const void **bottom,
		   [[maybe_unused]] size_t *bytes)
{
#ifdef SIM_ASAN
	__sanitizer_finish_switch_fiber(saved, bottom, bytes);
#endif
}

} // namespace

Fiber::Fiber(void (*body)(void *arg), void *arg) : body_(body), arg_(arg)
{
	base_ = static_cast<char *>(mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	if (base_ == MAP_FAILED || mprotect(base_, kGuardBytes, PROT_NONE)) {
		perror("no memory for a stack");
		abort();
	}
}

Fiber::~Fiber()
{
	munmap(base_, kStackBytes + kGuardBytes);
}

/* makecontext() passes ints only. */
void Fiber::first(unsigned int low, unsigned int high)
{
	auto *f = reinterpret_cast<Fiber *>(uintptr_t{high} << 32 | low);

	finish_switch(nullptr, &f->outside_bottom_, &f->outside_bytes_);
	f->body_(f->arg_);
	abort();
}

/* Left by a jump: it must not leave red zones behind where the next call's frame will be. */
#ifdef SIM_ASAN
__attribute__((no_sanitize_address))
#endif
void Fiber::start()
{
	auto self = reinterpret_cast<uintptr_t>(this);
	ucontext_t uc;

	started_ = true;
	getcontext(&uc);
	uc.uc_stack.ss_sp = base_ + kGuardBytes;
	uc.uc_stack.ss_size = kStackBytes;
	uc.uc_link = nullptr;
	makecontext(&uc, reinterpret_cast<void (*)()>(first), 2, static_cast<unsigned int>(self),
		    static_cast<unsigned int>(self >> 32));
	setcontext(&uc);
	abort();
}

void Fiber::enter()
{
	start_switch(&fake_outside_, base_ + kGuardBytes, kStackBytes);
	if (!_setjmp(outside_)) {
		if (!started_)
			start();
		_longjmp(inside_, 1);
	}
	finish_switch(fake_outside_, nullptr, nullptr);
}

void Fiber::leave()
{
	start_switch(&fake_inside_, outside_bottom_, outside_bytes_);
	if (!_setjmp(inside_))
		_longjmp(outside_, 1);
	finish_switch(fake_inside_, &outside_bottom_, &outside_bytes_);
}

} // namespace sim
