// SPDX-License-Identifier: GPL-2.0
#include "call.h"

#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "../lib/text.h"

namespace rdstools
{

namespace
{

constexpr std::uint16_t port_v4 = 18634, port_v6 = 16385;
/* An address that nobody has answered for in this time is told as one that nobody has. */
constexpr int resolve_limit_ms = 1000;
/* Why a request was rejected (InfiniBand specification, volume 1, 12.6.7.2): nobody listens for
 * it; a listener, RDS, does not want it. */
constexpr int invalid_service_id = 8, consumer_reject = 28;

/* A request for a connection (docs/wire.md) of version 255.255: every RDS refuses it. One of
 * version 0, or without any data, mainline would take for 4.0. */
std::vector<std::uint8_t> impossible_offer(const Ends &ends)
{
	const bool v4 = ends.local.family() == AF_INET;
	const std::size_t each = v4 ? 4 : 16, common = 24;
	std::vector<std::uint8_t> offer(2 * each + common);
	const in6_addr local = ends.local.bytes(), remote = ends.remote.bytes();

	std::memcpy(offer.data(), local.s6_addr + 16 - each, each);
	std::memcpy(offer.data() + each, remote.s6_addr + 16 - each, each);
	offer[2 * each] = offer[2 * each + 1] = 0xff;
	return offer;
}

struct DestroyId {
	void operator()(rdma_cm_id *id) const
	{
		rdma_destroy_id(id);
	}
};

struct DestroyChannel {
	void operator()(rdma_event_channel *channel) const
	{
		rdma_destroy_event_channel(channel);
	}
};

struct RdmaCall {
	const Call *call;
	std::unique_ptr<rdma_cm_id, DestroyId> id;
};

using Channel = std::unique_ptr<rdma_event_channel, DestroyChannel>;

/* Only where the device is: to ask for it elsewhere would load rdma_ucm. */
Channel open_channel()
{
	if (access("/dev/infiniband/rdma_cm", R_OK | W_OK))
		return {};
	Channel channel(rdma_create_event_channel());
	if (channel && fcntl(channel->fd, F_SETFL, O_NONBLOCK))
		channel.reset();
	return channel;
}

/* Asks for the address of the peer's device; false: there is no call of this peer. */
bool begin(RdmaCall &rdma, rdma_event_channel *channel)
{
	Ends ends = rdma.call->ends;
	rdma_cm_id *id = nullptr;
	/* librdmacm has no const. */
	auto sa_of = [](const Address &a) { return const_cast<sockaddr *>(a.sa()); };

	if (rdma_create_id(channel, &id, &rdma, RDMA_PS_TCP))
		return false;
	rdma.id.reset(id);
	ends.remote.set_port(ends.remote.family() == AF_INET ? port_v4 : port_v6);
	return !rdma_resolve_addr(id, sa_of(ends.local), sa_of(ends.remote), resolve_limit_ms);
}

bool connect(const RdmaCall &rdma)
{
	const std::vector<std::uint8_t> offer = impossible_offer(rdma.call->ends);
	rdma_conn_param request = {};

	request.private_data = offer.data();
	request.private_data_len = static_cast<std::uint8_t>(offer.size());
	return !rdma_connect(rdma.id.get(), &request);
}

/* Takes a call one step on; true: it has ended. */
bool advance(const RdmaCall &rdma, rdma_cm_event_type event, int status,
	     std::map<Callee, Called> &found)
{
	const Callee &callee = rdma.call->callee;

	switch (event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return rdma_resolve_route(rdma.id.get(), resolve_limit_ms) != 0;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (!connect(rdma))
			return true;
		found[callee] = Called::silent;
		return false;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		found[callee] = Called::unreachable;
		return true;
	case RDMA_CM_EVENT_REJECTED:
		if (status == invalid_service_id)
			found[callee] = Called::refused;
		else if (status == consumer_reject)
			found[callee] = Called::answered;
		return true;
	default:
		return true;
	}
}

} // namespace

void call_over_rdma(const std::vector<Call> &calls, std::map<Callee, Called> &found)
{
	const Channel channel = calls.empty() ? Channel() : open_channel();
	const std::uint64_t end = now_ns() + call_limit_ns;
	std::vector<RdmaCall> under_way(calls.size());
	std::size_t left = 0;

	if (!channel)
		return;
	for (std::size_t i = 0; i < calls.size(); ++i) {
		under_way[i].call = &calls[i];
		left += begin(under_way[i], channel.get());
	}
	while (left && now_ns() < end) {
		pollfd fd = {channel->fd, POLLIN, 0};
		rdma_cm_event *event = nullptr;

		if (poll(&fd, 1, static_cast<int>((end - std::min(end, now_ns())) / 1000000) + 1) <
		    0)
			return;
		if (rdma_get_cm_event(channel.get(), &event))
			continue;
		const RdmaCall &rdma = *static_cast<RdmaCall *>(event->id->context);
		const auto kind = event->event;
		const int status = event->status;

		/* An identifier with events that are not acknowledged cannot be destroyed. */
		rdma_ack_cm_event(event);
		left -= advance(rdma, kind, status, found);
	}
}

} // namespace rdstools
