/* SPDX-License-Identifier: GPL-2.0 */
/* libstdc++'s freestanding headers ask the C library for its version; in a kernel there is none. */
#define __GLIBC_PREREQ(a, b) 0
