// SPDX-License-Identifier: GPL-2.0
#include "flows.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace rdstest
{

FlowMessage::FlowMessage(const FlowOptions &options, uint32_t flow, uint64_t number)
	: flow_(flow), number_(number)
{
	Random random(options.seed * 1000003 + flow * 4294967311 + number);

	seed_ = random.next();
	if (options.length) {
		length_ = options.length - std::min<uint32_t>(options.length, sizeof(FlowHeader));
		return;
	}
	/* Half are small, a quarter fits into a few pages, a quarter is anything. */
	const uint64_t kind = random.below(4);
	const uint64_t limit = kind < 2 ? 256 : kind == 2 ? 8192 : options.maxPayload;
	length_ = static_cast<uint32_t>(
		random.below(std::min<uint64_t>(limit, options.maxPayload) + 1));
}

FlowHeader FlowMessage::header() const
{
	FlowHeader header{};

	header.magic = flowMagic;
	header.flow = flow_;
	header.number = number_;
	header.length = length_;
	header.check = checksum(&header, offsetof(FlowHeader, check)) ^ seed_;
	return header;
}

std::string FlowMessage::bytes() const
{
	const FlowHeader head = header();
	std::string bytes(sizeof(head) + length_, '\0');

	std::memcpy(bytes.data(), &head, sizeof(head));
	fillPayload(bytes.data() + sizeof(head), length_, seed_);
	return bytes;
}

bool FlowMessage::equals(const std::string &bytes) const
{
	const FlowHeader head = header();

	return bytes.size() == sizeof(head) + length_ &&
	       std::memcmp(bytes.data(), &head, sizeof(head)) == 0 &&
	       isPayload(bytes.data() + sizeof(head), length_, seed_);
}

} // namespace rdstest
