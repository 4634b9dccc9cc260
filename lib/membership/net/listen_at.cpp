// SPDX-License-Identifier: Apache-2.0
#include "membership/net/listen_at.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include "membership/net/address.h"
#include "membership/net/descriptors.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {
namespace {

/// The network interfaces of this host, with their addresses.
std::map<std::string, std::vector<std::string>> interfaces() {
    ifaddrs *list = nullptr;
    checked(getifaddrs(&list), "list the network interfaces");
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
    std::map<std::string, std::vector<std::string>> found;
    for (const ifaddrs *entry = list; entry != nullptr; entry = entry->ifa_next) {
        std::vector<std::string> &hosts = found[entry->ifa_name];
        const int family = entry->ifa_addr == nullptr ? AF_UNSPEC : entry->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        SocketAddress address;
        address.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        std::memcpy(&address.storage, entry->ifa_addr, address.length);
        hosts.push_back(endpoint_of(address).host);
    }
    return found;
}

bool is_v6(const std::string &host) {
    return host.find(':') != std::string::npos;
}

/// Prefers an address that is not link-local, and of these one of the family of `near`.
std::string best_host(const std::vector<std::string> &hosts, const std::string &near) {
    const auto worth = [&](const std::string &host) {
        return (is_link_local(host) ? 0 : 2) + (is_v6(host) == is_v6(near) ? 1 : 0);
    };
    return *std::max_element(hosts.begin(), hosts.end(),
                             [&](const auto &a, const auto &b) { return worth(a) < worth(b); });
}

std::string host_of_interface(const std::string &name, const std::string &near) {
    const auto all = interfaces();
    const auto found = all.find(name);
    if (found != all.end() && !found->second.empty()) return best_host(found->second, near);
    std::string there;
    for (const auto &[other, hosts] : all) {
        there += text(there.empty() ? "" : ", ", other, hosts.empty() ? " (no address" : " (");
        for (const std::string &host : hosts) there += text(&host == &hosts.front() ? "" : " ", host);
        there += ')';
    }
    throw Failure(MDIST_ERR_CONFIG,
                  text("communication.interface is ", in_quotes(name),
                       found == all.end() ? ", which this host does not have" : ", which has no address",
                       "; this host has ", there))
        .reason("no_interface");
}

} // namespace

uint16_t ListenAt::port(uint32_t n) const {
    if (any_port()) return 0;
    return static_cast<uint16_t>(first_port + (static_cast<uint32_t>(getpid()) + n) % port_count());
}

Failure no_free_port(const ListenAt &settings, const Endpoint &at) {
    const uint32_t count = settings.port_count();
    return Failure(MDIST_ERR_RESOURCE,
                   text("cannot listen at ", at.host, ": no port of communication.ports, ", settings.first_port, "-",
                        settings.last_port, ", is free; ", count, count == 1 ? " was" : " were",
                        " tried. Each worker of a host needs one; name more ports"))
        .reason("address_in_use")
        .native(EADDRINUSE);
}

std::string firewall_advice(const ListenAt &settings) {
    return text(". If a firewall is between them, ",
                settings.any_port() ? "set communication.ports on all workers, and open these ports on their hosts"
                                    : "open the ports of communication.ports on the hosts of all workers");
}

std::string host_to_bind(const ListenAt &settings, const std::string &near) {
    if (!settings.host.empty()) return settings.host;
    return settings.interface.empty() ? near : host_of_interface(settings.interface, near);
}

Endpoint endpoint_to_tell(const ListenAt &settings, Endpoint bound, const std::string &near) {
    const bool everywhere = bound.host == "0.0.0.0" || bound.host == "::";
    if (!settings.told.host.empty())
        bound.host = settings.told.host;
    else if (everywhere && is_v6(bound.host) != is_v6(near))
        throw Failure(MDIST_ERR_CONFIG,
                      text("communication.listen is ", bound.host, ", but this worker reached the store from ", near,
                           "; set communication.address to the address that the others are to call"))
            .reason("no_address");
    else if (everywhere || (settings.host.empty() && settings.interface.empty()))
        bound.host.clear();
    if (settings.told.port != 0) bound.port = settings.told.port;
    bound.host = bound.host.substr(0, bound.host.find('%')); // a zone is of one host only
    return bound;
}

} // namespace mdist
