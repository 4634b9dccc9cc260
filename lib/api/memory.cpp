// SPDX-License-Identifier: Apache-2.0
#include "api/memory.h"

#include "api/check.h"
#include "api/guard.h"
#include "strategy/strategy.h"
#include "util/process_wide.h"
#include "util/text.h"

#include <mdist/memory.h>

#include <mutex>
#include <unordered_map>
#include <utility>

using namespace mdist;

namespace {

/// Memory given to the program. Finalizers may still use it when the program ends.
class GivenOut {
  public:
    void *add(Memory memory) {
        void *const address = memory.get();
        const std::lock_guard lock(mutex_);
        blocks_.emplace(address, std::move(memory));
        return address;
    }
    /// Returns null if the address was not given out, or was removed before.
    Memory remove(void *address) noexcept {
        const std::lock_guard lock(mutex_);
        const auto found = blocks_.find(address);
        if (found == blocks_.end()) return nullptr;
        Memory memory = std::move(found->second);
        blocks_.erase(found);
        return memory; // freed outside of the lock
    }

  private:
    std::mutex mutex_;
    std::unordered_map<void *, Memory> blocks_;
};

} // namespace

void *mdist::give_out(Memory memory) {
    return process_wide<GivenOut>().add(std::move(memory));
}

mdist_status_t mdist_alloc(mdist_strategy_t *strategy, uint32_t local_replica, size_t bytes, void **out,
                           mdist_error_t **error) {
    return guard("mdist_alloc", error, [&] {
        const auto pinned = strategy == nullptr ? Pinned<Strategy>() : pin(strategy);
        need(out, "out");
        const uint32_t replicas = pinned ? pinned->replicas.local_count() : 1;
        if (local_replica >= replicas)
            throw invalid(pinned ? text("local_replica is ", local_replica, "; this strategy has ", replicas)
                                 : text("local_replica is ", local_replica, "; without a strategy it must be 0"));
        Memory memory;
        if (pinned) {
            memory = pinned->comm.allocate_shared(pinned->replicas.device(local_replica), bytes);
        } else {
            memory = host()->allocate(bytes);
            host()->zero(memory.get(), bytes);
        }
        *out = give_out(std::move(memory));
    });
}

void mdist_free(void *memory) {
    if (memory == nullptr || process_forked()) return;
    process_wide<GivenOut>().remove(memory);
}
