// SPDX-License-Identifier: GPL-2.0
#include "tcp_frame.h"

#include "../../net/platform/platform.h"
#include "../../net/rds/ref.h"
#include "../../net/rds/result.h"
#include "../../net/rds/wire.h"

namespace
{

using Frame = struct rds_tcp_frame;
using rds::read_once;
using rds::write_once;
using rds::err::kEagain;
using rds::err::kEnomem;
using rds::err::kEproto;

/* A step went well and there may be more to do. */
constexpr int kGoOn = 1;
/* Nothing can be done before more bytes come. */
constexpr int kStarved = 0;

/* The rest that one call of feed() has to take. */
struct Bytes {
	struct rds_src *src;
	uint32_t off;
	uint32_t len;
	enum rds_ctx ctx;
	uint32_t used = 0;

	RDS_INLINE uint32_t at_most(uint32_t n) const
	{
		return n < len ? n : len;
	}
	RDS_INLINE void take(uint32_t n)
	{
		off += n;
		len -= n;
		used += n;
	}
};

void enter(Frame &f, enum rds_tcp_frame_state state)
{
	write_once(f.state, static_cast<uint8_t>(state));
}

/* Nothing more is read of this stream. */
int broken(Frame &f)
{
	enter(f, RDS_TCP_FRAME_BROKEN);
	return -kEproto;
}

/* Its bytes are where this host cannot look at them.  The core has not seen that. */
int unreadable(Frame &f)
{
	rds_path_drop(f.path, RDS_DROP_PROTOCOL);
	return broken(f);
}

int take_header(Frame &f, Bytes &b)
{
	uint32_t n = b.at_most(rds::wire::kHeaderBytes - f.have);

	if (!n)
		return kStarved;
	if (rds_src_copy(b.src, b.off, f.header + f.have, n))
		return unreadable(f);
	b.take(n);
	write_once(f.have, static_cast<uint8_t>(f.have + n));
	if (f.have == rds::wire::kHeaderBytes)
		enter(f, RDS_TCP_FRAME_BEGIN);
	return kGoOn;
}

int begin(Frame &f, Bytes &b)
{
	const auto &h = *reinterpret_cast<const rds::wire::Header *>(f.header);
	uint32_t len = rds::wire::get32(h.len);
	int r = rds_recv_begin(f.path, f.header, b.len ? b.src : nullptr, b.at_most(len), b.ctx,
			       &f.m);

	if (r == -kEnomem)
		return -kEagain;
	if (r != 0 && r != RDS_RECV_SKIP) {
		f.m = nullptr;
		return broken(f);
	}
	if (r)
		f.m = nullptr;
	write_once(f.left, len);
	write_once(f.have, uint8_t{0});
	enter(f, f.m ? RDS_TCP_FRAME_PAYLOAD : RDS_TCP_FRAME_SKIP);
	return kGoOn;
}

int take_payload(Frame &f, Bytes &b)
{
	uint32_t n = b.at_most(f.left);

	if (n) {
		int r = rds_recv_more(f.path, f.m, b.src, b.off, n, b.ctx);

		if (r == -kEnomem)
			return -kEagain;
		if (r == -kEproto)
			return broken(f);
		if (r)
			return unreadable(f);
		b.take(n);
		write_once(f.left, f.left - n);
	}
	if (f.left)
		return kStarved;
	enter(f, RDS_TCP_FRAME_DELIVER);
	return kGoOn;
}

int skip(Frame &f, Bytes &b)
{
	uint32_t n = b.at_most(f.left);

	b.take(n);
	write_once(f.left, f.left - n);
	if (f.left)
		return kStarved;
	enter(f, RDS_TCP_FRAME_HEADER);
	return kGoOn;
}

int deliver(Frame &f)
{
	if (rds_recv_incoming(f.path, f.m))
		return -kEagain;
	f.m = nullptr;
	enter(f, RDS_TCP_FRAME_HEADER);
	return kGoOn;
}

int step(Frame &f, Bytes &b)
{
	switch (f.state) {
	case RDS_TCP_FRAME_HEADER:
		return take_header(f, b);
	case RDS_TCP_FRAME_BEGIN:
		return begin(f, b);
	case RDS_TCP_FRAME_PAYLOAD:
		return take_payload(f, b);
	case RDS_TCP_FRAME_SKIP:
		return skip(f, b);
	case RDS_TCP_FRAME_DELIVER:
		return deliver(f);
	}
	return -kEproto;
}

} // namespace

extern "C" {

void rds_tcp_frame_init(struct rds_tcp_frame *f, struct rds_path *path)
{
	f->path = path;
	f->m = nullptr;
	write_once(f->left, 0u);
	write_once(f->have, uint8_t{0});
	enter(*f, RDS_TCP_FRAME_HEADER);
}

int rds_tcp_frame_feed(struct rds_tcp_frame *f, struct rds_src *src, uint32_t off, uint32_t len,
		       enum rds_ctx ctx, uint32_t *used)
{
	Bytes b{.src = src, .off = off, .len = len, .ctx = ctx};
	int r;

	do
		r = step(*f, b);
	while (r == kGoOn);
	*used = b.used;
	return r;
}

void rds_tcp_frame_reset(struct rds_tcp_frame *f)
{
	if (f->m)
		rds_msg_put(f->m);
	rds_tcp_frame_init(f, f->path);
}

uint32_t rds_tcp_frame_header_left(const struct rds_tcp_frame *f)
{
	uint8_t state = read_once(f->state);
	bool inside = state == RDS_TCP_FRAME_PAYLOAD || state == RDS_TCP_FRAME_SKIP ||
		      state == RDS_TCP_FRAME_DELIVER;

	return inside ? 0 : rds::wire::kHeaderBytes - read_once(f->have);
}

int rds_tcp_frame_midway(const struct rds_tcp_frame *f)
{
	return rds_tcp_frame_header_left(f) != rds::wire::kHeaderBytes;
}

uint32_t rds_tcp_frame_wants(const struct rds_tcp_frame *f)
{
	uint8_t have = read_once(f->have);

	if (read_once(f->state) == RDS_TCP_FRAME_HEADER)
		return have ? rds::wire::kHeaderBytes - have : 0;
	return rds_tcp_frame_payload_left(f);
}

uint32_t rds_tcp_frame_payload_left(const struct rds_tcp_frame *f)
{
	uint8_t state = read_once(f->state);

	return state == RDS_TCP_FRAME_PAYLOAD || state == RDS_TCP_FRAME_SKIP ? read_once(f->left)
									     : 0;
}

} // extern "C"
