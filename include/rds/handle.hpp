/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * A socket's descriptor, its names and its settings: part of <rds/socket.hpp>, which programs
 * include.
 */
#ifndef RDS_HANDLE_HPP
#define RDS_HANDLE_HPP

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include <linux/sockios.h>

#include <algorithm>

#include <rds/control.hpp>

namespace rds
{

/* Closes itself; can be moved, and not copied. One that was moved from is not open. */
class Handle
{
public:
	/* Takes back what is not delivered, and drops what is not received, once this is the last
	 * descriptor. rds(7), Reliability: to end in order, wait for the peer's answer first. */
	void close() noexcept
	{
		/* Never twice: Linux has given up the number also where a signal came. */
		if (fd_ >= 0)
			::close(std::exchange(fd_, -1));
	}

	/* The descriptor, which the caller closes from now on; -1: not open. */
	[[nodiscard]] int release() noexcept
	{
		return std::exchange(fd_, -1);
	}

	/* For poll(2), epoll(7), and calls that are not here; -1: not open. POLLIN: a message, an
	 * event, or, without monitor_congestion(), a change of congestion somewhere. POLLOUT: room
	 * in the send queue, whether or not a port is congested. rds(7), Poll. */
	[[nodiscard]] int fd() const noexcept
	{
		return fd_;
	}
	[[nodiscard]] bool is_open() const noexcept
	{
		return fd_ >= 0;
	}

	/* The own name, with the port that bind() has chosen. */
	[[nodiscard]] Result<Endpoint> local() const noexcept
	{
		return name_by(::getsockname);
	}

	/* The name that connect() was given. Errors: ENOTCONN. */
	[[nodiscard]] Result<Endpoint> peer() const noexcept
	{
		return name_by(::getpeername);
	}

	/* ---- waiting ---- */

