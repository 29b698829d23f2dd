// SPDX-License-Identifier: GPL-2.0
/*
 * A queue pair's frames, and the private data of a connection: whatever comes and whatever the core
 * refuses on the way, every whole message has its length, every slot comes back, a connection ends
 * once and takes nothing after that.  The core is the scripted one of the unit tests.
 */
#include "fuzz.h"
#include "tests/unit/fake_ib.h"
#include "transports/ib/ib_offer.h"

using fuzz::must;

namespace
{

constexpr int kSkipPort = 0x5151; /* the core wants no payload of it */
constexpr int kBadPort = 0xbad;	  /* the core says that this is no RDS */
constexpr size_t kLengths[] = {0, 1, 47, 4095, 4096, 4097, 8192, 16384, 16385};

/* The byte of bits as it is understood: a number of all ones is none. */
char understood(char bits)
{
	for (int number : {0x0c, 0xf0})
		if ((bits & number) == number)
			bits = static_cast<char>(bits & ~number);
	return bits;
}

void offer(FuzzedDataProvider &in)
{
	struct rds_ib_offer o = {};
	bool v6 = in.ConsumeBool();
	std::string d = in.ConsumeRandomLengthString(64);
	unsigned char back[RDS_IB_OFFER_BYTES_V6];
	unsigned int bytes = v6 ? RDS_IB_OFFER_BYTES_V6 : RDS_IB_OFFER_BYTES_V4;
	size_t common = bytes - 24;

	if (rds_ib_offer_decode(d.data(), static_cast<unsigned int>(d.size()), v6, &o) ||
	    d.size() < bytes || !d[common])
		return;
	must(rds_ib_offer_encode(&o, back) == bytes, "the family stays");
	memset(&d[common + 5], 0, 3);
	d[bytes - 1] = understood(d[bytes - 1]);
	must(!memcmp(back, d.data(), bytes), "nothing is lost of it");
	(void)rds_ib_offer_agree(&o);
	must(o.major == 3 || o.major == 4 || rds_ib_offer_agree(&o), "a version that we speak");
}

/* Headers that are alike, or no message would ever be whole. */
std::string header(FuzzedDataProvider &in)
{
	constexpr uint32_t kLens[] = {0, 5, 4096, 5000, 9000, 1u << 20, ~0u};
	constexpr uint16_t kPorts[] = {0, 3, kSkipPort, kBadPort};
	std::string h = fake_header(in.PickValueInArray(kLens), in.PickValueInArray(kPorts));

	h[23] = static_cast<char>(in.ConsumeIntegralInRange<int>(0, 1));
	h[25] = in.ConsumeIntegral<char>();
	if (in.ConsumeIntegralInRange<int>(0, 15) == 0)
		h[in.ConsumeIntegralInRange<size_t>(0, h.size() - 1)] = in.ConsumeIntegral<char>();
	if (in.ConsumeIntegralInRange<int>(0, 63) == 0)
		h.resize(in.ConsumeIntegralInRange<size_t>(0, h.size()));
	return h;
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzedDataProvider in(data, size);
	struct rds_path path;

	path.skip_port = kSkipPort;
	path.bad_port = kBadPort;
	fake_path = &path;
	offer(in);
	{
		fake_ib::End end(&path);

		const auto credits = in.ConsumeIntegral<uint8_t>();
		bool shut = false;

		end.first_buffers = 4;
		end.params.order = static_cast<uint8_t>((credits >> 2) % (RDS_IB_MOST_ORDER + 1));
		end.up(4, 16, credits);
		rds_ib_link_peer_order(&end.link, credits >> 4);
		if (credits & 1)
			rds_ib_link_peer_ends(&end.link);
		if (credits & 2)
			rds_ib_link_peer_beats(&end.link);
		while (in.remaining_bytes()) {
			bool ended = end.link.state == RDS_IB_LINK_ENDED || end.link.end_heard;
			size_t taken = path.taken.size();
			int refuse = in.ConsumeIntegralInRange<int>(0, 15);

			path.begin_nomem += refuse == 1;
			path.append_nomem += refuse == 2;
			path.incoming_again += refuse == 3;
			if (refuse == 4)
				rds_ib_link_keepalive(&end.link);
			if (refuse == 5)
				end.complete();
			if (refuse == 9)
				(void)rds_ib_link_ask(&end.link);
			if (end.asked_of)
				rds_ib_link_answer(&end.link);
			end.asked_of = 0;
			if (refuse == 7)
				rds_ib_link_heard_all(&end.link);
			end.may_grow = refuse == 8 ? 0 : 1u << (refuse % 8);
			/* The core does so once, of a connection that it has. */
			if (refuse == 6 && !shut && end.drops.empty()) {
				shut = true;
				rds_ib_link_shutdown(&end.link);
			}

			std::string h = header(in);
			bool any = in.ConsumeIntegralInRange<int>(0, 7) == 0;
			uint32_t left = end.link.under_way ? end.link.left : 5;
			size_t n = any ? in.PickValueInArray(kLengths)
				       : std::min<uint32_t>(left, end.link.frame);

			if (end.buffers.empty())
				rds_ib_link_retry(&end.link);
			if (!end.buffers.empty())
				end.arrive(h, std::string(n, 'x'));
			must(!ended || path.taken.size() == taken,
			     "nothing is taken after the end");
			must(end.drops.size() <= 1 && end.drained <= 1, "a connection ends once");
			/* Where no peer answers nothing has ended yet. */
			must(!end.link.ends || end.drops.empty() || !end.drained,
			     "in order or not");
		}
	}
	must(!path.live, "no message is left");
	return 0;
}
