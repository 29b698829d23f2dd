// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion updates: whatever maps a peer sends, in whatever order with sends, waits and monitors,
 * a port is refused exactly while its bit is set, who waits for it is woken once when it clears and
 * nobody else is, and monitors are told the ports of their mask.
 */
#include <algorithm>
#include <array>
#include <cstring>

#include "net/rds/limits.h"
#include "net/rds/result.h"
#include "net/rds/wire.h"
#include "raw.h"
#include "world.h"

using fuzz::must;
using host::Bytes;
using namespace rds;

namespace
{

constexpr uint64_t kMs = 1000 * 1000;
constexpr size_t kSockets = 3;
constexpr size_t kMaxSteps = 120;

/* As on the wire: bit p % 64 of word p / 64, little-endian. */
using Ports = std::array<uint64_t, kCongMapWords>;

bool has(const Ports &p, uint16_t port)
{
	return p[port / 64] >> port % 64 & 1;
}

/* More ports than a socket waits for one by one, at the edges of words and of the map. */
uint16_t port_of(unsigned int n)
{
	constexpr uint16_t kEdges[] = {0, 1, 2, 63, 64, 127, 128, 65472, 65535};

	return n < std::size(kEdges) ? kEdges[n] : static_cast<uint16_t>(n * 977);
}

/* A socket, and what it should have been told. */
struct Listener {
	struct Wait {
		uint16_t port;
		bool any;
	};
	std::unique_ptr<host::Socket> s;
	std::vector<Wait> waits;
	bool monitor = false;
	uint64_t mask = 0;
	uint64_t armed = 0;
	uint64_t notice = 0;
	bool event = false;
	uint32_t woken = 0;
};

class Harness final
{
public:
	explicit Harness(FuzzedDataProvider &in);
	~Harness();
	void run();

private:
	void step();
	void update();
	void odd_update();
	void send(Listener &l, uint16_t port);
	void send_some(Listener &l);
	void monitor(Listener &l);
	void poll(Listener &l);
	void read_notice(Listener &l);
	void reopen(Listener &l);
	void feed(const Bytes &payload, uint8_t flags);
	void cleared(const Ports &gone);
	void check();

