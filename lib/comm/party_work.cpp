// SPDX-License-Identifier: Apache-2.0
#include "comm/party_work.h"

#include <type_traits>

namespace mdist {

PartyWork::PartyWork(Executors &executors, uint32_t party, const Call &call, uint64_t timeout_ns)
    : group_(executors.group()) {
    Group &group = executors.group();
    if (executors.workers() != nullptr || call.on_gpus())
        total_ = way_.emplace<LedCollective>(executors, timeout_ns != 0 ? timeout_ns : group.timeout()).total();
    else if (call.kind->pattern() == Pattern::kMeet)
        return;
    else if (!sums_all(call))
        total_ = way_.emplace<Exchange>(group, party).total();
    else if (StagedReduce::fits(group, call))
        way_.emplace<StagedReduce>(group, party, call);
    else
        total_ = way_.emplace<ChunkedReduce>(group, party, call).total();
}

uint64_t PartyWork::run() {
    return std::visit(
        [](auto &way) -> uint64_t {
            if constexpr (std::is_same_v<std::decay_t<decltype(way)>, std::monostate>)
                return 0;
            else
                return way.run();
        },
        way_);
}

uint64_t PartyWork::start(const std::function<void()> &then) {
    LedCollective *const led = std::get_if<LedCollective>(&way_);
    return led != nullptr ? led->start(then) : run();
}

void PartyWork::check() const {
    if (const LedCollective *const led = std::get_if<LedCollective>(&way_))
        led->check();
    else if (total_ != 0)
        group_.check_work();
}

} // namespace mdist
