// SPDX-License-Identifier: GPL-2.0
/* Harm by messages, and by parts of them. */
#include "harms.h"
#include "sim.h"
#include "trouble.h"

namespace adversary
{
namespace
{

constexpr uint64_t kMs = 1000 * 1000;
constexpr uint32_t kMiB = 1u << 20;

uint64_t some(uint64_t least, uint64_t most)
{
	return least + sim::random_below(most - least + 1);
}

/* A port that a message of @n's may go to: one of the victim's programs', if @n may bring any. */
uint16_t port_for(const Name &n)
{
	const uint16_t ports[] = {kFullPort, kSlowPort, kSlowPort, kSendingPort, kHonestPort};

	if (!n.known)
		return kNobodysPort;
	return ports[sim::random_below(std::size(ports))];
}

/* The first @n bytes of a message of @len bytes for @port, which says no more.  Over queue pairs
 * whole frames of it, one at least. */
void begin_message(World &w, Talk &t, uint16_t port, uint32_t len, size_t n)
{
	const size_t frame = w.adv->pairs ? fabric::kFrameBytes : n;
	host::Bytes h = peer::frame(t.take_number(), 9, port, 0, {});
	size_t off = 0;

	peer::put_be(h, peer::kLenAt, 4, w.adv->pairs ? len + fabric::kFrameBytes : len);
	do {
		host::Bytes f = h;

		t.half += frame + 1; /* it answers nothing from here on */
		f.resize(f.size() + frame, 0x5a);
		t.say(f, true);
		off += frame;
	} while (frame && off + frame <= n);
}

} // namespace

void harm_asks(World &w)
{
	Name &n = w.adv->any();
	Talk *t = w.adv->talk_of(n);
	const uint16_t port = port_for(n);

	for (uint64_t i = some(20, 200); t && i; i--)
		t->message(9, port, peer::noise(some(0, 30)), peer::kAckRequired);
}

void harm_pings(World &w)
{
	Talk *t = w.adv->talk_of(w.adv->any());
	const uint64_t n = some(50, 400);

	if (!t)
		return;
	if (sim::chance(500))
		t->deafen(0);
	w.counts(RDS_S_recv_ping, n, *t, [&] {
		for (uint64_t i = 0; i < n; i++)
			t->message(static_cast<uint16_t>(some(2, 1000)), 0, {});
	});
}

void harm_pongs(World &w)
{
	Talk *t = w.adv->talk_of(w.adv->any());

	for (uint64_t i = some(20, 200); t && i; i--)
		t->message(0, sim::chance(500) ? 1 : kSlowPort, {});
}

void harm_probes(World &w)
{
	Talk *t = w.adv->talk_of(w.adv->any());
	const host::Bytes ext = {5, 0, static_cast<unsigned char>(some(0, 9)), 0};

	if (t && sim::chance(500))
		t->deafen(0);
	for (uint64_t i = some(20, 200); t && i; i--)
		t->message(1, 0, {}, 0, ext);
}

void harm_half(World &w)
{
	Name &n = w.adv->any();

	if (Talk *t = w.adv->talk_of(n)) {
		const auto len = static_cast<uint32_t>(some(10, 60000));

		begin_message(w, *t, n.known ? port_for(n) : kSlowPort, len, some(0, len - 1));
	}
}

/* Strangers' only: their budget is the smaller one. */
void harm_halves(World &w)
{
	for (Name &n : w.adv->names) {
		if (n.known)
			continue;
		if (Talk *t = w.adv->talk_of(n)) {
			begin_message(w, *t, kSlowPort, kMiB - 5000, kMiB - 9000);
			w.wait(20 * kMs);
		}
	}
	w.wait(100 * kMs);
}

void harm_announces(World &w)
{
	for (Name &n : w.adv->names) {
		Talk *t = sim::chance(500) ? w.adv->talk_of(n) : nullptr;

		if (t)
			begin_message(w, *t, sim::chance(500) ? kSlowPort : kNobodysPort,
				      kMiB - 5000, 0);
	}
}

void harm_nobodys(World &w)
{
	Talk *t = w.adv->talk_of(w.adv->any());
	const uint64_t n = some(5, 100);

	if (!t)
		return;
	w.counts(RDS_S_recv_drop_no_sock, n, *t, [&] {
		for (uint64_t i = 0; i < n; i++)
			t->message(9, kNobodysPort, peer::noise(some(0, 5000)));
	});
}

void harm_floods(World &w)
{
	Talk *t = w.adv->talk_of(w.adv->any(true));

	for (uint64_t i = some(50, 400); t && i; i--)
		t->message(9, kFullPort, peer::noise(some(0, 3000)));
	if (t)
		t->flooded = true;
	w.wait(some(1, 100) * kMs);
}

void harm_fills(World &w)
{
	Talk *t = w.adv->talk_of(w.adv->any(true));

	for (uint64_t i = some(20, 100); t && i; i--) {
		t->message(9, kSlowPort, peer::noise(some(2000, 4000)));
		w.wait(some(0, 4 * kMs));
	}
}

void harm_ends(World &w)
{
	Name &n = w.adv->any();

	for (uint64_t i = some(1, 6); i; i--) {
		Talk *t = w.adv->talk_of(n);

		if (!t)
			return;

		/* Its number is gone: a header alone may be all that the host wants of it. */
		host::Bytes f =
			peer::frame(t->take_number(), 9, port_for(n), 0, peer::noise(some(0, 200)));

		f.resize(some(0, f.size() - 1));
		t->say(f, true);
		w.wait(some(0, kMs));
		t->end(sim::chance(500));
	}
}

void harm_numbers(World &w)
{
	Name &n = w.adv->any();
	Talk *t = w.adv->talk_of(n);
	uint64_t number = t ? t->take_number() : 0;

	for (uint64_t i = some(5, 50); t && i; i--) {
		t->confused = true;
		number = sim::chance(500) ? peer::odd_number(number) : number + 1;
		t->say(peer::frame(number, 9, port_for(n),
				   sim::chance(300) ? peer::kRetransmitted : 0,
				   peer::noise(some(0, 100))));
	}
	/* Nothing of this life would be new to the host. */
	n.self.generation = static_cast<uint32_t>(sim::random()) | 1;
	if (t && sim::chance(500))
		t->end();
}

void harm_orders(World &w)
{
	Name &n = w.adv->any(true);
	Self self = n.self;
	Talk *t;

	if (Talk *old = w.adv->find(n); old && sim::chance(500)) {
		old->end();
		n.self.caps = sim::chance(500) ? 2 : 30;
	}
	t = w.adv->talk_of(n);
	for (uint64_t i = some(50, 400); t && i; i--) {
		host::Bytes ext = {15, 0, 0, 0, 0, 0, 0, 0, 0, 0};

		peer::put_be(ext, 1, 4, sim::chance(500) ? i : sim::random());
		peer::put_be(ext, 5, 4, sim::random_below(i));
		t->message(static_cast<uint16_t>(some(2, 600)), kSlowPort, peer::noise(4), 0, ext);
		if (i % 8 == 0)
			w.wait(some(0, kMs));
	}
	n.self = self;
}

void harm_from_nowhere(World &w)
{
	Talk *t = w.adv->talk_of(w.adv->any());
	const uint64_t n = some(5, 50);

	if (!t)
		return;
	w.counts(RDS_S_recv_drop_bad_port, n, *t, [&] {
		for (uint64_t i = 0; i < n; i++)
			t->message(0, kSlowPort, peer::noise(some(0, 9)));
	});
}

void harm_crumbs(World &w)
{
	Name &n = w.adv->any(true);
	Talk *t = w.adv->talk_of(n);

	if (!t)
		return;

	const host::Bytes f =
		peer::frame(t->take_number(), 9, port_for(n), 0, peer::noise(some(50, 300)));

	for (size_t i = 0; i < f.size(); i++) {
		t->half = i + 1;
		t->say({f[i]}, i + 1 < f.size());
		if (sim::chance(200))
			w.wait(some(0, kMs));
	}
	t->half = 0;
}

void harm_sizes(World &w)
{
	Name &n = w.adv->any();

	for (uint64_t i = some(1, 6); i; i--) {
		Talk *t = w.adv->talk_of(n);
		host::Bytes f = peer::frame(1, 9, port_for(n), 0, peer::noise(some(0, 4096)));

		if (!t)
			return;
		peer::put_be(f, peer::kLenAt, 4, some(0, 9000));
		t->say(f, true);
		w.wait(some(0, kMs));
	}
}

} // namespace adversary
