// SPDX-License-Identifier: Apache-2.0
#include "launch/hosts.h"

#include <algorithm>

namespace mdist {
namespace {

constexpr uint32_t kMostFailures = 3;
/// A worker that ran for so long could work on its host, whatever ended it.
constexpr Clock::duration kSound = std::chrono::minutes(1);

} // namespace

Hosts::Hosts(const Placement &placement, std::optional<Clock::duration> leave_out)
    : first_node_(placement.first_node), leave_out_(leave_out) {
    set(placement.hosts);
}

void Hosts::set(const std::vector<Host> &hosts) {
    for (Known &known : known_) known.host.workers = 0;
    for (const Host &host : hosts) {
        const auto found = std::find_if(known_.begin(), known_.end(),
                                        [&](const Known &known) { return known.host.name == host.name; });
        if (found == known_.end())
            known_.push_back({host});
        else
            found->host = host;
    }
}

uint32_t Hosts::room_of(const std::string &host) const {
    for (const Known &known : known_)
        if (known.host.name == host) return known.host.workers;
    return 0;
}

std::optional<Place> Hosts::find(uint32_t rank, const std::vector<Place> &taken, const std::string &preferred,
                                 Time now) const {
    std::vector<std::vector<uint32_t>> used(known_.size()); // local ranks
    for (const Place &place : taken) used.at(place.node_rank - first_node_).push_back(place.local_rank);
    std::optional<Place> found;
    for (std::size_t at = 0; at < known_.size(); ++at) {
        const Host &host = known_[at].host;
        const bool is_out = now < known_[at].out_until || used[at].size() >= host.workers;
        if (is_out || (found && host.name != preferred)) continue;
        uint32_t local_rank = 0;
        while (std::find(used[at].begin(), used[at].end(), local_rank) != used[at].end()) ++local_rank;
        const uint32_t node_rank = first_node_ + static_cast<uint32_t>(at);
        found = Place{rank, local_rank, host.workers, node_rank, host.name, host.remote};
    }
    return found;
}

std::vector<Place> Hosts::first(uint32_t first_rank, uint32_t count) const {
    std::vector<Place> places;
    for (uint32_t i = 0; i < count; ++i)
        if (const auto place = find(first_rank + i, places, "", Time::max())) places.push_back(*place);
    return places;
}

bool Hosts::note_failure(const std::string &host, Time began, Time now) {
    const auto found =
        std::find_if(known_.begin(), known_.end(), [&](const Known &known) { return known.host.name == host; });
    if (!leave_out_ || found == known_.end() || began < found->last_failure) return false;
    found->failures = now - began < kSound ? found->failures + 1 : 1;
    found->last_failure = now;
    if (found->failures < kMostFailures) return false;
    found->out_until = now + *leave_out_;
    return true;
}

} // namespace mdist
