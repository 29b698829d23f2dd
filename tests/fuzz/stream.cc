// SPDX-License-Identifier: GPL-2.0
/*
 * The whole receive side of a connection from one raw byte stream: real core, real framing, a peer
 * that may write anything.
 *
 * For any bytes it writes, cut anywhere, with memory failing, readers that do not read and
 * connections that break: exactly the messages that docs/wire.md says are in there reach the
 * sockets, memory stays bounded and comes back, what we send are whole frames, and afterwards a
 * good message gets through and a ping is answered.
 */
#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>

#include "net/rds/limits.h"
#include "net/rds/net.h"
#include "net/rds/socket/socket.h"
#include "net/rds/wire.h"
#include "raw.h"
#include "world.h"

using fuzz::must;
using host::Bytes;
using namespace rds;

namespace
{

constexpr uint64_t kMs = 1000 * 1000;
constexpr uint16_t kPorts[] = {2, 4000};
constexpr size_t kSockets = 2;
constexpr uint32_t kRcvbuf = 512; /* an input can go far beyond the hard limit */

void append(Bytes &b, const void *data, size_t n)
{
	auto *p = static_cast<const unsigned char *>(data);

	b.insert(b.end(), p, p + n);
}

struct Message {
	uint16_t sport;
	Bytes data;
};

/* The promises of docs/wire.md about a stream, read a second time and more plainly. */
class Oracle final
{
public:
	/* The bytes that were read of one connection; the last message may have been refused. */
	void connection(const Bytes &b, bool refused)
	{
		size_t at = 0;

		while (b.size() - at >= wire::kHeaderBytes) {
			wire::Header h;

			memcpy(static_cast<void *>(&h), b.data() + at, sizeof(h));

			auto f = wire::decode(h);

			at += wire::kHeaderBytes;
			if (f.len > kMaxMessageBytes)
				return;

			bool whole = b.size() - at >= f.len;

			if (whole && b.size() - at == f.len && refused)
				return;
			message(f, b.data() + at, whole);
			if (!whole)
				return;
			at += f.len;
		}
	}
	std::deque<Message> due[kSockets];

private:
	void message(const wire::Fields &f, const unsigned char *data, bool whole)
	{
		bool control = !f.dport || (!f.sport && f.dport == kProbePort);
		bool pong = !f.sport; /* and no socket here has pinged */

		if (f.flags == wire::kCongBitmap)
			return;
		if (f.flags & wire::kRetransmitted && f.seq && f.seq < next_)
			return;
		size_t to = std::find(std::begin(kPorts), std::end(kPorts), f.dport) - kPorts;

		/* Control messages count, and are answered, when their header is there; so do
		 * messages for nobody (docs/decisions/021-announced-lengths.md). */
		if (control ? f.seq != 0 : whole || pong || to == kSockets)
			next_ = f.seq + 1;
		if (whole && !control && !pong && to < kSockets)
			due[to].push_back(Message{f.sport, Bytes(data, data + f.len)});
	}
	uint64_t next_ = 0;
};

class Harness final
{
public:
	explicit Harness(FuzzedDataProvider &in);
	~Harness();
	void run();

private:
	struct Step {
		unsigned char what;
		uint16_t bytes; /* written before it */
	};
	void act(unsigned char what);
	void write(Bytes b);
	void read(size_t i);
	void bring_up();
	void check_memory() const;
	std::vector<wire::Header> check_sent();
	void calm_down();
	void say_hello();

