// SPDX-License-Identifier: GPL-2.0
#include "peer.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace rdstest
{

using Clock = std::chrono::steady_clock;

namespace
{

constexpr int kResolveMs = 5000;

Patience left(Clock::time_point end)
{
	return std::max(Patience(0), std::chrono::duration_cast<Patience>(end - Clock::now()));
}

rdma_conn_param parameters(const std::string &data, const Peer::Reads &reads)
{
	rdma_conn_param p = {};

	p.private_data = data.data();
	p.private_data_len = static_cast<uint8_t>(data.size());
	p.responder_resources = reads.answered;
	p.initiator_depth = reads.asked;
	p.flow_control = 1;
	p.retry_count = 7;
	p.rnr_retry_count = 7; /* for ever */
	return p;
}

Peer::Terms terms(const rdma_conn_param &p)
{
	return {{p.responder_resources, p.initiator_depth},
		p.retry_count,
		p.rnr_retry_count,
		p.flow_control != 0};
}

} // namespace

Peer::Peer(const Address &own, const Address &host)
	: own_(own.port(0)), host_(host), v6_(own.family() == AF_INET6),
	  channel_(rdma_create_event_channel())
{
	if (!channel_ || fcntl(channel_->fd, F_SETFL, O_NONBLOCK))
		fail("rdma_create_event_channel", sys(-1));
}

Peer::~Peer()
{
	drop();
	beDeaf();
	rdma_destroy_event_channel(channel_);
}

/* ---- waiting ---- */

void Peer::takeEvents()
{
	rdma_cm_event *e;

	while (!rdma_get_cm_event(channel_, &e)) {
		const auto *data = static_cast<const char *>(e->param.conn.private_data);
		Event event = {e->event, e->status, {}, {}};

		switch (e->event) {
		case RDMA_CM_EVENT_CONNECT_REQUEST:
		case RDMA_CM_EVENT_ESTABLISHED:
		case RDMA_CM_EVENT_REJECTED:
			if (data)
				event.data.assign(data, e->param.conn.private_data_len);
			event.terms = rdstest::terms(e->param.conn);
			break;
		case RDMA_CM_EVENT_DISCONNECTED:
			if (e->id == id_)
				ended_ = true;
			break;
		default:
			break;
		}
		if (e->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			requests_.push_back({e->id, event.data, event.terms});
		else if (e->id == id_)
			events_.push_back(event);
		rdma_ack_cm_event(e);
	}
}

/* Takes what happens until the condition holds; false when the time is over. */
bool Peer::step(const std::function<bool()> &done, Patience patience)
{
	const auto end = Clock::now() + patience;

	for (;;) {
		takeEvents();
		if (queue_)
			queue_->poll();
		if (done())
			return true;

		pollfd fds[2] = {{channel_->fd, POLLIN, 0},
				 {queue_ ? queue_->fd() : -1, POLLIN, 0}};
		const Patience rest = left(end);

		if (rest.count() <= 0)
			return false;
		::poll(fds, 2, static_cast<int>(rest.count()));
	}
}

std::optional<Peer::Event> Peer::event(Patience patience)
{
	if (!step([this] { return !events_.empty(); }, patience))
		return std::nullopt;

	const Event event = events_.front();

	events_.pop_front();
	return event;
}

/* ---- to call, and to be called ---- */

/* Address and route.  The adapter may not know an address yet that is new. */
bool Peer::resolve(Patience patience)
{
	const auto end = Clock::now() + patience;
	Address from = own_, to = host_.port(v6_ ? kPortV6 : kPortV4);

	do {
		if (id_)
			rdma_destroy_id(id_);
		id_ = nullptr;
		events_.clear();
		if (rdma_create_id(channel_, &id_, nullptr, RDMA_PS_TCP))
			fail("rdma_create_id", sys(-1));
		if (!rdma_resolve_addr(id_, from.get(), to.get(), kResolveMs)) {
			const auto found = event(left(end));

			if (found && found->type == RDMA_CM_EVENT_ADDR_RESOLVED &&
			    !rdma_resolve_route(id_, kResolveMs)) {
				const auto route = event(left(end));

				if (route && route->type == RDMA_CM_EVENT_ROUTE_RESOLVED)
					return true;
			}
		}
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	} while (Clock::now() < end);
	return false;
}

Peer::Answer Peer::call(const std::string &data, const Rings &rings)
{
	drop();
	if (!resolve(kSoon))
		throw std::runtime_error("no way to the host");
	queue_ = std::make_unique<QueuePair>(id_, rings);

	rdma_conn_param p = parameters(data, reads);

	/* Its end may come together with the answer. */
	ended_ = false;
	if (rdma_connect(id_, &p))
		fail("rdma_connect", sys(-1));

	const auto said = event(kSoon);

	if (!said)
		throw std::runtime_error("the host does not answer");

	const Answer answer = {said->type == RDMA_CM_EVENT_ESTABLISHED, said->data, said->terms,
			       said->status};

	ended_ = ended_ || !answer.accepted;
	return answer;
}

void Peer::listen()
{
	Address at = own_.port(v6_ ? kPortV6 : kPortV4);

	if (rdma_create_id(channel_, &listener_, nullptr, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener_, at.get()) || rdma_listen(listener_, 8))
		fail("rdma_listen at " + at.text(), sys(-1));
}

void Peer::beDeaf()
{
	takeEvents();
	for (const Request &request : requests_)
		rdma_destroy_id(request.id);
	requests_.clear();
	if (listener_)
		rdma_destroy_id(std::exchange(listener_, nullptr));
}

std::optional<std::string> Peer::called(Patience patience)
{
	if (!step([this] { return !requests_.empty(); }, patience))
		return std::nullopt;
	return requests_.front().data;
}

bool Peer::accept(const std::string &data, const Rings &rings)
{
	rdma_conn_param p = parameters(data, reads);

	drop();
	id_ = requests_.front().id;
	requests_.pop_front();
	queue_ = std::make_unique<QueuePair>(id_, rings);
	ended_ = false;
	if (rdma_accept(id_, &p))
		return false;

	const auto said = event(kSoon);
	const bool up = said && said->type == RDMA_CM_EVENT_ESTABLISHED;

	ended_ = ended_ || !up;
	return up;
}

void Peer::reject(const std::string &data)
{
	rdma_cm_id *id = requests_.front().id;

	requests_.pop_front();
	rdma_reject(id, data.data(), static_cast<uint8_t>(data.size()));
	rdma_destroy_id(id);
}

void Peer::drop()
{
	queue_.reset();
	if (id_)
		rdma_destroy_id(std::exchange(id_, nullptr));
	events_.clear();
	ended_ = true;
}

void Peer::hangUp()
{
	if (id_ && !ended_) {
		rdma_disconnect(id_);
		step([this] { return ended_; }, kSoon);
	}
	drop();
}

void Peer::vanish()
{
	queue_.reset();
}

/* ---- a connection ---- */

bool Peer::send(const std::string &bytes)
{
	bool posted = false;

	step(
		[&] {
			posted = !ended_ && queue_->post(bytes);
			return posted || ended_ || queue_->error;
		},
		kSoon);
	return posted;
}

bool Peer::send(const std::vector<std::string> &frames)
{
	return std::all_of(frames.begin(), frames.end(),
			   [this](const std::string &bytes) { return send(bytes); });
}

bool Peer::settle(Patience patience)
{
	step([this] { return !queue_->sending() || ended_ || queue_->error; }, patience);
	return !queue_->sending() && !queue_->error;
}

std::optional<Frame> Peer::receive(Patience patience)
{
	step([this] { return !queue_->arrived.empty() || ended_ || queue_->error; }, patience);
	if (queue_->arrived.empty())
		return std::nullopt;

	const Frame f = queue_->arrived.front();

	queue_->arrived.pop_front();
	frames++;
	broken += !f.intact;
	return f;
}

std::optional<Frame> Peer::receive(const std::function<bool(const Frame &)> &wanted,
				   Patience patience)
{
	const auto end = Clock::now() + patience;

	while (const auto f = receive(left(end))) {
		if (wanted(*f))
			return f;
	}
	return std::nullopt;
}

bool Peer::ended(Patience patience)
{
	return step([this] { return ended_; }, patience);
}

bool Peer::open()
{
	step([] { return true; }, Patience(0));
	return !ended_ && !queue_->error;
}

} // namespace rdstest
