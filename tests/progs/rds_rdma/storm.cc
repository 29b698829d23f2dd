// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of all kinds, several at a time, until the input ends; whatever happens to connections
 * and adapters meanwhile. Then the account: each that asked was told once, what was told to be done
 * was done, and its message came.
 *
 * The owner's memory is two MiB: of the first the parts are written to, of the second they are
 * read.
 */
#include "rdma.h"

#include "../lib/check.h"
#include "../lib/payload.h"

#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <map>

namespace rdstest
{

namespace
{

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t readSeed = 99;

/* A piece of memory that one operation at a time uses. */
struct Slot {
	bool busy = false, write = false;
	uint64_t number = 0; /* of the operation */
	uint32_t length = 0;
	/* The data written last and known to be there. */
	bool known = false;
	uint64_t knownSeed = 0;
	uint32_t knownLength = 0;
};

class Storm
{
public:
	explicit Storm(const RdmaOptions &options)
		: options_(options), fd_(bindRds(options.self.port(options.port))), notices_(fd_),
		  owner_(options, fd_), to_(options.peer.port(options.port)),
		  part_(mebibyte / options.depth / 4096 * 4096), ours_(mebibyte),
		  slots_(options.depth)
	{
	}

	int run();

private:
	size_t place(const Slot &slot) const
	{
		return static_cast<size_t>(&slot - slots_.data()) * part_;
	}
	void askWhatCame();
	void mapAll();
	void begin(Slot &slot);
	void ended(const Status &told);
	bool takeOne(milliseconds timeout);
	void freeInUse();
	void drain();
	void judge();

