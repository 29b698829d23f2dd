// SPDX-License-Identifier: GPL-2.0
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
#include <sanitizer/asan_interface.h>
#endif

/* ASan takes a call that does not return for the end of all frames of the stack; the functions that
 * switch are not instrumented, and so do not tell it of one. */
#define SIM_FRAMES_STAY __attribute__((no_sanitize_address))

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

/* A body that has not ended leaves the red zones of its frames. */
void forget_frames([[maybe_unused]] void *stack, [[maybe_unused]] size_t bytes)
{
#ifdef SIM_ASAN
	__asan_unpoison_memory_region(stack, bytes);
#endif
}

/* The compiler wants a jump to be in another function than its target. */
[[noreturn]] SIM_FRAMES_STAY __attribute__((noinline)) void jump(void **to)
{
	__builtin_longjmp(to, 1);
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
	forget_frames(base_ + kGuardBytes, kStackBytes);
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
SIM_FRAMES_STAY void Fiber::start()
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

SIM_FRAMES_STAY void Fiber::enter()
{
	start_switch(&fake_outside_, base_ + kGuardBytes, kStackBytes);
	if (!__builtin_setjmp(outside_)) {
		if (!started_)
			start();
		jump(inside_);
	}
	finish_switch(fake_outside_, nullptr, nullptr);
}

SIM_FRAMES_STAY void Fiber::leave()
{
	start_switch(&fake_inside_, outside_bottom_, outside_bytes_);
	if (!__builtin_setjmp(inside_))
		jump(outside_);
	finish_switch(fake_inside_, &outside_bottom_, &outside_bytes_);
}

} // namespace sim
