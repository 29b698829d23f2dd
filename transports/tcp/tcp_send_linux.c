// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_send_linux.c: messages into TCP, and what TCP says about them later.
 *
 * Messages with small payloads are gathered, headers and all, and copied by one
 * tcp_sendmsg_locked(); payloads in pages are handed over by reference, and so are the headers
 * between them, from the page fragment that TCP copies to as well.  Kinds of pieces, then, and
 * a run of one kind goes in one call: behind each call TCP sends all full segments that it has, and
 * the end of each message would be the end of a packet.  All under one lock_sock.  Instead of
 * corking, every run but the last of a call says MSG_MORE.
 *
 * A receiver in another namespace of this host may get these very pages.  Ours stay as they are
 * while anybody has them, and TCP is told so (MSG_NO_SHARED_FRAGS); a program's own, which it has
 * back when the peer's RDS has acknowledged them, are a third kind, and whoever receives them knows
 * that they may change (may_change(), payload_skb.c).
 *
 * Acks.  TCP calls write_space() for every ack while SOCK_NOSPACE is set; that is how we hear of
 * them.  Where the core needs them it stays set as long as anything is unacknowledged.  A peer of
 * ours tells by itself what it has, and each ack that TCP tells of costs more than the peer's word:
 * then it is set only for room, and while TCP has bytes that it could not send, perhaps because the
 * window is closed, for the answers to its probes.  A long tcp_sendmsg_locked() may take in acks of
 * its own first bytes (sk_flush_backlog) before it returns and we know what was sent.
 */
#include "tcp_linux.h"

#include "../../net/linux/payload.h"

/* Pieces that go into one call: headers and small payloads of all messages of one xmit; or as many
 * headers and pages, which may be fewer messages than that. */
#define RDS_TCP_PIECES 64
/* Headers in a run of messages with pages: each is followed by a page at least. */
#define RDS_TCP_RUN_HEADERS (RDS_TCP_PIECES / 2)

/* How long to wait when TCP had no memory for the very first byte, jiffies. */
#define RDS_TCP_NUDGE_DELAY msecs_to_jiffies(10)

/* The pieces of a run. */
enum rds_tcp_kind {
	RDS_TCP_BYTES,
	RDS_TCP_PAGES, /* of our own, and headers */
	RDS_TCP_LENT,  /* a program's, and headers */
};

/* One call of xmit on its way. */
struct rds_tcp_push {
	struct sock *sk;
	size_t sent;		/* bytes that TCP took */
	int err;		/* why it took no more; 0 */
	unsigned int n;		/* pieces gathered and not sent */
	size_t bytes;		/* in them */
	enum rds_tcp_kind kind; /* but for BYTES they are in @bv */
	struct page *headers;	/* in which headers among them lie, ours until they are sent */
	union {
		struct kvec kv[RDS_TCP_PIECES];
		struct bio_vec bv[RDS_TCP_PIECES];
	};
};

static int rds_tcp_flags(const struct rds_tcp_push *p, bool more)
{
	return MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0) |
	       (p->kind == RDS_TCP_PAGES ? MSG_NO_SHARED_FRAGS : 0);
}

/* TCP answered @r to @want bytes; false: it took less, stop. */
static bool rds_tcp_advance(struct rds_tcp_push *p, long r, size_t want)
{
	if (r > 0)
		p->sent += r;
	if (r == want)
		return true;
	p->err = r < 0 ? r : -EAGAIN;
	return false;
}

#ifdef RDS_HAVE_SPLICE_PAGES
static bool rds_tcp_send_pages(struct rds_tcp_push *p, unsigned int n, size_t bytes, bool more)
{
	struct msghdr msg = {.msg_flags = rds_tcp_flags(p, more) | MSG_SPLICE_PAGES};

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, p->bv, n, bytes);
	return rds_tcp_advance(p, tcp_sendmsg_locked(p->sk, &msg, bytes), bytes);
}
#else
/*
 * TCP takes a reference on the page it is given, so a piece may not run over into the next page,
 * but where the pages of a piece are one compound page and share their count.
 */
static size_t rds_tcp_piece(const struct bio_vec *bv, u32 skip, struct page **page, u32 *off)
{
	*page = bv->bv_page;
	*off = bv->bv_offset + skip;
	if (PageCompound(bv->bv_page))
		return bv->bv_len - skip;
	*page += *off >> PAGE_SHIFT;
	*off = offset_in_page(*off);
	return min_t(size_t, bv->bv_len - skip, PAGE_SIZE - *off);
}

/*
 * NOTLAST: TCP must not cut a segment behind each piece.  Where it has no room for one, it pushes
 * what it has by itself.
 */
