// SPDX-License-Identifier: GPL-2.0
#include "recv.h"

#include "conn/connection.h"
#include "rdma.h"
#include "socket/recv_query.h"
#include "socket/socket.h"

namespace rds
{
namespace
{

/* A message or frame that came is thrown away: counted, and traced by the counter's name. */
void note_drop(Path &p, const wire::Fields &f, enum rds_stat why)
{
	p.conn.net.count(why);
	rds_trace_drop(&p, why, f.seq, f.len, f.sport, f.dport);
}

/* Answers the ping @f, or a probe, and then says how many paths we have for mainline's. */
void send_pong(Path &p, const wire::Fields &f)
{
	Net &net = p.conn.net;
	uint16_t dport = f.sport;

	if (p.pongs.load() >= kMaxPongs) {
		note_drop(p, f, RDS_S_recv_pong_dropped);
		return;
	}

	Message *m = message_create(0, RDS_ATOMIC);

	if (!m) {
		net.count(RDS_S_send_no_memory);
		return;
	}
	wire::encode(m->hdr, 0, kPingPort, dport, 0);
	if (dport == kProbePort)
		(void)wire::ExtWriter(m->hdr).npaths(kMainlinePaths);
	m->flags = kMsgPong;
	p.pongs.fetch_add(1);
	net.count(RDS_S_send_pong);
	if (!p.enqueue(m, false, nullptr).ok()) {
		p.pongs.fetch_sub(1);
		message_put(m);
	}
}

/* Any peer can do what is told here as often as it likes: the counter says how often. */
void log_rarely(Path &p, const char *what)
{
	Net &net = p.conn.net;
	uint64_t now = rds_now_ns(), until = net.log_after_ns.load();

	if (now >= until && net.log_after_ns.compare_exchange(until, now + kLogPauseNs))
		rds_log(what, &p.conn.laddr, &p.conn.faddr);
}

/* As mainline's make them over queue pairs: heartbeats too, which nobody has to answer. */
bool is_bare_ack(const Path &p, const wire::Fields &f)
{
	return !f.seq && !f.sport && !f.dport && !f.len && p.conn.trans.caps & RDS_CAP_NUMBERED;
}

int no_memory(Path &p)
{
	p.conn.net.count(RDS_S_recv_no_memory);
	return -err::kEnomem;
}

/* Checks a header before anything is allocated: 0, RDS_RECV_SKIP or -EPROTO. */
int check_header(Path &p, const wire::Header &h, const wire::Fields &f) RDS_REQUIRES(kReceiver)
{
	Net &net = p.conn.net;

	if (f.len > kMaxMessageBytes) {
		note_drop(p, f, RDS_S_recv_drop_bad_length);
		log_rarely(p, "message longer than the limit: path reset");
		p.drop(RDS_DROP_PROTOCOL);
		return -err::kEproto;
	}
	if (f.flags == wire::kCongBitmap) {
		if (f.len == kCongMapBytes)
			return 0;
		note_drop(p, f, RDS_S_recv_drop_bad_cong);
		return RDS_RECV_SKIP;
	}
	if (f.flags & ~wire::kKnownFlags)
		net.count(RDS_S_recv_bad_flags);
	if (wire::is_control(f) || is_bare_ack(p, f)) {
		if (RDS_UNLIKELY(wire::tells_of_ports(h)) && p.hear_of_port(h))
			return no_memory(p);
		if (p.peer() == Peer::kAcks)
			net.count(RDS_S_recv_ack_only);
		else
			note_drop(p, f, RDS_S_recv_drop_bad_port);
		return RDS_RECV_SKIP;
	}
	if (is_duplicate(p, f)) {
		note_drop(p, f, RDS_S_recv_drop_old_seq);
		p.received_again(f);
		return RDS_RECV_SKIP;
	}
	if (RDS_UNLIKELY(p.refused_any() && f.seq) && p.refuses(f.dport)) {
		note_drop(p, f, RDS_S_recv_refused);
		p.received(f);
		return RDS_RECV_SKIP;
	}
	return 0;
}

/*
 * The socket that is bound to the destination, or nullptr, and it was counted.  A message from port
 * 0 is a pong: a program that answers whatever comes would ping by its answer, the pong would be
 * answered, and so on for ever.  It goes to a socket that has pinged itself and to no other.
 */
Socket *find_receiver(Path &p, const wire::Fields &f) RDS_READS(kRcu)
{
	Net &net = p.conn.net;
	Socket *s = net.bind.find(p.conn.laddr, p.conn.local_scope(), f.dport, net.key);

	if (RDS_LIKELY(s && (f.sport != kPingPort || s->pinged.load())))
		return s;
	note_drop(p, f, s ? RDS_S_recv_drop_bad_port : RDS_S_recv_drop_no_sock);
	return nullptr;
}

/*
 * A message that is only begun: is its port anybody's?  Nothing is collected for nobody.  A socket
 * bound before the rest has come is too late, as it would be if all had come at once.
 */
bool has_receiver(Path &p, const wire::Fields &f) RDS_REQUIRES(kReceiver)
{
	RcuReader rcu;

	if (find_receiver(p, f))
		return true;
	p.received(f);
	return false;
}

/*
 * No more may arrive in pieces now.  A stranger goes, and what it brought with it, and so does a
 * peer that had its turn: they would keep the others from having their messages whole.  Nobody
 * calls a stranger afterwards (dial.cc).  -EPROTO, or -ENOMEM: later.
 */
__attribute__((noinline)) int assembly_full(Path &p, Assembly::Verdict verdict, bool stranger)
	RDS_REQUIRES(kReceiver)
{
	p.conn.net.count(RDS_S_recv_assembly_full);
	if (verdict == Assembly::Verdict::kLater)
		return -err::kEnomem;
	p.conn.net.count(RDS_S_conn_stalled, !stranger);
	p.drop(stranger ? RDS_DROP_EVICTED : RDS_DROP_STALLED);
	return -err::kEproto;
}

/*
 * A message of which only @at_hand bytes are here: its memory is counted (assembly.h).  0 and *@m,
 * or what rds_recv_begin() returns.
 */
__attribute__((noinline)) int begin_assembly(Path &p, const wire::Fields &f,
					     const struct rds_src *src, uint32_t at_hand,
					     enum rds_ctx ctx, Message *&m) RDS_REQUIRES(kReceiver)
{
	Assembly &assembly = p.conn.net.assembly;
	const bool stranger = !p.reached.load() && p.conn.is_stranger();

