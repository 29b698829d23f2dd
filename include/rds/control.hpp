/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Control messages as values, and values as control messages: part of <rds/socket.hpp>, which
 * programs include. No system call is made here.
 *
 * rds(7), Control messages; the structures are those of <linux/rds.h>.
 */
#ifndef RDS_CONTROL_HPP
#define RDS_CONTROL_HPP

#include <netinet/in.h> /* before <linux/rds.h>, whose in6_addr this is */
#include <sys/socket.h>

#include <linux/rds.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>
#include <variant>

#include <rds/address.hpp>

namespace rds
{

/* May a message overtake earlier ones of its socket to the same destination? rds(7), Order. */
enum class Order : std::uint32_t {
	ordered = RDS_ORDER_ORDERED,
	half = RDS_ORDER_HALF,
	unordered = RDS_ORDER_UNORDERED,
};

/* How a socket's messages travel; loop can be read and not chosen. rds(7), SO_RDS_TRANSPORT. */
enum class Transport : int { ib = RDS_TRANS_IB, tcp = RDS_TRANS_TCP, loop = RDS_TRANS_LOOP };

/* Where a received message spent its time. rds(7), SO_RDS_MSG_RXPATH_LATENCY. */
enum class Stage : std::uint8_t {
	header_to_data = RDS_MSG_RX_HDR_TO_DGRAM_START,
	reassembly = RDS_MSG_RX_DGRAM_REASSEMBLE,
	queued = RDS_MSG_RX_DGRAM_DELIVERED,
};
inline constexpr std::array all_stages = {Stage::header_to_data, Stage::reassembly, Stage::queued};

/* Bytes of a message, at most. rds(7), Sending. */
inline constexpr std::size_t max_message = 1U << 20;
/* Messages that one receive_many() returns, at most. rds(7), RDS_RECV_BATCH. */
inline constexpr std::size_t max_batch = RDS_MAX_SEGMENTS;

/* The bit of a congestion mask that stands for a port, and for all that equal it modulo 64. */
[[nodiscard]] constexpr std::uint64_t congestion_bit(std::uint16_t port) noexcept
{
	return std::uint64_t{1} << port % RDS_CONG_MONITOR_SIZE;
}

/* Ports that were congested take messages again. rds(7), RDS_CMSG_CONG_UPDATE. */
struct CongestionEnded {
	std::uint64_t mask = 0;

	/* Whether a send to this port should be tried again. */
	[[nodiscard]] constexpr bool includes(std::uint16_t port) const noexcept
	{
		return (mask & congestion_bit(port)) != 0;
	}
	friend bool operator==(const CongestionEnded &, const CongestionEnded &) = default;
};

/* The memory of these MSG_ZEROCOPY sends may be used again. rds(7), Zerocopy. */
struct ZeroCopyDone {
	std::array<std::uint32_t, RDS_MAX_ZCOOKIES> cookies = {};
	std::uint32_t count = 0; /* of cookies that are used */

	friend bool operator==(const ZeroCopyDone &, const ZeroCopyDone &) = default;
};

/* An RDMA or atomic operation has ended; status is RDS_RDMA_*, 0 is success. rds-rdma(7). */
struct RdmaDone {
	std::uint64_t token = 0;
	std::int32_t status = 0;

	friend bool operator==(const RdmaDone &, const RdmaDone &) = default;
};

using Event = std::variant<CongestionEnded, ZeroCopyDone, RdmaDone>;

/* The time that a message spent in `count` stages: those that trace_latency() has named. */
struct Latency {
	struct Spent {
		Stage stage = Stage::header_to_data;
		std::chrono::nanoseconds time = {};

		friend bool operator==(const Spent &, const Spent &) = default;
	};
	std::array<Spent, RDS_MSG_RX_DGRAM_TRACE_MAX> spent = {};
	std::size_t count = 0;

