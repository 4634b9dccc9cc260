// SPDX-License-Identifier: Apache-2.0
#include "launch/reachable.h"

#include "network.h"

#include <stdexcept>

namespace mdist {
namespace {

constexpr const char *kRemedy = "; set --store to an address where workers can reach this machine";

std::string own_address_towards(const std::string &host) {
    std::vector<Endpoint> endpoints;
    try {
        endpoints = resolve({host, "9"});         // any port: nothing is sent
    } catch (const std::runtime_error &unknown) { // --rsh may know the name
        throw std::runtime_error(std::string(unknown.what()) + kRemedy);
    }
    for (const Endpoint &far : endpoints)
        if (std::string near = near_end(far); !near.empty()) return near;
    throw std::runtime_error("this machine has no route to " + host + kRemedy);
}

} // namespace

std::string own_address_for(const Placement &placement) {
    const std::string other = placement.other_host();
    return other.empty() ? "127.0.0.1" : own_address_towards(other);
}

} // namespace mdist
