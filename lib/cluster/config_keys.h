// SPDX-License-Identifier: Apache-2.0
// Config keys: the one table of what can be configured; checks, environment names, help and docs follow from it.
// Constant data, any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace mdist {

enum class KeyType {
    kChoice,    // one word of `choices`
    kDuration,  // "600s"
    kBytes,     // "4MiB"
    kCount,     // "3"
    kText,      // anything but nothing
    kDevices,   // "gpu:0,gpu:1"
    kAddresses, // "10.0.0.1:4400,10.0.0.2:4400"
};

struct ConfigKey {
    const char *name;
    KeyType type;
    const char *default_text; // "" for a key without a default
    const char *choices;      // of a kChoice, separated by ", "
    std::size_t most;         // addresses that a kAddresses takes
    const char *help;

    bool is_list() const { return type == KeyType::kDevices || type == KeyType::kAddresses; }
    /// MDIST_COMMUNICATION_TIMEOUT for communication.timeout.
    std::string environment_name() const;
};

/// In the order of the manual.
std::span<const ConfigKey> config_keys();

/// NULL where there is no such key.
const ConfigKey *find_config_key(std::string_view name);

/// Throws CONFIG, reason "unknown_key", naming the nearest key or, for a group such as "communication", its keys.
const ConfigKey &config_key(std::string_view name);

/// `MDIST_*` variables that mean something, but are not keys.
std::span<const char *const> reserved_variables();

} // namespace mdist
