/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Answers of receiving, and the room for them: part of <rds/socket.hpp>, which programs include.
 */
#ifndef RDS_MESSAGES_HPP
#define RDS_MESSAGES_HPP

#include <algorithm>
#include <memory>
#include <new>

#include <rds/control.hpp>

namespace rds
{

class Socket;

/* The answer of receive(): a message, events, or both. Events may come alone. */
class Received
{
public:
	std::optional<Message> message;
	/* Something was told for which there was no room (MSG_CTRUNC). */
	bool events_lost = false;

	/* A range over memory of this object's, which has to be there as long. */
	[[nodiscard]] Events events() const &noexcept
	{
		return Events(std::span(control_).first(told_));
	}
	Events events() && = delete;

private:
	friend class Socket;
	alignas(cmsghdr) std::array<std::byte, detail::control_room> control_ = {};
	std::size_t told_ = 0;
};

/* Room for what one receive_many() returns, to be used again and again. Can be moved; one that was
 * moved from has no room, and receive_many() refuses it. */
class Batch
{
public:
	/* For up to `messages` (1 to max_batch) with up to `bytes` (1 or more) in all. Errors:
	 * EINVAL, other numbers; ENOMEM. */
	[[nodiscard]] static Result<Batch> make(std::size_t messages, std::size_t bytes) noexcept
	{
		Batch made;
		if (!messages || messages > max_batch || !bytes)
			return system_error(EINVAL);
		made.most_ = messages;
		made.data_size_ = bytes;
		made.control_size_ = detail::control_room + messages * detail::control_each;
		made.messages_.reset(new (std::nothrow) Message[messages]);
		made.data_.reset(new (std::nothrow) std::byte[bytes]);
		made.control_.reset(new (std::nothrow) std::byte[made.control_size_]);
		if (!made.messages_ || !made.data_ || !made.control_)
			return system_error(ENOMEM);
		return made;
	}

	/* Those of the last receive_many(). */
	[[nodiscard]] std::span<const Message> messages() const noexcept
	{
		return {messages_.get(), messages_ ? count_ : 0};
	}
	/* Events that came with them, or alone. */
	[[nodiscard]] Events events() const noexcept
	{
		return Events({control_.get(), control_ ? told_ : 0});
	}
	/* As Received has it. */
	[[nodiscard]] bool events_lost() const noexcept
	{
		return events_lost_;
	}

private:
	friend class Socket;
	Batch() noexcept = default;

	void forget() noexcept
	{
		count_ = told_ = 0;
		events_lost_ = false;
	}

	/* Bytes that have come are one message, `whole` (its sender, its length), or as many as
	 * there are lengths. */
	void cut(std::size_t bytes, const Message &whole) noexcept
	{
		const detail::Bytes data(data_.get(), bytes), control(control_.get(), told_);
		detail::Bytes lengths = detail::lengths_of_batch(control);
		std::size_t at = 0;

		count_ = std::clamp<std::size_t>(lengths.size() / sizeof(std::uint32_t), 1, most_);
		for (Message &one : std::span(messages_.get(), count_)) {
			one = whole;
			if (const auto told = detail::read<std::uint32_t>(lengths)) {
				one.length = *told;
				lengths = lengths.subspan(sizeof(*told));
			}
			one.data = data.subspan(at, std::min(one.length, bytes - at));
			at += one.data.size();
		}
		detail::describe({messages_.get(), count_}, control);
	}

	std::unique_ptr<Message[]> messages_;
	std::unique_ptr<std::byte[]> data_, control_;
	std::size_t most_ = 0, data_size_ = 0, control_size_ = 0; /* of these, as they were made */
	std::size_t count_ = 0, told_ = 0;			  /* used by the last call */
	bool events_lost_ = false;
};

} // namespace rds

#endif
