/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_memory.h: the core's memory stays within what its limits add up to: sockets' buffers times
 * the documented factors, and a fixed part for each connection and each host.
 */
#ifndef RDS_TESTS_CHECK_MEMORY_H
#define RDS_TESTS_CHECK_MEMORY_H

#include <cstddef>
#include <string>

namespace check
{

class Memory final
{
public:
	/* There may be sockets with these buffers (payload bytes) at the same time; hosts. */
	void allow_socket(size_t sndbuf, size_t rcvbuf);
	void allow_hosts(unsigned int n);
	void look(size_t bytes_in_use);

	size_t peak() const
	{
		return peak_;
	}
	const std::string &complaint() const
	{
		return complaint_;
	}

private:
	size_t limit_ = 0;
	size_t peak_ = 0;
	std::string complaint_;
};

} // namespace check
#endif
