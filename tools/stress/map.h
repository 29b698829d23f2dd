/* SPDX-License-Identifier: GPL-2.0 */
/* A matrix as heat maps on a terminal: rows are hosts that measure, columns those that answer. */
#ifndef RDSTOOLS_STRESS_MAP_H
#define RDSTOOLS_STRESS_MAP_H

#include <ostream>

#include "matrix.h"

namespace rdstools
{

/* How much a value is of the best one, in five steps, 4 the best. Not above 0: the worst. */
unsigned heat(double share);

/* Throughput, round trips where there are acks, and below them why pairs have failed. */
void print_matrix(std::ostream &out, const Matrix &matrix, bool colours);

} // namespace rdstools

#endif
