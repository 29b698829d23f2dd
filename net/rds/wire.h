/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire.h: the RDS header (48 bytes, big-endian) and its extension headers.
 *
 * Pure: nothing here allocates, locks or trusts.  Offsets are those of the wire specification and
 * of every mainline version (docs/wire.md); the specification's "40 bytes" is a slip, its fields
 * add up to 48.
 */
#ifndef RDS_WIRE_H
#define RDS_WIRE_H

#include "../platform/types.h"
#include "annotate.h"

namespace rds::wire
{

enum Flag : uint8_t {
	kCongBitmap = 0x01,
	kAckRequired = 0x02,
	kRetransmitted = 0x04,
	kHbPing = 0x08, /* UEK's heartbeat, IB only */
	kHbPong = 0x10,
	kMoreExthdrs = 0x20, /* 7.x: more than one extension header follows */
	kKnownFlags = 0x3f,
};

enum class Ext : uint8_t {
	kNone = 0,
	kVersion = 1,	/* be32 */
	kRdma = 2,	/* be32 rkey */
	kRdmaDest = 3,	/* be32 rkey, be32 offset */
	kRdmaBytes = 4, /* be32 bytes, u8 flags, 3 pad */
	kNpaths = 5,	/* be16 */
	kGenNum = 6,	/* be32 */
	kCapBits = 7,	/* be32 */
	kSportIdx = 8,	/* the path's index; 7.x: 1 dummy byte */
	kCsum = 9,	/* be32, u8, 3 pad */
	kChanges = 12,	/* u8 ports, u8 bits: full, 6 times be16 port: see MapChanges */
	kRefused = 13,	/* be64 number, be32 epoch, be16 port: see Refusal */
	kResume = 14,	/* be32 epoch, be16 port */
	kOrder = 15,	/* be32 number, be32 low: of the sender's flow, see order.h */
	kLimit = 16,	/* types from here on end the parsing */
};

inline constexpr unsigned int kHeaderBytes = 48;
inline constexpr unsigned int kExtBytes = 16;

/* Bits of CAP_BITS.  The first byte of it stays 0: where mainline does not know the type, it takes
 * that byte for the end of the list. */
enum Cap : uint32_t {
	kCapHeartbeat = 1 << 0,	  /* UEK's, IB only */
	kCapDeliveryAck = 1 << 1, /* h_ack tells what RDS has, see path_ack.cc */
	kCapOrder = 1 << 2,	  /* understands kOrder, see order.h */
	kCapRefuse = 1 << 3,	  /* understands kRefused and says kResume, see path_refuse.cc */
	kCapChanges = 1 << 4,	  /* understands kChanges, see map_news.h */
};

/* As it lies on the wire; go through the accessors. */
struct Header {
	uint8_t sequence[8];
	uint8_t ack[8];
	uint8_t len[4];
	uint8_t sport[2];
	uint8_t dport[2];
	uint8_t flags;
	uint8_t credit;
	uint8_t pad[4];
	uint8_t csum[2]; /* 0 over TCP */
	uint8_t ext[kExtBytes];
};
static_assert(sizeof(Header) == kHeaderBytes);
static_assert(__builtin_offsetof(Header, ack) == 8);
static_assert(__builtin_offsetof(Header, len) == 16);
static_assert(__builtin_offsetof(Header, sport) == 20);
static_assert(__builtin_offsetof(Header, dport) == 22);
static_assert(__builtin_offsetof(Header, flags) == 24);
static_assert(__builtin_offsetof(Header, credit) == 25);
static_assert(__builtin_offsetof(Header, pad) == 26);
static_assert(__builtin_offsetof(Header, csum) == 30);
static_assert(__builtin_offsetof(Header, ext) == 32);

RDS_INLINE uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	__builtin_memcpy(&v, p, 2);
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16(v) : v;
}
RDS_INLINE uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, 4);
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(v) : v;
}
RDS_INLINE uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, 8);
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(v) : v;
}
RDS_INLINE void put16(uint8_t *p, uint16_t v)
{
	v = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16(v) : v;
	__builtin_memcpy(p, &v, 2);
}
RDS_INLINE void put32(uint8_t *p, uint32_t v)
{
	v = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(v) : v;
	__builtin_memcpy(p, &v, 4);
}
RDS_INLINE void put64(uint8_t *p, uint64_t v)
{
	v = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(v) : v;
	__builtin_memcpy(p, &v, 8);
}

/* Everything but the extension headers, in host order. */
struct Fields {
	uint64_t seq;
	uint64_t ack;
	uint32_t len;
	uint16_t sport;
	uint16_t dport;
	uint8_t flags;
	uint8_t credit;
};

RDS_INLINE Fields decode(const Header &h)
{
	return Fields{.seq = get64(h.sequence),
		      .ack = get64(h.ack),
		      .len = get32(h.len),
		      .sport = get16(h.sport),
		      .dport = get16(h.dport),
		      .flags = h.flags,
		      .credit = h.credit};
}

/* Sequence and ack are stamped later (path.cc); the rest of the header becomes 0. */
RDS_INLINE void encode(Header &h, uint32_t len, uint16_t sport, uint16_t dport, uint8_t flags)
{
	__builtin_memset(&h, 0, sizeof(h));
	put32(h.len, len);
	put16(h.sport, sport);
	put16(h.dport, dport);
	h.flags = flags;
}

/* Payload bytes of extension headers by type, as the enum has them; 0 of those that nobody defined:
 * an old receiver steps over them byte by byte. */
