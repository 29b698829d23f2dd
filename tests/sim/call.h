/* SPDX-License-Identifier: GPL-2.0 */
/*
 * call.h: a function object that is moved, never copied, and lies where it is kept: events and
 * tasks come by the million, so none of them may cost an allocation.
 */
#ifndef RDS_TESTS_CALL_H
#define RDS_TESTS_CALL_H

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace sim
{

class Call final
{
public:
	Call() = default;
	template <typename F>
	requires(!std::is_same_v<std::decay_t<F>, Call>)
		Call(F &&f) /* NOLINT: a lambda is meant to become one */
	{
		using Fn = std::decay_t<F>;

		static_assert(sizeof(Fn) <= kBytes && alignof(Fn) <= alignof(std::max_align_t));
		new (room_) Fn(std::forward<F>(f));
		how_ = [](Op op, void *self, void *to) {
			auto *fn = static_cast<Fn *>(self);

			if (op == Op::kRun)
				(*fn)();
			else if (op == Op::kMove)
				new (to) Fn(std::move(*fn));
			if (op != Op::kRun)
				fn->~Fn();
		};
	}
	Call(Call &&o) noexcept
	{
		take(o);
	}
	Call &operator=(Call &&o) noexcept
	{
		if (this != &o) {
			reset();
			take(o);
		}
		return *this;
	}
	~Call()
	{
		reset();
	}
	void operator()()
	{
		how_(Op::kRun, room_, nullptr);
	}
	void reset()
	{
		if (how_)
			how_(Op::kDrop, room_, nullptr);
		how_ = nullptr;
	}

private:
	enum class Op { kRun, kMove, kDrop };

	void take(Call &o)
	{
		how_ = o.how_;
		if (how_)
			how_(Op::kMove, o.room_, room_);
		o.how_ = nullptr;
	}

	static constexpr size_t kBytes = 64;
	alignas(std::max_align_t) unsigned char room_[kBytes];
	void (*how_)(Op op, void *self, void *to) = nullptr;
};

} // namespace sim
#endif
