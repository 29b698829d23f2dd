// SPDX-License-Identifier: GPL-2.0
/*
 * send_queue.cc: the cursor, and numbers that change.
 */
#include "send_queue.h"

namespace rds
{
namespace
{

/* It tells of our congestion map. */
bool is_news(const Message &m)
{
	return m.hdr.flags == wire::kCongBitmap || wire::is_changes(m.hdr);
}

} // namespace

uint64_t SendQueue::skip_number()
{
	uint64_t number = next_number_.load();

	next_number_.store(number + 1);
	return number;
}

bool SendQueue::may_have_left(uint64_t seq) const
{
	return seq <= begun_before_ || seq <= last_leaving();
}

uint64_t SendQueue::last_leaving() const
{
	uint64_t last = begun_;

	/* The messages of a batch stand together. */
	for (Message *m = unsent_; m && m->flags & kMsgInXmit; m = msgs_.next(m))
		if (uint64_t number = wire::get64(m->hdr.sequence))
			last = number;
	return last;
}

bool SendQueue::overtake(Message *m, bool (*may_pass)(const Message &waits))
{
	unsigned int n = 0;
	Message *at;

	if (!held_)
		return false;
	for (at = held_; at; at = msgs_.next(at))
		if (++n > kMostOvertaken || at->sock == m->sock || !may_pass(*at))
			return false;

	uint64_t number = wire::get64(held_->hdr.sequence);

	wire::put64(m->hdr.sequence, number);
	for (at = held_; at; at = msgs_.next(at))
		wire::put64(at->hdr.sequence, ++number);
	next_number_.store(number + 1);
	link(held_, m);
	if (unsent_ == held_)
		unsent_ = m;
	unsent_bytes_ += wire_bytes(*m);
	return true;
}

void SendQueue::put_first(Message *m, MsgList &replaced)
{
	const bool map = m->hdr.flags == wire::kCongBitmap;
	Message *at = unbegun(), *next;

	bug_on(wire::get64(m->hdr.sequence) != 0, "a frame with a number overtakes");
	for (; at && !wire::get64(at->hdr.sequence); at = next) {
		next = msgs_.next(at);
		if (!map || !is_news(*at))
			continue;
		remove(at);
		replaced.push_back(at);
	}
	link(at, m);
	if (unsent_ == at)
		unsent_ = m;
	unsent_bytes_ += wire_bytes(*m);
}

bool SendQueue::has_unsent_news() const
{
	for (const Message *at = unbegun(); at && !wire::get64(at->hdr.sequence);
	     at = msgs_.next(at))
		if (is_news(*at))
			return true;
	return false;
}

void SendQueue::remove(Message *m)
{
	bug_on(is_leaving(*m), "a message is taken back that a transport has");
	if (!m->end_off)
		unsent_bytes_ -= wire_bytes(*m);
	if (m == unsent_) {
		unsent_ = msgs_.next(m);
		cursor_ = 0;
	}
	if (m == held_)
		held_ = msgs_.next(m);
	unlink(m);
}

void SendQueue::begin_walk(Walk &w, Message *at)
{
	w.queue_ = this;
	w.at_ = at;
	w.other_ = walks_;
	walks_ = &w;
}

Message *SendQueue::go_on(Walk &w)
{
	if (!w.queue_)
		begin_walk(w, msgs_.front());

	Message *m = w.at_;

	if (m)
		w.at_ = msgs_.next(m);
	return m;
}

Message *SendQueue::step(Walk &w)
{
	Message *m = go_on(w);

	if (!m)
		stop(w);
	return m;
}

void SendQueue::stop(Walk &w)
{
	Walk **at = &walks_;

	while (*at && *at != &w)
		at = &(*at)->other_;
	if (*at)
		*at = w.other_;
	w.queue_ = nullptr;
}

unsigned int SendQueue::settle(Batch &b, uint64_t bytes, MsgList &done)
{
	uint64_t off = tx_off_;
	unsigned int begun = 0;

	bug_on_hot(b.n && b.msgs[0] != unsent_, "a batch is not what is sent next");
	tx_off_ += bytes;
	for (unsigned int i = 0; i < b.n; i++) {
		Message *m = b.msgs[i];
		uint32_t size = wire_bytes(*m), left = size - (i ? 0 : b.off);

		unmark(*m);
		begun += bytes != 0;
		if (uint64_t number = bytes ? wire::get64(m->hdr.sequence) : 0) {
			/* The first may have begun before. */
			bug_on_hot(number <= begun_ && (i || !b.off), "numbers go out that fall");
			begun_ = number;
		}
		if (bytes >= left) {
			bytes -= left;
			off += left;
			unsent_bytes_ -= size;
			m->end_off = off;
			unsent_ = msgs_.next(m);
			cursor_ = 0;
		} else {
			if (m == unsent_)
				cursor_ = size - left + static_cast<uint32_t>(bytes);
			bytes = 0;
		}
		if ((m->flags & kMsgCancelled || (m->flags & kMsgOnce && m->end_off)) &&
		    !is_half_sent(*m)) {
			remove(m);
			done.push_back(m);
		}
	}
	/* Not all of it was taken: the next batch begins with the rest. */
	if (b.next && b.next != unsent_)
		unmark(*b.next);
	bug_on_hot(!unsent_ != !unsent_bytes_, "bytes that are to be sent are miscounted");
	return begun;
}

/* The cursor goes to the front, where it is before those that count as sent until they are met. */
void SendQueue::begin_restart()
{
	bug_on(is_out(), "a connection begins anew while a transport has messages");
	if (cursor_) {
		unsent_->end_off = tx_off_;
		unsent_bytes_ -= wire_bytes(*unsent_);
	}
	unsent_ = msgs_.front();
	held_ = nullptr;
	cursor_ = 0;
	tx_off_ = acked_off_ = 0;
	begun_before_ = begun_ > begun_before_ ? begun_ : begun_before_;
	begun_ = 0;
}

void SendQueue::begin_fold(Fold &f)
{
	held_ = nullptr;
	f.number = skip_number();
	begin_walk(f.first, nullptr);
	begin_walk(f.at, nullptr);
}

bool SendQueue::renumber_some(Fold &f)
{
	bug_on(is_out(), "numbers change while a transport has messages");
	for (unsigned int n = 0; n < kQueueStep; n++) {
		Message *m = step(f.first);

		if (!m) {
			stop(f.at);
			if (f.number > next_number_.load())
				next_number_.store(f.number);
			return false;
		}
		/* A frame has none. */
		if (wire::get64(m->hdr.sequence))
			wire::put64(m->hdr.sequence, f.number++);
	}
	return true;
}

} // namespace rds
