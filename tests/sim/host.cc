// SPDX-License-Identifier: GPL-2.0
#include "host.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <arpa/inet.h>

#include "net/rds/ref.h"

namespace host
{

std::atomic<uint64_t> date = 1;
void (*on_wake)(Sock *s);
void (*wake_sleepers)(struct rds_socket *s, unsigned int what);
void (*on_limit)();
void (*on_state)(const struct rds_path *p, unsigned int from, unsigned int to, unsigned int why);
void (*on_event)(const struct rds_path *p, unsigned int event, unsigned int from);
void (*on_drop)(const struct rds_path *p, unsigned int why, uint64_t seq, uint32_t len,
		uint16_t sport, uint16_t dport);
void (*on_cong)(int ours, const struct rds_addr *addr, unsigned int port, enum rds_cong_news news);
void (*on_module_request)(const char *name, int for_all);
std::atomic<unsigned int> bugs;
std::atomic<const char *> last_bug;
std::atomic<unsigned int> logged;

namespace
{

struct rds_addr from_bytes(const unsigned char *b)
{
	struct rds_addr a;

	static_assert(sizeof(a) == 16);
	memcpy(&a, b, sizeof(a));
	return a;
}

} // namespace

struct rds_addr addr4(unsigned int n)
{
	unsigned char b[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 0};

	b[14] = static_cast<unsigned char>(n >> 8);
	b[15] = static_cast<unsigned char>(n);
	return from_bytes(b);
}

struct rds_addr addr6(unsigned int n)
{
	unsigned char b[16] = {0xfd};

	b[14] = static_cast<unsigned char>(n >> 8);
	b[15] = static_cast<unsigned char>(n);
	return from_bytes(b);
}

struct rds_endpoint endpoint(const struct rds_addr &a, uint16_t port, uint32_t scope)
{
	struct rds_endpoint ep = {};

