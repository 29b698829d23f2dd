/* SPDX-License-Identifier: GPL-2.0 */
/*
 * line.h: one end of a byte stream for a peer that is no core of ours.
 *
 * Everything but call() is called with the end locked (tube::Locked), and so
 * are the Owner's callbacks.  Bytes that are put wait here until TCP takes them.
 */
#ifndef RDS_TESTS_LINE_H
#define RDS_TESTS_LINE_H

#include "tube.h"

namespace peer
{

class Line;
using LineRef = std::shared_ptr<Line>;

class Owner
{
public:
	/* Our call was answered. */
	virtual void opened(Line &l) = 0;
	/* Bytes, the end, or a reset. */
	virtual void came(Line &l) = 0;
	virtual void acked(Line &l, uint64_t bytes) = 0;
	/* TCP has taken some of what it had no room for. */
	virtual void room(Line &)
	{
	}

protected:
	~Owner() = default;
};

class Line final : public tube::User
{
public:
	Line(Owner &o, const struct rds_addr &other, unsigned int side)
		: other(other), owner_(o), side_(side)
	{
	}
	/* From @port; 0: from any. */
	static LineRef call(Owner &o, const struct rds_addr &from, const struct rds_addr &to,
			    uint16_t port = 0);
	/* Side 1 of @p is ours from now on.  Locked. */
	static LineRef take(Owner &o, const tube::Ref &p);

	void put(const host::Bytes &b);
	/* We have ended; what TCP has not taken is not sent. */
	void finish();
	/* No more callbacks. */
	void close();
	/* Takes all that is there, at most @most. */
	host::Bytes read(size_t most = SIZE_MAX);

	const tube::Ref &ref() const
	{
		return tube_;
	}
	unsigned int side() const
	{
		return side_;
	}
	tube::End &end() const
	{
		return tube_->end[side_];
	}
	/* Bytes that were put; those of them that TCP has taken. */
	uint64_t put_bytes() const
	{
		return put_;
	}
	uint64_t taken() const
	{
		return end().accepted;
	}
	/* A buffer for sending is not full; if it is, room() comes. */
	bool takes_more() const
	{
		return out_.size() < kSendBuffer;
	}
	bool closed() const
	{
		return closed_;
	}
	const struct rds_addr other;

	void established() override
	{
		owner_.opened(*this);
	}
	void arrived(enum rds_ctx) override
	{
		owner_.came(*this);
	}
	void acked(uint64_t bytes) override
	{
		owner_.acked(*this, bytes);
	}
	void room() override
	{
		push();
		owner_.room(*this);
	}

private:
	static constexpr size_t kSendBuffer = 64 * 1024;

	void push();

	Owner &owner_;
	tube::Ref tube_;
	const unsigned int side_;
	tube::ByteQueue out_;
	uint64_t put_ = 0;
	bool closed_ = false;
};

} // namespace peer
#endif
