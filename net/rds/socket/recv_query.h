/* SPDX-License-Identifier: GPL-2.0 */
/*
 * recv_query.h: how much of what peers have sent to a socket was not read yet (RDS_RECV_QUERY).
 *
 * Held is a message from its first header on until recvmsg has taken it.  The span says how many
 * more a program can get before it has all up to the newest of those: of a flow (one peer's
 * messages to this socket) the highest number held, less the highest one below which all have been
 * read; so it counts the gaps as well.
 *
 * Gaps exist only where a flow uses several paths, and there its messages are numbered (kOrder).
 * All others come in order, and those of a peer whose hello did not say that it numbers any are
 * taken for that: they are 1 held and 1 in the span each.  Of a numbered flow a RecvFlow keeps what
 * has arrived of the kOrderWindow numbers after the first gap.  A number that cannot be of the same
 * count begins another: the peer's socket is a new one, or its host.
 *
 * One set.  Delivery queues a message, enters its number, and takes its word off the path, under
 * the socket's receive lock; nobody reads while a query has the reader's mutex.  A query takes the
 * receive lock for a moment: all queued becomes the reader's, the words of paths are looked at, the
 * flows are copied.  It then counts the messages held at that moment.  No number is held twice
 * in a flow's count, and all lie in its span: held <= span, and neither is 0 without the other.
 */
#ifndef RDS_RECV_QUERY_H
#define RDS_RECV_QUERY_H

#include "../hash.h"
#include "../limits.h"
#include "../ref.h"
#include "../wire.h"

namespace rds
{

/* Of a message of a numbered flow: its own number, and the lowest that its sender does not know
 * delivered; all below was, or never will be. */
struct Place {
	uint32_t number, low;
};
/* False: it has none. */
bool place_of(const wire::Header &h, Place &place);

/* A message that is arriving, in one word, so that nobody sees half of it: its ports, and of a
 * numbered one 31 bits of the number.  A message without destination port is for no socket. */
inline constexpr uint64_t kArrivingNumbered = 1ull << 32;
uint64_t arriving_number(const wire::Header &h);
RDS_INLINE uint64_t arriving_word(const wire::Header &h, const wire::Fields &f, bool numbered)
{
	uint64_t word = uint64_t{f.sport} << 16 | f.dport;

	return RDS_LIKELY(!numbered) ? word : word | arriving_number(h);
}

/* The state of a flow's numbers.  They wrap: only distances mean something. */
struct FlowState {
	struct rds_endpoint peer = {};
	uint32_t first = 0;  /* what counts comes after this */
	uint32_t contig = 0; /* all up to here have arrived, or never will */
	uint32_t seen = 0;   /* the highest that has arrived */
	bool known = false;  /* nothing that has arrived is beyond the window */
};

/* One numbered flow.  Its memory stays while the socket lives: who is forgotten makes room for
 * another in the same place. */
class RecvFlow final
{
public:
	RDS_INLINE static bool same(const struct rds_endpoint &a, const struct rds_endpoint &b)
	{
		return a.addr.w[0] == b.addr.w[0] && a.addr.w[1] == b.addr.w[1] &&
		       a.scope == b.scope && a.port == b.port;
	}

	/* -- as it is: the socket's recv_lock -- */
	void assign(const struct rds_endpoint &peer);
	void note(const Place &place);
	FlowState now;
	uint32_t heard = 0; /* when last, by the table's clock */

	/* -- as the query saw it, and what it counts: the socket's reader -- */
	void freeze()
	{
		then = now;
		held_ = 0;
	}
	/* A message of this number is held.  False: it is none of this count. */
	bool hold(uint32_t number);
	/* One that is arriving; of its number 31 bits are known. */
	bool hold_arriving(uint32_t number);
	uint32_t span() const;
	bool holds() const
	{
		return held_;
	}
	FlowState then;

private:
	bool is_new(uint32_t number) const;
	void restart(uint32_t below);
	void settle(uint32_t upto);
	uint32_t run();
	void take(uint32_t number);
	uint64_t &word(uint32_t number)
	{
		return bits_[number % kOrderWindow / 64];
	}
	static uint64_t bit(uint32_t number)
	{
		return 1ull << number % 64;
	}

	uint64_t bits_[kOrderWindow / 64]; /* those after now.contig that have arrived */
	uint32_t held_ = 0, lowest_ = 0;
};

/* All numbered flows of a socket. */
class RecvFlows final
{
public:
	explicit RecvFlows(const HashKey &key) : key_(key)
	{
	}
	~RecvFlows();
	/* recv_lock.  Without memory, or where a new flow may not be made, the peer has none. */
	void note(const struct rds_endpoint &peer, const Place &place, bool may_grow);
	/* recv_lock: the memory of it and its flows, which the socket pays for. */
	uint32_t bytes() const
	{
		return bytes_;
	}
	/* recv_lock and reader. */
	void freeze();
	/* Reader: the flow as it was then. */
	RecvFlow *frozen(const struct rds_endpoint &peer) const;
	template <typename F>
	void for_each(F fn) const
	{
		for (const auto &slot : slots_)
			if (RecvFlow *f = slot.load_acquire())
				fn(*f);
	}

private:
	unsigned int row(const struct rds_endpoint &peer) const;
	RecvFlow *get(const struct rds_endpoint &peer, bool may_grow);

	const HashKey key_;
	uint32_t clock_ = 0;
	uint32_t bytes_ = sizeof(RecvFlows);
	Atomic<RecvFlow *> slots_[kFlowRows * kFlowWays]; /* written under recv_lock, once */
};

} // namespace rds
#endif
