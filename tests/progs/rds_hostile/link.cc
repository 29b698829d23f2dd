// SPDX-License-Identifier: GPL-2.0
#include "link.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace rdstest
{

namespace
{

/* A window that no message fits into. */
constexpr int smallBuffer = 2048;
/* More than this is not kept for a kernel that does not read. */
constexpr size_t mostOutbox = 2 << 20;
constexpr uint16_t firstPort = 20000, portsEach = 4096;
constexpr int tries = 16;
/* Of ours (docs/wire.md): number, epoch and port follow. */
constexpr uint8_t extRefused = 13, extResume = 14;
constexpr size_t mostRefused = 16;

bool startCall(int fd, const Stranger &who, unsigned int path, Random &random)
{
	setOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	for (int n = 0; n < tries; n++) {
		const auto port =
			static_cast<uint16_t>(firstPort + kPaths * random.below(portsEach) + path);
		const Address from = who.self.port(port);

		if (bind(fd, from.get(), from.length()) == 0)
			break;
		if (errno != EADDRINUSE)
			fail("bind to " + from.text(), -errno);
	}
	const Address to = who.target.port(tcpPort);

	return connect(fd, to.get(), to.length()) == 0 || errno == EINPROGRESS;
}

/* @bytes big-endian ones of the extension headers, from @at on. */
uint32_t numberAt(const Header &header, size_t at, size_t bytes)
{
	uint32_t value = 0;

	for (size_t n = 0; n < bytes; n++)
		value = value << 8 | header.exthdr[at + n];
	return value;
}

} // namespace

std::map<std::string, uint64_t> Link::account;

void Stranger::reborn(uint32_t newGeneration)
{
	generation = newGeneration;
	next.fill(1);
	acked.fill(0);
	heard.fill(0);
	refused.clear();
}

Link::Link(Fd fd, Stranger &who, unsigned int path) : fd_(std::move(fd)), who_(&who), path_(path)
{
	if (fd_ >= 0)
		setOption(fd_, IPPROTO_TCP, TCP_NODELAY, 1);
}

Link Link::call(Stranger &who, unsigned int path, Random &random)
{
	Fd fd(socket(who.self.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	if (!random.below(4))
		setOption(fd, SOL_SOCKET, SO_RCVBUF, smallBuffer);
	if (!startCall(fd, who, path, random)) {
		++account["not connected"];
		fd.close();
	}
	++account["called"];
	return Link(std::move(fd), who, path);
}

Header Link::message(uint16_t sport, uint16_t dport, uint32_t length)
{
	Header header;

	header.sequence = who_->next[path_]++;
	header.ack = who_->heard[path_];
	header.length = length;
	header.sport = sport;
	header.dport = dport;
	return header;
}

std::string Link::hello() const
{
	Header header;

	header.flags = flagRetransmitted;
	header.ack = who_->heard[path_];
	header.add(extGenNum, who_->generation, 4);
	header.add(extNpaths, who_->npaths, 2);
	header.add(extSportIdx, path_, 1);
	header.add(extCapBits, who_->caps, 4);
	return header.encode();
}

/*
 * Of sixteen frames one is cut at any byte and its rest kept for later or for ever, one comes in
 * pieces, and of thirty two one has some bits changed.
 */
void Link::say(const std::string &frame, Random &random)
{
	std::string bytes = frame;

	lastFrame = frame.substr(0, 4096);
	if (!rest_.empty() && random.below(4))
		bytes = rest_ + bytes;
	rest_.clear();
	if (!random.below(32)) {
		++account["damaged"];
		for (uint64_t n = 1 + random.below(4); n; n--) {
			/* Headers are what is worth damaging. */
			const size_t end =
				random.below(4) ? std::min(bytes.size(), headerSize) : bytes.size();

			bytes[random.below(end)] ^= static_cast<char>(1 << random.below(8));
		}
	}
	if (!random.below(16)) {
		const size_t cut = random.below(2)
					   ? random.below(std::min(bytes.size(), headerSize))
					   : random.below(bytes.size());

		++account["left half"];
		rest_ = bytes.substr(cut);
		bytes.resize(cut);
	}
	if (random.below(16)) {
		put(bytes);
		return;
	}
	++account["in pieces"];
	for (size_t at = 0; at < bytes.size() && at < 4096;) {
		const size_t piece = 1 + random.below(40);

		put(bytes.substr(at, piece));
		at += piece;
	}
	if (bytes.size() > 4096)
		put(bytes.substr(4096));
}

void Link::sendNow(const std::string &bytes)
{
	size_t at = 0;

	while (at < bytes.size()) {
		const ssize_t sent =
			::send(fd_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);

		if (sent <= 0)
			break;
		at += sent;
	}
	account["bytes"] += at;
	if (at < bytes.size() && errno != EAGAIN && errno != ENOTCONN && errno != EINTR) {
		++account[errno == ECONNRESET ? "reset by the host" : "refused by the host"];
		fd_.close();
		return;
	}
	outbox_ += bytes.substr(at);
}

void Link::put(const std::string &bytes)
{
	if (!open() || bytes.empty())
		return;
	if (!outbox_.empty()) {
		if (outbox_.size() < mostOutbox)
			outbox_ += bytes;
		return;
	}
	sendNow(bytes);
}

void Link::flush()
{
	std::string bytes;

	if (!open() || outbox_.empty())
		return;
	bytes.swap(outbox_);
	sendNow(bytes);
}

/* Of ports that the kernel refuses, and sends again for. */
void Link::noteRefusal(const Header &header)
{
	if (header.exthdr[0] == extResume)
		++account["resume heard"];
	if (header.exthdr[0] != extRefused)
		return;
	++account["refused heard"];
	who_->refused.emplace_back(numberAt(header, 13, 2), numberAt(header, 9, 4));
	if (who_->refused.size() > mostRefused)
		who_->refused.erase(who_->refused.begin());
}

/* Acknowledgements and generations that the kernel says. */
void Link::note(const Header &header)
{
	Stranger &who = *who_;

	who.acked[path_] = std::max(who.acked[path_], header.ack);
	if (header.sequence)
		who.heard[path_] = header.sequence;
	if (const auto generation = header.find(extGenNum)) {
		++account["hello heard"];
		who.kernelGeneration = static_cast<uint32_t>(*generation);
		who.kernelPaths = static_cast<uint16_t>(header.find(extNpaths).value_or(1));
	}
}

void Link::answer(const FrameParser::Frame &frame)
{
	const Header &header = frame.header;
	Header reply;

	note(header);
	if (header.flags == flagCongBitmap) {
		++account["map heard"];
		return;
	}
	if (header.sport && header.dport == 0) {
		++account[header.sport == 1 ? "probe heard" : "ping heard"];
		if (!who_->polite)
			return;
		reply = message(0, header.sport, 0);
		if (header.sport == 1)
			reply.add(extNpaths, who_->npaths, 2);
		put(reply.encode());
		return;
	}
	if (header.sport == 0 && header.dport)
		++account["pong heard"];
	else if (header.dport)
		++account["message heard"];
	else
		++account["ack heard"];
	if (!header.sport && !header.dport)
		noteRefusal(header);
	if (who_->polite && header.flags & flagAckRequired) {
		reply.flags = flagRetransmitted;
		reply.ack = header.sequence;
		put(reply.encode());
	}
}

void Link::hear(short events)
{
	std::string room(65536, '\0');

	if (!open() || deaf)
		return;
	if (!(events & (POLLIN | POLLHUP | POLLERR)))
		return;
	const ssize_t got = read(fd_, room.data(), room.size());
	if (got > 0) {
		room.resize(got);
		parser_.feed(room);
		while (const auto frame = parser_.next())
			answer(*frame);
	} else if (got == 0 || errno != EAGAIN) {
		++account[got == 0 ? "ended by the host" : "reset by the host"];
		fd_.close();
	}
}

void Link::end(bool reset)
{
	if (!open())
		return;
	if (reset)
		resetOnClose(fd_);
	++account[reset ? "reset" : "closed"];
	fd_.close();
}

void Link::endWriting()
{
	if (open())
		shutdown(fd_, SHUT_WR);
}

} // namespace rdstest
