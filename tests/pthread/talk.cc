// SPDX-License-Identifier: GPL-2.0
#include "talk.h"

#include <thread>

namespace talk
{
namespace
{

constexpr int kEagain = -11, kEnetdown = -100, kEnetunreach = -101, kEnobufs = -105;

} // namespace

std::atomic<uint64_t> retried;

void check(bool ok, const char *what)
{
	if (!ok)
		pt::fail(what);
}

unsigned int pick(unsigned int n)
{
	return rds_random() % n;
}

void send_blocking(host::Socket &s, const struct rds_endpoint &to,
		   std::span<const unsigned char> data, bool may_fail, uint32_t order)
{
	for (;;) {
		uint32_t seen = s.sock().woken.load();
		int ret = s.send(to, data, pick(2), order);

		if (!ret)
			return;
		if (ret == kEagain) {
			pt::wait_for(s.sock(), [&] { return rds_socket_writable(s.core()); });
		} else if (ret == kEnobufs) {
			/* Woken, it asks again: that it waits was forgotten with the wakeup. */
			pt::wait_for(s.sock(), [&] {
				return s.sock().woken.load() != seen ||
				       !rds_socket_congested(s.core(), &to);
			});
		} else {
			check(may_fail && (ret == kEnetdown || ret == kEnetunreach), "send failed");
			std::this_thread::sleep_for(std::chrono::microseconds(100));
		}
		retried++;
	}
}

host::Received recv_blocking(host::Socket &s)
{
	for (;;) {
		auto r = s.recv();

		if (r)
			return std::move(*r);
		pt::wait_for(s.sock(), [&] { return s.readable(); });
		/* Readable for a notification: it has been read now. */
		rds_socket_cong_notice_done(s.core(), ~0ull);
	}
}

} // namespace talk
