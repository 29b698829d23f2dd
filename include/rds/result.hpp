/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * A value, or the error in its place: part of <rds/socket.hpp>, which programs include.
 *
 * Nothing of this library throws. A function that can fail returns a Result, whose error is an
 * errno of the system category and compares with std::errc:
 *
 *	if (auto sent = sock.send(data, to); !sent)
 *		std::cerr << sent.error().message();
 */
#ifndef RDS_RESULT_HPP
#define RDS_RESULT_HPP

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace rds
{

/* The errno as an error: this thread's, or the given one. */
[[nodiscard]] inline std::error_code system_error(int number = errno) noexcept
{
	return std::error_code(number, std::system_category());
}

/* ENOBUFS: the receiver's port is full, and the call must not wait. rds(7), Congestion. */
[[nodiscard]] inline bool is_congested(const std::error_code &why) noexcept
{
	return why == system_error(ENOBUFS);
}

/* EAGAIN: nothing to receive, or no room in the own send queue, and the call must not wait. */
[[nodiscard]] inline bool would_wait(const std::error_code &why) noexcept
{
	return why == system_error(EAGAIN);
}

/* A T, or why there is none. To ask a failed one for its value ends the program (abort). */
template <class T>
class [[nodiscard]] Result
{
	static_assert(std::is_object_v<T> && !std::is_same_v<T, std::error_code>);

public:
	using value_type = T;

	Result(T value) noexcept(std::is_nothrow_move_constructible_v<T>)
		: is_(std::in_place_index<0>, std::move(value))
	{
	}
	/* An error that is none (0) makes a Result without a value all the same. */
	Result(std::error_code why) noexcept : is_(std::in_place_index<1>, why)
	{
	}

	[[nodiscard]] bool has_value() const noexcept
	{
		return is_.index() == 0;
	}
	/* Not of a Result<bool>, where a reader would take it for the value. */
	explicit operator bool() const noexcept requires(!std::is_same_v<T, bool>)
	{
		return has_value();
	}

	[[nodiscard]] T &value() &noexcept
	{
		return checked(*this);
	}
	[[nodiscard]] const T &value() const &noexcept
	{
		return checked(*this);
	}
	[[nodiscard]] T &&value() &&noexcept
	{
		return std::move(checked(*this));
	}
	[[nodiscard]] T &operator*() &noexcept
	{
		return value();
	}
	[[nodiscard]] const T &operator*() const &noexcept
	{
		return value();
	}
	[[nodiscard]] T &&operator*() &&noexcept
	{
		return std::move(*this).value();
	}
	[[nodiscard]] T *operator->() noexcept
	{
		return &value();
	}
	[[nodiscard]] const T *operator->() const noexcept
	{
		return &value();
	}
	[[nodiscard]] T value_or(T other) &&noexcept(std::is_nothrow_move_constructible_v<T>)
	{
		return has_value() ? std::move(value()) : std::move(other);
	}

	/* 0 where there is a value. */
	[[nodiscard]] std::error_code error() const noexcept
	{
		const std::error_code *why = std::get_if<1>(&is_);
		return why ? *why : std::error_code();
	}

private:
	template <class Self>
	static auto &checked(Self &self) noexcept
	{
		auto *held = std::get_if<0>(&self.is_);
		if (!held)
			std::abort();
		return *held;
	}

	std::variant<T, std::error_code> is_;
};

/* Done, or why not. */
template <>
class [[nodiscard]] Result<void>
{
public:
	using value_type = void;

	Result() noexcept = default;
	Result(std::error_code why) noexcept : why_(why)
	{
	}

	[[nodiscard]] bool has_value() const noexcept
	{
		return !why_;
	}
	explicit operator bool() const noexcept
	{
		return has_value();
	}
	[[nodiscard]] std::error_code error() const noexcept
	{
		return why_;
	}

private:
	std::error_code why_;
};

using Status = Result<void>;

} // namespace rds

#endif