static bool rds_tcp_send_pages(struct rds_tcp_push *p, unsigned int n, size_t bytes, bool more)
{
	const struct bio_vec *bv = p->bv;
	struct page *page;
	size_t piece;
	u32 off, skip = 0;
	int r, flags;

	for (; bytes; bytes -= piece) {
		piece = rds_tcp_piece(bv, skip, &page, &off);
		flags = piece < bytes ? rds_tcp_flags(p, true) | MSG_SENDPAGE_NOTLAST
				      : rds_tcp_flags(p, more);
		if (sendpage_ok(page))
			r = tcp_sendpage_locked(p->sk, page, off, piece, flags);
		else
			r = sock_no_sendpage_locked(p->sk, page, off, piece, flags);
		if (!rds_tcp_advance(p, r, piece))
			return false;
		skip += piece;
		if (skip == bv->bv_len) {
			skip = 0;
			bv++;
		}
	}
	return true;
}
#endif

static noinline bool rds_tcp_flush_pages(struct rds_tcp_push *p, bool more)
{
	struct page *headers = p->headers;
	size_t bytes = p->bytes;
	unsigned int n = p->n;
	bool all;

	p->n = 0;
	p->bytes = 0;
	p->headers = NULL;
	all = rds_tcp_send_pages(p, n, bytes, more);
	if (headers)
		put_page(headers);
	return all;
}

/* Sends what was gathered. */
static bool rds_tcp_flush(struct rds_tcp_push *p, bool more)
{
	struct msghdr msg = {.msg_flags = rds_tcp_flags(p, more)};
	size_t want = p->bytes;
	unsigned int n = p->n;

	if (!n)
		return true;
	if (p->kind != RDS_TCP_BYTES)
		return rds_tcp_flush_pages(p, more);
	p->n = 0;
	p->bytes = 0;
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, p->kv, n, want);
	return rds_tcp_advance(p, tcp_sendmsg_locked(p->sk, &msg, want), want);
}

/* Makes room for another piece of that kind. */
static __always_inline bool rds_tcp_make_room(struct rds_tcp_push *p, enum rds_tcp_kind kind)
{
	if ((p->n == RDS_TCP_PIECES || p->kind != kind) && !rds_tcp_flush(p, true))
		return false;
	p->kind = kind;
	return true;
}

/* Gathers the part of @len bytes at @base that begins @skip bytes into it.  Inline, as what calls
 * it: each small message comes here twice. */
static __always_inline bool rds_tcp_gather(struct rds_tcp_push *p, const void *base, u32 len,
					   u32 skip)
{
	if (skip >= len)
		return true;
	if (!rds_tcp_make_room(p, RDS_TCP_BYTES))
		return false;
	p->kv[p->n].iov_base = (void *)base + skip;
	p->kv[p->n++].iov_len = len - skip;
	p->bytes += len - skip;
	return true;
}

/* The same of a payload in pages. */
static noinline bool rds_tcp_gather_pages(struct rds_tcp_push *p, const struct rds_payload *payload,
					  enum rds_tcp_kind kind, u32 skip)
{
	const struct bio_vec *bv = rds_payload_bvecs(payload);
	u32 n, len = payload->len;

	for (; len; bv++, len -= n) {
		n = min(bv->bv_len, len);
		if (skip >= n) {
			skip -= n;
			continue;
		}
		if (!rds_tcp_make_room(p, kind))
			return false;
		bvec_set_page(&p->bv[p->n++], bv->bv_page, n - skip, bv->bv_offset + skip);
		p->bytes += n - skip;
		skip = 0;
	}
	return true;
}

/*
 * Gathers the header of a message with pages, from the fragment that TCP copies to.  The first of a
 * run makes sure that there is room for all of them, and holds the page: TCP, which may have to
 * copy some pieces, begins anew a fragment that nobody holds.  Without memory TCP has to copy the
 * header.
 */
static noinline bool rds_tcp_gather_header(struct rds_tcp_push *p, const void *header,
					   enum rds_tcp_kind kind, u32 skip)
{
	struct page_frag *pf = sk_page_frag(p->sk);
	u32 n = RDS_HEADER_BYTES - skip;

	if (!rds_tcp_make_room(p, kind))
		return false;
	if (!p->headers) {
		if (!skb_page_frag_refill(RDS_TCP_RUN_HEADERS * RDS_HEADER_BYTES, pf,
					  p->sk->sk_allocation))
			return rds_tcp_gather(p, header, RDS_HEADER_BYTES, skip);
		p->headers = pf->page;
		get_page(p->headers);
	}
	memcpy(page_address(pf->page) + pf->offset, header + skip, n);
	bvec_set_page(&p->bv[p->n++], pf->page, n, pf->offset);
	pf->offset += n;
	p->bytes += n;
	return true;
}