	ep.addr = a;
	ep.port = port;
	ep.scope = scope;
	return ep;
}

std::string show(const struct rds_addr &a)
{
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(AF_INET6, &a, text, sizeof(text));
	return text;
}

void count_wake(struct rds_socket *core, unsigned int what)
{
	Sock *s = Sock::of(core);

	if (what & RDS_WAKE_READ)
		s->woken_read.fetch_add(1);
	if (what & RDS_WAKE_WRITE)
		s->woken_write.fetch_add(1);
	if (what & RDS_WAKE_CONG)
		s->woken_cong.fetch_add(1);
	s->woken.fetch_add(1);
	if (on_wake)
		on_wake(s);
}

Net::Net(std::vector<struct rds_addr> local)
	: local_(std::move(local)), core_(rds_net_create(os(), &stats_))
{
	if (core_)
		rds_net_tunables(core_)->recv_spill_bytes = kSpillBytes;
}

Net::~Net()
{
	if (core_)
		rds_net_destroy(core_);
}

bool Net::is_local(const struct rds_addr &a) const
{
	for (const auto &l : local_)
		if (!memcmp(&l, &a, sizeof(a)))
			return true;
	return false;
}

void Net::add(const struct rds_addr &a)
{
	add_quietly(a);
	rds_net_addrs_changed(core_);
}

void Net::add_quietly(const struct rds_addr &a)
{
	local_.push_back(a);
}

void Net::remove(const struct rds_addr &a)
{
	remove_quietly(a);
	rds_net_addrs_changed(core_);
}

void Net::remove_quietly(const struct rds_addr &a)
{
	std::erase_if(local_, [&](const auto &l) { return !memcmp(&l, &a, sizeof(a)); });
}

std::string Net::show_stats() const
{
	std::string out;

	for (unsigned int i = 0; i < RDS_STAT_COUNT; i++)
		if (stats_.v[i].load())
			out += std::string(rds_stat_name(i)) + " " +
			       std::to_string(stats_.v[i].load()) + "\n";
	return out;
}

int laddr_is_local(struct rds_os_net *os, const struct rds_addr *addr, uint32_t scope)
{
	(void)scope;
	return Net::of(os)->is_local(*addr) ? 0 : -99;
}

Socket::Socket(Net &net, uint32_t uid)
{
	void *p = ::operator new(sizeof(Sock) + rds_socket_size());

	sock_ = new (p) Sock;
	do
		opened = rds_socket_init(core(), net.core(), uid);
	while (opened == -12); /* a program tries again */
	if (opened) {
		sock_->gone = true;
		sock_->~Sock();
		::operator delete(p);
		sock_ = nullptr;
	}
}

int Socket::send_made(const struct rds_endpoint &to, struct rds_msg *m, bool more, uint32_t order)
{
	int ret = order ? rds_msg_set_order(core(), m, order) : 0;

	if (!ret)
		ret = rds_socket_send(core(), &to, m, more);
	if (ret)
		rds_msg_drop(core(), m);
	return ret;
}

int Socket::send(const struct rds_endpoint &to, std::span<const unsigned char> data, bool more,
		 uint32_t order)
{
	struct rds_uio from;
	struct rds_msg *m = nullptr;
	int ret;

	from.base = const_cast<unsigned char *>(data.data());
	from.len = data.size();
	ret = rds_msg_create(core(), &to, static_cast<uint32_t>(data.size()), &from, 0, 0, &m);
	return ret ? ret : send_made(to, m, more, order);
}

int Socket::send_zcopy(const struct rds_endpoint &to, std::span<const unsigned char> data,
		       uint32_t cookie, uint32_t order)
{
	struct rds_uio from;
	struct rds_msg *m = nullptr;
	int ret;

	from.base = const_cast<unsigned char *>(data.data());
	from.len = data.size();
	ret = rds_msg_create(core(), &to, static_cast<uint32_t>(data.size()), &from, 1, cookie, &m);
	return ret ? ret : send_made(to, m, false, order);
}

int Socket::send_rdma(const struct rds_endpoint &to, std::span<const unsigned char> data,
		      const struct rds_op_args *op, uint64_t cookie)
{
	struct rds_uio from;
	struct rds_msg *m = nullptr;
	int ret;

	from.base = const_cast<unsigned char *>(data.data());
	from.len = data.size();
	ret = rds_msg_create(core(), &to, static_cast<uint32_t>(data.size()), &from, 0, 0, &m);
	if (ret)
		return ret;
	if (op)
		ret = rds_msg_set_op(core(), m, op);
	if (!ret && cookie)
		ret = rds_msg_set_cookie(core(), m, cookie);
	if (!ret)
		return send_made(to, m, false);
	rds_msg_drop(core(), m);
	return ret;
}

std::vector<struct rds_notice> Socket::notices()
{
	std::vector<struct rds_notice> all;
	struct rds_notice some[4];

	while (unsigned int n = rds_socket_notices(core(), some, 4)) {
		all.insert(all.end(), some, some + n);
		rds_socket_notices_done(core(), n);
	}
	return all;
}

std::optional<Received> Socket::recv()
{
	Received r = {};
	struct rds_uio to;
	struct rds_msg *m;
	int ret;

	if (rds_recv_lock(core()))
		return std::nullopt;
	m = rds_recv_head(core(), &r.info);
	if (!m) {
		rds_recv_unlock(core());
		return std::nullopt;
	}
	r.data.resize(r.info.len);
	to.base = r.data.data();
	to.len = r.data.size();
	ret = rds_recv_copy(core(), m, r.info.len, &to);
	if (ret)
		rds_bug("a buffer without faults did fault");
	rds_recv_pop(core(), 1);
	rds_recv_unlock(core());
	return r;
}

void Socket::close()
{
	if (!sock_)
		return;
	rds_socket_release(core());
	rds_rcu_defer(&sock_->rcu, [](struct rds_rcu_head *h) {
		auto *s =
			reinterpret_cast<Sock *>(reinterpret_cast<char *>(h) - offsetof(Sock, rcu));

		s->gone = true;
		rds_socket_destroy(s->core());
		if (s->charged)
			rds_bug("memory of a socket that is gone is still paid for");
		s->~Sock();
		rds::full_fence(); /* what this processor stored of it is in memory */
		::operator delete(s);
	});
	sock_ = nullptr;
}

} // namespace host

using host::Sock;

