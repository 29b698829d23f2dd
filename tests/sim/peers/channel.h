/* SPDX-License-Identifier: GPL-2.0 */
/*
 * channel.h: one end of a connection of queue pairs for a peer that is no core of ours.
 *
 * As line.h: everything but call() is called with the queue pair locked (fabric::Locked), and so
 * are the Owner's callbacks.  Nothing is known here of what frames mean.
 */
#ifndef RDS_TESTS_CHANNEL_H
#define RDS_TESTS_CHANNEL_H

#include "fabric.h"

namespace peer
{

class Channel;
using ChannelRef = std::shared_ptr<Channel>;

class ChannelOwner
{
public:
	/* Our request was accepted, or who asked has heard that we did. */
	virtual void opened(Channel &c) = 0;
	/* Frames came, some left, or it is dead: look. */
	virtual void came(Channel &c) = 0;

protected:
	~ChannelOwner() = default;
};

class Channel final : public fabric::User
{
public:
	Channel(ChannelOwner &o, const struct rds_addr &other, unsigned int side)
		: other(other), owner_(o), side_(side)
	{
	}
	/* With so many buffers from the beginning; nullptr without a device.  Not locked. */
	static ChannelRef call(ChannelOwner &o, const struct rds_addr &from,
			       const struct rds_addr &to, const fabric::Data &said,
			       unsigned int buffers);
	/* Side 1 of @p is ours from now on; nullptr: it is dead.  Locked. */
	static ChannelRef take(ChannelOwner &o, const fabric::Ref &p, const fabric::Data &said,
			       unsigned int buffers);

	/* A frame: a header, and what follows. */
	void put(const std::vector<unsigned char> &frame);
	/* Takes the oldest frame; false: there is none, or we sleep (Qp::sleeps).  Its buffer is
	 * posted again. */
	bool get(std::vector<unsigned char> &frame);
	/* No more callbacks. */
	void close();
	/* The private data of the other one while connecting. */
	const fabric::Data &heard() const
	{
		return pair_->said[!side_];
	}
	fabric::Qp &qp() const
	{
		return pair_->qp[side_];
	}
	const fabric::Ref &pair() const
	{
		return pair_;
	}
	unsigned int side() const
	{
		return side_;
	}
	bool closed() const
	{
		return closed_;
	}
	/* Nobody is at the other end. */
	bool is_alone() const
	{
		return !pair_->qp[!side_].user || pair_->qp[!side_].dead;
	}
	/* Frames that were put and have not left. */
	unsigned int unsent() const
	{
		return unsent_;
	}
	/* One more buffer; get() posts as many as came by itself. */
	void offer()
	{
		fabric::post_recv(pair_, side_);
	}
	const struct rds_addr other;
	/* get() keeps the buffers. */
	bool stingy = false;

	void established() override
	{
		owner_.opened(*this);
	}
	void completed(enum rds_ctx) override;

private:
	ChannelOwner &owner_;
	fabric::Ref pair_;
	const unsigned int side_;
	unsigned int unsent_ = 0;
	bool closed_ = false;
};

/* Private data of a request or reply, written by hand (docs/wire.md, "Private data"). */
struct Said {
	unsigned int major = 4, minor = 1, minors = 3, tos = 0;
	uint64_t ack = 0;
	uint32_t credits = 0;
};
bool is_v4(const struct rds_addr &a);
fabric::Data say(const struct rds_addr &from, const struct rds_addr &to, const Said &what);
/* Short or none, or version 0: 4.0. */
Said hear(const fabric::Data &d, const struct rds_addr &to);
/* Writes the header's checksum. */
void put_sum(std::vector<unsigned char> &frame);
/* There is none, or it is right. */
bool good_sum(const std::vector<unsigned char> &frame);

} // namespace peer
#endif