/* Gathers @m from byte @skip on, and sends what there is no room for. */
static __always_inline bool rds_tcp_push_msg(struct rds_tcp_push *p, struct rds_msg *m, u32 skip)
{
	const void *header = rds_msg_header(m);
	u32 payload_skip = skip > RDS_HEADER_BYTES ? skip - RDS_HEADER_BYTES : 0;
	u32 len = rds_msg_len(m);
	const struct rds_payload *payload = len ? rds_msg_payload(m) : NULL;
	enum rds_tcp_kind kind;

	if (!len || rds_payload_flat(payload))
		return rds_tcp_gather(p, header, RDS_HEADER_BYTES, skip) &&
		       (!len || rds_tcp_gather(p, rds_payload_data(payload), len, payload_skip));
	kind = rds_payload_lent(payload) ? RDS_TCP_LENT : RDS_TCP_PAGES;
	if (skip < RDS_HEADER_BYTES && !rds_tcp_gather_header(p, header, kind, skip))
		return false;
	return rds_tcp_gather_pages(p, payload, kind, payload_skip);
}

/* Tells the core what was acknowledged since.  Socket locked. */
static void rds_tcp_note_acks(struct rds_tcp_path *tp)
{
	u32 una = tcp_sk(tp->sock->sk)->snd_una;

	sock_owned_by_me(tp->sock->sk);
	if (una == tp->una)
		return;
	/* May be one more than was sent (our FIN counts), or more than we know of yet. */
	tp->acked += (u32)(una - tp->una);
	tp->una = una;
	rds_path_acked(tp->path, tp->acked);
}

/* Books what TCP took; the value of xmit.  Socket locked. */
static long rds_tcp_settle(struct rds_tcp_path *tp, const struct rds_tcp_push *p, bool acks)
{
	tp->sent += p->sent;
	rds_tcp_note_acks(tp);
	if (acks || p->err || tcp_send_head(p->sk))
		set_bit(SOCK_NOSPACE, &tp->sock->flags);
	if (!p->err)
		return p->sent;
	if (p->err != -EAGAIN && !p->sent)
		return p->err;
	rds_tcp_count(tp->tn, RDS_TCP_S_sndbuf_full);
	tp->blocked = true;
	/* write_space() comes with an ack.  When none is due (TCP has had no memory for anything)
	 * somebody else must try again. */
	if (tcp_rtx_and_write_queues_empty(p->sk))
		queue_delayed_work(rds_tcp_wq, &tp->nudge, RDS_TCP_NUDGE_DELAY);
	return p->sent ?: -EAGAIN;
}

/*
 * Called by the holder of the path's token, so tp->sock stays.  Once the connection has ended, or
 * is dead but not read to its end, there is no room: the core hears of the end by
 * rds_path_drop().
 */
long rds_tcp_xmit(void *priv, const struct rds_xmit *x)
{
	struct rds_tcp_path *tp = priv;
	struct rds_tcp_push p __attribute__((__uninitialized__));
	long r = -EAGAIN;
	unsigned int i;

	p.sk = tp->sock->sk;
	p.sent = p.bytes = p.n = 0;
	p.kind = RDS_TCP_BYTES;
	p.headers = NULL;
	p.err = 0;
	lock_sock(p.sk);
	if (tp->phase == RDS_TCP_OPEN && p.sk->sk_state == TCP_ESTABLISHED) {
		tp->blocked = false;
		for (i = 0; i < x->n; i++)
			if (!rds_tcp_push_msg(&p, x->msgs[i], i ? 0 : x->off))
				break;
		if (!p.err)
			rds_tcp_flush(&p, x->more);
		r = rds_tcp_settle(tp, &p, x->acks);
	}
	release_sock(p.sk);
	return r;
}

void rds_tcp_send_start(struct rds_tcp_path *tp)
{
	sock_owned_by_me(tp->sock->sk);
	tp->una = tcp_sk(tp->sock->sk)->snd_una;
	tp->sent = tp->acked = 0;
	tp->blocked = false;
}

/*
 * An ack came, or room in some other way.  Socket locked: by softirq, or by a process that leaves
 * the lock (our own xmit too; it is done by then and holds nothing of the core's).
 */
void rds_tcp_write_space(struct sock *sk)
{
	struct rds_tcp_path *tp = sk->sk_user_data;

	rds_tcp_count(tp->tn, RDS_TCP_S_write_space_calls);
	if (tp->phase == RDS_TCP_CONNECTING)
		return;
	/* A peer that answers is alive, though its window be closed: TCP_USER_TIMEOUT alone would
	 * end that connection, because it counts from the first probe on. */
	inet_csk(sk)->icsk_probes_tstamp = 0;
	rds_tcp_note_acks(tp);
	if (tp->blocked) {
		if (!sk_stream_is_writeable(sk))
			return;
		tp->blocked = false;
		rds_path_writable(tp->path);
	}
	if (tp->acked >= tp->sent)
		clear_bit(SOCK_NOSPACE, &tp->sock->flags);
}

void rds_tcp_nudge(struct work_struct *work)
{
	struct rds_tcp_path *tp = container_of(to_delayed_work(work), struct rds_tcp_path, nudge);

	rds_tcp_count(tp->tn, RDS_TCP_S_nudged);
	rds_path_writable(tp->path);
}
