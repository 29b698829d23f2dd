/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check_memory.h: the core's memory stays within what its limits add up to: the buffers of the
 * sockets that are there now, times the documented factors, and a fixed part for each connection,
 * host and stranger that is there now.
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
	/* The bytes that may be in use at some moment. */
	class Limit final
	{
	public:
		/* @message: bytes of the largest that anybody sends. */
		explicit Limit(size_t message);
		void add_host();
		void add_socket(size_t sndbuf, size_t rcvbuf);
		/* One end of it, with @paths. */
		void add_connection(size_t paths);
		/* Somebody who says what he likes to one of ours. */
		void add_stranger();
		size_t bytes() const
		{
			return bytes_;
		}

	private:
		const size_t message_;
		size_t bytes_;
	};

	void look(size_t bytes_in_use, const Limit &limit);

	size_t peak() const
	{
		return peak_;
	}
	const std::string &complaint() const
	{
		return complaint_;
	}

private:
	size_t peak_ = 0;
	std::string complaint_;
};

} // namespace check
#endif
