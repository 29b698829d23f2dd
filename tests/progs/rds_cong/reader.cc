// SPDX-License-Identifier: GPL-2.0
#include "cong.h"

#include "../lib/check.h"
#include "../lib/info.h"
#include "../lib/payload.h"
#include "../lib/tcp.h"

#include <iostream>

namespace rdstest
{

namespace
{

class Reader
{
public:
	explicit Reader(const CongOptions &options)
		: options_(options), listener_(listenTcp(options.self.port(options.controlPort))),
		  first_(bindRds(options.self.port(options.port))),
		  second_(bindRds(options.self.port(static_cast<uint16_t>(options.port + 1))))
	{
	}

	void run()
	{
		std::cout << "ready" << std::endl;
		const Fd control = acceptTcp(listener_, options_.timeout);

		while (const auto line = readLine(control, options_.timeout)) {
			std::string answer;

			try {
				answer = "ok" + obey(*line);
			} catch (const std::exception &error) {
				answer = error.what();
			}
			writeLine(control, answer);
		}
	}

private:
	std::string obey(const std::string &command)
	{
		if (command.rfind("READ ", 0) == 0) {
			for (int left = std::stoi(command.substr(5)); left > 0; --left)
				readOne();
		} else if (command == "READ2") {
			same(receiveSoon(second_).data, "second", "message on the second port");
		} else if (command == "COUNT") {
			return " " + std::to_string(waiting());
		} else if (command == "CLOSE") {
			first_.close();
		} else if (command == "OPEN") {
			first_ = bindRds(options_.self.port(options_.port));
			number_ = 0;
		} else {
			throw Failed("unknown command " + command);
		}
		return "";
	}

	void readOne()
	{
		const Received got = receiveSoon(first_, options_.length + 1);
		want(got.result != -EAGAIN,
		     "message " + std::to_string(number_) + " does not come");
		want(got.data == makePayload(options_.length, number_),
		     "message " + std::to_string(number_) + " is another one or broken");
		++number_;
	}

	size_t waiting() const
	{
		size_t count = 0;

		for (const auto &entry :
		     readInfo(second_, RDS6_INFO_RECV_MESSAGES).as<rds6_info_message>())
			count += ntohs(entry.lport) == options_.port ||
				 ntohs(entry.fport) == options_.port;
		return count;
	}

	const CongOptions &options_;
	Fd listener_, first_, second_;
	uint64_t number_ = 0;
};

} // namespace

int runCongReader(const CongOptions &options)
{
	Reader(options).run();
	return 0;
}

} // namespace rdstest
