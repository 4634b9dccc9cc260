// SPDX-License-Identifier: Apache-2.0
// Secret: keyed digests by which workers prove to each other that they know the job's secret. The only user of
// libsodium. A build without libsodium refuses secrets. Any thread.
#pragma once

#include <array>
#include <string_view>

namespace mdist {

/// An HMAC-SHA256. Also holds random bytes of that size, such as nonces and tokens.
using Digest = std::array<unsigned char, 32>;

bool secrets_are_built();
/// Throws UNSUPPORTED (`not_built`) if this build has no cryptography and `secret` is not empty.
void check_secret(std::string_view secret);

/// Returns the HMAC-SHA256. Needs a build with cryptography.
Digest keyed_digest(std::string_view key, std::string_view message);
/// Compares in a time that does not depend on where the digests differ.
bool same_digest(const Digest &a, const Digest &b);

inline std::string_view view_of(const Digest &digest) {
    return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

} // namespace mdist
