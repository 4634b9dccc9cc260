// SPDX-License-Identifier: Apache-2.0
#include "api/attachments.h"

#include "api/handle.h"

#include <utility>

namespace mdist {
namespace {

struct StrategyHandle : Attachment {
    mdist_strategy_t *handle = nullptr;
};

/// Lives in the replica. The slot keeps the strategy alive until the strategy is closed.
struct ReplicaHandle : Attachment {
    ReplicaHandle(Strategy &of, Replica &replica)
        : strategy(of), slot(std::shared_ptr<Replica>(of.shared_from_this(), &replica)) {}
    void step_over() noexcept override { slot.retire(); }

    Strategy &strategy;
    Renewable<mdist_replica_t> slot;
    mdist_replica_t *handle = nullptr;
};

const ReplicaHandle &attached_to(const Party &replica) {
    return static_cast<const ReplicaHandle &>(*replica.attachment);
}

} // namespace

mdist_strategy_t *publish_strategy(std::shared_ptr<Strategy> strategy) {
    Strategy &self = *strategy;
    auto attachment = std::make_unique<StrategyHandle>();
    mdist_strategy_t *const handle = attachment->handle = publish<mdist_strategy_t>(std::move(strategy));
    self.attachment = std::move(attachment);
    return handle;
}

mdist_strategy_t *handle_of(const Job &job) noexcept {
    return static_cast<const StrategyHandle &>(*job.attachment).handle;
}

mdist_replica_t *renew_handle(Strategy &strategy, Replica &replica) {
    if (!replica.attachment) replica.attachment = std::make_unique<ReplicaHandle>(strategy, replica);
    auto &attachment = static_cast<ReplicaHandle &>(*replica.attachment);
    return attachment.handle = attachment.slot.renew();
}

mdist_replica_t *current_handle(const Party &replica) noexcept {
    return attached_to(replica).handle;
}

void retire_handle(Replica &replica) noexcept {
    if (replica.attachment) static_cast<ReplicaHandle &>(*replica.attachment).slot.retire();
}

Strategy &strategy_of(const Replica &replica) noexcept {
    return attached_to(replica).strategy;
}

} // namespace mdist
