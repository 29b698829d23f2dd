/* SPDX-License-Identifier: GPL-2.0 */
/* This host, as the doctor examines it. */
#ifndef RDSCTL_EVIDENCE_H
#define RDSCTL_EVIDENCE_H

#include "doctor.h"

namespace rdstools
{

Evidence gather();

} // namespace rdstools

#endif
