/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fabric.h: reliable connections between queue pairs, as an InfiniBand network has them, and their
 * ways to fail.
 *
 * A pair of queue pairs carries frames: a header and up to kFrameBytes of a message, as whole units
 * and in order, each into a receive buffer that its owner posted before; while there is none the
 * sender's hardware waits and tries again (RNR).  The payload is read from the message when the
 * frame goes out, not when it is posted: the message's memory has to stay.  A frame posted with
 * that wish comes back as a completion, in order, which stands for those before it; one that fails
 * turns its queue pair to error, and nothing comes back any more.  Nobody tells the other end: it
 * finds out when it sends, or hears that its peer was destroyed, if that message is not lost.
 * Sometimes the adapter says at which work request it failed: always the oldest, for all before it
 * are done.
 *
 * Between frames go pieces of operations on the peer's memory (remote.h): in order, too, but what
 * is read arrives with the answer, later than frames that went after it; one that is fenced waits
 * for that.
 *
 * A host's device can be taken away, with everything that was made on it.
 *
 * Users are called with their queue pair locked, in softirq context; everything else is called with
 * it locked too, unless it says otherwise.
 */
#ifndef RDS_TESTS_FABRIC_H
#define RDS_TESTS_FABRIC_H

#include <deque>
#include <memory>
#include <vector>

#include "network.h"
#include "remote.h"

namespace fabric
{

constexpr uint32_t kFrameBytes = 4096;

/* A work request to send: a frame, or a piece of an operation. */
struct Work {
	unsigned char header[RDS_HEADER_BYTES];
	struct rds_msg *m = nullptr; /* the poster keeps it alive; nullptr: no payload */
	uint32_t off = 0, len = 0;   /* of its payload */
	uint32_t slot = 0;	     /* what its completion says */
	/* Its payload if it is no message's. */
	std::shared_ptr<const std::vector<unsigned char>> raw = nullptr;
	bool signaled = false;			  /* it has one */
	bool solicited = false;			  /* wakes the receiver in any case */
	bool fence = false;			  /* after all answers to what was asked before */
	Request request;			  /* the poster keeps the operation alive */
	std::shared_ptr<Answer> answer = nullptr; /* to that, as far as it came */
};

/* Private data of a request, a reply or a refusal. */
using Data = std::vector<unsigned char>;

/* A receive buffer that was filled. */
struct Arrival {
	unsigned char header[RDS_HEADER_BYTES];
	std::vector<unsigned char> bytes;
};

class User
{
public:
	/* Our request was accepted, or who asked has heard that we did. */
	virtual void established() = 0;
	/* Something arrived, was sent, or died: look at the Qp. */
	virtual void completed(enum rds_ctx ctx) = 0;

protected:
	~User() = default;
};

struct Qp {
	bool locked = false;
	User *user = nullptr;
	network::HostId host = network::kNobody;
	std::deque<Work> posted;   /* to be sent */
	std::deque<Work> unacked;  /* sent, and not answered */
	std::deque<uint32_t> sent; /* completions: slots */
	std::deque<Arrival> arrived;
	int failed = 0; /* RDS_RDMA_*: how the work request ended that the adapter failed at ... */
	uint32_t failed_slot = 0; /* ... this one; all before it are in @sent */
	unsigned int buffers = 0; /* posted to receive */
	unsigned int tries = 0;
	bool open = false;
	bool heard = false;   /* something came from the other end, once open */
	bool dead = false;    /* in error */
	bool closed = false;  /* destroyed */
	bool gone = false;    /* its host is gone: says nothing */
	bool moving = false;  /* the hardware is at it */
	bool refused = false; /* the peer takes nothing more, and we will hear so ... */
	size_t due = 0;	      /* ... after so many answers */
	bool raised = false;  /* completed() is on its way */
	bool sleeps = false;  /* frames that do not ask for it do not wake its user ... */
	bool woken = false;   /* ... and one that does has come, or the end */
};

struct Pair {
	Qp qp[2]; /* 0 asked for it */
	struct rds_addr addr[2];
	Data said[2];
	uint32_t scope = 0;
	uint32_t number = 0;
	bool proven = false; /* rds_ib_proof_show() */
};
using Ref = std::shared_ptr<Pair>;

class Listener
{
public:
	/* Somebody asks for one of our addresses: accept() or reject() it.  A task of its own. */
	virtual void incoming(const Ref &p) = 0;

	unsigned int busy = 0; /* calls of incoming() under way */

protected:
	~Listener() = default;
};

class Locked final
{
public:
	explicit Locked(Qp &q);
	~Locked();
	Locked(const Locked &) = delete;
	Locked &operator=(const Locked &) = delete;

private:
	Qp &q_;
};

struct Params {
	unsigned int refuse_per_1000 = 0;	 /* requests */
	unsigned int error_per_1000 = 0;	 /* work requests */
	network::HostId deaf = network::kNobody; /* requests to this host are lost */
};

void reset(const Params &p);
Params &params();

/* nullptr ends it. */
void listen(const struct rds_addr &a, Listener *l);

/* The queue pair for a connection to be asked for.  Not locked.  nullptr: no device. */
Ref create(const struct rds_addr &from, const struct rds_addr &to, uint32_t scope, User *user);
/* Asks for it: established() or death follows.  Not locked. */
void request(const Ref &p, const Data &said);
/* Its buffers are posted.  established() or death follows; frames may come before that.  False: it
 * is dead already. */
bool accept(const Ref &p, const Data &said, User *user);
void reject(const Ref &p, const Data &said = {});
void post_send(const Ref &p, unsigned int side, const Work &w);
/* One buffer. */
void post_recv(const Ref &p, unsigned int side);
/* No call of the user from here on, and nothing is sent. */
void destroy(const Ref &p, unsigned int side);

/* ---- faults; not locked ---- */
/* A pair that is alive at one end at least, or nullptr; @nth counts them. */
Ref living(uint64_t nth);
unsigned int count_living();
/* The queue pair goes to error; the other end finds out when it sends. */
void fail(const Ref &p, unsigned int side);
/* The @nth work request from now on fails (1: the next one), at whatever queue pair; 0: none. */
void fail_nth(unsigned int nth);
/* Work requests that were sent. */
uint64_t works();
/* The host vanishes with everything in it. */
void crash(network::HostId h);
/* The device of @h is gone and everything on it dies, or it is back. */
void remove_device(network::HostId h, bool gone);
bool has_device(network::HostId h);
/* Nothing is on its way, or has come and was not looked at, where anybody is left to get it. */
bool quiet();
/* Times that a frame found no buffer. */
uint64_t not_ready();

} // namespace fabric
#endif