	std::unique_ptr<host::Net> net_;
	std::vector<std::unique_ptr<host::Socket>> sockets_;
	std::deque<Message> got_[kSockets];
	std::vector<Step> script_;
	Bytes stream_;
	Bytes last_map_; /* that we sent */
	Oracle oracle_;
	size_t idle_bytes_ = 0;
};

Harness::Harness(FuzzedDataProvider &in)
{
	for (size_t n = in.ConsumeIntegralInRange<size_t>(0, 48); n; n--) {
		auto what = in.ConsumeIntegral<unsigned char>();

		script_.push_back(Step{what, in.ConsumeIntegral<uint16_t>()});
	}
	stream_ = in.ConsumeRemainingBytes<unsigned char>();
	raw::on_closed([this](const Bytes &b, bool refused) { oracle_.connection(b, refused); });
	net_ = std::make_unique<host::Net>(std::vector<struct rds_addr>{host::addr4(raw::kLocal)});
	for (uint16_t port : kPorts) {
		sockets_.push_back(std::make_unique<host::Socket>(*net_));
		sockets_.back()->sock().rcvbuf = kRcvbuf;
		must(!sockets_.back()->bind(host::endpoint(host::addr4(raw::kLocal), port)),
		     "bind");
	}
	raw::make_path(*net_);
	/* As if a socket had sent over it: a stranger is not called for ever. */
	net_->core()->conns.for_each([](Conn &c) { c.claim(); });
	bring_up();
	idle_bytes_ = host::usage().bytes;
}

Harness::~Harness()
{
	sockets_.clear();
	sim::run_ready();
	net_.reset();
	must(!raw::module_refs(), "no reference on the transport is left");
}

/* The core calls, and is answered. */
void Harness::bring_up()
{
	must(sim::run_until([] { return raw::connecting(); }, kMaxFaultPauseNs + 10000 * kMs),
	     "it calls again");
	raw::establish();
	sim::run_ready();
}

void Harness::write(Bytes b)
{
	if (!raw::open())
		bring_up();
	sim::spawn(
		"segment", [&] { raw::feed(b.data(), b.size()); }, sim::Context::kSoftirq);
	sim::run_ready();
	check_memory();
}

void Harness::read(size_t i)
{
	if (auto r = sockets_[i]->recv())
		got_[i].push_back(Message{r->info.from.port, std::move(r->data)});
}

/* Every receiver is at its hard limit or one message above, and one is under way. */
void Harness::check_memory() const
{
	constexpr size_t kLeast = 128;			    /* a message costs more than that */
	constexpr size_t kMost = wire::kHeaderBytes + 1024; /* beside its payload, less */
	constexpr size_t kLimit = size_t{kHardMemFactor} * (kRcvbuf + 1) + host::kSpillBytes;
	size_t queued = 0;

	host::info_messages(
		net_->core(), RDS_QUEUE_RECV,
		[](void *arg, const struct rds_msg_info *) { ++*static_cast<size_t *>(arg); },
		&queued);
	must(queued <= kSockets * (kLimit / kLeast + 1), "receive queues are bounded");
	/* Pongs and a congestion update that wait for their ack, what a path keeps for itself. */
	must(host::usage().bytes <= idle_bytes_ + kSockets * (kLimit + stream_.size() + kMost) +
					    kMaxPongs * kMost + 4 * kCongMapBytes +
					    raw::under_way() + kMost,
	     "memory is bounded");
}

/* Checks the bytes we sent on this connection so far: whole frames; returns their headers. */
std::vector<wire::Header> Harness::check_sent()
{
	const Bytes &b = raw::sent();
	std::vector<wire::Header> out;

	for (size_t at = 0; at < b.size();) {
		wire::Header h;

		must(b.size() - at >= sizeof(h), "headers are sent whole");
		memcpy(static_cast<void *>(&h), b.data() + at, sizeof(h));

		auto f = wire::decode(h);

		at += sizeof(h);
		must(f.len <= b.size() - at, "messages are sent whole");
		if (f.flags == wire::kCongBitmap) {
			must(f.len == kCongMapBytes, "maps are sent whole");
			last_map_.assign(b.begin() + static_cast<long>(at),
					 b.begin() + static_cast<long>(at + f.len));
		}
		at += f.len;
		out.push_back(h);
	}
	return out;
}

void Harness::act(unsigned char what)
{
	switch (what % 8) {
	case 0:
		read(what >> 3 & 1);
		break;
	case 1: /* the socket is read empty */
		while (sockets_[what >> 3 & 1]->readable())
			read(what >> 3 & 1);
		break;
	case 2:
		sim::run_for((what >> 3) * kMs);
		break;
	case 3:
		sim::fail_nth(1 + (what >> 3));
		break;
	case 4:
		sim::options().fail_per_1000 = (what >> 3) * 30;
		break;
	case 5:
		if (raw::open())
			raw::hang_up();
		break;
	case 6:
		if (raw::open())
			raw::acknowledge();
		break;
	case 7:
		rds_net_tunables(net_->core())->ping_enable = what >> 3 & 1;
		break;
	}
	sim::run_ready();
}

/* Readers read, memory is there: what was refused is taken now. */
void Harness::calm_down()
{
	fuzz::World::calm();
	rds_net_tunables(net_->core())->ping_enable = 1;
	for (size_t quiet = 0; quiet < 4;) {
		quiet++;
		for (size_t i = 0; i < kSockets; i++)
			while (sockets_[i]->readable()) {
				read(i);
				quiet = 0;
			}
		sim::run_for(2 * kRetryNs);
	}
	if (!raw::open() || !raw::between_frames()) {
		if (raw::open())
			raw::hang_up();
		bring_up();
	}
	raw::acknowledge();
	sim::run_ready();
}

void Harness::say_hello()
{
	const unsigned char text[] = "hello";
	wire::Header hello, ping;
	Bytes b;

	wire::encode(hello, sizeof(text), 777, kPorts[1], 0);
	wire::encode(ping, 0, 7, kPingPort, 0);
	append(b, &hello, sizeof(hello));
	append(b, text, sizeof(text));
	append(b, &ping, sizeof(ping));
	write(b);
	read(1);
	must(!got_[1].empty() && got_[1].back().sport == 777 &&
		     got_[1].back().data == Bytes(text, text + sizeof(text)),
	     "a good message gets through");

	auto sent = check_sent();
	auto pong = wire::decode(sent.back());

	must(!pong.sport && pong.dport == 7, "a ping is answered");
	for (unsigned char byte : last_map_)
		must(!byte, "the peer knows that no port is congested");
}

void Harness::run()
{
	size_t at = 0;

	for (const Step &s : script_) {
		size_t n = std::min<size_t>(s.bytes, stream_.size() - at);

		write(Bytes(stream_.begin() + static_cast<long>(at),
			    stream_.begin() + static_cast<long>(at + n)));
		at += n;
		act(s.what);
		check_sent();
	}
	write(Bytes(stream_.begin() + static_cast<long>(at), stream_.end()));
	calm_down();
	say_hello();
	raw::hang_up();
	sim::run_ready();
	for (size_t i = 0; i < kSockets; i++) {
		must(oracle_.due[i].size() == got_[i].size(), "as many messages as were sent");
		for (size_t n = 0; n < got_[i].size(); n++)
			must(oracle_.due[i][n].sport == got_[i][n].sport &&
				     oracle_.due[i][n].data == got_[i][n].data,
			     "the messages that were sent");
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
