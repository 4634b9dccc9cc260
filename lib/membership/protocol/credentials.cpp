// SPDX-License-Identifier: Apache-2.0
#include "membership/protocol/credentials.h"

#include "util/text.h"

namespace mdist {

Hello hello_of(const MembershipOptions &options, Role role, uint32_t called) {
    Hello hello;
    hello.role = role;
    hello.called = called;
    hello.rank = options.rank;
    hello.size = options.size;
    hello.restart = options.restart;
    hello.job = options.job;
    return hello;
}

std::string store_key(const std::string &secret) {
    return handshake_key(secret, "store");
}

std::string peer_key(const MembershipOptions &options, const SessionId &session) {
    return handshake_key(options.secret, text("peers ", std::string(session.begin(), session.end())));
}

} // namespace mdist
