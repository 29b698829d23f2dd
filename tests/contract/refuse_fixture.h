/* SPDX-License-Identifier: GPL-2.0 */
/*
 * refuse_fixture.h: two of ours, and sockets between them that read when they are told to.
 */
#ifndef RDS_TESTS_REFUSE_FIXTURE_H
#define RDS_TESTS_REFUSE_FIXTURE_H

#include "world.h"

namespace contract
{

class Refusal : public Contract
{
protected:
	struct Reader {
		std::unique_ptr<host::Socket> at;
		bool reads = false;
	};

	void SetUp() override
	{
		Contract::SetUp();
		for (auto &n : nets)
			rds_net_tunables(n->core())->recv_spill_bytes = 0;
	}
	void TearDown() override
	{
		stop = true;
		sim::run_ready();
		senders.clear();
		froms.clear();
		readers.clear();
		Contract::TearDown();
	}
	/* Another history for each @seed. */
	static void stir(unsigned int seed)
	{
		while (seed--)
			(void)sim::random();
	}
	/* A socket whose hard limit is some messages. */
	void make_reader(std::unique_ptr<host::Socket> at, uint32_t rcvbuf = 40)
	{
		auto r = std::make_unique<Reader>();

		r->at = std::move(at);
		r->at->sock().rcvbuf = rcvbuf;
		readers.push_back(std::move(r));

		Reader *p = readers.back().get();

		sim::spawn("receive", [this, p] {
			while (!stop) {
				sim::wait_until(
					[&] { return stop || (p->reads && p->at->readable()); });
				if (!stop)
					read_one(*p->at);
			}
		});
	}
	void read_one(host::Socket &at)
	{
		if (auto m = at.recv()) {
			auto name = traffic::read(m->data);

			if (name)
				order.received(name->flow, name->number);
			else
				order.complain("corrupt message");
		}
	}
	void flow(std::unique_ptr<host::Socket> from, const struct rds_endpoint &to, uint32_t count,
		  size_t max = 300)
	{
		froms.push_back(std::move(from));
		senders.push_back(std::make_unique<traffic::Sender>(
			traffic::Sender{froms.back().get(), to, flows++, &order, &stop}));

		traffic::Sender *s = senders.back().get();

		sim::spawn("send", [s, count, max] { s->send(count, 16, max); });
		all_ += count;
	}
	void all_read()
	{
		for (auto &r : readers)
			r->reads = true;
	}
	bool all_arrives()
	{
		return sim::run_until(
			[&] { return order.received_count() == all_ && order.complete(); },
			120 * kSecond);
	}
	uint64_t stat(enum rds_stat which)
	{
		return net_a().stat(which) + net_b().stat(which);
	}

	check::Order order;
	std::vector<std::unique_ptr<Reader>> readers;
	std::vector<std::unique_ptr<host::Socket>> froms;
	std::vector<std::unique_ptr<traffic::Sender>> senders;
	uint32_t flows = 0;

private:
	uint64_t all_ = 0;
};

} // namespace contract
#endif
