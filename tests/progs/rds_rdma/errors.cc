// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that are refused, and with which errno; and operations that the peer's adapter refuses:
 * these end the connection, which comes back by itself and has lost no message.
 */
#include "rdma.h"

#include "../lib/check.h"
#include "../lib/payload.h"
#include "../lib/tap.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace rdstest
{

namespace
{

using std::chrono::seconds;

constexpr uint64_t readWrite = RDS_RDMA_READWRITE;

class Errors : private User
{
public:
	using User::User;

	int run();

private:
	long get(uint64_t address, uint64_t length, uint64_t flags = readWrite);
	long send(const Op &op, const std::string &text = "");
	Op op(bool write, uint64_t cookie, uint64_t far, size_t length) const;
	void refused(const Op &op, int status = RDS_RDMA_REMOTE_ERROR);
	void free(uint64_t cookie, uint64_t flags);

	void regions();
	void operations();
	void controls();
	void unreadable();
	void locked();
	void atomics();
	void badKeys();
	void bounds();
	void freed();
	void rights();
	void oddAtomic();
};

long Errors::get(uint64_t address, uint64_t length, uint64_t flags)
{
	uint64_t cookie = 0;
	const long result = getMr(fd_, address, length, flags, &cookie);

	if (!result)
		same(freeMr(fd_, cookie, 0), 0, "RDS_FREE_MR");
	return result;
}

Op Errors::op(bool write, uint64_t cookie, uint64_t far, size_t length) const
{
	Op o;

	o.write = write;
	o.cookie = cookie;
	o.at = far;
	o.local = {{memory_.address(0), length}};
	return o;
}

long Errors::send(const Op &o, const std::string &text)
{
	return sendOp(fd_, to_, o, ++token_, text);
}

/* Around it are messages, which all come; its own does not. */
void Errors::refused(const Op &o, int status)
{
	const uint64_t first = message_;

	for (int i = 0; i < 5; ++i)
		same(sendText(fd_, makePayload(100, message_++), to_), 100, "sendmsg before");
	same(send(o, makePayload(50, 1)), 50, "sendmsg of the operation");
	for (int i = 0; i < 5; ++i)
		same(sendText(fd_, makePayload(100, message_++), to_), 100, "sendmsg after");
	const auto got = notices_.next(seconds(30));
	want(got.has_value(), "no notification");
	same(static_cast<long>(got->token), static_cast<long>(token_), "token");
	same(got->status, status, "status");
	for (uint64_t seed = first; seed < message_; ++seed)
		owner_.ask("RECV 100 " + std::to_string(seed));
	notices_.none();
}

void Errors::free(uint64_t cookie, uint64_t flags)
{
	same(owner_.numbers("FREE " + std::to_string(cookie) + " " + std::to_string(flags)).at(0),
	     0, "RDS_FREE_MR");
}

void Errors::regions()
{
	const Fd unbound = openRds();
	uint64_t cookie = 0;

	same(getMr(unbound, memory_.address(0), 100, 0, &cookie), -ENOTCONN, "unbound");
	same(get(memory_.address(0), 0), -EINVAL, "no bytes");
	same(get(~0ull - 100, 200), -EINVAL, "wraps");
	same(get(memory_.address(0), mebibyte), 0, "1 MiB");
	same(get(memory_.address(0), mebibyte + 4096), 0, "1 MiB and a page");
	same(get(memory_.address(0), mebibyte + 4097), -EMSGSIZE, "more");
	same(get(4096, 100), -EFAULT, "nothing there");
	same(get(1ull << 63, 100), -EFAULT, "the kernel's");
	same(freeMr(fd_, 0x1234500000000, 0), -EINVAL, "no such region");
	same(freeMr(fd_, 0, 0), 0, "flush");
	same(getMr(fd_, memory_.address(0), 100, 0, reinterpret_cast<uint64_t *>(4096)), -EFAULT,
	     "no room for the cookie");
}

void Errors::operations()
{
	const uint64_t cookie = owner_.map(0, 8192);
	Op o = op(true, cookie, 0, 100);

	o.bytes = 99;
	same(send(o), -EINVAL, "more than the other side is to have");
	o = op(true, cookie, 0, mebibyte + 1);
	same(send(o), -EMSGSIZE, "more than 1 MiB");
	o.local = {};
	same(send(o), -EINVAL, "no pieces");
	o.local = {{memory_.address(0), 0}};
	same(send(o), -EINVAL, "an empty piece");
	o.local = {{~0ull - 10, 20}};
	same(send(o), -EINVAL, "a piece that wraps");
	o.local = {{memory_.address(0), 100}, {4096, 100}};
	same(send(o), -EFAULT, "a piece that is not there");
	message();
	free(cookie, 0);
}

void Errors::controls()
{
	rds_rdma_args args{};
	rds_iovec piece = {memory_.address(0), 10};
	Control twice, foreign;

	args.local_vec_addr = reinterpret_cast<uint64_t>(&piece);
	args.nr_local = 1;
	args.remote_vec.bytes = 10;
	twice.add(SOL_RDS, RDS_CMSG_RDMA_ARGS, args).add(SOL_RDS, RDS_CMSG_RDMA_ARGS, args);
	same(sendBytes(fd_, "", 0, {.to = &to_, .control = &twice}), -EINVAL, "two operations");
	foreign.add(SOL_RDS, RDS_CMSG_RDMA_DEST, uint64_t{0x77});
	same(sendBytes(fd_, "", 0, {.to = &to_, .control = &foreign}), -EINVAL,
	     "the cookie of nothing");
	message();
}

/* Of memory that may only be read one can write to the peer's; not the other way round. */
void Errors::unreadable()
{
	const uint64_t cookie = owner_.map(0, 4096);
	Op o = op(true, cookie, 0, 4096);

	mprotect(memory_.at(0), 4096, PROT_READ);
	same(send(o, makePayload(100, message_)), 100, "write from memory that is only read");
	owner_.ask("RECV 100 " + std::to_string(message_++));
	const auto got = notices_.next(seconds(20));
	want(got && got->status == RDS_RDMA_SUCCESS, "status of that");
	o.write = false;
	same(send(o), -EFAULT, "read into memory that is only read");
	same(get(memory_.address(0), 4096), -EFAULT, "region of memory that is only read");
	mprotect(memory_.at(0), 4096, PROT_READ | PROT_WRITE);
	free(cookie, 0);
}

/* The memory that a user who is not root may lock. */
void Errors::locked()
{
	const auto asks = [&](rlim_t limit, uint64_t length) {
		const pid_t child = fork();
		int status = 0;

		if (child == 0) {
			const rlimit most = {limit, limit};
			uint64_t cookie = 0;

			if (setrlimit(RLIMIT_MEMLOCK, &most) || setuid(65534))
				_exit(255);
			_exit(static_cast<int>(
				-getMr(fd_, memory_.address(0), length, 0, &cookie)));
		}
		want(waitpid(child, &status, 0) == child && WIFEXITED(status), "child");
		return -static_cast<long>(WEXITSTATUS(status));
	};

	same(asks(64 << 10, mebibyte), -ENOMEM, "more than RLIMIT_MEMLOCK");
	same(asks(64 << 10, 4096), 0, "less");
	same(asks(0, 4096), -EPERM, "none may be locked");
}

void Errors::atomics()
{
	const uint64_t cookie = owner_.map(0, 4096);
	rds_atomic_args args{};
	const auto tries = [&](int type) {
		Control control;

		control.add(SOL_RDS, type, args);
		return sendBytes(fd_, "", 0, {.to = &to_, .control = &control});
	};

	args.cookie = cookie;
	args.local_addr = memory_.address(4);
	same(tries(RDS_CMSG_ATOMIC_FADD), -EFAULT, "across a border of 8");
	args.local_addr = 4096;
	same(tries(RDS_CMSG_ATOMIC_FADD), -EFAULT, "nothing there");
	/* Atomics that soft-RoCE does not have. */
	args.local_addr = memory_.address(8);
	args.m_fadd.nocarry_mask = 0x80;
	same(tries(RDS_CMSG_MASKED_ATOMIC_FADD), -EOPNOTSUPP, "a sum in two parts");
	args.m_cswp.compare_mask = ~0ull;
	args.m_cswp.swap_mask = 0xff;
	same(tries(RDS_CMSG_MASKED_ATOMIC_CSWP), -EOPNOTSUPP, "a part swapped");
	message();
	free(cookie, 0);
}

void Errors::badKeys()
{
	const uint64_t cookie = owner_.map(0, 4096);

	for (const bool write : {true, false}) {
		refused(op(write, cookie ^ 0x55, 0, 100));
		refused(op(write, 0xabcdef12, 0, 100));
	}
	message();
	free(cookie, 0);
}

void Errors::bounds()
{
	const uint64_t cookie = owner_.map(4096 + 100, 5000);

	for (const bool write : {true, false}) {
		refused(op(write, cookie, 2 * mebibyte, 100));
		refused(op(write, cookie, 4900, 12000));
		refused(op(write, cookie, 4999, 2));
		refused(op(write, cookie, ~0ull, 2));
		refused(op(write, cookie, 0, 5001));
	}
	free(cookie, 0);
}

/* Whether at once, or when all that waits is carried out. */
void Errors::freed()
{
	uint64_t cookie = owner_.map(0, 4096);

	free(cookie, RDS_RDMA_INVALIDATE);
	refused(op(true, cookie, 0, 100));
	cookie = owner_.map(0, mebibyte, readWrite | RDS_RDMA_INVALIDATE);
	free(cookie, 0);
	refused(op(false, cookie, 0, 100));
	cookie = owner_.map(0, 4096);
	free(cookie, 0);
	free(0, 0);
	refused(op(true, cookie, 0, 100));
	/* A new region, perhaps in the same place, has another key. */
	const uint64_t other = owner_.map(0, 4096);
	refused(op(true, cookie, 0, 100));
	free(other, 0);
}

void Errors::rights()
{
	const uint64_t cookie = owner_.map(0, 4096, 0), seed = 4711;

	owner_.ask("FILL 0 4096 4711");
	refused(op(true, cookie, 0, 4096));
	owner_.ask("CHECK 0 4096 " + std::to_string(seed));
	same(send(op(false, cookie, 0, 4096), makePayload(100, message_)), 100, "read");
	owner_.ask("RECV 100 " + std::to_string(message_++));
	const auto got = notices_.next(seconds(20));
	want(got && got->status == RDS_RDMA_SUCCESS, "status of a read");
	want(isPayload(memory_.at(0), 4096, seed), "read other bytes");
	free(cookie, 0);
}

/* Where adapters do not do it; ours tells before it asks. */
void Errors::oddAtomic()
{
	const uint64_t cookie = owner_.map(0, 4096);

	same(addTo(cookie, 4), 0, "sendmsg");
	const auto got = notices_.next(seconds(20));
	want(got && got->status == RDS_RDMA_OTHER_ERROR, "status");
	message();
	free(cookie, 0);
}

int Errors::run()
{
	Tap tap;
	const auto one = [&](const std::string &name, void (Errors::*body)()) {
		playRow(tap, name, [&] { (this->*body)(); });
	};

	message();
	one("regions", &Errors::regions);
	one("operations", &Errors::operations);
	one("control messages", &Errors::controls);
	one("memory that may only be read", &Errors::unreadable);
	one("RLIMIT_MEMLOCK", &Errors::locked);
	if (options_.atomics)
		one("atomics", &Errors::atomics);
	/* Mainline's connection never comes back over soft-RoCE once its queue pair has refused
	 * something: it waits for buffers to be given back. */
	if (!options_.peerIsOurs)
		return tap.finish();
	one("bad keys", &Errors::badKeys);
	one("beyond the bounds", &Errors::bounds);
	one("regions that were freed", &Errors::freed);
	one("rights", &Errors::rights);
	if (options_.atomics)
		one("an atomic across a border", &Errors::oddAtomic);
	return tap.finish();
}

} // namespace

int runRdmaErrors(const RdmaOptions &options)
{
	return Errors(options).run();
}

} // namespace rdstest
