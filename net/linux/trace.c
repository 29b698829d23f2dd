// SPDX-License-Identifier: GPL-2.0
/* trace.c: the bodies of the tracepoints. */
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include "trace.h"
