/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that answers late: whoever touches it, a thread or the kernel for it, waits until
 * answer().
 *
 * It is what a user makes of a FUSE file or of userfaultfd(2), with a fault that nobody answers.
 * The first page is slow, those behind it are not.
 */
#pragma once

#include "../lib/socket.h"

#include <chrono>
#include <string>

namespace rdstest
{

class SlowPage
{
public:
	enum class Kind {
		absent,	  /* reading and writing wait */
		readOnly, /* only writing does */
	};
	static constexpr size_t size = 4096, pages = 16;

	SlowPage();
	~SlowPage();
	SlowPage(const SlowPage &) = delete;
	SlowPage &operator=(const SlowPage &) = delete;

	/* The page has these bytes, at once or with the answer; nobody is to be in it. */
	void arm(Kind kind, const std::string &bytes);
	/* Somebody waits in it; false when the time is over. */
	bool isTouched(std::chrono::milliseconds patience);
	void answer();

	char *get() const
	{
		return base_;
	}

private:
	void fill(bool readOnly);

	Fd faults_;
	char *base_;
	Kind kind_ = Kind::absent;
	std::string bytes_;
	bool armed_ = false;
};

} // namespace rdstest
