// SPDX-License-Identifier: GPL-2.0
#include "raw.h"

#include <memory>

#include "sim.h"
#include "transports/tcp/tcp_frame.h"

namespace raw
{
namespace
{

enum class Phase { kClosed, kConnecting, kOpen, kEnded };

struct Wire {
	struct rds_path *path = nullptr;
	struct rds_tcp_frame frame;
	Phase phase = Phase::kClosed;
	bool paused = false;
	host::Bytes rx; /* fed and not read */
	host::Bytes read;
	host::Bytes sent;
};

Wire wire;
struct rds_module module;
Closed closed;

void settle(int status)
{
	if (status == -11) {
		wire.paused = true;
		rds_recv_later(wire.path);
	} else if (status) {
		wire.phase = Phase::kEnded;
	}
}

void receive(enum rds_ctx ctx)
{
	struct rds_src src;
	uint32_t used = 0;
	/* Of its own size: reading beyond is a finding. */
	auto n = static_cast<uint32_t>(wire.rx.size());

	if (wire.phase != Phase::kOpen || wire.paused || !n)
		return;
	src.data = wire.rx.data();
	src.len = n;

	int status = rds_tcp_frame_feed(&wire.frame, &src, 0, n, ctx, &used);

	wire.read.insert(wire.read.end(), wire.rx.begin(), wire.rx.begin() + used);
	wire.rx.erase(wire.rx.begin(), wire.rx.begin() + used);
	wire.rx.shrink_to_fit();
	settle(status);
}

void *path_alloc(struct rds_path *path)
{
	wire = Wire();
	wire.path = path;
	rds_tcp_frame_init(&wire.frame, path);
	return &wire;
}

void path_free(void *)
{
	wire.path = nullptr;
}

int initiates(const void *)
{
	return 1;
}

int connect(void *)
{
	wire.phase = Phase::kConnecting;
	wire.rx.clear();
	wire.read.clear();
	wire.sent.clear();
	return 0;
}

int adopt(void *, void *)
{
	sim::fail("nobody is ever accepted");
}

void discard(void *)
{
}

void shutdown(void *)
{
	rds_path_drained(wire.path);
}

void close(void *)
{
	bool refused = wire.frame.state == RDS_TCP_FRAME_BEGIN ||
		       wire.frame.state == RDS_TCP_FRAME_DELIVER;

	if (closed && (wire.phase == Phase::kOpen || wire.phase == Phase::kEnded))
		closed(wire.read, refused);
	wire.phase = Phase::kClosed;
	wire.paused = false;
	rds_tcp_frame_reset(&wire.frame);
}

long xmit(void *, const struct rds_xmit *x)
{
	size_t before = wire.sent.size() + x->off;

	for (unsigned int i = 0; i < x->n; i++) {
		const unsigned char *h = rds_msg_header(x->msgs[i]);
		uint32_t len = rds_msg_len(x->msgs[i]);
		size_t at = wire.sent.size() + RDS_HEADER_BYTES;

		wire.sent.insert(wire.sent.end(), h, h + RDS_HEADER_BYTES);
		wire.sent.resize(at + len);
		if (len)
			rds_payload_to_mem(rds_msg_payload(x->msgs[i]), 0, len,
					   wire.sent.data() + at);
	}
	return static_cast<long>(wire.sent.size() - before);
}

void recv_retry(void *)
{
	uint32_t used;

	if (wire.paused && wire.phase == Phase::kOpen) {
		wire.paused = false;
		settle(rds_tcp_frame_feed(&wire.frame, nullptr, 0, 0, RDS_MAY_SLEEP, &used));
	}
	receive(RDS_MAY_SLEEP);
}

const struct rds_transport table = {
	.name = "raw",
	.type = 2,
	.caps = RDS_CAP_PREFER_LOOP | RDS_CAP_PROBE | RDS_CAP_TOS_ZERO,
	.max_paths = 1,
	.call_ms = 5000,
	.owner = &module,
	.use = nullptr,
	.unuse = nullptr,
	.laddr_check = host::laddr_is_local,
	.path_alloc = path_alloc,
	.path_free = path_free,
	.initiates = initiates,
	.connect = connect,
	.unanswered = nullptr,
	.adopt = adopt,
	.discard = discard,
	.takeover_refused = nullptr,
	.shutdown = shutdown,
	.close = close,
	.ended = nullptr,
	.xmit = xmit,
	.other_end = nullptr,
	.recv_retry = recv_retry,
	.midway = nullptr,
	.wants = nullptr,
	.facts = nullptr,
	.mr_get = nullptr,
	.mr_free = nullptr,
	.mr_sync = nullptr,
	.mr_flush = nullptr,
	.atomics = nullptr,
	.n_stats = 0,
	.stat_names = nullptr,
	.stats = nullptr,
};

} // namespace

void reset()
{
	wire = Wire();
	closed = nullptr;
	module.refs = 0;
	module.dying = false;
}

const struct rds_transport *ops()
{
	return &table;
}

int module_refs()
{
	return module.refs.load();
}

void make_path(host::Net &net)
{
	struct rds_addr laddr = host::addr4(kLocal), faddr = host::addr4(kPeer);
	int err = 0;
	struct rds_conn *c = rds_conn_get(net.core(), &table, &laddr, &faddr, 0, 0, &err);

	if (!c)
		sim::fail("no connection");
	/* As the peer would by calling: the first connect. */
	rds_path_knocked(rds_conn_path(c, 0));
	rds_conn_put(c);
}

struct rds_path *path()
{
	return wire.path;
}

void establish()
{
	wire.phase = Phase::kOpen;
	rds_path_connected(wire.path);
}

bool connecting()
{
	return wire.phase == Phase::kConnecting;
}

bool open()
{
	return wire.phase == Phase::kOpen;
}

void feed(const unsigned char *data, size_t len)
{
	if (wire.phase != Phase::kOpen)
		return;
	wire.rx.insert(wire.rx.end(), data, data + len);
	receive(RDS_ATOMIC);
}

void hang_up()
{
	wire.phase = Phase::kEnded;
	rds_path_drop(wire.path, RDS_DROP_ERROR);
}

void on_closed(Closed fn)
{
	closed = std::move(fn);
}

bool between_frames()
{
	return wire.frame.state == RDS_TCP_FRAME_HEADER && !wire.frame.have && wire.rx.empty();
}

size_t under_way()
{
	return wire.frame.m ? rds_msg_len(wire.frame.m) : 0;
}

const host::Bytes &sent()
{
	return wire.sent;
}

void acknowledge()
{
	rds_path_acked(wire.path, wire.sent.size());
}

} // namespace raw
