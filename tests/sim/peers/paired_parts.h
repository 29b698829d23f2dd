/* SPDX-License-Identifier: GPL-2.0 */
/*
 * paired_parts.h: what the honest hosts know of frames, written by hand.
 */
#ifndef RDS_TESTS_PAIRED_PARTS_H
#define RDS_TESTS_PAIRED_PARTS_H

#include "mainline.h"

namespace peer
{

constexpr size_t kMapBytes = 8192;
constexpr uint8_t kMapFlag = 0x01, kAckRequired = 0x02, kRetransmitted = 0x04;
/* Of a header: where its fields begin. */
constexpr size_t kAckAt = 8, kLenAt = 16, kSportAt = 20, kDportAt = 22, kFlagsAt = 24,
		 kCreditAt = 25, kExtAt = 32;

/* The first frame of a release of ours: who it is, one path, and that it acknowledges. */
host::Bytes hello_frame(uint32_t generation);
/* The generation in @m if it is such a frame; else 0. */
uint32_t hello_generation(const host::Bytes &m);
/* From port 0 to port 0, and nothing in it. */
bool is_empty_frame(const host::Bytes &m);

} // namespace peer
#endif
