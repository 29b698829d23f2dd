// SPDX-License-Identifier: GPL-2.0
#include "talk.h"

#include <algorithm>

#include "sim.h"

namespace adversary
{
namespace
{

using peer::get_be;
using peer::put_be;

/* An honest peer acknowledges so many at once, unless it is asked. */
constexpr unsigned int kAckEvery = 8;
constexpr uint16_t kProbePort = 1;

} // namespace

host::Bytes hello(const Self &self)
{
	host::Bytes ext = {6, 0, 0, 0, 0, 5, 0, 0, 8, self.index, 7, 0, 0, 0, 0};

	put_be(ext, 1, 4, self.generation);
	put_be(ext, 6, 2, self.paths);
	put_be(ext, 11, 4, self.caps & 0xffffff); /* its first byte ends the list */
	return peer::frame(0, 0, 0, peer::kRetransmitted, {}, ext);
}

void Talk::count(const host::Bytes &b, bool odd)
{
	tally_.bytes += b.size();
	tally_.frames += !odd;
	frames++;
}

void Talk::say(const host::Bytes &b, bool odd)
{
	locked([&] {
		count(b, odd);
		put(b);
	});
}

void Talk::deafen(size_t n)
{
	may_hear_ = n;
	locked([&] { look(); });
}

void Talk::message(uint16_t sport, uint16_t dport, const host::Bytes &data, uint8_t flags,
		   const host::Bytes &ext)
{
	host::Bytes h = peer::frame(take_number(), sport, dport, flags, {}, ext);
	size_t off = 0;

	put_be(h, peer::kLenAt, 4, data.size());
	do {
		size_t n = std::min(most_in_frame(), data.size() - off);
		host::Bytes f = h;

		f.insert(f.end(), data.begin() + static_cast<long>(off),
			 data.begin() + static_cast<long>(off + n));
		off += n;
		say(f);
	} while (off < data.size());
}

void Talk::acknowledge(uint64_t seq, uint8_t credits)
{
	host::Bytes f = peer::frame(0, 0, 0, peer::kRetransmitted, {});

	put_be(f, peer::kAckAt, 8, seq);
	f[peer::kCreditAt] = credits;
	say(f);
}

void Talk::came_up()
{
	const bool odd = !first.empty() && get_be(&first[peer::kLenAt], 4);

	since_ns = sim::now_ns();
	tally_.opened += !odd;
	if (first.empty())
		return;
	count(first, odd);
	put(first);
}

/* A header of the host's, and all that belongs to it. */
void Talk::heard(const unsigned char *header, size_t len)
{
	const uint64_t seq = get_be(header, 8);
	const uint8_t flags = header[peer::kFlagsAt];

	met = true;
	tally_.heard++;
	if (flags == peer::kMapFlag && len)
		maps++;
	if (!seq)
		return;
	last_heard = seq;
	if (flags & peer::kRetransmitted || seq <= top_)
		tally_.again++;
	else
		tally_.came++;
	top_ = std::max(top_, seq);
	unacked_++;
	if (!mute)
		answer(header);
}

void Talk::answer(const unsigned char *header)
{
	const uint64_t sport = get_be(header + peer::kSportAt, 2);
	const uint64_t dport = get_be(header + peer::kDportAt, 2);
	host::Bytes f;

	if (pongs && sport && !dport) {
		f = peer::frame(take_number(), 0, static_cast<uint16_t>(sport), 0, {});
	} else if (acks == Acks::kHonest && (unacked_ >= kAckEvery || sport == kProbePort ||
					     header[peer::kFlagsAt] & peer::kAckRequired)) {
		f = peer::frame(0, 0, 0, peer::kRetransmitted, {});
	} else {
		return;
	}
	if (acks == Acks::kHonest) {
		put_be(f, peer::kAckAt, 8, last_heard);
		unacked_ = 0;
	}
	if (half)
		return; /* it would be a part of the message that is not whole */
	count(f, false);
	put(f);
}

/* ---- over a stream ---- */

void StreamTalk::call(uint16_t port)
{
	tally_.knocks++;
	line_ = peer::Line::call(*this, self, other, port);
}

void StreamTalk::take(const tube::Ref &p)
{
	line_ = peer::Line::take(*this, p);
	came_up();
}

bool StreamTalk::is_over()
{
	return line_->closed() || line_->end().dead;
}

bool StreamTalk::is_open()
{
	const tube::End &e = line_->end();

	return !is_over() && e.open && !e.fin_in && !e.fin_out;
}

bool StreamTalk::is_taken()
{
	const tube::End &far = line_->ref()->end[!line_->side()];

	return line_->taken() == line_->put_bytes() && line_->end().tx.empty() && far.rx.empty();
}

void StreamTalk::locked(const std::function<void()> &fn)
{
	if (!is_open())
		return;

	tube::Locked l(line_->end());

	if (is_open())
		fn();
}

void StreamTalk::end(bool in_order)
{
	tube::Locked l(line_->end());

	if (line_->closed())
		return;
	if (in_order && line_->end().open)
		line_->finish();
	line_->close();
}

void StreamTalk::opened(peer::Line &)
{
	came_up();
}

void StreamTalk::came(peer::Line &l)
{
	if (l.closed())
		return;
	look();
	if (l.end().dead || (l.end().fin_in && l.end().rx.empty()))
		l.close();
}

void StreamTalk::look()
{
	host::Bytes b = line_->read(may_hear_);

	if (may_hear_ != SIZE_MAX)
		may_hear_ -= b.size();
	in_.insert(in_.end(), b.begin(), b.end());

	size_t at = 0;

	while (in_.size() - at >= RDS_HEADER_BYTES) {
		size_t len = get_be(&in_[at + peer::kLenAt], 4);

		if (in_.size() - at < RDS_HEADER_BYTES + len)
			break;
		heard(&in_[at], len);
		at += RDS_HEADER_BYTES + len;
	}
	in_.erase(in_.begin(), in_.begin() + static_cast<long>(at));
}

/* ---- over queue pairs ---- */

bool PairTalk::call(const fabric::Data &offer, unsigned int buffers)
{
	tally_.knocks++;
	channel_ = peer::Channel::call(*this, self, other, offer, buffers);
	return channel_ != nullptr;
}

bool PairTalk::take(const fabric::Ref &p, const fabric::Data &offer, unsigned int buffers)
{
	channel_ = peer::Channel::take(*this, p, offer, buffers);
	return channel_ != nullptr;
}

bool PairTalk::is_over()
{
	return channel_->closed() || channel_->qp().dead;
}

bool PairTalk::is_open()
{
	return !is_over() && up_;
}

bool PairTalk::is_taken()
{
	return !channel_->unsent() && channel_->pair()->qp[!channel_->side()].arrived.empty();
}

void PairTalk::locked(const std::function<void()> &fn)
{
	if (!is_open())
		return;

	fabric::Locked l(channel_->qp());

	if (is_open())
		fn();
}

void PairTalk::end(bool)
{
	fabric::Locked l(channel_->qp());

	channel_->close();
}

void PairTalk::put(const host::Bytes &b)
{
	host::Bytes f = b;

	if (f.size() < RDS_HEADER_BYTES)
		f.resize(RDS_HEADER_BYTES);
	peer::put_sum(f);
	channel_->put(f);
}

void PairTalk::opened(peer::Channel &)
{
	if (up_)
		return;
	up_ = true;
	came_up();
}

void PairTalk::came(peer::Channel &c)
{
	if (c.closed())
		return;
	/* A frame is as good as the word that we are connected, which may be lost. */
	if (!c.qp().arrived.empty())
		opened(c);
	look();
	if (c.qp().dead)
		c.close();
}

void PairTalk::look()
{
	host::Bytes f;

	while (may_hear_ && channel_->get(f)) {
		const size_t len = get_be(&f[peer::kLenAt], 4), n = f.size() - RDS_HEADER_BYTES;

		if (may_hear_ != SIZE_MAX)
			may_hear_--;
		left_ = left_ ? left_ : len;
		left_ -= std::min(left_, n);
		if (!left_)
			heard(f.data(), len);
	}
}

} // namespace adversary
