// SPDX-License-Identifier: GPL-2.0
#include "paired_liar.h"

#include <algorithm>

#include "paired_parts.h"
#include "sim.h"

namespace peer
{
namespace
{

/* Between two lies, at most, ns. */
constexpr uint64_t kPauseNs = 200 * 1000;
constexpr size_t kMaxTalks = 4;
/* Frames that wait for buffers; a message has so many at most. */
constexpr unsigned int kMaxUnsent = 100;
constexpr size_t kMaxFrames = 4;

} // namespace

PairedLiar::PairedLiar(const struct rds_addr &addr, std::vector<struct rds_addr> victims,
		       std::vector<uint16_t> ports)
	: Trouble(std::move(victims), std::move(ports)), addr(addr)
{
	if (network::host_of(addr) == network::kNobody)
		network::add_host({addr});
	fabric::listen(addr, this);
	wake_later();
}

PairedLiar::~PairedLiar()
{
	stop();
}

void PairedLiar::stop()
{
	no_more();
	fabric::listen(addr, nullptr);
	sim::wait_until([this] { return !busy; });
	for (auto &c : lines_) {
		fabric::Locked lock(c->qp());

		c->close();
	}
	talks_.clear();
}

void PairedLiar::wake_later()
{
	soon(kPauseNs, "liar", [this] { wake(); });
}

/* Its private data while connecting: often good. */
fabric::Data PairedLiar::odd_offer(const struct rds_addr &to) const
{
	Said s;
	const uint32_t counts[] = {0, 1, 4, 64, 1u << 24, ~0u};

	s.credits = counts[sim::random_below(std::size(counts))];
	s.tos = static_cast<unsigned int>(sim::random_below(kTos));
	s.ack = sim::chance(300) ? odd_number(50) : 0;
	switch (sim::random_below(8)) {
	case 0:
		s.major = static_cast<unsigned int>(sim::random_below(8));
		s.minor = static_cast<unsigned int>(sim::random_below(4));
		break;
	case 1:
		s.minors = static_cast<unsigned int>(sim::random_below(0x10000));
		break;
	case 2:
		s.major = 3;
		break;
	default:
		break;
	}

	/* In another's name, which adapters' addresses belie, or nobody's. */
	const bool name = sim::chance(50);
	fabric::Data d = say(name ? victim() : addr, to, s);

	if (sim::chance(50))
		d.resize(sim::random_below(d.size() + 20));
	if (sim::chance(50))
		std::fill_n(d.begin(), std::min<size_t>(d.size(), 4), uint8_t{0});
	return d;
}

void PairedLiar::begin(const ChannelRef &c, bool open)
{
	lines_.push_back(c);
	c->stingy = sim::chance(200);
	talks_.push_back(
		Talk{c, static_cast<Mood>(sim::random_below(int(Mood::kCount))), 1, {}, open});
}

void PairedLiar::call()
{
	const struct rds_addr &to = victim();
	ChannelRef c = Channel::call(*this, addr, to, odd_offer(to),
				     static_cast<unsigned int>(sim::random_below(40)));

	if (c)
		begin(c, false);
}

void PairedLiar::incoming(const fabric::Ref &p)
{
	if (sim::chance(100))
		return; /* who calls will give up */

	fabric::Locked l(p->qp[1]);
	ChannelRef c = nullptr;

	if (!stopped() && talks_.size() < kMaxTalks && !sim::chance(300))
		c = Channel::take(*this, p, odd_offer(p->addr[0]),
				  static_cast<unsigned int>(sim::random_below(40)));
	if (c)
		begin(c, true);
	else
		fabric::reject(p, sim::chance(500) ? fabric::Data{0, 0, 0, 1}
						   : noise(sim::random_below(9)));
}

void PairedLiar::opened(Channel &c)
{
	for (Talk &t : talks_)
		if (t.line.get() == &c)
			t.open = true;
	if (sim::chance(200))
		c.close();
}

void PairedLiar::came(Channel &c)
{
	host::Bytes f;

	for (Talk &t : talks_) {
		if (t.line.get() != &c || t.mood == Mood::kDeaf)
			continue;
		for (uint64_t n = sim::random_below(10); n && c.get(f); n--)
			t.heard = f;
	}
}

/* One thing, and then another; or several calls at once. */
void PairedLiar::wake()
{
	std::erase_if(talks_, [](const Talk &t) { return t.line->closed(); });
	if (talks_.size() < kMaxTalks && sim::chance(300)) {
		for (uint64_t n = sim::chance(100) ? 4 : 1; n; n--)
			call();
	} else if (!talks_.empty()) {
		ChannelRef line = talks_[sim::random_below(talks_.size())].line;
		fabric::Locked l(line->qp());

		for (Talk &t : talks_)
			if (t.line == line)
				act(t);
	}
	wake_later();
}

void PairedLiar::act(Talk &t)
{
	if (t.line->qp().dead || sim::chance(t.mood == Mood::kAbrupt ? 300 : 20)) {
		t.line->close();
		return;
	}
	if (t.mood == Mood::kSilent || !t.open)
		return;
	if (t.line->stingy && sim::chance(100))
		t.line->offer();
	for (uint64_t n = sim::random_below(20); n && t.line->unsent() < kMaxUnsent; n--)
		lie(t);
	came(*t.line);
}

/* A good one of a message of @len bytes. */
host::Bytes PairedLiar::header(Talk &t, size_t len) const
{
	host::Bytes b = frame(t.seq++, static_cast<uint16_t>(2 + sim::random_below(1000)), port(),
			      sim::chance(200) ? kAckRequired : 0, {});

	put_be(b, kLenAt, 4, len);
	return b;
}

/* One field of it is wrong. */
host::Bytes PairedLiar::wrong_header(Talk &t) const
{
	host::Bytes b = header(t, sim::random_below(300));

	switch (sim::random_below(8)) {
	case 0:
		put_be(b, 0, 8, odd_number(t.seq));
		break;
	case 1:
		put_be(b, kLenAt, 4, sim::random());
		break;
	case 2:
		put_be(b, kSportAt, 4, sim::chance(500) ? 0 : sim::random_below(0x30000));
		break;
	case 3:
		b[kFlagsAt] = static_cast<unsigned char>(sim::random());
		break;
	case 4:
	case 5:
		put_be(b, kAckAt, 8, odd_number(t.seq));
		break;
	case 6:
		b[kCreditAt] = static_cast<unsigned char>(sim::chance(500) ? 255 : sim::random());
		break;
	default:
		for (int i = 32; i < 48; i++)
			b[i] = static_cast<unsigned char>(sim::chance(700) ? sim::random_below(17)
									   : sim::random());
		break;
	}
	return b;
}

/* With the right checksum, mostly. */
void PairedLiar::put(Talk &t, host::Bytes f)
{
	if (sim::chance(900))
		put_sum(f);
	else if (sim::chance(500))
		f[30]++;
	last_ = f;
	t.line->put(f);
}

/* In frames; now and then one is short, long, missing, or of another message. */
void PairedLiar::message(Talk &t)
{
	const bool map = sim::chance(200);
	size_t left = map ? kMapBytes - sim::random_below(2)
			  : sim::random_below(kMaxFrames * fabric::kFrameBytes);
	host::Bytes h = header(t, left);

	if (map) {
		put_be(h, 0, 8, sim::chance(500) ? 0 : t.seq);
		put_be(h, kSportAt, 4, 0);
		h[kFlagsAt] = kMapFlag;
	}
	do {
		size_t n = std::min<size_t>(left, fabric::kFrameBytes);
		host::Bytes f = h, data = noise(n);

		left -= n;
		if (sim::chance(20))
			data.resize(sim::random_below(fabric::kFrameBytes + 1));
		if (sim::chance(20))
			put_be(f, 0, 8, odd_number(t.seq));
		f.insert(f.end(), data.begin(), data.end());
		if (!sim::chance(20))
			put(t, f);
	} while (left);
}

void PairedLiar::lie(Talk &t)
{
	switch (sim::random_below(10)) {
	case 0: /* a frame of noise */
		put(t, noise(RDS_HEADER_BYTES + sim::random_below(100)));
		break;
	case 1: /* again, with the flag or without */
		if (!last_.empty()) {
			if (sim::chance(500))
				last_[kFlagsAt] ^= kRetransmitted;
			put(t, last_);
		}
		break;
	case 2: /* what it was sent itself */
		if (!t.heard.empty())
			put(t, t.heard);
		break;
	case 3: /* an ack, of anything, with credits */
		put(t, [&] {
			host::Bytes f = frame(0, 0, 0, 0, {});

			put_be(f, kAckAt, 8, odd_number(t.seq));
			f[kCreditAt] = static_cast<unsigned char>(sim::random());
			return f;
		}());
		break;
	case 4:
		put(t, hello_frame(static_cast<uint32_t>(sim::random_below(3))));
		break;
	case 5: /* pings */
		put(t, frame(t.seq++, static_cast<uint16_t>(sim::random_below(4)), 0, 0, {}));
		break;
	case 6:
		put(t, wrong_header(t));
		break;
	case 7: /* with bytes that its header does not announce, or does */
		put(t, [&] {
			host::Bytes f = wrong_header(t), data = noise(sim::random_below(4000));

			f.insert(f.end(), data.begin(), data.end());
			return f;
		}());
		break;
	default:
		message(t);
		break;
	}
}

} // namespace peer