	friend bool operator==(const Latency &, const Latency &) = default;
};

/* A message that was received. Its bytes lie in the buffer that the call was given. */
struct Message {
	std::span<const std::byte> data;
	Endpoint sender;
	/* Bytes that it had when it was sent. Of one that is truncated that is known where it came
	 * in a batch, or Wait::whole_length was given; else it is data.size(). */
	std::size_t length = 0;
	bool truncated = false; /* the buffer was too small, and the rest is lost */
	std::optional<Latency> latency;
	std::optional<std::uint64_t> rdma_cookie; /* of its sender's memory. rds-rdma(7) */
};

namespace detail
{

using Bytes = std::span<const std::byte>;

/* All that one recvmsg(2) has to say of a message, with room for what later kernels add. */
inline constexpr std::size_t control_room = 512;
/* Of each further message of a batch: its length, and its latency. */
inline constexpr std::size_t control_each =
	sizeof(std::uint32_t) + CMSG_SPACE(sizeof(rds_cmsg_rx_trace));

/* The structure that begins these bytes; none if they are too few. */
template <class T>
[[nodiscard]] std::optional<T> read(Bytes payload) noexcept
{
	static_assert(std::is_trivially_copyable_v<T>);
	T found;
	if (payload.size() < sizeof(found))
		return std::nullopt;
	std::memcpy(&found, payload.data(), sizeof(found));
	return found;
}

struct Control {
	int level = 0, type = 0;
	Bytes payload;
};

/* Takes the first control message off `rest`; none at its end, or where it makes no sense. */
[[nodiscard]] inline std::optional<Control> next_control(Bytes &rest) noexcept
{
	cmsghdr head = {};
	if (rest.size() >= sizeof(head))
		std::memcpy(&head, rest.data(), sizeof(head));
	if (head.cmsg_len < CMSG_LEN(0) || head.cmsg_len > rest.size()) {
		rest = {};
		return std::nullopt;
	}
	const Control found = {head.cmsg_level, head.cmsg_type,
			       rest.first(head.cmsg_len).subspan(CMSG_LEN(0))};
	rest = rest.subspan(std::min<std::size_t>(rest.size(), CMSG_ALIGN(head.cmsg_len)));
	return found;
}

/* The same of those of level SOL_RDS. */
[[nodiscard]] inline std::optional<Control> next_of_rds(Bytes &rest) noexcept
{
	while (const std::optional<Control> one = next_control(rest))
		if (one->level == SOL_RDS)
			return one;
	return std::nullopt;
}

[[nodiscard]] inline std::optional<Event> zero_copy_done(Bytes payload) noexcept
{
	ZeroCopyDone done;
	const std::size_t head = offsetof(rds_zcopy_cookies, cookies);
	const std::optional<std::uint32_t> count = read<std::uint32_t>(payload);
	if (!count || *count > done.cookies.size() ||
	    payload.size() < head + *count * sizeof(std::uint32_t))
		return std::nullopt;
	done.count = *count;
	std::memcpy(done.cookies.data(), payload.data() + head, *count * sizeof(std::uint32_t));
	return done;
}

/* The event that it tells of. None: it tells of something else, or was cut short. */
[[nodiscard]] inline std::optional<Event> event_of(const Control &one) noexcept
{
	switch (one.type) {
	case RDS_CMSG_CONG_UPDATE:
		if (const auto mask = read<std::uint64_t>(one.payload))
			return CongestionEnded{*mask};
		return std::nullopt;
	case RDS_CMSG_ZCOPY_COMPLETION:
		return zero_copy_done(one.payload);
	case RDS_CMSG_RDMA_STATUS:
		if (const auto done = read<rds_rdma_notify>(one.payload))
			return RdmaDone{done->user_token, done->status};
		return std::nullopt;
	default:
		return std::nullopt;
	}
}

[[nodiscard]] inline std::optional<Latency> latency_of(Bytes payload) noexcept
{
	Latency told;
	const std::optional<rds_cmsg_rx_trace> trace = read<rds_cmsg_rx_trace>(payload);
	if (!trace || trace->rx_traces > told.spent.size())
		return std::nullopt;
	for (told.count = 0; told.count < trace->rx_traces; told.count++)
		told.spent[told.count] = {Stage{trace->rx_trace_pos[told.count]},
					  std::chrono::nanoseconds(trace->rx_trace[told.count])};
	return told;
}

/* Makes control messages for sendmsg(2), in a buffer of `Room` bytes. */
template <std::size_t Room>
class ControlWriter
{
public:
	/* Its payload's bytes fit, as the room was chosen. */
	void add(int type, Bytes payload) noexcept
	{
		cmsghdr head = {};
		head.cmsg_level = SOL_RDS;
		head.cmsg_type = type;
		head.cmsg_len = CMSG_LEN(payload.size());
		std::memcpy(room_.data() + used_, &head, sizeof(head));
		std::memcpy(room_.data() + used_ + CMSG_LEN(0), payload.data(), payload.size());
		used_ += CMSG_SPACE(payload.size());
	}
	[[nodiscard]] std::span<std::byte> bytes() noexcept
	{
		return std::span(room_).first(used_);
	}

private:
	alignas(cmsghdr) std::array<std::byte, Room> room_ = {};
	std::size_t used_ = 0;
};

/* The lengths of a batch's messages, as bytes; none: it was no batch. */
[[nodiscard]] inline Bytes lengths_of_batch(Bytes control) noexcept
{
	while (const std::optional<Control> one = next_of_rds(control))
		if (one->type == RDS_CMSG_RECV_BATCH)
			return one->payload;
	return {};
}

/* Control messages of messages that came together: each gets its latency, the first one its
 * cookie. */
inline void describe(std::span<Message> messages, Bytes control) noexcept
{
	std::size_t traced = 0;
	while (const std::optional<Control> one = next_of_rds(control)) {
		if (one->type == RDS_CMSG_RXPATH_LATENCY && traced < messages.size())
			messages[traced++].latency = latency_of(one->payload);
		else if (one->type == RDS_CMSG_RDMA_DEST && !messages.empty())
			messages[0].rdma_cookie = read<std::uint64_t>(one->payload);
	}
}

} // namespace detail

/* The events among control messages, in their order: a range, over memory of another object's.
 * Control messages of other levels, of numbers that are not known here, and one that was cut
 * short are passed over. */
class Events
{
public:
	class Iterator
	{
	public:
		using value_type = Event;
		using difference_type = std::ptrdiff_t;
		using iterator_concept = std::input_iterator_tag;

