/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fiber.h: a stack and a place to go on from.
 *
 * ucontext makes the first switch and the compiler's own jump all others: swapcontext() asks the
 * kernel for the signal mask every time, and AddressSanitizer takes the C library's longjmp() for
 * the end of all frames of that stack: it would forget where their variables end, and ask the
 * kernel for the signal stack.  It is told of every switch.
 */
#ifndef RDS_TESTS_FIBER_H
#define RDS_TESTS_FIBER_H

#include <cstddef>

namespace sim
{

class Fiber final
{
public:
	/* @body never returns; it is not called before the first enter(). */
	Fiber(void (*body)(void *arg), void *arg);
	~Fiber();
	Fiber(const Fiber &) = delete;
	Fiber &operator=(const Fiber &) = delete;

	/* Runs it until it leaves.  Called outside of all fibers. */
	void enter();
	/* Back to who entered; returns with the next enter().  Called inside. */
	void leave();

private:
	static void first(unsigned int low, unsigned int high);
	void start();

	void (*const body_)(void *);
	void *const arg_;
	char *base_; /* an unmapped page, then the stack */
	bool started_ = false;
	void *inside_[5], *outside_[5];
	/* AddressSanitizer's. */
	void *fake_inside_ = nullptr, *fake_outside_ = nullptr;
	const void *outside_bottom_ = nullptr;
	size_t outside_bytes_ = 0;
};

} // namespace sim
#endif
