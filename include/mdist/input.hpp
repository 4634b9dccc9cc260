// SPDX-License-Identifier: Apache-2.0
// Input: how a dataset is distributed over the workers of a job and their replicas.
#pragma once

#include <vector>

#include <mdist/error.hpp>

namespace mdist {

// Who reads what, and how many rows each replica gets. The defaults are what the configuration says.
struct InputOptions {
    mdist_shard_policy_t policy = MDIST_SHARD_AUTO;
    mdist_uneven_t uneven = MDIST_UNEVEN_DEFAULT;
    mdist_replication_mode_t replication_mode = MDIST_REPLICATION_PER_WORKER; // only with distribute_from_function
    uint32_t flags = 0;          // MDIST_INPUT_NO_SPLIT, MDIST_INPUT_WHOLE_STEPS, MDIST_INPUT_PLACE_ON_DEVICE
    int32_t fetch_to_device = 0; // 1: makes the next elements while the program works; -1: does not
    uint64_t buffer_size = 0;    // how many elements of each replica are made ahead when fetching; 0: 1
    std::vector<double> weights; // one for each replica of the job: rows are shared out in proportion. Empty: all alike
};

// For whom the function of distribute_from_function makes a dataset.
class InputPipeline {
  public:
    explicit InputPipeline(const mdist_input_context_t &context) noexcept : context_(context) {}

    uint32_t count() const noexcept { return context_.pipeline_count; } // datasets made for the job
    uint32_t index() const noexcept { return context_.pipeline; }       // which of them this one is
    uint32_t replica_count() const noexcept { return context_.replica_count; }

    // How many rows of the global batch one replica gets. Throws if they cannot be shared out evenly.
    uint64_t batch_size(uint64_t global_batch_size) const {
        uint64_t out = 0;
        detail::call(mdist_input_context_batch_size, &context_, global_batch_size, &out);
        return out;
    }

  private:
    mdist_input_context_t context_;
};

namespace detail {

inline mdist_input_options_t raw(const InputOptions &options) noexcept {
    return {sizeof(mdist_input_options_t),
            options.flags,
            options.policy,
            options.uneven,
            options.replication_mode,
            options.fetch_to_device,
            options.buffer_size,
            options.weights.empty() ? nullptr : options.weights.data(),
            options.weights.size()};
}

} // namespace detail
} // namespace mdist
