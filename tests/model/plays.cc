// SPDX-License-Identifier: GPL-2.0
/* The plays: each small, and all together come to every state, event and turn (main.cc says so). */
#include "play.h"

namespace play
{
namespace
{

constexpr Step kSend00 = {Verb::kSend, 0, 0}, kSend01 = {Verb::kSend, 0, 1},
	       kSend10 = {Verb::kSend, 1, 0}, kSend11 = {Verb::kSend, 1, 1};
constexpr Step kCutBoth = {Verb::kCut, 0, 0}, kHalf0 = {Verb::kHalf, 0, 0},
	       kHalf1 = {Verb::kHalf, 1, 0}, kLost = {Verb::kLose, 0, 0},
	       kDarkness = {Verb::kDark, 0, 0}, kScarce = {Verb::kNoMemory, 0, 0};

/* Host 1, with which two paths are used, is gone by @how, and comes back with one. */
std::vector<Step> comes_back(Verb how)
{
	return {kSend00, {Verb::kFan, 0, 0}, kSend01, {how, 1, 0}, {Verb::kBoot, 1, 1}, kSend00,
		kSend01};
}

} // namespace

const std::vector<Play> &all()
{
	static const std::vector<Play> plays = {
		{"calls",
		 "the caller sends",
		 1,
		 0,
		 {kSend00, kSend00},
		 {kCutBoth, kHalf0, kHalf1, kLost, kDarkness, kScarce}},
		{"knocks",
		 "who may not call sends",
		 1,
		 0,
		 {kSend10, kSend10},
		 {kCutBoth, kHalf0, kHalf1, kLost, kDarkness, kScarce}},
		{"both",
		 "both send at the same time",
		 1,
		 0,
		 {kSend00, kSend10},
		 {kCutBoth, kHalf0, kHalf1, kLost}},
		{"admin",
		 "either ends its connections",
		 1,
		 0,
		 {kSend00, {Verb::kAdmin, 0, 0}, kSend10, {Verb::kAdmin, 1, 0}},
		 {kCutBoth, kHalf1}},
		{"idle",
		 "nobody says anything any more",
		 1,
		 1000,
		 {kSend00, kSend10},
		 {kCutBoth, kLost},
		 true},
		{"fan",
		 "a second path, and both break",
		 2,
		 0,
		 {kSend00, {Verb::kFan, 0, 0}, kSend01, kSend00, kSend11},
		 {kCutBoth, kHalf0, kHalf1}},
		{"fan_idle",
		 "two paths that nobody uses",
		 2,
		 1000,
		 {kSend00, {Verb::kFan, 0, 0}, kSend01},
		 {kCutBoth, kHalf1},
		 true},
		{"fold",
		 "the peer comes back with one path",
		 2,
		 0,
		 comes_back(Verb::kEnd),
		 {kCutBoth}},
		{"fold_idle",
		 "the same, and nobody says anything any more",
		 2,
		 1000,
		 comes_back(Verb::kEnd),
		 {kCutBoth},
		 true},
		{"fold_crash",
		 "the same, and its connections stay behind",
		 2,
		 0,
		 comes_back(Verb::kCrash),
		 {kHalf1}},
		{"restart",
		 "the caller is restarted",
		 1,
		 0,
		 {kSend00, kSend10, {Verb::kEnd, 0, 0}, {Verb::kBoot, 0, 1}, kSend10},
		 {kCutBoth, kHalf1}},
		{"crash",
		 "the caller is gone and comes back",
		 1,
		 0,
		 {kSend00, kSend10, {Verb::kCrash, 0, 0}, {Verb::kBoot, 0, 1}, kSend00},
		 {kLost}},
	};

	return plays;
}

} // namespace play
