// SPDX-License-Identifier: GPL-2.0
#include "chaos.h"

#include <random>

namespace rdstest
{

namespace
{

constexpr size_t longest = 100000;

class Mangler
{
public:
	Mangler(const FrameContext &context, uint64_t seed) : context_(context), random_(seed)
	{
	}
	uint64_t below(uint64_t n)
	{
		return random_() % n;
	}
	/* The bytes of one connection. */
	std::string stream();

private:
	std::string frame();
	void damage(std::string &bytes);

	FrameContext context_;
	std::mt19937_64 random_;
	std::string before_; /* an earlier stream, to be sent again */
};

std::string Mangler::frame()
{
	const auto &all = allFrames();

	if (!below(8))
		context_.sequence = below(2) ? random_() : 1 + below(20);
	++context_.sequence;
	return all[below(all.size())].build(context_).substr(0, longest);
}

/* Headers are what is worth damaging: most changes fall into the first bytes. */
void Mangler::damage(std::string &bytes)
{
	const size_t where =
		below(below(2) ? std::min<size_t>(bytes.size(), headerSize) : bytes.size());

	switch (below(6)) {
	case 0:
		bytes[where] = static_cast<char>(bytes[where] ^ 1 << below(8));
		break;
	case 1:
		bytes[where] = static_cast<char>(random_());
		break;
	case 2:
		bytes.resize(where + 1);
		break;
	case 3:
		bytes.erase(where, 1 + below(8));
		break;
	case 4:
		bytes.insert(where, bytes.substr(below(bytes.size()), 1 + below(60)));
		break;
	default:
		bytes += bytes.substr(0, 4096);
	}
}

std::string Mangler::stream()
{
	std::string all;

	for (uint64_t n = 1 + below(6); n; n--) {
		std::string one = frame();

		for (uint64_t faults = below(3) ? 0 : 1 + below(4); faults && !one.empty();
		     faults--)
			damage(one);
		all += one;
	}
	if (!below(4))
		all = before_ + all; /* replayed */
	if (!below(3))
		before_ = all.substr(0, 4096);
	return all;
}

} // namespace

nlohmann::json runChaos(Peer &peer, FrameContext context, uint64_t seed, uint32_t connections)
{
	Mangler mangler(context, seed);
	std::map<std::string, unsigned int> ended;
	uint64_t sent = 0;

	for (uint32_t n = 0; n < connections; n++) {
		const std::string bytes = mangler.stream();

		peer.open(); /* the one before ends here at the latest */
		for (size_t at = 0; at < bytes.size() && peer.state() == "open";) {
			const size_t piece = 1 + mangler.below(mangler.below(2) ? 60 : 20000);

			peer.sendBytes(bytes.substr(at, piece));
			at += piece;
			sent += piece;
		}
		/* Now and then what has come back is looked at: the connection's end, too. */
		if (!mangler.below(4))
			peer.readUntil([](const auto &) { return false; },
				       std::chrono::milliseconds(500));
		++ended[peer.state()];
		if (mangler.below(2))
			peer.close(mangler.below(2));
	}
	return {{"connections", connections}, {"bytes", sent}, {"seed", seed}, {"ended", ended}};
}

} // namespace rdstest
