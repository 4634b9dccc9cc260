// SPDX-License-Identifier: Apache-2.0
// Gloo link: messages between workers over Gloo's transport, TCP between hosts. Optional.
//
// Gloo lives in a module of its own, libmdist-gloo.so, beside libmdist.so or in the folder mdist beside it. It is
// loaded when somebody first asks for it, so that the library needs no Gloo to be loaded itself. The module is of this
// very build or refused: the two share C++ types. Any thread.
#pragma once

#include "comm/links/link.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mdist {

struct GlooOptions {
    uint32_t self = 0;
    uint32_t parties = 1;
    std::string address;         // numeric, of an interface of this host, under which the peers reach it
    std::vector<uint32_t> peers; // who has something to say to whom: mutual, without self
    /// Gives every party's blob, by rank, authenticated: pairs trust what they find there.
    std::function<std::vector<std::string>(const std::string &blob)> exchange;
    uint64_t timeout_ns = 0; // for connecting, from the end of the exchange
};

/// Whether the module is there and can be loaded. `why_not` gets a sentence if it cannot.
bool gloo_available(std::string *why_not = nullptr);

/// All parties call it together. Returns when the pairs with `peers` are connected and have proved who they are. Throws
/// UNSUPPORTED where Gloo is not available, INVALID_ARGUMENT, IO where the address is not of this host, MISMATCH where
/// a peer does not want this worker, PEER_LOST, UNAUTHENTICATED and TIMEOUT, naming the worker, and what exchange
/// throws. Starts one thread, which sleeps in epoll with the program's signals blocked.
std::unique_ptr<Link> make_gloo_link(const GlooOptions &options);

/// Looks for the module in this folder alone. For tests, before anybody asks for it.
void look_for_gloo_in(std::string folder);

} // namespace mdist