	/* Whether calls that would wait fail (EAGAIN, ENOBUFS) instead. O_NONBLOCK. */
	Status set_nonblocking(bool on) noexcept
	{
		const int flags = ::fcntl(fd_, F_GETFL);
		if (flags < 0)
			return system_error();
		return status(::fcntl(fd_, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
	}
	[[nodiscard]] Result<bool> nonblocking() const noexcept
	{
		const int flags = ::fcntl(fd_, F_GETFL);
		if (flags < 0)
			return system_error();
		return (flags & O_NONBLOCK) != 0;
	}

	/* For how long a send waits for room, and (mainline's modules do not) for the end of
	 * congestion, before it fails with ETIMEDOUT; none: for ever. Less than 1 us is 1 us.
	 * Errors: EINVAL, less than none. SO_SNDTIMEO. */
	Status set_send_timeout(std::optional<std::chrono::microseconds> limit) noexcept
	{
		return set_timeout(SO_SNDTIMEO, limit);
	}
	[[nodiscard]] Result<std::optional<std::chrono::microseconds>> send_timeout() const noexcept
	{
		return timeout(SO_SNDTIMEO);
	}

	/* The same of a call that receives. SO_RCVTIMEO. */
	Status set_receive_timeout(std::optional<std::chrono::microseconds> limit) noexcept
	{
		return set_timeout(SO_RCVTIMEO, limit);
	}
	[[nodiscard]] Result<std::optional<std::chrono::microseconds>>
	receive_timeout() const noexcept
	{
		return timeout(SO_RCVTIMEO);
	}

	/* Whether a signal's handler ends a wait (EINTR), as it does with system calls. Off, as at
	 * first: the wait begins anew, its time limit too. Nothing was sent or received in either
	 * case. */
	void set_interruptible(bool on) noexcept
	{
		interruptible_ = on;
	}

	/* ---- settings of RDS ---- */

	/* How messages travel, in place of what the address says; before bind(), once. Errors:
	 * EOPNOTSUPP, it is chosen; ENOPROTOOPT, its module is not there; EINVAL, loop. rds(7),
	 * SO_RDS_TRANSPORT. */
	Status set_transport(Transport how) noexcept
	{
		return set_option(SOL_RDS, SO_RDS_TRANSPORT, static_cast<int>(how));
	}
	/* None as long as there is none: not bound, and not chosen. */
	[[nodiscard]] Result<std::optional<Transport>> transport() const noexcept
	{
		const Result<int> number = option<int>(SOL_RDS, SO_RDS_TRANSPORT);
		if (!number)
			return number.error();
		if (*number == RDS_TRANS_NONE)
			return std::optional<Transport>();
		return std::optional(Transport{*number});
	}

	/* The hint of messages that have none of their own. Errors: ENOPROTOOPT of mainline's
	 * modules. rds(7), RDS_ORDER. */
	Status set_order(Order order) noexcept
	{
		return set_option(SOL_RDS, RDS_ORDER, static_cast<int>(order));
	}
	[[nodiscard]] Result<Order> order() const noexcept
	{
		const Result<int> number = option<int>(SOL_RDS, RDS_ORDER);
		if (!number)
			return number.error();
		return Order{static_cast<std::uint32_t>(*number)};
	}
	/* Whether these are modules that know hints; others send everything in order. */
	[[nodiscard]] Result<bool> knows_order() const noexcept
	{
		return knows(RDS_ORDER);
	}

	/* Of all that is sent, 0 to 255; once, before the first message (EINVAL). Over TCP each is
	 * 0; loopback has none (ENOTTY). rds(7), Ioctls. */
	Status set_type_of_service(std::uint8_t service) noexcept
	{
		return status(::ioctl(fd_, SIOCRDSSETTOS, &service));
	}
	[[nodiscard]] Result<std::uint8_t> type_of_service() const noexcept
	{
		std::uint8_t service = 0;
		if (::ioctl(fd_, SIOCRDSGETTOS, &service) < 0)
			return system_error();
		return service;
	}

	/* Whether RdmaDone comes of each operation that fails, also if that did not ask for it.
	 * rds(7), RDS_RECVERR. */
	Status set_recverr(bool on) noexcept
	{
		return set_option(SOL_RDS, RDS_RECVERR, static_cast<int>(on));
	}
	[[nodiscard]] Result<bool> recverr() const noexcept
	{
		const Result<int> number = option<int>(SOL_RDS, RDS_RECVERR);
		if (!number)
			return number.error();
		return *number != 0;
	}

	/* Each message brings a Latency from now on, of up to three stages; of none: none does.
	 * Errors: EFAULT, more than three. rds(7), SO_RDS_MSG_RXPATH_LATENCY. */
	Status trace_latency(std::span<const Stage> stages = all_stages) noexcept
	{
		rds_rx_trace_so wanted = {};
		if (stages.size() > std::size(wanted.rx_trace_pos))
			return system_error(EFAULT);
		for (const Stage stage : stages)
			wanted.rx_trace_pos[wanted.rx_traces++] = static_cast<std::uint8_t>(stage);
		return set_option(SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, wanted);
	}

	/* Bytes of messages that may wait to be delivered, or to be received, before a send waits
	 * or the port is congested. The kernel gives no more than net.core.[wr]mem_max. SO_SNDBUF,
	 * SO_RCVBUF. */
	Status set_send_queue(int bytes) noexcept
	{
		return set_option(SOL_SOCKET, SO_SNDBUF, bytes);
	}
	Status set_receive_queue(int bytes) noexcept
	{
		return set_option(SOL_SOCKET, SO_RCVBUF, bytes);
	}

	/* ---- congestion ---- */

	/* On: CongestionEnded comes for ports that a send has failed for with ENOBUFS, in place of
	 * one wakeup for any change. Off: none comes. rds(7), RDS_CONG_MONITOR. */
	Status monitor_congestion(bool on = true) noexcept
	{
		return set_option(SOL_RDS, RDS_CONG_MONITOR, static_cast<int>(on));
	}

	/* The same for these ports, and those with which they share a bit; none: off. Mainline's
	 * modules cannot. */
	Status monitor_ports(std::span<const std::uint16_t> ports) noexcept
	{
		std::uint64_t mask = 0;
		for (const std::uint16_t port : ports)
			mask |= congestion_bit(port);
		return set_option(SOL_RDS, RDS_CONG_MONITOR, mask);
	}

	/* ---- any other setting ---- */

	/* setsockopt(2) with a structure or a number. */
	template <class T>
	Status set_option(int level, int name, const T &value) noexcept
	{
		static_assert(std::is_trivially_copyable_v<T>);
		return status(::setsockopt(fd_, level, name, &value, sizeof(value)));
	}
	/* getsockopt(2); of an option that the kernel also reads, all is zero. */
	template <class T>
	[[nodiscard]] Result<T> option(int level, int name) const noexcept
	{
		static_assert(std::is_trivially_copyable_v<T>);
		T value = {};
		socklen_t size = sizeof(value);
		if (::getsockopt(fd_, level, name, &value, &size) < 0)
			return system_error();
		return value;
	}

protected:
	Handle() noexcept = default;
	explicit Handle(int fd) noexcept : fd_(fd)
	{
	}
	Handle(Handle &&other) noexcept
		: fd_(std::exchange(other.fd_, -1)), interruptible_(other.interruptible_)
	{
	}
	Handle &operator=(Handle &&other) noexcept
	{
		if (this != &other) {
			close();
			fd_ = std::exchange(other.fd_, -1);
			interruptible_ = other.interruptible_;
		}
		return *this;
	}
	~Handle()
	{
		close();
	}

	static Status status(int returned) noexcept
	{
		return returned < 0 ? Status(system_error()) : Status();
	}

	/* Whether these are modules that know this option, which is theirs alone. */
	[[nodiscard]] Result<bool> knows(int name) const noexcept
	{
		const Result<int> number = option<int>(SOL_RDS, name);
		if (!number && number.error() != system_error(ENOPROTOOPT))
			return number.error();
		return number.has_value();
	}

	/* A call that waits, as often as signals want it. */
	template <class Call>
	[[nodiscard]] Result<std::size_t> unless_interrupted(Call call) const noexcept
	{
		for (;;) {
			const ssize_t done = call();
			if (done >= 0)
				return static_cast<std::size_t>(done);
			if (errno != EINTR || interruptible_)
				return system_error();
		}
	}

private:
	template <class Call>
	[[nodiscard]] Result<Endpoint> name_by(Call call) const noexcept
	{
		sockaddr_storage name = {};
		socklen_t size = sizeof(name);
		if (call(fd_, reinterpret_cast<sockaddr *>(&name), &size) < 0)
			return system_error();
		return Endpoint::from_sockaddr(name, size);
	}

	Status set_timeout(int name, std::optional<std::chrono::microseconds> limit) noexcept
	{
		timeval value = {};
		if (limit && limit->count() < 0)
			return system_error(EINVAL);
		if (limit) {
			const auto micro = std::max(limit->count(), decltype(limit->count())(1));
			value.tv_sec = static_cast<time_t>(micro / 1000000);
			value.tv_usec = static_cast<suseconds_t>(micro % 1000000);
		}
		return set_option(SOL_SOCKET, name, value);
	}

	[[nodiscard]] Result<std::optional<std::chrono::microseconds>>
	timeout(int name) const noexcept
	{
		const Result<timeval> value = option<timeval>(SOL_SOCKET, name);
		if (!value)
			return value.error();
		const auto limit = std::chrono::seconds(value->tv_sec) +
				   std::chrono::microseconds(value->tv_usec);
		return limit.count() ? std::optional(limit) : std::nullopt;
	}

protected:
	int fd_ = -1;
	bool interruptible_ = false;
};

} // namespace rds

#endif
