// SPDX-License-Identifier: GPL-2.0
#include "sections.h"

#include <linux/rds.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "../lib/address.h"
#include "../lib/info.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

Address host(__be32 addr)
{
	return Address::v4(in_addr{addr});
}

Address host(const in6_addr &addr)
{
	return Address::v6(addr);
}

Cell number(std::uint64_t value)
{
	return value;
}

/* A NUL-terminated name in a fixed field that may also be full. */
template <std::size_t N>
std::string field(const __u8 (&text)[N])
{
	const char *start = reinterpret_cast<const char *>(text);

	return std::string(start, strnlen(start, N));
}

bool collect_counters(const RdsSocket &socket, const SectionOptions &, Table &table)
{
	table.columns = {{"CounterName", "name", 34}, {"Value", "value", 16}};
	auto block = fetch_info(socket.fd(), RDS_INFO_COUNTERS, "the counters");
	if (!block)
		return false;
	for (const auto &counter : records<rds_info_counter>(*block))
		table.add_row(field(counter.name), number(counter.value));
	return true;
}

/* The v6 codes list IPv4 too, so one of the two is enough where their fields are the same. */
template <typename R4, typename R6, typename MakeRow>
bool collect_either(const RdsSocket &socket, bool ipv6, int code4, int code6, const char *subject,
		    Table &table, MakeRow make_row)
{
	if (ipv6) {
		if (auto block = fetch_info(socket.fd(), code6, subject)) {
			for (const R6 &record : records<R6>(*block))
				make_row(record);
			return true;
		}
	}
	auto block = fetch_info(socket.fd(), code4, subject);
	if (!block)
		return false;
	for (const R4 &record : records<R4>(*block))
		make_row(record);
	(void)table;
	return true;
}

/* The memory of sockets, by inode: columns that only a file has, and mainline not even that. */
std::map<std::uint64_t, std::vector<Cell>> held_messages()
{
	Table table;
	table.columns = {{"Inode", "", 0}, {"NBufs", "", 0}, {"Span", "", 0}};
	std::ifstream in("/proc/net/rds/sockets");
	read_rows(in, table);

	std::map<std::uint64_t, std::vector<Cell>> held;
	for (const auto &row : table.rows)
		if (const auto *inode = std::get_if<std::uint64_t>(&row[0]))
			held[*inode] = {row[1], row[2]};
	return held;
}

bool collect_sockets(const RdsSocket &socket, const SectionOptions &options, Table &table)
{
	table.columns = {{"BoundAddr", "bound_addr", 15},
			 {"BPort", "bound_port", 5},
			 {"ConnAddr", "connected_addr", 15},
			 {"CPort", "connected_port", 5},
			 {"SndBuf", "sndbuf", 10},
			 {"RcvBuf", "rcvbuf", 10},
			 {"Inode", "inode", 8}};
	std::map<std::uint64_t, std::vector<Cell>> held;
	if (options.verbose) {
		table.columns.push_back({"NBufs", "nbufs_allocated", 10});
		table.columns.push_back({"Span", "bufs_alloc_span", 10});
		held = held_messages();
	}
	std::uint64_t own = socket.inode();
	auto row = [&](const auto &s) {
		/* The socket we ask through is no news. */
		if (s.inum == own)
			return;
		table.add_row(host(s.bound_addr).host(), number(ntohs(s.bound_port)),
			      host(s.connected_addr).host(), number(ntohs(s.connected_port)),
			      number(s.sndbuf), number(s.rcvbuf), number(s.inum));
		if (!options.verbose)
			return;
		std::vector<Cell> more = held[s.inum];
		more.resize(2);
		for (Cell &cell : more)
			table.rows.back().push_back(std::move(cell));
	};
	return collect_either<rds_info_socket, rds6_info_socket>(
		socket, options.ipv6, RDS_INFO_SOCKETS, RDS6_INFO_SOCKETS, "the sockets", table,
		row);
}

template <int code4, int code6>
bool collect_messages(const RdsSocket &socket, const SectionOptions &options, Table &table)
{
	table.columns = {{"LocalAddr", "local_addr", 15},
			 {"LPort", "local_port", 5},
			 {"RemoteAddr", "remote_addr", 15},
			 {"RPort", "remote_port", 5},
			 {"Tos", "tos", 3},
			 {"Seq", "seq", 16},
			 {"Bytes", "bytes", 10}};
	auto row = [&](const auto &m) {
		table.add_row(host(m.laddr).host(), number(ntohs(m.lport)), host(m.faddr).host(),
			      number(ntohs(m.fport)), number(m.tos), number(m.seq), number(m.len));
	};
	return collect_either<rds_info_message, rds6_info_message>(
		socket, options.ipv6, code4, code6, "the message queue", table, row);
}

