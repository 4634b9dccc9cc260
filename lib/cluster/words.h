// SPDX-License-Identifier: Apache-2.0
// Words: small helpers on names and lists that configuration shares. Pure functions, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

std::string_view trimmed(std::string_view text);
std::string lower_case(std::string_view text);

/// At every comma, each item trimmed; no items for an empty text.
std::vector<std::string> split_list(std::string_view text);

/// The name that `wrong` was probably meant to be: few letters apart from it or from its last dotted part; "" if none
/// is.
std::string_view nearest_name(std::string_view wrong, std::span<const std::string> names);

} // namespace mdist
