// SPDX-License-Identifier: GPL-2.0
#include <linux/rds.h>

#include <gtest/gtest.h>

#include "../ctl/filter.h"
#include "../ctl/state.h"
#include "../lib/error.h"

using namespace rdstools;

namespace
{

/* A message as the kernel makes it. */
class Message
{
public:
	Message()
	{
		message_ = mnl_nlmsg_put_header(room_);
		mnl_nlmsg_put_extra_header(message_, sizeof(genlmsghdr));
	}
	template <typename T>
	Message &put(std::uint16_t attr, T value)
	{
		mnl_attr_put(message_, attr, sizeof(value), &value);
		return *this;
	}
	Message &put(std::uint16_t attr, const char *text)
	{
		mnl_attr_put_strz(message_, attr, text);
		return *this;
	}
	Message &put(std::uint16_t attr, std::initializer_list<unsigned char> bytes)
	{
		mnl_attr_put(message_, attr, bytes.size(), bytes.begin());
		return *this;
	}
	Message &flag(std::uint16_t attr)
	{
		mnl_attr_put(message_, attr, 0, nullptr);
		return *this;
	}
	Message &refused_port(std::uint16_t port, std::uint32_t ms)
	{
		nlattr *nest = mnl_attr_nest_start(message_, RDS_PATH_A_REFUSED_PORTS);

		put(RDS_PORT_A_PORT, port).put(RDS_PORT_A_REFUSED_MS, ms);
		mnl_attr_nest_end(message_, nest);
		return *this;
	}
	Json path() const
	{
		return decode(message_, path_fields());
	}
	Json socket() const
	{
		return decode(message_, socket_fields());
	}

private:
	alignas(nlmsghdr) char room_[1024] = {};
	nlmsghdr *message_;
};

Json a_path()
{
	return Message()
		.put(RDS_PATH_A_LOCAL, {10, 9, 0, 1})
		.put(RDS_PATH_A_REMOTE, {10, 9, 0, 2})
		.put(RDS_PATH_A_TOS, std::uint8_t{7})
		.put(RDS_PATH_A_TRANSPORT, "tcp")
		.put(RDS_PATH_A_STATE, std::uint8_t{RDS_PATH_UP})
		.put(RDS_PATH_A_STATE_MS, std::uint64_t{1500})
		.put(RDS_PATH_A_UNACKED, std::uint64_t{12})
		.flag(RDS_PATH_A_HOLDS)
		.put(RDS_PATH_A_CONGESTED_PORTS, {0xa0, 0x0f, 0xa1, 0x0f})
		.refused_port(4001, 1200)
		.refused_port(4007, 30)
		.path();
}

bool shown(const Json &row, std::vector<std::string> words)
{
	return Filter(std::move(words), path_fields()).shows(row);
}

} // namespace

TEST(State, a_row_has_what_the_kernel_said)
{
	const Json path = a_path();

	EXPECT_EQ(path["local"], "10.9.0.1");
	EXPECT_EQ(path["tos"], 7);
	EXPECT_EQ(path["state"], "up");
	EXPECT_EQ(path["state-ms"], 1500);
	EXPECT_EQ(path["congested-ports"], Json({4000, 4001}));
	EXPECT_EQ(path["holds"], true);
}

TEST(State, a_row_for_each_port_that_is_refused)
{
	EXPECT_EQ(a_path()["refused-ports"].dump(),
		  R"([{"port":4001,"refused-ms":1200},{"port":4007,"refused-ms":30}])");
	EXPECT_TRUE(Message().path()["refused-ports"].is_null());
	EXPECT_EQ(Message().flag(RDS_PATH_A_REFUSED_PORTS).path()["refused-ports"].dump(),
		  R"([{"port":null,"refused-ms":null}])")
		<< "it says nothing of one";
}

TEST(State, what_it_left_out_is_null_and_a_flag_false)
{
	const Json path = a_path();

	EXPECT_EQ(path.size(), path_fields().size());
	EXPECT_TRUE(path["rtt-us"].is_null());
	EXPECT_TRUE(path["last-reason"].is_null());
	EXPECT_EQ(path["refuses"], false);
	EXPECT_EQ(path.begin().key(), "local") << "in the specification's order";
}

