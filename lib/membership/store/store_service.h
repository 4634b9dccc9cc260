// SPDX-License-Identifier: Apache-2.0
// StoreService: a store that listens at a network address, with the thread that serves it. Worker 0 of a job of fixed
// size owns it, or a launcher. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "membership/net/reactor.h"
#include "membership/store/elastic_store.h"
#include "membership/store/fixed_store.h"
#include "membership/store/state_file.h"

namespace mdist {

/// What a store is at one moment.
struct StoreState {
    uint32_t joined;                // as Store::joined()
    std::string progress;           // as Store::progress()
    uint32_t first_gone;            // as FixedStore::first_gone()
    bool committed;                 // as ElasticStore::knows_of_commit()
    std::optional<Failure> failure; // as ElasticStore::failure()
};

class StoreService {
  public:
    /// Binds "host:port" (port 0: any) and serves a job of fixed size, or an elastic one. Throws RESOURCE
    /// (`address_in_use`), CONFIG (`bad_address`, `address_not_local`), NOT_FOUND (`name_resolution`), UNSUPPORTED
    /// (`not_built`).
    StoreService(const std::string &address, const FixedStoreOptions &options, uint64_t resolve_timeout_ns);
    /// `state`: the folder in which the store keeps its state, and from which it goes on; "": none. Also throws CONFIG
    /// (`bad_address`) for port 0 with a folder, and as StateFile and ElasticStore.
    StoreService(const std::string &address, ElasticStoreOptions options, const std::string &state,
                 uint64_t resolve_timeout_ns);

    /// "host:port" with the host as given and the true port.
    const std::string &address() const { return address_; }
    /// The same with a numeric host.
    const Endpoint &endpoint() const { return endpoint_; }
    StoreState state();
    /// nullptr if the job is elastic.
    FixedStore *fixed() const { return fixed_; }
    /// nullptr if the job has a fixed size.
    ElasticStore *elastic() const { return elastic_; }
    /// Runs use(), which may call the store and change it.
    template <class Use>
    auto with_lock(Use &&use) {
        const std::lock_guard<std::mutex> hold(reactor_.lock());
        reactor_.wake(); // its next tick may change
        return use();
    }

  private:
    StoreService(const std::string &address, const std::string &secret, uint64_t resolve_timeout_ns);

    Reactor reactor_;
    std::unique_ptr<StateFile> state_; // nullptr: none
    std::unique_ptr<Store> store_;
    FixedStore *fixed_ = nullptr;
    ElasticStore *elastic_ = nullptr;
    struct StopFirst {
        Reactor &reactor;
        ~StopFirst() { reactor.stop(); }
    } stop_first_; // ends the thread before the store goes
    Endpoint endpoint_;
    std::string address_;
};

} // namespace mdist
