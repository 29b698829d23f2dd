/* SPDX-License-Identifier: GPL-2.0 */
/*
 * refused.h: ports of ours for which one path takes no messages, because their socket has no room.
 *
 * A message that its socket cannot take must not keep back what is behind it: acks, maps, other
 * sockets' messages.  So between two of ours its port is refused: that message, and each later one
 * for the port that this path brings, is thrown away, and its number counts as dealt with.  The
 * sender is told once, by the number of the first, and keeps them all until the port is not full;
 * then it says so before it sends them again, under new numbers.  Nothing overtakes meanwhile.
 *
 *	taken --refuse()--> refused, in a new epoch
 *	refused --resume() with that epoch--> taken
 *
 * A refused port outlives a connection.  The sender is told on each, and before that no ack passes
 * the first number (ack_limit()): it would take for delivered what it has not heard of.  Sent
 * again, a refused message is an old one, as is each other with such a number.
 *
 * When the connection's object goes, a tombstone keeps them (tombs.h), and the next object of the
 * same pair goes on with them.
 *
 * Numbers are a generation's.  Any other peer may come in between, and be taken from; what was
 * refused to the first is kept for as long as its numbers are (received.h).  Each generation has
 * kMaxRefusedPorts of its own: one that is gone takes no room from the one that is there.
 *
 * It knows neither path nor connection.  Guarded by the path's lock, but for any(), which anybody
 * may ask.
 */
#ifndef RDS_REFUSED_H
#define RDS_REFUSED_H

#include "../limits.h"
#include "../ref.h"
#include "../transport.h"
#include "../wire.h"

namespace rds
{

/* Two of ours refuse over a transport with @caps (RDS_CAP_*). */
RDS_INLINE bool may_refuse(uint32_t caps)
{
	return caps & RDS_CAP_DELIVERY_ACK && !(caps & RDS_CAP_NUMBERED);
}

class Refused final
{
public:
	Refused() = default;
	Refused(const Refused &) = delete;
	Refused &operator=(const Refused &) = delete;
	~Refused();

	/* A port is refused to the peer of this connection. */
	RDS_INLINE bool any() const
	{
		return active_.load();
	}
	/* Or to one that is not there now. */
	bool none_kept() const
	{
		return !kept_;
	}
	/* This peer understands it. */
	bool is_agreed() const
	{
		return gen_;
	}
	/* A connection begins, and its peer is not known. */
	void begin();
	/* Its peer counts in generation @gen; 0: nothing is refused to it. */
	void meet(uint32_t gen);
	/* Ports that are refused to generations of which @is_known is false are forgotten. */
	template <typename F>
	void forget(F is_known);
	bool refuses(uint16_t port) const;
	/* @port is refused from now on, message @number is the first.  False: it cannot be. */
	bool refuse(uint16_t port, uint64_t number);
	/* One that a connection before this one had refused to @gen.  False: no memory. */
	bool go_on(uint16_t port, uint64_t number, uint32_t gen);
	/* Calls @fn(port, first number) for each that is refused to @gen, there or not. */
	template <typename F>
	void each_of(uint32_t gen, F fn) const;
	/* The peer has heard of epoch @epoch, and sends what it kept.  False: there is none. */
	bool resume(uint16_t port, uint32_t epoch);
	/* Acks stay below this number. */
	RDS_INLINE uint64_t ack_limit() const
	{
		return ack_limit_;
	}
	/* The peer is to be told of a port. */
	bool has_to_tell() const;
	/* Of this one, by a frame that goes now.  False: of none. */
	bool tell(wire::Refusal &r);
	/* The frame that tells of @epoch is under way. */
	void frame_left(uint32_t epoch);

private:
	struct Port {
		uint64_t first; /* number */
		uint32_t epoch, gen;
		uint16_t port;
		bool queued, left; /* its frame is; has, or its first bytes */
	};

	Port *find(uint16_t port) const;
	void drop(unsigned int i);
	bool make_room();
	void count();

	Port *ports_ = nullptr; /* room_ of them; made with the first */
	Atomic<uint32_t> active_;
	uint64_t ack_limit_ = ~0ull;
	uint32_t kept_ = 0, room_ = 0;
	uint32_t gen_ = 0; /* of the peer that is there and was met; 0: none, or it is another's */
	uint32_t epoch_ = 0; /* the last one */
};

template <typename F>
void Refused::each_of(uint32_t gen, F fn) const
{
	for (unsigned int i = 0; i < kept_; i++)
		if (ports_[i].gen == gen)
			fn(ports_[i].port, ports_[i].first);
}

template <typename F>
void Refused::forget(F is_known)
{
	for (unsigned int i = kept_; i-- > 0;)
		if (!is_known(ports_[i].gen))
			drop(i);
	count();
}

} // namespace rds
#endif
