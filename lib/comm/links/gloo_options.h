// SPDX-License-Identifier: Apache-2.0
// GlooOptions: what a Gloo link is made from. libmdist and the module share this type.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mdist {

struct GlooOptions {
    uint32_t self = 0;
    uint32_t parties = 1;
    std::string address;         // numeric; belongs to an interface of this host and is reachable by the peers
    std::vector<uint32_t> peers; // workers to exchange messages with: mutual, without self
    /// Sends this party's blob and returns every party's, by rank. Must be authenticated: pairs trust what they find
    /// there.
    std::function<std::vector<std::string>(const std::string &blob)> exchange;
    uint64_t timeout_ns = 0; // for connecting, counted from the end of the exchange
};

} // namespace mdist
