/* SPDX-License-Identifier: GPL-2.0 */
/*
 * map_news.h: what a peer has been told of our congestion map, and what it is to be told next.
 *
 * The first news of a connection is the whole map, 8 KiB.  A peer of ours that said so in its hello
 * (kCapChanges) is told later of the ports alone that have changed since, in a frame without
 * payload; any other, and of more ports or changes than the map remembers (CongMap::changes()), of
 * the whole map again.  What was told comes in order, on one connection, so a peer that has heard
 * the last of it knows the map as it was when that was made.  What is made while older news has not
 * begun to leave is a whole map, too: it takes the place of the older (SendQueue::put_first()).
 *
 * A host may have several connections to our address, and one map of it for all.  News that comes
 * late over one of them undoes newer news of another, until more comes over the late one.  Where
 * that was cut instead, the next news over each connection from our address is a whole map.
 *
 * It belongs to path 0 and knows neither it nor the connection.  The holder of the transmit token
 * calls, but for owes(), speaks() (anybody), meet() (the receiver) and fresh() (the worker, while
 * there is no connection).
 */
#ifndef RDS_MAP_NEWS_H
#define RDS_MAP_NEWS_H

#include "../cong.h"
#include "map_pause.h"

namespace rds
{

class MapNews final
{
public:
	/* Before a connection: of its peer nothing is known. */
	void fresh()
	{
		takes_changes_.store(false);
	}
	/* Its hello says what it understands (wire::Cap). */
	void meet(uint32_t caps)
	{
		takes_changes_.store(caps & wire::kCapChanges);
	}
	bool takes_changes() const
	{
		return takes_changes_.load();
	}
	/* The connection is up. */
	void begin() RDS_REQUIRES(kSender)
	{
		whole_due_ = true;
	}
	/* The map has changed since the peer was told of it. */
	bool owes(const CongMap &map) const
	{
		return map.version() != sent_.load();
	}
	/* ... or it has not been told anything. */
	RDS_INLINE bool is_due(const CongMap &map) const RDS_REQUIRES(kSender)
	{
		return whole_due_ || owes(map);
	}
	/* So long it may wait, ns; 0: it is to be told now.  @received: as in map_pause.h. */
	uint64_t left(const CongMap &map, uint64_t now_ns, uint64_t received) RDS_REQUIRES(kSender)
	{
		return whole_due_ ? 0 : pause_.left(now_ns, received, map.has_cleared());
	}
	/* The peer sends to a port that is full. */
	void speaks(uint64_t now_ns)
	{
		pause_.speaks(now_ns);
	}
	/* The news to queue; nullptr: no memory, nothing was told.  @unsent: older news has not
	 * left. */
	Message *make(const CongMap &map, bool unsent, uint64_t now_ns, uint64_t received)
		RDS_REQUIRES(kSender) RDS_SLEEPS
	{
		/* Before the bits are read: what changes meanwhile is told once more. */
		const uint32_t version = map.version();
		const uint16_t cuts = map.cuts.load();
		wire::MapChanges changes;
		const bool few = !whole_due_ && !unsent && takes_changes_.load() && cuts == cuts_ &&
				 map.changes(sent_.load(), version, changes);
		Message *m = few ? CongTable::make_changes(changes) : CongTable::make_update(map);

		if (!m)
			return nullptr;
		sent_.store(version);
		cuts_ = cuts;
		if (whole_due_)
			pause_.begin(received);
		else
			pause_.sent(now_ns);
		whole_due_ = false;
		return m;
	}

private:
	MapPause pause_;
	Atomic<uint32_t> sent_;	     /* version of the map; the token's holder writes */
	Atomic<bool> takes_changes_; /* of the peer of this connection */
	bool whole_due_ RDS_GUARDED_BY(kSender) = true;
	uint16_t cuts_ RDS_GUARDED_BY(kSender) = 0; /* of the map, when it was told */
};

} // namespace rds
#endif
