// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/party.h"

#include "device/gpu/gpu.h"
#include "util/text.h"

#include <utility>

namespace mdist {

bool Party::concurrent() const {
    return entered.load(std::memory_order_relaxed) || job_.concurrent() || job_.replicas.local_count() == 1;
}

bool Party::idle() const {
    bool idle = unfinished.empty();
    each_seat([&](const Seat &seat) { idle = idle && seat.operations.idle(seat.party); });
    return idle;
}

void Party::require_concurrent(const char *function, const Unfinished *own) const {
    if (!concurrent())
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      text(function,
                           " in a step needs executor: threads; with executor: caller the replicas run one after "
                           "another, so reduce between runs (mdist_strategy_all_reduce, mdist_strategy_reduce)"))
            .reason("executor_caller");
    if (being_ended != nullptr && being_ended != own)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      text(function,
                           " while a round of gradients ends; call mdist_gradients_test until it says done, or "
                           "mdist_gradients_wait, and then this"))
            .reason("round_ends");
}

void Party::await_turn(const char *function) {
    require_concurrent(function);
    job_.comm.operations().await_turn(local_index_);
}

void Party::await_all(const char *function) {
    require_concurrent(function);
    each_seat([](const Seat &seat) { seat.operations.await_turn(seat.party); });
}

void Party::each_seat(FunctionRef<void(const Seat &)> use) const {
    use(seat());
    if (!job_.groups.any()) return;
    std::size_t at = 0;
    while (const auto group = job_.groups.next(at))
        if (group->has(local_index_)) use(group->seat(local_index_));
}

Seat Party::seat() const {
    return seat_among_all(job_, local_index_);
}

void Party::finish_device() const {
    try {
        if (device().gpu() != nullptr && job_.elastic.on())
            device().gpu()->finish_unless_overdue();
        else
            device().finish();
    } catch (Failure &failure) {
        throw std::move(failure).about(text("replica ", id_)).replica(id_);
    }
}

} // namespace mdist
