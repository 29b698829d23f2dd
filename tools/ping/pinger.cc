// SPDX-License-Identifier: GPL-2.0
#include "pinger.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "../lib/cli.h"
#include "../lib/error.h"
#include "../lib/text.h"

namespace rdstools
{

Pinger::Pinger(const PingOptions &options, Report report, Tick tick)
	: options_(options), report_(std::move(report)), tick_(std::move(tick))
{
	options_.dest.set_port(0);
	options_.source.set_port(0);
	for (Slot &slot : slots_)
		open(slot);
}

void Pinger::open(Slot &slot)
{
	slot.socket.emplace();
	slot.socket->bind(options_.source);
	slot.socket->set_tos(options_.tos);
	slot.waiting = false;
}

bool Pinger::more_to_send() const
{
	return !stopped() && (!options_.count || summary_.sent < options_.count);
}

bool Pinger::finished() const
{
	if (stopped())
		return true;
	return !more_to_send() && std::none_of(slots_.begin(), slots_.end(),
					       [](const Slot &slot) { return slot.waiting; });
}

Pinger::Slot *Pinger::free_slot()
{
	for (std::size_t tried = 0; tried < slots_.size(); tried++) {
		Slot &slot = slots_[(next_slot_ + tried) % slots_.size()];
		if (!slot.waiting) {
			next_slot_ = (next_slot_ + tried + 1) % slots_.size();
			return &slot;
		}
	}
	return nullptr;
}

std::uint64_t missed(std::uint64_t interval_ns, std::uint64_t due, std::uint64_t now)
{
	return interval_ns && now > due + interval_ns ? (now - due) / interval_ns - 1 : 0;
}

void Pinger::send_due(std::uint64_t now)
{
	while (more_to_send() && now >= next_send_) {
		Slot *slot = free_slot();
		if (!slot)
			return;
		std::uint64_t started = now_ns();
		int err = slot->socket->send({}, options_.dest);
		/* No room just now: the next round tries again. */
		if (err == EAGAIN || err == ENOBUFS || err == ENOMEM) {
			next_send_ = now + std::max<std::uint64_t>(options_.interval_ns, 1000000);
			return;
		}
		if (err)
			fail(Step::send, err, options_.dest.host());
		slot->waiting = true;
		slot->sent_at = started;
		slot->number = ++summary_.sent;
		slot->due = options_.interval_ns ? due_ : started;
		/* All slots were busy for a while: do not send the missed ones in a burst. */
		slot->missed = missed(options_.interval_ns, due_, now);
		due_ += (slot->missed + 1) * options_.interval_ns;
		next_send_ = due_;
		if (!options_.interval_ns)
			now = due_ = next_send_ = now_ns();
	}
}

void Pinger::answered(Slot &slot)
{
	for (;;) {
		std::byte none[1];
		Received got = slot.socket->receive(none);
		std::uint64_t now = now_ns();
		if (got.error == EAGAIN)
			return;
		if (got.error)
			fail(Step::receive, got.error, options_.source.host());
		/* Somebody else's message to our port is not an answer. */
		if (!slot.waiting || got.congestion_update || got.from.port() != 0 ||
		    !got.from.same_host(options_.dest))
			continue;
		slot.waiting = false;
		summary_.received++;
		summary_.rtt.add(now - slot.sent_at);
		summary_.corrected.add_run(now - slot.due, options_.interval_ns, slot.missed + 1);
		report_(slot.number, now - slot.sent_at);
	}
}

void Pinger::expire(std::uint64_t now)
{
	for (Slot &slot : slots_) {
		if (!slot.waiting || now - slot.sent_at < options_.timeout_ns)
			continue;
		summary_.lost++;
		report_(slot.number, std::nullopt);
		/*
		 * A fresh socket has a fresh port: a late answer cannot be taken for the next
		 * ping's. Closing also takes the ping off the send queue.
		 */
		open(slot);
	}
}

void Pinger::wait(std::uint64_t now)
{
	std::array<pollfd, std::tuple_size_v<decltype(slots_)>> fds;
	std::uint64_t wake = UINT64_MAX;
	bool room = false;

	for (std::size_t i = 0; i < slots_.size(); i++) {
		fds[i] = {slots_[i].socket->fd(), POLLIN, 0};
		if (slots_[i].waiting)
			wake = std::min(wake, slots_[i].sent_at + options_.timeout_ns);
		else
			room = true;
	}
	if (room && more_to_send())
		wake = std::min(wake, next_send_);
	std::uint64_t pause = wake > now ? wake - now : 0;
	timespec limit = {static_cast<std::time_t>(pause / 1000000000u),
			  static_cast<long>(pause % 1000000000u)};
	if (ppoll(fds.data(), fds.size(), &limit, nullptr) <= 0)
		return;
	for (std::size_t i = 0; i < slots_.size(); i++)
		if (fds[i].revents)
			answered(slots_[i]);
}

PingSummary Pinger::run()
{
	std::uint64_t start = now_ns();

	due_ = next_send_ = start;
	while (!finished()) {
		std::uint64_t now = now_ns();
		expire(now);
		send_due(now);
		if (tick_)
			tick_(summary_);
		if (!finished())
			wait(now_ns());
	}
	/* Stopped by a signal: what is under way stays unanswered. */
	for (const Slot &slot : slots_)
		summary_.lost += slot.waiting;
	summary_.elapsed_ns = now_ns() - start;
	return summary_;
}

} // namespace rdstools
