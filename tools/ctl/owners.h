/* SPDX-License-Identifier: GPL-2.0 */
/* The owners of a socket: programs that have its inode open, as far as this user may see that. */
#ifndef RDSCTL_OWNERS_H
#define RDSCTL_OWNERS_H

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "../lib/table.h"

namespace rdstools
{

class Owners
{
public:
	explicit Owners(std::filesystem::path root = "/") : root_(std::move(root))
	{
	}
	/* Rows of State::sockets() with a member program: "name(pid)", the first that has it; null:
	 * not known. */
	Json of(const Json &sockets);

private:
	void scan();

	std::filesystem::path root_;
	std::map<std::uint64_t, std::string> known_;
};

} // namespace rdstools

#endif
