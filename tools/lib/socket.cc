// SPDX-License-Identifier: GPL-2.0
#include "socket.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <linux/sockios.h>
#include <linux/rds.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "error.h"

namespace rdstools
{

namespace
{

template <typename Query>
Address name_of(int fd, Query query)
{
	sockaddr_storage any = {};
	socklen_t size = sizeof(any);

	if (query(fd, reinterpret_cast<sockaddr *>(&any), &size) != 0)
		return Address();
	return Address::from_sockaddr(reinterpret_cast<sockaddr *>(&any), size);
}

/* Room for as many notices as Received holds; everything else is smaller. */
constexpr std::size_t control_room =
	std::tuple_size_v<decltype(Received::notices)> * CMSG_SPACE(sizeof(rds_rdma_notify));
/* Of what goes with a message the largest. */
constexpr std::size_t send_control_room = CMSG_SPACE(sizeof(rds_atomic_args));

template <typename Payload>
bool take_payload(const cmsghdr *c, Payload &payload)
{
	if (c->cmsg_len < CMSG_LEN(sizeof(payload)))
		return false;
	std::memcpy(&payload, CMSG_DATA(c), sizeof(payload));
	return true;
}

void take_notice(const cmsghdr *c, Received &got)
{
	rds_rdma_notify notify;

	if (got.notice_count < got.notices.size() && take_payload(c, notify))
		got.notices[got.notice_count++] = {notify.user_token, notify.status};
}

/* The one with the lengths of a batch, if that is among them. */
const cmsghdr *read_control(msghdr &msg, Received &got)
{
	const cmsghdr *lengths = nullptr;

	for (cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_RDS)
			continue;
		if (c->cmsg_type == RDS_CMSG_CONG_UPDATE)
			got.congestion_update = take_payload(c, got.congestion_mask);
		else if (c->cmsg_type == RDS_CMSG_RDMA_STATUS)
			take_notice(c, got);
		else if (c->cmsg_type == RDS_CMSG_RDMA_DEST)
			take_payload(c, got.cookie);
		else if (c->cmsg_type == RDS_CMSG_RECV_BATCH)
			lengths = c;
	}
	return lengths;
}

/* Behind those that are there already. */
void attach(msghdr &msg, const SendControl &with, char *room)
{
	if (with.data.empty())
		return;

	auto *c = reinterpret_cast<cmsghdr *>(room + msg.msg_controllen);

	msg.msg_control = room;
	msg.msg_controllen += CMSG_SPACE(with.data.size());
	c->cmsg_level = SOL_RDS;
	c->cmsg_type = with.type;
	c->cmsg_len = CMSG_LEN(with.data.size());
	std::memcpy(CMSG_DATA(c), with.data.data(), with.data.size());
}

} // namespace

Address local_address(int fd)
{
	return name_of(fd, ::getsockname);
}

Address peer_address(int fd)
{
	return name_of(fd, ::getpeername);
}

