// SPDX-License-Identifier: Apache-2.0
// Names: small helpers for names and lists in configuration. Pure functions, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

std::string_view trimmed(std::string_view text);
std::string lower_case(std::string_view text);

/// Splits a text at every comma and trims each item. An empty text has no items.
std::vector<std::string> split_list(std::string_view text);

/// Returns the name that `wrong` was probably meant to be, or "". It differs in few letters from `wrong`, or its last
/// dotted part does.
std::string_view nearest_name(std::string_view wrong, std::span<const std::string> names);

} // namespace mdist
