/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gapless.h: memory whose pages lie side by side in the machine, too, for checks of what an adapter
 * is given.
 */
#pragma once

#include "../lib/check.h"
#include "../lib/socket.h"

#include <linux/if_packet.h>
#include <sys/mman.h>

namespace rdstest
{

/* The ring of a packet socket, which hears nothing. */
class Gapless
{
public:
	static constexpr size_t length = 256 << 10;

	Gapless() : fd_(socket(AF_PACKET, SOCK_RAW, 0))
	{
		tpacket_req ring{};

		ring.tp_block_size = length;
		ring.tp_block_nr = 1;
		ring.tp_frame_size = 2048;
		ring.tp_frame_nr = length / ring.tp_frame_size;
		same(setsockopt(fd_, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)), 0, "ring");
		base_ = static_cast<char *>(
			mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
		want(base_ != MAP_FAILED, "mmap of the ring");
	}
	Gapless(const Gapless &) = delete;
	Gapless &operator=(const Gapless &) = delete;
	~Gapless()
	{
		munmap(base_, length);
	}
	char *at() const
	{
		return base_;
	}

private:
	Fd fd_;
	char *base_ = nullptr;
};

} // namespace rdstest