/*
 * IPv4 records carry the type of service, IPv6 records do not: take IPv4 from the v4 code and
 * from the v6 code only what the v4 code leaves out.
 */
template <typename R4, typename R6, typename Row4, typename Row6>
bool collect_both(const RdsSocket &socket, bool ipv6, int code4, int code6, const char *subject,
		  Row4 row4, Row6 row6)
{
	auto block4 = fetch_info(socket.fd(), code4, subject);
	auto block6 = ipv6 ? fetch_info(socket.fd(), code6, subject) : std::nullopt;

	if (block4)
		for (const R4 &record : records<R4>(*block4))
			row4(record);
	if (block6)
		for (const R6 &record : records<R6>(*block6))
			row6(record);
	return block4 || block6;
}

std::string connection_flags(unsigned flags)
{
	std::string text = "---";

	if (flags & RDS_INFO_CONNECTION_FLAG_SENDING)
		text[0] = 's';
	if (flags & RDS_INFO_CONNECTION_FLAG_CONNECTING)
		text[1] = 'c';
	if (flags & RDS_INFO_CONNECTION_FLAG_CONNECTED)
		text[2] = 'C';
	return text;
}

bool collect_connections(const RdsSocket &socket, const SectionOptions &options, Table &table)
{
	table.columns = {{"LocalAddr", "local_addr", 15},
			 {"RemoteAddr", "remote_addr", 15},
			 {"Tos", "tos", 3},
			 {"NextTX", "next_tx", 16},
			 {"NextRX", "next_rx", 16},
			 {"Flg", "flags", 3}};
	if (options.verbose)
		table.columns.push_back({"Transport", "transport", 10});
	auto row = [&](const auto &c, Cell tos) {
		Address local = host(c.laddr);
		if (local.family() == AF_INET && sizeof(c.laddr) == sizeof(in6_addr))
			return;
		table.add_row(local.host(), host(c.faddr).host(), tos, number(c.next_tx_seq),
			      number(c.next_rx_seq), connection_flags(c.flags));
		if (options.verbose)
			table.rows.back().push_back(field(c.transport));
	};
	return collect_both<rds_info_connection, rds6_info_connection>(
		socket, options.ipv6, RDS_INFO_CONNECTIONS, RDS6_INFO_CONNECTIONS,
		"the connections", [&](const auto &c) { row(c, number(c.tos)); },
		[&](const auto &c) { row(c, std::monostate()); });
}

bool collect_tcp(const RdsSocket &socket, const SectionOptions &options, Table &table)
{
	table.columns = {{"LocalAddr", "local_addr", 15},
			 {"LPort", "local_port", 5},
			 {"RemoteAddr", "remote_addr", 15},
			 {"RPort", "remote_port", 5},
			 {"Tos", "tos", 3},
			 {"HdrRemain", "hdr_remain", 10},
			 {"DataRemain", "data_remain", 10},
			 {"SentNxt", "sent_nxt", 10},
			 {"ExpectUna", "expect_una", 10},
			 {"SeenUna", "seen_una", 10}};
	auto row = [&](const auto &t, Cell tos) {
		Address local = host(t.local_addr);
		if (local.family() == AF_INET && sizeof(t.local_addr) == sizeof(in6_addr))
			return;
		table.add_row(local.host(), number(ntohs(t.local_port)), host(t.peer_addr).host(),
			      number(ntohs(t.peer_port)), tos, number(t.hdr_rem),
			      number(t.data_rem), number(t.last_sent_nxt),
			      number(t.last_expected_una), number(t.last_seen_una));
	};
	return collect_both<rds_info_tcp_socket, rds6_info_tcp_socket>(
		socket, options.ipv6, RDS_INFO_TCP_SOCKETS, RDS6_INFO_TCP_SOCKETS,
		"the TCP sockets", [&](const auto &t) { row(t, number(t.tos)); },
		[&](const auto &t) { row(t, std::monostate()); });
}

bool collect_paths(const RdsSocket &, const SectionOptions &options, Table &table)
{
	table.columns = {{"LocalAddr", "local_addr", 15},
			 {"RemoteAddr", "remote_addr", 15},
			 {"Tos", "tos", 3},
			 {"Path", "path", 4},
			 {"State", "state", 10},
			 {"NextTX", "next_tx", 16},
			 {"NextRX", "next_rx", 16},
			 {"Attempts", "attempts", 8},
			 {"Resets", "resets", 6},
			 {"LastReason", "last_reason", 14}};
	if (options.verbose)
		table.columns.push_back({"Transport", "transport", 10});
	/* Mainline does not offer it. */
	std::ifstream in("/proc/net/rds/paths");
	if (!in)
		return false;
	read_rows(in, table);
	if (!options.ipv6)
		std::erase_if(table.rows, [](const std::vector<Cell> &row) {
			return cell_text(row[0], 0).find(':') != std::string::npos;
		});
	return true;
}

