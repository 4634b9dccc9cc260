// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/overdue.h"

#include "device/gpu/event.h"
#include "util/process_wide.h"
#include "util/text.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace mdist {
namespace {

bool is_past(const Event &mark) noexcept {
    try {
        return mark.happened();
    } catch (const std::exception &) {
        return false;
    }
}

class Overdue {
  public:
    void add(GpuCard &card, mdist_gpu_stream *stream) noexcept {
        try {
            Event mark(card, stream);
            const std::lock_guard lock(mutex_);
            marks_.push_back(std::move(mark));
            any_ = true;
        } catch (const std::exception &) {
            const std::lock_guard lock(mutex_);
            for_ever_ = true;
            any_ = true;
        }
    }

    bool any() noexcept {
        if (!any_) return false;
        const std::lock_guard lock(mutex_);
        std::erase_if(marks_, is_past);
        any_ = for_ever_ || !marks_.empty();
        return any_;
    }

  private:
    std::atomic<bool> any_{false};
    std::mutex mutex_;
    std::vector<Event> marks_;
    bool for_ever_ = false;
};

} // namespace

Failure not_done(GpuCard &card, mdist_gpu_stream *stream, const std::string &what, uint64_t timeout_ns) {
    process_wide<Overdue>().add(card, stream);
    return Failure(MDIST_ERR_TIMEOUT, text(what, " did not finish within ", timeout_ns / 1'000'000,
                                           " ms; earlier work on its stream may never end"))
        .reason("gpu_timeout");
}

bool keeps_memory() noexcept {
    return process_wide<Overdue>().any();
}

} // namespace mdist
