// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/transfer.h"

#include <cstring>
#include <utility>

namespace mdist {

Transfer::Transfer(Link &link, uint64_t tag, const std::vector<Outgoing> &sends, const std::vector<Incoming> &receives,
                   const Pending *earlier, Passed passed)
    : link_(link), tag_(tag), earlier_(earlier), passed_(std::move(passed)), arrivals_(passed_.receives.size()) {
    const uint32_t self = link.self();
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
        const Incoming &range = passed_.receives[i];
        link.receive(range.worker, tag, range.data, range.bytes, arrivals_[i]);
    }
    for (const Incoming &range : receives)
        if (range.worker != self) link.receive(range.worker, tag, range.data, range.bytes, pending_);
    auto own = receives.begin();
    for (const Outgoing &range : sends) {
        if (range.worker != self) {
            link.send(range.worker, tag, range.data, range.bytes, pending_);
            continue;
        }
        while (own->worker != self) ++own;
        if (range.bytes != 0) std::memmove(own->data, range.data, range.bytes);
        ++own;
    }
}

bool Transfer::advance() {
    do link_.progress();
    while (pass_on());
    return passed_on_ == arrivals_.size() && pending_.done() && (earlier_ == nullptr || earlier_->done());
}

/// Passes on what has come. Returns whether there was any.
bool Transfer::pass_on() {
    const std::size_t before = passed_on_;
    for (; passed_on_ < arrivals_.size() && arrivals_[passed_on_].done(); ++passed_on_) {
        const Incoming &range = passed_.receives[passed_on_];
        for (const uint32_t worker : passed_.to) link_.send(worker, tag_, range.data, range.bytes, pending_);
    }
    return passed_on_ != before;
}

} // namespace mdist
