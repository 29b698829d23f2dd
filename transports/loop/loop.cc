// SPDX-License-Identifier: GPL-2.0
#include "loop.h"

#include "../../net/rds/bug.h"
#include "../../net/rds/limits.h"
#include "../../net/rds/lock.h"
#include "../../net/rds/ref.h"
#include "../../net/rds/result.h"

namespace rds::loop
{
namespace
{

/* One direction of the wire. */
struct Wire {
	struct rds_path *path;
	struct rds_path *reverse = nullptr; /* where it comes out; referenced while connected */
	struct rds_conn *reverse_conn = nullptr;
	uint64_t delivered = 0; /* bytes since connect */
};

/* 127.0.0.0/8 and ::1 are the core's own rule; other local addresses come here by PREFER_LOOP. */
int laddr_check(struct rds_os_net *, const struct rds_addr *, uint32_t)
{
	return -err::kEaddrnotavail;
}

void *path_alloc(struct rds_path *path)
{
	auto *w = create<Wire>(RDS_MAY_SLEEP);

	if (w)
		w->path = path;
	return w;
}

void close(void *tp)
{
	auto *w = static_cast<Wire *>(tp);

	if (w->reverse_conn)
		rds_conn_put(w->reverse_conn);
	w->reverse_conn = nullptr;
	w->reverse = nullptr;
	w->delivered = 0;
}

void path_free(void *tp)
{
	auto *w = static_cast<Wire *>(tp);

	if (bug_on(w->reverse_conn, "a path of loopback is freed that is connected"))
		close(tp);
	destroy(w);
}

int initiates(const void *)
{
	return 0; /* connects when there is something to send */
}

int connect(void *tp);

int adopt(void *, void *)
{
	return -err::kEopnotsupp; /* nothing is ever accepted */
}

void discard(void *)
{
}

void shutdown(void *tp)
{
	rds_path_drained(static_cast<Wire *>(tp)->path);
}

/* Whole messages only: what the receiver has no room for is offered again from its first byte. */
long xmit(void *tp, const struct rds_xmit *x)
{
	auto *w = static_cast<Wire *>(tp);
	uint64_t before = w->delivered;

	for (unsigned int i = 0; i < x->n; i++) {
		struct rds_msg *m = x->msgs[i];
		uint32_t size = RDS_HEADER_BYTES + rds_msg_len(m);

		rds_msg_get(m);
		if (rds_recv_incoming(w->reverse, m)) {
			rds_msg_put(m);
			rds_recv_later(w->path);
			break;
		}
		w->delivered += size;
	}
	if (w->delivered == before)
		return -err::kEagain;
	rds_path_acked(w->path, w->delivered);
	return static_cast<long>(w->delivered - before);
}

struct rds_path *other_end(const void *tp)
{
	return static_cast<const Wire *>(tp)->reverse;
}

/* The pause for a full receiver is over. */
void recv_retry(void *tp)
{
	rds_path_writable(static_cast<Wire *>(tp)->path);
}

struct rds_transport ops = {
	.name = "loopback",
	.type = 3, /* RDS_TRANS_LOOP */
	.caps = RDS_CAP_SHARED_CONG,
	.max_paths = 1,
	.call_ms = 5000,
	.owner = nullptr,
	.use = nullptr,
	.unuse = nullptr,
	.laddr_check = laddr_check,
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
	.other_end = other_end,
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

/* Finds (or makes) the connection at the other end, which is on this host too. */
int connect(void *tp)
{
	auto *w = static_cast<Wire *>(tp);
	int bad = 0;

	if (bug_on(w->reverse_conn, "a path of loopback is connected twice"))
		close(tp);
	w->reverse_conn = rds_conn_get(rds_path_net(w->path), &ops, rds_path_faddr(w->path),
				       rds_path_laddr(w->path), rds_path_scope(w->path), 0, &bad);
	if (!w->reverse_conn)
		return bad;
	w->reverse = rds_conn_path(w->reverse_conn, 0);
	rds_path_connected(w->path);
	return 0;
}

} // namespace
} // namespace rds::loop

const struct rds_transport *rds_loop_init(struct rds_module *owner)
{
	rds::loop::ops.owner = owner;
	return &rds::loop::ops;
}
