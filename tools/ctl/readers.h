/* SPDX-License-Identifier: GPL-2.0 */
/* The slowest reader of an address: of its sockets, that in which the oldest message has lain for
 * longest. A port that fills for it is full for all peers. */
#ifndef RDSCTL_READERS_H
#define RDSCTL_READERS_H

#include <map>

#include "owners.h"

namespace rdstools
{

class Readers
{
public:
	/* Of rows of State::sockets(). */
	Readers(const Json &sockets, Owners &owners);
	/* local, local-port, unread-ms, uid and program (Owners::of()) of the slowest of @local;
	 * null: everything is read there. */
	Json of(const Json &local) const;
	/* The slowest of all. */
	Json slowest() const;
	/* Rows of State::paths() with a member slowest-reader, which is the one of local. */
	Json with(const Json &paths) const;

private:
	std::map<Json, Json> by_address_;
};

} // namespace rdstools

#endif
