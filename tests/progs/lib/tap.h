/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <string>

namespace rdstest
{

/*
 * Results as TAP lines ("ok 3 - name", "not ok 4 - name: got EINVAL want 0"), each flushed at
 * once so that a log shows how far a program came before the machine stopped.
 */
class Tap
{
public:
	/* One result. The detail is printed only when it failed. */
	bool ok(bool passed, const std::string &name, const std::string &detail = "");

	/* Passes when got equals want, or one of its alternatives: "0|EAGAIN". */
	bool is(const std::string &got, const std::string &want, const std::string &name);

	/* A remark for the reader of the log. */
	void note(const std::string &text);

	/* Prints the plan and a summary; the exit status for main(). */
	int finish();

private:
	int passed_ = 0;
	int failed_ = 0;
};

} // namespace rdstest
