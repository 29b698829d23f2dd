// SPDX-License-Identifier: GPL-2.0
#include "ib_offer.h"

#include "../../net/rds/result.h"
#include "../../net/rds/wire.h"

namespace
{

using Offer = struct rds_ib_offer;
using namespace rds::wire;

/* Minor versions that we understand, of either major one. */
constexpr uint16_t kMinors = 0x0003;
/* For so long a call counts for more than the peer's. */
constexpr unsigned long long kCallCountsNs = 1000ull * 1000 * 1000;
/* Behind the two addresses. */
constexpr unsigned int kCommonBytes = 24;
constexpr uint32_t kSecretMask = 0xffffff;
/* Numbers in the byte of bits.  All ones are none: what mainline leaves 0 may be anything. */
constexpr unsigned int kOrderShift = 2, kOrderMask = 3, kNoOrder = 3;
constexpr unsigned int kBuffersShift = 4, kNoBuffers = 15;
/* Of struct rds_addr: ::ffff:0:0/96. */
constexpr unsigned int kV4Offset = 12;

static_assert(RDS_IB_OFFER_BYTES_V4 == 2 * 4 + kCommonBytes);
static_assert(RDS_IB_OFFER_BYTES_V6 == 2 * 16 + kCommonBytes);

/* The part that both address families have, as it lies on the wire. */
struct Common {
	uint8_t major;
	uint8_t minor;
	uint8_t minors[2];
	uint8_t tos;
	uint8_t reserved[3];
	uint8_t ack_seq[8];
	uint8_t credit[4];
	uint8_t secret[3];
	uint8_t can;
};
static_assert(sizeof(Common) == kCommonBytes);

const uint8_t kV4Prefix[kV4Offset] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_v4(const struct rds_addr &a)
{
	return !__builtin_memcmp(&a, kV4Prefix, sizeof(kV4Prefix));
}

void get_addr(struct rds_addr &a, const uint8_t *p, bool v6)
{
	auto *to = reinterpret_cast<uint8_t *>(&a);

	if (v6) {
		__builtin_memcpy(to, p, sizeof(a));
		return;
	}
	__builtin_memcpy(to, kV4Prefix, sizeof(kV4Prefix));
	__builtin_memcpy(to + kV4Offset, p, sizeof(a) - kV4Offset);
}

uint8_t *put_addr(uint8_t *p, const struct rds_addr &a, bool v6)
{
	unsigned int skip = v6 ? 0 : kV4Offset;

	__builtin_memcpy(p, reinterpret_cast<const uint8_t *>(&a) + skip, sizeof(a) - skip);
	return p + sizeof(a) - skip;
}

/* That of one host, of the family of the connection. */
bool usable(const struct rds_addr &a, bool v6)
{
	const auto *b = reinterpret_cast<const uint8_t *>(&a);

	if (v6)
		return !is_v4(a) && b[0] != 0xff && (a.w[0] || a.w[1]);
	/* Not 0.0.0.0/8, multicast, or beyond. */
	return b[kV4Offset] && b[kV4Offset] < 224;
}

} // namespace

