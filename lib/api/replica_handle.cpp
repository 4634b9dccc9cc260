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
};

} // namespace

mdist_replica_t *renew_handle(Replica &replica) {
    if (!replica.attachment) replica.attachment = std::make_unique<ReplicaHandle>(replica);
    return static_cast<ReplicaHandle &>(*replica.attachment).slot.renew();
}

void retire_handle(Replica &replica) noexcept {
    if (replica.attachment) static_cast<ReplicaHandle &>(*replica.attachment).slot.retire();
}

} // namespace mdist
