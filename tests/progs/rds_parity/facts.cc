// SPDX-License-Identifier: GPL-2.0
#include "facts.h"

#include <algorithm>
#include <iostream>
#include <sstream>

namespace rdstest
{

const Place &Env::place(const std::string &name) const
{
	for (const Place &place : places) {
		if (place.name == name)
			return place;
	}
	return places.front();
}

void Out::say(const std::string &value)
{
	std::string line = value;

	std::replace(line.begin(), line.end(), '\n', ' ');
	std::cout << "fact " << item_ << " = " << line << std::endl;
}

void Out::operator()(const std::string &name, const std::string &value)
{
	Out(item_ + "/" + name).say(value);
}

void Facts::one(const std::string &name, const Call &call)
{
	many(name, [call](Out &out) { out.say(call()); });
}

void Facts::one(const std::string &name, const std::function<long()> &call)
{
	many(name, [call](Out &out) { out.say(describe(call())); });
}

void Facts::many(const std::string &name, const Many &run)
{
	items_.push_back({name, run});
}

void Facts::at(const std::string &places, const std::string &name, const At &run)
{
	std::istringstream names(places);
	std::string wanted;

	while (names >> wanted) {
		for (const Place &place : env_.places) {
			if (place.name == wanted)
				many(name + "@" + wanted,
				     [run, place](Out &out) { run(place, out); });
		}
	}
}

} // namespace rdstest
