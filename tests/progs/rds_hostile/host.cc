// SPDX-License-Identifier: GPL-2.0
/* The host's side: what its programs do while strangers talk to it. */
#include "hostile.h"

#include "../lib/info.h"

#include <linux/rds.h>
#include <poll.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

namespace rdstest
{

namespace
{

using std::chrono::milliseconds;

constexpr milliseconds patience{120000};
constexpr int smallBuffer = 2048;
constexpr unsigned int stepsAtOnce = 4;
constexpr int pauseMs = 3;
constexpr uint64_t burst = 100; /* messages */
constexpr int largeBuffer = 4 << 20;

struct Setting {
	const char *file;
	std::vector<const char *> values; /* the last one is what a host begins with */
};

/* A host that is set so still serves the honest. */
const std::vector<Setting> settings = {
	{"idle_timeout_ms", {"1000", "5000", "0", "300000"}},
	{"ping_enable", {"0", "1", "1"}},
	{"max_unacked_packets", {"1", "8"}},
	{"max_unacked_bytes", {"100", "16777216"}},
	{"reconnect_max_delay_ms", {"100", "1000"}},
	{"max_passive_connections", {"2", "4096", "4096"}},
	{"recv_spill", {"0", "0", "0", "4096", "16777216"}},
	{"tcp/rds_tcp_sndbuf", {"5000", "5000", "100000", "0"}},
	{"tcp/rds_tcp_rcvbuf", {"5000", "100000", "0"}},
	{"tcp/rds_tcp_user_timeout_ms", {"2000", "30000"}},
};

class Host
{
public:
	explicit Host(const HostOptions &options) : options_(options), random_(options.seed)
	{
	}
	int run();

private:
	struct Bound {
		Address at;
		Fd fd;
	};

	bool listenToStrangers(Fd &control);
	void begin(uint64_t seed);
	void open(Bound &bound);
	void steps();
	void step();
	void read(Bound &bound);
	void send(Bound &bound);
	void flood(Bound &bound);
	void reopen(Bound &bound);
	void cancel(Bound &bound);
	void option(Bound &bound);
	void look(Bound &bound);
	void set(const Setting &one);
	void setBack(); /* as a host begins with */
	Address someStranger(const Address &from);

