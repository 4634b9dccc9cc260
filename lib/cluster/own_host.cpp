// SPDX-License-Identifier: Apache-2.0
// Finds the addresses of a cluster that mean this host. It resolves no names: that could take long, and the answer
// could be anything.
#include <arpa/inet.h>

#include <algorithm>

#include "cluster/config_cluster.h"
#include "cluster/names.h"

namespace mdist {

namespace {

/// Returns a host in one spelling: lower case, and IPv6 addresses as the system spells them.
std::string normal_host(std::string_view host) {
    std::string plain = lower_case(host);
    if (plain.size() > 2 && plain.front() == '[' && plain.back() == ']') plain = plain.substr(1, plain.size() - 2);
    in6_addr address;
    char spelled[INET6_ADDRSTRLEN];
    if (inet_pton(AF_INET6, plain.c_str(), &address) == 1 &&
        inet_ntop(AF_INET6, &address, spelled, sizeof spelled) != nullptr)
        return spelled;
    return plain;
}

bool is_number(std::string_view host) {
    return host.find_first_not_of("0123456789.") == host.npos || host.find(':') != host.npos;
}

bool is_same_host(std::string_view a, std::string_view b) {
    if (a == b) return true;
    if (is_number(a) || is_number(b)) return false;
    bool one_has_no_domain = (a.find('.') == a.npos) != (b.find('.') == b.npos);
    return one_has_no_domain && a.substr(0, a.find('.')) == b.substr(0, b.find('.'));
}

} // namespace

std::vector<Task> tasks_on(const Cluster &cluster, const std::vector<std::string> &hosts) {
    std::vector<std::string> own;
    for (const std::string &host : hosts) own.push_back(normal_host(host));
    std::vector<Task> tasks;
    for (TaskType type : kTaskTypes)
        for (const auto &[index, address] : cluster.tasks(type)) {
            std::string host = normal_host(std::string_view(address).substr(0, address.rfind(':')));
            auto is_this = [&](const std::string &name) { return is_same_host(host, name); };
            if (!host.empty() && std::any_of(own.begin(), own.end(), is_this)) tasks.push_back({type, index});
        }
    return tasks;
}

} // namespace mdist
