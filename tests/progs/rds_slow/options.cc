// SPDX-License-Identifier: GPL-2.0
/* options.cc: options and tables, their values and their lengths. */
#include "calls.h"

#include "../lib/check.h"

#include <linux/rds.h>

#include <cstring>

namespace rdstest
{

using Kind = SlowPage::Kind;

namespace
{

struct Option {
	const char *name;
	int number;
	long wanted;
	std::string value;
	bool fresh = false; /* of a socket without a transport */
};

/* The name in the page is replaced in before(): the port is known then only.  None is needed: a
 * cancel of nothing is done, too. */
std::vector<Option> settable(const Places &places)
{
	const std::string peer(reinterpret_cast<const char *>(places.peer.get()),
			       places.peer.length());
	rds_rx_trace_so trace{};

	trace.rx_traces = 1;
	return {
		{"RDS_CANCEL_SENT_TO", RDS_CANCEL_SENT_TO, 0, peer},
		{"RDS_GET_MR", RDS_GET_MR, -EOPNOTSUPP, bytesOf(rds_get_mr_args{})},
		{"RDS_GET_MR_FOR_DEST", RDS_GET_MR_FOR_DEST, -EOPNOTSUPP,
		 bytesOf(rds_get_mr_for_dest_args{})},
		{"RDS_FREE_MR", RDS_FREE_MR, -EINVAL, bytesOf(rds_free_mr_args{1, 0})},
		{"RDS_RECVERR", RDS_RECVERR, 0, bytesOf(1)},
		{"RDS_CONG_MONITOR", RDS_CONG_MONITOR, 0, bytesOf(1)},
		{"RDS_CONG_MONITOR of 64 ports", RDS_CONG_MONITOR, 0, bytesOf(uint64_t(3))},
		{"RDS_ORDER", RDS_ORDER, 0, bytesOf(int(RDS_ORDER_HALF))},
		{"SO_RDS_TRANSPORT", SO_RDS_TRANSPORT, 0, bytesOf(int(RDS_TRANS_TCP)), true},
		{"SO_RDS_MSG_RXPATH_LATENCY", SO_RDS_MSG_RXPATH_LATENCY, 0, bytesOf(trace)},
		{"SO_TIMESTAMP", SO_TIMESTAMP, 0, bytesOf(1)},
	};
}

std::vector<Option> readable()
{
	rds_recv_query query{};

	query.want = RDS_RECV_QUERY_NBUFS;
	return {
		{"RDS_RECVERR", RDS_RECVERR, 0, bytesOf(0)},
		{"RDS_CONG_MONITOR", RDS_CONG_MONITOR, 0, bytesOf(uint64_t(0))},
		{"RDS_ORDER", RDS_ORDER, 0, bytesOf(0)},
		{"RDS_RECV_QUERY", RDS_RECV_QUERY, 0, bytesOf(query)},
		{"SO_RDS_TRANSPORT", SO_RDS_TRANSPORT, 0, bytesOf(0)},
	};
}

/* Those of InfiniBand are empty here: there is no adapter. */
const Option tables[] = {
	{"RDS_INFO_COUNTERS", RDS_INFO_COUNTERS, kSomething, ""},
	{"RDS_INFO_CONNECTIONS", RDS_INFO_CONNECTIONS, kSomething, ""},
	{"RDS_INFO_SEND_MESSAGES", RDS_INFO_SEND_MESSAGES, kSomething, ""},
	{"RDS_INFO_RETRANS_MESSAGES", RDS_INFO_RETRANS_MESSAGES, kSomething, ""},
	{"RDS_INFO_RECV_MESSAGES", RDS_INFO_RECV_MESSAGES, kSomething, ""},
	{"RDS_INFO_SOCKETS", RDS_INFO_SOCKETS, kSomething, ""},
	{"RDS_INFO_TCP_SOCKETS", RDS_INFO_TCP_SOCKETS, kSomething, ""},
	{"RDS6_INFO_CONNECTIONS", RDS6_INFO_CONNECTIONS, kSomething, ""},
	{"RDS6_INFO_SEND_MESSAGES", RDS6_INFO_SEND_MESSAGES, kSomething, ""},
	{"RDS6_INFO_RETRANS_MESSAGES", RDS6_INFO_RETRANS_MESSAGES, kSomething, ""},
	{"RDS6_INFO_RECV_MESSAGES", RDS6_INFO_RECV_MESSAGES, kSomething, ""},
	{"RDS6_INFO_SOCKETS", RDS6_INFO_SOCKETS, kSomething, ""},
	{"RDS6_INFO_TCP_SOCKETS", RDS6_INFO_TCP_SOCKETS, kSomething, ""},
};

/* The value in the slow page; and the length in it, which is read before and written last. */
void addRead(std::vector<Call> &table, const Option &option, socklen_t length)
{
	const std::string name = std::string("getsockopt ") + option.name;

	table.push_back({name, Kind::absent, option.value, option.wanted,
			 [n = option.number, length](Scene &s, char *slow) {
				 socklen_t room = length;

				 return sys(getsockopt(s.from, SOL_RDS, n, slow, &room));
			 }});
	for (const Kind kind : {Kind::absent, Kind::readOnly}) {
		table.push_back(
			{name + (kind == Kind::absent ? ", length" : ", length to be written"),
			 kind, bytesOf(length), option.wanted,
			 [n = option.number, value = option.value](Scene &s, char *slow) {
				 std::string room = value;

				 room.resize(SlowPage::size * SlowPage::pages);
				 return sys(getsockopt(s.from, SOL_RDS, n, room.data(),
						       reinterpret_cast<socklen_t *>(slow)));
			 }});
	}
}

} // namespace

void addOptions(std::vector<Call> &table, const Places &places)
{
	for (const Option &option : settable(places))
		table.push_back({std::string("setsockopt ") + option.name, Kind::absent,
				 option.value, option.wanted, [option](Scene &s, char *slow) {
					 return sys(setsockopt(option.fresh ? s.fresh : s.from,
							       SOL_RDS, option.number, slow,
							       option.value.size()));
				 }});
	for (const Option &option : readable())
		addRead(table, option, option.value.size());
	for (const Option &option : tables)
		addRead(table, option, SlowPage::size * SlowPage::pages);
}

} // namespace rdstest
