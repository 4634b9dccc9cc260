// SPDX-License-Identifier: Apache-2.0
// Settle store: the last step of resolving, where it takes the other workers. Hydra names no address that workers could
// meet at, so worker 0 chooses one and tells the others by PMI.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/environment.h"
#include "cluster/resolve.h"

namespace mdist {

/// Does nothing unless `resolved.store_by_pmi` says so; then it is collective over the workers of the job, once per
/// process: the answer stays. Throws TIMEOUT, IO, PEER_LOST, RESOURCE; after a failure it fails for good. Any thread.
void settle_store(Resolved &resolved, const Environment &environment, std::uint64_t timeout_ns);

/// A port that was free on all addresses, or on 127.0.0.1, and that the system gives nobody else while this lives. To
/// listen on it meanwhile takes SO_REUSEADDR. Throws RESOURCE.
class ReservedPort {
  public:
    explicit ReservedPort(bool only_this_host);
    ~ReservedPort();
    ReservedPort(const ReservedPort &) = delete;
    ReservedPort &operator=(const ReservedPort &) = delete;
    std::uint16_t number() const { return number_; }

  private:
    int fd_;
    std::uint16_t number_ = 0;
};

} // namespace mdist
