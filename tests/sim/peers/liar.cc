// SPDX-License-Identifier: GPL-2.0
#include "liar.h"

#include <algorithm>

#include "sim.h"

namespace peer
{
namespace
{

/* Between two lies, at most, ns. */
constexpr uint64_t kPauseNs = 200 * 1000;
constexpr size_t kMaxTalks = 4;
constexpr size_t kMapBytes = 8192;

} // namespace

Liar::Liar(const struct rds_addr &addr, std::vector<struct rds_addr> victims,
	   std::vector<uint16_t> ports)
	: Trouble(std::move(victims), std::move(ports)), addr(addr)
{
	if (network::host_of(addr) == network::kNobody)
		network::add_host({addr});
	tube::listen(addr, this);
	wake_later();
}

Liar::~Liar()
{
	stop();
}

void Liar::stop()
{
	no_more();
	tube::listen(addr, nullptr);
	sim::wait_until([this] { return !busy; });
	for (auto &l : lines_) {
		tube::Locked lock(l->end());

		l->close();
	}
	talks_.clear();
}

void Liar::wake_later()
{
	soon(kPauseNs, "liar", [this] { wake(); });
}

void Liar::begin(const LineRef &l)
{
	lines_.push_back(l);
	talks_.push_back(Talk{l, static_cast<Mood>(sim::random_below(int(Mood::kCount))), 1, {}});
}

void Liar::incoming(const tube::Ref &p)
{
	tube::Locked l(p->end[1]);

	if (stopped() || talks_.size() >= kMaxTalks || sim::chance(200))
		tube::refuse(p, 1);
	else
		begin(Line::take(*this, p));
}

/* The reset in the handshake; who is called by one that should not call may stay, too. */
void Liar::opened(Line &l)
{
	if (sim::chance(200))
		l.close();
}

void Liar::came(Line &l)
{
	for (Talk &t : talks_) {
		if (t.line.get() != &l || t.mood == Mood::kDeaf)
			continue;

		host::Bytes b = l.read(1 + sim::random_below(10000));

		b.resize(std::min<size_t>(b.size(), 2000));
		t.heard = b;
	}
}

/* One thing, and then another. */
void Liar::wake()
{
	std::erase_if(talks_, [](const Talk &t) { return t.line->closed(); });
	if (talks_.size() < kMaxTalks && sim::chance(300)) {
		begin(Line::call(*this, addr, victim()));
	} else if (!talks_.empty()) {
		size_t i = sim::random_below(talks_.size());
		LineRef line = talks_[i].line;
		tube::Locked l(line->end());

		for (Talk &t : talks_)
			if (t.line == line)
				act(t);
	}
	wake_later();
}

void Liar::act(Talk &t)
{
	tube::End &e = t.line->end();

	if (e.dead || e.fin_in || sim::chance(t.mood == Mood::kAbrupt ? 300 : 20)) {
		t.line->close();
		return;
	}
	if (sim::chance(10))
		t.line->finish();
	if (t.mood == Mood::kSilent || !e.open || e.fin_out ||
	    t.line->put_bytes() - e.accepted > 200000)
		return;
	for (uint64_t n = sim::random_below(20); n; n--) {
		host::Bytes b = lie(t);

		if (sim::chance(50))
			b.resize(sim::random_below(b.size() + 1));
		t.line->put(b);
	}
	came(*t.line);
}

host::Bytes Liar::good(Talk &t, size_t n)
{
	return last_ = frame(t.seq++, static_cast<uint16_t>(2 + sim::random_below(1000)), port(), 0,
			     noise(n));
}

/* One field of a message that would be good otherwise. */
host::Bytes Liar::wrong_header(Talk &t)
{
	host::Bytes b = good(t, sim::random_below(300));

	switch (sim::random_below(7)) {
	case 0:
		put_be(b, 0, 8, odd_number(t.seq));
		break;
	case 1:
		put_be(b, 16, 4,
		       sim::chance(500) ? sim::random() : b.size() + sim::random_below(9));
		break;
	case 2:
		put_be(b, 20, 4, sim::chance(500) ? 0 : sim::random_below(0x30000));
		break;
	case 3:
		b[24] = static_cast<unsigned char>(sim::random());
		break;
	case 4:
		put_be(b, 8, 8, odd_number(t.seq));
		break;
	case 5:
		put_be(b, 25, 7, sim::random());
		break;
	default:
		for (int i = 32; i < 48; i++)
			b[i] = static_cast<unsigned char>(sim::chance(700) ? sim::random_below(17)
									   : sim::random());
		break;
	}
	return b;
}

host::Bytes Liar::lie(Talk &t)
{
	switch (sim::random_below(10)) {
	case 0:
		return noise(1 + sim::random_below(100));
	case 1: /* a map, of the right size or not */
		return frame(sim::chance(500) ? 0 : t.seq, 0, 0, 1,
			     sim::chance(500) ? host::Bytes(kMapBytes, 0xff)
					      : noise(kMapBytes - sim::random_below(2)));
	case 2: { /* again, with the flag or without */
		host::Bytes b = last_;

		if (b.size() > 24 && sim::chance(500))
			b[24] ^= 4;
		return b;
	}
	case 3: /* what it was sent itself */
		return t.heard;
	case 4: /* pings and probes */
		return frame(t.seq++, static_cast<uint16_t>(sim::random_below(4)), 0, 0, {},
			     {5, static_cast<unsigned char>(sim::random()), 0});
	case 5:
		return frame(t.seq++, 0, static_cast<uint16_t>(sim::random_below(3)), 0, noise(9));
	case 6:
	case 7:
		return wrong_header(t);
	case 8:
		return good(t, sim::random_below(20000));
	default:
		return good(t, sim::random_below(200));
	}
}

} // namespace peer
