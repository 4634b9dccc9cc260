// SPDX-License-Identifier: Apache-2.0
#include "strategy/input/on_all_workers.h"

#include "comm/workers.h"
#include "data/caught.h"
#include "strategy/together.h"
#include "util/forced_unwind.h"

#include <optional>
#include <utility>

namespace mdist {
namespace {

constexpr const char *kInStep = "it before mdist_run, and pass the elements as arguments";

/// What `part` threw; none if it gave `mine`.
std::optional<Failure> failure_of(Strategy &strategy, CallKind kind, FunctionRef<std::string()> part,
                                  std::string &mine) {
    try {
        mine = part();
        return std::nullopt;
    } catch (...) {
        if (!thread_is_ending()) return caught();
        strategy.fail_workers(call_name(kind), thread_ended());
        throw;
    }
}

} // namespace

void require_input_place(Strategy &strategy, CallKind kind) {
    const Turn turn(strategy, call_name(kind), kInStep);
}

std::vector<std::string> on_all_workers(Strategy &strategy, const Call &call, FunctionRef<std::string()> part) {
    std::string mine;
    std::optional<Failure> failed = failure_of(strategy, call.kind, part, mine);
    const Turn turn(strategy, call_name(call.kind), kInStep);
    Together together(strategy, call, 0);
    return together.gather("", [&] {
        if (failed) throw std::move(*failed).about(strategy.other_workers()->name(strategy.worker()));
        return std::move(mine);
    });
}

} // namespace mdist
