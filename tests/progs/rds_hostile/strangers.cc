// SPDX-License-Identifier: GPL-2.0
/* The strangers' side: who calls, who is called, and whose turn it is. */
#include "hostile.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <iostream>

namespace rdstest
{

namespace
{

using std::chrono::milliseconds;

constexpr size_t mostLinks = 48;
constexpr int backlog = 64;
constexpr milliseconds patience{120000};
/* Every so many steps the strangers wait for answers, this long at most. */
constexpr uint64_t breath = 4;
constexpr int breathMs = 2;

class Crowd
{
public:
	explicit Crowd(const StrangerOptions &options);
	void play(uint64_t seed);
	nlohmann::json told() const;

private:
	void meet(Random &random);
	void step(Random &random);
	void act(Random &random);
	void call(Random &random);
	void accept();
	void listenToAll(int timeout);
	Stranger *called(int fd);
	void tellHost(uint64_t seed);

	const StrangerOptions &options_;
	Fd listener_, control_;
	std::vector<Stranger> strangers_;
	std::vector<Link> links_;
	std::map<std::string, uint64_t> deeds_;
	unsigned int weights_ = 0;
};

Crowd::Crowd(const StrangerOptions &options)
	: options_(options), listener_(listenTcp(Address::parse("::", tcpPort))),
	  control_(options.control.empty()
			   ? Fd()
			   : connectTcp(Address::parse(options.control, kControlPort), patience))
{
	if (fcntl(listener_, F_SETFL, O_NONBLOCK) < 0 || listen(listener_, backlog) < 0)
		fail("a listener that does not wait", -errno);
	for (const Deed &deed : allDeeds())
		weights_ += deed.weight;
}

/* A seed's strangers, with their habits. */
void Crowd::meet(Random &random)
{
	static const uint16_t paths[] = {1, 2, 8, 8, 8, 200};

	links_.clear();
	strangers_.clear();
	for (unsigned int n = 0; n < kStrangers; n++) {
		Stranger who;

		who.self = strangerAddress(n);
		do {
			who.target = Address::parse(
				options_.targets[random.below(options_.targets.size())]);
		} while (who.target.family() != who.self.family());
		who.calls = n % 2 == 0;
		who.hello = random.below(4) > 0;
		who.polite = random.below(6) > 0;
		who.npaths = paths[random.below(std::size(paths))];
		who.caps = random.below(3) ? 14 : 6;
		who.reborn(static_cast<uint32_t>(random.next()) | 1);
		who.order = static_cast<uint32_t>(random.next());
		strangers_.push_back(who);
	}
}

/* A second call of one that is connected takes over, a call of one that is called knocks. */
void Crowd::call(Random &random)
{
	Stranger &who = strangers_[random.below(strangers_.size())];
	const auto path = static_cast<unsigned int>(random.below(2) ? 0 : random.below(kPaths));

	if (!random.below(6))
		who.reborn(static_cast<uint32_t>(random.next()) | 1);
	if (links_.size() >= mostLinks)
		links_.erase(links_.begin());
	links_.push_back(Link::call(who, path, random));
	if (who.calls && who.hello && random.below(8))
		links_.back().say(links_.back().hello(), random);
	if (who.calls && !random.below(3))
		links_.back().say(links_.back().message(1, 0, 0).encode(), random);
}

Stranger *Crowd::called(int fd)
{
	Address self;

	if (getsockname(fd, self.get(), self.lengthPtr()) < 0)
		return nullptr;
	const auto *in6 = reinterpret_cast<const sockaddr_in6 *>(self.get());
	for (Stranger &who : strangers_) {
		const auto *own6 = reinterpret_cast<const sockaddr_in6 *>(who.self.get());
		const auto *own4 = reinterpret_cast<const sockaddr_in *>(who.self.get());
		const bool same =
			who.self.family() == AF_INET
				? !std::memcmp(&in6->sin6_addr.s6_addr[12], &own4->sin_addr, 4)
				: !std::memcmp(&in6->sin6_addr, &own6->sin6_addr, 16);

		if (same)
			return &who;
	}
	return nullptr;
}

void Crowd::accept()
{
	for (;;) {
		Address peer;
		Fd fd(accept4(listener_, peer.get(), peer.lengthPtr(),
			      SOCK_CLOEXEC | SOCK_NONBLOCK));

		if (fd < 0)
			return;
		Stranger *who = called(fd);
		if (!who)
			continue; /* of an earlier seed */
		++Link::account["was called"];
		if (links_.size() >= mostLinks)
			links_.erase(links_.begin());
		links_.emplace_back(std::move(fd), *who, peer.port() % kPaths);
		if (who->hello)
			links_.back().put(links_.back().hello());
	}
}

void Crowd::listenToAll(int timeout)
{
	std::vector<pollfd> polled = {{listener_, POLLIN, 0}};

	for (const Link &link : links_) {
		const int events = (link.deaf ? 0 : POLLIN) | (link.wantsToWrite() ? POLLOUT : 0);

		polled.push_back({link.fd(), static_cast<short>(events), 0});
	}
	if (poll(polled.data(), polled.size(), timeout) <= 0)
		return;
	for (size_t n = 0; n < links_.size(); n++) {
		const short events = polled[n + 1].revents;

		if (events & POLLOUT)
			links_[n].flush();
		links_[n].hear(events);
	}
	if (polled[0].revents)
		accept();
	std::erase_if(links_, [](const Link &link) { return !link.open(); });
}

void Crowd::act(Random &random)
{
	auto at = static_cast<unsigned int>(random.below(weights_));
	Link &link = links_[random.below(links_.size())];

	for (const Deed &deed : allDeeds()) {
		if (at < deed.weight) {
			++deeds_[deed.name];
			deed.act(link, random);
			return;
		}
		at -= deed.weight;
	}
}

void Crowd::step(Random &random)
{
	if (links_.size() < 4 || !random.below(8))
		call(random);
	else
		act(random);
}

void Crowd::tellHost(uint64_t seed)
{
	if (control_ < 0)
		return;
	writeLine(control_, "seed " + std::to_string(seed));
	if (readLine(control_, patience).value_or("") != "ready")
		fail("the host's side does not answer", -ETIMEDOUT);
}

void Crowd::play(uint64_t seed)
{
	Random people(seed);

	tellHost(seed);
	meet(people);
	for (uint64_t n = 0; n < options_.steps; n++) {
		Random random(seed * 1000003 + n);

		step(random);
		listenToAll(n % breath ? 0 : breathMs);
	}
	for (Link &link : links_) {
		if (people.below(4))
			link.end(people.below(2));
	}
	/* The others end with their program's descriptors, as the next seed begins. */
}

nlohmann::json Crowd::told() const
{
	return {{"deeds", deeds_}, {"account", Link::account}};
}

} // namespace

Address strangerAddress(unsigned int index)
{
	const std::string last = std::to_string(1 + index / 4);

	switch (index % 4) {
	case 0:
		return Address::parse("10.8.0." + last);
	case 1:
		return Address::parse("10.200.0." + last);
	case 2:
		return Address::parse("fd00:8::" + last);
	default:
		return Address::parse("fd00:a::" + last);
	}
}

int runStrangers(const StrangerOptions &options)
{
	Crowd crowd(options);

	for (uint32_t n = 0; n < options.seeds; n++) {
		std::cerr << "seed " << options.seed + n << std::endl;
		crowd.play(options.seed + n);
	}
	std::cout << crowd.told().dump() << std::endl;
	return 0;
}

} // namespace rdstest
