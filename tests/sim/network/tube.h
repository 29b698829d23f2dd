/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tube.h: connections that carry bytes, as TCP does, and fail as TCP does.
 *
 * Bytes arrive late, cut anywhere, in order; they are acknowledged when they have arrived, read or
 * not.  A packet that the network loses is sent again with growing pauses, and after some tries
 * the connection is dead.  A reset can be lost too, and a host can vanish: then one end lives on
 * alone (half open) until it sends something, or its keepalive asks, and is answered by a reset.
 *
 * The user of an end is a User: the RDS transport of stream.cc, or a peer that is not our core and
 * speaks (or lies) in bytes.  Listening is by address.  All calls are made with the end locked
 * (Locked), which is what the kernel's socket lock is; so are the User's callbacks.
 */
#ifndef RDS_TESTS_TUBE_H
#define RDS_TESTS_TUBE_H

#include <memory>

#include "bytes.h"
#include "network.h"

namespace tube
{

struct Tube;
using Ref = std::shared_ptr<Tube>;

class User
{
public:
	/* Our call was answered; bytes may already be there. */
	virtual void established() = 0;
	/* Bytes, the peer's end, or a reset came: look at the End. */
	virtual void arrived(enum rds_ctx ctx) = 0;
	/* The peer's host has the first @bytes. */
	virtual void acked(uint64_t bytes) = 0;
	/* There is room, after a write that came out short. */
	virtual void room() = 0;

protected:
	~User() = default;
};

class Listener
{
public:
	/* A call for one of our addresses; takes side 1, or resets it.  In a task of its own. */
	virtual void incoming(const Ref &p) = 0;

	/* Calls of incoming() under way: it may not go while there are any. */
	unsigned int busy = 0;

protected:
	~Listener() = default;
};

/* The bytes left at an end that is given up, which the network had acknowledged: none that its host
 * has not read; some, and a reset had come; some, and the host had never made use of
 * the connection; some, when the time of an orderly end was over; some, for which the host had no
 * memory or no room at that moment; some, though the connection lived. */
enum class Left { kNothing, kAtReset, kUnheard, kOutOfTime, kNoRoom, kUnread };

/* One end: what TCP keeps in a socket. */
struct End {
	bool locked = false;
	User *user = nullptr;
	network::HostId host = network::kNobody;
	ByteQueue tx; /* accepted and not arrived at the peer */
	ByteQueue rx; /* arrived and not read */
	uint64_t accepted = 0;
	uint64_t acked = 0;
	unsigned int tries = 0; /* of what is being sent */
	bool open = false;	/* established, as far as this end knows */
	bool closed = false;	/* its socket is gone: answers with a reset */
	bool gone = false;	/* its host is gone: does not answer at all */
	bool fin_out = false;	/* the end follows tx */
	bool fin_sent = false;
	bool fin_in = false; /* the peer's end follows rx */
	bool dead = false;   /* reset or timed out */
	bool blocked = false;
	bool moving = false; /* a segment is on its way */

	Left left(bool more = false) const
	{
		return rx.empty() && !more ? Left::kNothing : dead ? Left::kAtReset : Left::kUnread;
	}
};

struct Tube {
	End end[2]; /* 0 called 1 */
	struct rds_addr addr[2];
	uint32_t scope = 0;
	uint32_t number = 0; /* for traces */
	uint16_t port = 0;   /* that side 0 calls from */
};

/* The End's lock, for the length of a scope. */
class Locked final
{
public:
	explicit Locked(End &e);
	~Locked();
	Locked(const Locked &) = delete;
	Locked &operator=(const Locked &) = delete;

private:
	End &e_;
};

struct Params {
	size_t send_window = 32 * 1024;	  /* bytes accepted and not acknowledged */
	size_t recv_window = 32 * 1024;	  /* bytes arrived and not read */
	unsigned int refuse_per_1000 = 0; /* calls */
};

void reset(const Params &p);
Params &params();

/* One listener for each address.  nullptr ends it: calls are refused. */
void listen(const struct rds_addr &a, Listener *l);

/* Calls @to from @port; established() or a reset follows. */
Ref connect(const struct rds_addr &from, const struct rds_addr &to, uint32_t scope, User *user,
	    uint16_t port);
/* How many of @want bytes may be written now, at most @most; room() is owed if that is less. */
size_t room(Tube &p, unsigned int side, size_t want, size_t most = SIZE_MAX);
/* After bytes were put into tx, read from rx, or fin_out was set: go on. */
void wrote(const Ref &p, unsigned int side, size_t n);
void read_some(const Ref &p, unsigned int side);
void finish(const Ref &p, unsigned int side);
/* The socket goes: what was not read is lost.  In order if the peer has ended, else a reset. */
void close(const Ref &p, unsigned int side);
/* As close(), always with a reset; not locked. */
void refuse(const Ref &p, unsigned int side);

/* Of all connections that somebody still has; and the place of @p among them. */
uint64_t digest();
uint64_t place(const Ref &p);

/* Nothing is on its way, and nothing has arrived that somebody may still read. */
bool quiet();

/* ---- faults ---- */
/* A connection that is alive at one end at least, or nullptr; @nth counts them. */
Ref living(uint64_t nth);
unsigned int count_living();
/* Both ends hear a reset, each in its time. */
void cut(const Ref &p);
/* @side hears a reset; the other end does not know. */
void cut_one_end(const Ref &p, unsigned int side);
/* The host vanishes with everything in it; its former peers are not told. */
void crash(network::HostId h);

} // namespace tube
#endif