extern "C" {

unsigned int rds_ib_offer_encode(const struct rds_ib_offer *o,
				 unsigned char out[RDS_IB_OFFER_BYTES_V6])
{
	bool v6 = !is_v4(o->daddr);
	uint8_t *p = put_addr(put_addr(out, o->saddr, v6), o->daddr, v6);
	Common c = {};

	c.major = o->major;
	c.minor = o->minor;
	put16(c.minors, o->minors);
	c.tos = o->tos;
	put64(c.ack_seq, o->ack_seq);
	put32(c.credit, o->credit);
	c.secret[0] = static_cast<uint8_t>(o->secret >> 16);
	put16(c.secret + 1, static_cast<uint16_t>(o->secret));
	c.can = static_cast<uint8_t>(o->can | o->order << kOrderShift |
				     o->buffers << kBuffersShift);
	__builtin_memcpy(p, &c, sizeof(c));
	return v6 ? RDS_IB_OFFER_BYTES_V6 : RDS_IB_OFFER_BYTES_V4;
}

int rds_ib_offer_decode(const void *data, unsigned int len, int v6, struct rds_ib_offer *o)
{
	const auto *p = static_cast<const uint8_t *>(data);
	unsigned int addr_bytes = v6 ? 16 : 4;
	Offer said = {.saddr = o->saddr,
		      .daddr = o->daddr,
		      .ack_seq = 0,
		      .credit = 0,
		      .minors = 1,
		      .major = 4,
		      .minor = 0,
		      .tos = 0,
		      .can = 0,
		      .buffers = 0,
		      .order = 0,
		      .secret = 0};
	Common c;

	if (!p || len < 2 * addr_bytes + kCommonBytes || !p[2 * addr_bytes]) {
		*o = said;
		return 0;
	}
	get_addr(said.saddr, p, v6);
	get_addr(said.daddr, p + addr_bytes, v6);
	if (!usable(said.saddr, v6) || !usable(said.daddr, v6))
		return -rds::err::kEinval;
	__builtin_memcpy(&c, p + 2 * addr_bytes, sizeof(c));
	said.major = c.major;
	said.minor = c.minor;
	said.minors = get16(c.minors);
	said.tos = c.tos;
	said.ack_seq = get64(c.ack_seq);
	said.credit = get32(c.credit);
	said.can = c.can & RDS_IB_CAN_ALL;
	said.buffers = (c.can >> kBuffersShift) % kNoBuffers;
	said.order = (c.can >> kOrderShift & kOrderMask) % kNoOrder;
	said.secret = static_cast<uint32_t>(c.secret[0]) << 16 | get16(c.secret + 1);
	*o = said;
	return 0;
}

int rds_ib_offer_agree(struct rds_ib_offer *o)
{
	uint16_t common = o->minors & kMinors;

	if (o->major == 4 && common)
		o->minor = common & 2 ? 1 : 0;
	else if (o->major != 3 || o->minor != 1)
		return -rds::err::kEproto;
	o->minors = kMinors;
	return 0;
}

int rds_ib_offer_accepted(const struct rds_ib_offer *o)
{
	bool known = o->major == 4 ? o->minor <= 1 : o->major == 3 && o->minor == 1;

	return known ? 0 : -rds::err::kEproto;
}

uint32_t rds_ib_offer_counted(const struct rds_ib_offer *o, int named)
{
	if (named && o->credit)
		return o->credit;
	return o->buffers ? 1u << o->buffers : 0;
}

int rds_ib_offer_propose(struct rds_ib_offer *o, unsigned int attempt)
{
	/* Of 3.1 nobody knows what it makes of a TOS. */
	if (attempt > 1 || (attempt && o->tos))
		return 0;
	o->major = attempt ? 3 : 4;
	o->minor = 1;
	o->minors = kMinors;
	return 1;
}

void rds_ib_proof_begin(struct rds_ib_proof *p, uint32_t secret)
{
	p->secret = secret & kSecretMask;
	p->shown = 0;
}

int rds_ib_proof_show(struct rds_ib_proof *p, uint32_t secret)
{
	if (!secret || !p->secret)
		return 0;
	if (secret != p->secret) {
		p->secret = 0;
		return 0;
	}
	p->shown = 1;
	return 1;
}

int rds_ib_proof_admits(struct rds_ib_proof *p, int proven)
{
	int admits = proven || !p->shown;

	p->shown = 0;
	return admits;
}

int rds_ib_keeps_call(const struct rds_addr *self, const struct rds_addr *peer,
		      unsigned long long age_ns)
{
	/* Network byte order: comparing bytes compares numbers. */
	return age_ns < kCallCountsNs && __builtin_memcmp(self, peer, sizeof(*self)) < 0;
}

} // extern "C"
