// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/transfer.h"

#include <cstring>

namespace mdist {

Transfer::Transfer(Link &link, uint64_t tag, const std::vector<Outgoing> &sends, const std::vector<Incoming> &receives,
                   const Pending *earlier)
    : link_(link), earlier_(earlier) {
    const uint32_t self = link.self();
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
    link_.progress();
    return pending_.done() && (earlier_ == nullptr || earlier_->done());
}

} // namespace mdist
