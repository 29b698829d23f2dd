/* SPDX-License-Identifier: GPL-2.0 */
/* A key on its way from its file to the kernel; nothing prints it, and its memory is wiped. */
#ifndef RDSCTL_KEY_H
#define RDSCTL_KEY_H

#include <array>
#include <cstddef>
#include <string>

#include <linux/rds_peers.h>

namespace rdstools
{

class Key
{
public:
	Key() = default;
	/*
	 * The whole of a regular file that nobody but its owner may read or write, without one
	 * newline at its end: 1 to 80 bytes. Throws Error.
	 */
	explicit Key(const std::string &path);
	~Key();
	Key(const Key &) = delete;
	Key &operator=(const Key &) = delete;

	const void *data() const
	{
		return bytes_.data();
	}
	std::size_t size() const
	{
		return size_;
	}

private:
	/* Room for the newline, and for one byte that shows that there is too much. */
	std::array<unsigned char, RDS_PEERS_MAX_KEY + 2> bytes_{};
	std::size_t size_ = 0;
};

} // namespace rdstools

#endif
