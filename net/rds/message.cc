// SPDX-License-Identifier: GPL-2.0
#include "message.h"

#include "bug.h"
#include "transport.h"

namespace rds
{

Message *message_alloc(uint32_t len, enum rds_ctx ctx)
{
	uint32_t bytes = sizeof(Message) + (len ? rds_payload_footprint(len) : 0);
	void *p = rds_alloc_msg(bytes, ctx);

	return p ? new (p) Message(len, bytes) : nullptr;
}

Message *message_create(uint32_t len, enum rds_ctx ctx)
{
	return message_collect(len, nullptr, len, ctx);
}

Message *message_collect(uint32_t len, const struct rds_src *src, uint32_t at_hand,
			 enum rds_ctx ctx)
{
	Message *m = message_alloc(len, ctx);

	if (m && len && rds_payload_init(m->payload(), len, src, at_hand, ctx)) {
		message_free_raw(m);
		return nullptr;
	}
	return m;
}

Status message_lend(Message &m, uint32_t cookie)
{
	auto *note = create<ZcopyNote>(may_sleep());

	if (!note)
		return Status::fail(err::kEnomem);
	note->cookie = cookie;
	m.lent = PinnedPages(note);
	m.has = MsgHas::kZcopy;
	return {};
}

ZcopyNote *message_complete(Message &m)
{
	if (bug_on(!m.zcopy(), "lent pages are given back twice"))
		return nullptr;
	m.has = MsgHas::kNothing;
	return m.lent.note_;
}

void message_forget_pages(Message &m)
{
	bug_on(m.sock != nullptr, "a sender waits for pages that nobody gives back");
	rds_free(m.lent.note_);
}

void message_free_raw(Message *m)
{
	if (RDS_UNLIKELY(m->zcopy()))
		message_forget_pages(*m);
	rds_free(m);
}

static void free_more(Message &m)
{
	if (m.zcopy())
		message_forget_pages(m);
	else if (m.has == MsgHas::kAssembly)
		assembly_left(m);
	else if (m.has == MsgHas::kSpilled)
		spill_left(m);
	else
		msg_rdma_free(m.rdma_side);
}

/* Drops a reference; true: it was the last, and nothing but the raw memory is left. */
static bool message_let_go(Message *m)
{
	if (!m->refs.put() || bug_on_hot(m->path_link.linked() || m->recv_link.linked(),
					 "a message is freed that is queued"))
		return false;
	if (m->len)
		rds_payload_destroy(m->payload());
	if (RDS_UNLIKELY(m->has != MsgHas::kNothing))
		free_more(*m);
	return true;
}

void message_put(Message *m)
{
	if (message_let_go(m))
		rds_free(m);
}

void MessageBin::put(Message *m)
{
	if (!message_let_go(m))
		return;
	raw_[n_++] = m;
	if (n_ == kMany)
		empty();
}

void MessageBin::empty()
{
	/* One by itself costs less than a row of one. */
	if (n_ == 1)
		rds_free(raw_[0]);
	else if (n_)
		rds_free_many(n_, raw_);
	n_ = 0;
}

uint32_t message_cost(uint32_t len, bool lent)
{
	const uint32_t bytes = sizeof(Message);

	if (!len)
		return bytes;
	return bytes + (RDS_UNLIKELY(lent) ? rds_payload_footprint(len) : rds_payload_memory(len));
}

void message_charge_payload(Message &m)
{
	if (m.len)
		m.charge += rds_payload_truesize(m.payload());
}

} // namespace rds

using rds::message_put;

extern "C" {

const unsigned char *rds_msg_header(const struct rds_msg *m)
{
	return reinterpret_cast<const unsigned char *>(&m->hdr);
}

uint32_t rds_msg_len(const struct rds_msg *m)
{
	return m->len;
}

struct rds_payload *rds_msg_payload(struct rds_msg *m)
{
	return m->payload();
}

void rds_msg_get(struct rds_msg *m)
{
	m->refs.get();
}

void rds_msg_put(struct rds_msg *m)
{
	message_put(m);
}

} // extern "C"
