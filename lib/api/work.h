// SPDX-License-Identifier: Apache-2.0
// Work: the object behind a work handle: something that a replica has started, and that is not over when the call
// returns.
#pragma once

#include "api/handle.h"

#include <mdist/work.h>

#include <cstdint>

namespace mdist {

class Work {
  public:
    virtual ~Work() = default;
    /// Called when the caller destroys its handle. Another thread may still wait for the work, and gets a failure.
    virtual void settle() noexcept = 0;
    virtual bool test() = 0;
    virtual bool wait(uint64_t timeout_ns) = 0;
    virtual int descriptor() = 0;
    /// Has the function called once the work is over (mdist_work_on_done).
    virtual void on_done(mdist_work_done_fn done, void *user_data) = 0;
};

} // namespace mdist
