// SPDX-License-Identifier: GPL-2.0
#include "worker.h"

#include <linux/rds.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "../lib/error.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

/* A congested flow is tried again after this long even if nobody woke us; counted as late. */
constexpr std::uint64_t congestion_patience_ns = 1000000000;
/* How long a task may sleep before it looks at the phase again. */
constexpr int nap_ms = 50;
/* Memory could not be registered; nobody tells when it can. */
constexpr int register_nap_ms = 2;

std::vector<Flow> make_flows(const Plan &plan)
{
	std::vector<Flow> flows;

	for (unsigned i = 0; i < plan.tasks; i++)
		flows.emplace_back(plan.oneway ? 0 : plan.depth, plan.order);
	return flows;
}

} // namespace

Worker::Worker(const Plan &plan, const Ends &ends, unsigned index, RdsSocket &socket,
	       SharedMemory &shared, bool asks, bool trace)
	: plan_(plan), ends_(ends), index_(index), socket_(socket), shared_(shared),
	  state_(shared.task(index)), asks_(asks), trace_(trace),
	  local_(local_address(socket.fd())), flows_(make_flows(plan)),
	  pattern_(plan.verify ? std::max(plan.request_bytes, plan.ack_bytes) : 0),
	  out_(std::max(plan.segment * plan.request_bytes, plan.ack_bytes)),
	  /* One byte more than any message of ours, so that a longer one shows. */
	  in_(std::max(std::max(plan.request_bytes, plan.ack_bytes),
		       std::min(plan.recv_batch * plan.request_bytes, most_bytes_a_call)) +
	      1)
{
	for (unsigned i = 0; i < plan.tasks; i++) {
		peers_.push_back(ends.peer);
		peers_.back().set_port(static_cast<std::uint16_t>(ends.peer.port() + i));
	}
	first_ = index % plan.tasks;
	if (plan.rdma.bytes)
		rdma_.emplace(plan, local_.port(), ends.peer.port(), state_);
}

void Worker::wrong(unsigned peer, const std::string &what) const
{
	std::uint64_t stale = state_.stale;
	/* One that we dropped ourselves as not ours may be the one that is missing. */
	std::string dropped = stale ? format(" (%llu foreign messages dropped so far)",
					     static_cast<unsigned long long>(stale))
				    : "";

	throw Error(format("task %u (%s), peer task %u (%s): %s%s", index_, local_.text().c_str(),
			   peer, peers_[peer].text().c_str(), what.c_str(), dropped.c_str()));
}

void Worker::run()
{
	for (;;) {
		Phase phase = shared_.phase().load(std::memory_order_acquire);
		if (phase == Phase::stop)
			return;
		receive_some();
		bool more = send_acks();
		if (phase == Phase::run && asks_)
			more = send_requests() || more;
		publish(phase);
		wait(!more);
	}
}

void Worker::receive_some()
{
	for (unsigned i = 0; i < batch; i++) {
		Received got = socket_.receive(in_);
		if (got.error == EAGAIN)
			return;
		if (got.error)
			fail(Step::receive, got.error, local_.text());
		if (got.notice_count) {
			take_notices(got);
			continue;
		}
		if (got.congestion_update) {
			take_update(got.congestion_mask);
			continue;
		}
		take(got);
	}
}

void Worker::take(const Received &got)
{
	const std::size_t size = got.size;
	auto message = decode(got.data);

	/* An earlier test's message may still arrive; so may anybody else's. */
	if (!message || message->run != plan_.run) {
		state_.stale.add(1);
		return;
	}
	unsigned peer = static_cast<unsigned>(got.from.port()) - ends_.peer.port();
	if (!got.from.same_host(ends_.peer) || peer >= plan_.tasks)
		throw Error(format("task %u (%s): a message of this test from a stranger, %s",
				   index_, local_.text().c_str(), got.from.text().c_str()));
	std::string mismatch = describe_mismatch(*message, got.from, local_, size);
	std::size_t expected = message->op == Op::request ? plan_.request_bytes : plan_.ack_bytes;
	if (mismatch.empty() && (size != expected || got.truncated))
		mismatch = format("length %zu instead of %zu", size, expected);
	if (!mismatch.empty())
		wrong(peer, mismatch);
	if (plan_.verify) {
		auto at = pattern_.first_difference(*message, got.data);
		if (at)
			wrong(peer,
			      format("payload of message %llu differs from byte %zu on",
				     static_cast<unsigned long long>(message->sequence), *at));
	}
	state_.received.add(1);
	state_.received_bytes.add(size);
	if (message->op == Op::request)
		take_request(flows_[peer], peer, *message);
	else
		take_ack(flows_[peer], peer, *message);
	if (!rdma_)
		return;
	std::string fault = message->op == Op::request
				    ? rdma_->take_request(*message, peer, got.cookie)
				    : rdma_->take_ack(*message, peer);
	if (!fault.empty())
		wrong(peer, fault);
	if (message->op == Op::ack)
		free_region(peer, message->sequence);
}

