// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages and socket options: net/linux/cmsg*.c and sockopt.c, unchanged, on a scripted
 * core and on user memory that may end anywhere.  Nothing beyond a buffer is read or written (that
 * is AddressSanitizer's part), every answer is the one that a second, plainer reading of rds(7)
 * gives, and a call that fails changes nothing.
 */
#include <cstring>

#include "options_core.h"

using fuzz::must;

namespace
{

struct Both {
	struct rds_sock glue;
	struct rds_socket core;
};
static_assert(offsetof(Both, core) == sizeof(struct rds_sock));

class Harness final
{
public:
	explicit Harness(FuzzedDataProvider &in) : in_(in)
	{
		b_.core.transport = RDS_TRANS_NONE;
		sock_.sk = &b_.glue.sk;
	}
	void run();

private:
	void set_option();
	int model(int name, const unsigned char *p, size_t room, unsigned int len);
	int model_int(int &to, const unsigned char *p, size_t room, unsigned int len);
	int model_cancel(const unsigned char *p, size_t room, unsigned int len);
	int model_reset(const unsigned char *p, size_t room, size_t bytes);
	int model_trace(const unsigned char *p, size_t room, unsigned int len);
	int model_mr(int name, const unsigned char *p, size_t room, unsigned int len);
	void get_option();
	void recv_query();
	void send_cmsgs();
	void check_sent(struct msghdr &msg, const struct rds_send_cmsgs &out);
	void apply(struct rds_send_cmsgs &out);
	void recv_cmsgs();

	FuzzedDataProvider &in_;
	std::set<uint64_t> known_; /* regions before a call */
	Both b_ = {};
	struct socket sock_ = {};
};

constexpr int kNames[] = {RDS_CANCEL_SENT_TO,
			  RDS_GET_MR,
			  RDS_FREE_MR,
			  4,
			  RDS_RECVERR,
			  RDS_CONG_MONITOR,
			  RDS_GET_MR_FOR_DEST,
			  SO_RDS_TRANSPORT,
			  9,
			  SO_RDS_MSG_RXPATH_LATENCY,
			  SO_TIMESTAMP_OLD,
			  SO_TIMESTAMP_NEW,
			  RDS_INFO_COUNTERS,
			  RDS_INFO_LAST,
			  RDS_RECV_QUERY,
			  RDS_ORDER,
			  RDS_RECV_BATCH,
			  SO_RDS_INQ,
			  RDS6_CONN_RESET,
			  0,
			  -1};
constexpr unsigned int kLengths[] = {0,	 1,  3,	 4,  5,	 7,   8,   12,	      15,
				     16, 27, 28, 32, 36, 128, 144, 0xffffffff};

int Harness::model_int(int &to, const unsigned char *p, size_t room, unsigned int len)
{
	if (len < sizeof(int))
		return -EINVAL;
	if (room < sizeof(int))
		return -EFAULT;
	memcpy(&to, p, sizeof(int));
	return 0;
}

int Harness::model_cancel(const unsigned char *p, size_t room, unsigned int len)
{
	size_t want = len < 28 ? 16 : 28;
	struct rds_endpoint to = {};
	auto *bytes = reinterpret_cast<unsigned char *>(&to.addr);
	sa_family_t family;

	if (!b_.core.bound)
		return -ENOTCONN;
	if (len && len < 16)
		return -EINVAL;
	if (len && room < want)
		return -EFAULT;
	must(b_.core.cancelled, "it was cancelled");
	if (!len) {
		must(!b_.core.cancelled_to.port, "all of it");
		return 0;
	}
	memcpy(&family, p, sizeof(family));
	to.port = static_cast<uint16_t>(p[2] << 8 | p[3]);
	if (want == 16 || family == AF_INET) {
		bytes[10] = bytes[11] = 0xff;
		memcpy(bytes + 12, p + 4, 4);
	} else {
		memcpy(bytes, p + 8, 16);
	}
	must(!memcmp(&to.addr, &b_.core.cancelled_to.addr, 16) &&
		     to.port == b_.core.cancelled_to.port,
	     "what went there");
	return 0;
}

/* A type of service, and two addresses behind it. */
int Harness::model_reset(const unsigned char *p, size_t room, size_t bytes)
{
	struct reset want = {};
	const size_t each = (bytes - 4) / 2;
	auto read = [&](struct rds_addr &to, const unsigned char *from, bool any) {
		auto *at = reinterpret_cast<unsigned char *>(&to);

		if (any && !from[0] && !from[1] && !from[2] && !from[3] && each == 4)
			return;
		if (each == 4)
			at[10] = at[11] = 0xff;
		memcpy(at + 16 - each, from, each);
	};

	if (room < bytes)
		return -EFAULT;
	if (!is_admin)
		return -EACCES;
	want.tos = p[0];
	read(want.from, p + 4, false);
	read(want.to, p + 4 + each, true);
	must(!memcmp(&want.from, &last_reset.from, 16) && !memcmp(&want.to, &last_reset.to, 16) &&
		     want.tos == last_reset.tos,
	     "whose connections end");
	return n_conns ? 0 : -ENOENT;
}

int Harness::model_trace(const unsigned char *p, size_t room, unsigned int len)
{
	if (len != 4 || room < 4 || p[0] > 3)
		return -EFAULT;
	for (int i = 0; i < p[0]; i++)
		if (p[1 + i] > 2)
			return -EFAULT;
	must(!memcmp(&b_.glue.trace, p, 4) && b_.core.tracing == (p[0] != 0), "it is traced");
	return 0;
}

/* RDS_FREE_MR's cookie is judged by what there was before (@known_). */
int Harness::model_mr(int name, const unsigned char *p, size_t room, unsigned int len)
{
	size_t size = name == RDS_GET_MR ? 32 : name == RDS_FREE_MR ? 16 : 160;
	uint64_t cookie, cookie_addr;

	if (len != size)
		return -EINVAL;
	if (room < size)
		return -EFAULT;
	memcpy(&cookie, p, 8);
	if (name == RDS_FREE_MR)
		return (cookie ? known_.count(cookie) : b_.core.rdma) ? 0 : -EINVAL;
	if (!b_.core.bound || !b_.core.rdma)
		return b_.core.bound ? -EOPNOTSUPP : -ENOTCONN;
	memcpy(&cookie_addr, p + size - 16, 8);
	if (cookie_addr && !in_user_memory(reinterpret_cast<void *>(cookie_addr), 8))
		return -EFAULT;
	must(regions.size() == known_.size() + 1, "memory is registered");
	return 0;
}

/* The result that the call must have, from its arguments: @room bytes at @p are there. */
int Harness::model(int name, const unsigned char *p, size_t room, unsigned int len)
{
	int value = 0, ret;

	switch (name) {
	case RDS_CANCEL_SENT_TO:
		return model_cancel(p, room, len);
	case RDS_GET_MR:
	case RDS_GET_MR_FOR_DEST:
	case RDS_FREE_MR:
		return model_mr(name, p, room, len);
	case RDS_RECVERR:
		ret = model_int(value, p, room, len);
		must(ret || b_.core.recverr == (value != 0), "RDS_RECVERR is set");
		return ret;
	case RDS_CONG_MONITOR:
		if (len >= 8 && room < 8)
			return -EFAULT;
		if (len >= 8) {
			must(!memcmp(&b_.core.mask, p, 8) && b_.core.monitor == (b_.core.mask != 0),
			     "a mask is set");
			return 0;
		}
		ret = model_int(value, p, room, len);
		must(ret || (b_.core.monitor == (value != 0) && !b_.core.mask), "or just on");
		return ret;
	case RDS_ORDER:
		ret = model_int(value, p, room, len);
		if (!ret && (value < 0 || value > RDS_ORDER_UNORDERED))
			return -EINVAL;
		must(ret || b_.core.order == static_cast<uint32_t>(value), "the hint is set");
		return ret;
	case RDS_RECV_BATCH:
		ret = model_int(value, p, room, len);
		if (!ret && (value < 0 || value > RDS_MAX_SEGMENTS))
			return -EINVAL;
		must(ret || b_.core.batch == value, "so many messages a call");
		return ret;
	case SO_RDS_INQ:
		ret = model_int(value, p, room, len);
		must(ret || b_.glue.inq == (value != 0), "what is left is told");
		return ret;
	case RDS6_CONN_RESET:
		return len == 36 ? model_reset(p, room, 36) : -EINVAL;
	case SO_RDS_MSG_RXPATH_LATENCY:
		return model_trace(p, room, len);
	case SO_TIMESTAMP_OLD:
	case SO_TIMESTAMP_NEW:
		if (len != 4 || room < 4)
			return -EFAULT;
		memcpy(&value, p, 4);
		must(sock_flag(&b_.glue.sk, SOCK_RCVTSTAMP) == (value != 0) &&
			     sock_flag(&b_.glue.sk, SOCK_TSTAMP_NEW) == (name == SO_TIMESTAMP_NEW),
		     "stamps are as they were set");
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

void Harness::set_option()
{
	int name = in_.PickValueInArray(kNames);
	int level = in_.ConsumeIntegralInRange<int>(0, 15) ? SOL_RDS : SOL_SOCKET;
	unsigned int len =
		in_.ConsumeBool() ? in_.PickValueInArray(kLengths) : in_.ConsumeIntegral<uint8_t>();

	user = std::make_unique<std::vector<char>>(
		in_.ConsumeBytes<char>(in_.ConsumeIntegralInRange<size_t>(0, 200)));
	b_.core.bound = in_.ConsumeBool();
	b_.core.cancelled = false;
	is_admin = in_.ConsumeBool();
	n_conns = in_.ConsumeBool();

	Both before = b_;
	int type = 0;

	known_ = regions;

	int ret = rds_setsockopt(&sock_, level, name, sockptr_t{user->data()}, len);

	must(!b_.glue.sk.locked && !b_.core.reading, "the socket is unlocked again");
	must(!ret || (!memcmp(&before, &b_, sizeof(b_)) && known_ == regions),
	     "what fails changes nothing");
	if (level != SOL_RDS) {
		must(ret == -ENOPROTOOPT, "another level");
	} else if (name == SO_RDS_TRANSPORT && len == sizeof(struct rds_reset)) {
		must(ret == model_reset(reinterpret_cast<unsigned char *>(user->data()),
					user->size(), len),
		     "errno of RDS_CONN_RESET");
	} else if (name == SO_RDS_TRANSPORT) {
		int want = before.core.transport >= 0 ? -EOPNOTSUPP
			   : len != 4		      ? -EINVAL
			   : user->size() < 4	      ? -EFAULT
						      : 0;

		if (!want) {
			memcpy(&type, user->data(), 4);
			want = type < 0 || type > 2 ? -EINVAL : 0;
		}
		must(ret == want && (ret || b_.core.transport == type), "the transport");
	} else {
		auto *p = reinterpret_cast<unsigned char *>(user->data());

		must(ret == model(name, p, user->size(), len), "errno of setsockopt");
	}
}

void Harness::get_option()
{
	int name = in_.PickValueInArray(kNames);
	int len = in_.ConsumeBool() ? static_cast<int>(in_.PickValueInArray(kLengths))
				    : in_.ConsumeIntegral<int>();
	size_t room = in_.ConsumeIntegralInRange<size_t>(0, 32);
	bool there = in_.ConsumeIntegralInRange<int>(0, 7);

	/* The length first, the value behind it. */
	user = std::make_unique<std::vector<char>>(there ? 4 + room : 3, '\x55');
	if (there)
		memcpy(user->data(), &len, 4);

	int ret = rds_getsockopt(&sock_, SOL_RDS, name, user->data() + (there ? 4 : 3),
				 reinterpret_cast<int *>(user->data()));
	int now = 0;
	bool known = name == RDS_RECVERR || name == RDS_CONG_MONITOR || name == SO_RDS_TRANSPORT ||
		     name == RDS_ORDER || name == RDS_RECV_BATCH || name == SO_RDS_INQ;
	int want = name == RDS_CONG_MONITOR && len >= 8 ? 8 : 4;

	if (!there) {
		must(ret == -EFAULT, "no length");
		return;
	}
	if (name >= RDS_INFO_FIRST && name <= RDS_INFO_LAST) {
		must(ret == -ENOSPC, "what rds_info.c says");
		return;
	}
	if (name == RDS_RECV_QUERY) {
		must(ret == (len < 144 ? -EINVAL : -EFAULT), "no room for a query");
		return;
	}
	must(ret == (!known				? -ENOPROTOOPT
		     : len < 4				? -EINVAL
		     : room < static_cast<size_t>(want) ? -EFAULT
							: 0),
	     "errno of getsockopt");
	memcpy(&now, user->data(), 4);
	must(now == (ret ? len : want), "the length it has become");
	for (size_t i = 4 + static_cast<size_t>(ret ? 0 : want); i < user->size(); i++)
		must((*user)[i] == '\x55', "nothing else is written");
}

/* The answer to @q, which begins with a family. */
int query_model(const struct rds_recv_query &q, bool bound)
{
	int family = q.peer.ss_family;

	if (q.want > 3 || q.reserved || (family && family != AF_INET && family != AF_INET6))
		return -EINVAL;
	return bound ? 0 : -ENOTCONN;
}

void Harness::recv_query()
{
	struct rds_recv_query q = {}, now;
	size_t room = in_.ConsumeBool() ? sizeof(q) : in_.ConsumeIntegralInRange<size_t>(0, 160);
	int len = in_.ConsumeBool() ? static_cast<int>(sizeof(q))
				    : in_.ConsumeIntegralInRange<int>(-1, 200);

	q.peer.ss_family = in_.ConsumeIntegralInRange<uint16_t>(0, 11);
	q.want = in_.ConsumeIntegralInRange<uint32_t>(0, 4);
	q.nbufs_allocated = q.bufs_alloc_span = 77;
	q.reserved = !in_.ConsumeIntegralInRange<int>(0, 7);
	b_.core.bound = in_.ConsumeBool();
	b_.core.asked = false;
	b_.core.held = {in_.ConsumeIntegral<uint32_t>(), in_.ConsumeIntegral<uint32_t>()};
	user = std::make_unique<std::vector<char>>(4 + room, '\x55');
	memcpy(user->data(), &len, 4);
	memcpy(user->data() + 4, &q, std::min(room, sizeof(q)));

	auto before = *user;
	int ret = rds_getsockopt(&sock_, SOL_RDS, RDS_RECV_QUERY, user->data() + 4,
				 reinterpret_cast<int *>(user->data()));
	int want = len < static_cast<int>(sizeof(q)) ? -EINVAL
		   : room < sizeof(q)		     ? -EFAULT
						     : query_model(q, b_.core.bound);

	must(ret == want, "errno of RDS_RECV_QUERY");
	must(b_.core.asked == !ret && (!ret || before == *user), "what fails changes nothing");
	if (ret)
		return;
	must(b_.core.asked_of_one == (q.peer.ss_family != 0), "whom it is about");
	if (q.want & RDS_RECV_QUERY_NBUFS)
		q.nbufs_allocated = b_.core.held.held;
	if (q.want & RDS_RECV_QUERY_SPAN)
		q.bufs_alloc_span = b_.core.held.span;
	memcpy(&now, user->data() + 4, sizeof(now));
	memcpy(&len, user->data(), 4);
	must(!memcmp(&now, &q, sizeof(q)) && len == sizeof(q), "what was wanted is told");
}

/* Another walk over the control messages, and what follows from them for sure. */
void Harness::check_sent(struct msghdr &msg, const struct rds_send_cmsgs &out)
{
	const char *at = static_cast<const char *>(msg.msg_control), *end = at + msg.msg_controllen;
	bool cookie = false, early = false;
	unsigned int order = 0;
	uint32_t first = 0;
	std::vector<size_t> lengths; /* in RDS_CMSG_SEGMENT */

	while (static_cast<size_t>(end - at) >= sizeof(struct cmsghdr)) {
		struct cmsghdr c;

		memcpy(&c, at, sizeof(c));
		must(c.cmsg_len >= sizeof(c) && c.cmsg_len <= static_cast<size_t>(end - at),
		     "one that is cut is refused");
		if (c.cmsg_level == SOL_RDS) {
			must((c.cmsg_type >= 1 && c.cmsg_type <= 12 && c.cmsg_type != 4 &&
			      c.cmsg_type != 5 && c.cmsg_type != 10 && c.cmsg_type != 11) ||
				     c.cmsg_type == RDS_CMSG_ORDER ||
				     c.cmsg_type == RDS_CMSG_SEGMENT,
			     "a type that nobody sends is refused");
			early = early ||
				(c.cmsg_type != RDS_CMSG_ZCOPY_COOKIE &&
				 c.cmsg_type != RDS_CMSG_ORDER && c.cmsg_type != RDS_CMSG_SEGMENT);
			order += c.cmsg_type == RDS_CMSG_ORDER;
			if (c.cmsg_type == RDS_CMSG_SEGMENT)
				lengths.push_back((c.cmsg_len - sizeof(c)) / 4);
		}
		if (c.cmsg_level == SOL_RDS && c.cmsg_type == RDS_CMSG_ZCOPY_COOKIE &&
		    c.cmsg_len >= CMSG_LEN(4) && !cookie) {
			cookie = true;
			memcpy(&first, at + sizeof(c), 4);
		}
		if (CMSG_ALIGN(c.cmsg_len) > static_cast<size_t>(end - at))
			break;
		at += CMSG_ALIGN(c.cmsg_len);
	}
	must(!out.has_cookie || (cookie && out.cookie == first), "the cookie that was given");
	must(!early || out.late || (b_.core.rdma && (out.op || out.map || out.dest)),
	     "what asks for RDMA gets it, or an errno");
	must(order == out.has_order && out.order <= RDS_ORDER_UNORDERED, "one hint at most");
	must(out.late <= 0, "an errno");
	must(lengths.size() <= 1 && out.n_segments == (lengths.empty() ? 0 : lengths[0]) &&
		     out.n_segments <= RDS_MAX_SEGMENTS,
	     "one list of lengths at most");
	must(!out.n_segments || (!early && !cookie), "many datagrams, and nothing else");
	must(!out.n_segments ||
		     (reinterpret_cast<const char *>(out.segments) >= msg.msg_control &&
		      reinterpret_cast<const char *>(out.segments + out.n_segments) <= end),
	     "the lengths are the caller's");
}

/* As sendmsg.c does; then the send fails, or the message would be gone. */
void Harness::apply(struct rds_send_cmsgs &out)
{
	struct rds_msg m = {};
	int ret = rds_cmsg_apply(&b_.core, &m, &out);

	must(ret <= 0, "0 or an errno");
	must(ret || (m.op == (out.op != nullptr) && !m.cookie == (!out.map && !out.dest)),
	     "what was asked for is done");
	must(ret || m.order == (out.has_order ? out.order : 0), "the hint that was given");
	rds_cmsg_undo(&b_.core, &out);
	must(regions == known_, "what was registered for nothing is not any more");
}

void Harness::send_cmsgs()
{
	bool zcopy = in_.ConsumeBool();
	struct rds_send_cmsgs out = {};
	struct msghdr msg = {};

	/* Memory that RDMA_ARGS may point at, and is told: its address lies in the control
	 * messages. */
	user = std::make_unique<std::vector<char>>(in_.ConsumeIntegralInRange<size_t>(0, 64), '\1');
	msg.msg_flags = in_.ConsumeBool() ? MSG_ZEROCOPY : 0;

	auto control = in_.ConsumeBytes<char>(in_.ConsumeIntegralInRange<size_t>(0, 400));

	for (size_t at = 0; at + 8 <= control.size(); at += 8) {
		uint64_t v;

		memcpy(&v, control.data() + at, 8);
		if (v == 0x7573657275736572) { /* "useruser" */
			v = reinterpret_cast<uintptr_t>(user->data());
			memcpy(control.data() + at, &v, 8);
		}
	}
	control.shrink_to_fit();
	msg.msg_control = control.data();
	msg.msg_controllen = control.size();

	/* As sendmsg.c does. */
	int ret = msg.msg_controllen ? rds_cmsg_check_rdma(&msg) : 0;

	if (!ret && (msg.msg_controllen || msg.msg_flags & MSG_ZEROCOPY))
		ret = rds_cmsg_parse(&b_.core, &msg, zcopy, &out);
	must(ret <= 0, "0 or an errno");
	must(ret != 0 || !(msg.msg_flags & MSG_ZEROCOPY) || out.has_cookie || out.late,
	     "zero copy has a cookie");
	if (ret)
		return;
	check_sent(msg, out);
	known_ = regions;
	if (!out.late)
		apply(out);
}

void Harness::recv_cmsgs()
{
	std::vector<char> control(in_.ConsumeIntegralInRange<size_t>(0, 200));
	struct rds_recv_info info = {};
	struct msghdr msg = {};

	info.cookie = in_.ConsumeIntegralInRange<uint64_t>(0, 1);
	info.stamp_ns = in_.ConsumeIntegral<uint64_t>();
	for (uint64_t &ns : info.trace_ns)
		ns = in_.ConsumeIntegralInRange<uint64_t>(0, 1000);
	sock_valbool_flag(&b_.glue.sk, SOCK_ZEROCOPY, in_.ConsumeBool());
	b_.core.n_cookies = in_.ConsumeIntegralInRange<unsigned int>(0, RDS_MAX_ZCOOKIES);
	msg.msg_control = control.data();
	msg.msg_controllen = control.size();
	must(!rds_cmsg_recv(&b_.glue.sk, &msg, &info), "what is received is told");
	b_.core.unread = info.stamp_ns;
	must(!rds_cmsg_inq(&b_.glue.sk, &msg, info.stamp_ns / 2), "and what is left");

	int n = rds_cmsg_zcopy(&b_.glue.sk, &msg);

	must(n == 0 || n == static_cast<int>(b_.core.n_cookies), "all cookies or none");
	must(static_cast<char *>(msg.msg_control) + msg.msg_controllen ==
		     control.data() + control.size(),
	     "the room that is left");
}

void Harness::run()
{
	for (int n = 0; n < 32 && in_.remaining_bytes(); n++)
		switch (in_.ConsumeIntegralInRange<int>(0, 5)) {
		case 0:
			get_option();
			break;
		case 1:
			set_option();
			break;
		case 2:
			send_cmsgs();
			break;
		case 3:
			recv_cmsgs();
			break;
		case 4:
			b_.core.rdma = !b_.core.rdma;
			break;
		case 5:
			recv_query();
			break;
		}
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzedDataProvider in(data, size);

	regions.clear();
	Harness(in).run();
	return 0;
}