std::string gid(const __u8 (&bytes)[RDS_IB_GID_LEN])
{
	in6_addr addr;

	std::memcpy(&addr, bytes, sizeof(addr));
	/* A RoCE GID may be a v4-mapped address; printed as the IPv4 address it is. */
	return Address::v6(addr).host();
}

bool collect_ib(const RdsSocket &socket, const SectionOptions &options, Table &table)
{
	table.columns = {{"LocalAddr", "local_addr", 15},
			 {"RemoteAddr", "remote_addr", 15},
			 {"Tos", "tos", 3},
			 {"SL", "sl", 2},
			 {"LocalDev", "local_gid", 32},
			 {"RemoteDev", "remote_gid", 32}};
	if (options.verbose)
		for (const Column &more :
		     {Column{"MaxSendWR", "max_send_wr", 9}, Column{"MaxRecvWR", "max_recv_wr", 9},
		      Column{"MaxSendSGE", "max_send_sge", 10}, Column{"MRMax", "mr_max", 6},
		      Column{"MRSize", "mr_size", 6}, Column{"CacheAllocs", "cache_allocs", 11}})
			table.columns.push_back(more);
	auto row = [&](const auto &c) {
		table.add_row(host(c.src_addr).host(), host(c.dst_addr).host(), number(c.tos),
			      number(c.sl), gid(c.src_gid), gid(c.dst_gid));
		if (!options.verbose)
			return;
		for (std::uint64_t value : {c.max_send_wr, c.max_recv_wr, c.max_send_sge,
					    c.rdma_mr_max, c.rdma_mr_size, c.cache_allocs})
			table.rows.back().push_back(value);
	};
	return collect_either<rds_info_rdma_connection, rds6_info_rdma_connection>(
		socket, options.ipv6, RDS_INFO_IB_CONNECTIONS, RDS6_INFO_IB_CONNECTIONS,
		"the IB connections", table, row);
}

} // namespace

const std::vector<Section> &sections()
{
	static const std::vector<Section> list = {
		{'c',
		 "counters",
		 "statistic counters",
		 "Counters",
		 "counters",
		 collect_counters,
		 {0},
		 {{1, {"Rate/s", "rate", 12}}}},
		{'k', "sockets", "RDS sockets", "RDS Sockets", "sockets", collect_sockets, {}, {}},
		{'n',
		 "connections",
		 "connections to other hosts",
		 "RDS Connections",
		 "connections",
		 collect_connections,
		 {0, 1, 2},
		 {{3, {"TX/s", "tx_rate", 10}}, {4, {"RX/s", "rx_rate", 10}}}},
		{'p',
		 "paths",
		 "paths of the connections, and what they went through",
		 "RDS Paths",
		 "paths",
		 collect_paths,
		 {0, 1, 2, 3},
		 {{5, {"TX/s", "tx_rate", 10}}, {6, {"RX/s", "rx_rate", 10}}}},
		{'r',
		 "recv-queue",
		 "receive queues",
		 "Receive Message Queue",
		 "receive_queue",
		 collect_messages<RDS_INFO_RECV_MESSAGES, RDS6_INFO_RECV_MESSAGES>,
		 {},
		 {}},
		{'s',
		 "send-queue",
		 "send queues",
		 "Send Message Queue",
		 "send_queue",
		 collect_messages<RDS_INFO_SEND_MESSAGES, RDS6_INFO_SEND_MESSAGES>,
		 {},
		 {}},
		{'t',
		 "retrans-queue",
		 "retransmit queues: sent, not acknowledged",
		 "Retransmit Message Queue",
		 "retransmit_queue",
		 collect_messages<RDS_INFO_RETRANS_MESSAGES, RDS6_INFO_RETRANS_MESSAGES>,
		 {},
		 {}},
		{'T',
		 "tcp",
		 "TCP sockets under the connections",
		 "TCP Connections",
		 "tcp_sockets",
		 collect_tcp,
		 {},
		 {}},
		{'I',
		 "ib",
		 "InfiniBand and RoCE connections",
		 "RDS IB Connections",
		 "ib_connections",
		 collect_ib,
		 {},
		 {}},
	};
	return list;
}

void add_sections(CLI::App &app, std::vector<const Section *> &chosen)
{
	for (const Section &section : sections())
		app.add_flag_callback(
			   std::string("-") + section.letter + ",--" + section.option,
			   [&chosen, &section] {
				   if (std::ranges::find(chosen, &section) == chosen.end())
					   chosen.push_back(&section);
			   },
			   section.help)
			->trigger_on_parse()
			->group("Sections");
}

} // namespace rdstools
