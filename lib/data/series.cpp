// SPDX-License-Identifier: Apache-2.0
#include "data/series.h"

#include <utility>

namespace mdist {

std::shared_ptr<Series> Series::same(uint64_t number, std::shared_ptr<Series> outer) {
    auto made = std::make_shared<Series>();
    made->same_ = number;
    made->outer_ = std::move(outer);
    return made;
}

uint64_t Series::next(const std::shared_ptr<Counter> &counter) {
    if (same_) return *same_;
    uint64_t number = 0; // stays 0 if there are more shuffles than were saved; complete() tells
    if (!saved_)
        number = counter->fetch_add(1, std::memory_order_relaxed);
    else if (numbers_.size() < saved_->size())
        number = (*saved_)[numbers_.size()];
    if (saved_) counters_.push_back(counter);
    numbers_.push_back(number);
    return number;
}

void Series::refuse(Failure why) {
    if (outer_ != nullptr) return outer_->refuse(std::move(why));
    const std::lock_guard lock(mutex_);
    if (!refusal_) refusal_ = std::move(why);
}

void Series::require_exact() const {
    const std::lock_guard lock(mutex_);
    if (refusal_) throw Failure(*refusal_);
}

void Series::commit() noexcept {
    for (std::size_t i = 0; i < counters_.size(); ++i) {
        Counter &counter = *counters_[i];
        const uint64_t past = numbers_[i] + 1;
        uint64_t now = counter.load(std::memory_order_relaxed);
        while (now < past && !counter.compare_exchange_weak(now, past, std::memory_order_relaxed)) continue;
    }
}

} // namespace mdist
