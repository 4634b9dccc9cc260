// SPDX-License-Identifier: Apache-2.0
#include "comm/membership/secret.h"

#include <cerrno>
#include <cstring>

#include <sys/random.h>

#include "util/failure.h"
#include "util/text.h"

#ifdef MDIST_HAVE_SODIUM
#include <sodium.h>
#endif

namespace mdist {

void check_secret(std::string_view secret) {
    if (secret.empty() || secrets_are_built()) return;
    throw Failure(MDIST_ERR_UNSUPPORTED,
                  "this build of libmdist cannot use a secret: it was made without libsodium; build it with libsodium, "
                  "or run without secret_file on a network that you trust")
        .reason("not_built");
}

void system_random(void *bytes, std::size_t count) {
    auto *at = static_cast<unsigned char *>(bytes);
    while (count > 0) {
        const ssize_t got = getrandom(at, count, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            throw Failure(MDIST_ERR_RESOURCE, text("the system gives no random numbers: ", std::strerror(errno)))
                .native(errno);
        at += got;
        count -= static_cast<std::size_t>(got);
    }
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
    throw Failure(MDIST_ERR_INTERNAL, "a digest without a key was asked for");
}

bool same_digest(const Digest &a, const Digest &b) {
    return a == b;
}

#endif

} // namespace mdist
