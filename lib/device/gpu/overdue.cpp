// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/overdue.h"

#include <exception>
#include <utility>

namespace mdist {
namespace {

bool is_past(const Event &mark) noexcept {
    try {
        return mark.happened();
    } catch (const std::exception &) {
        return false;
    }
}

} // namespace

void Overdue::add(PhysicalGpu &physical, mdist_gpu_stream *stream) noexcept {
    try {
        Event mark(physical, stream);
        const std::lock_guard lock(mutex_);
        marks_.push_back(std::move(mark));
        any_ = true;
    } catch (const std::exception &) {
        const std::lock_guard lock(mutex_);
        for_ever_ = true;
        any_ = true;
    }
}

bool Overdue::any() noexcept {
    if (!any_) return false;
    const std::lock_guard lock(mutex_);
    std::erase_if(marks_, is_past);
    any_ = for_ever_ || !marks_.empty();
    return any_;
}

} // namespace mdist
