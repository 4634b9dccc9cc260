// SPDX-License-Identifier: Apache-2.0
// Settle store: the last step of resolving for jobs started by Hydra, which needs the other workers. Hydra names no
// address where workers could meet. So worker 0 chooses one and tells the others by PMI. A secret goes with it, which
// no other process hears.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/environment.h"
#include "cluster/resolve.h"
#include "util/open_file.h"

namespace mdist {

/// Sets `resolved.store` and `resolved.secret` if `resolved.store_by_pmi` is set; otherwise does nothing. Collective
/// over the workers of the job. PMI is asked once per process; later calls get the same answer. `secret`: what worker 0
/// makes the job's secret, in printable characters; "": none. Throws TIMEOUT, IO, PEER_LOST, RESOURCE. After a failure
/// all later calls fail with FAILED_PRECONDITION, reason "pmi". Any thread.
void settle_store(Resolved &resolved, const Environment &environment, std::uint64_t timeout_ns,
                  const std::string &secret);

/// Reserves a port that was free on all addresses, or on 127.0.0.1. While this lives, the system gives it to no other
/// socket. Listening on it meanwhile needs SO_REUSEADDR. Throws RESOURCE.
class ReservedPort {
  public:
    explicit ReservedPort(bool only_this_host);
    std::uint16_t number() const { return number_; }

  private:
    OpenFile socket_;
    std::uint16_t number_ = 0;
};

} // namespace mdist