	const HostOptions &options_;
	Random random_;
	std::vector<Bound> sockets_;
	std::map<int, Address> flooded_; /* by family */
	std::map<std::string, uint64_t> did_;
};

void Host::open(Bound &bound)
{
	bound.fd = Fd(socket(PF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	/* Refused where the address has gone, with its namespace. */
	if (bound.fd < 0 || bind(bound.fd, bound.at.get(), bound.at.length()) < 0) {
		++did_["not bound"];
		return;
	}
	if (bound.at.port() == kFull)
		setOption(bound.fd, SOL_SOCKET, SO_RCVBUF, smallBuffer);
	if (bound.at.port() == kFirstReader)
		setOption(bound.fd, SOL_SOCKET, SO_SNDBUFFORCE, largeBuffer);
}

/* The kernel's log says which seed it was, should it complain. */
void Host::begin(uint64_t seed)
{
	std::ofstream("/dev/kmsg") << "rds_hostile: seed " << seed << std::endl;
	random_ = Random(~seed);
	for (const Setting &one : settings)
		set(one);
	sockets_.clear();
	flooded_.clear();
	for (const std::string &local : options_.locals) {
		for (uint16_t port = kFirstReader; port <= kFull; port++) {
			sockets_.push_back({Address::parse(local, port), Fd()});
			open(sockets_.back());
		}
	}
}

void Host::read(Bound &bound)
{
	if (bound.at.port() == kStopped && random_.below(50))
		return;
	for (uint64_t n = 1 + random_.below(20); n; n--) {
		if (receive(bound.fd, random_.below(8) ? 70000 : 10).result < 0)
			return;
		++did_["received"];
	}
}

Address Host::someStranger(const Address &from)
{
	Address to;

	do {
		to = strangerAddress(
			static_cast<unsigned int>(random_.below(kStrangers - kUnasked)));
	} while (to.family() != from.family());
	return to.port(static_cast<uint16_t>(kFirstTheirs + random_.below(kTheirs)));
}

void Host::send(Bound &bound)
{
	const Address to = someStranger(bound.at);
	const std::string bytes(random_.below(8) ? random_.below(3000) : random_.below(100000),
				'x');

	/* Now and then more than one path takes. */
	for (uint64_t n = random_.below(20) ? 1 + random_.below(6) : burst; n; n--) {
		if (sendText(bound.fd, random_.below(12) ? bytes : "", to) < 0)
			return;
		++did_["sent"];
	}
	/* A ping: to port 0 there is nothing else. */
	if (!random_.below(4) && sendText(bound.fd, "", to.port(0)) == 0)
		++did_["pinged"];
}

/* As much as the path and the socket take, to one stranger of a seed: its path is without room
 * often enough that more are wanted. */
void Host::flood(Bound &bound)
{
	Address &to = flooded_[bound.at.family()];

	const std::string bytes(20000, 'x');

	if (to.family() != bound.at.family())
		to = someStranger(bound.at);
	for (uint64_t n = 0; n < burst && sendText(bound.fd, bytes, to) >= 0; n++)
		++did_["flooded"];
}

void Host::reopen(Bound &bound)
{
	bound.fd.close();
	++did_["closed"];
	if (random_.below(4))
		open(bound);
}

void Host::cancel(Bound &bound)
{
	const Address to = someStranger(bound.at);

	if (random_.below(3))
		setsockopt(bound.fd, SOL_RDS, RDS_CANCEL_SENT_TO, to.get(), to.length());
	else
		setsockopt(bound.fd, SOL_RDS, RDS_CANCEL_SENT_TO, nullptr, 0);
	++did_["cancelled"];
}

void Host::option(Bound &bound)
{
	switch (random_.below(6)) {
	case 0:
		setOption(bound.fd, SOL_SOCKET, SO_RCVBUF, random_.below(2) ? smallBuffer : 200000);
		break;
	case 1:
		setOption(bound.fd, SOL_RDS, RDS_CONG_MONITOR, random_.below(2) > 0);
		break;
	case 2:
		setOption(bound.fd, SOL_RDS, RDS_ORDER, static_cast<int>(random_.below(3)));
		break;
	case 3:
		setOption(bound.fd, SOL_SOCKET, SO_TIMESTAMP, random_.below(2) > 0);
		break;
	case 4: {
		rds_rx_trace_so trace = {3, {0, 1, 2}};

		setsockopt(bound.fd, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &trace, sizeof(trace));
		break;
	}
	default:
		connect(bound.fd, someStranger(bound.at).get(), bound.at.length());
	}
	++did_["options"];
}

void Host::look(Bound &bound)
{
	rds_recv_query query{};
	socklen_t length = sizeof(query);

	readInfo(bound.fd, static_cast<int>(RDS_INFO_FIRST + random_.below(18)));
	getsockopt(bound.fd, SOL_RDS, RDS_RECV_QUERY, &query, &length);
	pollEvents(bound.fd);
	++did_["looked"];
}

void Host::setBack()
{
	for (const Setting &one : settings)
		std::ofstream(options_.settings + "/" + one.file) << one.values.back();
}

void Host::set(const Setting &one)
{
	std::ofstream(options_.settings + "/" + one.file)
		<< one.values[random_.below(one.values.size())] << std::flush;
	++did_["set"];
}

void Host::step()
{
	Bound &bound = sockets_[random_.below(sockets_.size())];

	if (bound.fd < 0) {
		open(bound);
		return;
	}
	switch (random_.below(32)) {
	case 0:
		reopen(bound);
		break;
	case 1:
	case 2:
		cancel(bound);
		break;
	case 3:
	case 4:
		option(bound);
		break;
	case 5:
		look(bound);
		break;
	case 6:
		if (!random_.below(4))
			set(settings[random_.below(settings.size())]);
		break;
	case 7 ... 9:
		flood(bound);
		break;
	case 10 ... 15:
		send(bound);
		break;
	default:
		read(bound);
	}
}

void Host::steps()
{
	for (unsigned int n = 0; n < stepsAtOnce; n++)
		step();
}

/* A seed of theirs; false when they have gone. */
bool Host::listenToStrangers(Fd &control)
{
	pollfd polled = {control, POLLIN, 0};

	if (poll(&polled, 1, pauseMs) <= 0)
		return true;
	const std::string line = readLine(control, patience).value_or("");
	if (line.rfind("seed ", 0))
		return false;
	begin(std::stoull(line.substr(5)));
	return writeLine(control, "ready");
}

int Host::run()
{
	std::cerr << "ready" << std::endl;
	if (options_.alone) {
		pollfd input = {STDIN_FILENO, POLLIN, 0};

		begin(options_.seed);
		while (poll(&input, 1, pauseMs) == 0)
			steps();
	} else {
		const Fd listener = listenTcp(Address::parse("::", kControlPort));
		Fd control = acceptTcp(listener, patience);

		begin(options_.seed);
		while (listenToStrangers(control))
			steps();
	}
	setBack();
	std::cout << nlohmann::json(did_).dump() << std::endl;
	return 0;
}

} // namespace

int runHost(const HostOptions &options)
{
	return Host(options).run();
}

} // namespace rdstest
