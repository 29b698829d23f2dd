// SPDX-License-Identifier: GPL-2.0
#include "wire.h"

#include <cstring>

#include <arpa/inet.h>

#include "sim.h"
#include "transports/tcp/tcp_duel.h"
#include "transports/tcp/tcp_frame.h"

namespace scale
{
namespace
{

constexpr uint64_t kDelayNs = 5000;

/* The transport's part of a path.  Both ends stay until all traffic is over. */
struct Wire {
	struct rds_path *path;
	Wire *peer = nullptr; /* while connected */
	uint64_t sent = 0;
	struct rds_tcp_frame frame;
};

std::vector<host::Net *> &hosts()
{
	static auto *v = new std::vector<host::Net *>;
	return *v;
}

host::Net *host_at(const struct rds_addr &a)
{
	unsigned char b[16];
	uint32_t n;

	memcpy(b, &a, sizeof(b));
	memcpy(&n, b + 12, sizeof(n));
	n = ntohl(n);
	return n < hosts().size() ? hosts()[n] : nullptr;
}

void *path_alloc(struct rds_path *path)
{
	void *mem = rds_alloc(sizeof(Wire), RDS_MAY_SLEEP);

	if (!mem)
		return nullptr;

	auto *w = new (mem) Wire;

	w->path = path;
	rds_tcp_frame_init(&w->frame, path);
	return w;
}

void path_free(void *tp)
{
	rds_free(tp);
}

int midway(const void *tp)
{
	return rds_tcp_frame_midway(&static_cast<const Wire *>(tp)->frame);
}

uint32_t wants(const void *tp)
{
	return rds_tcp_frame_wants(&static_cast<const Wire *>(tp)->frame);
}

int initiates(const void *tp)
{
	auto *w = static_cast<const Wire *>(tp);

	return rds_tcp_is_caller(rds_path_laddr(w->path), rds_path_faddr(w->path));
}

/* The peer's path hears of the call then and there; what it does about it, its worker does. */
int connect(void *tp)
{
	auto *w = static_cast<Wire *>(tp);
	const struct rds_addr *laddr = rds_path_laddr(w->path), *faddr = rds_path_faddr(w->path);
	host::Net *net = host_at(*faddr);
	struct rds_conn *conn;
	int err = 0;

	if (!net)
		return -113;
	conn = rds_conn_get(net->core(), wire_ops(), faddr, laddr, 0, 0, &err);
	if (!conn)
		return err;
	if (rds_tcp_is_caller(laddr, faddr)) {
		rds_path_accepted(rds_conn_path(conn, 0), w);
	} else {
		rds_path_knocked(rds_conn_path(conn, 0));
		rds_path_drop(w->path, RDS_DROP_KNOCKED);
	}
	rds_conn_put(conn);
	return 0;
}

int adopt(void *tp, void *handle)
{
	auto *w = static_cast<Wire *>(tp);

	w->peer = static_cast<Wire *>(handle);
	w->peer->peer = w;
	rds_path_connected(w->peer->path);
	return 0;
}

void discard(void *)
{
}

void shutdown(void *tp)
{
	rds_path_drained(static_cast<Wire *>(tp)->path);
}

void close(void *tp)
{
	auto *w = static_cast<Wire *>(tp);

	if (w->peer) {
		w->peer->peer = nullptr;
		rds_path_drop(w->peer->path, RDS_DROP_PEER_CLOSED);
	}
	w->peer = nullptr;
	w->sent = 0;
	rds_tcp_frame_reset(&w->frame);
}

void feed(Wire &w, const unsigned char *data, uint32_t len)
{
	struct rds_src src;
	uint32_t used = 0;

	src.data = data;
	src.len = len;
	if (rds_tcp_frame_feed(&w.frame, &src, 0, len, RDS_ATOMIC, &used) || used != len)
		sim::fail("the receiver refused something");
}

long xmit(void *tp, const struct rds_xmit *x)
{
	auto *w = static_cast<Wire *>(tp);
	host::Bytes payload;
	long bytes = 0;

	if (!w->peer)
		return -32;
	for (unsigned int i = 0; i < x->n; i++) {
		uint32_t len = rds_msg_len(x->msgs[i]);

		feed(*w->peer, rds_msg_header(x->msgs[i]), RDS_HEADER_BYTES);
		payload.resize(len);
		if (len) {
			rds_payload_to_mem(rds_msg_payload(x->msgs[i]), 0, len, payload.data());
			feed(*w->peer, payload.data(), len);
		}
		bytes += RDS_HEADER_BYTES + len;
	}
	w->sent += static_cast<uint64_t>(bytes);
	sim::after(kDelayNs, "ack",
		   [path = w->path, upto = w->sent] { rds_path_acked(path, upto); });
	return bytes;
}

void recv_retry(void *)
{
}

struct rds_transport table = {
	.name = "tcp",
	.type = 2,
	.caps = RDS_CAP_PREFER_LOOP | RDS_CAP_COALESCE | RDS_CAP_PROBE | RDS_CAP_TOS_ZERO,
	.max_paths = 1,
	.call_ms = 5000,
	.owner = nullptr,
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
	.midway = midway,
	.wants = wants,
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

struct rds_addr addr_of(uint32_t n)
{
	unsigned char b[16] = {0xfd};
	struct rds_addr a;

	n = htonl(n);
	memcpy(b + 12, &n, sizeof(n));
	memcpy(&a, b, sizeof(a));
	return a;
}

void plug(uint32_t n, host::Net &net)
{
	if (hosts().size() <= n)
		hosts().resize(n + 1);
	hosts()[n] = &net;
}

const struct rds_transport *wire_ops()
{
	table.owner = &wire_module();
	return &table;
}

struct rds_module &wire_module()
{
	static auto *m = new struct rds_module;
	return *m;
}

size_t wire_bytes()
{
	return sizeof(Wire);
}

} // namespace scale
