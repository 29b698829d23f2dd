// SPDX-License-Identifier: GPL-2.0
#include "channel.h"

#include <cstring>

#include "mainline.h"
#include "sim.h"

namespace peer
{
namespace
{

/* Behind the addresses. */
constexpr size_t kCommonBytes = 24;
constexpr size_t kSumAt = 30;

uint16_t sum(const std::vector<unsigned char> &frame)
{
	uint32_t s = 0;

	for (size_t i = 0; i < RDS_HEADER_BYTES; i += 2)
		s += static_cast<uint32_t>(get_be(&frame[i], 2));
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return static_cast<uint16_t>(s);
}

} // namespace

bool is_v4(const struct rds_addr &a)
{
	return !memcmp(&a, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
}

fabric::Data say(const struct rds_addr &from, const struct rds_addr &to, const Said &what)
{
	const size_t skip = is_v4(to) ? 12 : 0, each = 16 - skip;
	fabric::Data d(2 * each + kCommonBytes);

	memcpy(&d[0], reinterpret_cast<const unsigned char *>(&from) + skip, each);
	memcpy(&d[each], reinterpret_cast<const unsigned char *>(&to) + skip, each);

	host::Bytes c(kCommonBytes);

	put_be(c, 0, 1, what.major);
	put_be(c, 1, 1, what.minor);
	put_be(c, 2, 2, what.minors);
	put_be(c, 4, 1, what.tos);
	put_be(c, 8, 8, what.ack);
	put_be(c, 16, 4, what.credits);
	memcpy(&d[2 * each], c.data(), c.size());
	return d;
}

Said hear(const fabric::Data &d, const struct rds_addr &to)
{
	const size_t at = is_v4(to) ? 8 : 32;
	Said s;

	if (d.size() < at + kCommonBytes || !d[at])
		return Said{4, 0, 1};
	s.major = d[at];
	s.minor = d[at + 1];
	s.minors = static_cast<unsigned int>(get_be(&d[at + 2], 2));
	s.tos = d[at + 4];
	s.ack = get_be(&d[at + 8], 8);
	s.credits = static_cast<uint32_t>(get_be(&d[at + 16], 4));
	return s;
}

void put_sum(std::vector<unsigned char> &frame)
{
	frame[kSumAt] = frame[kSumAt + 1] = 0;

	auto s = static_cast<uint16_t>(~sum(frame));

	frame[kSumAt] = static_cast<unsigned char>(s >> 8);
	frame[kSumAt + 1] = static_cast<unsigned char>(s);
}

bool good_sum(const std::vector<unsigned char> &frame)
{
	return !get_be(&frame[kSumAt], 2) || sum(frame) == 0xffff;
}

ChannelRef Channel::call(ChannelOwner &o, const struct rds_addr &from, const struct rds_addr &to,
			 const fabric::Data &said, unsigned int buffers)
{
	auto c = std::make_shared<Channel>(o, to, 0);

	c->pair_ = fabric::create(from, to, 0, c.get());
	if (!c->pair_)
		return nullptr;
	for (; buffers; buffers--)
		c->offer();
	fabric::request(c->pair_, said);
	return c;
}

ChannelRef Channel::take(ChannelOwner &o, const fabric::Ref &p, const fabric::Data &said,
			 unsigned int buffers)
{
	auto c = std::make_shared<Channel>(o, p->addr[0], 1);

	c->pair_ = p;
	for (; buffers; buffers--)
		c->offer();
	return fabric::accept(p, said, c.get()) ? c : nullptr;
}

void Channel::put(const std::vector<unsigned char> &frame)
{
	fabric::Work w = {};

	if (closed_ || qp().dead)
		return;
	memcpy(w.header, frame.data(), sizeof(w.header));
	w.raw = std::make_shared<const std::vector<unsigned char>>(frame.begin() + RDS_HEADER_BYTES,
								   frame.end());
	/* Only a message's last one has to wake a peer that sleeps; ours never do. */
	w.signaled = w.solicited = true;
	unsent_++;
	fabric::post_send(pair_, side_, w);
}

bool Channel::get(std::vector<unsigned char> &frame)
{
	auto &in = qp().arrived;

	/* The completion of a send, too, brings our owner here; it says nothing of what came. */
	qp().woken = qp().woken && !in.empty();
	if (!qp().woken)
		return false;
	frame.assign(in.front().header, in.front().header + RDS_HEADER_BYTES);
	frame.insert(frame.end(), in.front().bytes.begin(), in.front().bytes.end());
	in.pop_front();
	if (!stingy)
		offer();
	return true;
}

void Channel::close()
{
	if (closed_)
		return;
	closed_ = true;
	fabric::destroy(pair_, side_);
}

void Channel::completed(enum rds_ctx)
{
	for (; !qp().sent.empty(); qp().sent.pop_front())
		unsent_--;
	qp().failed = 0;
	owner_.came(*this);
}

} // namespace peer
