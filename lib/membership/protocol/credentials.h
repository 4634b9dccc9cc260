// SPDX-License-Identifier: Apache-2.0
// Credentials: what a worker says about itself when it connects, and the keys by which both sides prove that they
// belong to the job.
#pragma once

#include <string>

#include "membership/protocol/handshake.h"
#include "membership/protocol/options.h"

namespace mdist {

/// Returns the HELLO of this worker for the worker `called` or the store, without the nonce.
Hello hello_of(const MembershipOptions &options, Role role, uint32_t called);
/// Returns the key of handshakes with the store, empty for an empty secret.
std::string store_key(const std::string &secret);
/// Returns the key of handshakes between the workers of a session, empty for an empty secret.
std::string peer_key(const MembershipOptions &options, const SessionId &session);

} // namespace mdist
