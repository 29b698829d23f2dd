// SPDX-License-Identifier: GPL-2.0
#include "screen.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace rdstools
{

bool wants_colour(const std::string &word)
{
	const char *no = std::getenv("NO_COLOR");

	if (word != "auto")
		return word == "always";
	return isatty(STDOUT_FILENO) && !(no && *no);
}

std::string printable(const std::string &text)
{
	std::string shown = text;

	std::ranges::replace_if(
		shown, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
	return shown;
}

} // namespace rdstools
