/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lonely.h: a transport whose peers are made up: each is one of ours, comes up at once, and has
 * everything as soon as it was sent, or, when told to be silent, never says so.
 */
#ifndef RDS_TESTS_SCALE_LONELY_H
#define RDS_TESTS_SCALE_LONELY_H

#include "host.h"

namespace scale
{

const struct rds_transport *lonely_ops();
/* From now on no peer acknowledges. */
void lonely_silence(bool on);
/* From now on no transport takes anything. */
void lonely_room(bool on);
/* The peer of @path says which of its ports are full: @port, or none (0). */
void lonely_map(struct rds_path *path, uint16_t port);
/* It refuses the port, from message @number on. */
void lonely_refuse(struct rds_path *path, uint16_t port, uint64_t number);

} // namespace scale

#endif
