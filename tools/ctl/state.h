/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State and news of RDS: the family "rds" (docs/netlink/rds.yaml), as JSON.
 *
 * A row is an object with every field that the specification has for its kind, by the name that it
 * has there and in its order; one that the kernel has left out is null, a flag false.
 */
#ifndef RDSCTL_STATE_H
#define RDSCTL_STATE_H

#include <linux/rds_state.h>

#include <span>

#include "../lib/table.h"
#include "genl.h"

namespace rdstools
{

/* @port_rows: an array of {port, refused-ms}, one for each time that the kernel has put it. */
enum class Kind { u8, u16, u32, u64, text, flag, address, ports, choice, port_rows };

struct Field {
	std::uint16_t attr;
	const char *name;
	Kind kind;
	std::span<const char *const> choices = {}; /* words of a choice */
};

std::span<const Field> path_fields();
std::span<const Field> news_fields(); /* of State::events() */
std::span<const Field> socket_fields();
std::span<const Field> counter_fields();

/* A message as a row. What the kernel does not understand of itself is no error: an attribute that
 * is too short is not known. */
Json decode(const nlmsghdr *message, std::span<const Field> fields);

class State
{
public:
	/* Throws Error where rds is not loaded, or is not ours. */
	State();

	/* Arrays of rows. All throw Refused. */
	Json paths();
	/* The same; where this user may not see them null, and in @refused the kernel's words. */
	Json paths_or_null(std::string &refused);
	Json sockets();
	Json counters();
	/* Hears news of paths from the return of this one on. */
	void subscribe();
	/* Waits for the next ones: rows of paths, of which most fields are not known. False: some
	 * are lost. Throws Error once rds was unloaded. */
	bool events(const std::function<void(const Json &)> &event);

private:
	Json dump(std::uint8_t command, std::span<const Field> fields);

	Genl genl_;
};

} // namespace rdstools

#endif
