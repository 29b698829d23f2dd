// SPDX-License-Identifier: GPL-2.0
#include "crowd.h"

#include <algorithm>

#include "channel.h"
#include "paired_parts.h"
#include "sim.h"

namespace peer
{
namespace
{

/* Between two that come, and how long one stays, at most, ns. */
constexpr uint64_t kComeNs = 100 * 1000, kStayNs = 2 * 1000 * 1000;
constexpr size_t kMaxLines = 40;

/* The @n'th behind @first: far from those of hosts in a story. */
struct rds_addr neighbour(const struct rds_addr &first, unsigned int n)
{
	struct rds_addr a = first;
	auto *b = reinterpret_cast<unsigned char *>(&a);

	b[14] = static_cast<unsigned char>(1 + n);
	/* Smaller ones than all the others' call, larger ones knock. */
	if (n % 2)
		b[is_v4(a) ? 12 : 0]--;
	return a;
}

} // namespace

Crowd::Crowd(const struct rds_addr &first, unsigned int n, std::vector<struct rds_addr> victims,
	     std::vector<uint16_t> ports)
	: Trouble(std::move(victims), std::move(ports))
{
	const network::HostId id = network::host_of(first);

	for (unsigned int i = 0; i < n; i++) {
		addrs_.push_back(neighbour(first, i));
		network::add_addr(id, addrs_.back());
		tube::listen(addrs_.back(), this);
	}
	come_later();
}

Crowd::~Crowd()
{
	stop();
}

void Crowd::stop()
{
	no_more();
	for (const auto &a : addrs_)
		tube::listen(a, nullptr);
	sim::wait_until([this] { return !busy; });
	for (auto &l : lines_) {
		tube::Locked lock(l->end());

		l->close();
	}
}

void Crowd::come_later()
{
	soon(kComeNs, "stranger", [this] { come(); });
}

void Crowd::come()
{
	std::erase_if(lines_, [](const LineRef &l) { return l->closed(); });
	for (uint64_t n = 1 + sim::random_below(4); n && lines_.size() < kMaxLines; n--) {
		LineRef l = Line::call(*this, addrs_[sim::random_below(addrs_.size())], victim());

		lines_.push_back(l);
		leave_later(l);
	}
	come_later();
}

void Crowd::leave_later(const LineRef &line)
{
	old_.push_back(line);
	soon(kStayNs, "stranger goes", [this, line] {
		tube::Locked l(line->end());

		if (line->end().open && sim::chance(300))
			speak(*line);
		if (line->end().open && sim::chance(300))
			line->finish();
		line->close();
	});
}

host::Bytes Crowd::words() const
{
	const uint16_t port = good_port();

	switch (sim::random_below(7)) {
	case 0:
		return {};
	case 1: /* a ping */
		return frame(1 + sim::random_below(3), 9, 0, 0, {});
	case 2: /* mainline's probe */
		return frame(1, 1, 0, 0x20, {}, {5, 0, 8, 6, 1, 2, 3, 4, 8, 0});
	case 3:
		return frame(1 + sim::random_below(3), 9, port, 0, host::Bytes(20, 0x55));
	case 4:
		return hello_frame(static_cast<uint32_t>(1 + sim::random_below(3)));
	case 5:
		return frame(0, 0, 0, kMapFlag, host::Bytes(kMapBytes, 0xff));
	default: {
		host::Bytes b(1 + sim::random_below(100));

		for (auto &c : b)
			c = static_cast<unsigned char>(sim::random());
		return b;
	}
	}
}

void Crowd::speak(Line &l)
{
	for (uint64_t n = sim::random_below(4); n; n--) {
		host::Bytes b = words();

		if (sim::chance(200))
			b.resize(sim::random_below(b.size() + 1));
		l.put(b);
	}
}

void Crowd::opened(Line &l)
{
	speak(l);
}

void Crowd::came(Line &l)
{
	if (sim::chance(700))
		l.read();
	if (l.end().dead)
		l.close();
}

void Crowd::incoming(const tube::Ref &p)
{
	tube::Locked l(p->end[1]);

	if (stopped() || lines_.size() >= kMaxLines || sim::chance(500)) {
		tube::refuse(p, 1);
		return;
	}

	LineRef line = Line::take(*this, p);

	lines_.push_back(line);
	speak(*line);
	leave_later(line);
}

} // namespace peer
