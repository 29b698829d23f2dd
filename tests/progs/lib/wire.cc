// SPDX-License-Identifier: GPL-2.0
#include "wire.h"

#include <cstring>
#include <stdexcept>

namespace rdstest
{

namespace
{

void put(std::string &out, uint64_t value, size_t bytes)
{
	while (bytes--)
		out += static_cast<char>(value >> (8 * bytes));
}

uint64_t get(const uint8_t *in, size_t bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *in++;
	return value;
}

/* Length of the payload of an extension header; nothing when the type is unknown. */
std::optional<size_t> exthdrLength(uint8_t type)
{
	switch (type) {
	case extVersion:
	case extRdma:
	case extGenNum:
	case extCapBits:
		return 4;
	case extRdmaDest:
	case extRdmaBytes:
		return 8;
	case extNpaths:
		return 2;
	case extSportIdx:
		return 1;
	}
	return std::nullopt;
}

std::string flagNames(uint8_t flags)
{
	static const char *const names[] = {"CONG_BITMAP", "ACK_REQUIRED", "RETRANSMITTED",
					    "HB_PING",	   "HB_PONG",	   "EXTRA_EXTHDR",
					    "0x40",	   "0x80"};
	std::string text;

	for (int bit = 0; bit < 8; ++bit) {
		if (flags >> bit & 1)
			text += (text.empty() ? "" : "|") + std::string(names[bit]);
	}
	return text;
}

} // namespace

const char *exthdrName(uint8_t type)
{
	static const char *const names[] = {"NONE",	 "VERSION",    "RDMA",
					    "RDMA_DEST", "RDMA_BYTES", "NPATHS",
					    "GEN_NUM",	 "CAP_BITS",   "SPORT_IDX"};

	return type < std::size(names) ? names[type] : "UNKNOWN";
}

Header &Header::add(ExthdrType type, uint64_t value, size_t bytes)
{
	size_t at = 0;

	while (at < exthdrSpace && exthdr[at])
		at += 1 + exthdrLength(exthdr[at]).value_or(0);
	if (at + 1 + bytes > exthdrSpace)
		throw std::length_error("no room for an extension header");
	exthdr[at++] = type;
	while (bytes--)
		exthdr[at++] = static_cast<uint8_t>(value >> (8 * bytes));
	return *this;
}

std::string Header::encode() const
{
	std::string out;

	put(out, sequence, 8);
	put(out, ack, 8);
	put(out, length, 4);
	put(out, sport, 2);
	put(out, dport, 2);
	put(out, flags, 1);
	put(out, credit, 1);
	put(out, 0, 4);
	put(out, checksum, 2);
	out.append(reinterpret_cast<const char *>(exthdr.data()), exthdrSpace);
	return out;
}

Header Header::decode(const void *data)
{
	const uint8_t *in = static_cast<const uint8_t *>(data);
	Header header;

	header.sequence = get(in, 8);
	header.ack = get(in + 8, 8);
	header.length = static_cast<uint32_t>(get(in + 16, 4));
	header.sport = static_cast<uint16_t>(get(in + 20, 2));
	header.dport = static_cast<uint16_t>(get(in + 22, 2));
	header.flags = in[24];
	header.credit = in[25];
	header.checksum = static_cast<uint16_t>(get(in + 30, 2));
	std::memcpy(header.exthdr.data(), in + 32, exthdrSpace);
	return header;
}

std::vector<std::pair<uint8_t, uint64_t>> Header::exthdrs() const
{
	std::vector<std::pair<uint8_t, uint64_t>> found;
	size_t at = 0;

	while (at < exthdrSpace && exthdr[at] != extNone) {
		const uint8_t type = exthdr[at++];
		const std::optional<size_t> length = exthdrLength(type);

		if (!length || at + *length > exthdrSpace) {
			found.emplace_back(type, 0);
			break;
		}
		found.emplace_back(type, get(exthdr.data() + at, *length));
		at += *length;
	}
	return found;
}

std::optional<uint64_t> Header::find(ExthdrType type) const
{
	for (const auto &[found, value] : exthdrs()) {
		if (found == type)
			return value;
	}
	return std::nullopt;
}

std::string Header::text() const
{
	std::string text = "seq " + std::to_string(sequence) + " len " + std::to_string(length) +
			   " " + std::to_string(sport) + "->" + std::to_string(dport);

	if (ack)
		text += " ack " + std::to_string(ack);
	if (flags)
		text += " flags " + flagNames(flags);
	for (const auto &[type, value] : exthdrs())
		text += std::string(" ") + exthdrName(type) + "=" + std::to_string(value);
	return text;
}

uint16_t headerChecksum(const std::string &encoded)
{
	uint32_t sum = 0;

	for (size_t at = 0; at + 1 < encoded.size(); at += 2)
		sum += static_cast<uint32_t>(
			get(reinterpret_cast<const uint8_t *>(&encoded[at]), 2));
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return static_cast<uint16_t>(~sum);
}

std::optional<FrameParser::Frame> FrameParser::next()
{
	if (pending_.size() < headerSize)
		return std::nullopt;
	const Header header = Header::decode(pending_.data());
	if (pending_.size() - headerSize < header.length)
		return std::nullopt;
	Frame frame = {header, pending_.substr(headerSize, header.length)};
	pending_.erase(0, headerSize + header.length);
	return frame;
}

} // namespace rdstest
