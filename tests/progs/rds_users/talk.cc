// SPDX-License-Identifier: GPL-2.0
/*
 * Messages that say what they are: a head with the number that all bytes after it follow from. The
 * receiver, whoever that is, knows each byte of what he gets, and that it is no other memory. All
 * other messages are of one and the same byte.
 */
#include "user.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <linux/rds.h>

#include <algorithm>
#include <cstring>

namespace rdstest
{

namespace
{

struct Head {
	uint64_t magic, seed;
};
constexpr uint64_t magic = 0x217265737520746eull;
constexpr char untouched = 0x33;
constexpr size_t mostVectors = 4, mostRoom = 70000;

} // namespace

/* A text that ends where memory does. */
UserProcess::Text UserProcess::write()
{
	constexpr size_t edges[] = {0, 1, sizeof(Head), 4095, 4096, 65536, 200000};
	const size_t length = often(8) ? below(3000) : oneOf(edges);
	char *at = static_cast<char *>(out_.room(length));
	const Head head = {magic, uint64_t{user_.id} << 32 | ++serial_};

	if (length < sizeof(head)) {
		memset(at, plainByte, length);
	} else {
		memcpy(at, &head, sizeof(head));
		fillPayload(at + sizeof(head), length - sizeof(head), head.seed);
	}
	return {at, length};
}

/* The text, or room for one, in up to four pieces. */
size_t UserProcess::slice(const Text &text, iovec *to)
{
	size_t count = 0, at = 0;

	for (; count + 1 < 1 + below(mostVectors) && at < text.length; count++) {
		const size_t piece = 1 + below(text.length - at);

		to[count] = {text.at + at, piece};
		at += piece;
	}
	if (at < text.length || !count)
		to[count++] = {text.at + at, text.length - at};
	return count;
}

/* One piece, now and then, reaches beyond its memory, or is not there: nothing may be sent then. */
bool UserProcess::damage(iovec *to, size_t count)
{
	iovec &piece = to[below(count)];

	if (often(9) || !piece.iov_len)
		return false;
	if (often(5)) {
		to[count - 1].iov_len += 1 + below(9000);
		return true;
	}
	piece.iov_base = below(2) ? out_.beyond() : out_.forbidden();
	return true;
}

void UserProcess::addControl(msghdr &m, bool lent)
{
	size_t bytes = 0;
	char room[512];

	if (lent) {
		auto *c = reinterpret_cast<cmsghdr *>(room);
		const auto cookie = static_cast<uint32_t>(++serial_);

		memset(room, 0, CMSG_SPACE(sizeof(cookie)));
		*c = {CMSG_LEN(sizeof(cookie)), SOL_RDS, RDS_CMSG_ZCOPY_COOKIE};
		memcpy(CMSG_DATA(c), &cookie, sizeof(cookie));
		bytes = CMSG_SPACE(sizeof(cookie));
	} else if (!often(8)) {
		bytes = controlMessages(room, sizeof(room), true);
	}
	if (bytes)
		m.msg_control = memcpy(controls_.room(bytes), room, bytes);
	m.msg_controllen = bytes;
}

/* Mostly somebody who can be reached: here, or at the other end of the cable. */
void UserProcess::nameSomebody(const Slot &slot, msghdr &m)
{
	const bool cabled = slot.bound && !below(2);
	Address to = slot.at;

	m.msg_name = address(m.msg_namelen, often(5));
	if (!slot.bound || !often(7))
		return;
	if (cabled)
		to = otherEnd(to).value_or(to);
	to = to.port(static_cast<uint16_t>(firstPort + below(ports)));
	m.msg_namelen = to.length();
	m.msg_name = memcpy(names_.room(to.length()), to.get(), to.length());
}

/* True if the kernel must not take it. */
bool UserProcess::fill(const Slot &slot, msghdr &m, iovec *to, bool lent)
{
	bool bad = false;

	memset(&m, 0, sizeof(m));
	if (lent) {
		to[0] = {lent_.data() + below(100), 1 + below(lent_.size() - 100)};
		m.msg_iovlen = 1;
	} else {
		m.msg_iovlen = slice(write(), to);
		bad = damage(to, m.msg_iovlen);
	}
	m.msg_iov = to;
	addControl(m, lent);
	if (often(9))
		nameSomebody(slot, m);
	return bad;
}

long UserProcess::send(Slot &slot)
{
	iovec pieces[mostVectors];
	msghdr m;
	const bool bad = fill(slot, m, pieces, false);
	const long result =
		syscall(SYS_sendmsg, int{slot.fd}, &m, often(9) ? MSG_DONTWAIT : flags(true));

	if (bad && result >= 0)
		wrong = "sent what it could not read";
	return result;
}

long UserProcess::sendLent(Slot &slot)
{
	iovec piece;
	msghdr m;

	/* Once: what fails on purpose is to be the send. */
	if (!slot.lends)
		slot.lends = rdstest::setOption(slot.fd, SOL_SOCKET, SO_ZEROCOPY, 1) == 0;
	fill(slot, m, &piece, true);
	return syscall(SYS_sendmsg, int{slot.fd}, &m, MSG_DONTWAIT | MSG_ZEROCOPY);
}

long UserProcess::sendSome(Slot &slot)
{
	iovec pieces[3][mostVectors];
	mmsghdr m[3];
	const Text text = write();

	/* There is room for one text. */
	for (size_t i = 0; i < std::size(m); i++) {
		memset(&m[i], 0, sizeof(m[i]));
		m[i].msg_hdr.msg_iov = pieces[i];
		m[i].msg_hdr.msg_iovlen = slice(text, pieces[i]);
		nameSomebody(slot, m[i].msg_hdr);
	}
	return syscall(SYS_sendmmsg, int{slot.fd}, m, 1 + below(3), MSG_DONTWAIT);
}

/* ---- what comes ---- */

void UserProcess::judgeText(const char *at, size_t length)
{
	const Head wanted = {magic, 0};
	Head head{};

	if (std::all_of(at, at + length, [](char byte) { return byte == plainByte; }))
		return;
	memcpy(&head, at, std::min(length, sizeof(head)));
	if (memcmp(&head, &wanted, std::min(length, sizeof(magic))) != 0)
		wrong = "a message of nobody";
	else if (length > sizeof(head) &&
		 !isPayload(at + sizeof(head), length - sizeof(head), head.seed))
		wrong = "a message's bytes are not its own";
}

void UserProcess::judgeControl(const msghdr &m)
{
	look("control messages", m.msg_control, m.msg_controllen);
	for (const cmsghdr *c = CMSG_FIRSTHDR(&m); c;
	     c = CMSG_NXTHDR(const_cast<msghdr *>(&m), const_cast<cmsghdr *>(c))) {
		/* Members of the latency end at 4, and go on at 8. */
		const auto *data = reinterpret_cast<const unsigned char *>(CMSG_DATA(c));

		if (c->cmsg_level == SOL_RDS && c->cmsg_type == RDS_CMSG_RXPATH_LATENCY &&
		    c->cmsg_len == CMSG_LEN(sizeof(rds_cmsg_rx_trace)) &&
		    (data[4] | data[5] | data[6] | data[7]))
			wrong = "old memory between members of rds_cmsg_rx_trace";
	}
}

/* A socket with RDS_RECV_BATCH tells how long each of its messages is. */
void UserProcess::judgeTexts(const msghdr &m, const char *at, size_t got)
{
	std::vector<uint32_t> lengths;

	for (const cmsghdr *c = CMSG_FIRSTHDR(&m); c;
	     c = CMSG_NXTHDR(const_cast<msghdr *>(&m), const_cast<cmsghdr *>(c))) {
		if (c->cmsg_level != SOL_RDS || c->cmsg_type != RDS_CMSG_RECV_BATCH)
			continue;
		lengths.resize((c->cmsg_len - CMSG_LEN(0)) / sizeof(lengths[0]));
		memcpy(lengths.data(), CMSG_DATA(c), lengths.size() * sizeof(lengths[0]));
	}
	if (lengths.size() < 2) {
		judgeText(at, got);
		return;
	}
	for (uint32_t length : lengths) {
		if (length > got) {
			wrong = "messages that are longer than what was read";
			return;
		}
		judgeText(at, length);
		at += length;
		got -= length;
	}
	if (got)
		wrong = "bytes behind the last message";
}

void UserProcess::judge(const msghdr &m, size_t room, long result, int flags)
{
	const auto *at = static_cast<const char *>(m.msg_iov[0].iov_base);
	const size_t got = std::min<size_t>(result, room);

	if (static_cast<size_t>(result) > room && !(flags & MSG_TRUNC))
		wrong = "more received than there was room for";
	if (std::any_of(at + got, at + room, [](char byte) { return byte != untouched; }))
		wrong = "the kernel wrote beyond a message";
	if (!(m.msg_flags & MSG_ERRQUEUE))
		judgeTexts(m, at, got);
	judgeControl(m);
	look("a sender's name", m.msg_name, std::min<size_t>(m.msg_namelen, 128));
}

long UserProcess::receive(Slot &slot)
{
	const size_t room = often(7) ? 4000 : often(5) ? below(100) : mostRoom;
	const Text text = {static_cast<char *>(in_.room(room)), room};
	const int how = often(8) ? MSG_DONTWAIT : flags(false);
	iovec pieces[mostVectors];
	msghdr m{};

	memset(text.at, untouched, room);
	m.msg_iov = pieces;
	m.msg_iovlen = slice(text, pieces);
	m.msg_namelen = often(8) ? 128 : static_cast<socklen_t>(below(40));
	m.msg_name = names_.room(128);
	m.msg_controllen = often(8) ? 512 : below(100);
	m.msg_control = controls_.room(m.msg_controllen);

	const bool bad = damage(pieces, m.msg_iovlen);
	const long result = syscall(SYS_recvmsg, int{slot.fd}, &m, how);

	if (result >= 0 && !bad)
		judge(m, room, result, how);
	return result;
}

} // namespace rdstest
