/* SPDX-License-Identifier: GPL-2.0 */
/* A file that others read while it is written anew. */
#ifndef RDSCTL_WHOLE_FILE_H
#define RDSCTL_WHOLE_FILE_H

#include <sys/types.h>

#include <string>

namespace rdstools
{

/*
 * Puts @text in the place of the file; @mode says who may use it, whatever the umask. Its readers
 * have the one or the other, whole; also after a crash. Throws Error, and the file is as before; so
 * it is where the name is something else than a file's.
 */
void replace_file(const std::string &name, const std::string &text, mode_t mode);

/* The same; but a device or a pipe, or a link to one, is written to, and stays. */
void write_file(const std::string &name, const std::string &text, mode_t mode);

} // namespace rdstools

#endif
