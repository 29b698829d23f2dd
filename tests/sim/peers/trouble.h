/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trouble.h: a host that keeps no promise: what it says is nobody's loss.
 */
#ifndef RDS_TESTS_TROUBLE_H
#define RDS_TESTS_TROUBLE_H

namespace peer
{

class Trouble
{
public:
	Trouble() = default;
	virtual ~Trouble() = default;
	Trouble(const Trouble &) = delete;
	Trouble &operator=(const Trouble &) = delete;

	/* Nothing that it began goes on; it refuses who calls. */
	virtual void stop() = 0;
};

} // namespace peer
#endif
