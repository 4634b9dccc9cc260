// SPDX-License-Identifier: Apache-2.0
// ElasticSettings: what the keys `elastic.*` of a configuration say together. Plain data; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace mdist {

class Config;

struct ElasticSettings {
    uint32_t replicas = 0; // 0: the job is not elastic
    uint32_t min_workers = 1;
    uint32_t max_workers = 1;
    uint64_t wait_ns = 0;
    uint32_t copies = 1;
    uint64_t rewind_bytes = 0; // of each iterator
    uint32_t max_losses_per_commit = 3;
    std::string state; // the folder in which the store keeps its state; empty: none
    bool open = false; // without a secret, newcomers are let in all the same

    bool on() const { return replicas != 0; }
};

/// Reads the keys. Throws CONFIG (`contradiction`) for numbers that do not fit together, or for other keys that an
/// elastic job cannot have.
ElasticSettings elastic_settings(const Config &config);

} // namespace mdist
