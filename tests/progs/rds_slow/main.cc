// SPDX-License-Identifier: GPL-2.0
/*
 * rds_slow: calls whose caller's memory answers late, and what others do meanwhile.
 *
 *	rds_slow --tcp ADDR --peer ADDR --nobody ADDR --module rds_rdma.ko
 *
 * Each call that copies to or from its caller's memory (calls.cc, options.cc) is made by a thread,
 * with a buffer that nobody fills in (slow_page.h): it waits in the middle of the copy.  Then
 * another process does everything that a user can do (others.cc), and must come to its end; and
 * then the memory is there, and the call ends as if it had always been.  With uring.cc the same for
 * some of them by io_uring, and what becomes of requests that nobody waits for any more.
 *
 * The peer answers nothing, but a connection to it is up: so all tables have rows.
 */
#include "calls.h"
#include "others.h"
#include "uring_calls.h"

#include "../lib/check.h"
#include "../lib/command_line.h"
#include "../lib/tap.h"

#include <fnmatch.h>
#include <linux/rds.h>

#include <optional>
#include <thread>

using namespace rdstest;

namespace
{

struct Options {
	std::string loop = "127.0.0.1", tcp, peer, nobody, module, only = "*";
	uint32_t seconds = 20;
};

constexpr uint16_t silentPort = 4000;

/* Rows for all tables: sockets, a message that nobody reads, some that nobody acknowledges, and one
 * that cannot leave. */
struct Furniture {
	Furniture(const Places &places, const Address &nobody)
		: unread(bindRds(places.loop)), unacknowledged(bindRds(places.tcp))
	{
		same(sendText(unread, "unread", localAddress(unread)), 6, "a message that waits");
		for (int i = 0; i < 3; ++i)
			same(sendText(unacknowledged, "unacknowledged", places.peer), 14, "send");
		same(sendText(unacknowledged, "unsent", nobody), 6, "a message that stays");
	}
	Fd unread, unacknowledged;
};

class Trial
{
public:
	Trial(const Options &options, const Places &places) : options_(options), places_(places)
	{
	}

	/* Throws Failed. */
	void run(const Call &call)
	{
		Scene scene(places_, call.overTcp);
		std::optional<long> result;

		if (call.before)
			call.before(scene);
		page_.arm(call.kind, call.bytes);
		std::string said;
		{
			std::thread first([&] { result = call.make(scene, page_.get()); });
			if (!page_.isTouched(patience()))
				said = "the call did not wait for its memory";
			else
				said = othersGoOn();
			page_.answer();
			first.join();
		}
		want(said.empty(), said);
		judge(call, *result);
		if (call.after)
			call.after(scene, page_.get());
	}

private:
	std::chrono::milliseconds patience() const
	{
		return std::chrono::seconds(options_.seconds);
	}

	/* Until the memory is there they may wait for the call: so it is answered before they end.
	 */
	std::string othersGoOn()
	{
		Others others(places_, options_.module);
		const std::string said = others.result(patience());

		if (!said.empty())
			page_.answer();
		return said;
	}

	static void judge(const Call &call, long result)
	{
		if (call.wanted == kSomething)
			want(result > 0, "the call: got " + describe(result));
		else
			same(result, call.wanted, "the call");
	}

	const Options &options_;
	const Places &places_;
	SlowPage page_;
};

int run(const Options &options)
{
	const Places places = {Address::parse(options.loop), Address::parse(options.tcp),
			       Address::parse(options.peer, silentPort)};
	const Furniture furniture(places, Address::parse(options.nobody, silentPort));
	Trial trial(options, places);
	Tap tap;

	const auto play = [&](const std::string &name, const std::function<void()> &what) {
		if (fnmatch(options.only.c_str(), name.c_str(), 0) != 0)
			return;
		try {
			what();
			tap.ok(true, name);
		} catch (const std::exception &e) {
			tap.ok(false, name, e.what());
		}
	};

	for (const Call &call : calls(places))
		play(call.name, [&] { trial.run(call); });
	for (const Call &call : uringCalls())
		play(call.name, [&] { trial.run(call); });
	for (const UringCase &one : uringCases())
		play(one.name, [&] { one.run(places); });
	return tap.finish();
}

} // namespace

int main(int argc, char **argv)
{
	Options options;
	CommandLine line("calls whose memory answers late");

	line.option("--loop", options.loop, "an address of loopback");
	line.required("--tcp", options.tcp, "an address of this host, for TCP");
	line.required("--peer", options.peer, "a host that answers nothing, with a connection up");
	line.required("--nobody", options.nobody, "an address that no host has");
	line.required("--module", options.module, "rds_rdma.ko, which comes and goes meanwhile");
	line.option("--only", options.only, "the calls to make, a pattern");
	line.option("--patience", options.seconds, "seconds that the others may take");
	return line.run(argc, argv, [&] { return run(options); });
}
