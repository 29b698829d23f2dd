// SPDX-License-Identifier: GPL-2.0
#include "fake_ib.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace fake_ib
{

namespace
{

std::vector<End *> ends;

End &as_end(void *hw)
{
	return *static_cast<End *>(hw);
}

End &end_of(const struct rds_path *path)
{
	for (End *e : ends)
		if (e->link.path == path)
			return *e;
	abort();
}

/* Aborts where a link and an adapter break their agreement. */
void must(bool true_)
{
	if (!true_)
		abort();
}

} // namespace

bool Sent::empty() const
{
	return header.substr(16, 9) == std::string(9, '\0');
}

uint64_t Sent::ack() const
{
	uint64_t v = 0;

	for (int i = 8; i < 16; i++)
		v = v << 8 | static_cast<unsigned char>(header[static_cast<size_t>(i)]);
	return v;
}

End::End(struct rds_path *path)
{
	ends.push_back(this);
	rds_ib_link_init(&link, path, this);
	params.max_unsignaled = 16;
	params.csum = 1;
}

End::~End()
{
	rds_ib_link_end(&link);
	std::erase(ends, this);
	must(out.empty());
	for (const Buffer &b : rx)
		must(!b.offered);
}

void End::up(uint32_t send_wr, uint32_t recv_wr, uint32_t peer_credits)
{
	params.send_wr = send_wr;
	params.recv_wr = recv_wr;
	params.first_buffers = std::min(first_buffers, recv_wr);
	params.flow = params.named = peer_credits != 0;
	rds_ib_link_prepare(&link, &params);
	link.posted = link.done = begin;
	link.offered = link.arrived = link.taken = begin;
	rx.assign(recv_wr, Buffer());
	buffers.clear();
	rds_ib_link_peer_credit(&link, peer_credits);
	rds_ib_link_offer(&link, RDS_MAY_SLEEP);
	claimed = rds_ib_link_claim(&link);
	rds_ib_link_open(&link);
}

long End::xmit(const std::vector<struct rds_msg *> &msgs, uint32_t off, bool more)
{
	struct rds_xmit x = {msgs.data(), static_cast<unsigned int>(msgs.size()), off, more, false};

	return rds_ib_link_xmit(&link, &x);
}

std::string End::story() const
{
	std::string t;

	for (const Sent &s : sent) {
		if (s.flags & RDS_IB_FENCE)
			t += '|';
		t += s.op_last ? 'O' : s.op ? 'o' : s.signaled() ? 's' : '.';
	}
	return t;
}

std::string End::miscounted() const
{
	unsigned int quiet = 0, ops = 0, frames = 0;
	std::string t;
	auto expect = [&t](const char *what, uint64_t is, uint64_t should) {
		if (is != should)
			t += std::string(what) + " is " + std::to_string(is) + ", not " +
			     std::to_string(should) + "; ";
	};

	for (const Sent &s : sent) {
		frames += !s.op;
		quiet = s.op || s.signaled() ? 0 : quiet + 1;
	}
	for (const Sent &s : out)
		ops += s.op_last && s.op->op_told.empty();
	expect("out", link.posted - link.done, out.size());
	expect("unsignaled", link.unsignaled, quiet);
	expect("ops", link.ops, ops);
	expect("tx_frames", counts[RDS_IB_LINK_tx_frames], frames);
	expect("offered", link.offered - link.arrived, buffers.size());
	expect("out or waiting, and depth", std::max(link.offered - link.taken, link.depth),
	       link.depth);
	for (uint8_t flag :
	     {link.blocked, link.quiet, link.deaf, link.begun, link.own_out, link.failed,
	      link.op_reported, link.paused, link.under_way, link.p.flow, link.beats, link.asked})
		expect("a flag", flag, flag != 0);
	expect("rx_frames", counts[RDS_IB_LINK_rx_frames],
	       (link.taken - begin) + (link.taken != link.arrived && link.stage));
	return t;
}

size_t End::complete()
{
	auto last =
		std::find_if(out.rbegin(), out.rend(), [](const Sent &s) { return s.signaled(); });
	uint64_t before = given_back;

	if (last == out.rend())
		return 0;
	rds_ib_link_sent(&link, last->slot);
	rds_ib_link_settle(&link, RDS_ATOMIC);
	return given_back - before;
}

void End::fill(const std::string &header, const std::string &payload)
{
	must(!buffers.empty());

	Buffer &b = rx[buffers.front()];

	buffers.pop_front();
	b.header = header;
	b.src.bytes = payload;
	rds_ib_link_arrived(&link);
}

void End::arrive(const std::string &header, const std::string &payload)
{
	fill(header, payload);
	rds_ib_link_settle(&link, RDS_ATOMIC);
}

std::string pattern(uint32_t len, uint16_t seed)
{
	std::string s(len, '\0');

	for (uint32_t i = 0; i < len; i++)
		s[i] = static_cast<char>(seed * 31 + i * 7 + (i >> 8));
	return s;
}

struct rds_msg *message(uint32_t len, uint16_t sport, uint64_t ack)
{
	auto *m = new rds_msg{fake_header(len, sport), len, {pattern(len, sport)}};

	m->header[7] = static_cast<char>(sport);
	for (size_t i = 0; i < 8; i++)
		m->header[8 + i] = static_cast<char>(ack >> (56 - 8 * i));
	return m;
}

struct rds_msg *with_op(struct rds_msg *m, uint32_t slots)
{
	m->has_op = true;
	m->op_slots = slots;
	return m;
}

std::vector<std::pair<std::string, std::string>> frames(const struct rds_msg &m)
{
	std::vector<std::pair<std::string, std::string>> all;

	for (uint32_t at = 0; at < m.len || all.empty(); at += RDS_IB_FRAME)
		all.emplace_back(m.header, m.payload.bytes.substr(at, RDS_IB_FRAME));
	return all;
}

} // namespace fake_ib