RdsSocket::RdsSocket()
	: fd_(::socket(AF_RDS, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
	  control_(control_room)
{
	if (!fd_)
		fail(Step::socket, errno);
}

std::uint64_t RdsSocket::inode() const
{
	struct stat st = {};

	return fstat(fd(), &st) == 0 ? st.st_ino : 0;
}

Address RdsSocket::bind(const Address &local)
{
	if (::bind(fd(), local.sa(), local.size()) != 0)
		fail(Step::bind, errno, local.port() ? local.text() : local.host());
	return local_address(fd());
}

void RdsSocket::set_tos(std::uint8_t tos)
{
	if (tos != 0 && ::ioctl(fd(), SIOCRDSSETTOS, &tos) != 0)
		fail(Step::tos, errno, local_address(fd()).host());
}

int RdsSocket::transport() const
{
	int value = RDS_TRANS_NONE;
	socklen_t size = sizeof(value);

	if (::getsockopt(fd(), SOL_RDS, SO_RDS_TRANSPORT, &value, &size) < 0)
		return RDS_TRANS_NONE;
	return value;
}

std::size_t RdsSocket::set_buffer(int force, int plain, std::size_t bytes)
{
	int want = static_cast<int>(std::min<std::size_t>(bytes, INT_MAX / 4));
	int have = 0;
	socklen_t size = sizeof(have);

	/* The kernel doubles the value for its own overhead; RDS counts payload against half. */
	if (::setsockopt(fd(), SOL_SOCKET, force, &want, sizeof(want)) != 0 &&
	    ::setsockopt(fd(), SOL_SOCKET, plain, &want, sizeof(want)) != 0)
		fail(Step::option, errno, plain == SO_SNDBUF ? "SO_SNDBUF" : "SO_RCVBUF");
	if (::getsockopt(fd(), SOL_SOCKET, plain, &have, &size) != 0)
		return 0;
	return static_cast<std::size_t>(have) / 2;
}

std::size_t RdsSocket::set_send_buffer(std::size_t bytes)
{
	return set_buffer(SO_SNDBUFFORCE, SO_SNDBUF, bytes);
}

std::size_t RdsSocket::set_receive_buffer(std::size_t bytes)
{
	return set_buffer(SO_RCVBUFFORCE, SO_RCVBUF, bytes);
}

void RdsSocket::set_congestion_monitor(bool on)
{
	int value = on;

	if (::setsockopt(fd(), SOL_RDS, RDS_CONG_MONITOR, &value, sizeof(value)) != 0)
		fail(Step::option, errno, "RDS_CONG_MONITOR");
}

void RdsSocket::set_recverr(bool on)
{
	int value = on;

	if (::setsockopt(fd(), SOL_RDS, RDS_RECVERR, &value, sizeof(value)) != 0)
		fail(Step::option, errno, "RDS_RECVERR");
}

/* Not by RDS_GET_MR: mainline's has no way to do that without on-demand paging. */
void RdsSocket::need_rdma()
{
	/* Cookie 0: a flush, where there is something to be flushed. */
	int err = free_mr(0);

	if (err)
		fail(Step::rdma, err == EINVAL ? EOPNOTSUPP : err, local_address(fd()).host());
}

int RdsSocket::free_mr(std::uint64_t cookie)
{
	rds_free_mr_args args = {cookie, 0};

	return ::setsockopt(fd(), SOL_RDS, RDS_FREE_MR, &args, sizeof(args)) == 0 ? 0 : errno;
}

int RdsSocket::send(std::span<const std::byte> data, const Address &dest, const SendControl &with)
{
	alignas(cmsghdr) char control[send_control_room] = {};
	msghdr msg = {};
	iovec vec = {const_cast<std::byte *>(data.data()), data.size()};

	msg.msg_name = const_cast<sockaddr *>(dest.sa());
	msg.msg_namelen = dest.size();
	msg.msg_iov = &vec;
	msg.msg_iovlen = 1;
	attach(msg, with, control);
	for (;;) {
		if (::sendmsg(fd(), &msg, MSG_DONTWAIT) >= 0)
			return 0;
		if (errno != EINTR)
			return errno;
	}
}

RdsSocket::Queued RdsSocket::send_many(std::span<const std::byte> data, std::size_t each,
				       const Address &dest, const SendControl &with)
{
	alignas(cmsghdr) char control[send_control_room + CMSG_SPACE(sizeof(std::uint32_t))] = {};
	const auto length = static_cast<std::uint32_t>(each);
	msghdr msg = {};
	iovec vec = {const_cast<std::byte *>(data.data()), data.size()};
	ssize_t sent;

	msg.msg_name = const_cast<sockaddr *>(dest.sa());
	msg.msg_namelen = dest.size();
	msg.msg_iov = &vec;
	msg.msg_iovlen = 1;
	attach(msg, {RDS_CMSG_SEGMENT, std::as_bytes(std::span(&length, 1))}, control);
	attach(msg, with, control);
	do {
		sent = ::sendmsg(fd(), &msg, MSG_DONTWAIT);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return {0, errno};
	/* The errno of the next is the next call's to tell. */
	return {static_cast<std::size_t>(sent) / each, 0};
}

void RdsSocket::set_recv_batch(unsigned most)
{
	int value = static_cast<int>(most);

	if (::setsockopt(fd(), SOL_RDS, RDS_RECV_BATCH, &value, sizeof(value)) != 0)
		fail(Step::option, errno, "RDS_RECV_BATCH");
	control_.resize(control_room + CMSG_SPACE(most * sizeof(std::uint32_t)));
}

Received RdsSocket::next_of_batch(std::span<std::byte> buffer)
{
	Received got = batch_;

	got.size = batch_lengths_[batch_next_++];
	got.data = buffer.subspan(batch_at_, got.size);
	batch_at_ += got.size;
	batch_.cookie = 0; /* the first message's */
	return got;
}

void RdsSocket::begin_batch(const cmsghdr *lengths, const Received &got)
{
	batch_ = got;
	batch_lengths_.resize((lengths->cmsg_len - CMSG_LEN(0)) / sizeof(std::uint32_t));
	std::memcpy(batch_lengths_.data(), CMSG_DATA(lengths),
		    batch_lengths_.size() * sizeof(std::uint32_t));
	batch_next_ = batch_at_ = 0;
}

Received RdsSocket::receive(std::span<std::byte> buffer)
{
	if (batch_next_ < batch_lengths_.size())
		return next_of_batch(buffer);

	sockaddr_storage name = {};
	iovec vec = {buffer.data(), buffer.size()};
	msghdr msg = {};
	Received got;
	ssize_t size;

	do {
		msg.msg_name = &name;
		msg.msg_namelen = sizeof(name);
		msg.msg_iov = &vec;
		msg.msg_iovlen = 1;
		msg.msg_control = control_.data();
		msg.msg_controllen = control_.size();
		size = ::recvmsg(fd(), &msg, MSG_DONTWAIT);
	} while (size < 0 && errno == EINTR);
	if (size < 0) {
		got.error = errno;
		return got;
	}
	got.size = static_cast<std::size_t>(size);
	got.data = buffer.first(got.size);
	got.truncated = msg.msg_flags & MSG_TRUNC;
	got.from = Address::from_sockaddr(reinterpret_cast<sockaddr *>(&name), msg.msg_namelen);
	const cmsghdr *lengths = read_control(msg, got);

	if (!lengths || got.truncated)
		return got;
	begin_batch(lengths, got);
	return next_of_batch(buffer);
}

void RdsSocket::reset_connections(const Address &local, const Address &remote, std::uint8_t tos)
{
	rds6_reset which = {};

	which.tos = tos;
	which.src = local.bytes();
	if (remote.specified())
		which.dst = remote.bytes();
	if (::setsockopt(fd(), SOL_RDS, RDS6_CONN_RESET, &which, sizeof(which)) == 0)
		return;
	if (errno == ENOENT)
		throw Error("there is no connection from " + local.host() +
			    (remote.specified() ? " to " + remote.host() : "") +
			    " of type of service " + std::to_string(tos));
	if (errno == EACCES)
		throw Error("to end connections one needs CAP_NET_ADMIN");
	fail(Step::option, errno, "RDS6_CONN_RESET");
}

void RdsSocket::cancel_sent_to(const Address &dest)
{
	if (::setsockopt(fd(), SOL_RDS, RDS_CANCEL_SENT_TO, dest.sa(), dest.size()) != 0)
		fail(Step::option, errno, "RDS_CANCEL_SENT_TO");
}

} // namespace rdstools
