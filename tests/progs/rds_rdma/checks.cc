// SPDX-License-Identifier: GPL-2.0
/*
 * Effects of operations: data in both directions, in order with their messages, and to whom it is
 * told.
 */
#include "gapless.h"
#include "rdma.h"

#include "../lib/check.h"
#include "../lib/info.h"
#include "../lib/payload.h"
#include "../lib/tap.h"

#include <algorithm>
#include <array>
#include <functional>

namespace rdstest
{

namespace
{

using std::chrono::milliseconds;
using std::chrono::seconds;

/* In the owner's memory and in ours. */
constexpr size_t farAt = 4096 * 3 + 5, nearAt = 4096 + 3, backAt = 2 * mebibyte + 77;
constexpr size_t guard = 64;

class Checks : private User
{
public:
	using User::User;

	int run();

private:
	void ask(const std::string &what, std::initializer_list<uint64_t> numbers);
	/* An operation with a message, and the message's arrival. */
	void go(const Op &op, size_t textLength = 8);
	void told(uint64_t token, int status = RDS_RDMA_SUCCESS);
	Op op(bool write, uint64_t cookie, size_t at, size_t length, uint64_t far = 0) const;

	void size(size_t length);
	void gapless();
	void twice();
	void pieces(unsigned int n, size_t each, size_t gap);
	void fence();
	void alone();
	void notifications();
	void useOnce();
	void freed();
	void refused();
	void cookies();
	void manyAtOnce();
	void atomics();

	/* No connection is left of what was done before. */
	void untilGone();

