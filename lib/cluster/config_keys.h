// SPDX-License-Identifier: Apache-2.0
// Config keys: the table of everything that can be configured. Checks, environment names, `mdist keys` and the manual
// are made from it. Constant data, any thread.
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
    kText,      // any text that is not empty
    kDevices,   // "gpu:0,gpu:1"
    kAddresses, // "10.0.0.1:4400,10.0.0.2:4400"
    kPorts,     // "5000-5100", "5000"
    kEndpoint,  // "10.0.0.5", "10.0.0.5:5000"
};

struct ConfigKey {
    const char *name;
    KeyType type;
    const char *default_text;  // "" for a key without a default
    const char *choices;       // of a kChoice, separated by ", "
    std::size_t most;          // how many addresses a kAddresses takes
    const char *help;          // one short sentence, at most 80 characters
    char environment[48] = {}; // MDIST_COMMUNICATION_TIMEOUT for communication.timeout

    bool is_list() const { return type == KeyType::kDevices || type == KeyType::kAddresses; }
    /// The word for the type of value in the manual and in mdist_config_key_t.
    const char *kind() const;
};

/// In the order of the manual.
std::span<const ConfigKey> config_keys();

/// Returns NULL if there is no such key.
const ConfigKey *find_config_key(std::string_view name);

/// Returns a key. Throws CONFIG, reason "unknown_key", if there is none. The message names the nearest key or, for a
/// group such as "communication", the keys of the group.
const ConfigKey &config_key(std::string_view name);

/// Checks a value and returns the text to keep: trimmed, choices in lower case, lists as "a,b". Throws CONFIG, reason
/// "bad_value", if the key does not take the value.
std::string checked_value(const ConfigKey &key, std::string_view value);

/// The `MDIST_*` variables that have a meaning but are not keys.
std::span<const char *const> reserved_variables();

} // namespace mdist
