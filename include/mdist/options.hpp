// SPDX-License-Identifier: Apache-2.0
// Group: some replicas of the job, in an order that you choose. CallOptions: options of one call.
#pragma once

#include <chrono>
#include <vector>

#include <mdist/error.hpp>
#include <mdist/handle.hpp>

namespace mdist {

class Strategy;

// Keep groups: do not make one in each step. All workers make the same groups, in the same order.
//
//     mdist::Group group(strategy, {1, 0});        // position 0 is replica 1
//     replica.all_gather(x, both, group);          // in a step of its members
class Group : public Handle<mdist_group_t, mdist_group_destroy> {
  public:
    Group(Strategy &strategy, const std::vector<uint32_t> &replicas); // in strategy.hpp

    uint32_t size() const noexcept { return mdist_group_size(get()); }
    // The position of a replica of the job; MDIST_NONE if it is not a member.
    uint32_t position(uint32_t replica) const noexcept { return mdist_group_position(get(), replica); }
};

// Pass a duration (a timeout for each wait for other replicas) or a group, or set more:
// mdist::CallOptions().timeout(5s).group(pair). What is not set is the run's or the configuration's.
class CallOptions {
  public:
    CallOptions() noexcept = default;
    template <typename Number, typename Period>
    CallOptions(std::chrono::duration<Number, Period> duration) noexcept {
        timeout(duration);
    }
    CallOptions(const Group &only) noexcept { group(only); }

    template <typename Number, typename Period>
    CallOptions &timeout(std::chrono::duration<Number, Period> duration) noexcept {
        options_.timeout_ns =
            static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
        return *this;
    }
    // Only members of the group make the call. The group must outlive the call.
    CallOptions &group(const Group &only) noexcept {
        options_.group = only.get();
        return *this;
    }
    CallOptions &bytes_per_pack(int64_t bytes) noexcept {
        options_.bytes_per_pack = bytes;
        return *this;
    }
    CallOptions &implementation(mdist_implementation_t implementation) noexcept {
        options_.implementation = implementation;
        return *this;
    }

    const mdist_call_options_t *get() const noexcept { return &options_; }
    // How many replicas take part in a collective, in a job of so many.
    uint32_t members(uint32_t replicas) const noexcept {
        return options_.group != nullptr ? mdist_group_size(options_.group) : replicas;
    }

  private:
    mdist_call_options_t options_{sizeof(mdist_call_options_t), 0, 0, 0, 0, 0, nullptr};
};

using Timeout = CallOptions; // where only a timeout is meant

} // namespace mdist
