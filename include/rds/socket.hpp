/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Reliable Datagram Sockets for C++20: the one header to include.
 *
 *	auto sock = rds::Socket::bound(here);
 *	if (!sock)
 *		return complain(sock.error().message());
 *	if (auto sent = sock->send(std::as_bytes(std::span(text)), there); !sent)
 *		...
 *
 * rds(7) tells what a socket does, docs/cxx.md how this looks in C++. Nothing here throws. Each
 * function names the errors that mean something to its caller; others are those of rds(7), ERROR
 * NUMBERS, and EBADF where the socket is not open. A call that fails has changed nothing.
 */
#ifndef RDS_SOCKET_HPP
#define RDS_SOCKET_HPP

#include <sys/uio.h>

#include <rds/handle.hpp>
#include <rds/messages.hpp>

namespace rds
{

/* How a message is sent. */
struct Send {
	std::optional<Order> order = {}; /* none: as set_order() has it */
	bool dont_wait = false;		 /* fail (EAGAIN, ENOBUFS) in place of waiting */
	bool more = false; /* another one follows at once; EOPNOTSUPP of mainline's modules */
};

/* How a message is received. */
struct Wait {
	bool dont_wait = false; /* fail (EAGAIN) in place of waiting */
	bool peek = false;	/* leave the message in the queue; events are taken all the same */
	bool whole_length = false; /* tell the length of a message that is cut */
};

/* The answer of unread(). */
struct Unread {
	std::uint32_t messages = 0;
	/* How many can be received before the newest is, those that are missing before it included;
	 * none where the kernel cannot tell. */
	std::optional<std::uint32_t> span;

	friend bool operator==(const Unread &, const Unread &) = default;
};

/*
 * One RDS socket; its names and settings are those of Handle.
 *
 * Of several threads each may send and receive; but receive() and receive_many() change a setting
 * of the socket's (RDS_RECV_BATCH), so one of the two is used at a time, of a socket and its
 * duplicates. A wait that a signal interrupts goes on, see set_interruptible().
 */
class Socket : public Handle
{
public:
	/* ---- beginning ---- */

	/* Not open. */
	Socket() noexcept = default;

