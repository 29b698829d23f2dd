// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that an adapter does not do: their program is told, their messages do not come, and
 * all other messages do. Whether the connection has to do with it the host's counters say.
 */
#include "rdma.h"

#include "../lib/check.h"
#include "../lib/payload.h"
#include "../lib/tap.h"

#include <unistd.h>

namespace rdstest
{

namespace
{

using std::chrono::seconds;

constexpr size_t page = 4096;
/* More than go into any send queue of ours, as each lies over a border of pages. */
constexpr size_t pieces = 1023;

class Alone : private User
{
public:
	using User::User;

	int run();

private:
	void told(int status);

	static void again(const Memory &memory);
	void tooMany();
	void oddAtomic();
	void noAtomics();
};

void Alone::told(int status)
{
	const auto got = notices_.next(seconds(30));

	want(got.has_value(), "no notification");
	same(static_cast<long>(got->token), static_cast<long>(token_), "token");
	same(got->status, status, "status");
	notices_.none();
}

/* One page again and again: none lies behind the one before it, and each is an entry of its own. */
void Alone::again(const Memory &memory)
{
	const Fd file(memfd_create("page", 0));

	same(ftruncate(file, page), 0, "ftruncate");
	for (size_t i = 0; i <= pieces; ++i)
		want(mmap(memory.at(i * page), page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			  file, 0) != MAP_FAILED,
		     "mmap");
}

void Alone::tooMany()
{
	const uint64_t cookie = owner_.map(0, mebibyte);
	const Memory memory((pieces + 1) * page);
	Op op;

	again(memory);
	op.cookie = cookie;
	for (size_t i = 0; i < pieces; ++i)
		op.local.push_back({memory.address((i + 1) * page - 1), 2});
	same(sendOp(fd_, to_, op, ++token_, makePayload(50, 1)), 50, "sendmsg");
	message();
	told(RDS_RDMA_OTHER_ERROR);
}

/* No adapter takes one over a border of 8. */
void Alone::oddAtomic()
{
	same(addTo(owner_.map(0, page), 4), 0, "sendmsg");
	message();
	told(RDS_RDMA_OTHER_ERROR);
}

void Alone::noAtomics()
{
	same(addTo(owner_.map(0, page), 8), -EOPNOTSUPP, "sendmsg");
	message();
}

int Alone::run()
{
	Tap tap;
	const auto one = [&](const std::string &name, void (Alone::*body)()) {
		playRow(tap, name, [&] { (this->*body)(); });
	};

	message();
	one("more pieces than the queue has room for", &Alone::tooMany);
	if (options_.atomics)
		one("an atomic across a border", &Alone::oddAtomic);
	else
		one("an atomic where there are none", &Alone::noAtomics);
	message();
	return tap.finish();
}

} // namespace

int runRdmaAlone(const RdmaOptions &options)
{
	return Alone(options).run();
}

} // namespace rdstest
