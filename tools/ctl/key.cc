// SPDX-License-Identifier: GPL-2.0
#include "key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../lib/error.h"
#include "../lib/socket.h"
#include "../lib/text.h"

namespace rdstools
{

Key::Key(const std::string &path)
{
	/* A FIFO must not hold us up. */
	UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
	struct stat st;

	if (!fd || fstat(fd.get(), &st) != 0)
		throw Error(format("cannot read %s: %s", path.c_str(), std::strerror(errno)));
	if (!S_ISREG(st.st_mode))
		throw Error(format("%s is no regular file", path.c_str()));
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		throw Error(
			format("others than its owner may use %s: chmod 600 it, and take another "
			       "key if they did",
			       path.c_str()));
	for (ssize_t n = 1; n > 0 && size_ < bytes_.size();) {
		n = ::read(fd.get(), bytes_.data() + size_, bytes_.size() - size_);
		if (n < 0)
			throw Error(
				format("cannot read %s: %s", path.c_str(), std::strerror(errno)));
		size_ += static_cast<std::size_t>(n);
	}
	if (size_ && bytes_[size_ - 1] == '\n')
		size_--;
	if (!size_ || size_ > RDS_PEERS_MAX_KEY)
		throw Error(format("%s: a key has 1 to %d bytes", path.c_str(), RDS_PEERS_MAX_KEY));
}

Key::~Key()
{
	explicit_bzero(bytes_.data(), bytes_.size());
}

} // namespace rdstools
