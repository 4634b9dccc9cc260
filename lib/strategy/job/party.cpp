// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/party.h"

#include "device/gpu/gpu.h"
#include "util/text.h"

#include <utility>

namespace mdist {

void Party::await_turn(const char *function) {
    require_concurrent(function);
    job_.operations().await_turn(local_index_);
}

void Party::await_all(const char *function) {
    await_turn(function);
    if (!job_.has_groups()) return;
    std::size_t at = 0;
    while (const auto group = job_.next_group(at)) {
        if (!group->has(local_index_)) continue;
        const Seat seat = group->seat(local_index_);
        seat.operations.await_turn(seat.party);
    }
}

Seat Party::seat() const {
    return seat_among_all(job_, local_index_);
}

void Party::finish_device() const {
    try {
        if (device().gpu() != nullptr && job_.elastic().on())
            device().gpu()->finish_unless_overdue();
        else
            device().finish();
    } catch (Failure &failure) {
        throw std::move(failure).about(text("replica ", id_)).replica(id_);
    }
}

} // namespace mdist
