/* SPDX-License-Identifier: GPL-2.0 */
/* The one who asks hosts with rds-stress --serve: a control connection for each question. */
#ifndef RDSTOOLS_STRESS_ASK_H
#define RDSTOOLS_STRESS_ASK_H

#include "matrix.h"

namespace rdstools
{

/* Fills the matrix. @local may be unspecified; @port is the hosts' control port. */
void ask_all(Matrix &matrix, const Address &local, std::uint16_t port);

} // namespace rdstools

#endif