void Worker::free_region(unsigned peer, std::uint64_t sequence)
{
	std::uint64_t cookie = rdma_->take_to_free(peer, sequence);
	int err = cookie ? socket_.free_mr(cookie) : 0;

	if (err)
		wrong(peer, format("memory of request %llu cannot be freed: %s",
				   static_cast<unsigned long long>(sequence), std::strerror(err)));
}

void Worker::take_notices(const Received &got)
{
	for (const Notice &notice : std::span(got.notices).first(got.notice_count)) {
		unsigned peer = 0;
		std::string fault = rdma_ ? rdma_->take_notice(notice, peer)
					  : "a notice of an operation without RDMA";
		if (!fault.empty())
			wrong(peer, fault);
		if (trace_)
			std::fprintf(stderr, "task %u: notice %llx\n", index_,
				     static_cast<unsigned long long>(notice.token));
	}
}

void Worker::take_request(Flow &flow, unsigned peer, const Message &message)
{
	if (trace_)
		std::fprintf(stderr, "task %u: request %llu from %u\n", index_,
			     static_cast<unsigned long long>(message.sequence), peer);
	if (!flow.request_received(message.sequence))
		wrong(peer, format("request %llu came where %llu was expected",
				   static_cast<unsigned long long>(message.sequence),
				   static_cast<unsigned long long>(flow.next_expected())));
	shared_.pair(index_, peer).received.set(flow.received());
}

void Worker::take_ack(Flow &flow, unsigned peer, const Message &message)
{
	std::uint64_t expected = flow.next_ack();
	auto rtt = flow.ack_received(message.sequence, now_ns());

	if (trace_)
		std::fprintf(stderr, "task %u: ack %llu from %u\n", index_,
			     static_cast<unsigned long long>(message.sequence), peer);
	if (!rtt)
		wrong(peer, format("ack %llu came where %llu was expected",
				   static_cast<unsigned long long>(message.sequence),
				   static_cast<unsigned long long>(expected)));
	state_.rtts.add(1);
	state_.rtt_ns.add(*rtt);
	state_.rtt.add(*rtt);
}

void Worker::take_update(std::uint64_t mask)
{
	state_.updates.add(1);
	for (unsigned peer = 0; peer < plan_.tasks; peer++) {
		if (!flows_[peer].congested || !(mask & RDS_CONG_MONITOR_MASK(peers_[peer].port())))
			continue;
		flows_[peer].congested = false;
		congested_--;
	}
	by_timer_ = false;
}

void Worker::clear_congestion(bool by_timer)
{
	for (Flow &flow : flows_)
		flow.congested = false;
	congested_ = 0;
	by_timer_ = by_timer;
}

void Worker::publish(Phase phase)
{
	std::uint64_t outstanding = 0;

	for (const Flow &flow : flows_)
		outstanding += flow.outstanding();
	state_.outstanding.set(outstanding);
	if (phase == Phase::drain && refused_since_ && !state_.sent)
		fail(Step::rdma, refused_, local_.text());
	/* After `outstanding`, and seen in this order: see Session::check_drained(). */
	if (phase == Phase::drain) {
		std::atomic_thread_fence(std::memory_order_release);
		state_.draining.set(1);
	}
}

void Worker::wait(bool idle)
{
	pollfd pfd = {socket_.fd(), POLLIN, 0};

	int nap = queue_full_ && rdma_ ? register_nap_ms : nap_ms;

	/* Memory that could not be registered does not make the queue full. */
	if (queue_full_ && !rdma_)
		pfd.events |= POLLOUT;
	if (::poll(&pfd, 1, idle || queue_full_ ? nap : 0) < 0 && errno != EINTR)
		fail(Step::receive, errno, local_.text());
	/* After ENOMEM nothing signals room, so a timeout tries again as well. */
	queue_full_ = false;
	if (!congested_)
		return;
	/* Without the monitor any wakeup may mean that congestion has ended. */
	if (!plan_.congestion_monitor && (pfd.revents & POLLIN))
		clear_congestion(false);
	else if (now_ns() - congested_since_ >= congestion_patience_ns)
		clear_congestion(true);
}

} // namespace rdstools
