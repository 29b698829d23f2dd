/* SPDX-License-Identifier: GPL-2.0 */
/*
 * raw.h: a transport with one path whose peer is raw bytes: what tcp_recv_linux.c does between a
 * TCP socket and tcp_frame.cc, without a socket.
 *
 * The peer writes with feed(); what the core will not take yet stays unread, as in a receive
 * window.
 */
#ifndef RDS_TESTS_RAW_H
#define RDS_TESTS_RAW_H

#include <functional>

#include "host.h"

namespace raw
{

constexpr unsigned int kLocal = 1, kPeer = 99; /* host::addr4() */

/* Forgets everything.  The structure stays the same object. */
void reset();
const struct rds_transport *ops();
int module_refs();

/* Makes the path of kLocal to kPeer; it goes with its namespace. */
void make_path(host::Net &net);
struct rds_path *path();

/* The connection that the core asked for works. */
void establish();
bool connecting();
bool open();
/* Bytes of the peer.  Softirq. */
void feed(const unsigned char *data, size_t len);
/* The peer resets the connection. */
void hang_up();

/* Called when a connection has ended: the bytes that were read of it, and whether a header or a
 * message was read whole and then refused to the end. */
using Closed = std::function<void(const host::Bytes &read, bool refused)>;
void on_closed(Closed fn);

/* Nothing is under way: the last byte fed was a message's last, and the core has it. */
bool between_frames();
/* Bytes that the message under way will have. */
size_t under_way();
/* The bytes sent on this connection, and: all of them are acknowledged. */
const host::Bytes &sent();
void acknowledge();

} // namespace raw
#endif
