/* SPDX-License-Identifier: GPL-2.0 */
/*
 * remote.h: memory that peers may reach, and what their requests do to it.
 *
 * A key names pinned memory of a host, from an address that the adapter gave it, and whether peers
 * may write there.  A request beyond that is refused.  The data of a read are taken from memory
 * some time between the request and its answer, as adapters do: a message that was sent behind an
 * unfenced read may be there first.
 */
#ifndef RDS_TESTS_REMOTE_H
#define RDS_TESTS_REMOTE_H

#include <memory>
#include <vector>

#include "network.h"
#include "net/rds/transport.h"

namespace fabric
{

/* A piece of an operation: of its bytes those from @off on. */
struct Request {
	const struct rds_op *op = nullptr; /* nullptr: none */
	uint32_t off = 0, len = 0;

	bool reads() const
	{
		return op && op->kind != RDS_OP_WRITE;
	}
};

class Exposed;

/* The data that come back to the requester, and go into op->pages. */
class Answer final
{
public:
	Answer() = default;
	~Answer();
	Answer(const Answer &) = delete;
	Answer &operator=(const Answer &) = delete;
	/* As of now, if it was not taken from memory before. */
	const std::vector<unsigned char> &bytes();

private:
	friend bool execute(network::HostId h, const Request &r,
			    const std::vector<unsigned char> &data, Answer *answer);

	std::shared_ptr<Exposed> from_; /* nullptr: bytes_ are it */
	uint32_t off_ = 0, len_ = 0;
	std::vector<unsigned char> bytes_;
};

/* Forgets all. */
void reset_remote();
/* Peers of host @h reach @pages by the key that is returned, from address @at on. */
uint32_t expose(network::HostId h, struct rds_pages *pages, bool write, uint32_t at);
/* No longer, when this returns. */
void conceal(uint32_t key);
/* Nothing of the host. */
void conceal_all(network::HostId h);

/* Carries a request out on host @h: false, and nothing was done, if it may not.  @data: what a
 * write brings, or so much of it as came.  @answer: of one that reads. */
bool execute(network::HostId h, const Request &r, const std::vector<unsigned char> &data,
	     Answer *answer);

} // namespace fabric
#endif