constexpr uint8_t kExtPayload[static_cast<uint8_t>(Ext::kLimit)] = {0, 4, 4, 8, 8,  2,	4, 4,
								    1, 8, 0, 0, 14, 14, 6, 8};

/* The same of any byte; -1: it ends the parsing. */
RDS_INLINE int ext_payload_bytes(uint8_t type)
{
	return type < static_cast<uint8_t>(Ext::kLimit) ? kExtPayload[type] : -1;
}

/* One extension header found in a message. */
struct ExtView {
	Ext type;
	const uint8_t *data; /* ext_payload_bytes(type) of them lie inside the header */
};

/*
 * Walks the extension headers in order.  Never leaves the 16 bytes: a header cut short ends the
 * walk and bad() becomes true, as does a type of 16 and more.
 */
class ExtReader final
{
public:
	explicit ExtReader(const Header &h) : p_(h.ext), left_(kExtBytes)
	{
	}
	/* False at the end.  Inline: a message with an operation has its extensions read by one
	 * room after the other. */
	RDS_INLINE bool next(ExtView &out)
	{
		if (!left_ || *p_ == static_cast<uint8_t>(Ext::kNone))
			return false;

		const int n = ext_payload_bytes(*p_);

		if (n < 0 || static_cast<unsigned int>(n) >= left_) {
			bad_ = true;
			left_ = 0;
			return false;
		}
		out.type = static_cast<Ext>(*p_);
		out.data = p_ + 1;
		p_ += n + 1;
		left_ -= static_cast<unsigned int>(n) + 1;
		return true;
	}
	bool bad() const
	{
		return bad_;
	}

private:
	const uint8_t *p_;
	unsigned int left_;
	bool bad_ = false;
};

/* A frame that is no message, from port 0 to port 0 and without number: hello, or a bare ack.  The
 * retransmit flag keeps a receiver that knows neither from counting it (docs/wire.md). */
RDS_INLINE void encode_control(Header &h)
{
	encode(h, 0, 0, 0, kRetransmitted);
}
RDS_INLINE bool is_control(const Fields &f)
{
	return !f.seq && !f.sport && !f.dport && f.flags == kRetransmitted;
}

/* The sender's account of itself, the first frame of a connection. */
struct Hello {
	uint32_t gen = 0;   /* of the sender's numbers: another one, another count; 0: none given */
	uint32_t caps = 0;  /* Cap */
	uint16_t paths = 1; /* that the sender would use */
	uint8_t index = 0;  /* of the path that this connection is */
};
void encode_hello(Header &h, const Hello &hello);
Hello decode_hello(const Header &h);

/* A control frame about one port.  kRefused: of all messages for it that its receiver has got with
 * numbers from @number on, no socket has any, until kResume comes with the same @epoch. */
struct Refusal {
	Ext what = Ext::kNone; /* kRefused, kResume; kNone: it is another frame */
	uint16_t port = 0;
	uint32_t epoch = 0;
	uint64_t number = 0; /* of kRefused */
};
void encode_refusal(Header &h, const Refusal &r);
Refusal decode_refusal(const Header &h);
RDS_INLINE bool is_refusal(const Header &h) /* perhaps */
{
	return h.ext[0] == static_cast<uint8_t>(Ext::kRefused) ||
	       h.ext[0] == static_cast<uint8_t>(Ext::kResume);
}

/* A control frame about ports of its sender's that have filled or cleared: what has changed of the
 * congestion map that went before it on the same connection. */
struct MapChanges {
	static constexpr uint8_t kMost = 6;

	uint8_t n = 0;
	uint8_t full = 0; /* bit i: port[i] is full, else clear */
	uint16_t port[kMost] = {};

	bool has(uint16_t which) const
	{
		for (uint8_t i = 0; i < n; i++)
			if (port[i] == which)
				return true;
		return false;
	}
	bool is_full(uint8_t i) const
	{
		return full >> i & 1;
	}
	/* False: no room. */
	bool add(uint16_t which, bool is_full)
	{
		if (n == kMost)
			return false;
		full |= static_cast<uint8_t>(is_full << n);
		port[n++] = which;
		return true;
	}
};
void encode_changes(Header &h, const MapChanges &c);
/* None where @h is another frame, or says more than there is room for. */
MapChanges decode_changes(const Header &h);
RDS_INLINE bool is_changes(const Header &h) /* perhaps */
{
	return h.ext[0] == static_cast<uint8_t>(Ext::kChanges);
}
RDS_INLINE bool tells_of_ports(const Header &h) /* perhaps */
{
	return is_refusal(h) || is_changes(h);
}

/* Appends extension headers; false (and nothing written) when there is no room. */
class ExtWriter final
{
public:
	explicit ExtWriter(Header &h) : p_(h.ext), left_(kExtBytes)
	{
	}
	bool npaths(uint16_t n);
	bool rdma(uint32_t rkey);
	bool rdma_dest(uint32_t rkey, uint32_t offset);
	bool gen_num(uint32_t gen);
	bool sport_idx(uint8_t index);
	bool changes(const MapChanges &c);
	bool order(uint32_t number, uint32_t low);
	bool refused(uint64_t number, uint32_t epoch, uint16_t port);
	bool resume(uint32_t epoch, uint16_t port);
	bool cap_bits(uint32_t caps); /* must be the last one, see Cap */

private:
	uint8_t *start(Ext type);

	uint8_t *p_;
	unsigned int left_;
};

} // namespace rds::wire
#endif
