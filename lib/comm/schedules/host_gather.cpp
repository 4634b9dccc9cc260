// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/host_gather.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

/// Long pieces are cut, so that mates need not wait for the whole of them.
template <class Use>
void each_chunk(std::size_t bytes, Use use) {
    constexpr std::size_t kMost = 262144;
    for (std::size_t at = 0; at < bytes; at += kMost) use(at, std::min(kMost, bytes - at));
}

} // namespace

HostGather::HostGather(uint32_t self, uint32_t workers, uint32_t per_host)
    : self_(self), workers_(workers), per_host_(per_host) {
    for (uint32_t place = 1; place < per_host; ++place)
        passed_.to.push_back(host_of(self) * per_host + (place_of(self) + place) % per_host);
}

void HostGather::give(const char *from, std::size_t bytes) {
    for (uint32_t i = 1; i < workers_; ++i) // beginning with the next, so that not all give to the same
        if (const uint32_t to = (self_ + i) % workers_;
            host_of(to) == host_of(self_) || place_of(to) == place_of(self_))
            each_chunk(bytes, [&](std::size_t at, std::size_t count) { sends_.push_back({to, from + at, count}); });
}

void HostGather::receive(uint32_t giver, char *to, std::size_t bytes) {
    const bool is_mate = host_of(giver) == host_of(self_), has_place = place_of(giver) == place_of(self_);
    std::vector<Transfer::Incoming> &list = is_mate ? of_mates_ : has_place ? passed_.receives : through_mates_;
    const uint32_t from = is_mate || has_place ? giver : host_of(self_) * per_host_ + place_of(giver);
    each_chunk(bytes, [&](std::size_t at, std::size_t count) { list.push_back({from, to + at, count}); });
}

Transfer::Passed HostGather::finish(std::vector<Transfer::Outgoing> &sends, std::vector<Transfer::Incoming> &receives) {
    sends.insert(sends.end(), sends_.begin(), sends_.end());
    receives.insert(receives.end(), of_mates_.begin(), of_mates_.end());
    receives.insert(receives.end(), through_mates_.begin(), through_mates_.end());
    return std::move(passed_);
}

} // namespace mdist