	FuzzedDataProvider &in_;
	std::unique_ptr<host::Net> net_;
	Listener sockets_[kSockets];
	Ports now_ = {};
	bool sent_ = false; /* a socket has sent to the peer, whose map was no news before */
};

Harness::Harness(FuzzedDataProvider &in) : in_(in)
{
	net_ = std::make_unique<host::Net>(std::vector<struct rds_addr>{host::addr4(raw::kLocal)});
	for (Listener &l : sockets_)
		reopen(l);
	raw::make_path(*net_);
	must(sim::run_until([] { return raw::connecting(); }, kMs), "it calls");
	raw::establish();
	sim::run_ready();
}

Harness::~Harness()
{
	for (Listener &l : sockets_)
		l.s.reset();
	sim::run_ready();
	net_.reset();
	must(!raw::module_refs(), "no reference on the transport is left");
}

void Harness::reopen(Listener &l)
{
	auto n = static_cast<uint16_t>(&l - sockets_);

	l = Listener();
	sim::run_ready();
	l.s = std::make_unique<host::Socket>(*net_);
	must(!l.s->bind(host::endpoint(host::addr4(raw::kLocal), static_cast<uint16_t>(5000 + n))),
	     "a port is free when its socket is closed");
}

void Harness::feed(const Bytes &payload, uint8_t flags)
{
	wire::Header h;
	Bytes b(sizeof(h));

	wire::encode(h, static_cast<uint32_t>(payload.size()), 0, 0, flags);
	memcpy(b.data(), &h, sizeof(h));
	b.insert(b.end(), payload.begin(), payload.end());
	sim::spawn(
		"segment", [&] { raw::feed(b.data(), b.size()); }, sim::Context::kSoftirq);
	sim::run_ready();
	/* Refused for memory: it is tried again until there is some. */
	while (!raw::between_frames())
		sim::run_for(kMs);
}

void Harness::update()
{
	Ports next = now_;
	Bytes map(kCongMapBytes);

	switch (in_.ConsumeIntegralInRange<int>(0, 4)) {
	case 0:
		next.fill(~0ull);
		break;
	case 1:
		next.fill(0);
		break;
	case 2: /* a run of words */
		for (size_t at = in_.ConsumeIntegral<uint16_t>(), i = 0; i < 20; i++)
			next[(at + i) % next.size()] ^= ~at << i;
		break;
	default:
		for (int i = in_.ConsumeIntegralInRange<int>(1, 70); i; i--) {
			uint16_t port = port_of(in_.ConsumeIntegral<uint8_t>());

			next[port / 64] ^= 1ull << port % 64;
		}
	}
	memcpy(map.data(), next.data(), map.size());
	if (in_.ConsumeBool())
		sim::fail_nth(in_.ConsumeIntegralInRange<unsigned int>(1, 4));
	feed(map, wire::kCongBitmap);
	fuzz::World::calm();

	Ports gone;

	for (size_t i = 0; i < gone.size(); i++)
		gone[i] = now_[i] & ~next[i];
	now_ = next;
	cleared(gone);
}

/* Of another length, or with another flag: no update at all. */
void Harness::odd_update()
{
	constexpr size_t kLengths[] = {0, 1, kCongMapBytes - 1, kCongMapBytes + 1};
	bool flag = in_.ConsumeBool();
	Bytes map(flag ? size_t{kCongMapBytes} : in_.PickValueInArray(kLengths), 0xff);

	feed(map, flag ? wire::kCongBitmap | wire::kAckRequired : wire::kCongBitmap);
}

void Harness::cleared(const Ports &gone)
{
	uint64_t mask = 0;

	for (uint64_t w : gone)
		mask |= w;
	if (!mask)
		return;
	for (Listener &l : sockets_) {
		auto n = std::erase_if(l.waits, [&](const Listener::Wait &w) {
			return w.any || has(gone, w.port);
		});

		l.woken += static_cast<uint32_t>(n);
		l.event = l.event || n;
		if (l.monitor && sent_)
			l.notice |= mask & (l.mask | l.armed);
		l.armed &= ~(sent_ ? mask : 0);
	}
}

void Harness::send_some(Listener &l)
{
	auto first = in_.ConsumeIntegral<uint8_t>();
	auto n = in_.ConsumeIntegralInRange<unsigned int>(0, 7);

	/* Sometimes to more ports than are waited for one by one. */
	for (n = n == 7 ? 70 : n; n; n--)
		send(l, port_of(first + n));
}

void Harness::send(Listener &l, uint16_t port)
{
	auto to = host::endpoint(host::addr4(raw::kPeer), port);
	int ret = l.s->send(to, {});

	sent_ = true;
	raw::acknowledge();
	sim::run_ready();
	must(ret == (has(now_, port) ? -err::kEnobufs : 0), "refused exactly while the bit is set");
	must(rds_socket_congested(l.s->core(), &to) == has(now_, port), "and told so");
	if (!ret)
		return;
	if (std::none_of(l.waits.begin(), l.waits.end(),
			 [&](const Listener::Wait &w) { return w.any || w.port == port; }))
		l.waits.push_back(Listener::Wait{port, l.waits.size() >= kMaxCongWaits});
	must(rds_socket_refused(l.s->core(), &to), "and once more");
	if (l.monitor)
		l.armed |= 1ull << port % 64;
}

void Harness::monitor(Listener &l)
{
	l.monitor = in_.ConsumeBool();
	l.mask = in_.ConsumeBool() ? ~0ull : in_.ConsumeIntegral<uint64_t>();
	rds_socket_set_cong_monitor(l.s->core(), l.monitor, l.mask);
	if (!l.monitor)
		l.notice = l.armed = 0;
}

void Harness::poll(Listener &l)
{
	unsigned int got = rds_socket_poll(l.s->core());

	must(!(got & RDS_POLL_IN) == !l.notice, "readable for a notice");
	must(!(got & RDS_POLL_CONG) == !(l.event && !l.monitor), "an end of waiting is told once");
	must(got & RDS_POLL_OUT, "there is room");
	l.event = false;
}

void Harness::read_notice(Listener &l)
{
	uint64_t part = in_.ConsumeIntegral<uint64_t>();

	rds_socket_cong_notice_done(l.s->core(), part);
	l.notice &= ~part;
}

void Harness::step()
{
	Listener &l = sockets_[in_.ConsumeIntegralInRange<size_t>(0, kSockets - 1)];

	switch (in_.ConsumeIntegralInRange<int>(0, 9)) {
	case 0:
	case 1:
		update();
		break;
	case 2:
		odd_update();
		break;
	case 3:
		monitor(l);
		break;
	case 4:
		poll(l);
		break;
	case 5:
		read_notice(l);
		break;
	case 6:
		reopen(l);
		break;
	default:
		send_some(l);
	}
}

void Harness::check()
{
	for (const Listener &l : sockets_) {
		must(rds_socket_cong_notice(l.s->core()) == l.notice, "the ports of its mask");
		must(l.s->sock().woken_cong == l.woken, "woken once for every port it waited for");
	}
}

void Harness::run()
{
	for (size_t n = 0; n < kMaxSteps && in_.remaining_bytes(); n++) {
		step();
		check();
	}
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzedDataProvider in(data, size);

	raw::reset();

	fuzz::World world(1, raw::ops());

	Harness(in).run();
	return 0;
}
