// SPDX-License-Identifier: GPL-2.0
/* worker_send.cc: the half of a task that sends: acks first, then requests, as far as they may. */
#include "worker.h"

#include <linux/rds.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "../lib/error.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

/* So long it may take: connections come back, pools are flushed. */
constexpr std::uint64_t register_patience_ns = 10000000000;

} // namespace

/* Gives the message to the kernel, with what belongs to it. */
int Worker::hand_over(const Message &message, unsigned peer, std::span<const std::byte> whole)
{
	std::uint32_t hint = message.op == Op::request ? plan_.order.hint(message.sequence)
						       : plan_.order.ack_hint();
	SendControl with;

	if (rdma_)
		with = rdma_->before(message, peer);
	else if (hint != RDS_ORDER_ORDERED)
		with = {RDS_CMSG_ORDER, std::as_bytes(std::span(&hint, 1))};

	std::uint64_t before = now_ns();
	int err = socket_.send(whole, peers_[peer], with);
	std::uint64_t after = now_ns();

	state_.send_ns.add(after - before);
	state_.send_calls.add(1);
	if (!rdma_)
		return err;
	if (err)
		rdma_->refused(message);
	else
		rdma_->accepted(message, peer);
	check_registration(err, after);
	return err;
}

/* EAGAIN and ENOMEM pass, as a rule: told only if nothing goes for long, or to the very end. */
void Worker::check_registration(int err, std::uint64_t now)
{
	if (err != EAGAIN && err != ENOMEM) {
		refused_since_ = 0;
		return;
	}
	refused_ = err;
	if (!refused_since_)
		refused_since_ = now;
	if (now - refused_since_ >= register_patience_ns)
		fail(Step::rdma, err, local_.text());
}

Message Worker::make(Op op, unsigned peer, std::uint64_t sequence, std::size_t size) const
{
	return {op,
		plan_.run,
		sequence,
		static_cast<std::uint32_t>(size),
		local_.port(),
		peers_[peer].port(),
		address_tag(local_),
		address_tag(peers_[peer])};
}

void Worker::write(const Message &message, std::span<std::byte> whole) const
{
	encode(message, whole);
	if (plan_.verify)
		pattern_.fill(message, whole);
}

Worker::Sent Worker::transmit(Op op, unsigned peer, std::uint64_t sequence, std::size_t size)
{
	const Message message = make(op, peer, sequence, size);
	std::span<std::byte> whole = std::span(out_).first(size);

	write(message, whole);

	const Sent sent = settle(hand_over(message, peer, whole), peer);

	if (sent == Sent::yes)
		count_sent(op, peer, sequence, 1, size);
	return sent;
}

/* Up to @most requests in one call: how many were sent. */
unsigned Worker::send_run(unsigned peer, unsigned most)
{
	Flow &flow = flows_[peer];
	const std::uint64_t first = flow.next_request(), started = now_ns();
	const std::uint32_t hint = plan_.order.hint(first);
	const std::size_t size = plan_.request_bytes;
	unsigned count = 0;
	SendControl with;

	for (; count < most && flow.may_request(count) && plan_.order.hint(first + count) == hint;
	     count++)
		write(make(Op::request, peer, first + count, size),
		      std::span(out_).subspan(count * size, size));
	if (hint != RDS_ORDER_ORDERED)
		with = {RDS_CMSG_ORDER, std::as_bytes(std::span(&hint, 1))};

	const auto queued =
		socket_.send_many(std::span(out_).first(count * size), size, peers_[peer], with);

	state_.send_ns.add(now_ns() - started);
	state_.send_calls.add(1);
	if (settle(queued.error, peer) != Sent::yes)
		return 0;
	for (std::size_t n = 0; n < queued.count; n++)
		flow.request_sent(started);
	count_sent(Op::request, peer, first, queued.count, size);
	return static_cast<unsigned>(queued.count);
}

/* The outcome of a call that sends. */
Worker::Sent Worker::settle(int err, unsigned peer)
{
	if (err == ENOBUFS) {
		state_.congested.add(1);
		if (!congested_++)
			congested_since_ = now_ns();
		flows_[peer].congested = true;
		by_timer_ = false;
		return Sent::congested;
	}
	if (err == EAGAIN || err == ENOMEM) {
		state_.queue_full.add(1);
		queue_full_ = true;
		return Sent::queue_full;
	}
	if (err)
		fail(rdma_ && (err == EOPNOTSUPP || err == EPERM) ? Step::rdma : Step::send, err,
		     peers_[peer].text());
	if (by_timer_) {
		state_.late_wakeups.add(1);
		by_timer_ = false;
	}
	return Sent::yes;
}

void Worker::count_sent(Op op, unsigned peer, std::uint64_t first, std::size_t count,
			std::size_t size)
{
	state_.sent.add(count);
	state_.sent_bytes.add(count * size);
	for (std::size_t n = 0; trace_ && n < count; n++)
		std::fprintf(stderr, "task %u: %s %llu to %u\n", index_,
			     op == Op::request ? "sent request" : "sent ack",
			     static_cast<unsigned long long>(first + n), peer);
}

/* Both return true if there is more to send that nothing holds back. */
bool Worker::send_acks()
{
	bool more = false;

	for (unsigned i = 0; i < plan_.tasks && !queue_full_; i++) {
		unsigned peer = (first_ + i) % plan_.tasks;
		Flow &flow = flows_[peer];
		unsigned left = batch;
		for (; flow.ack_due() && !flow.congested && left; left--) {
			if (rdma_ && !rdma_->may_answer(peer, flow.due_ack()))
				break;
			if (transmit(Op::ack, peer, flow.due_ack(), plan_.ack_bytes) != Sent::yes)
				break;
			flow.ack_sent();
		}
		more = more || !left;
	}
	return more && !queue_full_;
}

/* One request to @peer, or a call's: how many were sent. */
unsigned Worker::send_request(unsigned peer, unsigned left)
{
	Flow &flow = flows_[peer];
	const std::uint64_t started = now_ns();

	if (plan_.segment > 1)
		return send_run(peer, std::min(left, plan_.segment));
	if (transmit(Op::request, peer, flow.next_request(), plan_.request_bytes) != Sent::yes)
		return 0;
	flow.request_sent(started);
	return 1;
}

bool Worker::send_requests()
{
	unsigned left = std::max(batch, plan_.segment);
	bool progress = true;

	/* One message per flow and pass, so that no flow starves behind another. */
	while (progress && !queue_full_ && left) {
		progress = false;
		for (unsigned i = 0; i < plan_.tasks && !queue_full_ && left; i++) {
			unsigned peer = (first_ + i) % plan_.tasks;
			Flow &flow = flows_[peer];
			if (flow.congested || !flow.may_request())
				continue;
			const unsigned sent = send_request(peer, left);

			if (!sent)
				continue;
			shared_.pair(index_, peer).sent.set(flow.sent());
			progress = true;
			left -= sent;
		}
	}
	first_ = (first_ + 1) % plan_.tasks;
	return !left;
}

} // namespace rdstools
