// SPDX-License-Identifier: GPL-2.0
#include "queue_pair.h"

#include "../../progs/lib/result.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

namespace rdstest
{

namespace
{

constexpr unsigned kSends = 256;
/* Room for frames that are too long. */
constexpr size_t kSlot = headerSize + 2 * kFrame;
constexpr uint64_t kReceive = 1ull << 32;
constexpr uint64_t kAccess = 1ull << 33;

template <class T>
T *made(T *what, const char *name)
{
	if (!what)
		fail(name, sys(-1));
	return what;
}

void succeed(int result, const char *name)
{
	/* Some give errno, others say -1 and set it. */
	if (result)
		fail(name, result > 0 ? -result : sys(-1));
}

Frame parsed(std::string bytes)
{
	Frame f;

	f.bytes = std::move(bytes);
	if (f.bytes.size() < headerSize)
		return f;
	f.header = Header::decode(f.bytes.data());
	f.payload = f.bytes.substr(headerSize);
	/* The sum over everything, itself included. */
	f.intact = f.header.checksum && !headerChecksum(f.bytes.substr(0, headerSize));
	return f;
}

} // namespace

std::string frame(Header header, const std::string &payload)
{
	header.checksum = 0;
	header.checksum = headerChecksum(header.encode());
	return header.encode() + payload;
}

std::vector<std::string> message(Header header, const std::string &payload)
{
	std::vector<std::string> frames;
	size_t at = 0;

	header.length = static_cast<uint32_t>(payload.size());
	do {
		frames.push_back(frame(header, payload.substr(at, kFrame)));
		at += kFrame;
	} while (at < payload.size());
	return frames;
}

QueuePair::QueuePair(rdma_cm_id *id, const Rings &rings)
	: rings_(rings), memory_((kSends + std::max(rings.receive, 1u)) * kSlot),
	  pd_(made(ibv_alloc_pd(id->verbs), "ibv_alloc_pd")),
	  mr_(made(ibv_reg_mr(pd_.get(), memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE),
		   "ibv_reg_mr")),
	  channel_(made(ibv_create_comp_channel(id->verbs), "ibv_create_comp_channel")),
	  cq_(made(ibv_create_cq(id->verbs, static_cast<int>(kSends + rings.receive + 2), nullptr,
				 channel_.get(), 0),
		   "ibv_create_cq"))
{
	ibv_qp_init_attr attr = {};

	attr.send_cq = attr.recv_cq = cq_.get();
	attr.cap.max_send_wr = kSends + 1;
	attr.cap.max_recv_wr = std::max(rings.receive, 1u);
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = 1;
	succeed(fcntl(channel_->fd, F_SETFL, O_NONBLOCK), "fcntl");
	succeed(rdma_create_qp(id, pd_.get(), &attr), "rdma_create_qp");
	qp_.reset(id);
	succeed(ibv_req_notify_cq(cq_.get(), 0), "ibv_req_notify_cq");
	buffers(rings.receive);
}

/* Members go in the order that is right. */
QueuePair::~QueuePair() = default;

int QueuePair::fd() const
{
	return channel_->fd;
}

ibv_sge QueuePair::slot(unsigned number, size_t length)
{
	return {reinterpret_cast<uint64_t>(&memory_[number * kSlot]), static_cast<uint32_t>(length),
		mr_->lkey};
}

void QueuePair::completed(const ibv_wc &wc)
{
	if (!(wc.wr_id & (kReceive | kAccess)))
		sending_--;
	if (wc.status != IBV_WC_SUCCESS) {
		if (!error)
			error = wc.status;
		return;
	}
	if (!(wc.wr_id & kReceive))
		return;
	arrived.push_back(parsed({&memory_[(wc.wr_id & ~kReceive) * kSlot], wc.byte_len}));
	if (rings_.again)
		buffers(1);
}

void QueuePair::poll()
{
	ibv_cq *cq;
	void *context;
	ibv_wc wc;

	while (!ibv_get_cq_event(channel_.get(), &cq, &context))
		ibv_ack_cq_events(cq, 1);
	succeed(ibv_req_notify_cq(cq_.get(), 0), "ibv_req_notify_cq");
	while (ibv_poll_cq(cq_.get(), 1, &wc) > 0)
		completed(wc);
}

bool QueuePair::post(const std::string &bytes)
{
	const unsigned number = posted_ % kSends;
	ibv_sge sge = slot(number, bytes.size());
	ibv_send_wr wr = {}, *bad;

	if (error || sending_ == kSends)
		return false;
	std::memcpy(&memory_[number * kSlot], bytes.data(), std::min(bytes.size(), kSlot));
	wr.wr_id = number;
	wr.sg_list = &sge;
	wr.num_sge = bytes.empty() ? 0 : 1;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SOLICITED;
	if (ibv_post_send(qp_->qp, &wr, &bad))
		return false;
	posted_++;
	sending_++;
	return true;
}

void QueuePair::access(uint64_t address, uint32_t rkey, bool read)
{
	ibv_sge sge = slot(0, 64);
	ibv_send_wr wr = {}, *bad;

	wr.wr_id = kAccess;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	wr.wr.rdma.remote_addr = address;
	wr.wr.rdma.rkey = rkey;
	succeed(ibv_post_send(qp_->qp, &wr, &bad), "ibv_post_send");
}

void QueuePair::writeAndTell(uint64_t address, uint32_t rkey, size_t length)
{
	ibv_sge sge = slot(0, length);
	ibv_send_wr wr = {}, *bad;

	wr.wr_id = kAccess;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.wr.rdma.remote_addr = address;
	wr.wr.rdma.rkey = rkey;
	succeed(ibv_post_send(qp_->qp, &wr, &bad), "ibv_post_send");
}

void QueuePair::buffers(unsigned count)
{
	while (count--) {
		const unsigned number = kSends + offered_ % rings_.receive;
		ibv_sge sge = slot(number, headerSize + kFrame);
		ibv_recv_wr wr = {}, *bad;

		wr.wr_id = kReceive | number;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		if (ibv_post_recv(qp_->qp, &wr, &bad))
			return; /* in error: nothing comes any more */
		offered_++;
	}
}

} // namespace rdstest
