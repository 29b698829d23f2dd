// SPDX-License-Identifier: GPL-2.0
#include "frames.h"

#include "../lib/payload.h"

#include <stdexcept>

namespace rdstest
{

namespace
{

using Context = FrameContext;

constexpr uint16_t sourcePort = 777;
constexpr uint32_t maxMessage = 1 << 20;

Header message(const Context &context, uint32_t length)
{
	Header header;

	header.sequence = context.sequence;
	header.length = length;
	header.sport = sourcePort;
	header.dport = context.port;
	return header;
}

/* A message to the port, changed by the caller before it is encoded. */
std::string data(
	const Context &context, const std::string &payload,
	const std::function<void(Header &)> &change = [](Header &) {})
{
	Header header = message(context, static_cast<uint32_t>(payload.size()));

	change(header);
	return header.encode() + payload;
}

std::string probe(const Context &context, uint16_t sport,
		  const std::function<void(Header &)> &change)
{
	return data(context, "", [&](Header &header) {
		header.sport = sport;
		header.dport = 0;
		change(header);
	});
}

std::string map(uint8_t flags, size_t length, char fill)
{
	Header header;

	header.flags = flags;
	header.length = static_cast<uint32_t>(length);
	return header.encode() + std::string(length, fill);
}

/* A frame that our own hosts send besides messages: ports 0, no number, the retransmit flag. */
Header control(uint64_t ack)
{
	Header header;

	header.flags = flagRetransmitted;
	header.ack = ack;
	return header;
}

std::string hello()
{
	Header header = control(0);

	header.add(extGenNum, 0x12345678, 4);
	header.add(extCapBits, 2, 4);
	return header.encode();
}

/* A message whose extension headers are these raw bytes. */
std::string rawExthdr(const Context &context, std::initializer_list<uint8_t> bytes)
{
	return data(context, "odd exthdr", [&](Header &header) {
		std::copy(bytes.begin(), bytes.end(), header.exthdr.begin());
	});
}

std::vector<FrameSpec> pings()
{
	return {
		{"ping", "from port 7", [](const Context &c) { return pingFrame(7, c.sequence); }},
		{"ping_payload", "a ping that carries data",
		 [](const Context &c) {
			 return data(c, "data in a ping", [](Header &h) { h.dport = 0; });
		 }},
		{"probe8", "offers eight paths",
		 [](const Context &c) {
			 return probe(c, 1, [](Header &h) { h.add(extNpaths, 8, 2); });
		 }},
		{"probe8_gen", "as newer kernels do: paths, generation, sport index",
		 [](const Context &c) {
			 return probe(c, 1, [](Header &h) {
				 h.add(extNpaths, 8, 2)
					 .add(extGenNum, 0x12345678, 4)
					 .add(extSportIdx, 0, 1);
			 });
		 }},
		{"probe0", "offers no path",
		 [](const Context &c) {
			 return probe(c, 1, [](Header &h) { h.add(extNpaths, 0, 2); });
		 }},
		{"probe3", "offers three paths",
		 [](const Context &c) {
			 return probe(c, 1, [](Header &h) { h.add(extNpaths, 3, 2); });
		 }},
		{"probe65535", "offers very many paths",
		 [](const Context &c) {
			 return probe(c, 1, [](Header &h) { h.add(extNpaths, 65535, 2); });
		 }},
		{"probe_bare", "does not say how many",
		 [](const Context &c) { return probe(c, 1, [](Header &) {}); }},
		{"pong_unasked", "answers a ping that nobody sent",
		 [](const Context &c) { return data(c, "", [](Header &h) { h.sport = 0; }); }},
		{"pong_probe_unasked", "answers a probe, eight paths",
		 [](const Context &c) {
			 return data(c, "", [](Header &h) {
				 h.sport = 0;
				 h.dport = 1;
				 h.add(extNpaths, 8, 2);
			 });
		 }},
	};
}

std::vector<FrameSpec> messages()
{
	const auto sized = [](size_t length) {
		return [length](const Context &c) { return data(c, makePayload(length, length)); };
	};

	return {
		{"data", "five bytes", [](const Context &c) { return data(c, "hello"); }},
		{"data_empty", "no byte", sized(0)},
		{"data_64k", "65536 bytes", sized(65536)},
		{"data_1m", "1 MiB, the most that is allowed", sized(maxMessage)},
		{"data_nobody", "to a port of nobody",
		 [](const Context &c) { return data(c, "hello", [](Header &h) { h.dport = 9; }); }},
		{"retransmitted_old", "a sequence number long past, marked as sent again",
		 [](const Context &c) {
			 return data(c, "old news", [](Header &h) {
				 h.sequence = 1;
				 h.flags = flagRetransmitted;
			 });
		 }},
		{"sequence_zero", "a message numbered 0",
		 [](const Context &c) {
			 return data(c, "zero", [](Header &h) { h.sequence = 0; });
		 }},
		{"sequence_max", "a message numbered 2^64 - 1",
		 [](const Context &c) {
			 return data(c, "max", [](Header &h) { h.sequence = UINT64_MAX; });
		 }},
		{"ack_max", "acknowledges what was never sent",
		 [](const Context &c) {
			 return data(c, "ack", [](Header &h) { h.ack = UINT64_MAX; });
		 }},
		{"ack_required", "asks for an acknowledgement",
		 [](const Context &c) {
			 return data(c, "ack me", [](Header &h) { h.flags = flagAckRequired; });
		 }},
		{"credit", "returns credits",
		 [](const Context &c) {
			 return data(c, "credit", [](Header &h) { h.credit = 255; });
		 }},
		{"checksum_good", "with a correct checksum",
		 [](const Context &c) {
			 return data(c, "sum",
				     [](Header &h) { h.checksum = headerChecksum(h.encode()); });
		 }},
		{"checksum_bad", "with a wrong checksum, which TCP does not look at",
		 [](const Context &c) {
			 return data(c, "sum", [](Header &h) { h.checksum = 0x1234; });
		 }},
	};
}

std::vector<FrameSpec> oddHeaders()
{
	const auto flags = [](uint8_t value) {
		return [value](const Context &c) {
			return data(c, "flags", [value](Header &h) { h.flags = value; });
		};
	};

	return {
		{"flags_all", "every flag set", flags(0xff)},
		{"flags_unknown", "flags that nobody defined", flags(0xc0)},
		{"flag_extra_exthdr", "a flag of newer kernels", flags(flagExtraExthdr)},
		{"zero_ports", "from port 0 to port 0",
		 [](const Context &c) {
			 return data(c, "", [](Header &h) { h.sport = h.dport = 0; });
		 }},
		{"zero_ports_data", "the same with data",
		 [](const Context &c) {
			 return data(c, "nowhere", [](Header &h) { h.sport = h.dport = 0; });
		 }},
		{"sport_zero", "data from port 0",
		 [](const Context &c) {
			 return data(c, "from zero", [](Header &h) { h.sport = 0; });
		 }},
		{"exthdr_unknown", "type 9 of a vendor",
		 [](const Context &c) {
			 return rawExthdr(c, {9, 1, 2, 3, 4, 1});
		 }},
		{"exthdr_type_15", "the last type below 16",
		 [](const Context &c) { return rawExthdr(c, {15}); }},
		{"exthdr_type_16", "the first type that ends the list",
		 [](const Context &c) {
			 return rawExthdr(c, {16, 5, 0, 8});
		 }},
		{"exthdr_type_255", "the highest type",
		 [](const Context &c) { return rawExthdr(c, {255}); }},
		{"exthdr_cap_bits", "capability bits",
		 [](const Context &c) {
			 return data(c, "caps",
				     [](Header &h) { h.add(extCapBits, 0x00ffffff, 4); });
		 }},
		{"exthdr_cut", "a type whose payload is beyond the end",
		 [](const Context &c) {
			 return rawExthdr(c, {8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 6, 1});
		 }},
		{"exthdr_last_byte", "a type in the last byte",
		 [](const Context &c) {
			 return rawExthdr(c, {8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 6});
		 }},
		{"exthdr_npaths_data", "paths offered in a message",
		 [](const Context &c) {
			 return data(c, "paths", [](Header &h) { h.add(extNpaths, 8, 2); });
		 }},
		{"exthdr_version", "a version",
		 [](const Context &c) {
			 return data(c, "version", [](Header &h) { h.add(extVersion, 99, 4); });
		 }},
		{"rdma", "asks to invalidate a key (RDMA)",
		 [](const Context &c) {
			 return data(c, "rdma", [](Header &h) { h.add(extRdma, 0x1234, 4); });
		 }},
		{"rdma_dest", "offers memory (RDMA): mainline's reader hits a BUG",
		 [](const Context &c) {
			 return data(c, "dest",
				     [](Header &h) { h.add(extRdmaDest, 0x123456789a, 8); });
		 }},
		{"rdma_bytes", "bytes that were written (RDMA)",
		 [](const Context &c) {
			 return data(c, "bytes",
				     [](Header &h) { h.add(extRdmaBytes, 1ULL << 32, 8); });
		 }},
	};
}

std::vector<FrameSpec> acks()
{
	return {
		{"hello", "one of ours introduces itself", [](const Context &) { return hello(); },
		 false, true},
		{"hello_twice", "and again", [](const Context &) { return hello() + hello(); },
		 false, true},
		{"bare_ack", "an ack and nothing else",
		 [](const Context &) { return control(1).encode(); }},
		{"ack_of_nothing", "an ack of what was never sent, after a hello",
		 [](const Context &) { return hello() + control(UINT64_MAX).encode(); }, false,
		 true},
		{"ack_wanted", "a message that asks for an ack, after a hello",
		 [](const Context &c) {
			 return hello() +
				data(c, "ack", [](Header &h) { h.flags = flagAckRequired; });
		 },
		 false, true},
	};
}

std::vector<FrameSpec> maps()
{
	return {
		{"map_zero", "no port is congested",
		 [](const Context &) { return map(flagCongBitmap, congestionMapSize, 0); }},
		{"map_ones", "every port is congested",
		 [](const Context &) { return map(flagCongBitmap, congestionMapSize, -1); }},
		{"map_empty", "a map of no byte",
		 [](const Context &) { return map(flagCongBitmap, 0, 0); }},
		{"map_short", "a map of 100 bytes",
		 [](const Context &) { return map(flagCongBitmap, 100, -1); }},
		{"map_long", "a map of 8193 bytes",
		 [](const Context &) { return map(flagCongBitmap, congestionMapSize + 1, -1); }},
		{"map_other_flag", "a map with a second flag: an ordinary message, to nobody",
		 [](const Context &) {
			 return map(flagCongBitmap | flagRetransmitted, congestionMapSize, -1);
		 }},
	};
}

std::vector<FrameSpec> broken()
{
	return {
		{"too_long", "says it has 1 MiB and a byte",
		 [](const Context &c) { return message(c, maxMessage + 1).encode(); }, true},
		{"huge", "says it has 4 GiB less a byte",
		 [](const Context &c) { return message(c, UINT32_MAX).encode(); }, true},
		{"huge_map", "a map that says it has 4 GiB less a byte",
		 [](const Context &) {
			 Header header;

			 header.flags = flagCongBitmap;
			 header.length = UINT32_MAX;
			 return header.encode();
		 },
		 true},
		{"half_header", "20 bytes of a header",
		 [](const Context &c) { return data(c, "").substr(0, 20); }, true},
		{"half_payload", "50 bytes of 100",
		 [](const Context &c) { return message(c, 100).encode() + std::string(50, 'x'); },
		 true},
		{"half_map", "4000 bytes of a map",
		 [](const Context &) {
			 return map(flagCongBitmap, congestionMapSize, -1).substr(0, 4000);
		 },
		 true},
		{"http", "another protocol",
		 [](const Context &) {
			 return std::string("GET /index.html HTTP/1.1\r\nHost: example.org\r\n"
					    "Accept: text/html, text/plain\r\n\r\n");
		 },
		 true},
		{"random", "4 KiB of anything",
		 [](const Context &) { return makePayload(4096, 99); }, true},
	};
}

} // namespace

std::string pingFrame(uint16_t sport, uint64_t sequence)
{
	Header header;

	header.sequence = sequence;
	header.sport = sport;
	return header.encode();
}

std::string pongFrame(const Header &probe, uint16_t npaths, uint64_t sequence)
{
	Header header;

	header.sequence = sequence;
	header.dport = probe.sport;
	header.add(extNpaths, npaths, 2);
	return header.encode();
}

const std::vector<FrameSpec> &allFrames()
{
	static const std::vector<FrameSpec> all = [] {
		std::vector<FrameSpec> frames;

		for (const auto &part :
		     {pings(), messages(), oddHeaders(), acks(), maps(), broken()})
			frames.insert(frames.end(), part.begin(), part.end());
		return frames;
	}();

	return all;
}

const FrameSpec &findFrame(const std::string &name)
{
	for (const FrameSpec &frame : allFrames()) {
		if (frame.name == name)
			return frame;
	}
	throw std::invalid_argument("no frame is called " + name + ", see --list");
}

} // namespace rdstest
