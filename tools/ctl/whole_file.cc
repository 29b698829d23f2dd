// SPDX-License-Identifier: GPL-2.0
#include "whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "../lib/error.h"
#include "../lib/socket.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

[[noreturn]] void cannot_write(const std::string &name, int error)
{
	throw Error(format("cannot write %s: %s", name.c_str(), std::strerror(error)), error);
}

/* False: errno says why. */
bool write_all(int fd, const std::string &text)
{
	std::size_t done = 0;

	while (done < text.size()) {
		const ssize_t n = write(fd, text.data() + done, text.size() - done);

		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? static_cast<std::size_t>(n) : 0;
	}
	return true;
}

/* A device or a pipe, which is no file to be replaced. */
void write_into(const std::string &name, const std::string &text)
{
	UniqueFd fd(open(name.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));

	if (!fd || !write_all(fd.get(), text))
		cannot_write(name, errno);
}

} // namespace

void replace_file(const std::string &name, const std::string &text, mode_t mode)
{
	const std::filesystem::path path(name);
	/* Not *.prom, which is read. */
	std::string temporary = path.parent_path() / ("." + path.filename().string() + ".XXXXXX");
	struct stat there = {};

	if (!lstat(name.c_str(), &there) && !S_ISREG(there.st_mode))
		throw Error("cannot write " + name + ": it is there, and no regular file");
	UniqueFd fd(mkostemp(temporary.data(), O_CLOEXEC));
	if (!fd)
		cannot_write(name, errno);
	if (!write_all(fd.get(), text) || fchmod(fd.get(), mode) || fsync(fd.get()) ||
	    std::rename(temporary.c_str(), name.c_str())) {
		const int error = errno;

		std::remove(temporary.c_str());
		cannot_write(name, error);
	}
}

void write_file(const std::string &name, const std::string &text, mode_t mode)
{
	struct stat there = {};

	if (!stat(name.c_str(), &there) && !S_ISREG(there.st_mode))
		write_into(name, text);
	else
		replace_file(name, text, mode);
}

} // namespace rdstools
