// SPDX-License-Identifier: Apache-2.0
#include "comm/led_collective.h"

#include <new>
#include <utility>

namespace mdist {

uint64_t LedCollective::run() {
    if (!executors_.group().claim(0)) return 0;
    executors_.lead(timeout_ns_);
    return 1;
}

uint64_t LedCollective::start(std::function<void()> then) {
    if (executors_.workers() == nullptr) return run();
    if (!executors_.group().claim(0)) return 0;
    // From here on all parties wait for this one: whatever happens, it must do the piece, or have it done.
    Executors &executors = executors_;
    try {
        executors.workers()->run_later([&executors, timeout_ns = timeout_ns_, then = std::move(then)] {
            executors.lead(timeout_ns);
            executors.group().add_work(1, 1);
            then();
        });
    } catch (const std::bad_alloc &) {
        executors.fail_led(out_of_memory());
        return 1;
    }
    return 0;
}

} // namespace mdist
