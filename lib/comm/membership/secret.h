// SPDX-License-Identifier: Apache-2.0
// Secret: keyed digests by which workers show each other that they know the job's secret. The only user of libsodium,
// without which a secret is refused. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace mdist {

/// Of HMAC-SHA256.
using Digest = std::array<unsigned char, 32>;

bool secrets_are_built();
/// Throws UNSUPPORTED (`not_built`) where this build has no cryptography and `secret` is not empty.
void check_secret(std::string_view secret);

/// HMAC-SHA256. Needs a build with cryptography.
Digest keyed_digest(std::string_view key, std::string_view message);
/// In a time that does not depend on where they differ.
bool same_digest(const Digest &a, const Digest &b);

inline std::string_view view_of(const Digest &digest) {
    return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

/// From the kernel. Throws RESOURCE.
void system_random(void *bytes, std::size_t count);

} // namespace mdist
