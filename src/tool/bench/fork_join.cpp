// SPDX-License-Identifier: Apache-2.0
#include "bench/fork_join.h"

#include "bench/barrier.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mdist {

ForkJoin::ForkJoin() : thread_([this] { serve(); }) {}

ForkJoin::~ForkJoin() {
    wait_by(Wait::kQuit);
    thread_.join();
}

void ForkJoin::serve() {
    uint32_t seen = 0;
    Wait how = Wait::kFutex; // as wait_ begins
    while (how != Wait::kQuit) {
        while (command_.load(std::memory_order_acquire) == seen) {
            if (how == Wait::kFutex) {
                syscall(SYS_futex, &command_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
            } else {
                relax();
            }
        }
        // Read before the answer, for the caller may change it afterwards. It waits for an answer to kQuit too.
        how = wait_.load(std::memory_order_relaxed);
        done_.store(++seen, std::memory_order_release);
    }
}

void ForkJoin::command() {
    const uint32_t next = command_.load(std::memory_order_relaxed) + 1;
    const bool asleep = wait_.load(std::memory_order_relaxed) == Wait::kFutex;
    command_.store(next, std::memory_order_release);
    if (asleep) syscall(SYS_futex, &command_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    while (done_.load(std::memory_order_acquire) != next) relax();
}

void ForkJoin::wait_by(Wait how) {
    const Wait before = wait_.load(std::memory_order_relaxed);
    wait_.store(how, std::memory_order_relaxed);
    command_.fetch_add(1, std::memory_order_release);
    if (before == Wait::kFutex) syscall(SYS_futex, &command_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    while (done_.load(std::memory_order_acquire) != command_.load(std::memory_order_relaxed)) relax();
}

void ForkJoin::run(unsigned batch) {
    for (unsigned i = 0; i < batch; ++i) command();
}

} // namespace mdist
