// SPDX-License-Identifier: GPL-2.0
#include "fake_tcp_core.h"

#include <cerrno>

struct rds_path *fake_path;

std::string fake_header(uint32_t len, uint16_t sport)
{
	std::string h(RDS_HEADER_BYTES, '\0');

	for (int i = 0; i < 4; i++)
		h[16 + i] = static_cast<char>(len >> (24 - 8 * i));
	h[20] = static_cast<char>(sport >> 8);
	h[21] = static_cast<char>(sport);
	return h;
}

namespace
{

unsigned int number(const std::string &h, size_t off, size_t bytes)
{
	unsigned int v = 0;

	for (size_t i = 0; i < bytes; i++)
		v = v << 8 | static_cast<unsigned char>(h[off + i]);
	return v;
}

/* True when the script says no this time. */
bool refuse(int &left)
{
	if (!left)
		return false;
	left--;
	fake_path->refused++;
	return true;
}

} // namespace

extern "C" {

int rds_src_copy(const struct rds_src *src, uint32_t off, void *to, uint32_t n)
{
	if (off + n > src->bytes.size())
		abort();
	if (fake_path->copy_error)
		return fake_path->copy_error;
	memcpy(to, src->bytes.data() + off, n);
	return 0;
}

/* fake_ib.cc has its own. */
__attribute__((weak)) void rds_path_drop(struct rds_path *path, enum rds_drop_reason)
{
	path->drops++;
}

int rds_recv_more(struct rds_path *, struct rds_msg *m, struct rds_src *src, uint32_t off,
		  uint32_t n, enum rds_ctx)
{
	if (off + n > src->bytes.size())
		abort();
	if (refuse(fake_path->append_nomem))
		return -ENOMEM;
	if (fake_path->append_error)
		return fake_path->append_error;
	m->payload.bytes += src->bytes.substr(off, n);
	return 0;
}

struct rds_payload *rds_msg_payload(struct rds_msg *m)
{
	return &m->payload;
}

void rds_msg_get(struct rds_msg *m)
{
	m->refs++;
}

void rds_msg_put(struct rds_msg *m)
{
	if (--m->refs)
		return;
	fake_path->live--;
	delete m;
}

int rds_recv_begin(struct rds_path *path, const unsigned char *header, const struct rds_src *src,
		   uint32_t at_hand, enum rds_ctx, struct rds_msg **m)
{
	std::string h(reinterpret_cast<const char *>(header), RDS_HEADER_BYTES);
	int port = static_cast<int>(number(h, 20, 2));

	path->begun_with_src = src != nullptr;
	path->begun_with = at_hand;
	if (refuse(path->begin_nomem))
		return -ENOMEM;
	path->headers.push_back(h);
	/* Then nothing was made, whatever is there. */
	*m = reinterpret_cast<struct rds_msg *>(uintptr_t{1});
	if (port == path->bad_port)
		return -EPROTO;
	if (port == path->skip_port)
		return RDS_RECV_SKIP;
	*m = new rds_msg{h, number(h, 16, 4), {}};
	path->live++;
	return 0;
}

int rds_recv_incoming(struct rds_path *path, struct rds_msg *m)
{
	if (m->payload.bytes.size() != m->len)
		abort();
	if (refuse(path->incoming_again))
		return -EAGAIN;
	path->taken.emplace_back(m->header, m->payload.bytes);
	rds_msg_put(m);
	return 0;
}

} // extern "C"
