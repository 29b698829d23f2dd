// SPDX-License-Identifier: GPL-2.0
#include "lonely.h"

#include "net/rds/limits.h"
#include "net/rds/wire.h"
#include "sim.h"
#include "transports/tcp/tcp_frame.h"
#include "wire.h"

namespace scale
{
namespace
{

using rds::wire::Header;

constexpr uint64_t kDelayNs = 5000;
constexpr uint32_t kGeneration = 77;

struct Lonely {
	struct rds_path *path;
	struct rds_tcp_frame frame;
	bool up = false;
	uint64_t next_seq = 1;
};

bool silent, full;

void feed(Lonely &w, const void *data, size_t len)
{
	struct rds_src src;
	uint32_t used = 0;

	src.data = static_cast<const unsigned char *>(data);
	src.len = static_cast<uint32_t>(len);
	if (rds_tcp_frame_feed(&w.frame, &src, 0, src.len, RDS_ATOMIC, &used) || used != len)
		sim::fail("what the peer says is refused");
}

void acknowledge(Lonely &w, uint64_t seq)
{
	Header h;

	rds::wire::encode_control(h);
	rds::wire::put64(h.ack, seq);
	feed(w, &h, sizeof(h));
}

void *path_alloc(struct rds_path *path)
{
	void *mem = rds_alloc(sizeof(Lonely), RDS_MAY_SLEEP);

	if (!mem)
		return nullptr;

	auto *w = new (mem) Lonely;

	w->path = path;
	rds_tcp_frame_init(&w->frame, path);
	return w;
}

void path_free(void *tp)
{
	rds_free(tp);
}

int midway(const void *)
{
	return 0;
}

int initiates(const void *)
{
	return 1;
}

int connect(void *tp)
{
	auto *w = static_cast<Lonely *>(tp);

	sim::after(kDelayNs, "up", [w] {
		Header h;

		w->up = true;
		rds_path_connected(w->path);
		rds::wire::encode_hello(
			h, {kGeneration, rds::wire::kCapDeliveryAck | rds::wire::kCapRefuse});
		feed(*w, &h, sizeof(h));
	});
	return 0;
}

int adopt(void *, void *)
{
	return -1;
}

void shutdown(void *tp)
{
	rds_path_drained(static_cast<Lonely *>(tp)->path);
}

void close(void *tp)
{
	auto *w = static_cast<Lonely *>(tp);

	w->up = false;
	rds_tcp_frame_reset(&w->frame);
}

long xmit(void *tp, const struct rds_xmit *x)
{
	auto *w = static_cast<Lonely *>(tp);
	uint64_t last = 0;
	long bytes = 0;

	if (full)
		return 0;
	for (unsigned int i = 0; i < x->n; i++) {
		const auto *h = reinterpret_cast<const Header *>(rds_msg_header(x->msgs[i]));

		last = std::max<uint64_t>(last, rds::wire::get64(h->sequence));
		bytes += RDS_HEADER_BYTES + rds_msg_len(x->msgs[i]);
	}
	if (last && !silent)
		sim::after(kDelayNs, "ack", [w, last] {
			if (w->up)
				acknowledge(*w, last);
		});
	return bytes;
}

} // namespace

const struct rds_transport *lonely_ops()
{
	static struct rds_transport table = *wire_ops();

	table.caps = RDS_CAP_PREFER_LOOP | RDS_CAP_DELIVERY_ACK;
	table.path_alloc = path_alloc;
	table.path_free = path_free;
	table.midway = midway;
	table.initiates = initiates;
	table.connect = connect;
	table.adopt = adopt;
	table.shutdown = shutdown;
	table.close = close;
	table.xmit = xmit;
	return &table;
}

void lonely_silence(bool on)
{
	silent = on;
}

void lonely_room(bool on)
{
	full = !on;
}

void lonely_refuse(struct rds_path *path, uint16_t port, uint64_t number)
{
	static uint32_t epoch;
	Header h;

	rds::wire::encode_refusal(h, {.what = rds::wire::Ext::kRefused,
				      .port = port,
				      .epoch = ++epoch,
				      .number = number});
	feed(*static_cast<Lonely *>(rds_path_priv(path)), &h, sizeof(h));
}

void lonely_map(struct rds_path *path, uint16_t port)
{
	auto *w = static_cast<Lonely *>(rds_path_priv(path));
	std::vector<unsigned char> bits(rds::kCongMapBytes);
	Header h;

	if (port)
		bits[port / 8] |= static_cast<unsigned char>(1 << port % 8);
	rds::wire::encode(h, rds::kCongMapBytes, 0, 0, rds::wire::kCongBitmap);
	feed(*w, &h, sizeof(h));
	feed(*w, bits.data(), bits.size());
}

} // namespace scale
