// SPDX-License-Identifier: GPL-2.0
#include "owners.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>

#include "../lib/screen.h"

namespace rdstools
{

namespace
{

namespace fs = std::filesystem;

/* Entries may go while they are read. */
void each_entry(const fs::path &directory, const std::function<void(const fs::path &)> &body)
{
	std::error_code none;

	for (fs::directory_iterator at(directory, none), end; !none && at != end;
	     at.increment(none))
		body(at->path());
}

/* Of "socket:[17]" 17; 0: no socket. */
std::uint64_t inode_of(const fs::path &link)
{
	constexpr std::string_view head = "socket:[";
	std::error_code none;
	const std::string to = fs::read_symlink(link, none);
	std::uint64_t inode = 0;

	if (to.starts_with(head))
		std::from_chars(to.data() + head.size(), to.data() + to.size(), inode);
	return inode;
}

} // namespace

void Owners::scan()
{
	known_.clear();
	each_entry(root_ / "proc", [this](const fs::path &process) {
		const std::string pid = process.filename();
		std::string name;

		if (!std::ranges::all_of(pid, [](char c) { return c >= '0' && c <= '9'; }))
			return;
		std::ifstream comm(process / "comm");
		std::getline(comm, name);
		each_entry(process / "fd", [&](const fs::path &fd) {
			if (const std::uint64_t inode = inode_of(fd))
				known_.emplace(inode, printable(name) + '(' + pid + ')');
		});
	});
}

Json Owners::of(const Json &sockets)
{
	Json rows = sockets;
	auto program = [&](const Json &row) {
		return row["inode"].is_number() ? known_.find(row["inode"].get<std::uint64_t>())
						: known_.end();
	};

	if (std::ranges::any_of(rows, [&](const Json &r) { return program(r) == known_.end(); }))
		scan();
	for (Json &row : rows) {
		auto found = program(row);

		row["program"] = found == known_.end() ? Json(nullptr) : Json(found->second);
	}
	return rows;
}

} // namespace rdstools
