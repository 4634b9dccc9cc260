// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/card.h"

#include "device/gpu/polling.h"
#include "util/text.h"

#include <atomic>
#include <new>

namespace mdist {
namespace {

/// The error after which CUDA does nothing more in this process; 0 if there was none.
std::atomic<int> fatal_error{0};

} // namespace

Failure gpu_failure(const mdist_gpu_api &api, int error, const std::string &what) {
    const int kind = api.kind(error);
    int none = 0;
    if (kind == MDIST_GPU_FATAL) fatal_error.compare_exchange_strong(none, error);
    return Failure(kind == MDIST_GPU_OUT_OF_MEMORY ? MDIST_ERR_OUT_OF_MEMORY : MDIST_ERR_DEVICE,
                   text(what, " failed: ", api.text(error)))
        .reason(kind == MDIST_GPU_OUT_OF_MEMORY ? "gpu_memory"
                : kind == MDIST_GPU_FATAL       ? "gpu_fatal"
                                                : "gpu_failed")
        .native(error);
}

bool GpuCard::wait_for_stream(mdist_gpu_stream *stream, uint64_t timeout_ns, const char *what) const {
    const auto done = [&] {
        const int error = api_.stream_query(index_, stream);
        if (error != 0 && api_.kind(error) == MDIST_GPU_NOT_READY) return false;
        check(error, what);
        return true;
    };
    return poll_until(done, timeout_ns);
}

mdist_gpu_event *GpuCard::take_event() {
    {
        const std::lock_guard lock(mutex_);
        if (!events_.empty()) {
            mdist_gpu_event *const event = events_.back();
            events_.pop_back();
            return event;
        }
    }
    mdist_gpu_event *event = nullptr;
    check(api_.event_create(index_, 0, &event), "making an event");
    return event;
}

void GpuCard::keep_event(mdist_gpu_event *event) noexcept {
    try {
        const std::lock_guard lock(mutex_);
        events_.push_back(event);
    } catch (const std::bad_alloc &) {
        api_.event_destroy(index_, event);
    }
}

int GpuCard::ask_for_memory(FunctionRef<int()> ask) {
    constexpr uint64_t kPatienceNs = 10'000'000'000;
    const uint64_t before = retired_.count();
    const int error = ask();
    const bool again = error != 0 && api_.kind(error) == MDIST_GPU_OUT_OF_MEMORY && retired_.wait(before, kPatienceNs);
    return again ? ask() : error;
}

Failure GpuCard::failure(int error, const std::string &what) const {
    return gpu_failure(api_, error, text("gpu:", index_, ": ", what));
}

void GpuCard::require_sound() const {
    const int error = fatal_error.load(std::memory_order_relaxed);
    if (error == 0) return;
    throw Failure(MDIST_ERR_DEVICE,
                  text("gpu:", index_, ": this process can no longer use its GPUs after the failure \"",
                       api_.text(error), "\". Start a new process"))
        .reason("gpu_fatal")
        .native(error);
}

} // namespace mdist
