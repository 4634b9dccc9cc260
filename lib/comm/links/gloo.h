// SPDX-License-Identifier: Apache-2.0
// Gloo link: messages between workers over Gloo's transport, which uses TCP between hosts. Optional.
//
// Gloo lives in a module of its own, libmdist-gloo.so, beside libmdist.so or in the folder mdist beside it. The module
// is loaded when somebody first asks for it, so the library itself can be loaded without Gloo. The module must come
// from the same build, because the two share C++ types; any other is refused. Any thread.
#pragma once

#include "comm/links/gloo_options.h"
#include "comm/links/link.h"

#include <memory>
#include <string>

namespace mdist {

/// Whether the module exists and can be loaded. If not, `why_not` gets a sentence that says why.
bool gloo_available(std::string *why_not = nullptr);

/// Makes the link. All parties call it at the same time. Returns when the pairs with `peers` are connected and have
/// proved who they are. Starts one thread, which sleeps in epoll with the program's signals blocked. Throws UNSUPPORTED
/// if Gloo is not available, INVALID_ARGUMENT, IO if the address does not belong to this host, and MISMATCH if a peer
/// does not want this worker. Throws PEER_LOST, UNAUTHENTICATED and TIMEOUT, naming the worker. Passes on what exchange
/// throws.
std::unique_ptr<Link> make_gloo_link(const GlooOptions &options);

/// Makes the library look for the module only in this folder. For tests; call it before anybody asks for the module.
void look_for_gloo_in(std::string folder);

} // namespace mdist