		Iterator() noexcept = default;
		explicit Iterator(detail::Bytes control) noexcept : rest_(control)
		{
			++*this;
		}
		[[nodiscard]] const Event &operator*() const noexcept
		{
			return *now_;
		}
		[[nodiscard]] const Event *operator->() const noexcept
		{
			return &*now_;
		}
		Iterator &operator++() noexcept
		{
			now_.reset();
			while (!now_) {
				const std::optional<detail::Control> one =
					detail::next_of_rds(rest_);
				if (!one)
					break;
				now_ = detail::event_of(*one);
			}
			return *this;
		}
		void operator++(int) noexcept
		{
			++*this;
		}
		friend bool operator==(const Iterator &here, std::default_sentinel_t) noexcept
		{
			return !here.now_;
		}

	private:
		detail::Bytes rest_;
		std::optional<Event> now_;
	};

	Events() noexcept = default;
	/* Of msg_control, as recvmsg(2) has filled it in. */
	explicit Events(std::span<const std::byte> control) noexcept : control_(control)
	{
	}
	[[nodiscard]] Iterator begin() const noexcept
	{
		return Iterator(control_);
	}
	[[nodiscard]] std::default_sentinel_t end() const noexcept
	{
		return {};
	}
	[[nodiscard]] bool empty() const noexcept
	{
		return begin() == end();
	}

	/* Whether one of them says that a send to this port should be tried again. */
	[[nodiscard]] bool congestion_ended(std::uint16_t port) const noexcept
	{
		for (const Event &one : *this)
			if (const auto *ended = std::get_if<CongestionEnded>(&one))
				if (ended->includes(port))
					return true;
		return false;
	}

private:
	detail::Bytes control_;
};

} // namespace rds

#endif
