// SPDX-License-Identifier: GPL-2.0
#include "tap.h"

#include <cstdio>
#include <sstream>

namespace rdstest
{

bool Tap::ok(bool passed, const std::string &name, const std::string &detail)
{
	++(passed ? passed_ : failed_);
	std::printf("%s %d - %s", passed ? "ok" : "not ok", passed_ + failed_, name.c_str());
	if (!passed && !detail.empty())
		std::printf(": %s", detail.c_str());
	std::putchar('\n');
	std::fflush(stdout);
	return passed;
}

bool Tap::is(const std::string &got, const std::string &want, const std::string &name)
{
	std::istringstream alternatives(want);
	std::string one;
	bool passed = got == want;

	while (!passed && std::getline(alternatives, one, '|'))
		passed = got == one;
	return ok(passed, name, "got " + got + " want " + want);
}

void Tap::note(const std::string &text)
{
	std::printf("# %s\n", text.c_str());
	std::fflush(stdout);
}

int Tap::finish()
{
	std::printf("1..%d\n", passed_ + failed_);
	std::printf("# %d passed, %d failed\n", passed_, failed_);
	if (passed_ + failed_ == 0)
		std::printf("# nothing was tested\n");
	return failed_ || passed_ == 0 ? 1 : 0;
}

} // namespace rdstest
