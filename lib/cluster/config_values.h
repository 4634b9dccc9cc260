// SPDX-License-Identifier: Apache-2.0
// Config values: reading the text of one value. Whatever is wrong with it is a Failure with status CONFIG and reason
// "bad_value", whose sentence shows the value and what would be right. No locale is looked at. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/config_keys.h"

namespace mdist {

/// "30ms", "1.5s", "2m", "1h"; a plain number is seconds. More than 0, at most kLongestDurationNs.
std::uint64_t parse_duration_ns(std::string_view value);

/// A hundred years: a deadline that far from now still fits 63 bits of nanoseconds.
inline constexpr std::uint64_t kLongestDurationNs = 876'000ull * 3600 * 1'000'000'000;

/// "0", "512", "64KiB", "4MiB", "1GiB", "1TiB".
std::uint64_t parse_bytes(std::string_view value);

/// Digits only, at most 2^31 - 1.
std::uint64_t parse_count(std::string_view value);

/// "host:port" or "[IPv6 address]:port".
void check_address(std::string_view value);

/// The text to keep for this key: trimmed, choices in lower case, lists as "a,b". Throws if the key does not take it.
std::string checked_value(const ConfigKey &key, std::string_view value);

} // namespace mdist
