// SPDX-License-Identifier: GPL-2.0
/*
 * Stream framing: cut at any byte and refused at any step, a stream gives the headers and messages
 * that a second, plainer reading of the whole finds in it.  The core is the scripted one of the
 * unit tests.
 */
#include "fuzz.h"
#include "tests/unit/fake_tcp_core.h"

using fuzz::must;

namespace
{

constexpr int kSkipPort = 0x5151; /* the core wants no payload of it */
constexpr int kBadPort = 0xbad;	  /* the core says that this is no RDS */

struct Reading {
	std::vector<std::string> headers;
	std::vector<std::pair<std::string, std::string>> taken;
	bool broken = false;
	size_t header_left = RDS_HEADER_BYTES;
	size_t payload_left = 0;
};

size_t number(const std::string &h, size_t off, size_t bytes)
{
	size_t v = 0;

	for (size_t i = 0; i < bytes; i++)
		v = v << 8 | static_cast<unsigned char>(h[off + i]);
	return v;
}

Reading read_whole(const std::string &all)
{
	Reading r;

	for (size_t at = 0;;) {
		if (all.size() - at < RDS_HEADER_BYTES) {
			r.header_left = RDS_HEADER_BYTES - (all.size() - at);
			return r;
		}

		std::string h = all.substr(at, RDS_HEADER_BYTES);
		size_t len = number(h, 16, 4);
		int port = static_cast<int>(number(h, 20, 2));

		r.headers.push_back(h);
		at += RDS_HEADER_BYTES;
		if (port == kBadPort) {
			r.broken = true;
			return r;
		}
		if (all.size() - at < len) {
			r.header_left = 0;
			r.payload_left = len - (all.size() - at);
			return r;
		}
		if (port != kSkipPort)
			r.taken.emplace_back(h, all.substr(at, len));
		at += len;
	}
}

/* Gives @piece to the frame until it is taken: false when the frame says that it is broken. */
bool feed(struct rds_tcp_frame &f, const std::string &piece)
{
	for (size_t at = 0;;) {
		struct rds_src src = {piece};
		uint32_t used = 0, left = static_cast<uint32_t>(piece.size() - at);
		int refused = fake_path->refused;
		int status = rds_tcp_frame_feed(&f, &src, static_cast<uint32_t>(at), left,
						RDS_ATOMIC, &used);

		must(used <= left, "it takes no more than there is");
		at += used;
		if (!status) {
			must(at == piece.size(), "without a reason it takes all");
			return true;
		}
		if (status == -EPROTO)
			return false;
		must(status == -EAGAIN && fake_path->refused == refused + 1,
		     "it stops because the core refused");
		/* As the worker: first without new bytes. */
		status = rds_tcp_frame_feed(&f, nullptr, 0, 0, RDS_MAY_SLEEP, &used);
		must(!used, "nothing is taken from nothing");
		if (status == -EPROTO)
			return false;
	}
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzedDataProvider in(data, size);
	struct rds_path path;
	struct rds_tcp_frame f;
	bool works = true;
	std::string cuts;

	for (size_t n = in.ConsumeIntegralInRange<size_t>(0, 32); n; n--)
		cuts.push_back(in.ConsumeIntegral<char>());

	std::string all = in.ConsumeRemainingBytesAsString();
	size_t at = 0;

	path.skip_port = kSkipPort;
	path.bad_port = kBadPort;
	fake_path = &path;
	rds_tcp_frame_init(&f, &path);
	for (char c : cuts) {
		size_t n = std::min<size_t>(all.size() - at, static_cast<unsigned char>(c) & 0x3f);

		/* The two upper bits: who refuses next. */
		path.begin_nomem += (c & 0xc0) == 0x40;
		path.append_nomem += (c & 0xc0) == 0x80;
		path.incoming_again += (c & 0xc0) == 0xc0;
		works = works && feed(f, all.substr(at, n));
		at += n;
	}
	works = works && feed(f, all.substr(at));

	Reading whole = read_whole(all);

	must(works == !whole.broken, "broken exactly if the stream is");
	must(path.headers == whole.headers, "the same headers");
	must(path.taken == whole.taken, "the same messages");
	if (works) {
		must(rds_tcp_frame_header_left(&f) == whole.header_left, "what the header lacks");
		must(rds_tcp_frame_payload_left(&f) == whole.payload_left,
		     "what the message lacks");
	}
	rds_tcp_frame_reset(&f);
	must(!path.live, "no message is left");
	return 0;
}