extern "C" {

int rds_caller_is_admin(struct rds_os_net *os)
{
	return host::Net::of(os)->admin;
}

/* ---- payload ---- */

uint32_t rds_payload_footprint(uint32_t len)
{
	if (!len)
		return 0;
	return static_cast<uint32_t>(sizeof(struct rds_payload)) +
	       (len <= host::kInlineBytes ? (len + 7) / 8 * 8 : 0);
}

uint32_t rds_payload_memory(uint32_t len)
{
	return rds_payload_footprint(len) + (len > host::kInlineBytes ? len : 0);
}

/* For @bytes of a payload, and never for twice as many: 0 or -ENOMEM. */
static int make_room(struct rds_payload *p, uint32_t bytes, enum rds_ctx ctx)
{
	if (bytes <= p->room)
		return 0;

	uint32_t room = std::min(p->len, std::max(bytes, 2 * p->room));
	auto *more = static_cast<unsigned char *>(rds_alloc(room, ctx));

	if (!more)
		return -12;
	if (p->have)
		memcpy(more, p->bytes, p->have);
	if (p->bytes != p->small)
		rds_free(p->bytes);
	p->bytes = more;
	p->room = room;
	return 0;
}

int rds_payload_init(struct rds_payload *p, uint32_t len, const struct rds_src *src, uint32_t soon,
		     enum rds_ctx ctx)
{
	(void)src;
	p->len = len;
	p->have = 0;
	p->pinned = p->unreadable = 0;
	p->bytes = p->small;
	p->room = len <= host::kInlineBytes ? len : 0;
	if (len <= host::kInlineBytes)
		return 0;
	return make_room(p, soon, ctx);
}

int rds_payload_from_user(struct rds_payload *p, struct rds_uio *from)
{
	if (from->off + p->len > from->len || from->off + p->len > from->fault_at)
		return -14;
	memcpy(p->bytes, from->base + from->off, p->len);
	from->off += p->len;
	p->have = p->len;
	return 0;
}

int rds_payload_pin_user(struct rds_payload *p, uint32_t len, struct rds_uio *from)
{
	int ret = rds_payload_init(p, len, nullptr, len, RDS_MAY_SLEEP);

	if (ret)
		return ret;
	p->pinned = 1;
	ret = rds_payload_from_user(p, from);
	if (ret)
		rds_payload_destroy(p);
	return ret;
}

int rds_payload_unpin(struct rds_payload *p)
{
	if (!p->pinned)
		rds_bug("unpins what is not pinned");

	/* As the kernel's: the copy needs memory. */
	void *probe = rds_alloc(p->len, RDS_MAY_SLEEP);

	if (!probe)
		return -12;
	rds_free(probe);
	p->pinned = 0;
	return 0;
}

void rds_payload_from_mem(struct rds_payload *p, const void *from)
{
	memcpy(p->bytes, from, p->len);
	p->have = p->len;
}

int rds_payload_append(struct rds_payload *p, struct rds_src *src, uint32_t off, uint32_t n,
		       enum rds_ctx ctx)
{
	if (n > p->len - p->have)
		rds_bug("payload overrun");
	if (make_room(p, p->have + n, ctx))
		return -12;
	/* As the kernel's, which keeps the buffer and looks later. */
	if (rds_src_copy(src, off, p->bytes + p->have, n))
		p->unreadable = 1;
	p->have += n;
	return 0;
}

int rds_payload_to_user(const struct rds_payload *p, uint32_t off, uint32_t n, struct rds_uio *to)
{
	if (n > p->have || off > p->have - n)
		rds_bug("payload read beyond what is there");
	if (to->off + n > to->len || to->off + n > to->fault_at)
		return -14;
	memcpy(to->base + to->off, p->bytes + off, n);
	to->off += n;
	return 0;
}

int rds_payload_to_mem(const struct rds_payload *p, uint32_t off, uint32_t n, void *to)
{
	if (n > p->have || off > p->have - n)
		rds_bug("payload read beyond what is there");
	if (p->unreadable)
		return -14;
	memcpy(to, p->bytes + off, n);
	return 0;
}

uint32_t rds_payload_truesize(const struct rds_payload *p)
{
	/* Pages that were lent are their owner's. */
	return p->pinned || p->bytes == p->small ? 0 : p->room;
}

void rds_payload_destroy(struct rds_payload *p)
{
	if (p->bytes != p->small)
		rds_free(p->bytes);
	p->bytes = nullptr;
}

int rds_src_copy(const struct rds_src *src, uint32_t off, void *to, uint32_t n)
{
	if (n > src->len || off > src->len - n)
		rds_bug("source read beyond its end");
	if (src->unreadable)
		return -14;
	memcpy(to, src->data + off, n);
	return 0;
}

/* ---- sockets ---- */

uint32_t rds_socket_sndbuf(const struct rds_socket *s)
{
	if (host::on_limit)
		host::on_limit();
	return Sock::of(s)->sndbuf.load();
}

uint32_t rds_socket_rcvbuf(const struct rds_socket *s)
{
	return Sock::of(s)->rcvbuf.load();
}

/* Fails as any allocation does; who may not wait is sent away every eighth time. */
int rds_socket_pay(struct rds_socket *s, uint32_t bytes, enum rds_ctx ctx)
{
	if (ctx == RDS_MAY_SLEEP) {
		void *probe = rds_alloc(1, RDS_MAY_SLEEP);

		if (!probe)
			return -12;
		rds_free(probe);
	} else if (Sock::of(s)->poor) {
		return -12;
	} else if (Sock::of(s)->charges++ % 8 == 7) {
		return -11;
	}
	Sock::of(s)->charged += bytes;
	return 0;
}

int rds_socket_repay(struct rds_socket *s, uint32_t bytes)
{
	if (!Sock::of(s)->gone && Sock::of(s)->charges++ % 8 == 7)
		return -11;
	if (Sock::of(s)->charged < bytes)
		rds_bug("more is taken back than was paid");
	Sock::of(s)->charged -= bytes;
	return 0;
}

uint64_t rds_socket_stamp(const struct rds_socket *s)
{
	return Sock::of(s)->stamps.load() ? rds_now_ns() + host::date.load() : 0;
}

/* ---- counters, log, trace ---- */

void rds_stat_add(struct rds_stats *st, unsigned int id, uint64_t n)
{
	st->v[id].fetch_add(n, std::memory_order_relaxed);
}

void rds_log(const char *what, const struct rds_addr *laddr, const struct rds_addr *faddr)
{
	(void)what;
	(void)laddr;
	(void)faddr;
	host::logged.fetch_add(1);
}

void rds_bug(const char *what)
{
	host::bugs.fetch_add(1);
	host::last_bug.store(what);
	fprintf(stderr, "rds_bug: %s\n", what);
}

void rds_trace_state(const struct rds_path *p, unsigned int from, unsigned int to, unsigned int why)
{
	if (host::on_state)
		host::on_state(p, from, to, why);
}

void rds_trace_event(const struct rds_path *p, unsigned int event, unsigned int from)
{
	if (host::on_event)
		host::on_event(p, event, from);
}

void rds_trace_drop(const struct rds_path *p, unsigned int why, uint64_t seq, uint32_t len,
		    uint16_t sport, uint16_t dport)
{
	if (host::on_drop)
		host::on_drop(p, why, seq, len, sport, dport);
}

void rds_trace_cong(struct rds_os_net *, int ours, const struct rds_addr *addr, unsigned int port,
		    enum rds_cong_news news)
{
	if (host::on_cong)
		host::on_cong(ours, addr, port, news);
}

/* ---- modules ---- */

int rds_module_get(struct rds_module *m)
{
	if (!m)
		return 0;
	/* Counted first, looked second: an unload says that it dies and then looks at the count. */
	m->refs.fetch_add(1);
	if (!m->dying.load())
		return 0;
	m->refs.fetch_sub(1);
	return -2;
}

void rds_module_put(struct rds_module *m)
{
	if (m && m->refs.fetch_sub(1) <= 0)
		rds_bug("module reference dropped twice");
}

void rds_module_request(const char *name, int for_all)
{
	if (host::on_module_request)
		host::on_module_request(name, for_all);
}

} // extern "C"
