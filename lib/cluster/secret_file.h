// SPDX-License-Identifier: Apache-2.0
// Reads the secret of a job from the file that `secret_file` names. Workers prove to each other that they know it.
#pragma once

#include <cstddef>
#include <string>

namespace mdist {

class Config;

/// The least number of bytes of text in the file. The text must be random, like the text that `mdist secret` writes. A
/// stranger that reaches a worker's port can try a guess. A stranger that answers in a worker's place can try as many
/// guesses as it likes.
inline constexpr std::size_t kShortestSecret = 32;

/// Returns the secret without newlines at its end, or "" if no file is named. Only the owner may have access to the
/// file. Throws what read_regular_file() throws, and CONFIG if the secret is too short.
std::string read_secret(const Config &config);

} // namespace mdist
