// SPDX-License-Identifier: GPL-2.0
/*
 * The header and its extension headers: any 48 bytes are read without leaving them, and mean what a
 * second, plainer reading of docs/wire.md says they mean.
 */
#include <cstring>

#include "fuzz.h"
#include "net/rds/wire.h"

using namespace rds;
using fuzz::must;

namespace
{

uint64_t number(const uint8_t *p, size_t bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | *p++;
	return v;
}

void check_fields(const wire::Header &h, const uint8_t *raw)
{
	auto f = wire::decode(h);

	must(f.seq == number(raw, 8) && f.ack == number(raw + 8, 8), "sequence and ack");
	must(f.len == number(raw + 16, 4), "length");
	must(f.sport == number(raw + 20, 2) && f.dport == number(raw + 22, 2), "ports");
	must(f.flags == raw[24] && f.credit == raw[25], "flags and credit");

	wire::Header again;

	wire::encode(again, f.len, f.sport, f.dport, f.flags);
	wire::put64(again.sequence, f.seq);
	wire::put64(again.ack, f.ack);
	again.credit = f.credit;
	must(!memcmp(&again, raw, 26), "encoding brings the same bytes back");
	for (uint8_t b : again.ext)
		must(!b, "a new header has no extension");
}

/* Payload bytes by type, -1: ends the list. */
constexpr int kBytes[] = {0, 4, 4, 8, 8, 2, 4, 4, 1, 8, 0, 0, 14, 14, 6, 8};

void check_extensions(const wire::Header &h, const uint8_t *raw)
{
	wire::ExtReader r(h);
	wire::ExtView e;
	unsigned int at = 0;

	while (at < 16 && raw[at] && raw[at] < 16 && at + 1 + kBytes[raw[at]] <= 16) {
		must(r.next(e), "an extension that is there is found");
		must(static_cast<uint8_t>(e.type) == raw[at], "its type");
		must(e.data == h.ext + at + 1, "its data");
		at += 1 + static_cast<unsigned int>(kBytes[raw[at]]);
	}
	must(!r.next(e) && !r.next(e), "the walk ends, and stays ended");
	must(r.bad() == (at < 16 && raw[at]), "bad exactly if something unreadable is left");
	must(wire::ext_payload_bytes(raw[0]) == (raw[0] < 16 ? kBytes[raw[0]] : -1), "lengths");
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < wire::kHeaderBytes)
		return 0;

	/* Alone in its allocation: a byte too far is a finding. */
	auto h = std::make_unique<wire::Header>();

	memcpy(static_cast<void *>(h.get()), data, sizeof(*h));
	check_fields(*h, data);
	check_extensions(*h, data + 32);

	const wire::Refusal r = wire::decode_refusal(*h);
	auto again = std::make_unique<wire::Header>();

	must((r.what != wire::Ext::kNone) == (h->ext[0] == 13 || h->ext[0] == 14),
	     "a frame about a port is one");
	if (r.what != wire::Ext::kNone) {
		wire::encode_refusal(*again, r);
		must(!memcmp(again->ext, h->ext, r.what == wire::Ext::kRefused ? 15 : 7),
		     "what it says comes back");
	}

	const wire::MapChanges c = wire::decode_changes(*h);

	must(c.n <= wire::MapChanges::kMost && !(c.full >> c.n), "no more ports than have room");
	if (c.n) {
		wire::encode_changes(*again, c);
		must(!memcmp(again->ext + 3, h->ext + 3, 2u * c.n), "the ports come back");
	}

	auto fresh = std::make_unique<wire::Header>();
	unsigned int room = 16;

	wire::encode(*fresh, 0, 1, 0, 0);
	for (wire::ExtWriter w(*fresh); w.npaths(static_cast<uint16_t>(number(data, 2)));)
		room -= 3;
	must(room < 3, "the writer stops when it is full, not before");
	check_extensions(*fresh, fresh->ext);
	return 0;
}
