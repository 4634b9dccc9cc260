// SPDX-License-Identifier: Apache-2.0
// ElasticStoreService: an ElasticStore that listens at a network address, with the thread that serves it. A launcher
// owns it. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "membership/elastic/elastic_store.h"
#include "membership/reactor.h"

namespace mdist {

class ElasticStoreService {
  public:
    /// Binds "host:port" (port 0: any) and serves. Throws as StoreService.
    ElasticStoreService(const std::string &address, const ElasticStoreOptions &options, uint64_t resolve_timeout_ns);

    /// "host:port" with the host as given and the true port.
    const std::string &address() const { return address_; }
    std::string progress(uint32_t *joined);
    /// The process of that worker has ended.
    void worker_ended(WorkerId id);
    /// As ElasticStore's.
    std::optional<ElasticStore::LeftBehind> take_left_behind();
    /// Asks that worker to leave the job.
    void dismiss(WorkerId id);

  private:
    Reactor reactor_;
    std::unique_ptr<ElasticStore> store_;
    struct StopFirst {
        Reactor &reactor;
        ~StopFirst() { reactor.stop(); }
    } stop_first_; // ends the thread before the store goes
    std::string address_;
};

} // namespace mdist
