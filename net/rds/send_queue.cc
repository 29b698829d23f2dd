// SPDX-License-Identifier: GPL-2.0
/*
 * send_queue.cc: the cursor, and numbers that change.
 */
#include "send_queue.h"

namespace rds
{

uint64_t SendQueue::skip_number()
{
	uint64_t number = next_number_.load();

	next_number_.store(number + 1);
	return number;
}

void SendQueue::put_first(Message *m, MsgList &replaced)
{
	bool map = m->hdr.flags == wire::kCongBitmap;
	Message *at = cursor_ ? msgs_.next(unsent_) : unsent_, *next;

	for (; at && !wire::get64(at->hdr.sequence); at = next) {
		next = msgs_.next(at);
		if (!map || at->hdr.flags != wire::kCongBitmap)
			continue;
		remove(at);
		replaced.push_back(at);
	}
	msgs_.insert_before(at, m);
	if (unsent_ == at)
		unsent_ = m;
	unsent_bytes_ += wire_bytes(*m);
}

void SendQueue::remove(Message *m)
{
	if (!m->end_off)
		unsent_bytes_ -= wire_bytes(*m);
	if (m == unsent_) {
		unsent_ = msgs_.next(m);
		cursor_ = 0;
	}
	msgs_.remove(m);
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

		m->flags &= static_cast<uint16_t>(~kMsgInXmit);
		begun += bytes != 0;
		if (uint64_t number = bytes ? wire::get64(m->hdr.sequence) : 0)
			begun_ = number;
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
	bug_on_hot(!unsent_ != !unsent_bytes_, "bytes that are to be sent are miscounted");
	return begun;
}

void SendQueue::renumber(uint64_t first)
{
	uint64_t next = first;

	for (Message *m = msgs_.front(); m; m = msgs_.next(m))
		if (wire::get64(m->hdr.sequence) >= first)
			wire::put64(m->hdr.sequence, next++);
	if (next > next_number_.load())
		next_number_.store(next);
}

/* The cursor goes to the front. */
void SendQueue::rewind()
{
	unsent_ = msgs_.front();
	unsent_bytes_ = 0;
	for (Message *m = unsent_; m; m = msgs_.next(m))
		unsent_bytes_ += wire_bytes(*m);
	cursor_ = 0;
}

} // namespace rds
