// SPDX-License-Identifier: GPL-2.0
/*
 * A host boots, and a cluster that has waited for it calls at once, all from one prefix; beside it
 * strangers of hundreds of prefixes connect and close, a hundred thousand in a minute.
 *
 * Hosts of the cluster are whole cores over the simulated streams; half of them call, half knock.
 */
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>

#include <gtest/gtest.h>

#include "sim.h"
#include "stream.h"
#include "transports/loop/loop.h"

namespace
{

constexpr uint64_t kMs = 1000 * 1000, kSecond = 1000 * kMs;
constexpr uint16_t kPort = 5000;
constexpr unsigned int kCluster = 1000, kServer = 500; /* between them: some call, some knock */

/* Connects, stays for a moment, and goes. */
class Visitor final : public tube::User
{
public:
	Visitor(const struct rds_addr &from, const struct rds_addr &to)
		: p_(tube::connect(from, to, 0, this, 40000))
	{
		sim::after(
			5 * kMs, "visitor goes",
			[this] {
				tube::Locked l(p_->end[0]);

				refused = p_->end[0].dead;
				tube::close(p_, 0);
			},
			sim::Context::kProcess);
	}
	void established() override
	{
	}
	void arrived(enum rds_ctx) override
	{
	}
	void acked(uint64_t) override
	{
	}
	void room() override
	{
	}

	bool refused = false;

private:
	tube::Ref p_;
};

struct Host {
	Host(const struct rds_addr &a) : net({a}), addr(a)
	{
		stream::listen(net, {a});
	}
	~Host()
	{
		s.reset();
		stream::stop_listening(net);
	}
	void open(uint16_t port)
	{
		s = std::make_unique<host::Socket>(net);
		ASSERT_EQ(s->bind(host::endpoint(addr, port)), 0);
	}

	host::Net net;
	const struct rds_addr addr;
	std::unique_ptr<host::Socket> s;
};

class Storm : public ::testing::TestWithParam<unsigned int>
{
protected:
	void SetUp() override
	{
		sim::reset({});
		stream::reset();
		ASSERT_EQ(rds_core_init(), 0);
		loop_ = rds_loop_init(&loop_module_);
		ASSERT_EQ(rds_transport_register(loop_), 0);
		ASSERT_EQ(rds_transport_register(stream::ops()), 0);
		server_ = std::make_unique<Host>(host::addr6(kServer));
		server_->open(kPort);
		server_->s->sock().rcvbuf = 1 << 20;
		wild_ = network::add_host({host::addr6(60000)});
	}
	void TearDown() override
	{
		hosts_.clear();
		server_.reset();
		sim::run_for(kSecond);
		visitors_.clear();
		rds_transport_unregister(stream::ops());
		rds_transport_unregister(loop_);
		rds_core_exit();
		stream::reset();
		sim::run_ready();
		EXPECT_EQ(sim::leftovers(), "");
		sim::discard();
	}
	/* A stranger every @ns, each of the next /64. */
	void visit(uint64_t ns)
	{
		if (!storm_)
			return;

		unsigned char b[16] = {0xfc, 0, 0, 0, 0, 0, 0, static_cast<unsigned char>(came_)};
		struct rds_addr a;

		b[14] = static_cast<unsigned char>(came_ >> 16);
		b[15] = static_cast<unsigned char>(came_ >> 8);
		memcpy(&a, b, sizeof(a));
		came_++;
		network::add_addr(wild_, a);
		visitors_.emplace_back(a, server_->addr);
		sim::after(
			ns, "stranger", [this, ns] { visit(ns); }, sim::Context::kProcess);
	}
	unsigned int received()
	{
		while (server_->s->recv())
			received_++;
		return received_;
	}

	struct rds_module loop_module_;
	const struct rds_transport *loop_ = nullptr;
	network::HostId wild_ = 0;
	std::unique_ptr<Host> server_;
	std::vector<std::unique_ptr<Host>> hosts_;
	std::deque<Visitor> visitors_;
	unsigned int came_ = 0, received_ = 0;
	bool storm_ = false;
};

/* Strangers a second. */
INSTANTIATE_TEST_SUITE_P(Rates, Storm, ::testing::Values(0, 1667));

TEST_P(Storm, AClusterComesBackBesideStrangers)
{
	for (unsigned int n = 1; hosts_.size() < kCluster; n++)
		if (n != kServer) {
			hosts_.push_back(std::make_unique<Host>(host::addr6(n)));
			hosts_.back()->open(kPort);
		}
	if (GetParam()) {
		storm_ = true;
		visit(kSecond / GetParam());
		sim::run_for(3 * kSecond); /* all tokens are theirs */
	}

	const uint64_t begun = sim::now_ns();

	for (auto &h : hosts_)
		ASSERT_EQ(h->s->send(host::endpoint(server_->addr, kPort), host::Bytes(64, 0x5a)),
			  0);
	EXPECT_TRUE(sim::run_until([&] { return received() == kCluster; }, 10 * kSecond));

	const auto ms = static_cast<int>((sim::now_ns() - begun) / kMs);
	const auto refused = static_cast<int>(server_->net.stat(RDS_S_conn_call_refused));

	RecordProperty("ms", ms);
	printf("%u strangers a second: %u hosts up after %d ms, %d calls refused\n", GetParam(),
	       received(), ms, refused);
	storm_ = false;
	EXPECT_EQ(refused, 0);
	EXPECT_EQ(server_->net.stat(RDS_S_conn_passive_refused), 0u);
	/* Nothing is left of the strangers, and all of the cluster. */
	EXPECT_TRUE(sim::run_until(
		[&] { return server_->net.stat(RDS_S_conn_stranger_gone) > 0 || !GetParam(); },
		20 * kSecond));
	sim::run_for(20 * kSecond);

	unsigned int n = 0;

	host::info_conns(
		server_->net.core(),
		[](void *arg, const struct rds_conn_info *) {
			++*static_cast<unsigned int *>(arg);
		},
		&n);
	EXPECT_EQ(n, kCluster);
}

} // namespace
