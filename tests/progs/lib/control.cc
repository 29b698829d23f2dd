// SPDX-License-Identifier: GPL-2.0
#include "control.h"

namespace rdstest
{

Control &Control::add(int level, int type, const void *data, size_t length)
{
	const size_t start = bytes_.size();

	addRaw(level, type, CMSG_LEN(length));
	bytes_.resize(start + CMSG_SPACE(length));
	std::memcpy(bytes_.data() + start + CMSG_LEN(0), data, length);
	return *this;
}

Control &Control::addRaw(int level, int type, size_t cmsgLen)
{
	const size_t start = bytes_.size();
	cmsghdr header{};

	header.cmsg_len = cmsgLen;
	header.cmsg_level = level;
	header.cmsg_type = type;
	bytes_.resize(start + CMSG_SPACE(0));
	std::memcpy(bytes_.data() + start, &header, sizeof(header));
	return *this;
}

std::vector<ControlMessage> parseControl(msghdr &message)
{
	std::vector<ControlMessage> found;

	for (cmsghdr *header = CMSG_FIRSTHDR(&message); header;
	     header = CMSG_NXTHDR(&message, header)) {
		const char *data = reinterpret_cast<const char *>(CMSG_DATA(header));

		found.push_back({header->cmsg_level, header->cmsg_type,
				 std::string(data, header->cmsg_len - CMSG_LEN(0))});
	}
	return found;
}

} // namespace rdstest
