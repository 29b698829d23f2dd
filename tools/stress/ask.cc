// SPDX-License-Identifier: GPL-2.0
#include "ask.h"

#include "../lib/cli.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

constexpr std::uint64_t second = 1000000000;
/* A host that is on gets a call taken by its kernel at once. */
constexpr std::uint64_t call_patience = 5 * second;
/* It says hello when it is done with the test before, which may have lost its other side. */
constexpr std::uint64_t hello_patience = 30 * second;

class Coordinator
{
public:
	Coordinator(const Matrix &matrix, const Address &local, std::uint16_t port)
		: matrix_(matrix), local_(local), port_(port), progress_(true)
	{
	}
	void check(const Host &host)
	{
		say(format("is %s there", host.name.c_str()));
		Control control = call(host);
		tell(control, "bye");
	}
	Measured measure(const Host &from, const Host &to, std::size_t number)
	{
		const std::string what =
			format("pair %zu of %zu: %s -> %s", number, matrix_.pairs().size(),
			       from.name.c_str(), to.name.c_str());
		MeasureRequest request = {matrix_.plan(), to.address,
					  static_cast<std::uint64_t>(matrix_.seconds() * 1e9)};

		say(what);
		Control control = call(from);
		/* Each pair's messages are told from those of the pair before. */
		request.plan.run += static_cast<std::uint32_t>(number);
		tell(control, "measure", request.json());
		return await_measured(control, request.duration_ns, [&] { say(what); });
	}

private:
	Control call(const Host &host)
	{
		Address address = host.address;

		address.set_port(port_);
		try {
			Control control(connect_control(address, local_, call_patience));
			must_serve(greet(control, 0, hello_patience));
			return control;
		} catch (const PeerError &error) {
			throw HostGone(error.what(), error.code());
		}
	}
	void say(const std::string &what)
	{
		progress_.say([&] { return what; });
	}

	const Matrix &matrix_;
	Address local_;
	std::uint16_t port_;
	Progress progress_;
};

} // namespace

void ask_all(Matrix &matrix, const Address &local, std::uint16_t port)
{
	Coordinator asks(matrix, local, port);

	matrix.run({[&](const Host &host) { asks.check(host); },
		    [&](const Host &from, const Host &to, std::size_t number) {
			    return asks.measure(from, to, number);
		    },
		    [] { return stopped(); }});
}

} // namespace rdstools
