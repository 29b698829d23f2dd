/* SPDX-License-Identifier: GPL-2.0 */
/*
 * result.h: how the core says that something did not work.
 *
 * Status is 0 or a negative errno, Result<T> a value or a negative errno; both must be looked at.
 * The numbers are Linux's (the core sees no errno.h); net/linux/module.c asserts that they agree.
 */
#ifndef RDS_RESULT_H
#define RDS_RESULT_H

#include "annotate.h"

namespace rds
{

namespace err
{
inline constexpr int kEnoent = 2;
inline constexpr int kEintr = 4;
inline constexpr int kEagain = 11;
inline constexpr int kEnomem = 12;
inline constexpr int kEacces = 13;
inline constexpr int kEfault = 14;
inline constexpr int kEexist = 17;
inline constexpr int kEinval = 22;
inline constexpr int kEproto = 71;
inline constexpr int kEmsgsize = 90;
inline constexpr int kEnoprotoopt = 92;
inline constexpr int kEopnotsupp = 95;
inline constexpr int kEaddrinuse = 98;
inline constexpr int kEaddrnotavail = 99;
inline constexpr int kEnetdown = 100;
inline constexpr int kEnetunreach = 101;
inline constexpr int kEnobufs = 105;
inline constexpr int kEnotconn = 107;
inline constexpr int kEdquot = 122;
inline constexpr int kEnoioctlcmd = 515;
} // namespace err

class [[nodiscard]] Status final
{
public:
	constexpr Status() = default;
	/* @negative_errno: 0 or what the C side returned. */
	constexpr explicit Status(int negative_errno) : v_(negative_errno)
	{
	}
	static constexpr Status fail(int positive_errno)
	{
		return Status(-positive_errno);
	}
	constexpr bool ok() const
	{
		return v_ == 0;
	}
	/* 0 or the negative errno, for the C side. */
	constexpr int code() const
	{
		return v_;
	}
	constexpr bool is(int positive_errno) const
	{
		return v_ == -positive_errno;
	}

private:
	int v_ = 0;
};

template <typename T>
class [[nodiscard]] Result final
{
public:
	constexpr Result(T value) : value_(value)
	{
	}
	constexpr Result(Status s) : status_(s)
	{
	}
	constexpr bool ok() const
	{
		return status_.ok();
	}
	constexpr Status status() const
	{
		return status_;
	}
	constexpr T value() const
	{
		return value_;
	}

private:
	T value_{};
	Status status_{};
};

} // namespace rds
#endif
