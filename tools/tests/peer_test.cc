// SPDX-License-Identifier: GPL-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include <gtest/gtest.h>

#include "../ctl/key.h"
#include "../ctl/prefix.h"
#include "../lib/error.h"

using namespace rdstools;

TEST(Peer, a_prefix_is_an_address_and_a_length)
{
	EXPECT_EQ(parse_prefix("10.8.0.0/16").text(), "10.8.0.0/16");
	EXPECT_EQ(parse_prefix("10.8.0.1").len, 32u);
	EXPECT_EQ(parse_prefix("10.8.0.1/32").text(), "10.8.0.1");
	EXPECT_EQ(parse_prefix("fd00::/8").len, 8u);
	EXPECT_EQ(parse_prefix("fd00::1").len, 128u);
	EXPECT_EQ(parse_prefix("::ffff:10.8.0.1").text(), "10.8.0.1") << "RDS knows it as IPv4";
	EXPECT_EQ(parse_prefix("128.0.0.0/1").len, 1u);
}

TEST(Peer, a_prefix_that_means_something_else_is_refused)
{
	for (const char *text : {"", "/8", "10.8.0.0/", "10.8.0.0/33", "10.8.0.0/-1", "10.8.0.0/ 8",
				 "10.8.0.0/8x", "fd00::/129", "10.8.0.1/16", "fd00::1/64",
				 "0.0.0.0/0", "::/0", "localhost", "10.8.0.0/0016"})
		EXPECT_THROW(parse_prefix(text), Error) << text;
	try {
		parse_prefix("10.8.0.1/16");
		FAIL();
	} catch (const Error &error) {
		EXPECT_TRUE(std::strstr(error.what(), "10.8.0.0/16")) << error.what();
	}
}

TEST(Peer, words_make_a_rule)
{
	PeerWords peer = parse_peer({"10.8.0.0/16"}, true);

	EXPECT_EQ(peer.policy, RDS_PEERS_ACCEPT);
	EXPECT_EQ(peer.method, RDS_PEERS_NONE);
	EXPECT_EQ(parse_peer({"10.8.0.1", "refuse"}, true).policy, RDS_PEERS_REFUSE);
	peer = parse_peer({"10.8.0.1", "key-file", "/etc/key", "accept"}, true);
	EXPECT_EQ(peer.key_file, "/etc/key");
	EXPECT_EQ(peer.method, RDS_PEERS_TCP_MD5) << "the one that there is everywhere";
	peer = parse_peer({"10.8.0.1", "algo", "tcp-ao", "key-file", "k"}, true);
	EXPECT_EQ(peer.method, RDS_PEERS_TCP_AO);
	EXPECT_EQ(peer.sndid, 1u);
	EXPECT_EQ(peer.rcvid, 1u);
	EXPECT_EQ(peer.alg, RDS_PEERS_HMAC_SHA256);
	peer = parse_peer({"10.8.0.1", "algo", "tcp-ao", "key-file", "k", "sndid", "0", "rcvid",
			   "255", "alg", "cmac(aes128)"},
			  true);
	EXPECT_EQ(peer.sndid, 0u);
	EXPECT_EQ(peer.rcvid, 255u);
	EXPECT_EQ(peer.alg, RDS_PEERS_CMAC_AES128);
	EXPECT_STREQ(alg_name(peer.alg), "cmac(aes128)");
	peer = parse_peer({"fe80::1", "dev", "lo", "refuse"}, true);
	EXPECT_NE(peer.prefix.addr.scope(), 0u);
	EXPECT_EQ(peer.prefix.text(), "fe80::1");
	EXPECT_NE(parse_peer({"fe80::1", "dev", "lo"}, false).prefix.addr.scope(), 0u);
}

TEST(Peer, words_that_make_none_are_refused)
{
	using Words = std::vector<std::string>;

	for (const Words &words :
	     {Words{}, Words{"10.8.0.1", "reject"}, Words{"10.8.0.1", "key-file"},
	      Words{"10.8.0.1", "algo", "md5", "key-file", "k"},
	      Words{"10.8.0.1", "algo", "tcp-md5"}, Words{"10.8.0.1", "refuse", "key-file", "k"},
	      Words{"10.8.0.1", "sndid", "1"}, Words{"10.8.0.1", "key-file", "k", "rcvid", "1"},
	      Words{"10.8.0.1", "key-file", "k", "algo", "tcp-ao", "sndid", "256"},
	      Words{"10.8.0.1", "key-file", "k", "algo", "tcp-ao", "sndid", "-1"},
	      Words{"10.8.0.1", "key-file", "k", "algo", "tcp-ao", "rcvid", "1x"},
	      Words{"10.8.0.1", "key-file", "k", "algo", "tcp-ao", "rcvid", ""},
	      Words{"10.8.0.1", "key-file", "k", "algo", "tcp-ao", "alg", "sha1"},
	      Words{"10.8.0.1", "dev", "lo"}, Words{"fe80::1", "dev", "no-such"},
	      Words{"fe80::1", "dev"}})
		EXPECT_THROW(parse_peer(words, true), Error) << testing::PrintToString(words);
	EXPECT_THROW(parse_peer({"10.8.0.1", "refuse"}, false), Error);
}

namespace
{

class KeyFile : public testing::Test
{
protected:
	void write(const std::string &text, mode_t mode = 0600)
	{
		std::ofstream(path) << text;
		ASSERT_EQ(chmod(path.c_str(), mode), 0);
	}
	~KeyFile() override
	{
		unlink(path.c_str());
	}
	std::string path = testing::TempDir() + "rdsctl-key-" + std::to_string(getpid());
};

} // namespace

TEST_F(KeyFile, is_read_without_its_newline)
{
	write("secret\n");
	Key key(path);
	ASSERT_EQ(key.size(), 6u);
	EXPECT_EQ(std::memcmp(key.data(), "secret", 6), 0);
	write("secret\n\n");
	EXPECT_EQ(Key(path).size(), 7u) << "one newline only";
	write(std::string(80, 'k'));
	EXPECT_EQ(Key(path).size(), 80u);
	write(std::string(80, 'k') + "\n");
	EXPECT_EQ(Key(path).size(), 80u);
}

TEST_F(KeyFile, of_another_size_is_refused)
{
	for (const std::string &text :
	     {std::string(), std::string("\n"), std::string(81, 'k'), std::string(82, 'k'),
	      std::string(81, 'k') + "\n", std::string(5000, 'k')}) {
		write(text);
		EXPECT_THROW(Key{path}, Error) << text.size();
	}
}

TEST_F(KeyFile, that_others_may_use_is_refused)
{
	for (mode_t mode : {0640, 0604, 0620, 0602, 0610, 0644, 0601}) {
		write("secret", mode);
		EXPECT_THROW(Key{path}, Error) << mode;
	}
	write("secret", 0400);
	EXPECT_EQ(Key(path).size(), 6u);
	EXPECT_THROW(Key{"/dev/null"}, Error) << "no regular file";
	EXPECT_THROW(Key{testing::TempDir()}, Error);
	EXPECT_THROW(Key{path + "-not-there"}, Error);
	ASSERT_EQ(unlink(path.c_str()), 0);
	ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
	EXPECT_THROW(Key{path}, Error) << "and nobody waits for a writer";
}
