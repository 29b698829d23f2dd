// SPDX-License-Identifier: GPL-2.0
#include "user.h"

#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/rds_peers.h>
#include <linux/rds_state.h>

#include <algorithm>
#include <cstring>

namespace rdstest
{

namespace
{

constexpr const char *settingsRoot = "/proc/sys/net/rds";
constexpr const char *files[] = {"/proc/net/rds/sockets", "/proc/net/rds/connections",
				 "/proc/net/rds/paths", "/proc/net/protocols"};

void list(const std::string &directory, std::vector<std::string> &found)
{
	DIR *dir = opendir(directory.c_str());

	for (const dirent *entry; dir && (entry = readdir(dir));) {
		const std::string path = directory + "/" + entry->d_name;

		if (entry->d_name[0] == '.')
			continue;
		if (entry->d_type == DT_DIR)
			list(path, found);
		else
			found.push_back(path);
	}
	if (dir)
		closedir(dir);
}

/* A message of netlink, made of attributes. */
class Request
{
public:
	Request(uint16_t type, uint16_t flags, uint8_t command)
	{
		nlmsghdr head{};
		genlmsghdr family{};

		head.nlmsg_type = type;
		head.nlmsg_flags = flags;
		family.cmd = command;
		family.version = 1;
		text_.append(reinterpret_cast<char *>(&head), sizeof(head));
		text_.append(reinterpret_cast<char *>(&family), sizeof(family));
	}
	void add(uint16_t type, const void *data, size_t length, uint16_t said)
	{
		const nlattr head = {said, type};

		text_.append(reinterpret_cast<const char *>(&head), sizeof(head));
		text_.append(static_cast<const char *>(data), length);
		text_.resize(NLMSG_ALIGN(text_.size()));
	}
	void add(uint16_t type, const void *data, size_t length)
	{
		add(type, data, length, static_cast<uint16_t>(NLA_HDRLEN + length));
	}
	const std::string &text()
	{
		const auto length = static_cast<uint32_t>(text_.size());

		memcpy(text_.data(), &length, sizeof(length));
		return text_;
	}

private:
	std::string text_;
};

/* The number of a family, of an answer to CTRL_CMD_GETFAMILY; 0 if it has none. */
uint16_t familyIn(const char *at, ssize_t length)
{
	constexpr size_t head = NLMSG_LENGTH(GENL_HDRLEN);

	for (size_t i = head; length > 0 && i + NLA_HDRLEN + 2 <= static_cast<size_t>(length);) {
		nlattr attribute;
		uint16_t value;

		memcpy(&attribute, at + i, sizeof(attribute));
		memcpy(&value, at + i + NLA_HDRLEN, sizeof(value));
		if (attribute.nla_type == CTRL_ATTR_FAMILY_ID)
			return value;
		i += NLA_ALIGN(std::max<uint16_t>(attribute.nla_len, NLA_HDRLEN));
	}
	return 0;
}

uint16_t findFamily(int netlink, const std::string &name)
{
	Request request(GENL_ID_CTRL, NLM_F_REQUEST, CTRL_CMD_GETFAMILY);
	char answer[4096];

	request.add(CTRL_ATTR_FAMILY_NAME, name.c_str(), name.size() + 1);
	if (::send(netlink, request.text().data(), request.text().size(), 0) < 0)
		return 0;
	return familyIn(answer, recv(netlink, answer, sizeof(answer), MSG_DONTWAIT));
}

} // namespace

std::vector<std::string> settingsOfRds()
{
	std::vector<std::string> found;

	list(settingsRoot, found);
	std::sort(found.begin(), found.end());
	return found;
}

void loopbackUp()
{
	const Fd fd(socket(AF_INET, SOCK_DGRAM, 0));
	ifreq request{};

	strcpy(request.ifr_name, "lo");
	request.ifr_flags = IFF_UP;
	ioctl(fd, SIOCSIFFLAGS, &request);
}

long UserProcess::readFile(Slot &)
{
	const Fd fd(::open(oneOf(files), O_RDONLY | O_CLOEXEC));
	const size_t room = often(7) ? below(5000) : length();
	char *at = static_cast<char *>(pointer(room));
	long result = -1;

	for (size_t n = 1 + below(3); fd >= 0 && n; n--) {
		result = syscall(SYS_pread64, int{fd}, at, room,
				 often(7) ? below(3000) : next() >> 1);
		if (result > 0 && at == memory_.room(room))
			look("a file", at, result);
	}
	return result;
}

/* Settings are for the administrator of the network namespace; all others set nothing. */
long UserProcess::writeSetting(Slot &)
{
	constexpr const char *values[] = {"0",	  "1",	    "2", "100",	       "1000", "65535",
					  "4096", "300000", "",	 "4294967295", "-1",   "x"};
	const std::string &file = settings_.empty() ? "/" : settings_[below(settings_.size())];
	const bool groups = file.find("group_range") != std::string::npos;
	const Fd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
	const char *value = groups ? "0 4294967295" : oneOf(values);
	char room[64];

	if (fd < 0)
		return -1;
	if (often(3))
		return ::read(fd, room, below(sizeof(room)));

	const long result = syscall(SYS_pwrite64, int{fd}, often(9) ? value : pointer(4),
				    strlen(value), often(9) ? 0 : below(10));

	if (result >= 0 && !user_.container())
		wrong = "wrote " + file + " of the host";
	return result;
}

/* Of the table of peers, or of what there is. */
long UserProcess::askNetlink(Slot &)
{
	const bool peers = below(2);
	const unsigned commands = peers ? unsigned{RDS_PEERS_CMD_MAX} : unsigned{RDS_STATE_CMD_MAX};
	unsigned char value[100];
	char answer[8192];
	long result = 0;

	if (netlink_ < 0) {
		netlink_ = Fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
		families_[0] = netlink_ < 0 ? 0 : findFamily(netlink_, RDS_STATE_FAMILY_NAME);
		families_[1] = netlink_ < 0 ? 0 : findFamily(netlink_, RDS_PEERS_FAMILY_NAME);
	}

	Request request(families_[peers],
			NLM_F_REQUEST | (often(5) ? NLM_F_ACK : 0) | (often(2) ? NLM_F_DUMP : 0),
			static_cast<uint8_t>(often(9) ? below(commands + 1) : next()));

	/* Its operations take no attribute: few of its requests have some. */
	for (size_t n = peers || often(2) ? below(7) : 0; n; n--) {
		constexpr size_t lengths[] = {0, 1, 2, 4, 16, 80, 81};
		const size_t length = oneOf(lengths);

		/* A prefix of 10.77 or of its like, a small number, a key. */
		for (unsigned char &byte : value)
			byte = static_cast<unsigned char>(below(4));
		value[0] = below(2) ? 10 : static_cast<unsigned char>(below(33));
		request.add(static_cast<uint16_t>(1 + below(often(9) ? RDS_PEERS_A_MAX : 100)),
			    value, length,
			    static_cast<uint16_t>(often(9) ? NLA_HDRLEN + length : this->length()));
	}
	if (::send(netlink_, request.text().data(), request.text().size(), MSG_DONTWAIT) < 0)
		result = -1;
	for (ssize_t got; (got = recv(netlink_, answer, sizeof(answer), MSG_DONTWAIT)) > 0;)
		look(peers ? "rds_peers" : "rds", answer, got);
	return result;
}

} // namespace rdstest