TEST(State, an_address_of_16_bytes_is_one_of_ipv6)
{
	EXPECT_EQ(
		Message()
			.put(RDS_PATH_A_REMOTE, {0xfd, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
			.path()["remote"],
		"fd00:9::1");
	EXPECT_TRUE(Message().put(RDS_PATH_A_REMOTE, {1, 2, 3}).path()["remote"].is_null());
}

TEST(State, what_a_newer_kernel_says_is_passed_over)
{
	Json path = Message()
			    .put(RDS_PATH_A_MAX + 5, std::uint32_t{1})
			    .put(RDS_PATH_A_STATE, std::uint8_t{77})
			    .put(RDS_PATH_A_ATTEMPTS, std::uint8_t{1})
			    .path();

	EXPECT_EQ(path["state"], 77) << "the number of a word that is not known";
	EXPECT_TRUE(path["attempts"].is_null()) << "too short";
}

TEST(Filter, without_words_everything_is_shown)
{
	EXPECT_TRUE(shown(a_path(), {}));
	EXPECT_TRUE(shown(a_path(), {"show"}));
}

TEST(Filter, an_address_is_one_or_a_prefix)
{
	EXPECT_TRUE(shown(a_path(), {"remote", "10.9.0.2"}));
	EXPECT_FALSE(shown(a_path(), {"remote", "10.9.0.1"}));
	EXPECT_TRUE(shown(a_path(), {"show", "remote", "10.9.0.0/16"}));
	EXPECT_TRUE(shown(a_path(), {"remote", "10.9.0.2/31"}));
	EXPECT_FALSE(shown(a_path(), {"remote", "10.9.0.0/31"}));
	EXPECT_FALSE(shown(a_path(), {"remote", "fd00::/8"}));
}

TEST(Filter, a_number_is_one_or_a_least_one)
{
	EXPECT_TRUE(shown(a_path(), {"unacked", "12"}));
	EXPECT_FALSE(shown(a_path(), {"unacked", "11"}));
	EXPECT_TRUE(shown(a_path(), {"unacked", "+12"}));
	EXPECT_FALSE(shown(a_path(), {"unacked", "+13"}));
	EXPECT_FALSE(shown(a_path(), {"rtt-us", "+0"})) << "what is not known fits nothing";
}

TEST(Filter, words_flags_and_ports)
{
	EXPECT_TRUE(shown(a_path(), {"state", "up", "transport", "tcp"}));
	EXPECT_FALSE(shown(a_path(), {"state", "up", "transport", "ib"})) << "all have to fit";
	EXPECT_TRUE(shown(a_path(), {"holds", "yes", "refuses", "no"}));
	EXPECT_TRUE(shown(a_path(), {"congested-ports", "4001"}));
	EXPECT_FALSE(shown(a_path(), {"congested-ports", "4002"}));
	EXPECT_TRUE(shown(a_path(), {"refused-ports", "4007"}));
	EXPECT_TRUE(shown(a_path(), {"refused-ports", "+4007"}));
	EXPECT_FALSE(shown(a_path(), {"refused-ports", "1200"})) << "none has this number";
	EXPECT_FALSE(shown(Message().path(), {"refused-ports", "+0"}));
}

/* The kernel gives a path's as a name, a socket's as the number of SO_RDS_TRANSPORT. */
TEST(State, a_transport_has_one_name_in_paths_and_sockets)
{
	for (const auto &[number, name, brief] :
	     {std::tuple(RDS_TRANS_IB, "infiniband", "ib"), std::tuple(RDS_TRANS_TCP, "tcp", "tcp"),
	      std::tuple(RDS_TRANS_LOOP, "loopback", "loop")}) {
		const Json socket =
			Message()
				.put(RDS_SOCKET_A_TRANSPORT, static_cast<std::uint8_t>(number))
				.socket();
		Json path = a_path();

		path["transport"] = name;
		EXPECT_EQ(socket["transport"], name);
		for (const char *word : {name, brief}) {
			EXPECT_TRUE(shown(path, {"transport", word})) << word;
			EXPECT_TRUE(Filter({"transport", word}, socket_fields()).shows(socket))
				<< word;
		}
		EXPECT_FALSE(shown(path, {"transport", "iwarp"}));
	}
	EXPECT_THROW(Filter({"transport", "rdma"}, socket_fields()), Error);
}

TEST(Filter, what_it_does_not_know_is_refused)
{
	for (const std::vector<std::string> &words :
	     std::vector<std::vector<std::string>>{{"colour", "red"},
						   {"state"},
						   {"state", "upp"},
						   {"unacked", "many"},
						   {"unacked", "-1"},
						   {"holds", "1"},
						   {"remote", "host.example"},
						   {"remote", "10.9.0.1/16"}})
		EXPECT_THROW(shown(a_path(), words), Error) << words.front();
}

TEST(Filter, news_alone_have_an_event)
{
	Json news = a_path();

	EXPECT_THROW(shown(a_path(), {"event", "up"}), Error);
	news["event"] = "up";
	EXPECT_TRUE(Filter({"event", "up"}, news_fields()).shows(news));
	EXPECT_FALSE(Filter({"event", "down"}, news_fields()).shows(news));
}
