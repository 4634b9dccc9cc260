// SPDX-License-Identifier: Apache-2.0
#include "util/clock.h"

#include "util/process_wide.h"

namespace mdist {
namespace {

class Monotonic final : public Clock {
  public:
    uint64_t now_ns() const override {
        timespec now = {};
        clock_gettime(CLOCK_MONOTONIC, &now);
        return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
    }
};

} // namespace

const Clock &monotonic_clock() {
    return process_wide<Monotonic>();
}

} // namespace mdist
