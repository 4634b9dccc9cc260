// SPDX-License-Identifier: Apache-2.0
// Work: a collective under way. The operation uses the memory until it is done. The work therefore owns that memory,
// and returns it at the end:
//
//     auto sum = replica.all_reduce_start(MDIST_SUM, std::move(gradients));
//     while (!sum.test()) something_else();
//     gradients = sum.wait();
#pragma once

#include <chrono>

#include <mdist/handle.hpp>
#include <mdist/tensor.hpp>

namespace mdist {

namespace detail {

// For mdist_work_on_done: calls a function that was kept for one call.
template <typename Function>
void done(mdist_status_t status, void *kept) {
    const std::unique_ptr<Function> function(static_cast<Function *>(kept));
    (*function)(status);
}

} // namespace detail

template <typename Data>
class [[nodiscard]] Work {
  public:
    // Calls start(data, out), which starts the operation. `data` does not move afterwards.
    template <typename Start>
    Work(Data data, Start start) : state_(new State{std::move(data), {}}) {
        mdist_work_t *out = nullptr;
        start(state_->data, &out);
        state_->handle = Handle<mdist_work_t, mdist_work_destroy>(out);
    }

    // Moves the operation on. Returns whether it is done.
    bool test() {
        int32_t done = 0;
        detail::call(mdist_work_test, get(), &done);
        return done != 0;
    }

    // Waits at most this long. Returns whether it is done.
    bool wait_for(std::chrono::nanoseconds duration) { return wait(static_cast<uint64_t>(duration.count())); }

    // Waits until it is done, and returns the memory. Call it once.
    Data wait() {
        wait(uint64_t{MDIST_FOREVER});
        return std::move(state_->data);
    }

    // Calls function(mdist_status_t) once when the operation is over: now if it is over already, else on any thread,
    // before the step of the replica has ended. The function may test works, but must not wait or throw.
    template <typename Function>
    void on_done(Function function) {
        auto kept = std::make_unique<Function>(std::move(function));
        detail::call(mdist_work_on_done, get(), &detail::done<Function>, static_cast<void *>(kept.get()));
        kept.release(); // done() deletes it, and may have done so
    }

    // A descriptor for poll; the caller must close it. When it is readable, call test().
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
        Handle<mdist_work_t, mdist_work_destroy> handle; // destroyed first; after that the memory may be freed
    };
    std::unique_ptr<State> state_; // keeps `data` in place when the work moves
};

} // namespace mdist
