/* SPDX-License-Identifier: GPL-2.0 */
/* talk.h: sending and receiving on threads as an application does, asleep where it would be. */
#ifndef RDS_PTHREAD_TALK_H
#define RDS_PTHREAD_TALK_H

#include "platform_pthread.h"

namespace talk
{

/* Fails with @what. */
void check(bool ok, const char *what);
/* 0 to @n - 1. */
unsigned int pick(unsigned int n);
/* @may_fail: a transport or path that goes is no failure, it is tried again. */
void send_blocking(host::Socket &s, const struct rds_endpoint &to,
		   std::span<const unsigned char> data, bool may_fail, uint32_t order = 0);
host::Received recv_blocking(host::Socket &s);
/* Sends that had to wait. */
extern std::atomic<uint64_t> retried;

} // namespace talk
#endif
