// SPDX-License-Identifier: GPL-2.0
/* Harm by connections, acks and maps; harms_messages.cc has that by messages. */
#include "harms.h"

#include "sim.h"
#include "trouble.h"

namespace adversary
{

#define ADVERSARY_HARM(name, over, what) {#name, Over::over, what, harm_##name},
const Harm harms[] = {ADVERSARY_HARMS(ADVERSARY_HARM)};
#undef ADVERSARY_HARM
const unsigned int n_harms = sizeof(harms) / sizeof(harms[0]);

namespace
{

constexpr uint64_t kMs = 1000 * 1000;
constexpr size_t kMapBytes = 8192;

uint64_t some(uint64_t least, uint64_t most)
{
	return least + sim::random_below(most - least + 1);
}

/* Two of three times one that a socket of the victim's sends to. */
Name &mostly_used(World &w)
{
	return sim::chance(660) ? w.adv->names[sim::random_below(2)] : w.adv->any();
}

host::Bytes map_frame(const host::Bytes &bits)
{
	return peer::frame(0, 0, 0, peer::kMapFlag, bits);
}

/* All its connections end. */
void has_to_be_called(World &w, const Name &n)
{
	for (size_t i = 0; i < w.adv->talks.size(); i++)
		if (&w.adv->talks[i]->tally() == &n.tally && w.adv->talks[i]->is_open())
			w.adv->talks[i]->end();
}

/* Over a connection of its own, which ends. */
void visit(World &w, Name &n, const Self &self)
{
	if (Talk *t = w.adv->call(n)) {
		t->greet(self);
		w.wait(some(0, kMs));
		t->end(sim::chance(500));
	}
}

} // namespace

void harm_calls_again(World &w)
{
	Name &n = mostly_used(w);

	w.adv->talk_of(n);
	for (uint64_t i = some(1, 6); i; i--) {
		if (Talk *t = w.adv->call(n))
			t->greet(n.self);
		w.wait(some(0, 3 * kMs));
	}
}

void harm_lives(World &w)
{
	Name &n = mostly_used(w);

	for (uint64_t i = some(2, 8); i; i--) {
		n.self.generation = static_cast<uint32_t>(sim::random());
		visit(w, n, n.self);
	}
}

void harm_capabilities(World &w)
{
	Name &n = mostly_used(w);
	Self self = n.self;

	for (uint64_t i = some(2, 6); i; i--) {
		self.caps = static_cast<uint32_t>(sim::random_below(32));
		self.paths = static_cast<uint16_t>(some(0, 9));
		visit(w, n, self);
	}
}

void harm_greets_again(World &w)
{
	Talk *t = w.adv->talk_of(mostly_used(w));
	Self self;

	for (uint64_t i = some(1, 20); t && i; i--) {
		self.generation = static_cast<uint32_t>(sim::random());
		self.caps = static_cast<uint32_t>(sim::random_below(32));
		t->say(hello(self));
	}
}

void harm_acks_unsent(World &w)
{
	Talk *t = w.adv->talk_of(mostly_used(w));
	const uint64_t n = some(1, 50);

	if (!t || (t->said.caps & 6) != 6)
		return;
	w.counts(RDS_S_recv_bad_ack, n, *t, [&] {
		for (uint64_t i = 0; i < n; i++)
			t->acknowledge(sim::chance(500) ? ~0ull - i : t->last_heard + 100000 + i);
	});
}

void harm_acks_never(World &w)
{
	if (Talk *t = w.adv->talk_of(mostly_used(w)))
		t->acks = Talk::Acks::kNever;
}

void harm_acks_late(World &w)
{
	Talk *t = w.adv->talk_of(mostly_used(w));

	if (!t)
		return;
	t->acks = Talk::Acks::kNever;
	w.wait(some(10, 200) * kMs);
	t->acks = Talk::Acks::kHonest;
	t->acknowledge(t->last_heard);
}

static host::Bytes bytes_of(const rds::wire::Header &h)
{
	const auto *at = reinterpret_cast<const unsigned char *>(&h);

	return {at, at + sizeof(h)};
}

/* Ports that have filled or cleared, the port that is sent to among them now and then; or no such
 * number of them. */
static host::Bytes some_changes()
{
	rds::wire::MapChanges c;
	rds::wire::Header h;

	for (uint64_t n = some(1, rds::wire::MapChanges::kMost); n; n--)
		(void)c.add(static_cast<uint16_t>(sim::chance(300) ? kSentToPort : some(0, 200)),
			    sim::chance(500));
	rds::wire::encode_changes(h, c);
	if (sim::chance(50))
		h.ext[1] = static_cast<uint8_t>(sim::random());
	return bytes_of(h);
}

void harm_flaps(World &w)
{
	Talk *t = w.adv->talk_of(mostly_used(w));
	host::Bytes bits(kMapBytes);

	for (uint64_t i = some(20, 200); t && i; i--) {
		bits[6 + sim::random_below(3)] ^=
			static_cast<unsigned char>(1 << sim::random_below(8));
		if (sim::chance(100))
			bits[6] ^= 4; /* the port that is sent to */
		t->say(sim::chance(500) ? map_frame(bits) : some_changes());
		if (sim::chance(300))
			w.wait(some(0, kMs));
	}
}

void harm_refuses(World &w)
{
	Name &n = mostly_used(w);
	Talk *t = w.adv->talk_of(n);

	for (uint64_t i = some(1, 100); t && i; i--) {
		const bool resumes = sim::chance(300);
		const uint64_t back = sim::chance(300) ? sim::random() : some(0, 300);
		rds::wire::Header h;

		rds::wire::encode_refusal(
			h, {.what = resumes ? rds::wire::Ext::kResume : rds::wire::Ext::kRefused,
			    .port = static_cast<uint16_t>(sim::chance(500) ? kSentToPort
									   : some(0, 200)),
			    .epoch = static_cast<uint32_t>(some(0, 50)),
			    .number = t->last_heard - back});
		n.tally.refusals += !resumes;
		t->say(bytes_of(h));
		if (sim::chance(100))
			t->say(map_frame(host::Bytes(kMapBytes)));
		if (sim::chance(100))
			w.wait(some(0, kMs));
	}
}

void harm_is_full(World &w)
{
	if (Talk *t = w.adv->talk_of(mostly_used(w)))
		t->say(map_frame(host::Bytes(kMapBytes, 0xff)));
}

void harm_knocks(World &w)
{
	Name &n = w.adv->names[1 + 2 * sim::random_below(2)];
	Talk *t = w.adv->talk_of(n);

	if (t && sim::chance(500))
		t->deafen(0);
	for (uint64_t i = some(20, 200); i; i--)
		w.adv->call(n);
}

/* For a minute, in which the honest and others have little to say. */
static void for_a_minute(World &w, const std::function<void()> &fn)
{
	const uint64_t pace = w.pace_ns, end = sim::now_ns() + 60 * 1000 * kMs;

	w.pace_ns = kSlowPaceNs;
	while (sim::now_ns() < end && w.complaint.empty()) {
		fn();
		w.wait(some(100, 1000) * kMs);
	}
	w.pace_ns = pace;
}

void harm_knocks_on(World &w)
{
	Name &n = w.adv->names[1 + 2 * sim::random_below(2)];
	Talk *t = w.adv->talk_of(n);

	if (!t)
		return;
	t->deafen(0);
	for (int i = 0; i < 150; i++)
		t->message(static_cast<uint16_t>(some(2, 1000)), 0, {});
	for_a_minute(w, [&] { w.adv->call(n); });
}

void harm_nonsense(World &w)
{
	const bool knocks = !w.adv->pairs && sim::chance(500);
	/* One that does not knock is called because a program sends to it. */
	Name &n = w.adv->names[knocks	      ? 1 + 2 * sim::random_below(2)
			       : w.adv->pairs ? sim::random_below(2)
					      : 1];

	n.answer = Answer::kBad;
	has_to_be_called(w, n);
	for_a_minute(w, [&] {
		if (knocks)
			w.adv->call(n);
	});
}

void harm_many(World &w)
{
	for (Name &n : w.adv->names) {
		Talk *t = w.adv->call(n);

		if (!t)
			continue;
		if (sim::chance(800))
			t->greet(n.self);
		if (sim::chance(500))
			t->say(peer::frame(t->take_number(), 9, 0, 0, {}));
		if (sim::chance(300))
			t->say(map_frame(host::Bytes(kMapBytes, 0x10)));
		if (sim::chance(500))
			t->end(sim::chance(500));
	}
}

void harm_more_paths(World &w)
{
	Name &n = w.adv->names[2 * sim::random_below(2)];
	const bool asks = sim::chance(500);

	n.self.paths = static_cast<uint16_t>(some(0, 4));
	if (!asks && w.adv->find(n))
		w.adv->find(n)->end();
	w.adv->talk_of(n);
	for (uint16_t i = 1; i < 8; i++) {
		Talk *t = w.adv->call(n, static_cast<uint16_t>(32768 + 8 * some(0, 3000) + i));
		Self self = n.self;

		self.index = sim::chance(800) ? static_cast<uint8_t>(i) : 9;
		if (t)
			t->greet(self);
	}
}

/* The host's next frame is taken in part. */
void harm_shuts_midway(World &w)
{
	if (Talk *t = w.adv->talk_of(w.adv->names[sim::random_below(2)])) {
		t->deafen(48 * some(0, 3) + some(1, 47));
		w.wait(some(0, 300 * kMs));
	}
}

void harm_goes_deaf(World &w)
{
	if (Talk *t = w.adv->talk_of(mostly_used(w))) {
		t->deafen(0);
		w.wait(some(0, 300 * kMs));
	}
}

void harm_hears_again(World &w)
{
	for (size_t i = 0; i < w.adv->talks.size(); i++) {
		Talk &t = *w.adv->talks[i];

		t.acks = Talk::Acks::kHonest;
		if (t.is_open() && !t.mute)
			t.deafen(SIZE_MAX);
	}
	for (Name &n : w.adv->names)
		n.answer = Answer::kGood;
}

/* The honest host's, not its own. */
void harm_impostor(World &w)
{
	for (uint64_t i = some(1, 5); i; i--) {
		Talk *t = w.adv->call(w.adv->any(), 0, &w.b_addr);
		Self self;

		self.generation = static_cast<uint32_t>(sim::random());
		if (!t)
			continue;
		if (sim::chance(700))
			t->greet(self);
		if (sim::chance(500))
			t->message(kHonestPort, kHonestPort, peer::noise(some(0, 100)));
		w.wait(some(0, 300 * kMs));
		if (sim::chance(500))
			t->end(sim::chance(500));
	}
}

void harm_answers(World &w)
{
	Name &n = mostly_used(w);

	n.answer = static_cast<Answer>(sim::random_below(int(Answer::kCount)));
	has_to_be_called(w, n);
	for (uint64_t i = some(1, 20); i; i--) {
		if (!n.smaller || w.adv->pairs)
			w.adv->call(n);
		w.wait(some(0, 40 * kMs));
	}
}

void harm_mute(World &w)
{
	Name &n = w.adv->any();

	if (w.adv->find(n))
		return;
	if (Talk *t = w.adv->call(n))
		t->mute = true;
}

/* ---- over queue pairs ---- */

void harm_credits(World &w)
{
	Talk *t = w.adv->talk_of(mostly_used(w));
	const bool none = sim::chance(300);

	for (uint64_t i = some(1, 200); t && i; i--)
		t->acknowledge(t->last_heard, none ? 0 : 255);
}

void harm_versions(World &w)
{
	for (uint64_t i = some(1, 12); i; i--) {
		Name &n = w.adv->any();
		peer::Said s;

		s.major = static_cast<unsigned int>(some(0, 6));
		s.minor = static_cast<unsigned int>(some(0, 3));
		s.minors = static_cast<unsigned int>(some(0, 0xffff));
		s.tos = static_cast<unsigned int>(some(0, 3));
		s.ack = sim::chance(300) ? peer::odd_number(50) : 0;
		s.credits = sim::chance(500) ? ~0u : static_cast<uint32_t>(some(0, 70));

		fabric::Data d = peer::say(n.addr, w.a_addr, s);

		if (sim::chance(100))
			d.resize(some(0, d.size() + 20));
		w.adv->ask(n, d, static_cast<unsigned int>(some(0, 40)));
		if (sim::chance(500))
			w.wait(some(0, 3 * kMs));
	}
}

void harm_no_buffers(World &w)
{
	Name &n = mostly_used(w);
	const bool none = sim::chance(500);

	w.adv->ask(n, peer::say(n.addr, w.a_addr, {.credits = none ? 100u : 1u}), none ? 0 : 1000);
	w.wait(some(0, 100 * kMs));
}

} // namespace adversary
