// SPDX-License-Identifier: Apache-2.0
#include "comm/executors.h"

#include "comm/call/pointers.h"

#include <utility>

namespace mdist {

void Executors::set_workers(Workers &workers, uint32_t first_replica_id) {
    workers_ = &workers;
    group_.join_job([&workers](const Failure &cause) { workers.fail(cause); }, first_replica_id);
}

void Executors::set_members(Workers &workers) {
    workers_ = &workers;
    group_.join_workers([&workers] { workers.wake(); });
}

void Executors::let_go() noexcept {
    group_.leave_job();
    workers_ = nullptr;
    gpus_ = nullptr;
}

void Executors::lead(uint64_t timeout_ns) noexcept {
    led_failure_.reset();
    try {
        Pointers<const Call *> calls(group_.parties());
        for (uint32_t party = 0; party < group_.parties(); ++party) calls[party] = &group_.call_of(party);
        if (calls[0]->on_gpus())
            gpus_->perform(group_, workers_, calls.get(), timeout_ns);
        else
            workers_->perform(calls.get(), timeout_ns);
    } catch (const std::exception &caught) {
        fail_led(as_failure(caught));
    }
}

void Executors::fail_led(const Failure &failure) noexcept {
    led_failure_ = failure;
    if (failure.operation().empty()) std::move(*led_failure_).operation(group_.call_of(0).kind->name());
    group_.release(*led_failure_);
}

} // namespace mdist