	if (f.flags != wire::kCongBitmap && !has_receiver(p, f))
		return RDS_RECV_SKIP;

	const auto verdict = assembly.may_begin(p.conn.faddr, p.conn.scope, stranger);

	if (RDS_UNLIKELY(verdict != Assembly::Verdict::kTake))
		return assembly_full(p, verdict, stranger);
	m = message_collect(f.len, src, at_hand, ctx);
	if (m)
		assembly.begin(*m, p.conn.faddr, p.conn.scope, stranger);
	return 0;
}

/*
 * As Socket::deliver().  A peer's writes to the socket's memory, of which @m tells, are looked for
 * before its program can know; but they are told once, and only of a message that was taken.
 */
__attribute__((noinline)) Deliver hand_over_rdma(Path &p, Socket &s, Message *m, bool spill)
	RDS_READS(kRcu)
{
	/* Once it was taken, a reader may free it. */
	const wire::Header said = m->hdr;

	const bool tells = rdma_sync(s.rdma, said);

	Deliver how = s.deliver(m, p.arriving, spill);

	if (tells && how == Deliver::kTaken)
		rdma_arrived(p.conn.net, s.rdma, said);
	return how;
}

/* The socket of @m has no room: its port is refused to a peer that understands that, and @m goes.
 * Or -EAGAIN: the path has to wait. */
__attribute__((noinline)) int no_room(Path &p, Message *m, const wire::Fields &f)
	RDS_REQUIRES(kReceiver)
{
	Net &net = p.conn.net;

	net.count(RDS_S_recv_sock_full);
	if (!p.refuse(f))
		return -err::kEagain;
	p.arriving.store(0);
	note_drop(p, f, RDS_S_recv_refused);
	message_put(m);
	return 0;
}

/* To the socket that is bound to the destination, if there is one. */
int deliver(Path &p, Message *m, const wire::Fields &f) RDS_REQUIRES(kReceiver)
{
	RcuReader rcu;
	Socket *s = find_receiver(p, f);

	if (!s) {
		p.arriving.store(0);
		message_put(m);
		return 0;
	}
	m->saddr = p.conn.faddr;
	m->scope = p.conn.far_scope();
	if (RDS_UNLIKELY(p.conn.net.trace_users.load())) {
		m->trace_ns[0] = p.trace_head_ns;
		m->trace_ns[1] = p.trace_whole_ns ? p.trace_whole_ns : p.trace_head_ns;
	}
	/* On loopback the bit is seen at once. */
	const bool spill = !(p.conn.trans.caps & RDS_CAP_SHARED_CONG);
	const bool says = RDS_UNLIKELY(m->hdr.ext[0]) && p.conn.trans.caps & RDS_CAP_RDMA;

	const Deliver how = RDS_UNLIKELY(says) ? hand_over_rdma(p, *s, m, spill)
					       : s->deliver(m, p.arriving, spill);

	if (RDS_UNLIKELY(s->congested.load()) && spill)
		p.conn.first().port_is_full();
	switch (how) {
	case Deliver::kTaken:
		if (RDS_UNLIKELY(!p.reached.load()))
			p.reached.store(true);
		break;
	case Deliver::kClosed:
		p.arriving.store(0);
		note_drop(p, f, RDS_S_recv_drop_dead_sock);
		message_put(m);
		break;
	case Deliver::kFull:
		return no_room(p, m, f);
	}
	return 0;
}

} // namespace

void note_extensions(Path &p, const wire::Header &h)
{
	if (RDS_LIKELY(h.ext[0] == static_cast<uint8_t>(wire::Ext::kNone)))
		return;

	Net &net = p.conn.net;
	wire::ExtReader r(h);
	wire::ExtView e;

	while (r.next(e)) {
		switch (e.type) {
		case wire::Ext::kRdma:
		case wire::Ext::kRdmaDest:
		case wire::Ext::kRdmaBytes:
			/* Would hand the reader a key that means nothing here. */
			if (!(p.conn.trans.caps & RDS_CAP_RDMA))
				net.count(RDS_S_recv_foreign_exthdr);
			break;
		case wire::Ext::kNone:
		case wire::Ext::kVersion:
		case wire::Ext::kNpaths:
		case wire::Ext::kGenNum:
		case wire::Ext::kCapBits:
		case wire::Ext::kSportIdx:
		case wire::Ext::kCsum:
		case wire::Ext::kChanges:
		case wire::Ext::kRefused:
		case wire::Ext::kResume:
		case wire::Ext::kOrder:
		case wire::Ext::kLimit:
			break; /* nothing that one path without generations has to know */
		}
	}
	if (r.bad())
		net.count(RDS_S_recv_bad_exthdr);
}

bool consume_control(Path &p, const wire::Header &h, const wire::Fields &f)
{
	Net &net = p.conn.net;

	if (RDS_LIKELY(f.sport && f.dport))
		return false;
	note_extensions(p, h);
	if (!f.sport && !f.dport) {
		/* Ack-only frame or a heartbeat of UEK: no number, no answer. */
		note_drop(p, f, RDS_S_recv_drop_bad_port);
		return true;
	}
	if (f.dport == kPingPort && read_once(net.tun.ping_enable)) {
		net.count(RDS_S_recv_ping);
		send_pong(p, f);
		return true;
	}
	if (f.dport == kPingPort) {
		note_drop(p, f, RDS_S_recv_drop_no_sock);
		return true;
	}
	/* From port 0: a pong.  To the probe port it was for us, else a socket waits for it. */
	return f.dport == kProbePort;
}

} // namespace rds

