// SPDX-License-Identifier: Apache-2.0
#include "membership/endpoint.h"

#include "util/text.h"

namespace mdist {

std::string text_of(const Endpoint &endpoint) {
    const bool v6 = endpoint.host.find(':') != std::string::npos;
    return v6 ? text('[', endpoint.host, "]:", endpoint.port) : text(endpoint.host, ':', endpoint.port);
}

} // namespace mdist