	/* A new one, not bound; close-on-exec. Errors: EAFNOSUPPORT, the modules are not loaded;
	 * EACCES, group_range; EDQUOT, max_user_sockets; EMFILE. socket(2), rds(7). */
	[[nodiscard]] static Result<Socket> open() noexcept
	{
		const int fd = ::socket(PF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		if (fd < 0)
			return system_error();
		return Socket(fd);
	}

	/* A new one, bound; over the given transport, or that of the address. Errors: as of open(),
	 * set_transport(), bind(). */
	[[nodiscard]] static Result<Socket> bound(const Endpoint &here,
						  std::optional<Transport> how = {}) noexcept
	{
		Result<Socket> made = open();
		if (!made)
			return made;
		if (how)
			if (const Status set = made->set_transport(*how); !set)
				return set.error();
		if (const Status done = made->bind(here); !done)
			return done.error();
		return made;
	}

	/* Takes over a descriptor, whose RDS_RECV_BATCH is 0; it is closed with this object. */
	[[nodiscard]] static Socket adopt(int fd) noexcept
	{
		return Socket(fd);
	}

	/* The same socket by another descriptor, and close-on-exec. Both objects receive by two
	 * system calls from then on: either may have changed RDS_RECV_BATCH, which is the socket's.
	 * Errors: EMFILE. dup(2). */
	[[nodiscard]] Result<Socket> duplicate() noexcept
	{
		Socket made(::fcntl(fd_, F_DUPFD_CLOEXEC, 0));
		if (!made.is_open())
			return system_error();
		made.interruptible_ = interruptible_;
		shared_ = made.shared_ = true;
		return made;
	}

	/* ---- names ---- */

	/* Once, to an address of this host; port 0: a free one. Errors: EINVAL, no address of one
	 * host, port 1, or bound before; EADDRNOTAVAIL; EADDRINUSE; EACCES,
	 * unprivileged_port_start. rds(7), Addresses and binding. */
	Status bind(const Endpoint &here) noexcept
	{
		sockaddr_storage name;
		const socklen_t size = here.to_sockaddr(name);
		return status(::bind(fd_, reinterpret_cast<const sockaddr *>(&name), size));
	}

	/* Where messages go that name no destination; nothing is sent, and nobody is kept from
	 * sending here. Errors: EINVAL, EDESTADDRREQ, EPROTOTYPE, no address of one host. */
	Status connect(const Endpoint &there) noexcept
	{
		sockaddr_storage name;
		const socklen_t size = there.to_sockaddr(name);
		return status(::connect(fd_, reinterpret_cast<const sockaddr *>(&name), size));
	}

	/* ---- sending ---- */

	/* Queues one message, 0 to 1 MiB (max_message), whole. The kernel has it then, and sends it
	 * until it is delivered, taken back, or this socket is closed. Errors: ENOBUFS, the port is
	 * congested (is_congested()), and EAGAIN, no room in the send queue (would_wait()), where
	 * the call must not wait; ETIMEDOUT, set_send_timeout(); EMSGSIZE, longer than 1 MiB or
	 * than the send queue; EINVAL, no address, or a hint that these modules do not know;
	 * ENOTCONN, not bound; EADDRNOTAVAIL; EOPNOTSUPP, IPv4 to IPv6. rds(7), Sending. */
	Status send(std::span<const std::byte> data, const Endpoint &to,
		    const Send &how = {}) noexcept
	{
		if (to.address.is_none())
			return system_error(EINVAL);
		return send_one(data, &to, how);
	}

	/* The same to where connect() has said. Errors: ENOTCONN, nowhere. */
	Status send(std::span<const std::byte> data, const Send &how = {}) noexcept
	{
		return send_one(data, nullptr, how);
	}

	/* Queues messages, none of which may be empty, to one address, many in each system call.
	 * Returns how many: fewer than there are where this socket waits no longer for room; or the
	 * error, as of send(), if that is none. EINVAL: one is empty; nothing is sent. Modules that
	 * do not know such calls get one message at a time. rds(7), RDS_CMSG_SEGMENT. */
	Result<std::size_t> send_many(std::span<const std::span<const std::byte>> messages,
				      const Endpoint &to, const Send &how = {}) noexcept
	{
		const Result<bool> together = knows_batches();
		std::size_t sent = 0;

		if (!together.has_value())
			return together.error();
		if (to.address.is_none() ||
		    std::ranges::any_of(messages, [](detail::Bytes one) { return one.empty(); }))
			return system_error(EINVAL);
		while (sent < messages.size()) {
			const auto some = of_one_call(messages.subspan(sent), *together);
			const Result<std::size_t> queued = send_together(some, to, how);
			if (!queued && !sent)
				return queued;
			sent += queued ? *queued : 0;
			if (!queued || *queued < some.size())
				break;
		}
		return sent;
	}

	/* Takes back what was sent to that address and port, and is not delivered. Errors: EINVAL,
	 * no address; ENOTCONN, not bound. rds(7), RDS_CANCEL_SENT_TO. */
	Status cancel(const Endpoint &to) noexcept
	{
		sockaddr_storage name;
		const socklen_t size = to.to_sockaddr(name);
		/* None would mean all. */
		if (!size)
			return system_error(EINVAL);
		return status(::setsockopt(fd_, SOL_RDS, RDS_CANCEL_SENT_TO, &name, size));
	}

	/* The same of all that was sent. Errors: EINVAL of mainline's modules. */
	Status cancel_all() noexcept
	{
		return status(::setsockopt(fd_, SOL_RDS, RDS_CANCEL_SENT_TO, nullptr, 0));
	}

	/* ---- receiving ---- */

	/* The next message, into `room`, or what has happened meanwhile. A message that is longer
	 * is cut, and the rest is lost. Errors: EAGAIN (would_wait()), nothing is there and the
	 * call must not wait; ETIMEDOUT, set_receive_timeout(). rds(7), Receiving. */
	Result<Received> receive(std::span<std::byte> room, const Wait &how = {}) noexcept
	{
		Received got;
		sockaddr_storage name = {};
		if (const Status one = at_most_a_call(0); !one)
			return one.error();
		msghdr call = header(name, got.control_);
		const Result<std::size_t> bytes = take(call, room, how);
		if (!bytes)
			return bytes.error();
		got.told_ = call.msg_controllen;
		got.events_lost = (call.msg_flags & MSG_CTRUNC) != 0;
		got.message = message_of(call, name, *bytes);
		if (got.message) {
			got.message->data = room.first(std::min(*bytes, room.size()));
			detail::describe({&*got.message, 1},
					 std::span(got.control_).first(got.told_));
		}
		return got;
	}

	/* As many messages of one sender as are there and fit, in one system call, which waits for
	 * the first alone. They, and events, are in the batch until it is used again; no message:
	 * events alone. Modules that do not know such calls give one. Errors: as of receive();
	 * EINVAL, a batch that was moved from. rds(7), RDS_RECV_BATCH. */
	Result<std::span<const Message>> receive_many(Batch &batch, const Wait &how = {}) noexcept
	{
		if (!batch.data_)
			return system_error(EINVAL);
		batch.forget();
		const Result<bool> together = knows_batches();
		if (!together.has_value())
			return together.error();
		if (*together)
			if (const Status set = at_most_a_call(batch.most_); !set)
				return set.error();
		sockaddr_storage name = {};
		msghdr call = header(name, {batch.control_.get(), batch.control_size_});
		const std::span room(batch.data_.get(), batch.data_size_);
		const Result<std::size_t> bytes = take(call, room, how);
		if (!bytes)
			return bytes.error();
		batch.told_ = call.msg_controllen;
		batch.events_lost_ = (call.msg_flags & MSG_CTRUNC) != 0;
		if (const std::optional<Message> one = message_of(call, name, *bytes))
			batch.cut(std::min(*bytes, room.size()), *one);
		return batch.messages();
	}

	/* Whether these are modules that send and return many messages a call. */
	[[nodiscard]] Result<bool> knows_batches() noexcept
	{
		if (!asked_) {
			const Result<bool> answer = knows(RDS_RECV_BATCH);
			if (!answer.has_value())
				return answer;
			batches_ = *answer;
			asked_ = true;
		}
		return batches_;
	}

	/* How much has come, and is not received. Errors: ENOPROTOOPT of mainline's modules;
	 * ENOTCONN, not bound. rds(7), RDS_RECV_QUERY. */
	[[nodiscard]] Result<Unread> unread() const noexcept
	{
		return ask_for_unread({});
	}

	/* The same of one peer; port 0: of all its ports. Errors: EINVAL, no address of one host.
	 */
	[[nodiscard]] Result<Unread> unread(const Endpoint &peer) const noexcept
	{
		if (peer.address.is_none())
			return system_error(EINVAL);
		return ask_for_unread(peer);
	}

private:
	/* Messages of one send_many()'s system call: what it describes them with is on the stack.
	 */
	static constexpr std::size_t segments = 256;
	using Control = detail::ControlWriter<CMSG_SPACE(sizeof(std::uint32_t)) +
					      CMSG_SPACE(segments * sizeof(std::uint32_t))>;

	explicit Socket(int fd) noexcept : Handle(fd)
	{
	}

	static iovec io(detail::Bytes data) noexcept
	{
		return {const_cast<std::byte *>(data.data()), data.size()};
	}

	Status send_one(detail::Bytes data, const Endpoint *to, const Send &how) noexcept
	{
		iovec part = io(data);
		Control said;
		const Result<std::size_t> sent = queue({&part, 1}, to, how, said);
		return sent ? Status() : Status(sent.error());
	}

	/* One sendmsg(2): how many bytes it took. */
	Result<std::size_t> queue(std::span<iovec> parts, const Endpoint *to, const Send &how,
				  Control &said) noexcept
	{
		sockaddr_storage name;
		msghdr call = {};
		if (to) {
			call.msg_namelen = to->to_sockaddr(name);
			call.msg_name = &name;
		}
		if (how.order) {
			const auto hint = static_cast<std::uint32_t>(*how.order);
			said.add(RDS_CMSG_ORDER, std::as_bytes(std::span(&hint, 1)));
		}
		call.msg_iov = parts.data();
		call.msg_iovlen = parts.size();
		call.msg_control = said.bytes().data();
		call.msg_controllen = said.bytes().size();
		const int flags = (how.dont_wait ? MSG_DONTWAIT : 0) | (how.more ? MSG_MORE : 0);
		return unless_interrupted([&] { return ::sendmsg(fd_, &call, flags); });
	}

	/* The first of them that one system call takes, one at least. */
	static std::span<const detail::Bytes> of_one_call(std::span<const detail::Bytes> messages,
							  bool together) noexcept
	{
		const std::size_t most = std::min(messages.size(), together ? segments : 1);
		std::size_t count = 0, room = max_message;
		while (count < most && messages[count].size() <= room)
			room -= messages[count++].size();
		return messages.first(std::max<std::size_t>(count, 1));
	}

	/* How many of them were queued, one at least. */
	Result<std::size_t> send_together(std::span<const detail::Bytes> some, const Endpoint &to,
					  const Send &how) noexcept
	{
		std::array<iovec, segments> parts;
		std::array<std::uint32_t, segments> lengths;
		Control said;
		std::size_t queued = 0;

		for (std::size_t i = 0; i < some.size(); i++) {
			parts[i] = io(some[i]);
			lengths[i] = static_cast<std::uint32_t>(some[i].size());
		}
		if (some.size() > 1)
			said.add(RDS_CMSG_SEGMENT,
				 std::as_bytes(std::span(lengths).first(some.size())));
		const Result<std::size_t> sent =
			queue(std::span(parts).first(some.size()), &to, how, said);
		if (!sent || some.size() == 1)
			return sent ? Result<std::size_t>(1) : sent;
		for (std::size_t left = *sent; queued < some.size() && some[queued].size() <= left;)
			left -= some[queued++].size();
		return queued;
	}

	/* RDS_RECV_BATCH, where it may be another; modules that do not know it have only 0. */
	Status at_most_a_call(std::size_t most) noexcept
	{
		if (most == most_ && !shared_)
			return {};
		/* It waits for another thread that is just receiving. */
		const int number = static_cast<int>(most);
		const Result<std::size_t> set = unless_interrupted([&] {
			return ::setsockopt(fd_, SOL_RDS, RDS_RECV_BATCH, &number, sizeof(number));
		});
		if (!set && (most || set.error() != system_error(ENOPROTOOPT)))
			return set.error();
		most_ = most;
		return {};
	}

	static msghdr header(sockaddr_storage &name, std::span<std::byte> control) noexcept
	{
		msghdr call = {};
		call.msg_name = &name;
		call.msg_namelen = sizeof(name);
		call.msg_control = control.data();
		call.msg_controllen = control.size();
		return call;
	}

	/* One recvmsg(2); as many bytes as it says, which with MSG_TRUNC may be more than fit. */
	Result<std::size_t> take(msghdr &call, std::span<std::byte> room, const Wait &how) noexcept
	{
		iovec part = {room.data(), room.size()};
		const int flags = (how.dont_wait ? MSG_DONTWAIT : 0) | (how.peek ? MSG_PEEK : 0) |
				  (how.whole_length ? MSG_TRUNC : 0);
		call.msg_iov = &part;
		call.msg_iovlen = 1;
		return unless_interrupted([&] { return ::recvmsg(fd_, &call, flags); });
	}

	/* None where there was no sender: a notice. */
	static std::optional<Message> message_of(const msghdr &call, const sockaddr_storage &name,
						 std::size_t bytes) noexcept
	{
		Message found;
		found.sender = Endpoint::from_sockaddr(name, call.msg_namelen);
		found.length = bytes;
		found.truncated = (call.msg_flags & MSG_TRUNC) != 0;
		if (found.sender.address.is_none())
			return std::nullopt;
		return found;
	}

	[[nodiscard]] Result<Unread> ask_for_unread(const Endpoint &peer) const noexcept
	{
		rds_recv_query query = {};
		sockaddr_storage name;
		std::memcpy(&query.peer, &name, peer.to_sockaddr(name));
		query.want = RDS_RECV_QUERY_NBUFS | RDS_RECV_QUERY_SPAN;
		/* It waits for another thread that is just receiving. */
		const Result<std::size_t> done = unless_interrupted([&] {
			socklen_t size = sizeof(query);
			return ::getsockopt(fd_, SOL_RDS, RDS_RECV_QUERY, &query, &size);
		});
		if (!done)
			return done.error();
		Unread answer = {query.nbufs_allocated, query.bufs_alloc_span};
		if (query.bufs_alloc_span == RDS_RECV_QUERY_UNKNOWN)
			answer.span.reset();
		return answer;
	}

	std::size_t most_ = 0; /* RDS_RECV_BATCH, as this object has set it last */
	bool shared_ = false;  /* another object may have set it since */
	bool asked_ = false, batches_ = false;
};

} // namespace rds

#endif
