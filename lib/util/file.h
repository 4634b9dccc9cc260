// SPDX-License-Identifier: Apache-2.0
// Reads a small file whose path comes from the user. Any thread.
#pragma once

#include <cstddef>
#include <string>

namespace mdist {

/// Returns the content of a file of up to `most` bytes. `what` names the file in messages: "configuration file". Throws
///   NOT_FOUND  with errno
///   IO         with errno; reason "permission" if that is the cause
///   RESOURCE   with errno
///   CONFIG     reason "not_regular" for directories, pipes and devices; "too_large"; "exposed" if `only_owner` is set
///              and others than its owner may read or write it
std::string read_regular_file(const std::string &path, const char *what, std::size_t most, bool only_owner = false);

} // namespace mdist