using namespace rds;

extern "C" {

int rds_recv_begin(struct rds_path *path, const unsigned char *header, const struct rds_src *src,
		   uint32_t at_hand, enum rds_ctx ctx, struct rds_msg **m)
{
	Guard receiver(kReceiver); /* one call at a time (transport.h) */
	Path &p = *path;
	const auto &h = *reinterpret_cast<const wire::Header *>(header);
	wire::Fields f = wire::decode(h);

	if (!p.heard_header(h, f))
		return -err::kEproto;

	int verdict = check_header(p, h, f);

	if (verdict)
		return verdict;
	if (f.flags != wire::kCongBitmap && consume_control(p, h, f)) {
		if (f.seq)
			p.received(f);
		return RDS_RECV_SKIP;
	}

	Message *made = nullptr;

	if (RDS_UNLIKELY(at_hand < f.len))
		verdict = begin_assembly(p, f, src, at_hand, ctx, made);
	else
		made = message_collect(f.len, src, at_hand, ctx);
	if (!made)
		return verdict ? verdict : no_memory(p);

	const bool numbered = RDS_UNLIKELY(h.ext[0]) && p.conn.orders.load();

	made->hdr = h;
	made->fresh = true;
	made->tos = p.conn.tos; /* on loopback the sender has said it */
	made->numbered = numbered;
	p.arriving.store(f.flags == wire::kCongBitmap ? 0 : arriving_word(h, f, numbered));
	if (RDS_UNLIKELY(p.conn.net.trace_users.load())) {
		p.trace_head_ns = rds_now_ns();
		p.trace_whole_ns = 0;
	}
	*m = made;
	return 0;
}

int rds_recv_more(struct rds_path *path, struct rds_msg *m, struct rds_src *src, uint32_t off,
		  uint32_t n, enum rds_ctx ctx)
{
	Guard receiver(kReceiver); /* one call at a time (transport.h) */

	if (RDS_LIKELY(m->has != MsgHas::kAssembly))
		return rds_payload_append(m->payload(), src, off, n, ctx);

	const auto verdict = m->assembly->may_grow(*m);

	if (RDS_UNLIKELY(verdict != Assembly::Verdict::kTake))
		return assembly_full(*path, verdict, m->stranger);

	const int r = rds_payload_append(m->payload(), src, off, n, ctx);

	m->assembly->count(*m);
	return r;
}

int rds_recv_incoming(struct rds_path *path, struct rds_msg *m)
{
	Guard receiver(kReceiver); /* one call at a time (transport.h) */
	Path &p = *path;
	wire::Fields f = wire::decode(m->hdr);

	if (f.flags == wire::kCongBitmap && f.len == kCongMapBytes) {
		Status st = CongTable::received(p.conn.net, *p.conn.fcong, *m);

		if (st.is(err::kEnomem))
			return -err::kEagain;
		if (!st.ok()) {
			/* It lies where this host cannot look at it, and the next may be no better.
			 */
			note_drop(p, f, RDS_S_recv_drop_bad_cong);
			p.drop(RDS_DROP_PROTOCOL);
		}
		message_put(m);
		return 0;
	}
	/* Loopback hands over messages without rds_recv_begin(). */
	if (!m->fresh && consume_control(p, m->hdr, f)) {
		p.received(f);
		message_put(m);
		return 0;
	}
	if (m->fresh) {
		m->fresh = false;
		/* Whole: from here on its socket pays, or it is all that its path has. */
		if (RDS_UNLIKELY(m->has == MsgHas::kAssembly))
			assembly_left(*m);
		message_charge_payload(*m);
		note_extensions(p, m->hdr);
		if (RDS_UNLIKELY(p.conn.net.trace_users.load()))
			p.trace_whole_ns = rds_now_ns();
	}

	int verdict = deliver(p, m, f);

	if (!verdict)
		p.received(f);
	return verdict;
}

void rds_recv_ack(struct rds_path *path, uint64_t seq)
{
	Guard receiver(kReceiver); /* one call at a time (transport.h) */
	path->heard_ack(seq);
}

void rds_recv_later(struct rds_path *path)
{
	path->conn.net.count(RDS_S_recv_delayed_retry);
	path->pause_recv();
}

} // extern "C"
