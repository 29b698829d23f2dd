/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verbs.h: RDS over queue pairs: the link of rds_rdma.ko (transports/ib) over fabric.h.
 *
 * A message counts as delivered when its number was acknowledged by the peer's RDS, not by its
 * hardware.  So nothing is lost however a connection ends: what was not acknowledged goes out
 * again, and what had arrived is known by its number.
 *
 * Either host may ask for a connection.  When both do the one with the smaller address gets its
 * own.
 */
#ifndef RDS_TESTS_VERBS_H
#define RDS_TESTS_VERBS_H

#include <array>

#include "fabric.h"
#include "tube.h"
#include "transports/ib/ib_link.h"

namespace verbs
{

struct Params {
	unsigned int send_ring = 64;	    /* frames posted and not completed, ... */
	unsigned int recv_ring = 128;	    /* ... buffers: rounded down to a power of two */
	std::array<uint8_t, 2> orders = {}; /* buffers have 4 KiB << this; hosts take turns */
	bool credits = false;		    /* buffers are counted, and none is missed; ... */
	bool counts = false;		    /* ... so they are between two of ours */
	bool iwarp = false;		    /* the end that called speaks first */
	unsigned int partial_per_1000 = 0;  /* xmit takes a part though it has room for more */
	unsigned int sges = 4;		    /* pages of an operation in one work request */
	unsigned int max_regions = 64;	    /* of a host */
	unsigned int atomics = RDS_ATOMICS_PLAIN;
	unsigned int refused_per_1000 = 0;  /* operations that the adapter does not take */
	unsigned int unmapped_per_1000 = 0; /* mappings that fail, of payloads and operations */
	unsigned int broken_per_1000 = 0;   /* frames at which posting says that it is broken */
	fabric::Params fabric = {};
};

/* No connection is left; the network (network.h) is the caller's. */
void reset(const Params &p = Params());
Params &params();

const struct rds_transport *ops();
struct rds_module &module();

/* @net's host takes requests for @addrs from now on (and is made if it is new). */
void listen(host::Net &net, std::vector<struct rds_addr> addrs);
/* No more; returns when the last one is through. */
void stop_listening(host::Net &net);

/* The device of a host goes, as by unplugging it: returns when nothing uses it any more. */
void unplug(network::HostId h);
void plug(network::HostId h);
/* Connections, and requests for one, on the device. */
unsigned int users(network::HostId h);

/* A path gives a connection up: as stream::on_closed, but nothing unread is ever lost. */
extern void (*on_closed)(const struct rds_addr &self, const struct rds_addr &peer, tube::Left left);

/* A random living connection fails at one end or both: false when there is none. */
bool cut_one(bool half = false);
unsigned int cut_all();
unsigned int alive();
uint64_t cuts();
/* The sum that all links together have counted. */
uint64_t counted(enum rds_ib_link_stat id);

/* ---- memory regions ---- */
struct RegionCounts {
	uint64_t made = 0, freed = 0;	   /* by the core */
	uint64_t looked_at = 0, shown = 0; /* mr_sync() for the program, for peers */
};
const RegionCounts &region_counts();
/* Frees that wait are carried out: the module goes. */
void regions_end();

} // namespace verbs
#endif