	const RdmaOptions &options_;
	Fd fd_;
	Notices notices_;
	Owner owner_;
	Address to_;
	size_t part_;
	Memory ours_;
	std::vector<Slot> slots_;
	Random random_{4711};
	uint64_t writable_ = 0, readable_ = 0;
	uint64_t next_ = 1, freed_ = 0;
	uint64_t strangers_ = 0, wrong_ = 0;
	std::array<uint64_t, 5> statuses_{};
	std::map<uint64_t, int> done_;	    /* operation -> status */
	std::map<uint64_t, uint64_t> seen_; /* its message -> times */
	bool mapAgain_ = false;
	bool storming_ = false;
};

/* Messages since this was asked last; the owner obeys again. */
void Storm::askWhatCame()
{
	const auto said = owner_.numbers("END");

	for (size_t i = 0; i + 1 < said.size(); i += 2)
		seen_[static_cast<uint64_t>(said[i])] += static_cast<uint64_t>(said[i + 1]);
}

void Storm::mapAll()
{
	if (storming_)
		askWhatCame();
	writable_ = owner_.map(0, mebibyte);
	readable_ = owner_.map(mebibyte, mebibyte);
	owner_.ask("STORM");
	storming_ = true;
	mapAgain_ = false;
}

void Storm::begin(Slot &slot)
{
	Op op;
	const std::string text(reinterpret_cast<const char *>(&next_), sizeof(next_));

	slot.write = random_.below(2);
	slot.number = next_;
	slot.length =
		1 + static_cast<uint32_t>(random_.below(std::min<size_t>(part_, options_.largest)));
	op.write = slot.write;
	op.cookie = slot.write ? writable_ : readable_;
	op.at = place(slot);
	op.local = {{ours_.address(place(slot)), slot.length}};
	if (random_.below(3) == 0)
		op.flags |= RDS_RDMA_FENCE;
	if (slot.write)
		fillPayload(ours_.at(place(slot)), slot.length, next_);
	const long result = sendOp(fd_, to_, op, next_, text);
	if (result == -EAGAIN)
		return; /* its queue is full */
	same(result, sizeof(next_), "sendmsg");
	slot.busy = true;
	slot.known = slot.known && !slot.write;
	next_++;
}

void Storm::ended(const Status &told)
{
	for (Slot &slot : slots_) {
		if (!slot.busy || slot.number != told.token)
			continue;
		slot.busy = false;
		statuses_.at(static_cast<size_t>(told.status))++;
		done_[told.token] = told.status;
		if (told.status != RDS_RDMA_SUCCESS) {
			mapAgain_ = mapAgain_ || told.status == RDS_RDMA_REMOTE_ERROR;
		} else if (slot.write) {
			slot.known = true;
			slot.knownSeed = slot.number;
			slot.knownLength = slot.length;
		} else {
			const std::string all = makePayload(mebibyte, readSeed);

			wrong_ += all.compare(place(slot), slot.length, ours_.at(place(slot)),
					      slot.length) != 0;
		}
		return;
	}
	strangers_++; /* nobody asked, or for the second time */
}

bool Storm::takeOne(milliseconds timeout)
{
	const auto told = notices_.next(timeout);

	if (told)
		ended(*told);
	return told.has_value();
}

void Storm::drain()
{
	const auto busy = [&] {
		return std::any_of(slots_.begin(), slots_.end(),
				   [](const Slot &s) { return s.busy; });
	};

	while (busy())
		want(takeOne(seconds(60)), "an operation of which nothing is told");
	while (takeOne(milliseconds(50)))
		;
}

/* By a message, which comes behind some operations and before others. */
void Storm::freeInUse()
{
	const uint64_t which = freeing | writable_;

	freed_ = next_ / options_.freeEvery;
	(void)sendBytes(fd_, &which, sizeof(which), {.to = &to_});
}

/* The owner knows which messages came. */
void Storm::judge()
{
	uint64_t missing = 0, repeated = 0, bad = 0;
	const auto wanted =
		static_cast<uint64_t>(std::count_if(done_.begin(), done_.end(), [](const auto &d) {
			return d.second == RDS_RDMA_SUCCESS;
		}));
	const bool all = eventually(
		[&] {
			askWhatCame();
			owner_.ask("STORM");
			missing = 0;
			for (const auto &[number, status] : done_)
				missing += status == RDS_RDMA_SUCCESS && !seen_.count(number);
			return !missing;
		},
		seconds(30));
	owner_.ask("END");
	for (const auto &[number, times] : seen_)
		repeated += times > 1;
	for (const Slot &slot : slots_) {
		if (slot.known) {
			try {
				owner_.ask("CHECK " + std::to_string(place(slot)) + " " +
					   std::to_string(slot.knownLength) + " " +
					   std::to_string(slot.knownSeed));
			} catch (const Failed &) {
				bad++;
			}
		}
	}
	std::cout << nlohmann::json{{"operations", next_ - 1},
				    {"told", done_.size()},
				    {"success", wanted},
				    {"remote_error", statuses_[RDS_RDMA_REMOTE_ERROR]},
				    {"canceled", statuses_[RDS_RDMA_CANCELED]},
				    {"dropped", statuses_[RDS_RDMA_DROPPED]},
				    {"other_error", statuses_[RDS_RDMA_OTHER_ERROR]},
				    {"told_twice", strangers_},
				    {"read_wrong", wrong_},
				    {"written_wrong", bad},
				    {"messages", seen_.size()},
				    {"missing", missing},
				    {"repeated", repeated},
				    {"clean", all && done_.size() == next_ - 1 && !strangers_ &&
						      !wrong_ && !bad && !repeated}}
		  << std::endl;
}

int Storm::run()
{
	owner_.ask("FILL " + std::to_string(mebibyte) + " " + std::to_string(mebibyte) + " " +
		   std::to_string(readSeed));
	same(sendText(fd_, makePayload(8, 1), to_), 8, "first message");
	owner_.ask("RECV 8 1");
	mapAll();
	std::cout << "storming" << std::endl;
	while (!waitFor(STDIN_FILENO, POLLIN | POLLHUP, milliseconds(0))) {
		if (mapAgain_) {
			drain();
			mapAll();
		}
		for (Slot &slot : slots_)
			if (!slot.busy)
				begin(slot);
		if (options_.freeEvery && next_ / options_.freeEvery != freed_)
			freeInUse();
		takeOne(seconds(1));
	}
	drain();
	judge();
	return 0;
}

} // namespace

int runRdmaStorm(const RdmaOptions &options)
{
	return Storm(options).run();
}

} // namespace rdstest
