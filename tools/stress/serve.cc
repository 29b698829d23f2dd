// SPDX-License-Identifier: GPL-2.0
#include "serve.h"

#include <iostream>

#include "../lib/cli.h"
#include "../lib/screen.h"
#include "../lib/text.h"
#include "measure.h"

namespace rdstools
{

namespace
{

void announce(const LocalOptions &options, const char *whom)
{
	if (!options.json)
		std::cout << format("waiting for %s on TCP port %u\n", whom, options.port);
	flush_output();
}

/* The first message of a caller, who is one of ours. */
Json first_message(Control &control, unsigned serves)
{
	greet(control, serves);
	return next_message(control);
}

void refuse(Control &control, const Json &message)
{
	if (word_of(message, "type") != "measure")
		unexpected(message, "setup");
	tell(control, "abort",
	     complaint("takes no requests: start it with rds-stress --serve", exit_usage));
	throw PeerError("asked for a test with a third host, without --serve here");
}

/* For programs that read JSON, a line of that, too. */
void complain(const LocalOptions &options, const char *kind, const std::string &text)
{
	if (options.json)
		std::cout << Json({{"type", "error"}, {"kind", kind}, {"text", printable(text)}})
				     .dump()
			  << '\n';
	std::cout.flush();
	std::cerr << "rds-stress: " << text << '\n';
}

/* The active side of a test, from the address that was called. */
Measured measure(const LocalOptions &options, const MeasureRequest &request, Control &caller)
{
	LocalOptions mine = options;
	Asker asker(caller);

	mine.receive = local_address(caller.fd());
	mine.receive.set_port(0);
	mine.server = request.to;
	mine.server.set_scope(mine.receive.scope());
	mine.server.set_port(options.port);
	mine.duration_ns = request.duration_ns;
	mine.meanwhile = [&] { asker.look(); };
	if (mine.server.same_host(mine.receive))
		throw Error("a host does not measure itself");

	Control control(connect_control(mine.server, mine.receive, connect_patience));

	greet(control);
	Session session(mine, std::move(control));
	session.begin_active(request.plan);
	const int status = session.run();
	return {status, {}, session.result()};
}

/* The reason is for another host, which takes nothing but text. */
Measured failure(int status, const Error &error)
{
	return {status, printable(error.what()), nullptr};
}

void serve_request(const LocalOptions &options, Control &caller, const Json &message)
{
	Measured measured;

	try {
		const MeasureRequest request = MeasureRequest::from_json(message);

		if (!options.json)
			std::cout << format("\n%s asks for %g s towards %s\n",
					    peer_address(caller.fd()).host().c_str(),
					    static_cast<double>(request.duration_ns) / 1e9,
					    request.to.host().c_str())
				  << std::flush;
		measured = measure(options, request, caller);
	} catch (const AskerGone &) {
		throw;
	} catch (const PeerError &error) {
		measured = failure(exit_peer, error);
	} catch (const TestFailed &error) {
		measured = failure(exit_failed, error);
	} catch (const Error &error) {
		measured = failure(exit_usage, error);
	}
	if (!measured.reason.empty())
		complain(options, "request", measured.reason);
	Asker(caller).answer(measured);
}

void serve_caller(const LocalOptions &options, UniqueFd fd)
{
	Control caller(std::move(fd));
	const Json message = first_message(caller, serves_version);
	const std::string type = word_of(message, "type");

	if (type == "bye")
		return;
	if (type == "measure") {
		serve_request(options, caller, message);
		return;
	}
	if (type != "setup")
		unexpected(message, "setup");
	Session session(options, std::move(caller));
	session.begin_passive(message);
	session.run();
}

} // namespace

int run_passive(const LocalOptions &options)
{
	Listener listener(options.receive, options.port);

	announce(options, "the active side");
	while (auto caller = listener.accept()) {
		Control control(std::move(*caller));
		Json message;
		try {
			message = first_message(control, 0);
			if (word_of(message, "type") != "setup")
				refuse(control, message);
		} catch (const PeerError &error) {
			/* A port scanner, or another version: the right one may still come. */
			complain(options, "caller", format("refused a caller: %s", error.what()));
			continue;
		}
		Session session(options, std::move(control));
		session.begin_passive(message);
		return session.run();
	}
	throw PeerError("interrupted before anybody connected");
}

int serve(const LocalOptions &options)
{
	Listener listener(options.receive, options.port);

	announce(options, "tests and requests");
	while (auto caller = listener.accept()) {
		try {
			serve_caller(options, std::move(*caller));
		} catch (const TestFailed &error) {
			complain(options, "failed", error.what());
		} catch (const std::exception &error) {
			complain(options, "peer", error.what());
		}
		flush_output();
	}
	return exit_ok;
}

} // namespace rdstools
