/* SPDX-License-Identifier: GPL-2.0 */
/* Which rows are to be shown: pairs of a field's name and what it has to be. */
#ifndef RDSCTL_FILTER_H
#define RDSCTL_FILTER_H

#include <string>
#include <vector>

#include "prefix.h"
#include "state.h"

namespace rdstools
{

class Filter
{
public:
	/*
	 * [show] [FIELD VALUE]...: any field of @fields. An address is one, or a prefix; a number
	 * is one, or with "+" before it at least that; of a flag yes or no; of ports one that is
	 * among them; all others are a word, for which a transport may have its short one, "ib" or
	 * "loop". Throws Error.
	 */
	Filter(std::vector<std::string> words, std::span<const Field> fields);

	bool shows(const Json &row) const;
	Json of(const Json &rows) const;

private:
	struct Wish {
		const Field *field;
		std::string word;
		Prefix prefix;
		std::uint64_t number = 0;
		bool at_least = false;
	};

	static Wish wish(const Field &field, const std::string &word);
	static bool matches(const Wish &wish, const Json &value);

	std::vector<Wish> wishes_;
};

} // namespace rdstools

#endif
