// SPDX-License-Identifier: Apache-2.0
#include "comm/across.h"

#include "comm/workers.h"

#include <utility>

namespace mdist {

uint64_t Across::run() {
    if (!group_.claim(0)) return 0;
    group_.lead(timeout_ns_);
    return 1;
}

uint64_t Across::start(std::function<void()> then) {
    if (group_.workers() == nullptr) return run();
    if (!group_.claim(0)) return 0;
    Group &group = group_;
    group.workers()->run_later([&group, timeout_ns = timeout_ns_, then = std::move(then)] {
        group.lead(timeout_ns);
        group.add_work(1, 1);
        then();
    });
    return 0;
}

void perform_across(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns) {
    Across part(group, timeout_ns != 0 ? timeout_ns : group.timeout());
    const uint32_t before = group.finishes();
    group.meet(party, call, timeout_ns);
    group.finish_work(before, part.run(), part.total());
    part.check();
}

} // namespace mdist
