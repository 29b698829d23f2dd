/* SPDX-License-Identifier: GPL-2.0 */
/*
 * talk.h: one connection of the adversary's with a host of ours, over a byte stream or queue pairs.
 *
 * It reads what it is sent, unless it is deaf, and takes it apart by hand; it answers by acks of
 * what came and by pongs as an honest peer would, unless it is told not to.  What is said over it
 * is the harm's (harms.h).  It counts both, and so a budget can be held against them.
 *
 * say(), end() and the like are called without the lock of its end; what the network calls has it.
 */
#ifndef RDS_TESTS_ADVERSARY_TALK_H
#define RDS_TESTS_ADVERSARY_TALK_H

#include <functional>
#include <memory>

#include "channel.h"
#include "line.h"
#include "paired_parts.h"

namespace adversary
{

/* Counts of one name of the adversary's. */
struct Tally {
	uint64_t frames = 0;   /* said, that were whole and as they should be */
	uint64_t bytes = 0;    /* said, of any kind */
	uint64_t heard = 0;    /* frames of the host's */
	uint64_t again = 0;    /* of them messages that it sent once more */
	uint64_t refusals = 0; /* said, each of which may make it send all again */
	uint64_t came = 0;     /* of them messages for the first time */
	uint64_t opened = 0;   /* connections that came up */
	uint64_t called = 0;   /* calls of the host's */
	uint64_t badly = 0;    /* of them such as were answered by nonsense */
	uint64_t knocks = 0;   /* own calls */
	uint64_t next = 1;     /* number of the next message, whatever the connection */
};

/* Its own words of itself, in its hello. */
struct Self {
	uint32_t generation = 1;
	uint32_t caps = 30; /* delivery acks, ORDER, REFUSED, CHANGES */
	uint16_t paths = 1;
	uint8_t index = 0;
};
host::Bytes hello(const Self &self);

class Talk
{
public:
	enum class Acks { kHonest, kNever };

	Talk(const struct rds_addr &self, const struct rds_addr &other, Tally &tally)
		: self(self), other(other), tally_(tally)
	{
	}
	virtual ~Talk() = default;
	Talk(const Talk &) = delete;
	Talk &operator=(const Talk &) = delete;

	/* Its connection is there, and nobody has ended it. */
	virtual bool is_open() = 0;
	/* It will not be there any more. */
	virtual bool is_over() = 0;
	/* The host has read all that was said. */
	virtual bool is_taken() = 0;
	/* @b is a whole frame that our host should like, or it is @odd: not counted as one. */
	void say(const host::Bytes &b, bool odd = false);
	/* Of a stream: in order, or by a reset. */
	virtual void end(bool in_order = false) = 0;
	/* Reads @n bytes (frames) at most, and then no more; SIZE_MAX: it hears again. */
	void deafen(size_t n);
	/* A message, cut up as the carrier has it. */
	void message(uint16_t sport, uint16_t dport, const host::Bytes &data, uint8_t flags = 0,
		     const host::Bytes &ext = {});
	void greet(const Self &s)
	{
		said = s;
		greeted = true;
		say(hello(s));
	}
	const Tally &tally() const
	{
		return tally_;
	}
	uint64_t take_number()
	{
		return tally_.next++;
	}
	/* A control frame that acknowledges @seq. */
	void acknowledge(uint64_t seq, uint8_t credits = 0);

	const struct rds_addr self, other;
	Self said;
	host::Bytes first; /* as soon as it is up; empty: nothing */
	Acks acks = Acks::kHonest;
	bool pongs = true;
	bool mute = false;	 /* not a word by itself */
	bool greeted = false;	 /* it has said hello */
	bool met = false;	 /* the host has said something */
	bool confused = false;	 /* by numbers that it said: none of its counts is to be had */
	bool flooded = false;	 /* a socket that nobody reads: the host may stop there */
	uint64_t last_heard = 0; /* number of a message of the host's */
	uint64_t maps = 0;	 /* congestion maps that came */
	uint64_t frames = 0;	 /* said over it */
	uint64_t since_ns = 0;	 /* it came up then */
	uint64_t half = 0;	 /* bytes said of a message that is not said whole */

protected:
	/* With the lock held. */
	void came_up();
	void heard(const unsigned char *header, size_t len);
	virtual void put(const host::Bytes &b) = 0;
	virtual void look() = 0;
	/* Runs @fn with the lock held; not at all if there is no connection. */
	virtual void locked(const std::function<void()> &fn) = 0;
	/* The most that is put into one frame, and whether each has the header. */
	virtual size_t most_in_frame() const = 0;
	void count(const host::Bytes &b, bool odd);

	size_t may_hear_ = SIZE_MAX;
	Tally &tally_;

private:
	void answer(const unsigned char *header);

	uint64_t top_ = 0; /* highest number that came as a first one */
	unsigned int unacked_ = 0;
};

class StreamTalk final : public Talk, private peer::Owner
{
public:
	using Talk::Talk;
	/* From @port; 0: any. */
	void call(uint16_t port);
	/* Side 1 of @p; its end is locked. */
	void take(const tube::Ref &p);

	bool is_open() override;
	bool is_over() override;
	bool is_taken() override;
	void end(bool in_order) override;

private:
	void opened(peer::Line &l) override;
	void came(peer::Line &l) override;
	void acked(peer::Line &, uint64_t) override
	{
	}
	void put(const host::Bytes &b) override
	{
		line_->put(b);
	}
	void look() override;
	void locked(const std::function<void()> &fn) override;
	size_t most_in_frame() const override
	{
		return SIZE_MAX;
	}

	peer::LineRef line_;
	host::Bytes in_;
};

class PairTalk final : public Talk, private peer::ChannelOwner
{
public:
	using Talk::Talk;
	/* With @offer in private data; false: there is no device. */
	bool call(const fabric::Data &offer, unsigned int buffers);
	/* Takes a request, which is locked; false: it was given up. */
	bool take(const fabric::Ref &p, const fabric::Data &offer, unsigned int buffers);

	bool is_open() override;
	bool is_over() override;
	bool is_taken() override;
	void end(bool in_order) override;

private:
	void opened(peer::Channel &c) override;
	void came(peer::Channel &c) override;
	void put(const host::Bytes &b) override;
	void look() override;
	void locked(const std::function<void()> &fn) override;
	size_t most_in_frame() const override
	{
		return fabric::kFrameBytes;
	}

	peer::ChannelRef channel_;
	size_t left_ = 0; /* bytes of the host's message that are yet to come */
	bool up_ = false;
};

} // namespace adversary
#endif
