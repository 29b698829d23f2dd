/* SPDX-License-Identifier: GPL-2.0 */
/*
 * carrier.h: the transport between the hosts of a story: byte streams or queue pairs.
 */
#ifndef RDS_TESTS_CARRIER_H
#define RDS_TESTS_CARRIER_H

#include "stream.h"
#include "verbs.h"

namespace story
{

class Carrier
{
public:
	virtual const struct rds_transport *ops() const = 0;
	virtual struct rds_module &module() const = 0;
	virtual void listen(host::Net &net, const struct rds_addr &addr) const = 0;
	virtual void stop_listening(host::Net &net) const = 0;
	/* The host of that number vanishes with all its connections. */
	virtual void crash(unsigned int host) const = 0;
	virtual void cut_one(bool half) const = 0;
	virtual uint64_t cuts() const = 0;
	virtual void refuse(unsigned int per_1000) const = 0;
	/* No more faults from here on. */
	virtual void calm() const = 0;
	/* Nothing is on its way that a peer would have to hear of. */
	virtual bool quiet() const = 0;
	/* Can the host use it?  Without its device it cannot. */
	virtual bool serves(unsigned int host) const = 0;
	virtual void unplug(unsigned int host, bool gone) const = 0;

protected:
	~Carrier() = default;
};

const Carrier &streams();
const Carrier &queue_pairs();

} // namespace story
#endif
