// SPDX-License-Identifier: GPL-2.0
#include "held.h"

#include "../bug.h"

namespace rds
{

HeldPorts::~HeldPorts()
{
	bug_on(count_, "messages wait for a port on a path that is destroyed");
	rds_free(table_);
}

void HeldPort::put_aside(Message *m)
{
	const uint64_t number = wire::get64(m->hdr.sequence);
	Message *at = nullptr;

	if (number > last_aside)
		last_aside = number;
	else
		for (at = msgs.front(); at && wire::get64(at->hdr.sequence) < number;)
			at = msgs.next(at);
	msgs.insert_before(at, m);
}

Message *HeldPort::next(const Message *m) const
{
	/* Those that were sent have an offset, no others do. */
	if (!m->end_off)
		return msgs.next(m);

	Message *later = sent.next(m);

	return later ? later : msgs.front();
}

void HeldPorts::insert(HeldPort &h)
{
	const unsigned int bucket = h.port % kBuckets;

	table_->buckets[bucket].push_back(&h);
	for (Walk *w = table_->walks; w; w = w->other_)
		if (w->bucket_ == bucket && !w->port_) {
			w->port_ = &h;
			w->entered_ = false;
		}
}

void HeldPorts::remove(HeldPort &h)
{
	Ports &b = table_->buckets[h.port % kBuckets];

	for (Walk *w = table_->walks; w; w = w->other_)
		if (w->port_ == &h) {
			w->port_ = b.next(&h);
			w->entered_ = false;
		}
	b.remove(&h);
}

void HeldPorts::take_off(HeldPort &h, Message *m)
{
	for (Walk *w = table_->walks; w; w = w->other_)
		if (w->at_ == m)
			w->at_ = h.next(m);
	(m->end_off ? h.sent : h.msgs).remove(m);
}

/* Messages that were refused in the meantime stay. */
Message *HeldPorts::pop_front(HeldPort &h)
{
	Message *m = h.refused_late ? h.msgs.front() : h.front();

	if (m)
		take_off(h, m);
	return m;
}

Message *HeldPorts::step(Walk &w) const
{
	if (!table_)
		return nullptr;
	if (!w.in_) {
		w.in_ = this;
		w.other_ = table_->walks;
		table_->walks = &w;
	}
	if (w.port_) {
		Message *m = w.entered_ ? w.at_ : w.port_->front();

		w.entered_ = true;
		w.at_ = m ? w.port_->next(m) : nullptr;
		if (m)
			return m;
		w.port_ = table_->buckets[w.bucket_].next(w.port_);
	}
	while (!w.port_ && w.bucket_ != kBuckets && ++w.bucket_ != kBuckets)
		w.port_ = table_->buckets[w.bucket_].front();
	w.entered_ = false;
	return nullptr;
}

void HeldPorts::stop(Walk &w) const
{
	if (!w.in_)
		return;

	Walk **at = &table_->walks;

	while (*at && *at != &w)
		at = &(*at)->other_;
	if (*at)
		*at = w.other_;
	w.in_ = nullptr;
}

void HeldPorts::stay(HeldPort &h)
{
	remove(h);
	h.goes_back = h.refused_late = false;
	insert(h);
}

void HeldPorts::drop(HeldPort &h, uint64_t last)
{
	remove(h);
	table_->is_held[h.port / 64] &= ~(1ull << (h.port % 64));
	count_--;
	refused_ -= h.epoch != 0;
	owing_ -= h.owes;
	if (!owing_ && owed_.load() == ~0ull)
		owed_.store(last);
}

void HeldPorts::refuse(HeldPort &h, uint32_t epoch, uint64_t first)
{
	refused_ += !h.epoch;
	h.epoch = epoch;
	h.refused_since.set_to_now();
	h.first = first;
	owe(h);
}

void HeldPorts::owe(HeldPort &h)
{
	owing_ += !h.owes;
	h.owes = true;
	owed_.store(~0ull);
}

HeldPort *HeldPorts::find(uint16_t port)
{
	if (!holds(port))
		return nullptr;

	Ports &b = table_->buckets[port % kBuckets];
	HeldPort *h = b.front();

	while (h && h->port != port)
		h = b.next(h);
	return h;
}

HeldPort *HeldPorts::hold(uint16_t port)
{
	if (HeldPort *h = find(port))
		return h;
	if (!table_) {
		void *p = rds_alloc(sizeof(Table), RDS_ATOMIC);

		if (!p)
			return nullptr;
		table_ = new (p) Table();
	}

	auto *h = create<HeldPort>(RDS_ATOMIC, port);

	if (!h)
		return nullptr;
	insert(*h);
	table_->is_held[port / 64] |= 1ull << (port % 64);
	count_++;
	return h;
}

} // namespace rds
