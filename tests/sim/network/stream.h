/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stream.h: an RDS transport over simulated byte streams (tube.h).
 *
 * This file does with simulated sockets as tcp_*_linux.c does with the kernel's; what bytes mean
 * (tcp_frame.cc) and who calls whom (tcp_duel.cc) is the very code of rds_tcp.ko.
 */
#ifndef RDS_TESTS_STREAM_H
#define RDS_TESTS_STREAM_H

#include "tube.h"

namespace stream
{

struct Params {
	uint64_t delay_min_ns = 1000;
	uint64_t delay_max_ns = 20 * 1000;
	size_t send_window = 32 * 1024;	   /* bytes accepted and not acknowledged */
	size_t recv_window = 32 * 1024;	   /* bytes arrived and not read */
	unsigned int refuse_per_1000 = 0;  /* connects */
	unsigned int partial_per_1000 = 0; /* xmit takes a part though it has room for more */
	unsigned int paths = 1;		   /* of a connection between two of ours */
	bool plain = false; /* nobody knows delivery acks: as between us and mainline */
};

/* A new network; no connection is left of the old one. */
void reset(const Params &p = Params());
/* How often connects are refused, and how often xmit takes a part: may change at any time. */
void set_faults(unsigned int refuse_per_1000, unsigned int partial_per_1000);
/* Connections that are made from now on have up to @n paths, as if the module's parameter were
 * another on the hosts that make them. */
void set_paths(unsigned int n);

const struct rds_transport *ops();
struct rds_module &module();

/* @net accepts connections for @addrs from now on, as their host (which is made if it is new). */
void listen(host::Net &net, std::vector<struct rds_addr> addrs);
/* No more; returns when the last accept is through. */
void stop_listening(host::Net &net);

/* @self gave its connection with @peer up; @left: with bytes from @peer that nobody has read? */
extern void (*on_closed)(const struct rds_addr &self, const struct rds_addr &peer, tube::Left left);

/* Of a path's part of the transport. */
uint64_t digest(const void *priv);

/* Cuts a random living connection: false when there is none.  With @half only one end knows. */
bool cut_one(bool half = false);
/* Cuts every living connection and says how many there were. */
unsigned int cut_all();
unsigned int alive();
uint64_t cuts();

} // namespace stream
#endif
