// SPDX-License-Identifier: Apache-2.0
// Config values: reads the text of one value. A wrong value throws CONFIG, reason "bad_value"; the message shows the
// value and what would be right. The locale does not matter. Pure functions, any thread.
#pragma once

#include "util/failure.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace mdist {

/// CONFIG, reason "bad_value".
Failure bad_value(std::string message);

/// "30ms", "1.5s", "2m", "1h"; a plain number is seconds. More than 0, at most kLongestDurationNs.
std::uint64_t parse_duration_ns(std::string_view value);

/// A hundred years. A deadline that far from now still fits into 63 bits of nanoseconds.
inline constexpr std::uint64_t kLongestDurationNs = 876'000ull * 3600 * 1'000'000'000;

/// "0", "512", "64KiB", "4MiB", "1GiB", "1TiB".
std::uint64_t parse_bytes(std::string_view value);

/// Digits only, at most 2^31 - 1.
std::uint64_t parse_count(std::string_view value);

/// "5000-5100", "5000": the first and the last, from 1.
std::pair<std::uint16_t, std::uint16_t> parse_ports(std::string_view value);

/// "10.0.0.5", "10.0.0.5:5000", "2001:db8::5", "[2001:db8::5]:5000": a numeric address, and its port or 0.
std::pair<std::string, std::uint16_t> parse_endpoint(std::string_view value);

/// "host:port" or "[IPv6 address]:port".
void check_address(std::string_view value);

} // namespace mdist