using fake_ib::as_end;
using fake_ib::end_of;
using fake_ib::must;

extern "C" {

int rds_ib_hw_send(void *hw, uint32_t slot, const unsigned char *header, struct rds_msg *m,
		   uint32_t off, uint32_t len, unsigned int flags)
{
	auto &e = as_end(hw);

	if (e.send_error && (len || e.send_error != -ENOMEM) && !e.sends_before)
		return e.send_error;
	e.sends_before -= e.sends_before != 0;
	must(e.out.size() < e.params.send_wr && slot == e.next_slot());
	must(m || !len);

	fake_ib::Sent s{slot, std::string(reinterpret_cast<const char *>(header), RDS_HEADER_BYTES),
			m ? m->payload.bytes.substr(off, len) : "", flags};

	/* An operation comes before its message. */
	must(!m || off || !m->has_op || !m->op_told.empty() ||
	     std::any_of(e.out.begin(), e.out.end(), [m](const auto &o) { return o.op == m; }));

	must(s.payload.size() == len);
	e.sent.push_back(s);
	e.out.push_back(s);
	return 0;
}

uint32_t rds_ib_hw_op_slots(void *hw, struct rds_msg *m)
{
	(void)hw;
	return m->op_slots;
}

int rds_ib_hw_op(void *hw, uint32_t slot, struct rds_msg *m)
{
	auto &e = as_end(hw);

	if (e.op_error)
		return e.op_error;
	for (uint32_t i = 0; i < m->op_slots; i++, slot = (slot + 1) % e.params.send_wr) {
		bool last = i + 1 == m->op_slots;
		fake_ib::Sent s{slot, "", "", last ? +RDS_IB_SIGNALED : 0u, m, last};

		must(e.out.size() < e.params.send_wr && slot == e.next_slot());
		e.sent.push_back(s);
		e.out.push_back(s);
	}
	return 0;
}

struct rds_msg *rds_ib_hw_op_of(void *hw, uint32_t slot, int *last)
{
	for (const auto &s : as_end(hw).out)
		if (s.slot == slot) {
			*last = s.op_last;
			return s.op;
		}
	abort();
}

void rds_ib_hw_sent(void *hw, uint32_t slot)
{
	auto &e = as_end(hw);

	must(!e.out.empty() && e.out.front().slot == slot);
	/* Its mapping goes with its last slot, and only then is anybody told that it is done: so
	 * somebody holds the message. */
	if (e.out.front().op_last) {
		const struct rds_msg &m = *e.out.front().op;

		must(m.op_told.empty() ? m.refs > 1 : m.op_told.back() != 0);
	}
	e.out.pop_front();
	e.given_back++;
}

int rds_ib_hw_offer(void *hw, uint32_t slot, enum rds_ctx)
{
	auto &e = as_end(hw);

	if (e.offer_error)
		return e.offer_error;
	if (e.buffers.size() >= e.most_buffers)
		return -ENOMEM;
	must(!e.rx[slot].offered);
	e.rx[slot].offered = true;
	e.buffers.push_back(slot);
	return 0;
}

void rds_ib_hw_asked(void *hw)
{
	as_end(hw).asked_of++;
}

int rds_ib_hw_may_grow(void *hw, uint32_t more)
{
	return more <= as_end(hw).may_grow;
}

const unsigned char *rds_ib_hw_frame(void *hw, uint32_t slot, struct rds_src **src, uint32_t *len)
{
	auto &b = as_end(hw).rx[slot];

	must(b.offered);
	*src = &b.src;
	*len = static_cast<uint32_t>(b.src.bytes.size());
	return b.header.size() < RDS_HEADER_BYTES
		       ? nullptr
		       : reinterpret_cast<const unsigned char *>(b.header.data());
}

void rds_ib_hw_taken(void *hw, uint32_t slot)
{
	auto &b = as_end(hw).rx[slot];

	must(b.offered);
	b = {};
}

void rds_ib_hw_count(void *hw, enum rds_ib_link_stat id)
{
	as_end(hw).counts[id]++;
}

const unsigned char *rds_msg_header(const struct rds_msg *m)
{
	return reinterpret_cast<const unsigned char *>(m->header.data());
}

uint32_t rds_msg_len(const struct rds_msg *m)
{
	return m->len;
}

const struct rds_op *rds_msg_op(const struct rds_msg *m)
{
	return m->has_op && m->op_told.empty() ? &m->op : nullptr;
}

void rds_op_done(struct rds_path *path, struct rds_msg *m, int status)
{
	(void)end_of(path);
	m->op_told.push_back(status);
}

void rds_path_drop(struct rds_path *path, enum rds_drop_reason why)
{
	end_of(path).drops.push_back(why);
}

void rds_path_drained(struct rds_path *path)
{
	end_of(path).drained++;
}

void rds_path_writable(struct rds_path *path)
{
	end_of(path).writable++;
}

void rds_recv_ack(struct rds_path *path, uint64_t seq)
{
	path->acks.push_back(seq);
}

void rds_recv_later(struct rds_path *path)
{
	end_of(path).later++;
}

} // extern "C"
