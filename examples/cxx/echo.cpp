// SPDX-License-Identifier: GPL-2.0
/*
 * echo: asks questions, and answers them.
 *
 *	echo serve ADDRESS:PORT			answers each message by itself, until it is killed
 *	echo ask ADDRESS:PORT PEER:PORT COUNT	asks so many questions, one after the other
 *
 * The own port may be 0; an address of IPv6 is in brackets. See rds(7), docs/cxx.md.
 */
#include <rds/socket.hpp>

#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

static int failed(const char *what, std::error_code why)
{
	std::cerr << "echo: " << what << ": " << why.message() << '\n';
	return 1;
}

static int serve(const rds::Endpoint &here)
{
	auto sock = rds::Socket::bound(here);
	if (!sock)
		return failed("bind", sock.error());
	std::cout << "ready" << std::endl;
	std::vector<std::byte> room(rds::max_message);
	for (;;) {
		const auto got = sock->receive(room);
		if (!got)
			return failed("receive", got.error());
		if (!got->message)
			continue;
		const auto sent = sock->send(got->message->data, got->message->sender);
		if (!sent)
			return failed("send", sent.error());
	}
}

/* The answer; empty where none came in time. */
static std::string ask(rds::Socket &sock, const std::string &question, const rds::Endpoint &there)
{
	std::array<std::byte, 64> room;

	if (const auto sent = sock.send(std::as_bytes(std::span(question)), there); !sent) {
		failed("send", sent.error());
		return {};
	}
	for (;;) {
		const auto got = sock.receive(room);
		if (!got) {
			failed("receive", got.error());
			return {};
		}
		if (const auto &answer = got->message)
			return {reinterpret_cast<const char *>(answer->data.data()),
				answer->data.size()};
	}
}

static int ask_all(const rds::Endpoint &here, const rds::Endpoint &there, int count)
{
	auto sock = rds::Socket::bound(here);
	if (!sock)
		return failed("bind", sock.error());
	if (const auto set = sock->set_receive_timeout(60s); !set)
		return failed("timeout", set.error());
	for (int number = 0; number < count; number++) {
		const std::string question = "question " + std::to_string(number);
		if (ask(*sock, question, there) != question) {
			std::cerr << "echo: no answer to " << question << '\n';
			return 1;
		}
	}
	std::cout << count << " answers of " << there.to_string() << '\n';
	return 0;
}

int main(int argc, char **argv)
{
	const std::vector<std::string> words(argv + 1, argv + argc);
	const auto here = rds::Endpoint::parse(words.size() > 1 ? words[1] : "");
	const auto there = rds::Endpoint::parse(words.size() > 2 ? words[2] : "");

	if (words.size() == 2 && words[0] == "serve" && here)
		return serve(*here);
	if (words.size() == 4 && words[0] == "ask" && here && there)
		return ask_all(*here, *there, std::atoi(argv[4]));
	std::cerr << "usage: echo serve ADDRESS:PORT | echo ask ADDRESS:PORT PEER:PORT COUNT\n";
	return 2;
}
