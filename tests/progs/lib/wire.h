/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The RDS wire format as a test peer needs it: written apart from the module's own so that a
 * mistake there does not cancel out here. Every field can be set to nonsense.
 *
 * offset 0 be64 sequence, 8 be64 ack, 16 be32 length, 20 be16 sport, 22 be16 dport, 24 u8 flags,
 * 25 u8 credit, 26 u8 padding[4], 30 u16 checksum, 32 u8 extension headers[16]
 */
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdstest
{

constexpr size_t headerSize = 48;
constexpr size_t exthdrSpace = 16;
constexpr uint16_t tcpPort = 16385;
constexpr size_t congestionMapSize = 8192;

enum HeaderFlag : uint8_t {
	flagCongBitmap = 0x01,
	flagAckRequired = 0x02,
	flagRetransmitted = 0x04,
	flagHeartbeatPing = 0x08,
	flagHeartbeatPong = 0x10,
	flagExtraExthdr = 0x20,
};

enum ExthdrType : uint8_t {
	extNone = 0,
	extVersion = 1,
	extRdma = 2,
	extRdmaDest = 3,
	extRdmaBytes = 4,
	extNpaths = 5,
	extGenNum = 6,
	extCapBits = 7,
	extSportIdx = 8,
};

struct Header {
	uint64_t sequence = 0;
	uint64_t ack = 0;
	uint32_t length = 0;
	uint16_t sport = 0;
	uint16_t dport = 0;
	uint8_t flags = 0;
	uint8_t credit = 0;
	uint16_t checksum = 0;
	std::array<uint8_t, exthdrSpace> exthdr{};

	/* Appends an extension header with this big-endian payload; throws when it is full. */
	Header &add(ExthdrType type, uint64_t value, size_t bytes);

	std::string encode() const;
	static Header decode(const void *data);

	/* The extension headers that can be told, with their values. */
	std::vector<std::pair<uint8_t, uint64_t>> exthdrs() const;
	std::optional<uint64_t> find(ExthdrType type) const;

	/* "seq 1 len 0 1->0 flags RETRANSMITTED NPATHS=8" */
	std::string text() const;
};

/* The Internet checksum over an encoded header whose checksum field is zero. */
uint16_t headerChecksum(const std::string &encoded);

const char *exthdrName(uint8_t type);

/* Cuts a TCP stream into messages. */
class FrameParser
{
public:
	struct Frame {
		Header header;
		std::string payload;
	};

	void feed(const std::string &bytes)
	{
		pending_ += bytes;
	}
	std::optional<Frame> next();

	/* Bytes that are not a whole message yet. */
	size_t pending() const
	{
		return pending_.size();
	}

private:
	std::string pending_;
};

} // namespace rdstest
