// SPDX-License-Identifier: Apache-2.0
// StoreService: a Store that listens at a network address, with the thread that serves it. Rank 0 or a launcher owns
// it. Any thread.
#pragma once

#include <memory>
#include <string>

#include "membership/reactor.h"
#include "membership/store.h"

namespace mdist {

class StoreService {
  public:
    /// Binds "host:port" (port 0: any) and serves. Throws RESOURCE (`address_in_use`), CONFIG (`bad_address`,
    /// `address_not_local`), NOT_FOUND (`name_resolution`), UNSUPPORTED (`not_built`).
    StoreService(const std::string &address, const StoreOptions &options, uint64_t resolve_timeout_ns);

    /// "host:port" with the host as given and the true port.
    const std::string &address() const { return address_; }
    /// The same with a numeric host.
    const Endpoint &endpoint() const { return endpoint_; }

    /// Throws INVALID_ARGUMENT unless `restart` is larger than before.
    void restart(uint32_t size, uint32_t restart);
    std::string progress(uint32_t *joined);
    uint32_t first_gone();

  private:
    Reactor reactor_;
    std::unique_ptr<Store> store_;
    struct StopFirst {
        Reactor &reactor;
        ~StopFirst() { reactor.stop(); }
    } stop_first_; // ends the thread before the store goes
    uint32_t restart_;
    Endpoint endpoint_;
    std::string address_;
};

} // namespace mdist
