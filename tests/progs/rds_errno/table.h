/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of rds_errno: one row for each call that can be made in a wrong or a right way,
 * with the answer that mainline's modules give and, where it differs, the answer of ours.
 *
 * A row is a name, what to do (a function that makes its own sockets and returns an errno
 * name, a number, or a short text) and what is wanted. Rows do not depend on each other.
 */
#pragma once

#include "../lib/address.h"
#include "../lib/result.h"
#include "../lib/socket.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rdstest
{

/* Addresses that the rows use; those without a value leave their rows out. */
struct Env {
	Address loop = Address::parse("127.0.0.1");
	Address loop6 = Address::parse("::1");
	Address absent = Address::parse("192.0.2.77"); /* of no host, and no local address */
	Address absent6 = Address::parse("2001:db8::77");
	std::optional<Address> local; /* local, on a device that rds_tcp serves */
	std::optional<Address> local6;
	std::optional<Address> linkLocal; /* fe80::..%device */
};

struct Row {
	std::string name;
	std::string mainline; /* wanted there; alternatives are separated by '|' */
	std::string ours;
	std::function<std::string()> call;
};

class Table
{
public:
	using Call = std::function<std::string()>;
	using LongCall = std::function<long()>;

	/* The same answer from both. */
	void row(const std::string &name, const std::string &want, const LongCall &call);
	void row(const std::string &name, const std::string &want, const Call &call);

	/* Where ours is better or may differ, see "Deliver" 3 of the issue. */
	void differs(const std::string &name, const std::string &mainline, const std::string &ours,
		     const LongCall &call);
	void differs(const std::string &name, const std::string &mainline, const std::string &ours,
		     const Call &call);

	const std::vector<Row> &rows() const
	{
		return rows_;
	}

private:
	std::vector<Row> rows_;
};

/* The sections; each is a file of its own. */
void addNames(Table &table, const Env &env); /* socket, bind, connect, names */
void addSendmsg(Table &table, const Env &env);
void addRecvmsg(Table &table, const Env &env);
void addOptions(Table &table, const Env &env);
void addControl(Table &table, const Env &env); /* control messages to send */
void addInfo(Table &table, const Env &env);    /* RDS_INFO_*, ioctl */

/* An address in memory that is never mapped. */
inline void *badPointer()
{
	return reinterpret_cast<void *>(16);
}

} // namespace rdstest
