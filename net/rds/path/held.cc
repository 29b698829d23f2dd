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

void HeldPorts::destroy(Ports &ports)
{
	while (HeldPort *h = ports.pop_front())
		rds::destroy(h);
}

void HeldPort::insert(Message *m, Message *&at)
{
	const uint64_t number = wire::get64(m->hdr.sequence);

	while (at && wire::get64(at->hdr.sequence) && wire::get64(at->hdr.sequence) < number)
		at = msgs.next(at);
	msgs.insert_before(at, m);
}

void HeldPorts::refuse(HeldPort &h, uint32_t epoch, uint64_t first)
{
	refused_ += !h.epoch;
	h.epoch = epoch;
	h.first = first;
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
	table_->buckets[port % kBuckets].push_back(h);
	table_->is_held[port / 64] |= 1ull << (port % 64);
	count_++;
	return h;
}

} // namespace rds
