// SPDX-License-Identifier: Apache-2.0
#include "api/replica_handle.h"

#include "api/handle.h"
#include "strategy/strategy.h"

#include <memory>

namespace mdist {
namespace {

/// Lives in the replica; the slot keeps the strategy alive meanwhile, until the strategy is closed.
struct ReplicaHandle : Attachment {
    explicit ReplicaHandle(Replica &replica)
        : slot(std::shared_ptr<Replica>(replica.strategy().shared_from_this(), &replica)) {}
    Renewable<mdist_replica_t> slot;
    mdist_replica_t *handle = nullptr;
};

} // namespace

mdist_replica_t *renew_handle(Replica &replica) {
    if (!replica.attachment) replica.attachment = std::make_unique<ReplicaHandle>(replica);
    auto &attachment = static_cast<ReplicaHandle &>(*replica.attachment);
    return attachment.handle = attachment.slot.renew();
}

mdist_replica_t *current_handle(const Replica &replica) noexcept {
    return static_cast<const ReplicaHandle &>(*replica.attachment).handle;
}

void retire_handle(Replica &replica) noexcept {
    if (replica.attachment) static_cast<ReplicaHandle &>(*replica.attachment).slot.retire();
}

} // namespace mdist
