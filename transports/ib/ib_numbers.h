/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_numbers.h: the smaller and the larger of two numbers, for the pure parts of rds_rdma.ko.
 */
#ifndef RDS_IB_NUMBERS_H
#define RDS_IB_NUMBERS_H

#include <stdint.h>

namespace rds::ib
{

inline uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

inline uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

} // namespace rds::ib
#endif
