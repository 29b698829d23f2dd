/* SPDX-License-Identifier: GPL-2.0 */
/*
 * map_pause.h: how long a changed congestion map may wait before a path's peer is told.
 *
 * A user flips a port as often as he reads a message, and each map is 8 KiB to every peer.  A peer
 * that sends is told at once: what it sends to a full port is lost time, and until it hears that a
 * port is clear it waits.  Any other is told at once of the first change, and then after a pause:
 * of a port that clears when kMapPauseNs are over, or of whatever is when twice that are.  By looks
 * at fixed times a peer might find a port full for ever that clears for a moment in between.
 *
 * It belongs to path 0, knows neither it nor its map, and has no timer: the path arms one.  The
 * holder of the transmit token calls; speaks() anybody, in any context.  Times are the low 16 bits
 * of milliseconds, for each path has one: after a silence of a minute one change in thousands may
 * be told late, or a peer taken for one that sends, which does no harm.  The peer that does not
 * know that a port is full and sends to it ends the pause (rds_path::port_is_full()).
 */
#ifndef RDS_MAP_PAUSE_H
#define RDS_MAP_PAUSE_H

#include "../limits.h"
#include "../ref.h"

namespace rds
{

class MapPause final
{
public:
	/* The first map of a connection leaves: it is no change.  @received: a count that each
	 * message of the peer's raises. */
	void begin(uint64_t received) RDS_REQUIRES(kSender)
	{
		sent_ms_ = 0;
		received_ = static_cast<uint16_t>(received);
	}
	/* A further one does. */
	void sent(uint64_t now_ns) RDS_REQUIRES(kSender)
	{
		sent_ms_ = stamp(now_ns);
	}
	/* So long the change may wait, ns; 0: the peer is to be told now.  @cleared: a port has
	 * cleared since one filled. */
	uint64_t left(uint64_t now_ns, uint64_t received, bool cleared) RDS_REQUIRES(kSender)
	{
		const uint16_t now = stamp(now_ns);

		if (received_ != static_cast<uint16_t>(received)) {
			received_ = static_cast<uint16_t>(received);
			spoke_ms_.store(now);
		}
		const uint64_t pause = cleared ? kMapPauseNs : 2 * kMapPauseNs;
		const uint64_t age = age_ns(now, sent_ms_);

		return age_ns(now, spoke_ms_.load()) < kSpeaksNs || age >= pause ? 0 : pause - age;
	}
	/* The peer sends to a port that is full, and may not know. */
	void speaks(uint64_t now_ns)
	{
		spoke_ms_.store(stamp(now_ns));
	}

private:
	static constexpr uint64_t kMs = 1000 * 1000;

	/* Never 0, which is "never". */
	static uint16_t stamp(uint64_t ns)
	{
		const uint16_t ms = static_cast<uint16_t>(ns / kMs);

		return ms ? ms : 1;
	}
	static uint64_t age_ns(uint16_t now, uint16_t then)
	{
		return then ? static_cast<uint16_t>(now - then) * kMs : UINT64_MAX;
	}

	Atomic<uint16_t> spoke_ms_; /* when the peer was last known to send */
	uint16_t sent_ms_ RDS_GUARDED_BY(kSender) = 0;
	uint16_t received_ RDS_GUARDED_BY(kSender) = 0; /* low bits of the count, when last asked */
};

} // namespace rds
#endif
