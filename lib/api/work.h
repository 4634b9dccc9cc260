// SPDX-License-Identifier: Apache-2.0
// Work: the object behind a work handle: something that a replica has started, and that is not over when the call
// returns.
#pragma once

#include "api/handle.h"

#include <mdist/work.h>

#include <cstdint>
#include <functional>

namespace mdist {

class Failure;
class Job;

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

/// What calls the program's function in a context of its own, and drops what it throws. The job must still be there.
std::function<void(mdist_status_t)> done_call(const Job &job, uint32_t replica, mdist_work_done_fn done,
                                              void *user_data);
/// Whether this thread is inside such a function.
bool in_done_call();
/// What ends a work whose handle was destroyed. `function` is the blocking form of what started it.
Failure work_destroyed(const char *function, uint32_t replica) noexcept;

} // namespace mdist
