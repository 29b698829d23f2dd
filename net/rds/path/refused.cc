// SPDX-License-Identifier: GPL-2.0
#include "refused.h"

namespace rds
{

Refused::~Refused()
{
	rds_free(ports_);
}

/* The ports have changed: how many are refused to the peer, how far may it be acknowledged? */
void Refused::count()
{
	uint32_t n = 0;

	ack_limit_ = ~0ull;
	for (unsigned int i = 0; gen_ && i < kept_; i++) {
		const Port &p = ports_[i];

		if (p.gen != gen_)
			continue;
		n++;
		if (!p.left && p.first < ack_limit_)
			ack_limit_ = p.first;
	}
	active_.store(n);
}

void Refused::drop(unsigned int i)
{
	ports_[i] = ports_[--kept_];
}

Refused::Port *Refused::find(uint16_t port) const
{
	for (unsigned int i = 0; gen_ && i < kept_; i++)
		if (ports_[i].port == port && ports_[i].gen == gen_)
			return &ports_[i];
	return nullptr;
}

void Refused::begin()
{
	meet(0);
}

void Refused::meet(uint32_t gen)
{
	gen_ = gen;
	for (unsigned int i = 0; i < kept_; i++)
		ports_[i].queued = ports_[i].left = false;
	count();
}

bool Refused::refuses(uint16_t port) const
{
	return find(port);
}

/* For one more.  False: no memory.  Rare enough to be moved: a second generation needs it. */
bool Refused::make_room()
{
	if (kept_ < room_)
		return true;

	const uint32_t room = room_ + kMaxRefusedPorts;
	auto *ports = static_cast<Port *>(rds_alloc(sizeof(Port) * room, RDS_ATOMIC));

	if (!ports)
		return false;
	for (uint32_t i = 0; i < kept_; i++)
		ports[i] = ports_[i];
	rds_free(ports_);
	ports_ = ports;
	room_ = room;
	return true;
}

bool Refused::go_on(uint16_t port, uint64_t number, uint32_t gen)
{
	uint32_t n = 0;

	each_of(gen, [&](uint16_t, uint64_t) { n++; });
	if (n == kMaxRefusedPorts || !make_room())
		return false;
	if (!++epoch_)
		++epoch_;
	ports_[kept_++] = {number, epoch_, gen, port, false, false};
	count();
	return true;
}

bool Refused::refuse(uint16_t port, uint64_t number)
{
	return find(port) || (gen_ && number && go_on(port, number, gen_));
}

bool Refused::resume(uint16_t port, uint32_t epoch)
{
	Port *p = find(port);

	if (!p || p->epoch != epoch)
		return false;
	drop(static_cast<unsigned int>(p - ports_));
	count();
	return true;
}

bool Refused::has_to_tell() const
{
	bool any = false;

	for (unsigned int i = 0; gen_ && i < kept_; i++)
		any = any || (!ports_[i].queued && ports_[i].gen == gen_);
	return any;
}

bool Refused::tell(wire::Refusal &r)
{
	for (unsigned int i = 0; gen_ && i < kept_; i++) {
		Port &p = ports_[i];

		if (p.queued || p.gen != gen_)
			continue;
		p.queued = true;
		r = {.what = wire::Ext::kRefused,
		     .port = p.port,
		     .epoch = p.epoch,
		     .number = p.first};
		return true;
	}
	return false;
}

void Refused::frame_left(uint32_t epoch)
{
	for (unsigned int i = 0; i < kept_; i++)
		if (ports_[i].epoch == epoch && ports_[i].queued)
			ports_[i].left = true;
	count();
}

} // namespace rds
