/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stream.h: a simulated network of byte streams, and an RDS transport over it.
 *
 * What tcp_*_linux.c does with kernel sockets this does with simulated ones; what bytes mean
 * (tcp_frame.cc) and who calls whom (tcp_duel.cc) is the very code of rds_tcp.ko.  A connection
 * delivers bytes late, cut anywhere, acknowledges them when they arrive (read or not, as TCP does),
 * has a send and a receive window, can be refused, and can be cut in mid-stream, when what is in
 * flight is lost and both ends hear of it at different times.
 */
#ifndef RDS_TESTS_STREAM_H
#define RDS_TESTS_STREAM_H

#include "host.h"

namespace stream
{

struct Params {
	uint64_t delay_min_ns = 1000;
	uint64_t delay_max_ns = 20 * 1000;
	size_t send_window = 32 * 1024;	   /* bytes accepted and not acknowledged */
	size_t recv_window = 32 * 1024;	   /* bytes arrived and not read */
	unsigned int refuse_per_1000 = 0;  /* connects */
	unsigned int partial_per_1000 = 0; /* xmit takes a part though it has room for more */
};

/* Forgets nodes and parameters; no connection is left. */
void reset();
Params &params();
/* The transport: TCP's type and capabilities. */
const struct rds_transport *ops();
struct rds_module &module();

/* @net is reached at its addresses from now on. */
void listen(host::Net &net, std::vector<struct rds_addr> addrs);
/* Nobody reaches it any more, and nothing of it is being accepted.  Outside of tasks, or in one. */
void stop_listening(host::Net &net);

/* Cuts a random connection; false when there is none. */
bool cut_one();
/* Cuts all; returns how many. */
unsigned int cut_all();
/* Connections that are not dead. */
unsigned int alive();
/* Cuts since reset(). */
uint64_t cuts();

} // namespace stream
#endif
