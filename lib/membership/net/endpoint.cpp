// SPDX-License-Identifier: Apache-2.0
#include "membership/net/endpoint.h"

#include "util/text.h"

namespace mdist {

std::string text_of(const Endpoint &endpoint) {
    const bool v6 = endpoint.host.find(':') != std::string::npos;
    return v6 ? text('[', endpoint.host, "]:", endpoint.port) : text(endpoint.host, ':', endpoint.port);
}

std::string host_and_pid(const Endpoint &endpoint) {
    return endpoint.pid == 0 ? endpoint.host : text(endpoint.host, ", pid ", endpoint.pid);
}

bool is_loopback(const Endpoint &endpoint) {
    return endpoint.host.starts_with("127.") || endpoint.host == "::1";
}

void complete_host(Endpoint &listens, const std::string &seen) {
    if (listens.host.empty()) listens.host = seen.substr(0, seen.find('%')); // a zone is of one host only
}

} // namespace mdist
