/* SPDX-License-Identifier: GPL-2.0 */
/* A file that others read while it is written anew. */
#ifndef RDSCTL_WHOLE_FILE_H
#define RDSCTL_WHOLE_FILE_H

#include <string>

namespace rdstools
{

/*
 * Puts @text in the place of the file, which all may read. Its readers have the one or the other,
 * whole; also after a crash. Throws Error, and the file is as before; so it is where the name is
 * something else than a file's.
 */
void replace_file(const std::string &name, const std::string &text);

} // namespace rdstools

#endif
