// SPDX-License-Identifier: GPL-2.0
#include "rdma.h"

#include "../lib/check.h"
#include "../lib/payload.h"
#include "../lib/tap.h"
#include "../lib/tcp.h"

#include <sstream>

namespace rdstest
{

long sendOp(int fd, const Address &to, const Op &op, uint64_t token, const std::string &text)
{
	rds_rdma_args args{};
	Control control;

	for (const rds_iovec &piece : op.local)
		args.remote_vec.bytes += piece.bytes;
	if (op.bytes)
		args.remote_vec.bytes = op.bytes;
	args.cookie = op.cookie;
	args.remote_vec.addr = op.at;
	args.local_vec_addr = reinterpret_cast<uint64_t>(op.local.data());
	args.nr_local = op.local.size();
	args.flags = op.flags | (op.write ? RDS_RDMA_READWRITE : 0);
	args.user_token = token;
	control.add(SOL_RDS, RDS_CMSG_RDMA_ARGS, args);
	return sendBytes(fd, text.data(), text.size(), {.to = &to, .control = &control});
}

std::optional<Status> Notices::next(std::chrono::milliseconds timeout)
{
	if (told_.empty()) {
		const Received got = receiveSoon(fd_, 4096, timeout);

		if (got.result == -EAGAIN)
			return std::nullopt;
		same(got.result, 0, "recvmsg for a notification");
		for (const ControlMessage &message : got.control) {
			want(message.level == SOL_RDS && message.type == RDS_CMSG_RDMA_STATUS,
			     "another control message");
			const auto told = message.as<rds_rdma_notify>();
			told_.push_back({told.user_token, told.status});
		}
		want(!told_.empty(), "an empty message instead of a notification");
	}
	const Status first = told_.front();
	told_.pop_front();
	return first;
}

void Notices::none()
{
	want(told_.empty(), "one more notification");
	same(receive(fd_).result, -EAGAIN, "something to receive");
}

long getMr(int fd, uint64_t address, uint64_t length, uint64_t flags, uint64_t *cookie)
{
	rds_get_mr_args args{};

	args.vec.addr = address;
	args.vec.bytes = length;
	args.cookie_addr = reinterpret_cast<uint64_t>(cookie);
	args.flags = flags;
	return sys(setsockopt(fd, SOL_RDS, RDS_GET_MR, &args, sizeof(args)));
}

long freeMr(int fd, uint64_t cookie, uint64_t flags)
{
	rds_free_mr_args args{};

	args.cookie = cookie;
	args.flags = flags;
	return sys(setsockopt(fd, SOL_RDS, RDS_FREE_MR, &args, sizeof(args)));
}

Owner::Owner(const RdmaOptions &options, int fd)
	: options_(options), fd_(fd),
	  control_(connectTcp(options.peer.port(options.controlPort), options.timeout))
{
}

std::string Owner::ask(const std::string &command)
{
	want(writeLine(control_, command), "the control connection is closed");
	const std::string answer =
		readLine(control_, std::chrono::seconds(120)).value_or("no answer from the owner");
	if (answer.rfind("ok ", 0) != 0)
		throw Failed("owner, " + command + ": " + answer);
	return answer.substr(3);
}

std::vector<int64_t> Owner::numbers(const std::string &command)
{
	std::istringstream in(ask(command));
	std::vector<int64_t> found;
	int64_t n;

	while (in >> n)
		found.push_back(n);
	return found;
}

/* A cookie in a message. */
uint64_t Owner::offer(size_t at, size_t length, uint64_t flags)
{
	same(numbers("OFFER " + std::to_string(at) + " " + std::to_string(length) + " " +
		     std::to_string(flags))
		     .at(0),
	     5, "RDS_CMSG_RDMA_MAP");
	const Received got = receiveSoon(fd_);
	same(got.result, 5, "message with a cookie");
	want(got.find(SOL_RDS, RDS_CMSG_RDMA_DEST), "no cookie came");
	return got.find(SOL_RDS, RDS_CMSG_RDMA_DEST)->as<uint64_t>();
}

uint64_t Owner::map(size_t at, size_t length, uint64_t flags)
{
	/* Mainline registers memory only for a peer. */
	if (!options_.peerIsOurs)
		return offer(at, length, flags);
	const auto said = numbers("MAP " + std::to_string(at) + " " + std::to_string(length) + " " +
				  std::to_string(flags));

	same(said.at(0), 0, "RDS_GET_MR");
	return static_cast<uint64_t>(said.at(1));
}

User::User(const RdmaOptions &options)
	: options_(options), fd_(bindRds(options.self.port(options.port))), notices_(fd_),
	  owner_(options, fd_), to_(options.peer.port(options.port)), memory_(4 * mebibyte)
{
}

void User::message()
{
	const uint64_t seed = message_++;

	same(sendText(fd_, makePayload(100, seed), to_), 100, "sendmsg");
	owner_.ask("RECV 100 " + std::to_string(seed));
}

long User::addTo(uint64_t cookie, uint64_t at)
{
	rds_atomic_args args{};
	Control control;

	args.cookie = cookie;
	args.remote_addr = at;
	args.local_addr = memory_.address(8);
	args.flags = RDS_RDMA_NOTIFY_ME;
	args.user_token = ++token_;
	control.add(SOL_RDS, RDS_CMSG_ATOMIC_FADD, args);
	return sendBytes(fd_, "", 0, {.to = &to_, .control = &control});
}

void playRow(Tap &tap, const std::string &name, const std::function<void()> &body)
{
	try {
		body();
		tap.ok(true, name);
	} catch (const std::exception &error) {
		tap.ok(false, name, error.what());
		throw;
	}
}

} // namespace rdstest
