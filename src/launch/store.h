// SPDX-License-Identifier: Apache-2.0
// JobStore: where the workers of this job meet, for as long as it lives. A thread of the library serves it. Main
// thread.
#pragma once

#include "handles.h"

#include <cstdint>
#include <string>

namespace mdist {

struct JobStoreOptions {
    std::string address; // host:port, port 0 for any
    uint32_t size = 1;
    std::string job;
    std::string secret; // empty: none
};

class JobStore {
  public:
    /// Throws std::runtime_error.
    explicit JobStore(const JobStoreOptions &options);

    /// With the true port.
    std::string address() const;
    /// The workers of another start of the job are awaited.
    void restart(uint32_t restart);

  private:
    struct Destroy {
        void operator()(mdist_store_t *store) const { mdist_store_destroy(store); }
    };
    uint32_t size_;
    std::unique_ptr<mdist_store_t, Destroy> store_;
};

} // namespace mdist
