// SPDX-License-Identifier: Apache-2.0
// JobStore: where the workers of this job meet, for as long as it lives. Main thread.
#pragma once

#include <cstdint>
#include <string>

namespace mdist {

struct JobStoreOptions {
    std::string address; // host:port, port 0 for any
    uint32_t size = 1;
    std::string job;
    std::string secret;
};

class JobStore {
  public:
    explicit JobStore(const JobStoreOptions &options);

    const std::string &address() const { return address_; }
    /// Whether the launcher serves it; else rank 0 does.
    bool served() const { return false; }
    /// The workers of another start of the job are awaited.
    void restart(uint32_t count) { static_cast<void>(count); }

  private:
    std::string address_;
};

} // namespace mdist
