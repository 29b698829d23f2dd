/* SPDX-License-Identifier: GPL-2.0 */
/* A terminal: whether it is to have colours, and text of others that must not command it. */
#ifndef RDSTOOLS_SCREEN_H
#define RDSTOOLS_SCREEN_H

#include <string>

namespace rdstools
{

/* "auto" (a terminal that NO_COLOR does not forbid), "always" or "never". */
bool wants_colour(const std::string &word);

/* @text without what a terminal would take for a command: others choose it. */
std::string printable(const std::string &text);

} // namespace rdstools

#endif
