// SPDX-License-Identifier: Apache-2.0
// StoreService: a Store at a true address, with the thread that serves it. Owned by rank 0, or by a launcher. Any
// thread.
#pragma once

#include <memory>
#include <string>

#include "comm/membership/reactor.h"
#include "comm/membership/store.h"

namespace mdist {

class StoreService {
  public:
    /// Binds "host:port" (0: any) and serves. Throws RESOURCE (`address_in_use`), CONFIG (`bad_address`,
    /// `address_not_local`), NOT_FOUND (`name_resolution`), UNSUPPORTED (`not_built`).
    StoreService(const std::string &address, const StoreOptions &options, uint64_t resolve_timeout_ns);

    /// "host:port" with the host as given and the true port.
    const std::string &address() const { return address_; }
    /// The same, numeric.
    const Endpoint &endpoint() const { return endpoint_; }

    /// Throws INVALID_ARGUMENT unless `restart` is larger than before.
    void restart(uint32_t size, uint32_t restart);
    std::string progress(uint32_t *joined);

  private:
    Reactor reactor_;
    std::unique_ptr<Store> store_;
    struct StopFirst {
        Reactor &reactor;
        ~StopFirst() { reactor.stop(); }
    } stop_first_; // before the store goes
    uint32_t restart_;
    Endpoint endpoint_;
    std::string address_;
};

} // namespace mdist
