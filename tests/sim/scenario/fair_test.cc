// SPDX-License-Identifier: GPL-2.0
/* Nobody is starved by others: not by those of the same host, nor by who waits for a full port. */
#include <gtest/gtest.h>

#include "check_fair.h"
#include "stage.h"
#include "story.h"
#include "traffic.h"

namespace story
{
namespace
{

constexpr unsigned int kSlots = 6;
constexpr uint64_t kMs = 1000 * 1000;

class Fairness : public ::testing::TestWithParam<uint64_t>
{
protected:
	void SetUp() override
	{
		story::Setup &s = plan_.setup;

		s.seed = GetParam();
		s.slots = kSlots;
		s.verbs = s.seed % 4 == 0;
		s.preempt_per_1000 = s.seed % 2 ? 30 : 0;
		s.addrs = {host::addr4(1), host::addr4(2)};
		s.net.paths = 1u << s.seed % 4;
		s.net.send_window = s.net.recv_window = 3000;
		plan_.there.assign(2, true);
		begin(s);
		stage_ = std::make_unique<Stage>(plan_);
		stage_->watch.on_received = [this, st = stage_.get()](uint32_t flow,
								      uint32_t number) {
			unsigned int from = st->watch.flows[flow].from / kSlots;

			fair_[from].received(flow, number + 1 == count_);
		};
		for (unsigned int slot = 0; slot < 2 * kSlots; slot++) {
			Habits h;

			h.sndbuf = 8 * 1000;
			h.rcvbuf = room_;
			h.event_loop = slot % 2;
			h.edge = slot % 3 == 0;
			stage_->nodes[slot / kSlots]->core()->open(slot % kSlots, h);
		}
	}
	/* From every socket to one of the other host: those of one socket share its buffer, and
	 * who is first there is up to the application. */
	void talk()
	{
		sim::Rng rng(GetParam());

		for (unsigned int from = 0; from < flows_; from++)
			stage_->flow(from, (from + kSlots) % flows_, count_, rng);
	}
	Result end()
	{
		Result r = finish(std::move(stage_));

		EXPECT_EQ(r.complaint, "");
		return r;
	}

	uint32_t room_ = 1 << 20; /* so much that no port is full */
	const uint32_t count_ = 200;
	const unsigned int flows_ = 2 * kSlots;
	Plan plan_;
	check::Fair fair_[2]; /* by sending host */
	std::unique_ptr<Stage> stage_;
};

INSTANTIATE_TEST_SUITE_P(Seeds, Fairness, ::testing::Range<uint64_t>(1, 17));

TEST_P(Fairness, AllHaveMuchToSay)
{
	talk();
	end();
	for (const check::Fair &f : fair_)
		/* Flows that share a path are slower than one that has its own: up to 440 were
		 * seen.  A flow that gets nothing before all others are through waits for 1000. */
		EXPECT_LT(f.worst(), 600u) << "flow " << f.who();
}

/* A sender that waits for a stalled reader gets on once it reads again; nobody else waits. */
TEST_P(Fairness, OneReaderStandsStill)
{
	App *a = stage_->nodes[1]->core()->app(0);

	a->set_stuck(true);
	talk();
	sim::run_for(2000 * kMs);
	EXPECT_EQ(stage_->watch.order.received_count(), (flows_ - 1) * count_);
	a->set_stuck(false);
	end();
}

} // namespace
} // namespace story
