/* SPDX-License-Identifier: GPL-2.0 */
/*
 * options_core.h: the kernel and the core as net/linux/cmsg*.c and sockopt.c see them in
 * fuzz_options: user memory is one block, a socket remembers what it was told.
 */
#ifndef FUZZ_OPTIONS_CORE_H
#define FUZZ_OPTIONS_CORE_H

#include <memory>
#include <set>
#include <vector>

#include "fuzz.h"
extern "C" {
#include "net/linux/glue.h"
}

/* The core's part of a socket: remembers what it was told. */
struct rds_socket {
	bool bound, cancelled, tracing, rdma;
	struct rds_endpoint cancelled_to;
	int recverr, monitor, transport;
	uint32_t order;
	int batch;
	uint64_t mask;
	uint32_t cookies[RDS_MAX_ZCOOKIES];
	unsigned int n_cookies;
	struct rds_recv_counts held;
	bool asked, asked_of_one;
	bool reading; /* rds_recv_lock() */
	uint64_t unread;
};

/* Likewise of a message. */
struct rds_msg {
	uint64_t cookie;
	bool op;
	uint32_t order;
};

extern std::unique_ptr<std::vector<char>> user;
bool in_user_memory(const void *p, size_t n);
/* Of whoever calls; connections that there are; and which were to end last. */
extern bool is_admin;
extern unsigned int n_conns;
extern struct reset {
	struct rds_addr from, to;
	unsigned char tos;
} last_reset;
/* Cookies of the memory that is registered. */
extern std::set<uint64_t> regions;

#endif
