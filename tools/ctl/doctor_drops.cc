// SPDX-License-Identifier: GPL-2.0
#include "doctor_checks.h"

#include "view.h"

namespace rdstools
{

namespace
{

/* Each that is_trouble() or has an alert (ctest -R docs.netlink). */
constexpr Drop table[] = {
	{"recv_drop_bad_length", true,
	 "a peer has sent a length that no RDS sends, and was cut off",
	 "rdsctl path show last-reason protocol"},
	{"recv_drop_bad_cong", true, "a peer has sent a congestion map that is none",
	 "rdsctl path show last-reason protocol"},
	{"recv_drop_bad_port", false, "messages came that name no port", "rdsctl monitor"},
	{"recv_bad_exthdr", true, "a peer has sent an extension header that no RDS sends",
	 "rdsctl path show peer other"},
	{"recv_bad_ack", true, "a peer has acknowledged what was never sent: that was ignored",
	 "rdsctl path show peer other"},
	{"recv_bad_refusal", true, "a peer has said of a port what cannot be: that was ignored",
	 "rdsctl path show refused +1"},
	{"recv_bad_flags", false,
	 "a peer sets flags that this RDS does not know: its messages were taken",
	 "rdsctl path show peer other"},
	{"recv_drop_no_sock", false, "messages came for ports that no socket here has",
	 "rdsctl socket"},
	{"recv_drop_dead_sock", false, "messages came for a socket that was being closed",
	 "rdsctl socket"},
	{"recv_drop_old_seq", false,
	 "messages came again that had come before, and were thrown away: none is lost",
	 "rdsctl path show resets +1"},
	{"recv_pong_dropped", false,
	 "a host pings faster than it takes the answers: some pings were not answered",
	 "rdsctl path show unsent-bytes +1"},
	{"recv_drop_bad_checksum", true,
	 "messages came that are not what was sent: an adapter, or what is between", "ip -s link"},
	{"recv_no_memory", false, "memory was short when messages came: they came later",
	 "sysctl vm.min_free_kbytes"},
	{"recv_assembly_full", false,
	 "messages that are not whole yet took all the memory there is for them: paths waited, or "
	 "were ended",
	 "rdsctl path show last-reason stalled"},
	{"send_no_memory", true, "programs were told ENOMEM by sendmsg",
	 "cat /proc/pressure/memory"},
	{"send_queue_full", false,
	 "programs send faster than peers take it: they waited, or were told EAGAIN",
	 "rdsctl top --sort waits"},
	{"cong_send_error", false,
	 "programs were told ENOBUFS, for the port that they sent to was full",
	 "rdsctl path show congested +1"},
	{"recv_sock_full", false, "a program here reads more slowly than its peers send",
	 "rdsctl socket show congested yes"},
	{"recv_refused", false,
	 "messages for a full socket were refused, and kept by their senders",
	 "rdsctl socket show congested yes"},
	{"send_refused", false, "a program of a peer reads too slowly: it has refused ports",
	 "rdsctl path show refused +1"},
	{"user_refused", true, "a user has as many sockets or connections as it may: EDQUOT",
	 "sysctl net.rds.max_user_sockets net.rds.max_user_connections"},
	{"conn_passive_refused", true,
	 "peers were refused, for too many call that nobody here knows",
	 "sysctl net.rds.max_passive_connections"},
	{"conn_evicted", false,
	 "connections that only peers want were too many, or mute: some were ended",
	 "sysctl net.rds.max_passive_connections"},
	{"conn_tomb_full", false,
	 "more ports were refused to hosts than is remembered of those that go: their connections "
	 "stay",
	 "rdsctl socket show congested yes"},
	{"conn_stalled", false,
	 "a peer did not send the rest of what it had begun, and its connection was ended",
	 "rdsctl path show last-reason stalled"},
	{"conn_drain_timeout", false,
	 "a peer did not end a connection that was ended here: it was closed after 5 s",
	 "rdsctl monitor"},
	{"conn_call_refused", true, "strangers of one network call very often",
	 "ss -tn 'sport = :16385'"},
	{"conn_takeover_refused", true,
	 "a second connection from a peer's address was refused: a program there, or a second host "
	 "with its address",
	 "rdsctl peer monitor"},
	{"ib_listen_failed", false,
	 "a port of RDMA was taken, and peers cannot call it: over iWARP rds_tcp has that of IPv6",
	 "ss -ltn '( sport = :16385 or sport = :18634 )'"},
	{"tcp_peer_refused", false, "the table of peers refuses a host that calls, or is called",
	 "rdsctl peer list"},
	{"tcp_key_refused", true, "a host called without the key that it has to have",
	 "rdsctl peer monitor"},
	{"tcp_too_many_paths", true, "there are as many connections over TCP as there may be",
	 "rdsctl path --brief"},
	{"tcp_accept_refused", false,
	 "connections came that are this host's own, or that none could be made of",
	 "ss -tn 'sport = :16385'"},
	{"tcp_knock_refused", false,
	 "peers called that this host has to call, and were called back: older RDS do",
	 "rdsctl path --brief"},
	{"ib_peer_refused", false,
	 "the table of peers refuses a host that calls over RDMA, or is called",
	 "rdsctl peer list"},
	{"ib_key_refused", true,
	 "a host has a key, and is not spoken to over RDMA, where nothing is signed",
	 "rdsctl peer monitor"},
	{"ib_accept_refused", false,
	 "calls over RDMA made no sense, or no connection could be made for them",
	 "rdsctl path show transport infiniband"},
	{"ib_version_refused", false,
	 "a host has another version of RDS over RDMA, or its doctor has called: the table tells "
	 "of those that are not up",
	 "rdsctl path show transport infiniband"},
	{"ib_heartbeat_timeout", false,
	 "RDS of a host stood still behind an adapter that works: its kernel's log says why "
	 "perhaps, a processor or a task that hangs",
	 "sysctl net.rds.ib.heartbeat_timeout_secs"},
	{"ib_completion_errors", false,
	 "an adapter gave connections up: the peer went, or too much was lost between",
	 "rdma statistic show"},
	{"ib_op_refused", false,
	 "an adapter did not take an RDMA operation that a program had asked for", "rdma dev show"},
	{"ib_rx_bad_frame", true,
	 "a peer has sent a frame over RDMA that no RDS sends, and was cut off",
	 "rdsctl path show last-reason protocol"},
	{"ib_rx_bad_csum", true,
	 "a header came over RDMA that is not what was sent, and its connection was ended: an "
	 "adapter, or what is between",
	 "rdma statistic show"},
	{"ib_rx_alloc_failed", false, "memory was short for a receive buffer: it was there later",
	 "sysctl vm.min_free_kbytes"},
};

} // namespace

std::span<const Drop> drops()
{
	return table;
}

void look_at_counters(const Evidence &e, Findings &found)
{
	for (const Drop &d : table) {
		const std::uint64_t n = e.counters ? counter(*e.counters, d.name) : 0;

		if (n)
			found.push_back({"counters", d.fault,
					 std::string(d.name) + " is " + std::to_string(n), d.why,
					 d.command});
	}
}

} // namespace rdstools
