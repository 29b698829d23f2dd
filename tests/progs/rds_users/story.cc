// SPDX-License-Identifier: GPL-2.0
/* The director: it makes users and their networks, says whose turn it is, and judges each turn. */
#include "users.h"
#include "witness.h"

#include "../lib/check.h"
#include "../lib/netns.h"
#include "../lib/payload.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace rdstest
{

const char *const kOfHost[2] = {"10.66.0.1", "fd00:66::1"};
const char *const kOfCable[2] = {"10.66.0.2", "fd00:66::2"};

namespace
{

constexpr uid_t nobody = 65534;
constexpr uint16_t witnessPort = 7000;
constexpr size_t atOnce = 3;
constexpr uint32_t everySoManyTurns = 100;

const std::vector<User> everybody = {{0, nobody, User::Host},	{1, 1000, User::Host},
				     {2, 1001, User::Cable},	{3, 1002, User::Alone},
				     {4, 1000, User::OwnUsers}, {5, 1003, User::Host}};

void run(const std::string &command)
{
	want(std::system(command.c_str()) == 0, "cannot " + command);
}

/* A process, and how it is spoken to. */
struct Ends {
	Fd control;
	pid_t pid = -1;
};

/* The kernel's log, for what no good kernel says, and to say there where we are. */
class KernelLog
{
public:
	KernelLog() : fd_(open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC))
	{
		lseek(fd_, 0, SEEK_END);
	}
	void say(const std::string &text)
	{
		if (write(fd_, text.data(), text.size()) < 0)
			fail("write to the kernel's log", -errno);
	}
	void judge()
	{
		static const char *const bad[] = {
			"BUG:",	  "WARNING:", "KASAN",	  "UBSAN", "ODEBUG",
			"INFO: ", "rds_bug",  "refcount", "leaked"};
		char record[2048];

		for (ssize_t got; (got = read(fd_, record, sizeof(record) - 1)) > 0;) {
			record[got] = '\0';
			/* A page of the program's own was not to be had, on purpose. */
			if (strstr(record, "VM_FAULT_OOM"))
				continue;
			for (const char *word : bad)
				want(!strstr(record, word),
				     "the kernel complains: " + line(record));
		}
	}

private:
	static std::string line(const char *record)
	{
		const char *from = strchr(record, ';');

		return std::string(from ? from + 1 : record).substr(0, 120);
	}

	Fd fd_;
};

class Crowd
{
public:
	explicit Crowd(const UserOptions &options) : options_(options)
	{
		same(sys(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
				    basket_)),
		     0, "socketpair");
		for (const User &user : everybody)
			ends_.push_back(begin(user));
		cable();
	}
	~Crowd()
	{
		for (const Ends &one : ends_) {
			kill(one.pid, SIGKILL);
			waitpid(one.pid, nullptr, 0);
		}
		close(basket_[0]);
		close(basket_[1]);
		munmap(doing_, everybody.size() * kDoing);
	}
	void order(size_t who, const Order &order)
	{
		same(sys(write(ends_[who].control, &order, sizeof(order))), sizeof(order),
		     "an order");
	}
	Answer answer(size_t who)
	{
		Answer answer{};
		pollfd control = {ends_[who].control, POLLIN, 0};

		if (poll(&control, 1, static_cast<int>(options_.limit * 1000)) != 1) {
			/* Where its threads are, for who reads the log. */
			run("cat /proc/" + std::to_string(ends_[who].pid) + "/task/*/stack >&2");
			throw Failed("user " + std::to_string(who) + " does not come back from " +
				     doing_[who]);
		}
		same(sys(read(ends_[who].control, &answer, sizeof(answer))), sizeof(answer),
		     "an answer of user " + std::to_string(who));
		return answer;
	}

private:
	Ends begin(const User &user)
	{
		int pair[2];

		same(sys(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair)), 0, "socketpair");

		const pid_t pid = fork();
		if (pid == 0) {
			close(pair[0]);
			for (Ends &one : ends_)
				one.control.close();
			runUser(user, {pair[1], basket_, doing_[ends_.size()], !options_.noFaults});
		}
		close(pair[1]);
		want(pid > 0, "fork");
		ends_.push_back({Fd(pair[0]), pid});

		/* It is where it should be as soon as it answers. */
		order(ends_.size() - 1, {0, 0});
		const Answer ready = answer(ends_.size() - 1);
		want(!ready.wrong[0], std::string("a user begins: ") + ready.wrong);
		Ends made = std::move(ends_.back());
		ends_.pop_back();
		return made;
	}
	/* Between the host and the container that has one. */
	void cable()
	{
		/* That of the story before goes with its namespace. */
		want(eventually([] { return access("/sys/class/net/users", F_OK) != 0; },
				std::chrono::seconds(60)),
		     "the last container never ends");
		for (size_t i = 0; i < everybody.size(); i++) {
			if (everybody[i].place != User::Cable)
				continue;
			const std::string at = "/proc/" + std::to_string(ends_[i].pid) + "/ns/net";

			run("ip link add users type veth peer name cable netns " +
			    std::to_string(ends_[i].pid));
			run(std::string("ip addr add ") + kOfHost[0] +
			    "/24 dev users && ip addr add " + kOfHost[1] +
			    "/64 dev users nodad && ip link set users up");
			run("nsenter --net=" + at + " sh -c 'ip addr add " + kOfCable[0] +
			    "/24 dev cable && ip addr add " + kOfCable[1] +
			    "/64 dev cable nodad && ip link set cable up'");
		}
	}

	const UserOptions &options_;
	int basket_[2] = {-1, -1};
	using Doing = char[kDoing];
	Doing *doing_ = static_cast<Doing *>(mmap(nullptr, everybody.size() * kDoing,
						  PROT_READ | PROT_WRITE,
						  MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	std::vector<Ends> ends_;
};

Witness witnessOf(const UserOptions &options)
{
	Fd there;

	inNetns(options.netns,
		[&] { there = bindRds(Address::parse(options.there, witnessPort)); });
	return Witness(bindRds(Address::parse(options.here, witnessPort)), std::move(there),
		       options.bound);
}

/* Over loopback, at addresses that no user knows. */
Witness witnessAtHome(const UserOptions &options)
{
	return Witness(bindRds(Address::parse("127.0.7.1", witnessPort)),
		       bindRds(Address::parse("127.0.7.2", witnessPort)), options.bound);
}

std::string place(uint64_t seed, uint32_t turn)
{
	return "seed " + std::to_string(seed) + " turn " + std::to_string(turn);
}

/* One turn: some users, no matter who ends first; what any of them says is judged. */
void turnOf(Crowd &crowd, Random &random, uint32_t turn, std::map<std::string, Story::Tally> &deeds)
{
	const size_t first = random.below(everybody.size()), count = 1 + random.below(atOnce);
	const size_t stride = 1 + random.below(everybody.size() - 1);
	std::vector<size_t> who;

	for (size_t i = 0; i < count; i++) {
		const size_t one = (first + i * stride) % everybody.size();

		if (i && one == first)
			break;
		crowd.order(one, {random.next(), turn});
		who.push_back(one);
	}
	for (const size_t one : who) {
		const Answer answer = crowd.answer(one);
		Story::Tally &tally = deeds[answer.deed];

		++tally.made;
		tally.succeeded += answer.result >= 0;
		tally.failed += answer.failed;
		want(!answer.wrong[0], "user " + std::to_string(one) + ", " + answer.deed + " (" +
					       describe(answer.result) + "): " + answer.wrong);
	}
}

} // namespace

void Story::play()
{
	Random random(seed_ * 1000003);
	KernelLog log;
	uint32_t turn = 0;

	log.say("rds_users: " + place(seed_, 0));
	try {
		Crowd crowd(options_);
		Witness overTcp = witnessOf(options_), atHome = witnessAtHome(options_);
		Witness *const witnesses[] = {&overTcp, &atHome};

		for (Witness *one : witnesses)
			one->meet();
		while (++turn <= options_.turns) {
			turnOf(crowd, random, turn, deeds);
			for (Witness *one : witnesses)
				one->turn(turn);
			if (turn % everySoManyTurns == 0)
				log.say("rds_users: " + place(seed_, turn));
			log.judge();
		}
		for (Witness *one : witnesses) {
			one->finish();
			slowest = std::max(slowest, one->slowest());
			witnessed += one->count();
		}
	} catch (const Failed &error) {
		throw Failed(place(seed_, turn) + ": " + error.what());
	}
	try {
		nothingIsKept(everybody, options_);
		log.judge();
	} catch (const Failed &error) {
		throw Failed(place(seed_, turn) + ", afterwards: " + error.what());
	}
}

} // namespace rdstest
