// SPDX-License-Identifier: Apache-2.0
// Work: a collective under way. It owns the memory that takes part, since that belongs to the operation until it is
// done, and gives it back in the end:
//
//     auto sum = replica.all_reduce_start(MDIST_SUM, std::move(gradients));
//     while (!sum.test()) something_else();
//     gradients = sum.wait();
#pragma once

#include <chrono>

#include "handle.hpp"
#include "tensor.hpp"

namespace mdist {

template <typename Data>
class [[nodiscard]] Work {
  public:
    // start(data, out) starts the operation on data where it lies from now on.
    template <typename Start>
    Work(Data data, Start start) : state_(new State{std::move(data), {}}) {
        mdist_work_t *out = nullptr;
        start(state_->data, &out);
        state_->handle = Handle<mdist_work_t, mdist_work_destroy>(out);
    }

    // Moves the operation on, and says whether it is done.
    bool test() {
        int32_t done = 0;
        detail::call(mdist_work_test, get(), &done);
        return done != 0;
    }

    // Waits for that long at most, and says whether it is done.
    bool wait_for(std::chrono::nanoseconds duration) { return wait(static_cast<uint64_t>(duration.count())); }

    // Waits until it is done, and gives the memory back. Once.
    Data wait() {
        wait(uint64_t{MDIST_FOREVER});
        return std::move(state_->data);
    }

    // A descriptor for poll, yours to close: when it is readable, test().
    int descriptor() {
        int32_t out = -1;
        detail::call(mdist_work_descriptor, get(), &out);
        return out;
    }

    mdist_work_t *get() const noexcept { return state_->handle.get(); }

  private:
    bool wait(uint64_t timeout_ns) {
        int32_t done = 0;
        detail::call(mdist_work_wait, get(), timeout_ns, &done);
        return done != 0;
    }

    struct State {
        Data data;
        Handle<mdist_work_t, mdist_work_destroy> handle; // goes first: only then is the memory free to go
    };
    std::unique_ptr<State> state_; // where data doesn't move when the work does
};

} // namespace mdist