	uint64_t seed_ = 1;
};

void Checks::ask(const std::string &what, std::initializer_list<uint64_t> numbers)
{
	std::string line = what;

	for (const uint64_t n : numbers)
		line += " " + std::to_string(n);
	owner_.ask(line);
}

Op Checks::op(bool write, uint64_t cookie, size_t at, size_t length, uint64_t far) const
{
	Op o;

	o.write = write;
	o.cookie = cookie;
	o.at = far;
	o.local = {{memory_.address(at), length}};
	return o;
}

void Checks::told(uint64_t token, int status)
{
	const auto got = notices_.next(seconds(20));

	want(got.has_value(), "no notification");
	same(static_cast<long>(got->token), static_cast<long>(token), "token");
	same(got->status, status, "status");
}

void Checks::go(const Op &o, size_t textLength)
{
	const uint64_t token = token_++;

	same(sendOp(fd_, to_, o, token, makePayload(textLength, token)), textLength, "sendmsg");
	told(token);
	ask("RECV", {textLength, token});
	notices_.none();
}

/* Written, and read back; nothing beside it is touched. */
void Checks::size(size_t length)
{
	const uint64_t before = seed_++, after = seed_++;

	ask("FILL", {farAt - guard, guard, before});
	ask("FILL", {farAt + length, guard, before});
	const uint64_t cookie = owner_.map(farAt, length);
	fillPayload(memory_.at(nearAt), length, after);
	go(op(true, cookie, nearAt, length));
	ask("CHECK", {farAt, length, after});
	ask("CHECK", {farAt - guard, guard, before});
	ask("CHECK", {farAt + length, guard, before});
	fillPayload(memory_.at(backAt - guard), length + 2 * guard, before);
	go(op(false, cookie, backAt, length));
	want(isPayload(memory_.at(backAt), length, after), "read other bytes");
	const std::string left = makePayload(length + 2 * guard, before);
	want(left.compare(0, guard, memory_.at(backAt - guard), guard) == 0 &&
		     left.compare(guard + length, guard, memory_.at(backAt + length), guard) == 0,
	     "read beside it");
	ask("FREE", {cookie, 0});
}

/* Whether it is one work request the adapter says, which may refuse the second. */
void Checks::gapless()
{
	const Gapless memory;
	const uint64_t cookie = owner_.map(0, Gapless::length), seed = seed_++;
	Op o;

	o.cookie = cookie;
	o.local = {{reinterpret_cast<uint64_t>(memory.at()), Gapless::length}};
	fillPayload(memory.at(), Gapless::length, seed);
	go(o);
	ask("CHECK", {0, Gapless::length, seed});
	fillPayload(memory.at(), Gapless::length, seed_++);
	o.write = false;
	go(o);
	want(isPayload(memory.at(), Gapless::length, seed), "read other bytes");
	ask("FREE", {cookie, 0});
}

/* Pieces that go on where another one ends, and that begin where it began. */
void Checks::twice()
{
	const Gapless memory;
	std::string text;
	Op o;

	fillPayload(memory.at(), Gapless::length, seed_++);
	for (const auto &[at, length] :
	     {std::array{0, 100}, std::array{0, 50}, std::array{4096, 4096}, std::array{8192, 10},
	      std::array{8192, 4096}, std::array{12288, 5000}}) {
		o.local.push_back({reinterpret_cast<uint64_t>(memory.at() + at),
				   static_cast<uint64_t>(length)});
		text.append(memory.at() + at, static_cast<size_t>(length));
	}
	o.cookie = owner_.map(0, text.size());
	go(o);
	go(op(false, o.cookie, backAt, text.size()));
	want(text.compare(0, text.size(), memory_.at(backAt), text.size()) == 0,
	     "other bytes came back");
	ask("FREE", {o.cookie, 0});
}

/* Gathered and scattered. */
void Checks::pieces(unsigned int n, size_t each, size_t gap)
{
	const size_t all = n * each;
	const uint64_t cookie = owner_.map(1, all), seed = seed_++;
	const std::string text = makePayload(all, seed);
	Op o;

	o.cookie = cookie;
	for (unsigned int i = 0; i < n; ++i) {
		o.local.push_back({memory_.address(7 + i * (each + gap)), each});
		text.copy(memory_.at(7 + i * (each + gap)), each, i * each);
	}
	go(o);
	ask("CHECK", {1, all, seed});
	fillPayload(memory_.at(0), 7 + n * (each + gap), seed_++);
	o.write = false;
	go(o);
	for (unsigned int i = 0; i < n; ++i)
		want(text.compare(i * each, each, memory_.at(7 + i * (each + gap)), each) == 0,
		     "piece " + std::to_string(i));
	ask("FREE", {cookie, RDS_RDMA_INVALIDATE});
}

/* The message comes when all was read: what its receiver does then is not seen. */
void Checks::fence()
{
	const uint64_t cookie = owner_.map(0, mebibyte);

	for (int round = 0; round < 5; ++round) {
		const uint64_t before = seed_++, after = seed_++, token = token_++;
		Op o = op(false, cookie, nearAt, mebibyte);

		ask("FILL", {0, mebibyte, before});
		o.flags |= RDS_RDMA_FENCE;
		same(sendOp(fd_, to_, o, token, makePayload(8, token)), 8, "sendmsg");
		ask("RECV", {8, token, 0, mebibyte, after});
		told(token);
		want(isPayload(memory_.at(nearAt), mebibyte, before), "read what came later");
	}
	ask("FREE", {cookie, 0});
}

/* Silent and without payload: no message. */
void Checks::alone()
{
	const uint64_t cookie = owner_.map(0, 10000), seed = seed_++;
	Op o = op(true, cookie, nearAt, 10000);

	fillPayload(memory_.at(nearAt), 10000, seed);
	o.flags |= RDS_RDMA_SILENT;
	for (uint64_t token = 1; token <= 20; ++token) {
		same(sendOp(fd_, to_, o, token, ""), 0, "sendmsg");
		told(token);
	}
	ask("QUIET", {});
	ask("CHECK", {0, 10000, seed});
	/* With payload there is one. */
	go(o, 9000);
	ask("FREE", {cookie, 0});
}

void Checks::notifications()
{
	const uint64_t cookie = owner_.map(0, 100), token = token_++;
	Op o = op(true, cookie, nearAt, 100);

	o.flags = 0;
	same(sendOp(fd_, to_, o, token, makePayload(8, token)), 8, "sendmsg");
	ask("RECV", {8, token});
	/* An operation of which it is told comes later. */
	go(op(false, cookie, nearAt, 100));
	setOption(fd_, SOL_RDS, RDS_RECVERR, 1);
	same(sendOp(fd_, to_, o, token, makePayload(8, token)), 8, "sendmsg");
	ask("RECV", {8, token});
	go(op(false, cookie, nearAt, 100));
	setOption(fd_, SOL_RDS, RDS_RECVERR, 0);
	ask("FREE", {cookie, 0});
}

/* The message that tells of the use frees the memory. */
void Checks::useOnce()
{
	for (const bool write : {true, false}) {
		const uint64_t cookie =
			owner_.map(8192, 8192, RDS_RDMA_READWRITE | RDS_RDMA_USE_ONCE);

		go(op(write, cookie, nearAt, 8192));
		same(owner_.numbers("FREE " + std::to_string(cookie) + " 0").at(0), -EINVAL,
		     "RDS_FREE_MR of memory that was used once");
	}
}

/* The memory is its program's again, with what was written without a message, and from then on no
 * adapter writes there, not even late. */
void Checks::freed()
{
	constexpr size_t length = 10000;
	const uint64_t cookie = owner_.map(farAt, length), written = seed_++, own = seed_++;

	if (options_.selfIsOurs) {
		Op o = op(true, cookie, nearAt, length);

		o.flags |= RDS_RDMA_SILENT;
		fillPayload(memory_.at(nearAt), length, written);
		same(sendOp(fd_, to_, o, ++token_, ""), 0, "sendmsg");
		told(token_);
	} else {
		ask("FILL", {farAt, length, written});
	}
	ask("FREE", {cookie, 0});
	ask("CHECK", {farAt, length, written});
	ask("FILL", {farAt, length, own});
	same(owner_.numbers("FREE 0 0").at(0), 0, "RDS_FREE_MR of all");
	ask("CHECK", {farAt, length, own});
}

/* The owner's adapter has none that peers could reach. */
void Checks::refused()
{
	const auto said = owner_.numbers("MAP 0 4096 " + std::to_string(RDS_RDMA_READWRITE));

	same(said.at(0), -EOPNOTSUPP, "RDS_GET_MR");
}

/* Cookies come with messages. */
void Checks::cookies()
{
	const uint64_t seed = seed_++;

	ask("FILL", {5000, 3000, seed});
	const uint64_t cookie = owner_.offer(5000, 3000, RDS_RDMA_READWRITE);
	go(op(false, cookie, nearAt, 3000));
	want(isPayload(memory_.at(nearAt), 3000, seed), "read other bytes");
	same(owner_.numbers("TELL " + std::to_string(cookie)).at(0), 5, "RDS_CMSG_RDMA_DEST");
	const Received again = receiveSoon(fd_);
	same(again.result, 5, "second message with a cookie");
	want(again.find(SOL_RDS, RDS_CMSG_RDMA_DEST) &&
		     again.find(SOL_RDS, RDS_CMSG_RDMA_DEST)->as<uint64_t>() == cookie,
	     "another cookie came");
	ask("FREE", {cookie, 0});
}

/* As many as go: the ring is full, and each is told of. */
void Checks::manyAtOnce()
{
	const uint64_t cookie = owner_.map(0, mebibyte);
	constexpr unsigned int n = 60;
	Op o = op(true, cookie, 0, mebibyte);

	fillPayload(memory_.at(0), mebibyte, 77);
	for (unsigned int i = 0; i < n; ++i)
		same(sendOp(fd_, to_, o, i, ""), 0, "sendmsg");
	/* Mainline tells in no order. */
	std::array<bool, n> done{};
	for (unsigned int i = 0; i < n; ++i) {
		const auto got = notices_.next(seconds(20));

		want(got.has_value(), "no notification");
		want(got->token < n && !done[got->token], "another token");
		want(!options_.selfIsOurs || got->token == i, "in another order");
		same(got->status, RDS_RDMA_SUCCESS, "status");
		done[got->token] = true;
	}
	for (unsigned int i = 0; i < n; ++i)
		ask("RECV", {0, 0});
	ask("CHECK", {0, mebibyte, 77});
	ask("FREE", {cookie, 0});
}

void Checks::atomics()
{
	const uint64_t cookie = owner_.map(4096 + 8, 64);
	uint64_t *old = reinterpret_cast<uint64_t *>(memory_.at(64));
	const auto atomic = [&](int type, rds_atomic_args args, uint64_t was, uint64_t is) {
		Control control;

		args.cookie = cookie;
		args.local_addr = reinterpret_cast<uint64_t>(old);
		args.remote_addr = 8;
		args.flags = RDS_RDMA_NOTIFY_ME;
		args.user_token = ++token_;
		*old = 0;
		control.add(SOL_RDS, type, args);
		same(sendBytes(fd_, "", 0, {.to = &to_, .control = &control}), 0, "sendmsg");
		told(token_);
		ask("RECV", {0, 0});
		want(*old == was, "another value was there");
		want(static_cast<uint64_t>(owner_.numbers("GET 4112").at(0)) == is,
		     "another value is there");
	};
	rds_atomic_args args{};

	ask("PUT", {4112, 0xfffffffffffffff0});
	args.fadd.add = 0x20;
	atomic(RDS_CMSG_ATOMIC_FADD, args, 0xfffffffffffffff0, 0x10);
	args.m_fadd.nocarry_mask = 0;
	atomic(RDS_CMSG_MASKED_ATOMIC_FADD, args, 0x10, 0x30);
	args = {};
	args.cswp.compare = 0x30;
	args.cswp.swap = 0x1234567890abcdef;
	atomic(RDS_CMSG_ATOMIC_CSWP, args, 0x30, 0x1234567890abcdef);
	atomic(RDS_CMSG_ATOMIC_CSWP, args, 0x1234567890abcdef, 0x1234567890abcdef);
	args.m_cswp.compare = 0x1234567890abcdef;
	args.m_cswp.swap = 5;
	args.m_cswp.compare_mask = args.m_cswp.swap_mask = ~0ull;
	atomic(RDS_CMSG_MASKED_ATOMIC_CSWP, args, 0x1234567890abcdef, 5);
	ask("FREE", {cookie, 0});
}

void Checks::untilGone()
{
	const auto gone = [&] { return !readInfo(fd_, RDS_INFO_CONNECTIONS).count(); };

	want(eventually(gone, options_.timeout), "the connection stays");
}

int Checks::run()
{
	Tap tap;
	const auto one = [&](const std::string &name, const std::function<void()> &body) {
		playRow(tap, name, [&] {
			if (options_.idle)
				untilGone();
			body();
		});
	};

	/* Mainline registers memory only where there is a connection. */
	same(sendText(fd_, makePayload(8, 1), to_), 8, "first message");
	ask("RECV", {8, 1});
	if (!options_.regions) {
		one("no memory regions", [&] { refused(); });
		return tap.finish();
	}
	one("pages side by side", [&] { gapless(); });
	one("the same page twice", [&] { twice(); });
	if (options_.gapless)
		return tap.finish();
	for (const size_t length :
	     {1, 7, 8, 4091, 4096, 4097, 8192, 12288, 65536, 1048575, 1048576})
		one(std::to_string(length) + " bytes", [&, length] { size(length); });
	one("60 pieces of 5000 bytes", [&] { pieces(60, 5000, 1000); });
	for (const auto &[most, each, gap] :
	     {std::array{1000, 17, 1}, std::array{500, 2000, 500}}) {
		const unsigned int n = std::min<unsigned int>(most, options_.pieces);

		one(std::to_string(n) + " pieces of " + std::to_string(each) + " bytes",
		    [&, each, gap] { pieces(n, each, gap); });
	}
	/* The adapter's copy lacks what the owner's program writes later. */
	if (!options_.copies)
		one("fence", [&] { fence(); });
	/* Mainline waits for ever. */
	if (options_.selfIsOurs && !options_.copies)
		one("alone", [&] { alone(); });
	one("only who asks is told", [&] { notifications(); });
	one("use once", [&] { useOnce(); });
	one("freed", [&] { freed(); });
	one("cookies in messages", [&] { cookies(); });
	one("60 MiB at once", [&] { manyAtOnce(); });
	if (options_.atomics && !options_.copies)
		one("atomics", [&] { atomics(); });
	return tap.finish();
}

} // namespace

int runRdmaChecks(const RdmaOptions &options)
{
	return Checks(options).run();
}

} // namespace rdstest
