// SPDX-License-Identifier: Apache-2.0
// Reading a small file whose path somebody gave us. Any thread.
#pragma once

#include <cstddef>
#include <string>

namespace mdist {

/// Its whole content, up to `most` bytes. `what` names it in messages: "configuration file". Throws NOT_FOUND; IO,
/// reason "permission" where that is why; RESOURCE, each with errno; CONFIG, reason "not_regular" for directories,
/// pipes and devices, "too_large", and "exposed" where `only_owner` and others than its owner may read or write it.
std::string read_regular_file(const std::string &path, const char *what, std::size_t most, bool only_owner = false);

} // namespace mdist
