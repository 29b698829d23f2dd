// SPDX-License-Identifier: GPL-2.0
#include "wire.h"

namespace rds::wire
{

/* Where the payload of the next one goes, nullptr when it does not fit.  Inline, GCC 12 takes what
 * does not fit for written. */
__attribute__((noinline)) uint8_t *ExtWriter::start(Ext type)
{
	unsigned int bytes = 1u + kExtPayload[static_cast<uint8_t>(type)];
	uint8_t *payload = p_ + 1;

	if (left_ < bytes)
		return nullptr;
	*p_ = static_cast<uint8_t>(type);
	p_ += bytes;
	left_ -= bytes;
	return payload;
}

bool ExtWriter::npaths(uint16_t n)
{
	uint8_t *p = start(Ext::kNpaths);

	if (p)
		put16(p, n);
	return p;
}

bool ExtWriter::rdma(uint32_t rkey)
{
	uint8_t *p = start(Ext::kRdma);

	if (p)
		put32(p, rkey);
	return p;
}

bool ExtWriter::rdma_dest(uint32_t rkey, uint32_t offset)
{
	uint8_t *p = start(Ext::kRdmaDest);

	if (p) {
		put32(p, rkey);
		put32(p + 4, offset);
	}
	return p;
}

bool ExtWriter::gen_num(uint32_t gen)
{
	uint8_t *p = start(Ext::kGenNum);

	if (p)
		put32(p, gen);
	return p;
}

bool ExtWriter::sport_idx(uint8_t index)
{
	uint8_t *p = start(Ext::kSportIdx);

	if (p)
		*p = index;
	return p;
}

bool ExtWriter::changes(const MapChanges &c)
{
	uint8_t *p = start(Ext::kChanges);

	if (!p)
		return false;
	*p++ = c.n;
	*p++ = c.full;
	for (uint16_t port : c.port) {
		put16(p, port);
		p += 2;
	}
	return true;
}

bool ExtWriter::order(uint32_t number, uint32_t low)
{
	uint8_t *p = start(Ext::kOrder);

	if (p) {
		put32(p, number);
		put32(p + 4, low);
	}
	return p;
}

bool ExtWriter::refused(uint64_t number, uint32_t epoch, uint16_t port)
{
	uint8_t *p = start(Ext::kRefused);

	if (p) {
		put64(p, number);
		put32(p + 8, epoch);
		put16(p + 12, port);
	}
	return p;
}

bool ExtWriter::resume(uint32_t epoch, uint16_t port)
{
	uint8_t *p = start(Ext::kResume);

	if (p) {
		put32(p, epoch);
		put16(p + 4, port);
	}
	return p;
}

bool ExtWriter::cap_bits(uint32_t caps)
{
	uint8_t *p = start(Ext::kCapBits);

	if (p)
		put32(p, caps);
	return p;
}

void encode_hello(Header &h, const Hello &hello)
{
	encode_control(h);

	ExtWriter w(h);

	(void)w.gen_num(hello.gen);
	(void)w.npaths(hello.paths);
	(void)w.sport_idx(hello.index);
	(void)w.cap_bits(hello.caps);
}

void encode_refusal(Header &h, const Refusal &r)
{
	encode_control(h);

	ExtWriter w(h);

	if (r.what == Ext::kRefused)
		(void)w.refused(r.number, r.epoch, r.port);
	else
		(void)w.resume(r.epoch, r.port);
}

Refusal decode_refusal(const Header &h)
{
	ExtReader r(h);
	ExtView e;

	if (!r.next(e))
		return {};
	if (e.type == Ext::kRefused)
		return {.what = e.type,
			.port = get16(e.data + 12),
			.epoch = get32(e.data + 8),
			.number = get64(e.data)};
	if (e.type == Ext::kResume)
		return {.what = e.type, .port = get16(e.data + 4), .epoch = get32(e.data)};
	return {};
}

void encode_changes(Header &h, const MapChanges &c)
{
	encode_control(h);
	(void)ExtWriter(h).changes(c);
}

MapChanges decode_changes(const Header &h)
{
	ExtReader r(h);
	ExtView e;
	MapChanges c;

	if (!r.next(e) || e.type != Ext::kChanges || e.data[0] > MapChanges::kMost)
		return c;
	for (uint8_t i = 0; i < e.data[0]; i++)
		(void)c.add(get16(e.data + 2 + 2 * i), e.data[1] >> i & 1);
	return c;
}

Hello decode_hello(const Header &h)
{
	Hello hello = {};
	ExtReader r(h);
	ExtView e;

	while (r.next(e)) {
		if (e.type == Ext::kGenNum)
			hello.gen = get32(e.data);
		else if (e.type == Ext::kNpaths)
			hello.paths = get16(e.data);
		else if (e.type == Ext::kSportIdx)
			hello.index = *e.data;
		else if (e.type == Ext::kCapBits)
			hello.caps = get32(e.data);
	}
	return hello;
}

} // namespace rds::wire
