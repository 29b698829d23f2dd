// SPDX-License-Identifier: GPL-2.0
#include "peer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>

namespace rdstest
{

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

Peer::Peer(const PeerOptions &options) : options_(options)
{
	if (options.listen)
		listener_ = listenTcp(options.listen->port(tcpPort));
}

/* Connects and waits until the other side hangs up: it will call back instead. */
void Peer::knock()
{
	const Fd fd = connectTcp(options_.knock->port(tcpPort), options_.wait,
				 options_.source ? &*options_.source : nullptr);

	waitFor(fd, POLLIN | POLLHUP, milliseconds(1000));
}

void Peer::open()
{
	close();
	parser_ = FrameParser();
	if (options_.knock)
		knock();
	connection_ = options_.connect ? connectTcp(options_.connect->port(tcpPort), options_.wait,
						    options_.source ? &*options_.source : nullptr)
				       : acceptTcp(listener_, options_.wait);
	state_ = "open";
}

void Peer::close(bool reset)
{
	if (reset && connection_ >= 0)
		resetOnClose(connection_);
	connection_.close();
	state_ = "closed";
}

void Peer::send(const FrameSpec &frame)
{
	sendBytes(frame.build(options_.frames));
	++options_.frames.sequence;
}

void Peer::sendBytes(const std::string &bytes)
{
	size_t at = 0;
	const auto end = Clock::now() + options_.wait;

	while (at < bytes.size() && state_ == "open" && Clock::now() < end) {
		const ssize_t sent =
			::send(connection_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);

		if (sent > 0)
			at += sent;
		else if (errno == EAGAIN)
			waitFor(connection_, POLLOUT, milliseconds(100));
		else
			state_ = errno == ECONNRESET || errno == EPIPE ? "reset" : "closed";
	}
}

/* Reads what is there; false when nothing came or nothing can come any more. */
bool Peer::readSome(milliseconds patience)
{
	std::string room(65536, '\0');

	if (state_ != "open" || !waitFor(connection_, POLLIN, patience))
		return false;
	const ssize_t got = read(connection_, room.data(), room.size());
	if (got > 0) {
		room.resize(got);
		parser_.feed(room);
		return true;
	}
	if (got == 0)
		state_ = "closed";
	else if (errno != EAGAIN)
		state_ = "reset";
	return false;
}

void Peer::handle(const FrameParser::Frame &frame)
{
	const Header &header = frame.header;

	onFrame(frame);
	if (options_.npaths && header.dport == 0 && header.sport == 1)
		sendBytes(pongFrame(header, options_.npaths, nextSequence()));
}

bool Peer::readUntil(const std::function<bool(const FrameParser::Frame &)> &wanted,
		     milliseconds patience)
{
	const auto end = Clock::now() + patience;

	for (;;) {
		while (const auto frame = parser_.next()) {
			handle(*frame);
			if (wanted(*frame))
				return true;
		}
		const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
		if (left.count() <= 0 || (!readSome(left) && state_ != "open"))
			return false;
	}
}

std::string Peer::ping(std::chrono::milliseconds least)
{
	const uint16_t port = pingPort_++;

	sendBytes(pingFrame(port, nextSequence()));
	const bool answered = readUntil(
		[port](const FrameParser::Frame &frame) {
			return frame.header.sport == 0 && frame.header.dport == port;
		},
		std::max(options_.wait, least));
	return answered ? "pong" : state_ == "open" ? "silent" : state_;
}

nlohmann::json describeFrame(const FrameParser::Frame &frame)
{
	const Header &header = frame.header;
	nlohmann::json json = {{"seq", header.sequence},  {"ack", header.ack},
			       {"len", header.length},	  {"sport", header.sport},
			       {"dport", header.dport},	  {"flags", header.flags},
			       {"credit", header.credit}, {"csum", header.checksum},
			       {"text", header.text()},	  {"exthdr", nlohmann::json::object()}};

	for (const auto &[type, value] : header.exthdrs())
		json["exthdr"][exthdrName(type)] = value;
	if (header.flags == flagCongBitmap) {
		size_t ports = 0;

		for (const char byte : frame.payload)
			ports += std::bitset<8>(static_cast<unsigned char>(byte)).count();
		json["congested_ports"] = ports;
	} else {
		/* As text when it is some, so that JSON can hold it. */
		const std::string start = frame.payload.substr(0, 32);
		const auto plain = [](unsigned char c) { return c >= ' ' && c < 127; };

		if (std::all_of(start.begin(), start.end(), plain))
			json["payload"] = start;
	}
	return json;
}

} // namespace rdstest
