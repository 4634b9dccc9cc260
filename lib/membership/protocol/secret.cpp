// SPDX-License-Identifier: Apache-2.0
#include "membership/protocol/secret.h"

#include "util/failure.h"
#include "util/text.h"

#ifdef MDIST_HAVE_SODIUM
#include <sodium.h>
#endif

namespace mdist {

void check_secret(std::string_view secret) {
    if (secret.empty() || secrets_are_built()) return;
    throw Failure(MDIST_ERR_UNSUPPORTED,
                  "this build of libmdist cannot use a secret, since it was built without libsodium. Build it with "
                  "libsodium, or run without secret_file on a network that you trust")
        .reason("not_built");
}

#ifdef MDIST_HAVE_SODIUM

bool secrets_are_built() {
    return true;
}

Digest keyed_digest(std::string_view key, std::string_view message) {
    static_assert(sizeof(Digest) == crypto_auth_hmacsha256_BYTES);
    const auto bytes = [](std::string_view text) { return reinterpret_cast<const unsigned char *>(text.data()); };
    crypto_auth_hmacsha256_state state;
    Digest digest;
    crypto_auth_hmacsha256_init(&state, bytes(key), key.size());
    crypto_auth_hmacsha256_update(&state, bytes(message), message.size());
    crypto_auth_hmacsha256_final(&state, digest.data());
    sodium_memzero(&state, sizeof state);
    return digest;
}

bool same_digest(const Digest &a, const Digest &b) {
    return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

#else

bool secrets_are_built() {
    return false;
}

Digest keyed_digest(std::string_view key, std::string_view) {
    check_secret(key);
    throw Failure(MDIST_ERR_INTERNAL, "a digest was requested without a key");
}

bool same_digest(const Digest &a, const Digest &b) {
    unsigned differing = 0;
    for (std::size_t i = 0; i < a.size(); ++i) differing |= static_cast<unsigned>(a[i] ^ b[i]);
    return differing == 0;
}

#endif

} // namespace mdist
