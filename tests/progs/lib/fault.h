/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include "socket.h"

namespace rdstest
{

/*
 * Makes the nth allocation, or copy from or to the process, that this thread causes in the kernel
 * fail (fail-nth, see the kernel's Documentation/fault-injection). Only in the thread that made it.
 */
class Fault
{
public:
	Fault();

	void arm(int nth);
	/* No more failures. Were there so many? */
	bool disarm();

private:
	void set(int nth);

	Fd file_;
};

} // namespace rdstest
