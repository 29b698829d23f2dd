// SPDX-License-Identifier: GPL-2.0
/* The grammar: what a stranger may say or do over a connection that it has. */
#include "hostile.h"

#include <algorithm>

namespace rdstest
{

namespace
{

constexpr uint16_t theirSport = 777;
/* Of ours: number in the flow, lowest that is not known there; first number, epoch, port; epoch,
 * port. */
constexpr uint8_t extOrder = 15, extRefused = 13, extResume = 14;
constexpr uint64_t burst = 100; /* pings: more than the host keeps answers for */

uint16_t readerPort(Random &random)
{
	return static_cast<uint16_t>(kFirstReader + random.below(kReaders));
}

std::string map(char fill)
{
	Header header;

	header.flags = flagCongBitmap;
	header.length = congestionMapSize;
	return header.encode() + std::string(congestionMapSize, fill);
}

void setPort(std::string &frame, uint16_t port)
{
	frame[headerSize + port / 8] =
		static_cast<char>(frame[headerSize + port / 8] | 1 << port % 8);
}

/* An extension header that lib/wire.h has no name for. */
void addRaw(Header &header, uint8_t type, uint64_t value, unsigned int bytes)
{
	header.exthdr[0] = type;
	for (unsigned int n = 0; n < bytes; n++)
		header.exthdr[1 + n] = static_cast<uint8_t>(value >> 8 * (bytes - 1 - n));
}

uint32_t someLength(Random &random)
{
	static const uint32_t lengths[] = {0, 1, 47, 100, 1400, 4096, 8192, 20000};

	if (!random.below(200))
		return kMaxMessage - static_cast<uint32_t>(random.below(3));
	if (!random.below(12))
		return static_cast<uint32_t>(random.below(65537));
	return lengths[random.below(std::size(lengths))];
}

void data(Link &link, Random &random, uint16_t port)
{
	const uint32_t length = someLength(random);
	Header header = link.message(theirSport, port, length);

	if (!random.below(4))
		header.flags |= flagAckRequired;
	if (!random.below(12))
		header.flags |= flagRetransmitted;
	link.say(header.encode() + makePayload(length, header.sequence), random);
}

void toReader(Link &link, Random &random)
{
	data(link, random, readerPort(random));
}

void toFull(Link &link, Random &random)
{
	for (uint64_t n = 1 + random.below(8); n; n--)
		data(link, random, random.below(2) ? kFull : kStopped);
}

void toNobody(Link &link, Random &random)
{
	data(link, random, random.below(2) ? 9 : static_cast<uint16_t>(random.next()));
}

void hello(Link &link, Random &random)
{
	link.say(link.hello(), random);
}

/* It is another host now, over the same connection. */
void otherHello(Link &link, Random &random)
{
	Stranger &who = link.who();

	if (random.below(2))
		who.reborn(static_cast<uint32_t>(random.next()));
	else
		who.npaths = static_cast<uint16_t>(random.below(12));
	link.say(link.hello(), random);
}

void bareAck(Link &link, Random &random, uint64_t ack)
{
	Header header;

	header.flags = flagRetransmitted;
	header.ack = ack;
	link.say(header.encode(), random);
}

void trueAck(Link &link, Random &random)
{
	bareAck(link, random, link.who().heard[link.path()]);
}

void wrongAck(Link &link, Random &random)
{
	const uint64_t heard = link.who().heard[link.path()];
	const uint64_t acks[] = {heard + 1, heard + 1000, heard / 2, UINT64_MAX, random.next()};

	bareAck(link, random, acks[random.below(std::size(acks))]);
}

void mapAll(Link &link, Random &random)
{
	link.say(map(random.below(2) ? -1 : 0), random);
}

/* Ports that the host's sockets send to fill and clear. */
void mapFlaps(Link &link, Random &random)
{
	for (uint64_t n = 1 + random.below(4); n; n--) {
		std::string frame = map(0);

		for (uint16_t port = 0; port < kTheirs; port++) {
			if (random.below(2))
				setPort(frame, kFirstTheirs + port);
		}
		link.say(frame, random);
	}
}

/* A map that is short, long, or has a second flag. */
void mapOdd(Link &link, Random &random)
{
	Header header;

	header.flags = flagCongBitmap;
	if (!random.below(3))
		header.flags |= flagAckRequired;
	header.length = static_cast<uint32_t>(congestionMapSize - 1 + random.below(3));
	link.say(header.encode() + std::string(header.length, -1), random);
}

void probe(Link &link, Random &random)
{
	Header header = link.message(1, 0, 0);

	header.add(extNpaths, random.below(10), 2);
	link.say(header.encode(), random);
}

void pings(Link &link, Random &random)
{
	for (uint64_t n = random.below(8) ? 1 + random.below(4) : burst; n; n--)
		link.say(link.message(static_cast<uint16_t>(1000 + random.below(5000)), 0, 0)
				 .encode(),
			 random);
}

/* Nobody has asked. */
void pong(Link &link, Random &random)
{
	Header header = link.message(0, random.below(2) ? 1 : readerPort(random), 0);

	if (random.below(2))
		header.add(extNpaths, random.below(10), 2);
	link.say(header.encode(), random);
}

/* A numbered flow: in order, with gaps, twice. */
void numbered(Link &link, Random &random)
{
	Stranger &who = link.who();

	for (uint64_t n = 1 + random.below(6); n; n--) {
		Header header = link.message(theirSport, readerPort(random), 10);
		const uint64_t step[] = {1, 1, 1, 0, 2, 5000};

		who.order += static_cast<uint32_t>(step[random.below(std::size(step))]);
		const uint32_t lowest = who.order - static_cast<uint32_t>(random.below(10));

		addRaw(header, extOrder, static_cast<uint64_t>(who.order) << 32 | lowest, 8);
		link.say(header.encode() + makePayload(10, who.order), random);
	}
}

/* A control frame with one extension header. */
void control(Link &link, Random &random, uint8_t type, const std::string &value)
{
	Header header;

	header.flags = flagRetransmitted;
	header.exthdr[0] = type;
	std::copy(value.begin(), value.end(), header.exthdr.begin() + 1);
	link.say(header.encode(), random);
}

std::string bigEndian(uint64_t value, unsigned int bytes)
{
	std::string text;

	while (bytes--)
		text += static_cast<char>(value >> 8 * bytes);
	return text;
}

/* A port that the host sends to is full, or it never was, or it is nobody's; and that it is not
 * full any more. */
void refuses(Link &link, Random &random)
{
	const uint64_t heard = link.who().heard[link.path()];
	const uint64_t numbers[] = {heard, heard + 1, heard - random.below(20), random.next(), 0};
	const uint32_t theirs = kFirstTheirs + static_cast<uint32_t>(random.below(kTheirs));
	const uint64_t port = random.below(8) ? theirs : random.below(65536);

	control(link, random, extRefused,
		bigEndian(random.below(4) ? numbers[random.below(2)]
					  : numbers[random.below(std::size(numbers))],
			  8) +
			bigEndian(random.below(6), 4) + bigEndian(port, 2));
	if (!random.below(3))
		link.say(map(0), random);
}

/* Messages that the host refused come again; or nothing was refused, or not in that epoch. */
void resumes(Link &link, Random &random)
{
	const auto &refused = link.who().refused;
	uint64_t port = random.below(2) ? kFull : kStopped, epoch = random.below(20);

	if (!refused.empty() && random.below(8)) {
		const auto &one = refused[random.below(refused.size())];

		port = one.first;
		epoch = one.second;
	}
	control(link, random, extResume, bigEndian(epoch, 4) + bigEndian(port, 2));
	if (random.below(2))
		data(link, random, static_cast<uint16_t>(port));
}

void again(Link &link, Random &random)
{
	if (!link.lastFrame.empty())
		link.say(link.lastFrame, random);
}

/* An old number, or one that is far ahead. */
void jumps(Link &link, Random &random)
{
	uint64_t &next = link.who().next[link.path()];
	const uint64_t to[] = {1, next / 2, next + 1, next + 1000, 0};

	next = to[random.below(std::size(to))];
	toReader(link, random);
}

void oddFlags(Link &link, Random &random)
{
	Header header = link.message(theirSport, readerPort(random), 3);

	header.flags = static_cast<uint8_t>(random.next());
	header.credit = static_cast<uint8_t>(random.next());
	link.say(header.encode() + "odd", random);
}

void oddExtension(Link &link, Random &random)
{
	Header header = link.message(theirSport, readerPort(random), 3);

	if (random.below(2)) {
		addRaw(header, static_cast<uint8_t>(random.below(20)), random.next(), 8);
	} else {
		for (uint8_t &byte : header.exthdr)
			byte = static_cast<uint8_t>(random.below(18));
	}
	link.say(header.encode() + "ext", random);
}

void foreign(Link &link, Random &random)
{
	Header header = link.message(theirSport, readerPort(random), 0);

	if (random.below(2))
		header.add(extRdma, random.next(), 4);
	else
		header.add(extRdmaDest, random.next(), 8);
	link.say(header.encode(), random);
}

void nobodysPorts(Link &link, Random &random)
{
	Header header = link.message(0, random.below(2) ? 0 : readerPort(random), 4);

	link.say(header.encode() + "zero", random);
}

void tooLong(Link &link, Random &random)
{
	Header header = link.message(theirSport, readerPort(random), 0);

	header.length =
		kMaxMessage + 1 + static_cast<uint32_t>(random.below(2) ? 0 : random.next());
	link.say(header.encode() + makePayload(100, 1), random);
}

void noise(Link &link, Random &random)
{
	link.say(makePayload(1 + random.below(300), random.next()), random);
}

/* The header, and some of the payload, and the end. */
void endsMidway(Link &link, Random &random)
{
	const uint32_t length = 4096 + static_cast<uint32_t>(random.below(60000));
	const Header header = link.message(theirSport, readerPort(random), length);

	link.put(header.encode() + makePayload(random.below(length), 1));
	if (random.below(2))
		link.end(random.below(2));
}

void deafens(Link &link, Random &random)
{
	link.deaf = random.below(3) > 0;
}

void fin(Link &link, Random &)
{
	link.endWriting();
}

void closes(Link &link, Random &)
{
	link.end(false);
}

void resets(Link &link, Random &)
{
	link.end(true);
}

} // namespace

const std::vector<Deed> &allDeeds()
{
	static const std::vector<Deed> all = {
		{"to a reader", 24, toReader},
		{"to a full port", 8, toFull},
		{"to nobody", 5, toNobody},
		{"hello", 4, hello},
		{"another hello", 2, otherHello},
		{"true ack", 14, trueAck},
		{"wrong ack", 3, wrongAck},
		{"map of all", 4, mapAll},
		{"map that flaps", 6, mapFlaps},
		{"odd map", 1, mapOdd},
		{"probe", 4, probe},
		{"pings", 5, pings},
		{"pong", 3, pong},
		{"numbered", 6, numbered},
		{"refuses", 5, refuses},
		{"resumes", 3, resumes},
		{"again", 4, again},
		{"jumps", 2, jumps},
		{"odd flags", 2, oddFlags},
		{"odd extension", 3, oddExtension},
		{"of RDMA", 2, foreign},
		{"nobody's ports", 2, nobodysPorts},
		{"too long", 1, tooLong},
		{"noise", 1, noise},
		{"ends midway", 3, endsMidway},
		{"deaf", 3, deafens},
		{"fin", 2, fin},
		{"close", 3, closes},
		{"reset", 3, resets},
	};

	return all;
}

} // namespace rdstest
