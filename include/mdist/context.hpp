// SPDX-License-Identifier: Apache-2.0
// Scope: makes a strategy current on this thread, for code that does not get one as a parameter.
#pragma once

#include <mdist/strategy.hpp>

namespace mdist {

// Must end on the thread that it began on.
class Scope {
  public:
    explicit Scope(Strategy &strategy) : strategy_(strategy.get()) { detail::call(mdist_scope_enter, strategy_); }
    ~Scope() { mdist_scope_exit(strategy_, nullptr); }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    mdist_strategy_t *strategy_;
};

// Returns the strategy that this thread works for: that of its step, merge or update, of a scope, or the default.
// Borrowed; use it as *current_strategy().
inline detail::Borrowed<Strategy> current_strategy() {
    mdist_strategy_t *out = nullptr;
    detail::call(mdist_current_strategy, &out);
    return detail::Borrowed<Strategy>(out);
}

// Sets the strategy that is current if no other is; nullptr: the library's own.
inline void set_default_strategy(Strategy *strategy) {
    detail::call(mdist_set_default_strategy, strategy != nullptr ? strategy->get() : nullptr);
}

} // namespace mdist
